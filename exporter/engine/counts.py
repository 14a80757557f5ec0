"""What the partitions counted, together: the report's numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.shapes.results import ALLOWED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OWN: Final = frozenset({"load", "last"})
"""What a tally tells that is no number to add up."""


@dataclass
class Counts:
    """Sums over all partitions. ``numbers`` by name; ``begun``: each account's first start, ``last``: the last start of
    all (microseconds; None without a query); ``load``: a digest of the queries, in no order; ``shapes``: (severity,
    shape) -> results.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    last: int | None = None
    load: int = 0
    shapes: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, tallies: Iterable[Mapping[str, Any]]) -> Counts:
        """The sums of what :class:`exporter.things.tallies.Tally` told."""
        counts = cls()
        for tally in tallies:
            numbers = {name: value for name, value in tally.items() if isinstance(value, int) and name not in _OWN}
            shapes = {(severity, shape): number for severity, shape, number in tally.get("shapes", ())}
            counts.join(cls(numbers, tally.get("begun", {}), tally.get("last"), tally.get("load", 0), shapes))
        return counts

    def join(self, other: Counts) -> Counts:
        """Add the other's; returns itself."""
        for name, number in other.numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + number
        for account, at in other.begun.items():
            self.begun[account] = min(at, self.begun.get(account, at))
        self.last = max((one for one in (self.last, other.last) if one is not None), default=None)
        self.load ^= other.load
        for shape, number in other.shapes.items():
            self.shapes[shape] = self.shapes.get(shape, 0) + number
        return self

    @property
    def first(self) -> int | None:
        """The first start of all (microseconds); None without a query."""
        return min(self.begun.values(), default=None)

    def __getitem__(self, name: str) -> int:
        """A number; 0 where no partition counted any."""
        return self.numbers.get(name, 0)

    def violations(self) -> dict[str, int]:
        """Results that refuse, by shape."""
        return {shape: number for (severity, shape), number in self.shapes.items() if severity not in ALLOWED}

    def warnings(self) -> dict[str, int]:
        """Results that do not, by shape."""
        return {shape: number for (severity, shape), number in self.shapes.items() if severity in ALLOWED}
