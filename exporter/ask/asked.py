"""A question that was asked, as the notes on its answer see it, and the times of the record that it was asked of."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

from exporter.ask.lookups import Lookups
from exporter.ask.parameters import ParameterValues, instant, values_of
from exporter.ask.places import Places, places_of
from exporter.ask.shipped import Question, is_shipped
from exporter.ask.way import FOLLOWING, Way
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from exporter.ask.answers import Answer

MOST: Final = 1_000
"""The most rows and names of an answer that notes look at, and the most queries that they count."""


@dataclass(frozen=True)
class Asked:
    """A question with its answer. ``things``: the IRIs of the objects that the parameters mean at any time; ``ask``: a
    function that answers the question with other parameters, with at most the given number of rows.
    """

    graph: Lookups
    question: Question
    params: ParameterValues
    answer: Answer
    things: Collection[str]
    ask: Callable[[ParameterValues, int], Answer]

    @property
    def name(self) -> str:
        """The name of the question."""
        return self.question.name

    @cached_property
    def places(self) -> dict[str, Places]:
        """What happened to schemas and databases, by account."""
        return places_of(self.graph)

    @cached_property
    def way(self) -> Way:
        """What its data went through, of a question that follows data."""
        return Way(self)

    @property
    def followed(self) -> set[str]:
        """The objects that its data went through; empty for a question that does not follow data, or all data."""
        return set() if self.name not in FOLLOWING else self.way.things

    @property
    def is_of_page(self) -> bool:
        """Whether it is a question of the web pages, about the one object that a page shows."""
        return self.name.startswith("page-")

    @property
    def about(self) -> set[str]:
        """The objects that are asked for; pages ask for one by its IRI."""
        of_page = [] if is_shipped(self.question) else values_of(self.params, "object")
        return {*self.things, *of_page}

    def values(self, *names: str) -> list[str]:
        """All values of these parameters."""
        return [value for name in names for value in values_of(self.params, name)]

    def times(self, *names: str) -> list[datetime]:
        """All values of these parameters that are times."""
        return [instant(name, value) for name in names for value in values_of(self.params, name)]

    def match_names(self, name: str = "object_name") -> set[str]:
        """The values of a parameter as names are compared."""
        return {match_name(value) for value in self.values(name)}

    @property
    def since(self) -> datetime | None:
        """The time from which on rows are asked for; None for all."""
        return min(self.times("since"), default=None)

    @property
    def until(self) -> datetime | None:
        """The time until which rows are asked for; None for all."""
        return max(self.times("at", "until"), default=None)

    def has(self, *times: datetime) -> bool:
        """Whether something at these times is in the time that is asked for."""
        since, until = self.since, self.until
        return (since is None or max(times) >= since) and (until is None or min(times) <= until)


def record_period(graph: Lookups) -> tuple[str, str] | None:
    """The times of the first and the last query on record, in the form of the graph; None where there is no query."""
    first, last = graph.every("ah:firstQueryTime"), graph.every("ah:lastQueryTime")
    if not first or not last:  # a graph without the description of its export
        first = last = graph.every("prov:startedAtTime")
    return (min(first, key=in_utc), max(last, key=in_utc)) if first and last else None


def record_begin(graph: Lookups) -> str:
    """The time of the first query on record, for a sentence."""
    covered = record_period(graph)
    return "the first row" if covered is None else covered[0]


def in_utc(time: str) -> datetime:
    """A time of the graph. Times cannot be compared as texts, since they have fractions of any length."""
    return datetime.fromisoformat(time).astimezone(UTC)
