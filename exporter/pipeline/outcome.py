"""The outcome of an export, for any engine: counts and results of validation.

Each partition has its counts. Their sums are the numbers of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from exporter.graph.shapes.on_graph import ALLOWED, Result, in_order
from exporter.graph.store import load_digest
from exporter.model.facts import QueryFacts
from exporter.model.identifiers import TRUNCATED
from exporter.model.views import UNKNOWN_STREAM
from exporter.pipeline.messages import Fresh, Message, To, encode

Example = tuple[str, int, str]
"""A place: file, number of the line or row, and which of both it is."""
MOST: Final = 100
"""So many names of what is not understood are counted one by one, the first in alphabetical order."""
OTHERS: Final = "others"


class Unknown:
    """Counts what is not understood, by name, with the first example. Of names beyond :data:`MOST` only their sum is
    kept, so that memory is bounded; the result does not depend on the order, nor on how rows are divided.
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[int, Example]] = {}
        self._others: tuple[int, Example] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.entries() == other.entries()

    __hash__ = None  # type: ignore[assignment] # it changes with what is counted

    def add(self, what: str, number: int, example: Example) -> None:
        if what == OTHERS:
            self._others = _sum(self._others, (number, example))
            return
        self._found[what] = _sum(self._found.get(what), (number, example))
        if len(self._found) > MOST:
            self._others = _sum(self._others, self._found.pop(max(self._found)))

    def entries(self) -> list[tuple[str, int, Example]]:
        """Name, number and example, sorted by name, :data:`OTHERS` last."""
        found = [(what, *self._found[what]) for what in sorted(self._found)]
        return found if self._others is None else [*found, (OTHERS, *self._others)]


def _sum(before: tuple[int, Example] | None, other: tuple[int, Example]) -> tuple[int, Example]:
    return other if before is None else (before[0] + other[0], min(before[1], other[1]))


class Tally:
    """``numbers``: counts by name. Beside them the first start by account and the last of all (microseconds since
    1970), and a digest of the queries for the name of the load, independent of their order.
    """

    def __init__(self) -> None:
        self.numbers = Counter[str]()
        self._begun: dict[str, int] = {}
        self._last: int | None = None
        self._shapes: dict[tuple[str, str], int] = {}
        self._load = 0
        self.unknown = Unknown()

    def named(self, what: str) -> None:
        """Make sure that the count is there, even if it is 0."""
        self.numbers.setdefault(what, 0)

    def note_query(self, facts: QueryFacts) -> None:
        """Note a query, which may still be quarantined later."""
        begun = self._begun.get(facts.account)
        if begun is None or facts.start < begun:
            self._begun[facts.account] = facts.start
        if self._last is None or facts.start > self._last:
            self._last = facts.start
        self._load ^= load_digest(facts.account, facts.query_id)

    def written(self, facts: QueryFacts, fresh: Fresh) -> None:
        """Count a query that is exported, with what of it is new."""
        rows = fresh.rows
        self.numbers["exported"] += rows
        self.numbers["new_queries"] += fresh.is_query
        if facts.calls is not None:
            self.numbers["aggregate_exported"] += rows
            self.numbers["aggregate_calls"] += facts.calls if rows else 0
        self.numbers["queries"] += 1
        self.numbers["truncated"] += any(text.endswith(TRUNCATED) for text in facts.content.incomplete)
        self.numbers["unknown_streams"] += any(text.endswith(UNKNOWN_STREAM) for text in facts.content.incomplete)

    def result(self, severity: str, shape: str) -> None:
        """Count a result of validation."""
        self._shapes[severity, shape] = self._shapes.get((severity, shape), 0) + 1

    def message(self) -> Message:
        shapes = [(*key, number) for key, number in sorted(self._shapes.items())]
        counted = {**self.numbers, "begun": self._begun, "last": self._last, "load": self._load, "shapes": shapes}
        body = encode({**counted, "unknown": self.unknown.entries()})
        return Message(To.TALLY, "", b"", body)


_OWN: Final = frozenset({"load", "last"})
"""Integers of a tally that are not added up."""


@dataclass
class Counts:
    """Sums over all partitions. ``numbers``: by name. ``begun``: the first start by account. ``last``: the last start
    of all, None without a query (microseconds since 1970). ``load``: a digest of the queries, independent of their
    order. ``shapes``: (severity, shape) -> number of results. ``unknown``: what is not understood.
    """

    numbers: Counter[str] = field(default_factory=Counter)
    begun: dict[str, int] = field(default_factory=dict)
    last: int | None = None
    load: int = 0
    shapes: dict[tuple[str, str], int] = field(default_factory=dict)
    unknown: Unknown = field(default_factory=Unknown)

    @classmethod
    def of(cls, tallies: Iterable[Mapping[str, Any]]) -> Counts:
        """The sums of the tallies from :class:`exporter.pipeline.outcome.Tally`."""
        counts = cls()
        for tally in tallies:
            numbers = Counter(
                {name: value for name, value in tally.items() if isinstance(value, int) and name not in _OWN}
            )
            shapes = {(severity, shape): number for severity, shape, number in tally.get("shapes", ())}
            for what, number, (file, at, unit) in tally.get("unknown", ()):
                counts.unknown.add(what, number, (file, at, unit))
            counts.join(cls(numbers, tally.get("begun", {}), tally.get("last"), tally.get("load", 0), shapes))
        return counts

    def join(self, other: Counts) -> Counts:
        """Add the other counts to these; returns self."""
        self.numbers.update(other.numbers)
        for account, at in other.begun.items():
            self.begun[account] = min(at, self.begun.get(account, at))
        self.last = max((number for number in (self.last, other.last) if number is not None), default=None)
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

    def violations(self) -> dict[str, int]:
        """The number of results that refuse a node, by shape."""
        return {shape: number for (severity, shape), number in self.shapes.items() if severity not in ALLOWED}

    def warnings(self) -> dict[str, int]:
        """The number of results that are only warnings, by shape."""
        return {shape: number for (severity, shape), number in self.shapes.items() if severity in ALLOWED}


LIMIT: Final = 10_000
"""Most results of validation that are listed; all are counted by shape."""
_read_result: Final = msgspec.json.Decoder(Result).decode


@dataclass(frozen=True)
class Outcome:
    """``counts``: of all partitions. ``refused``: number of results that refuse a node, by shape, of all turns.
    ``results``: the first :data:`LIMIT`. Of an update only: ``days``, all days of DIR, each with the later days for
    which it has open messages; ``new``, number of new rows by day; ``made``, the days that were made again.
    """

    counts: Counts
    refused: dict[str, int]
    results: list[Result]
    days: dict[str, list[str]] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)


def results_of(bodies: Iterable[bytes]) -> list[Result]:
    """The results in the bodies of messages: each once, even if several turns found it; sorted, at most
    :data:`LIMIT`.
    """
    return in_order(set(map(_read_result, bodies)))[:LIMIT]


_Numbers = tuple[
    dict[str, int],
    dict[str, int],
    int | None,
    int,
    list[tuple[str, str, int]],
    dict[str, int],
    list[tuple[str, int, Example]],
]
_read_numbers: Final = msgspec.msgpack.Decoder(_Numbers).decode


def numbers(counts: Counts, refused: dict[str, int]) -> Message:
    """The counts of a whole export as a message."""
    shapes = [(*shape, number) for shape, number in sorted(counts.shapes.items())]
    sums = counts.numbers, counts.begun, counts.last, counts.load, shapes, refused, counts.unknown.entries()
    return Message(To.TALLY, "", b"", encode(sums))


def outcome(tally: bytes, results: Iterable[bytes]) -> Outcome:
    """The outcome from the body of :func:`numbers` and the bodies of the messages of results."""
    sums, begun, last, load, shapes, refused, entries = _read_numbers(tally)
    unknown = Unknown()
    for entry in entries:
        unknown.add(*entry)
    by_shape = {(severity, shape): number for severity, shape, number in shapes}
    return Outcome(Counts(Counter(sums), begun, last, load, by_shape, unknown), refused, results_of(results))
