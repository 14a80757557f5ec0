"""Why an answer is empty, or smaller than the person may think: what the graph knows of it, in notes.

:func:`explain` has all of them, for the command and for pages. It looks up a few triples by index. It asks the question
again by id only if the answer is empty and the question is quick.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode, QuerySolutions

from exporter.ask import tag_stops, unrecorded
from exporter.ask.column_names import former_columns, letter_cases
from exporter.ask.nameless import renamed_without_ids, set_without_id, without_ids
from exporter.ask.names import Lookups
from exporter.ask.notes import OF_AGENTS, UPWARD, behind, notes_by_day, notes_on_short_queries, notes_on_views
from exporter.ask.parameters import instant, values_of
from exporter.ask.shipped import is_shipped
from exporter.ask.tag_times import tags_of_another_time
from exporter.graph.terms import full
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from pyoxigraph import Store

    from exporter.ask.answers import Answer
    from exporter.ask.parameters import ParameterValues
    from exporter.ask.questions import Question

    Asks = Callable[[ParameterValues, int], Answer]

_TYPE: Final = NamedNode(full("rdf:type"))
_AGENT: Final = NamedNode(full("ah:SoftwareAgent"))
_ACCESSES: Final = frozenset({"reads", "writes", "lineage"})
_NEEDED_BY: Final = {
    "direct_objects_accessed": _ACCESSES,
    "base_objects_accessed": _ACCESSES,
    "objects_modified": _ACCESSES - {"reads"},
    "policies_referenced": frozenset({"policies"}),
    "object_modified_by_ddl": frozenset({"DDL"}),
}
"""Column of a row that Snowflake can cut (view, "Usage notes") -> the needs (``Question.needs``) that it belongs to."""
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
_TIMES: Final = ("since", "until", "at")
_DAY: Final = timedelta(days=1)
_MOST: Final = 1_000
"""The most rows and truncated queries that a note counts."""
_SHOWN: Final = 3
_MASKED: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
ASK {
  VALUES ?object { @thing@ }
  VALUES ?match_name { @columns@ }
  ?column ah:columnOf ?object ; ah:matchName ?match_name .
  { ?setting ah:onColumn ?column ; ah:property "maskingPolicies" }
  UNION { ?enforcement ah:protectedColumn ?column ; ah:policyKind "MASKING_POLICY" }
  UNION {
    ?tagged a ah:TagSetting ; ah:onColumn ?column ; ah:elementObject/(ah:sameNameAs|^ah:sameNameAs)? ?tag .
    ?on_tag ah:settingOn ?tag ; ah:property "maskingPolicies" .
  }
}
"""
_EMPTIED: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX prov: <http://www.w3.org/ns/prov#>
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
  }
  ?query prov:startedAtTime ?start .
  OPTIONAL { ?query prov:endedAtTime ?end }
  OPTIONAL { ?query ah:queryId ?query_id }
}
"""
_DONE: Final = {"TRUNCATE_TABLE": "truncated", "DROP": "dropped", "REPLACE": "replaced"}
_UNKNOWN_BEHIND: Final = "Rows do not say what it is made of: ask for the tables behind it"
_READ_ITSELF: Final = " What was written from it by its own name is in the answer of end-up."
_DATA_OF_OTHERS: Final = ("View", "Stream")
_TAGGED: Final = """\
PREFIX ah: <https://w3id.org/access-history#>
ASK {
  VALUES ?object { @thing@ }
  VALUES ?match_name { @columns@ }
  ?column ah:columnOf ?object ; ah:matchName ?match_name .
  ?setting ah:onColumn ?column ; a ah:TagSetting .
}
"""
_AROUND: Final = ("Database", "Schema")
_NO_DATA: Final = (
    "View",
    "Materialized view",
    "Semantic View",
    "Stream",
    "Function",
    "Procedure",
    "External function",
)


def explain(  # noqa: PLR0913, PLR0917 - a question, its parameters, its answer and what they mean
    store: Store, question: Question, params: ParameterValues, answer: Answer, things: Collection[str], ask: Asks
) -> list[str]:
    """The notes on the answer ``answer``, none where nothing is known to be missing. ``things``: the IRIs of the
    objects that the parameters mean at any time. ``ask``: a function that answers the question with other parameters,
    with at most the given number of rows.
    """
    name = question.name
    unknown = set[str]()  # objects of which the rows may say more, without an id
    about = {*things, *values_of(params, "object")} if not is_shipped(question) else set(things)
    notes = [*_outside(store, question, params)]
    if not name.startswith("page-"):
        notes += notes_by_day(store, question, params, things)
        notes += notes_on_short_queries(store, question, params)
    if is_shipped(question):
        notes += unrecorded.notes(store, name, params)
        notes += without_ids(store, params, answer, things)
        for more_notes, more_unknown in (
            renamed_without_ids(store, name, params, answer, things, notes),
            set_without_id(store, name, things),
        ):
            notes += more_notes
            unknown |= more_unknown
        notes += notes_on_views(store, question, params, answer, things)
    elif not name.startswith("page-"):
        return [*notes, *_truncated(store, question, params)]
    notes += unrecorded.of_containers(store, name, params, answer, about)
    notes += former_columns(store, name, params, things)
    notes += letter_cases(store, name, things)
    notes += _of_agents(store, name, params, answer)
    if not answer.rows:
        notes += _emptied(store, name, params, things)
        notes += _by_id(store, question, params, things, ask)
        notes += _of_policies(store, name, params, set(things) - unknown)
        notes += _of_tags(store, name, params)
        notes += tags_of_another_time(store, name, params, things)
        notes += (note for thing in sorted(about) for note in _of_kind(store, question, thing))
    notes += _shared(store, question, about)
    notes += _truncated(store, question, params)
    return list(dict.fromkeys(notes))


def no_row(store: Store, params: ParameterValues = MappingProxyType({})) -> str:
    """The note on an empty answer of which nothing else is known. ``params``: the parameters, of which ``since``,
    ``until`` and ``at`` leave a part of the record.
    """
    covered = period(store)
    if covered is not None:
        first, last = covered
        begins = [instant("since", value) for value in values_of(params, "since")]
        ends = [instant(name, value) for name in ("until", "at") for value in values_of(params, name)]
        if begins and min(begins) > _instant(first):
            first = _in_graph(min(begins))
        if ends and max(ends) < _instant(last):
            last = _in_graph(max(ends))
        covered = first, last
    when = "" if covered is None else f" from {covered[0]} to {covered[1]}"
    return f"No row{when} has what this question asks for."


# --- times ------------------------------------------------------------------------------------------------------------


def period(store: Store) -> tuple[str, str] | None:
    """The times of the first and the last query on record, in the form of the graph; None where there is no query."""
    first, last = _values(store, None, "ah:firstQueryTime"), _values(store, None, "ah:lastQueryTime")
    if not first or not last:  # a graph without the description of its export
        first = last = _values(store, None, "prov:startedAtTime")
    return (min(first, key=_instant), max(last, key=_instant)) if first and last else None


def _outside(store: Store, question: Question, params: ParameterValues) -> Iterator[str]:
    """A note if a time is before the first day on record or after the last one."""
    times_asked = [
        (parameter.name, value)
        for parameter in question.parameters
        if parameter.kind == "time" and parameter.name in _TIMES
        for value in values_of(params, parameter.name)
    ]
    covered = period(store) if times_asked else None
    if covered is None:
        return
    first, last = (_instant(time) for time in covered)
    begin = first.replace(hour=0, minute=0, second=0, microsecond=0)
    end = last.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
    outside = [
        f"{name}={value}"
        for name, value in times_asked
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


def _instant(time: str) -> datetime:
    return datetime.fromisoformat(time).astimezone(UTC)


def _in_graph(time: datetime) -> str:
    """A time in the form of the graph."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


# --- the same question by id ------------------------------------------------------------------------------------------


def _by_id(
    store: Store,
    question: Question,
    params: ParameterValues,
    things: Collection[str],
    ask: Asks,
) -> Iterator[str]:
    """For an empty answer by name: the rows that there are by the ids of what had the name. The name counts only as
    long as an object had it, the id always.
    """
    takes = {parameter.name for parameter in question.parameters}
    if not {"object_name", "object_id"} <= takes or "object_name" not in params or "object_id" in params:
        return
    lookups = Lookups(store)
    for ident, domain, names in islice(_renamed(lookups, things), _SHOWN):
        by_id: dict[str, list[str]] = {
            **{parameter: values_of(params, parameter) for parameter in params if parameter != "object_name"},
            "object_id": [ident],
        }
        if "domain" in takes:
            by_id["domain"] = [domain]
        text = f"object_id={ident}" + (f" domain={domain}" if "domain" in takes and domain != "Table" else "")
        was = f"its names: {names}"
        if question.name not in _QUICK:
            yield f"Ask by {text}, too: {was}."
            continue
        rows = len(ask(by_id, _MOST).rows)
        if rows:
            count = f"{rows:,} {'row' if rows == 1 else 'rows'}" if rows < _MOST else f"{_MOST:,} rows or more"
            yield f"As {text} it has {count}; {was}."


def _renamed(lookups: Lookups, things: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Id, kind and names of the objects that had several names, or whose name ended."""
    for thing in sorted(things):
        names = lookups.names_of(thing)
        if names and names[0].ident and (len(names) > 1 or names[-1].until is not None):
            text = ", ".join(
                f"{name.name} from {name.since}" + (f" until {name.until}" if name.until else "")
                for name in names[-_SHOWN:]
            )
            yield names[0].ident, names[0].domain, text


# --- what cannot be known ---------------------------------------------------------------------------------------------


def _of_kind(store: Store, question: Question, thing: str) -> Iterator[str]:
    """For an empty answer about an object of a kind for which rows do not record what was asked."""
    domain = min(_values(store, thing, "ah:domain"), default="")
    name = min(_values(store, thing, "rdfs:label"), default=thing)
    if domain == "Stage" and question.name in _OF_COLUMNS:
        yield f"{name} is a stage: rows name no columns of stages, so nothing is known of its columns."
    elif domain == "Stage" and question.needs & _ACCESSES:
        yield (
            f"{name} is a stage: its files can be read and written outside of Snowflake, and by what has no row; "
            "only COPY, PUT, GET and queries on it are on record."
        )
    elif domain in _NO_DATA and question.needs & (_ACCESSES - {"reads"}) and question.name not in UPWARD:
        yield (
            f"{name} is a {domain.lower()}: it holds no data of its own. "
            f"{behind(store, thing) or _UNKNOWN_BEHIND}, too."
            + (_READ_ITSELF if question.name == "sensitive-data-movement" and domain in _DATA_OF_OTHERS else "")
        )
    elif domain in _AROUND and question.needs & _ACCESSES:
        yield f"{name} is a {domain.lower()}: rows tell reads and writes of the objects in it. Ask for these."
    elif domain == "Share" and question.needs & _ACCESSES:
        yield f"{name} is a share: what other accounts read of it is in their own ACCESS_HISTORY alone."


def _emptied(store: Store, question: str, params: ParameterValues, things: Collection[str]) -> Iterator[str]:
    """For an empty answer about the data of an object at a time: the last statement before it that removed the data."""
    times = [instant("at", value) for value in values_of(params, "at")] if question in UPWARD else []
    for thing in sorted(things) if times else ():
        answer = store.query(_EMPTIED.replace("@thing@", str(NamedNode(thing))))
        statements = sorted(
            (_instant(end), row["done"].value, end, row["query_id"].value if row["query_id"] else "")
            for row in (answer if isinstance(answer, QuerySolutions) else ())
            if _instant(end := (row["end"] or row["start"]).value) <= max(times)
        )
        if statements and statements[-1][1] in _DONE:
            _, what, time, ident = statements[-1]
            name = min(_values(store, thing, "rdfs:label"), default=thing)
            yield (
                f"{name} was {_DONE[what]} at {time}{f' (query {ident})' if ident else ''}: what it held before is not "
                "in the answer."
            )


def _of_agents(store: Store, question: str, params: ParameterValues, answer: Answer) -> Iterator[str]:
    """What the answer about agents lacks: rows that name no agent, and agents without type, id and name."""
    if question != OF_AGENTS:
        return
    if not answer.rows and not any(store.quads_for_pattern(None, _TYPE, _AGENT)):
        yield (
            "No row names an agent (agents_info): no agent took part in a query, or the rows were recorded or unloaded "
            "without this column."
        )
    unnamed = store.quads_for_pattern(None, NamedNode(full("ah:incomplete")), Literal("agents_info UNNAMED"))
    count = sum(
        _is_asked_for(store, quad.subject.value, params) for quad in unnamed if isinstance(quad.subject, NamedNode)
    )
    if count:
        yield (
            f"{count:,} {'query has' if count == 1 else 'queries have'} an agent of which the row gives no type, id or "
            "name: the answer lacks it."
        )


def _of_policies(store: Store, question: str, params: ParameterValues, things: Collection[str]) -> Iterator[str]:
    """For an empty answer to a question that is only about objects with a mask, a tag or a grant."""
    covered = period(store)
    first = "the first row" if covered is None else covered[0]
    if question == "exposure":
        yield (
            "Rows record grants to shares, and shares that are open to accounts: what roles may do, and what was "
            f"granted before {first}, is not on record."
        )
    columns = [match_name(value) for value in values_of(params, "column_name")]
    for thing in sorted(things):
        name = min(_values(store, thing, "rdfs:label"), default=thing)
        if question == "unmasked-reads" and not _is_masked(store, thing, columns):
            what = f"{name}.{', '.join(values_of(params, 'column_name'))}" if columns else f"a column of {name}"
            yield (
                f"No row shows a masking policy on {what}, so the question does not apply: whoever read it read "
                "it in clear (column-readers lists the readers)."
            )
        if question == "policy-coverage" and not _has_tag(store, thing):
            yield f"No row sets a tag on {name}: policy-coverage lists only what has a tag."
        if question == "tag-history" and columns and not _holds(store, _TAGGED, thing, columns):
            what = ", ".join(values_of(params, "column_name"))
            yield f"No row sets a tag on {name}.{what}: what was set before {first} is not on record."


def _of_tags(store: Store, question: str, params: ParameterValues) -> Iterator[str]:
    """For an empty answer of tag-reach: whether rows set tags on columns at all."""
    if question != "tag-reach":
        return
    kind, tag = NamedNode(full("rdf:type")), NamedNode(full("ah:TagSetting"))
    settings = [quad.subject for quad in islice(store.quads_for_pattern(None, kind, tag), _MOST)]
    on_column = NamedNode(full("ah:onColumn"))
    if any(any(store.quads_for_pattern(setting, on_column, None)) for setting in settings):
        rows = "Beside what stop_at leaves out, rows" if values_of(params, tag_stops.PARAMETER) else "Rows"
        yield (
            f"{rows} show no copy without the tag of its source, among columns that are there and sources that have a "
            "tag. Views over a column and stages are not in this answer (end-up has them)."
        )
    elif settings:
        yield (
            "Tags are set on objects as a whole, and on no column: tag-reach begins with tagged columns "
            "(policy-coverage lists the objects)."
        )
    else:
        covered = period(store)
        yield (
            "No row sets a tag on a column: what was set before "
            f"{'the first row' if covered is None else covered[0]} is not on record."
        )


def _is_masked(store: Store, thing: str, columns: list[str]) -> bool:
    """Whether a column had a masking policy at any time: set on it or on its tag, or enforced."""
    return _holds(store, _MASKED, thing, columns)


def _holds(store: Store, question: str, thing: str, columns: list[str]) -> bool:
    """The answer of an ASK about the columns of a thing; about any of its columns if none are given."""
    values = " ".join(str(Literal(column)) for column in columns) or "UNDEF"
    return bool(store.query(question.replace("@thing@", f"<{thing}>").replace("@columns@", values)))


def _has_tag(store: Store, thing: str) -> bool:
    settings = store.quads_for_pattern(None, NamedNode(full("ah:settingOn")), NamedNode(thing))
    kind, tag = NamedNode(full("rdf:type")), NamedNode(full("ah:TagSetting"))
    return any(any(store.quads_for_pattern(setting.subject, kind, tag)) for setting in settings)


def _shared(store: Store, question: Question, things: Collection[str]) -> Iterator[str]:
    """A note on objects that were granted to a share: their readers in other accounts are not on record here."""
    if "reads" not in question.needs:
        return
    to_share, granted = NamedNode(full("ah:grantedTo")), NamedNode(full("ah:grantedObject"))
    for thing in sorted(things):
        grants = (quad.subject for quad in store.quads_for_pattern(None, granted, NamedNode(thing)))
        if any(any(store.quads_for_pattern(grant, to_share, Literal("SHARE"))) for grant in grants):
            name = min(_values(store, thing, "rdfs:label"), default=thing)
            yield f"{name} was granted to a share: reads in other accounts are in their own ACCESS_HISTORY alone."


def _truncated(store: Store, question: Question, params: ParameterValues) -> Iterator[str]:
    """How many queries in the time that is asked for were cut at a place that the question needs."""
    places = sorted(place for place, needs in _NEEDED_BY.items() if question.needs & needs)
    queries: set[str] = set()
    cut: set[str] = set()
    for place in places:
        quads = store.quads_for_pattern(None, NamedNode(full("ah:incomplete")), Literal(f"{place} TRUNCATED"))
        for quad in islice(quads, _MOST):
            if isinstance(quad.subject, NamedNode) and _is_asked_for(store, quad.subject.value, params):
                queries.add(quad.subject.value)
                cut.add(place)
    if queries:
        count = f"{len(queries):,}" + (" or more" if len(queries) >= _MOST else "")
        are, pronoun = ("query was", "it") if len(queries) == 1 else ("queries were", "they")
        first_id = next(iter(_values(store, min(queries), "ah:queryId")), "")
        yield (
            f"{count} {are} cut by Snowflake ({', '.join(sorted(cut))}), so the answer may lack what {pronoun} did"
            + (f"; the first is {first_id}." if first_id else ".")
        )


def _is_asked_for(store: Store, query: str, params: ParameterValues) -> bool:
    """Whether a query started in the time that the parameters ask for, and is the query or of the request asked for."""
    ids = values_of(params, "query_id")
    if ids:
        related = {query, *_values(store, query, "ah:rootQuery"), *_values(store, query, "dcterms:isPartOf")}
        if not set(ids) & {ident for related_query in related for ident in _values(store, related_query, "ah:queryId")}:
            return False
    times = [_instant(time) for time in _values(store, query, "prov:startedAtTime")]
    since = [instant("since", value) for value in values_of(params, "since")]
    until = [instant("until", text) for text in (*values_of(params, "until"), *values_of(params, "at"))]
    return not times or ((not since or max(times) >= min(since)) and (not until or min(times) <= max(until)))


def _values(store: Store, subject: str | None, term: str) -> AbstractSet[str]:
    quads = store.quads_for_pattern(NamedNode(subject) if subject else None, NamedNode(full(term)), None)
    return {quad.object.value for quad in quads if isinstance(quad.object, Literal | NamedNode)}
