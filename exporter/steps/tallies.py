"""The counts of one partition. The sums over all partitions are the numbers of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.load import load_digest
from exporter.messages import TALLY, Message, encode
from exporter.queries.identifiers import TRUNCATED
from exporter.queries.streams import UNKNOWN_STREAM

if TYPE_CHECKING:
    from exporter.queries.facts import QueryFacts


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


def _sum(one: tuple[int, Example] | None, other: tuple[int, Example]) -> tuple[int, Example]:
    return other if one is None else (one[0] + other[0], min(one[1], other[1]))


class Tally:
    """Counts by name; the first start by account and the last of all (microseconds since 1970); a digest of the queries
    for the name of the load, independent of their order.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        self._last: int | None = None
        self._shapes: dict[tuple[str, str], int] = {}
        self._load = 0
        self.unknown = Unknown()

    def count(self, what: str, number: int = 1) -> None:
        if number:
            self._numbers[what] = self._numbers.get(what, 0) + number

    def named(self, what: str) -> None:
        """Make sure that the count exists, even if it is 0."""
        self._numbers.setdefault(what, 0)

    def told(self, facts: QueryFacts) -> None:
        """Note a query, which may still be quarantined later."""
        begun = self._begun.get(facts.account)
        if begun is None or facts.start < begun:
            self._begun[facts.account] = facts.start
        if self._last is None or facts.start > self._last:
            self._last = facts.start
        self._load ^= load_digest(facts.account, facts.query_id)

    def written(self, facts: QueryFacts, rows: int) -> None:
        """Count a query that is exported, with its number of rows."""
        self.count("exported", rows)
        if facts.calls is not None:
            self.count("aggregate_exported", rows)
            self.count("aggregate_calls", facts.calls if rows else 0)
        self.count("queries")
        self.count("truncated", any(one.endswith(TRUNCATED) for one in facts.content.incomplete))
        self.count("unknown_streams", any(one.endswith(UNKNOWN_STREAM) for one in facts.content.incomplete))

    def result(self, severity: str, shape: str) -> None:
        """Count a result of validation."""
        self._shapes[severity, shape] = self._shapes.get((severity, shape), 0) + 1

    def message(self) -> Message:
        shapes = [(*key, number) for key, number in sorted(self._shapes.items())]
        told = {**self._numbers, "begun": self._begun, "last": self._last, "load": self._load, "shapes": shapes}
        body = encode({**told, "unknown": self.unknown.entries()})
        return Message(TALLY, "", b"", body)
