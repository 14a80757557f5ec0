"""The counts of all partitions together: the numbers of the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.shapes.results import ALLOWED
from exporter.steps.tallies import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OWN: Final = frozenset({"load", "last"})
"""Integers of a tally that are not added up."""


@dataclass
class Counts:
    """Sums over all partitions. ``numbers``: by name. ``begun``: the first start by account. ``last``: the last start
    of all, None without a query (microseconds since 1970). ``load``: a digest of the queries, independent of their
    order. ``shapes``: (severity, shape) -> number of results. ``unknown``: what is not understood.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    begun: dict[str, int] = field(default_factory=dict)
    last: int | None = None
    load: int = 0
    shapes: dict[tuple[str, str], int] = field(default_factory=dict)
    unknown: Unknown = field(default_factory=Unknown)

    @classmethod
    def of(cls, tallies: Iterable[Mapping[str, Any]]) -> Counts:
        """The sums of the tallies from :class:`exporter.steps.tallies.Tally`."""
        counts = cls()
        for tally in tallies:
            numbers = {name: value for name, value in tally.items() if isinstance(value, int) and name not in _OWN}
            shapes = {(severity, shape): number for severity, shape, number in tally.get("shapes", ())}
            for what, number, (file, at, unit) in tally.get("unknown", ()):
                counts.unknown.add(what, number, (file, at, unit))
            counts.join(cls(numbers, tally.get("begun", {}), tally.get("last"), tally.get("load", 0), shapes))
        return counts

    def join(self, other: Counts) -> Counts:
        """Add the other counts to these; returns self."""
        for name, number in other.numbers.items():
            self.numbers[name] = self.numbers.get(name, 0) + number
        for account, at in other.begun.items():
            self.begun[account] = min(at, self.begun.get(account, at))
        self.last = max((one for one in (self.last, other.last) if one is not None), default=None)
        self.load ^= other.load
        for entry in other.unknown.entries():
            self.unknown.add(*entry)
        for shape, number in other.shapes.items():
            self.shapes[shape] = self.shapes.get(shape, 0) + number
        return self

    @property
    def first(self) -> int | None:
        """The first start of all queries (microseconds since 1970); None without a query."""
        return min(self.begun.values(), default=None)

    def __getitem__(self, name: str) -> int:
        """A number by its name; 0 if no partition counted it."""
        return self.numbers.get(name, 0)

    def violations(self) -> dict[str, int]:
        """The number of results that refuse a node, by shape."""
        return {shape: number for (severity, shape), number in self.shapes.items() if severity not in ALLOWED}

    def warnings(self) -> dict[str, int]:
        """The number of results that are only warnings, by shape."""
        return {shape: number for (severity, shape), number in self.shapes.items() if severity in ALLOWED}
