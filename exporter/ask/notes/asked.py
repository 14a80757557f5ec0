"""A question that was asked, as the notes on its answer see it: its things and times, the times of the record, and what
the data of its answer went through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from exporter.ask.answers import Answer, first_of
from exporter.ask.canonical_names import CanonicalNames
from exporter.ask.container_history import ContainerHistory, container_histories
from exporter.ask.lookups import Lookups
from exporter.ask.names import by_id
from exporter.ask.parameters import ParameterValues, instant, values_of
from exporter.ask.shipped import Question, is_shipped
from exporter.ask.triples import in_utc, iris, literals
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

SHIPPED, PAGE, OF_USER = "shipped", "page", "own"
"""Kinds of questions: ours, those of parts of web pages, and those of users."""
POLICY_COVERAGE, TAG_REACH, UNMASKED_READS = "policy-coverage", "tag-reach", "unmasked-reads"
AGENT_READS, CHANGES, UNMASKED_COPIES = "agent-reads", "changes", "unmasked-copies"
"""Questions that several notes treat in a way of their own."""
TIME_COLUMNS: Final = ("first_time", "last_read", "query_start_time")
"""Columns of answers with a time at which what the row names had its name."""
_SHOWN: Final = 3
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
    def containers(self) -> dict[str, ContainerHistory]:
        """What happened to schemas and databases, by account."""
        return container_histories(self.graph)

    @cached_property
    def canonical_names(self) -> CanonicalNames:
        """Under which names objects count."""
        return CanonicalNames(self.graph)

    @cached_property
    def lineage(self) -> Lineage:
        """What its data went through, of a question that follows data."""
        return Lineage(self)

    @property
    def followed(self) -> set[str]:
        """The objects that its data went through; empty for a question that does not follow data, or all data."""
        return set() if self.name not in FOLLOWING else self.lineage.things

    def label(self, thing: str) -> str:
        """What an object is called in a note."""
        return self.canonical_names.label(thing)

    @cached_property
    def kind(self) -> str:
        """One of :data:`SHIPPED`, :data:`PAGE` and :data:`OF_USER`."""
        return SHIPPED if is_shipped(self.question) else PAGE if self.is_of_page else OF_USER

    @property
    def is_of_page(self) -> bool:
        """Whether it is a question of the web pages, about the one object that a page shows."""
        return self.name.startswith("page-")

    @property
    def asked_objects(self) -> set[str]:
        """The objects that are asked for; pages ask for one by its IRI."""
        of_page = [] if is_shipped(self.question) else values_of(self.params, "object")
        return {*self.things, *of_page}

    @cached_property
    def accounts(self) -> set[str]:
        """The accounts of the objects that are asked for."""
        return {holder.account for thing in self.asked_objects for holder in self.graph.names_of(thing)}

    @property
    def is_bridged(self) -> bool:
        """Whether the answer goes past helpers (docs/openlineage.md, "Helpers")."""
        return "bridged" in self.values("helpers")

    @cached_property
    def ends(self) -> set[str]:
        """The sources at which an answer ends that goes past helpers; none of another one."""
        graph = self.graph
        rows = graph.at_most(self.answer.dicts(), MOST) if self.is_bridged else iter(())
        sources = {(row["source_object_name"] or "", row["source_object_id"]) for row in rows}
        return {
            holder.iri
            for name, ident in sources
            for holder in (*graph.holders(name), *graph.of_id(ident or ""))
            if holder.ident == ident
        }

    def is_about(self, thing: str) -> bool:
        """Whether an object is one that the parameters mean; true of any, if they mean none."""
        return not self.things or thing in self.things

    def by_id(self, ident: str, domain: str) -> str:
        """How to ask this question by an id: ``object_id=5 domain=Stage``."""
        kind_parameter = next((parameter for parameter in self.question.parameters if parameter.kind == "domain"), None)
        return by_id(self.graph, ident, domain, kind_parameter)

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

    @cached_property
    def has_several_accounts(self) -> bool:
        """Whether the graph has rows of several accounts, so that a name alone does not say of which one it is."""
        return len(self.graph.accounts()) > 1

    @property
    def other_accounts(self) -> str:
        """The accounts whose reads are not on record, in words: a graph of several has those of each."""
        return "accounts without rows here" if self.has_several_accounts else "other accounts"

    def is_by_then(self, time: str) -> bool:
        """Whether a time of the graph is until the time that is asked for."""
        return self.until is None or in_utc(time) <= self.until

    def has_activity(self, activity: str) -> bool:
        """Whether a query, reads of a day or a change is in the time that is asked for."""
        terms = ("prov:startedAtTime", "ah:lastStartedAtTime")
        times = [in_utc(time) for term in terms for time in self.graph.objects(activity, term)]
        return bool(times) and self.has(*times)

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


def queries_in_words(graph: Lookups, queries: Iterable[str]) -> str:
    """``query q1`` or ``queries q1, q2``; those without an id by when they started."""
    pairs = [(graph.text(query, "ah:queryId"), graph.text(query, "prov:startedAtTime")) for query in queries]
    ids, times = (
        sorted(ident for ident, _ in pairs if ident),
        sorted({time or "" for ident, time in pairs if not ident}),
    )
    texts = [f"{'query' if len(ids) == 1 else 'queries'} {first_of(ids, _SHOWN)}"] if ids else []
    texts += [f"queries without an id at {first_of(times, _SHOWN)}"] if times else []
    return " and ".join(texts)


# --- what the data of an answer went through --------------------------------------------------------------------------


_FOLLOWING_UP: Final = ("lineage-as-of", "root-cause", "page-up", "page-up-at", "page-column-up", "page-column-up-at")
_FOLLOWING_DOWN: Final = (
    *("column-copies", "downstream-users", "end-up", "sensitive-data-movement"),
    *("page-down", "page-column-down"),
)
FOLLOWING_ALL: Final = ("tag-reach", "unmasked-copies")
"""Of these, those about all data."""
FOLLOWING: Final = frozenset((*_FOLLOWING_UP, *_FOLLOWING_DOWN, *FOLLOWING_ALL))
"""All questions that follow data."""
_FOLLOWING_FROM_READS: Final = "sensitive-data-movement"
"""Its first step is a query that reads what is asked for."""
_OF_COLUMNS: Final = (
    *("column-copies", "root-cause", "tag-reach", "unmasked-copies"),
    *("page-column-up", "page-column-up-at", "page-column-down"),
)
_STEPS: Final = ("prov:wasDerivedFrom", "ah:priorVersion", "ah:priorColumnVersion")
_HOLDERS: Final = {
    True: "?object (^ah:view/ah:sourceObject)? ?holder .",
    False: "BIND(?object AS ?holder)",
}
"""Where the data is that is asked for, up or not: what a view or stream shows is in the objects behind it."""
_STARTS: Final = """\
SELECT DISTINCT ?start WHERE {
  VALUES ?object { @objects@ }
  @holder@
  ?start prov:specializationOf ?holder .
  @at@
}
"""
_AT: Final = """\
OPTIONAL { ?start prov:generatedAtTime ?made }
      OPTIONAL { ?start ah:validUntil|prov:invalidatedAtTime ?ended }
      FILTER(COALESCE(?made <= @time@, true) && COALESCE(?ended > @time@, true))
      # What was there before the first row, only if no row wrote anything.
      FILTER(BOUND(?made) || NOT EXISTS {
        ?later prov:specializationOf ?holder ; prov:generatedAtTime ?later_made . FILTER(?later_made <= @time@)
      })
"""
_STARTS_OF_COLUMNS: Final = """\
SELECT DISTINCT ?start WHERE {
  VALUES ?object { @objects@ }
  @holder@
  ?column ah:columnOf ?holder ; ah:matchName ?name .
  FILTER(?holder != ?object || ?name IN (@columns@))
  ?start prov:specializationOf ?column .
}
"""


class Lineage:
    """What the data of an answer went through. ``states``: versions of objects; ``columns``: versions of columns, None
    where whole objects are followed. Both are empty for questions that are about all objects. ``asked_things``: the
    objects that are asked for.
    """

    def __init__(self, asked: Asked) -> None:
        self._asked, self._graph = asked, asked.graph
        self.is_up = asked.name not in _FOLLOWING_DOWN
        self.is_of_all = asked.name in FOLLOWING_ALL
        self.is_from_reads = asked.name == _FOLLOWING_FROM_READS
        self.is_of_columns = asked.name in _OF_COLUMNS or "column_name" in asked.params
        self.asked_things = set() if self.is_of_all or asked.is_of_page else _meant_then(asked)
        self.states, self.columns = self._reached()

    def _reached(self) -> tuple[set[str], set[str] | None]:
        asked = self._asked
        if self.is_of_all:
            return set(), None
        if asked.is_of_page:
            place = asked.answer.columns.index("version")
            versions = {version for row in asked.answer.rows if (version := row[place])}
            return (set(map(self.whole, versions)), versions) if self.is_of_columns else (versions, None)
        of_objects = self._select(_STARTS)
        columns = self._select(_STARTS_OF_COLUMNS) if asked.values("column_name") else set()
        columns = {column for column in columns if not self.is_up or self.whole(column) in of_objects}
        if not columns:
            return of_objects, None
        if asked.name not in _OF_COLUMNS:  # the data of a column is followed to whole objects, too
            named = _things_in_answer(asked)
            of_objects = {state for state in of_objects if self.thing(state) in named}
            return of_objects | set(map(self.whole, columns)), columns
        return set(map(self.whole, columns)), columns

    def _select(self, query: str) -> set[str]:
        time = max(self._asked.times("at"), default=None)
        at = "" if time is None else _AT.replace("@time@", f'"{time.isoformat()}"^^xsd:dateTime')
        columns = ", ".join(literals([name]) for name in sorted(self._asked.match_names("column_name")))
        terms = {"at": at, "columns": columns, "objects": iris(self.asked_things), "holder": _HOLDERS[self.is_up]}
        return self._walk({row["start"] for row in self._graph.select(query, **terms)}) if self.asked_things else set()

    def _walk(self, starts: set[str]) -> set[str]:
        """All versions that the data of these came from, or went to, and themselves. Each is looked up once, which a
        path in SPARQL does once for each start.
        """
        step = self._graph.objects if self.is_up else _backwards(self._graph)
        return set(reachable(starts, lambda state: (other for term in _STEPS for other in step(state, term))))

    def whole(self, column: str) -> str:
        """The version of an object that a version of a column is part of."""
        return self._graph.text(column, "dcterms:isPartOf") or ""

    def thing(self, state: str) -> str:
        """What a version is one of: an object, or a column."""
        return self._graph.text(state, "prov:specializationOf") or ""

    @cached_property
    def things(self) -> set[str]:
        """The objects that the data went through."""
        return {self.thing(state) for state in self.states}

    @cached_property
    def begins(self) -> dict[str, str]:
        """When the queries started that made the first of these states of each object; without those that were there
        before the first row.
        """
        starts: dict[str, list[str]] = {}
        for state in self.states:
            makers = self._graph.objects(state, "prov:wasGeneratedBy")
            starts.setdefault(self.thing(state), []).append(
                next((time for maker in makers if (time := self._graph.text(maker, "prov:startedAtTime"))), "")
            )
        return {thing: min(times, key=datetime.fromisoformat) for thing, times in starts.items() if all(times)}

    @cached_property
    def names(self) -> set[str]:
        """Their names, and those that are asked for."""
        names = {match_name(holder.name) for thing in self.things for holder in self._graph.names_of(thing)}
        return names | self._asked.match_names()


def _backwards(graph: Lookups) -> Callable[[str, str], Iterator[str]]:
    return lambda iri, term: graph.subjects(term, iri)


def _meant_then(asked: Asked) -> set[str]:
    """The objects that are asked for; with a time, those that had the name then, if any had."""
    names, times = asked.match_names(), asked.times("at")
    then = {
        thing
        for thing in asked.things
        for holder in (asked.graph.names_of(thing) if names and times else ())
        if match_name(holder.name) in names and any(map(holder.holds, times))
    }
    return then or set(asked.things)


def _things_in_answer(asked: Asked) -> set[str]:
    """The objects that are asked for, and those with a name in the answer."""
    cells = {cell for row in asked.answer.rows for cell in row if cell}
    return {*asked.things, *(holder.iri for cell in cells for holder in asked.graph.holders(cell))}
