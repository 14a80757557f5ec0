"""Notes on an answer: about daily reads, short queries, views and streams.

- A graph with ``--reads daily`` has reads by day (nodes of the class ``ah:DailyRead``) and no single reads.
- Short queries on hybrid tables are in AGGREGATE_ACCESS_HISTORY alone (view, "Hybrid tables"). The note says how an
  answer counts them, or that they are not on record.
- Questions follow a view or stream to the objects behind it only where that is certain (``ah:evidence``). The notes say
  which objects are only possible, through chains of views, as of the time that was asked for; which views no row
  explains; and which streams a row does not name.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from pyoxigraph import Literal, NamedNode, QuerySolutions

from exporter.ask.answers import Answer, first_of
from exporter.ask.names import Lookups
from exporter.ask.parameters import instant, values_of
from exporter.graph.terms import full
from exporter.model.identifiers import match_name
from exporter.model.views import UNKNOWN_STREAM

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pyoxigraph import Store

    from exporter.ask.names import NameHolder
    from exporter.ask.parameters import ParameterValues
    from exporter.ask.shipped import Question

_TYPE: Final = NamedNode(full("rdf:type"))
_DAILY_READ: Final = NamedNode(full("ah:DailyRead"))
COUNTED_BY_DAY: Final = "column-readers"
"""The question that counts queries."""
OF_AGENTS: Final = "agent-reads"
"""The question about agents. A daily read has the agents of all reads of a user, object and day together."""
_TIMES: Final = ("since", "until")


def is_by_day(store: Store) -> bool:
    """Whether a graph has daily reads in the place of single ones."""
    return next(iter(store.quads_for_pattern(None, _TYPE, _DAILY_READ, None)), None) is not None


def notes_by_day(store: Store, question: Question, params: ParameterValues, things: Collection[str] = ()) -> list[str]:
    """Notes for a person who asked a question; none where the graph has single reads. ``things``: the objects that the
    parameters mean at any time.
    """
    if not is_by_day(store):
        return []
    notes = []
    if not question.daily_reads:
        notes.append(
            f"This graph has reads by day (export --reads daily): {question.name} may leave out results "
            "that follow from reads alone."
        )
    if question.daily_reads == "left out":
        notes.append(
            f"This graph has reads by day (export --reads daily): {question.name} leaves out queries that only read. "
            "They are in the events, and in a graph of --reads full."
        )
    elif question.daily_reads == "rows by day":
        notes.append(
            "This graph has reads by day (export --reads daily): a row without query_id stands for a user's reads of "
            "an object on a day, at the time of the first."
        )
    if question.name == OF_AGENTS:
        notes.append(
            "This graph has reads by day (export --reads daily): the agent took part in some of the reads that a row "
            "stands for. The user may have done the others alone, so not every column and mask need be the agent's."
        )
    if question.name == COUNTED_BY_DAY and (len(things) > 1 or len(values_of(params, "column_name")) > 1):
        notes.append(
            "This graph has reads by day (export --reads daily): several columns are asked for (a name may mean "
            "several objects), and a query that read more than one of them counts once for each."
        )
    if any(not _is_midnight(time) for name in _TIMES for time in values_of(params, name)):
        notes.append(
            "This graph has reads by day (export --reads daily): since and until are exact for reads at midnight (UTC) "
            "only; within a day all reads that are alike count at the time of the first."
        )
    return notes


def _is_midnight(time: str) -> bool:
    """Whether a time is midnight in UTC: a date alone, or zeros with Z, an offset of zero or no zone."""
    day, _, rest = time.strip().replace(" ", "T").partition("T")
    return bool(day) and rest.rstrip("Z").removesuffix("+00:00").strip("0:.") == ""


_AGGREGATED: Final = NamedNode(full("ah:AggregatedQueries"))
_HYBRID: Final = NamedNode(full("ah:HybridTable"))
OBJECTS: Final = ("object_name", "target_object_name")
IDS: Final = ("object_id",)
"""Parameters that name an object, by name or by id."""
_ACCESSES: Final = frozenset({"reads", "writes", "lineage", "policies"})
"""Parts of rows that short queries have too, so that an answer lacks something where these are not on record."""
_SHOWN_TABLES: Final = 3


def notes_on_short_queries(store: Store, question: Question, params: ParameterValues) -> list[str]:
    """Notes for a person who asked a shipped question; none where short queries have nothing to do with it."""
    if next(iter(store.quads_for_pattern(None, _TYPE, _AGGREGATED, None)), None) is not None:
        return _of_aggregated(question)
    if question.aggregated_queries == "left out" or not question.needs & _ACCESSES:
        return []
    names = sorted(set(_hybrid(store, params)))
    if not names:
        return []
    what = f"{first_of(names, _SHOWN_TABLES)} {'is a hybrid table' if len(names) == 1 else 'are hybrid tables'}"
    if is_by_day(store):
        on_record = (
            "are only in this answer if rows of AGGREGATE_ACCESS_HISTORY were exported (exporter export --aggregate)."
        )
    else:
        on_record = (
            "are not on record here, so the answer may lack them. AGGREGATE_ACCESS_HISTORY has them (exporter export "
            "--aggregate)."
        )
    return [f"{what}: short queries on hybrid tables {on_record}"]


def _of_aggregated(question: Question) -> list[str]:
    if question.name == OF_AGENTS:
        return ["This graph has queries that are added up (AGGREGATE_ACCESS_HISTORY). Their rows never name an agent."]
    if question.aggregated_queries == "left out":
        how = f"They have no query id: {question.name} leaves them out."
    elif question.aggregated_queries == "rows without id":
        how = "A row without query_id stands for calls of a user in an interval, at its start."
    elif question.aggregated_queries == "counted":
        how = "All their calls count. Calls that also have a row in ACCESS_HISTORY count twice."
    else:
        return []
    return [f"This graph has queries that are added up (AGGREGATE_ACCESS_HISTORY). {how}"]


def _hybrid(store: Store, params: ParameterValues) -> Iterator[str]:
    """The names of the hybrid tables that a question is about; of all, if it is about no certain object."""
    lookups = Lookups(store)
    names = [text for name in OBJECTS for text in values_of(params, name)]
    ids = [text for name in IDS for text in values_of(params, name)]
    if names or ids:
        holders = [holder for name in names for holder in lookups.holders(name)] + [
            holder for text in ids for holder in lookups.of_id(text)
        ]
        name_by_iri = {turn.iri: turn.name or turn.thing for turn in holders}
        yield from (name for iri, name in name_by_iri.items() if lookups.is_of_kind(iri, "HybridTable"))
        return
    for quad in store.quads_for_pattern(None, _TYPE, _HYBRID, None):
        if isinstance(quad.subject, NamedNode):
            own_names = lookups.names_of(quad.subject.value)
            yield own_names[-1].name if own_names else quad.subject.value


UPWARD: Final = ("lineage-as-of", "root-cause")
DOWNWARD: Final = {"end-up": "target_name", "downstream-users": "object_name"}
"""Questions, with the column of the answer that names what holds the data."""
_SHOWN_VIEWS: Final = 5
_MOST: Final = 1_000
"""The most names of an answer that are looked up."""
_DOMAINS: Final = ("View", "Stream")
_VIEW, _SOURCE = "ah:view", "ah:sourceObject"
_SOURCES: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
SELECT DISTINCT ?to ?evidence ?since ?until WHERE {
  VALUES ?from { @from@ }
  ?shown @term@ ?from ; @other@ ?to ; ah:evidence ?evidence .
  FILTER NOT EXISTS { ?shown ah:viewColumn ?column }
  OPTIONAL { ?shown ah:validFrom ?since }
  OPTIONAL { ?shown ah:validUntil ?until }
}
"""
_UNKNOWN: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?query ?query_id ?time ?object WHERE {
  ?query ah:incomplete @incomplete@ ; prov:startedAtTime ?time .
  OPTIONAL { ?query ah:queryId ?query_id }
  { ?query prov:qualifiedUsage|ah:accessPattern ?access . ?access ah:accessedObject ?object }
  UNION { ?query ah:madeVersion ?version . ?version prov:specializationOf ?object }
}
"""
_COLUMN_SOURCES: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
SELECT ?since ?until WHERE {
  ?column ah:columnOf @view@ ; ah:matchName @column@ .
  ?shown ah:viewColumn ?column ; ah:evidence "CERTAIN" .
  OPTIONAL { ?shown ah:validFrom ?since }
  OPTIONAL { ?shown ah:validUntil ?until }
}
"""


class _Period(NamedTuple):
    """What is asked for: definitions of views that were in force at some time in it. None: no limit."""

    since: datetime | None
    until: datetime | None

    def has(self, since: str | None, until: str | None) -> bool:
        begins_later = self.until is not None and since is not None and datetime.fromisoformat(since) > self.until
        ended = self.since is not None and until is not None and datetime.fromisoformat(until) <= self.since
        return not begins_later and not ended


class _Behind(NamedTuple):
    """The objects behind views, or the views over objects. ``certain``: those of the first step that are certain, which
    the answer has; ``possible``: all others, in any number of steps.
    """

    certain: set[str]
    possible: set[str]


def notes_on_views(
    store: Store, question: Question, params: ParameterValues, answer: Answer, things: Collection[str]
) -> list[str]:
    """Notes for a person who asked the shipped question about views, streams, or objects that may be behind some.
    ``things``: the IRIs of the objects that the parameters mean at any time.
    """
    if "lineage" not in question.needs:
        return []
    unknown = _unknown_streams(store, params, answer, things)
    if question.name in UPWARD:
        holders = _with_name_then(Lookups(store), sorted(things), params)
        columns = [match_name(value) for value in values_of(params, "column_name")]
        return [*_upward(store, holders, columns, _period(params)), *unknown]
    if question.name in DOWNWARD:
        answered = _answered(store, question.name, answer, things)
        if question.name == "end-up" and is_by_day(store):
            unfollowed = _over_by_day(store, {*things, *answered}, answered, _period(params))
        else:
            unfollowed = _over_objects(store, question.name, answer, answered, _period(params))
        return [*_downward(store, things, answered, _period(params)), *unfollowed, *unknown]
    return [*unknown]


def behind(store: Store, thing: str) -> str | None:
    """What rows show to be behind a view or stream at any time, as a sentence without its end; None if they do not."""
    views = _reached(store, {thing}, _VIEW, _Period(None, None))
    texts = [f"Behind it, as rows show: {_listed(store, views.certain)}"] if views.certain else []
    texts += [f"Possibly behind it: {_listed(store, views.possible)}"] if views.possible else []
    return f"{'. '.join(texts)}. Ask for these" if texts else None


def _period(params: ParameterValues) -> _Period:
    at, since, until = (
        [instant(name, value) for value in values_of(params, name)] for name in ("at", "since", "until")
    )
    return _Period(min([*at, *since], default=None), max([*at, *until], default=None))


def _with_name_then(lookups: Lookups, things: Iterable[str], params: ParameterValues) -> list[str]:
    """Of the things, those that had a name that is asked for at the time ``at``; all where either is not given."""
    names = {match_name(value) for value in values_of(params, "object_name")}
    times = [instant("at", value) for value in values_of(params, "at")]
    return [
        thing
        for thing in things
        if not names
        or not times
        or any(
            match_name(holder.name) in names and any(_has(holder, at) for at in times)
            for holder in lookups.names_of(thing)
        )
    ]


def _has(holder: NameHolder, at: datetime) -> bool:
    has_begun = datetime.fromisoformat(holder.since) <= at
    return has_begun and (holder.until is None or at < datetime.fromisoformat(holder.until))


def _upward(store: Store, things: Iterable[str], columns: Sequence[str], period: _Period) -> Iterator[str]:
    """``columns``: as they are matched, those of the things that are asked for; none if the question is not of them."""
    for thing in things:
        if _text(store, thing, "ah:domain") not in _DOMAINS:
            continue
        views = _reached(store, {thing}, _VIEW, period)
        name = _name(store, thing)
        if not views.certain and not views.possible:
            yield f"{name}: no row shows what is behind this {_kind(store, thing)}. Its data may come from anywhere."
            continue
        unknown = (
            [column for column in columns if not _shows_column(store, thing, column, period)] if views.certain else []
        )
        if unknown:
            yield (
                f"Rows show what is behind {name} ({_listed(store, views.certain)}), but not what is behind its column "
                f"{', '.join(unknown)}: the answer lacks that."
            )
        if views.possible:
            yield (
                f"Possibly also behind {name}, and not in the answer: {_listed(store, views.possible)}. "
                "Only queries that read it together with others show this."
            )


def _shows_column(store: Store, thing: str, column: str, period: _Period) -> bool:
    """Whether a source of this column of a view is certain. ``column``: as it is matched."""
    text = _COLUMN_SOURCES.replace("@view@", str(NamedNode(thing))).replace("@column@", str(Literal(column)))
    answer = store.query(text)
    return any(
        period.has(*(time and time.value for time in (row["since"], row["until"])))
        for row in (answer if isinstance(answer, QuerySolutions) else ())
    )


def _downward(store: Store, things: Collection[str], answered: Collection[str], period: _Period) -> Iterator[str]:
    """A note on each of the things, and one on all else that holds their data."""
    noted = set[str]()
    for thing in sorted(things):
        possible = _reached(store, {thing}, _SOURCE, period).possible - set(answered)
        noted |= possible
        if possible:
            yield (
                f"Possibly over {_name(store, thing)}, and followed only where it is certain: "
                f"{_listed(store, possible)}. Only queries that read these together with others show this."
            )
    rest = set(answered) - set(things)
    possible = _reached(store, rest, _SOURCE, period).possible - set(answered) - noted - set(things)
    if possible:
        yield (
            f"Possibly over what the data went to, and followed only where it is certain: {_listed(store, possible)}. "
            "Only queries that read these together with others show this."
        )


def _over_objects(store: Store, question: str, answer: Answer, answered: set[str], period: _Period) -> Iterator[str]:
    """A note on views over objects that are known to have the data only as a whole: end-up does not follow these."""
    if question != "end-up":
        return
    by, column = (answer.columns.index(name) for name in ("known_by", "target_column_name"))
    rows = [row for row in answer.rows if row[by] == "OBJECT" and row[column] is None]
    whole_objects = _answered(store, question, Answer(answer.columns, rows), answered)
    views = _reached(store, whole_objects, _SOURCE, period).certain - answered if whole_objects else set[str]()
    if views:
        yield (
            f"Over what the data went to, and not in the answer: {_listed(store, views)}. Data is followed through "
            "views and streams from what was asked for and from columns, not from objects that are known as a whole "
            "alone. downstream-users has who reads these."
        )


def _over_by_day(store: Store, holders: set[str], answered: set[str], period: _Period) -> Iterator[str]:
    """That with reads by day end-up has a view only where a query that also wrote or was cut read it."""
    over = _reached(store, holders, _SOURCE, period).certain - answered
    if over:
        yield (
            f"Over what was asked for or what its data went to, and not in the answer: {_listed(store, over)}. Reads "
            "by day do not say which of them went through a view or stream, so the answer lacks these, and shares "
            "that open them (exposure has the shares). downstream-users has who reads these."
        )


def _answered(store: Store, question: str, answer: Answer, things: Collection[str]) -> set[str]:
    """The objects of the same accounts that have a name in the answer."""
    lookups = Lookups(store)
    accounts = {holder.account for thing in things for holder in lookups.names_of(thing)}
    names = {row[answer.columns.index(DOWNWARD[question])] for row in islice(answer.rows, _MOST)}
    holders = (holder for name in names if name for holder in lookups.holders(name))
    return {holder.iri for holder in holders if holder.account in accounts}


def _reached(store: Store, starts: Collection[str], term: str, period: _Period) -> _Behind:
    """All that chains of views lead to. ``term``: the end of a source at which the starts are."""
    certain, reached, fresh = set[str](), set[str](), set(starts)
    while fresh:
        ends = list(_sources(store, fresh, term, period))
        if fresh == set(starts):
            certain = {end for end, is_certain in ends if is_certain}
        fresh = {end for end, _ in ends} - reached - set(starts)
        reached |= fresh
    return _Behind(certain, reached - certain)


def _sources(store: Store, things: Collection[str], term: str, period: _Period) -> Iterator[tuple[str, bool]]:
    """The other ends of sources of views, and whether each is certain."""
    text = _SOURCES.replace("@from@", " ".join(str(NamedNode(thing)) for thing in sorted(things)))
    text = text.replace("@term@", term).replace("@other@", _SOURCE if term == _VIEW else _VIEW)
    answer = store.query(text)
    for row in answer if isinstance(answer, QuerySolutions) else ():
        since, until = (time and time.value for time in (row["since"], row["until"]))
        if period.has(since, until):
            yield row["to"].value, row["evidence"].value == "CERTAIN"


# --- streams that a row does not name ---------------------------------------------------------------------------------


def _unknown_streams(store: Store, params: ParameterValues, answer: Answer, things: Collection[str]) -> Iterator[str]:
    """A note on queries that read or write what is asked for, or are in the answer, and whose rows name a stream by
    ``$SYS_VIEW_<number>`` alone, so that it is unknown (``docs/input.md``).
    """
    since = min((instant("since", value) for value in values_of(params, "since")), default=None)
    until = _period(params).until
    cells = {cell for row in islice(answer.rows, _MOST) for cell in row if cell}
    queries = dict[str, str]()
    for column in ("direct_objects_accessed", "objects_modified"):
        text = _UNKNOWN.replace("@incomplete@", str(Literal(f"{column} {UNKNOWN_STREAM}")))
        result = store.query(text)
        for row in result if isinstance(result, QuerySolutions) else ():
            ident, time = row["query_id"].value if row["query_id"] else "", datetime.fromisoformat(row["time"].value)
            is_asked_for = (since is None or since <= time) and (until is None or time <= until)
            if is_asked_for and (row["object"].value in things or ident in cells or not things):
                queries[row["query"].value] = ident
    if queries:
        idents = sorted(ident for ident in queries.values() if ident)
        more = f" and {len(queries) - _SHOWN_VIEWS} more" if len(queries) > _SHOWN_VIEWS else ""
        yield (
            "Rows name a stream by $SYS_VIEW_<number> alone: which stream that is, is "
            f"not known, and the answer may lack what went through it: {', '.join(idents[:_SHOWN_VIEWS])}{more}."
        )


def _text(store: Store, thing: str, term: str) -> str | None:
    quads = store.quads_for_pattern(NamedNode(thing), NamedNode(full(term)), None)
    return min((quad.object.value for quad in quads if isinstance(quad.object, Literal)), default=None)


def _name(store: Store, thing: str) -> str:
    return _text(store, thing, "rdfs:label") or thing


def _kind(store: Store, thing: str) -> str:
    return (_text(store, thing, "ah:domain") or "object").lower()


def _listed(store: Store, things: set[str]) -> str:
    return first_of(sorted(_name(store, thing) for thing in things), _SHOWN_VIEWS)
