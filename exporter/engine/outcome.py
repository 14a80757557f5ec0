"""The outcome of an export, for any engine: counts and results of validation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from exporter.engine.counts import Counts
from exporter.graph.shapes.results import Result, in_order
from exporter.messages import TALLY, Message, encode
from exporter.steps.tallies import Example, Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    told = counts.numbers, counts.begun, counts.last, counts.load, shapes, refused, counts.unknown.entries()
    return Message(TALLY, "", b"", encode(told))


def outcome(tally: bytes, results: Iterable[bytes]) -> Outcome:
    """The outcome from the body of :func:`numbers` and the bodies of the messages of results."""
    sums, begun, last, load, shapes, refused, entries = _read_numbers(tally)
    unknown = Unknown()
    for entry in entries:
        unknown.add(*entry)
    by_shape = {(severity, shape): number for severity, shape, number in shapes}
    return Outcome(Counts(sums, begun, last, load, by_shape, unknown), refused, results_of(results))
