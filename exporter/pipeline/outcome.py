"""The outcome of an export, for any engine: counts and results of validation.

Each partition has its counts. Their sums are the numbers of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from exporter.graph.shapes.on_graph import ALLOWED, Result, in_order
from exporter.graph.store import load_digest
from exporter.model.facts import QueryFacts
from exporter.model.identifiers import TRUNCATED
from exporter.model.views import UNKNOWN_STREAM
from exporter.pipeline.messages import Message, NewRows, To

Example = tuple[str, int, str]
"""A place: file, number of the line or row, and which of both it is."""
MOST: Final = 100
"""Maximum number of unrecognised names that are counted separately; the alphabetically first ones are kept."""
OTHERS: Final = "others"


class Unknown(Struct):
    """Counts what is not understood, by name, with the first example. Of names beyond :data:`MOST` only their sum is
    kept, so that memory is bounded; the result does not depend on the order, nor on how rows are divided.
    """

    found: dict[str, tuple[int, Example]] = field(default_factory=dict)
    others: tuple[int, Example] | None = None

    def add(self, name: str, number: int, example: Example) -> None:
        if name == OTHERS:
            self.others = _sum(self.others, (number, example))
            return
        self.found[name] = _sum(self.found.get(name), (number, example))
        if len(self.found) > MOST:
            self.others = _sum(self.others, self.found.pop(max(self.found)))

    def entries(self) -> list[tuple[str, int, Example]]:
        """Name, number and example, sorted by name, :data:`OTHERS` last."""
        entries = [(name, *self.found[name]) for name in sorted(self.found)]
        return entries if self.others is None else [*entries, (OTHERS, *self.others)]


def _sum(before: tuple[int, Example] | None, other: tuple[int, Example]) -> tuple[int, Example]:
    return other if before is None else (before[0] + other[0], min(before[1], other[1]))


class Counts(Struct):
    """Counts of a partition, or their sums over several. ``numbers``: by name. ``first_starts``: the first start by
    account. ``last``: the last start of all, None without a query (microseconds since 1970). ``query_digest``: of the
    queries, for the name of the load, independent of their order. ``shapes``: severity -> shape -> number of results.
    ``unknown``: what is not understood.
    """

    numbers: Counter[str] = field(default_factory=Counter)
    first_starts: dict[str, int] = field(default_factory=dict)
    last: int | None = None
    query_digest: int = 0
    shapes: dict[str, Counter[str]] = field(default_factory=dict)
    unknown: Unknown = field(default_factory=Unknown)

    def named(self, name: str) -> None:
        """Create the count with 0 if it does not exist."""
        self.numbers.setdefault(name, 0)

    def note_query(self, facts: QueryFacts) -> None:
        """Note a query, which may still be quarantined later."""
        self.first_starts[facts.account] = min(facts.start, self.first_starts.get(facts.account, facts.start))
        self.last = facts.start if self.last is None else max(facts.start, self.last)
        self.query_digest ^= load_digest(facts.account, facts.query_id)

    def written(self, facts: QueryFacts, fresh: NewRows) -> None:
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
        self.shapes.setdefault(severity, Counter())[shape] += 1

    def message(self) -> Message:
        return Message(To.TALLY, "", b"", _encode(self))

    @classmethod
    def sum(cls, bodies: Iterable[bytes]) -> Counts:
        """The sums of counts from the bodies of their messages."""
        counts = cls()
        for body in bodies:
            counts.join(_read_counts(body))
        return counts

    def join(self, other: Counts) -> Counts:
        """Add the other counts to these; returns self."""
        self.numbers.update(other.numbers)
        for account, at in other.first_starts.items():
            self.first_starts[account] = min(at, self.first_starts.get(account, at))
        self.last = max((number for number in (self.last, other.last) if number is not None), default=None)
        self.query_digest ^= other.query_digest
        for severity, numbers in other.shapes.items():
            self.shapes.setdefault(severity, Counter()).update(numbers)
        for entry in other.unknown.entries():
            self.unknown.add(*entry)
        return self

    @property
    def first(self) -> int | None:
        """The first start of all queries (microseconds since 1970); None without a query."""
        return min(self.first_starts.values(), default=None)

    def violations(self) -> dict[str, int]:
        """The number of results that refuse a node, by shape."""
        return self._by_shape(self.shapes.keys() - ALLOWED)

    def warnings(self) -> dict[str, int]:
        """The number of results that are only warnings, by shape."""
        return self._by_shape(self.shapes.keys() & ALLOWED)

    def _by_shape(self, severities: Iterable[str]) -> dict[str, int]:
        return {shape: number for severity in sorted(severities) for shape, number in self.shapes[severity].items()}


def _counter(_: type, read: dict[Any, int]) -> Counter[Any]:
    """The only type of a count's field that msgspec does not read by itself."""
    return Counter(read)


_encode: Final = msgspec.msgpack.Encoder(order="deterministic").encode
"""Sorts names: they were counted in the order of the rows, which changes no byte."""
_read_counts: Final = msgspec.msgpack.Decoder(Counts, dec_hook=_counter).decode
_read_total: Final = msgspec.msgpack.Decoder(tuple[Counts, dict[str, int]], dec_hook=_counter).decode


LIMIT: Final = 10_000
"""Most results of validation that are listed; all are counted by shape."""
_read_result: Final = msgspec.json.Decoder(Result).decode


class Outcome(Struct, frozen=True):
    """``counts``: of all partitions. ``refused``: number of results that refuse a node, by shape, of all turns.
    ``results``: the first :data:`LIMIT`. Of an update only: ``days``, all days of DIR, each with the later days for
    which it has open messages; ``new``, number of new rows by day; ``rebuilt_days``, those that were made again.
    """

    counts: Counts
    refused: dict[str, int]
    results: list[Result]
    days: dict[str, list[str]] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    rebuilt_days: list[str] = field(default_factory=list)


def results_of(bodies: Iterable[bytes]) -> list[Result]:
    """The results in the bodies of messages: each once, even if several turns found it; sorted, at most
    :data:`LIMIT`.
    """
    return in_order(set(map(_read_result, bodies)))[:LIMIT]


def total_message(counts: Counts, refused: dict[str, int]) -> Message:
    """The counts of a whole export as a message. ``refused``: number of results that refuse a node, by shape, of all
    turns.
    """
    return Message(To.TOTAL, "", b"", _encode((counts, refused)))


def read_outcome(total: bytes, results: Iterable[bytes]) -> Outcome:
    """The outcome from the body of :func:`total_message` and the bodies of the messages of results."""
    return Outcome(*_read_total(total), results_of(results))
