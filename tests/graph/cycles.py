"""Strongly connected components: Tarjan's algorithm, without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Node = TypeVar("Node")


def strongly_connected(edges: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Every node in one group, the groups that others lead to first."""
    return _Walk(edges).groups


class _Walk(Generic[Node]):
    def __init__(self, edges: Mapping[Node, Iterable[Node]]) -> None:
        self.groups: list[list[Node]] = []
        self._edges = edges
        self._index: dict[Node, int] = {}
        self._low: dict[Node, int] = {}
        self._open: dict[Node, None] = {}
        self._way: list[tuple[Node, Iterator[Node]]] = []
        for root in list(edges):
            if root not in self._index:
                self._enter(root)
            while self._way:
                self._go_on()

    def _enter(self, node: Node) -> None:
        self._index[node] = self._low[node] = len(self._index)
        self._open[node] = None
        self._way.append((node, iter(self._edges.get(node, ()))))

    def _go_on(self) -> None:
        node, onward = self._way[-1]
        for other in onward:
            if other not in self._index:
                self._enter(other)
                return
            if other in self._open:
                self._low[node] = min(self._low[node], self._index[other])
        self._leave(node)

    def _leave(self, node: Node) -> None:
        self._way.pop()
        if self._way:
            before = self._way[-1][0]
            self._low[before] = min(self._low[before], self._low[node])
        if self._low[node] == self._index[node]:
            group = [self._open.popitem()[0]]
            while group[-1] != node:
                group.append(self._open.popitem()[0])
            self.groups.append(group)
