"""Notes on why an answer is empty, or about times outside of the record.

The question is asked again by id only if the answer is empty and the question is quick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from exporter.ask.container_history import CONTAINERS
from exporter.ask.lookups import Lookups, lasting
from exporter.ask.notes import views
from exporter.ask.notes.asked import MOST, Asked, record_period
from exporter.ask.notes.incomplete import ACCESSES
from exporter.ask.parameters import ParameterValues, as_text, instant, values_of
from exporter.ask.triples import in_utc, iris
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from pyoxigraph import Store

_OF_COLUMNS: Final = frozenset(
    {"column-copies", "column-lineage", "column-readers", "columns-accessed", "root-cause", "tag-history"}
    | {"tag-reach", "unmasked-copies", "unmasked-reads"}
)
_QUICK: Final = frozenset(
    {
        *("column-readers", "columns-accessed", "exposure", "policy-coverage", "tag-history", "unmasked-reads"),
        *("when-accessed", "who-accessed", "writers"),
    }
)
"""Questions that are answered by index for one object. The others are not asked again."""
_UP: Final = (*views.UPWARD, "former-names")
_BY_COLUMN: Final = ("column-copies", "root-cause")
"""Questions about where data came from, and those that follow columns alone."""
_TIMES: Final = ("since", "until", "at")
_DAY: Final = timedelta(days=1)
_SHOWN: Final = 3
_EMPTIED: Final = """\
SELECT DISTINCT ?done ?start ?end ?query_id WHERE {
  VALUES ?thing { @thing@ }
  {
    ?version prov:specializationOf ?thing ; prov:wasGeneratedBy ?query .
    ?query ah:queryType ?done .
    FILTER(?done = "TRUNCATE_TABLE")
  } UNION {
    ?change ah:changedObject ?thing ; ah:operation ?done ; dcterms:isPartOf ?query .
    FILTER(?done IN ("DROP", "REPLACE", "UNDROP"))
  } UNION {
    # With its schema or database.
    ?state prov:specializationOf ?thing ; prov:wasInvalidatedBy|prov:wasGeneratedBy ?query .
    ?change_around dcterms:isPartOf ?query ; ah:operation ?done ; ah:changedObject/ah:domain ?around .
    FILTER(?around IN ("Schema", "Database") && ?done IN ("DROP", "REPLACE", "UNDROP"))
  } UNION {
    # By another one of its name.
    ?state prov:specializationOf ?thing ; prov:wasInvalidatedBy ?query .
    ?change_of_other dcterms:isPartOf ?query ; ah:operation ?made ; ah:changedObject ?other .
    ?other ah:domain ?domain .
    FILTER(?made IN ("CREATE", "REPLACE") && ?other != ?thing && ?domain NOT IN ("Schema", "Database"))
    BIND("REPLACE" AS ?done)
  }
  ?query prov:startedAtTime ?start .
  OPTIONAL { ?query prov:endedAtTime ?end }
  OPTIONAL { ?query ah:queryId ?query_id }
}
"""
_NOT_AS_BASE: Final = """\
SELECT DISTINCT ?has_columns WHERE {
  ?read prov:specializationOf @thing@ .
  ?written prov:wasDerivedFrom ?read ; prov:wasGeneratedBy ?query .
  ?query prov:qualifiedUsage|ah:accessPattern ?access .
  ?access ah:accessedObject @thing@ .
  FILTER NOT EXISTS { ?written ah:derivedFromBase ?read }
  BIND(EXISTS { ?column dcterms:isPartOf ?written ; prov:wasDerivedFrom ?source } AS ?has_columns)
}
"""
OF_BASE_OBJECTS: Final = ("sensitive-data-movement", "end-up", "column-copies")
"""Questions that follow base objects, or the source columns that rows give of what they name directly."""
_DONE: Final = {"TRUNCATE_TABLE": "truncated", "DROP": "dropped", "REPLACE": "replaced"}
_UNKNOWN_BEHIND: Final = "Rows do not say what it is made of: ask for the tables behind it"
_READ_ITSELF: Final = " What was written from it by its own name is in the answer of end-up."
_OF_FILES: Final = "and by what has no row; only COPY, PUT, GET and queries on it are on record."
_DATA_OF_OTHERS: Final = ("View", "Stream")
_NO_DATA: Final = (
    *("View", "Materialized view", "Semantic View", "Stream"),
    *("Function", "Procedure", "External function"),
)


def no_row(store: Store, params: ParameterValues = MappingProxyType({})) -> str:
    """The note on an empty answer of which nothing else is known. ``params``: the parameters, of which ``since``,
    ``until`` and ``at`` leave a part of the record.
    """
    covered = record_period(Lookups(store))
    if covered is None:
        return "No row has what this question asks for."
    first, last = covered
    begins = [instant("since", value) for value in values_of(params, "since")]
    ends = [instant(name, value) for name in ("until", "at") for value in values_of(params, name)]
    if begins and min(begins) > in_utc(first):
        first = as_text(min(begins))
    if ends and max(ends) < in_utc(last):
        last = as_text(max(ends))
    return f"No row from {first} to {last} has what this question asks for."


# --- times ------------------------------------------------------------------------------------------------------------


def outside_of_record(asked: Asked) -> Iterator[str]:
    """A note if a time is before the first day on record or after the last one."""
    kinds = {parameter.name: parameter.kind for parameter in asked.question.parameters}
    names = [name for name in kinds if name in _TIMES and kinds[name] == "time" and asked.values(name)]
    covered = record_period(asked.graph) if names else None
    if covered is None:
        return
    first, last = map(in_utc, covered)
    begin = first.replace(hour=0, minute=0, second=0, microsecond=0)
    end = last.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
    outside = [
        f"{name}={value}"
        for name in names
        for value in asked.values(name)
        if not begin <= (time := instant(name, value)) <= end
        or (name == "until" and time <= first)
        or (name == "since" and time > last)
        or (name == "at" and time < first)
    ]
    if outside:
        yield (
            f"The record covers {covered[0]} to {covered[1]}: {', '.join(outside)} "
            f"{'is' if len(outside) == 1 else 'are'} outside of it."
        )


def removed_data(asked: Asked) -> Iterator[str]:
    """For an empty answer about the data of an object at a time: the last statement before it that removed the data."""
    times = asked.times("at")
    ended = defaultdict[tuple[str, str], list[tuple[datetime, str]]](list)
    held = defaultdict[datetime, bool](bool)  # whether the question has rows just before
    for thing in sorted(asked.things) if times else ():
        if (asked.graph.text(thing, "ah:domain") or "").endswith(("Policy", "Tag")):
            continue  # it holds no data
        ends = [
            (in_utc(end), row["done"], end, row["query_id"], row["start"])
            for row in asked.graph.select(_EMPTIED, thing=iris([thing]))
            if in_utc(end := row["end"] or row["start"]) <= max(times)
        ]
        if ends and (last := max(ends))[1] in _DONE:
            time, done, end, ident, start = last
            by = f" (query {ident})" if ident else ""
            ended[asked.graph.name_at(thing, start), _DONE[done]].append((time, f"{end}{by}"))
            held[time] |= not asked.is_of_page and _has_lineage(asked, thing) and _is_asked_for(asked, thing, time)
    for (name, done), statements in ended.items():
        more = len({*statements}) - 1  # one statement can end an object, and make another one that is gone since
        and_more = f", and {more:,} other {'object' if more == 1 else 'objects'} of this name before" if more else ""
        earlier = max(statements)[0] - timedelta.resolution
        ask = f" Ask with at={as_text(earlier)} for that." if held[max(statements)[0]] else ""
        yield f"{name} was {done} at {max(statements)[1]}{and_more}: what it held before is not in the answer.{ask}"


def _is_asked_for(asked: Asked, thing: str, ended: datetime) -> bool:
    """Whether the same question means an object just before a time at which it ended: by the name that it had then."""
    names, last = asked.match_names(), ended - timedelta.resolution
    return not names or any(
        match_name(holder.name) in names and holder.holds(last) for holder in asked.graph.names_of(thing)
    )


# --- the same question by id ------------------------------------------------------------------------------------------


def same_by_id(asked: Asked) -> Iterator[str]:
    """For an empty answer by name: the rows that there are by the ids of what had the name. The name counts only as
    long as an object had it, the id always.
    """
    takes = {parameter.name for parameter in asked.question.parameters}
    if not {"object_name", "object_id"} <= takes or "object_name" not in asked.params or "object_id" in asked.params:
        return
    for ident, domain, names in islice(_renamed(asked), _SHOWN):
        by_id = {parameter: asked.values(parameter) for parameter in asked.params if parameter != "object_name"}
        by_id |= {"object_id": [ident], **({"domain": [domain]} if "domain" in takes else {})}
        text = asked.by_id(ident, domain)
        accounts = {holder.account for holder in asked.graph.of_id(ident) if holder.domain == domain}
        text += f" (an id in {len(accounts)} accounts)" if len(accounts) > 1 else ""
        if asked.name not in _QUICK:
            yield f"Ask by {text}{_while_there(asked, ident, domain)}, too: its names: {names}."
        elif rows := len(asked.ask(by_id, MOST).rows):
            count = f"{rows:,} {'row' if rows == 1 else 'rows'}" if rows < MOST else f"{MOST:,} rows or more"
            yield f"As {text} it has {count}; its names: {names}."


def _while_there(asked: Asked, ident: str, domain: str) -> str:
    """`` with at=…``: the last time at which an object was there that ended by the time that is asked for."""
    times, graph = asked.times("at"), asked.graph
    things = [holder.iri for holder in graph.of_id(ident) if holder.domain == domain and holder.iri in asked.things]
    if not times or not things or not all(graph.was_dropped(thing, max(times)) for thing in things):
        return ""
    states = (state for thing in things for state in graph.subjects("prov:specializationOf", thing))
    ends = [in_utc(time) for state in states for time in graph.objects(state, "prov:invalidatedAtTime")]
    return f" with at={as_text(max(end for end in ends if end <= max(times)) - timedelta.resolution)}"


def _renamed(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Id, kind and names of the objects that had several names, or whose name ended; the latest first. Without those
    that nothing came of, or from, which no question has that follows data.
    """
    renamed = [(names[-1].order, thing, names) for thing in asked.things if (names := asked.graph.names_of(thing))]
    for _, thing, names in sorted(renamed, key=lambda entry: entry[0], reverse=True):
        is_named_otherwise = len(names) > 1 or names[-1].until is not None
        if names[0].ident and is_named_otherwise and (asked.name in _QUICK or _has_lineage(asked, thing)):
            table = asked.graph.table_of_stage(names[-1])  # with which a stage has its names
            texts = (
                f"{name.name} from {name.since}" + (f" until {name.until}" if name.until else "")
                for name in lasting(asked.graph.names_of(table.iri) if table else names)[-_SHOWN:]
            )
            yield names[0].ident, names[0].domain, ", ".join(texts)


def _has_lineage(asked: Asked, thing: str) -> bool:
    """Whether data came of an object or to it by the time that is asked for, or may have, through a view; or somebody
    read it. Of a question that follows columns alone: of the columns that are asked for.
    """
    graph, columns = asked.graph, asked.match_names("column_name")
    is_up, is_by_column = asked.name in _UP, asked.name in _BY_COLUMN
    if is_up and any(graph.subjects("ah:view", thing)):
        return True
    if asked.name == "downstream-users" and any(graph.subjects("ah:accessedObject", thing)):
        return True
    if not is_up and not is_by_column:
        shown = graph.at_most(graph.subjects("ah:sourceObject", thing), MOST)
        if any(any(graph.objects(view_source, "ah:view")) for view_source in shown):
            return True
    places = [thing]
    if is_by_column:
        places = graph.columns_of(thing, columns)
    states = [state for place in places for state in graph.subjects("prov:specializationOf", place)]
    if not is_up:
        states = [made for state in states for made in graph.subjects("prov:wasDerivedFrom", state)]
    elif asked.name in views.UPWARD:
        states = [state for state in states if any(graph.objects(state, "prov:wasDerivedFrom"))]
    queries = (query for state in states for query in graph.objects(state, "prov:wasGeneratedBy"))
    starts = (graph.text(query, "prov:startedAtTime") for query in queries)
    return any(start is None or asked.is_by_then(start) for start in starts)


# --- what cannot be known ---------------------------------------------------------------------------------------------


def kinds_without_record(asked: Asked) -> Iterator[str]:
    """For an empty answer about objects of a kind for which rows do not record what was asked."""
    needs = asked.question.needs
    for thing in sorted(asked.asked_objects):
        domain, name = asked.graph.text(thing, "ah:domain") or "", asked.label(thing)
        if domain.endswith("Stage") and asked.name in _OF_COLUMNS:
            yield f"{name} is a stage: rows name no columns of stages, so nothing is known of its columns."
        elif domain.endswith("Stage") and needs & ACCESSES:
            yield f"{name} is a stage: its files can be read and written outside of Snowflake, {_OF_FILES}"
        elif domain == "Location" and needs & ACCESSES:
            yield f"{name} is outside of Snowflake: its files can be read and written by others, {_OF_FILES}"
        elif domain in _NO_DATA and needs & (ACCESSES - {"reads"}) and asked.name not in views.UPWARD:
            yield (
                f"{name} is a {domain.lower()}: it holds no data of its own. "
                f"{views.behind(asked, thing) or _UNKNOWN_BEHIND}, too."
                + (_READ_ITSELF if asked.name == "sensitive-data-movement" and domain in _DATA_OF_OTHERS else "")
            )
        elif domain in CONTAINERS and needs & ACCESSES:
            yield f"{name} is a {domain.lower()}: rows tell reads and writes of the objects in it. Ask for these."
        elif domain == "Share" and needs & ACCESSES:
            accounts = asked.other_accounts
            yield f"{name} is a share: what {accounts} read of it is in their own ACCESS_HISTORY alone."


def not_as_base_object(asked: Asked) -> Iterator[str]:
    """For an empty answer of a question that follows base objects alone, as the documents' query does, or the columns
    that rows give of what a query named: rows have a provider's tables in neither.
    """
    for thing in sorted(asked.asked_objects):
        if (asked.graph.text(thing, "ah:domain") or "") in _NO_DATA:
            continue
        has_columns = {row["has_columns"] for row in asked.graph.select(_NOT_AS_BASE, thing=iris([thing]))}
        if has_columns:
            shows = asked.graph.subjects("ah:sourceObject", thing)
            is_behind = any(
                any(asked.graph.objects(view_source, "ah:view")) for view_source in asked.graph.at_most(shows, MOST)
            )
            is_whole = ("false" in has_columns or is_behind) and asked.name != "end-up"
            where = "end-up has where its data went" if is_whole else "downstream-users has who read what they wrote"
            yield (
                f"Queries that wrote read {asked.label(thing)}, but it is not among their base objects, which "
                f"this question follows. {where}."
            )
