"""Independent steps at the same time: while Spark runs one job, the driver plans the next."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

Result = TypeVar("Result")
Other = TypeVar("Other")
AT_ONCE: Final = 3
"""More would wait for each other: the driver's planning is one core's work, and so are most jobs of a small input."""


def together(
    steps: Mapping[str, Callable[[Mapping[str, Result]], Result]], after: Mapping[str, Collection[str]]
) -> dict[str, Result]:
    """Run the steps, each with the results that are there by name, and return all of them.

    ``after``: the steps that one waits for. Each starts as soon as those are done, in the order given. The first that
    fails is raised when all that run are over; ValueError where steps wait for each other, or for what is no step.
    """
    waiting, running, done = dict(steps), dict[Future[Result], str](), dict[str, Result]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or running:
            for name in [name for name in waiting if done.keys() >= set(after.get(name, ()))]:
                running[pool.submit(waiting.pop(name), dict(done))] = name
            if not running:
                raise ValueError(f"nothing can start of {', '.join(waiting)}: what they wait for is never done")
            for one in wait(running, return_when=FIRST_COMPLETED).done:
                done[running.pop(one)] = one.result()
    return done


def both(one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
    """Two steps of different kinds; the first that fails raises, when both are over."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(one), pool.submit(other)
    return first.result(), second.result()
