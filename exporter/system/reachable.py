"""What can be reached in a graph, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_Node = TypeVar("_Node")


def reachable(starts: Iterable[_Node], following: Callable[[_Node], Iterable[_Node]]) -> dict[_Node, None]:
    """The starts, and all that is reached from them in any number of steps. Each is asked once for those ``following``
    it, so a circle ends. In the order of the visits; the last of those that wait is visited first.
    """
    reached: dict[_Node, None] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached[node] = None
            waiting.extend(following(node))
    return reached
