"""The required and the wanted values of each measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LARGE: Final = 1_000_000
"""From so many rows on the start of Spark and Python hardly matters, so more is required."""


@dataclass(frozen=True)
class Asked:
    """``limit``: the required value; ``aim``: the wanted value; ``is_least``: whether these are minima."""

    limit: float
    aim: float
    is_least: bool = False

    def words(self) -> tuple[str, str]:
        """Limit and aim for a table."""
        kind = "at least" if self.is_least else "at most"
        return f"{kind} {self.limit:g}", f"{self.aim:g}"

    def holds(self, seen: float) -> bool:
        return seen >= self.limit if self.is_least else seen <= self.limit


TIMES_THE_LOOP: Final = Asked(8, 12, is_least=True)
TIMES_THE_COPY: Final = Asked(8, 5)
TIMES_THE_LOOP_LARGE: Final = Asked(12, 20, is_least=True)
TIMES_THE_COPY_LARGE: Final = Asked(12, 8)
PER_ROW: Final = Asked(1.1, 1.0)
VALIDATED: Final = Asked(1.35, 1.15)
SKEW: Final = Asked(1.3, 1.1)
FIRST_RESULT: Final = Asked(1.35, 1.15)
LOCAL_SECONDS: Final = Asked(3, 1)
GIGABYTES: Final = Asked(3, 3)
TIMES_CONVERT: Final = Asked(2.5, 2)
TIMES_CONVERT_ONCE: Final = Asked(5, 4)
TIMES_FLAT: Final = Asked(5, 8, is_least=True)
TIMES_FLAT_SPARK: Final = Asked(3, 5, is_least=True)


@dataclass(frozen=True)
class Figure:
    """``seen``: None where it was not measured; ``asked``: None where nothing is required."""

    what: str
    seen: float | None
    asked: Asked | None = None

    @property
    def is_met(self) -> bool:
        """Whether the required value is met; True where nothing is required."""
        return self.asked is None or (self.seen is not None and self.asked.holds(self.seen))

    def line(self) -> str:
        """Its row of the table."""
        limit, aim = self.asked.words() if self.asked else ("", "")
        seen = "not measured" if self.seen is None else f"{self.seen:.3g}" if self.seen >= 100 else f"{self.seen:.2f}"
        return f"| {self.what} | {limit} | {aim} | {seen}{'' if self.is_met or self.seen is None else ' (not met)'} |"


def ratio(one: float | None, other: float | None) -> float | None:
    """One over the other; None where either was not measured."""
    return one / other if one and other else None
