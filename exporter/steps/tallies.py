"""The counts of one partition. The sums over all partitions are the numbers of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.load import load_digest
from exporter.messages import TALLY, Message, encode
from exporter.queries.identifiers import TRUNCATED

if TYPE_CHECKING:
    from exporter.queries.facts import QueryFacts


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
        self.count("queries")
        self.count("truncated", any(one.endswith(TRUNCATED) for one in facts.content.incomplete))

    def result(self, severity: str, shape: str) -> None:
        """Count a result of validation."""
        self._shapes[severity, shape] = self._shapes.get((severity, shape), 0) + 1

    def message(self) -> Message:
        shapes = [(*key, number) for key, number in sorted(self._shapes.items())]
        told = {**self._numbers, "begun": self._begun, "last": self._last, "load": self._load, "shapes": shapes}
        return Message(TALLY, "", b"", encode(told))
