"""Independent steps at the same time: while Spark runs one job, the driver plans the next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Result = TypeVar("Result")
Other = TypeVar("Other")
AT_ONCE: Final = 3
"""More would wait for each other: the driver's planning is one core's work, and so are most jobs of a small input."""


def together(steps: Mapping[str, Callable[[], Result]]) -> dict[str, Result]:
    """Run the steps and return their results by name; the first that fails raises, when all are over."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = {name: pool.submit(step) for name, step in steps.items()}
    return {name: one.result() for name, one in running.items()}


def both(one: Callable[[], Result], other: Callable[[], Other]) -> tuple[Result, Other]:
    """Two steps of different kinds; the first that fails raises, when both are over."""
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(one), pool.submit(other)
    return first.result(), second.result()
