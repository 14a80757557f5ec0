"""Independent steps at the same time: while Spark runs one job, the driver plans the next."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

Result = TypeVar("Result")
Other = TypeVar("Other")
AT_ONCE: Final = 3
"""More would wait for each other: the driver's planning is one core's work, and so are most jobs of a small input."""


def together(
    steps: Mapping[str, Callable[[], Result]], after: Mapping[str, Collection[str]] = MappingProxyType({})
) -> dict[str, Result]:
    """Run the steps and return their results by name; the first that fails raises, when all that run are over.

    ``after``: the steps that one waits for. Each starts as soon as those are done, in the order given.
    """
    waiting, running, done = dict(steps), dict[Future[Result], str](), dict[str, Result]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or running:
            for name in [name for name in waiting if done.keys() >= set(after.get(name, ()))]:
                running[pool.submit(waiting.pop(name))] = name
            for one in wait(running, return_when=FIRST_COMPLETED).done:
                done[running.pop(one)] = one.result()
    return {name: done[name] for name in steps}


def both(one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
    """Two steps of different kinds; the first that fails raises, when both are over."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(one), pool.submit(other)
    return first.result(), second.result()
