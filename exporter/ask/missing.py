"""Why an answer is empty, or smaller than the person may think: what the graph knows of it, in notes.

:func:`explain` has all of them, for the command and for pages. It looks up a few triples by index. It asks the question
again by id only if the answer is empty and the question is quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from exporter.ask import (
    clones,
    left_out,
    masks,
    nameless,
    protection,
    requests,
    unnamed,
    unrecorded,
    views,
    without_ids,
)
from exporter.ask.answers import first_of
from exporter.ask.asked import MOST, Asked, in_utc, record_period
from exporter.ask.lookups import Lookups, iris
from exporter.ask.masks import masked_elsewhere
from exporter.ask.parameters import ParameterValues, as_text, instant, values_of
from exporter.ask.shipped import is_shipped
from exporter.model.identifiers import TRUNCATED
from exporter.model.incomplete import ACCOUNTS, NOT_UNDERSTOOD, UNNAMED

if TYPE_CHECKING:
    from pyoxigraph import Store

_ACCESSES: Final = frozenset({"reads", "writes", "lineage"})
_DDL: Final = "object_modified_by_ddl"
_NEEDED_BY: Final = {
    "direct_objects_accessed": _ACCESSES,
    "base_objects_accessed": _ACCESSES,
    "objects_modified": _ACCESSES - {"reads"},
    "policies_referenced": frozenset({"policies"}),
    "provider_policies_referenced": frozenset({"policies"}),
    _DDL: frozenset({"DDL"}),
}
"""Column of a row that Snowflake can cut (view, "Usage notes") -> the needs (``Question.needs``) that it belongs to."""
_BY_DDL: Final = frozenset({"agent-reads", "end-up", "unmasked-copies", "unmasked-reads"})
"""Questions whose answers depend also on DDL: masks that it sets, and grants to shares."""
_BEFORE: Final[Mapping[str, AbstractSet[str]]] = {
    "agent-reads": frozenset({"DDL"}),
    "changes": frozenset({"reads", "writes"}),
    "downstream-users": frozenset({"lineage"}),
    "end-up": frozenset({"lineage", "DDL"}),
    "unmasked-copies": frozenset({"lineage", "policies", "DDL"}),
    "unmasked-reads": frozenset({"policies", "DDL"}),
    "unused-objects": frozenset({"reads", "writes"}),
}
"""What counts before ``since``, too: copies and masks from before, views that were replaced, who is a reader already,
and when something was last read.
"""
_AFTER: Final[Mapping[str, AbstractSet[str]]] = {
    "tag-history": frozenset({"DDL"}),
    "unmasked-copies": frozenset({"policies"}),
    "unmasked-reads": frozenset({"policies", "DDL"}),
}
"""What counts after ``until``, too: a read is one BEFORE by the mask that comes later, a tag of a whole table masks the
columns on which its policy is ever enforced, and a column is asked for by a name that it gets later.
"""
_CUT: Final = (TRUNCATED,)
_REASONS: Final = {
    _CUT: "cut by Snowflake ({})",
    (UNNAMED, NOT_UNDERSTOOD): "not understood in full ({}: without a name, or in a form that is not known)",
}
"""The reasons of ``ah:incomplete`` -> what an answer says of them."""
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
ASK {
  ?read prov:specializationOf @thing@ .
  ?written prov:wasDerivedFrom ?read ; prov:wasGeneratedBy ?query .
  ?query prov:qualifiedUsage|ah:accessPattern ?access .
  ?access ah:accessedObject @thing@ .
  FILTER NOT EXISTS { ?written ah:derivedFromBase ?read }
}
"""
_ON_ALL: Final = """\
SELECT DISTINCT ?label ?privilege ?kind ?account ?since ?until WHERE {
  ?grant ah:onAll ?kind ; ah:grantedObject ?around ; ah:validFrom ?since .
  ?around rdfs:label ?label .
  OPTIONAL { ?grant ah:validUntil ?until }
  OPTIONAL { ?grant ah:privilege ?privilege }
  BIND(REPLACE(STR(?around), "[^/]+/(name/)?[^/]+$", "") AS ?account)
}
"""
_DONE: Final = {"TRUNCATE_TABLE": "truncated", "DROP": "dropped", "REPLACE": "replaced"}
_UNKNOWN_BEHIND: Final = "Rows do not say what it is made of: ask for the tables behind it"
_READ_ITSELF: Final = " What was written from it by its own name is in the answer of end-up."
_DATA_OF_OTHERS: Final = ("View", "Stream")
_AROUND: Final = ("Database", "Schema")
_NO_DATA: Final = (
    *("View", "Materialized view", "Semantic View", "Stream"),
    *("Function", "Procedure", "External function"),
)


def explain(asked: Asked) -> list[str]:
    """The notes on an answer, each once; none where nothing is known to be missing."""
    notes: list[Callable[[Asked], Iterable[str]]] = [_outside]
    if not asked.is_of_page:
        notes += [left_out.reads_by_day, left_out.short_queries]
    if is_shipped(asked.question):
        notes += [protection.enforced_before, protection.of_wholes, masks.unknown_bodies]
        notes += [masked_elsewhere, _granted_on_all, without_ids.revokes_not_counted]
        notes += [clones.clones, nameless.objects_by_name, views.views_and_streams]
    elif asked.is_of_page:
        notes += [clones.clones, nameless.on_page]
    if is_shipped(asked.question) or asked.is_of_page:
        notes += [unrecorded.containers, without_ids.former_columns, without_ids.letter_cases, _agents]
        if not asked.answer.rows:
            notes += [_emptied, _by_id, protection.nothing_set, protection.tags_of_another_time, _kinds, _not_as_base]
            notes += [nameless.given_twice]
        notes += [_shared]
    notes += [_incomplete, _of_unknown_request, _of_unknown_account]
    return list(dict.fromkeys(text for note in notes for text in note(asked)))


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


def _outside(asked: Asked) -> Iterator[str]:
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


def _emptied(asked: Asked) -> Iterator[str]:
    """For an empty answer about the data of an object at a time: the last statement before it that removed the data."""
    times = asked.times("at") if asked.name in views.UPWARD else []
    for thing in sorted(asked.things) if times else ():
        if (asked.graph.text(thing, "ah:domain") or "").endswith(("Policy", "Tag")):
            continue  # it holds no data
        ends = [
            (in_utc(end), row["done"], end, row["query_id"])
            for row in asked.graph.select(_EMPTIED, thing=iris([thing]))
            if in_utc(end := row["end"] or row["start"]) <= max(times)
        ]
        if ends and (last := max(ends))[1] in _DONE:
            _, done, end, ident = last
            yield (
                f"{asked.graph.label(thing)} was {_DONE[done]} at {end}{f' (query {ident})' if ident else ''}: what it "
                "held before is not in the answer."
            )


# --- the same question by id ------------------------------------------------------------------------------------------


def _by_id(asked: Asked) -> Iterator[str]:
    """For an empty answer by name: the rows that there are by the ids of what had the name. The name counts only as
    long as an object had it, the id always.
    """
    takes = {parameter.name for parameter in asked.question.parameters}
    if not {"object_name", "object_id"} <= takes or "object_name" not in asked.params or "object_id" in asked.params:
        return
    for ident, domain, names in islice(_renamed(asked), _SHOWN):
        by_id = {parameter: asked.values(parameter) for parameter in asked.params if parameter != "object_name"}
        by_id |= {"object_id": [ident], **({"domain": [domain]} if "domain" in takes else {})}
        text = f"object_id={ident}" + (f" domain={domain}" if "domain" in takes and domain != "Table" else "")
        accounts = {holder.account for holder in asked.graph.of_id(ident) if holder.domain == domain}
        text += f" (an id in {len(accounts)} accounts)" if len(accounts) > 1 else ""
        if asked.name not in _QUICK:
            yield f"Ask by {text}, too: its names: {names}."
        elif rows := len(asked.ask(by_id, MOST).rows):
            count = f"{rows:,} {'row' if rows == 1 else 'rows'}" if rows < MOST else f"{MOST:,} rows or more"
            yield f"As {text} it has {count}; its names: {names}."


def _renamed(asked: Asked) -> Iterator[tuple[str, str, str]]:
    """Id, kind and names of the objects that had several names, or whose name ended."""
    for thing in sorted(asked.things):
        names = asked.graph.names_of(thing)
        if names and names[0].ident and (len(names) > 1 or names[-1].until is not None):
            texts = (
                f"{name.name} from {name.since}" + (f" until {name.until}" if name.until else "")
                for name in names[-_SHOWN:]
            )
            yield names[0].ident, names[0].domain, ", ".join(texts)


# --- what cannot be known ---------------------------------------------------------------------------------------------


def _kinds(asked: Asked) -> Iterator[str]:
    """For an empty answer about objects of a kind for which rows do not record what was asked."""
    needs = asked.question.needs
    for thing in sorted(asked.about):
        domain, name = asked.graph.text(thing, "ah:domain") or "", asked.graph.label(thing)
        if domain == "Stage" and asked.name in _OF_COLUMNS:
            yield f"{name} is a stage: rows name no columns of stages, so nothing is known of its columns."
        elif domain == "Stage" and needs & _ACCESSES:
            yield (
                f"{name} is a stage: its files can be read and written outside of Snowflake, and by what has no row; "
                "only COPY, PUT, GET and queries on it are on record."
            )
        elif domain in _NO_DATA and needs & (_ACCESSES - {"reads"}) and asked.name not in views.UPWARD:
            yield (
                f"{name} is a {domain.lower()}: it holds no data of its own. "
                f"{views.behind(asked.graph, thing) or _UNKNOWN_BEHIND}, too."
                + (_READ_ITSELF if asked.name == "sensitive-data-movement" and domain in _DATA_OF_OTHERS else "")
            )
        elif domain in _AROUND and needs & _ACCESSES:
            yield f"{name} is a {domain.lower()}: rows tell reads and writes of the objects in it. Ask for these."
        elif domain == "Share" and needs & _ACCESSES:
            yield f"{name} is a share: what other accounts read of it is in their own ACCESS_HISTORY alone."


def _not_as_base(asked: Asked) -> Iterator[str]:
    """For an empty answer of the question that follows base objects alone, as the documents' query does."""
    for thing in sorted(asked.about) if asked.name == "sensitive-data-movement" else ():
        domain = asked.graph.text(thing, "ah:domain") or ""
        if domain not in _NO_DATA and asked.graph.holds(_NOT_AS_BASE, thing=iris([thing])):
            yield (
                f"Queries that wrote read {asked.graph.label(thing)}, but it is not among their base objects, which "
                "this question follows. end-up has where its data went."
            )


def _agents(asked: Asked) -> Iterator[str]:
    """What the answer about agents lacks: rows that name no agent, agents that Snowflake cut, and agents without type,
    id and name.
    """
    if asked.name != left_out.OF_AGENTS:
        return
    every = islice(asked.graph.with_text("ah:incomplete", f"agents_info {TRUNCATED}"), MOST)
    cut = {query for query in every if _is_asked_for(asked, query)}
    if cut:
        yield _lacks(asked, cut, _REASONS[_CUT].format("agents_info"))
    elif not asked.answer.rows and not any(asked.graph.of_class("ah:SoftwareAgent")):
        yield (
            "No row names an agent (agents_info): no agent took part in a query, or the rows were recorded or unloaded "
            "without this column."
        )
    unnamed = asked.graph.with_text("ah:incomplete", "agents_info UNNAMED")
    count = sum(_is_asked_for(asked, query) for query in unnamed)
    if count:
        yield (
            f"{count:,} {'query has' if count == 1 else 'queries have'} an agent of which the row gives no type, id or "
            "name: the answer lacks it."
        )


def _shared(asked: Asked) -> Iterator[str]:
    """A note on objects that were granted to a share: their readers in other accounts are not on record here."""
    for thing in sorted(asked.about) if "reads" in asked.question.needs else ():
        grants = asked.graph.subjects("ah:grantedObject", thing)
        if any("SHARE" in asked.graph.objects(grant, "ah:grantedTo") for grant in grants):
            yield (
                f"{asked.graph.label(thing)} was granted to a share: reads in other accounts are in their own "
                "ACCESS_HISTORY alone."
            )


def _granted_on_all(asked: Asked) -> Iterator[str]:
    """Grants on all objects of a schema or database that what is asked for is in, if they hold at the time."""
    if asked.name != "exposure" or not asked.things:
        return
    graph, times = asked.graph, asked.times("at")
    inside = [(thing, holder.name) for thing in asked.things for holder in graph.names_of(thing)]
    grants = [
        f"{row['privilege']} ON ALL {row['kind']} in {row['label']}"
        for row in graph.select(_ON_ALL)
        if protection.holds(row, times)
        for thing, text in inside
        if text.startswith(f"{row['label']}.")
        if thing.startswith(row["account"]) and graph.is_of_kind(thing, row["kind"])
    ]
    if grants:
        yield (
            f"Granted on all that was in a schema or database then: {first_of(sorted(set(grants)), _SHOWN)}. Rows do "
            "not list what that was: ask for the schema or database, too."
        )


def _incomplete(asked: Asked) -> Iterator[str]:
    """How many queries in the time that is asked for lack something at a place that the question needs."""
    asks_for = asked.question.needs | ({"DDL"} if asked.name in _BY_DDL else set())
    for reasons, why in _REASONS.items():
        queries, lacking = set(_by_unknown_change(asked, asks_for, reasons)), set[str]()
        lacking |= {_DDL} if queries else set()
        for place, needs in ((place, needs & asks_for) for place, needs in _NEEDED_BY.items() if needs & asks_for):
            for reason in (*reasons, *(unnamed.reasons(asked, place) if UNNAMED in reasons else ())):
                for query in islice(asked.graph.with_text("ah:incomplete", f"{place} {reason}"), MOST):
                    if _is_asked_for(asked, query, needs):
                        queries.add(query)
                        lacking.add(place)
        if queries:
            yield _lacks(asked, queries, why.format(", ".join(sorted(lacking))))


def _of_unknown_request(asked: Asked) -> Iterator[str]:
    """A note on queries of which Snowflake cut the parent or the root."""
    queries, places = requests.cut(asked)
    if queries:
        yield _lacks(asked, queries, _REASONS[_CUT].format(", ".join(places)))


def _of_unknown_account(asked: Asked) -> Iterator[str]:
    """A note on queries of which Snowflake cut the account: what they did may be of another one."""
    needs, queries, places = asked.question.needs, set[str](), list[str]()
    for place in ACCOUNTS if needs else ():
        every = islice(asked.graph.with_text("ah:incomplete", f"{place} {TRUNCATED}"), MOST)
        cut = {query for query in every if _is_asked_for(asked, query, needs)}
        places += [place] if cut else []
        queries |= cut
    if queries:
        why = _REASONS[_CUT].format(", ".join(sorted(places)))
        yield _lacks(asked, queries, why, ", or have it as of another account")


def _by_unknown_change(asked: Asked, asks_for: AbstractSet[str], reasons: Iterable[str]) -> Iterator[str]:
    """For answers that need no DDL, the queries whose changes can matter to them all the same: a CLONE to answers about
    lineage; a RENAME, SWAP or DROP to answers about an object that a name means, and about what is there; a DROP to
    answers about the data of an object that an id means; a CREATE to those that go past helpers. Of answers that need
    DDL, a RENAME or SWAP before ``since``, where it may have given what is new since then its name.
    """
    of_names = bool(asked.values("object_name")) or asked.name == "unused-objects"
    of_ids = "lineage" in asks_for and bool(asked.values("object_id"))
    if asked.name == nameless.OF_FIRST_TIMES and _is_new_by_name(asked):
        cut = (query for reason in reasons for query in asked.graph.with_text("ah:incomplete", f"{_DDL} {reason}"))
        yield from (query for query in islice(cut, MOST) if clones.may_move(asked.graph, query))
    if "DDL" in asks_for or not (of_names or "lineage" in asks_for):
        return
    for reason in reasons:
        for query in islice(asked.graph.with_text("ah:incomplete", f"{_DDL} {reason}"), MOST):
            if (of_names and clones.may_move(asked.graph, query)) or (of_ids and clones.may_end(asked.graph, query)):
                counts = asked.until is None or asked.until >= min(_times(asked, query), default=asked.until)
            else:
                is_clone = "lineage" in asks_for and clones.is_source_cut(asked.graph, query)
                counts = is_clone and _is_asked_for(asked, query, frozenset({"lineage"}))
                counts = counts or (_is_bridged(asked) and not any(asked.graph.subjects("dcterms:isPartOf", query)))
            if counts:
                yield query


def _is_new_by_name(asked: Asked) -> bool:
    """Whether something that is known by its name alone was read or copied for the first time."""
    names = {row["object_name"] or "" for row in nameless.first_times(asked)}
    return any(not holder.ident for name in names for holder in asked.graph.holders(name))


def _is_bridged(asked: Asked) -> bool:
    """Whether the answer goes past helpers: what is behind one was filled into it before ``since``, too, and only the
    row that created it says that it is one (docs/openlineage.md, "Helpers").
    """
    return "bridged" in asked.values("helpers")


def _times(asked: Asked, query: str) -> list[datetime]:
    return [in_utc(time) for time in asked.graph.objects(query, "prov:startedAtTime")]


def _lacks(asked: Asked, queries: set[str], why: str, otherwise: str = "") -> str:
    count = f"{len(queries):,}" + (" or more" if len(queries) >= MOST else "")
    queries_are, pronoun = ("query was", "it") if len(queries) == 1 else ("queries were", "they")
    first_id = asked.graph.text(min(queries), "ah:queryId")
    the_first = f"; the first is {first_id}." if first_id else "."
    return f"{count} {queries_are} {why}, so the answer may lack what {pronoun} did{otherwise}{the_first}"


def _is_asked_for(asked: Asked, query: str, needs: AbstractSet[str] = frozenset()) -> bool:
    """Whether a query started in the time that the parameters ask for, and is the query or of the request asked for.
    ``needs``: what its row lacks, which can count at other times, too.
    """
    graph, ids = asked.graph, asked.values("query_id")
    if ids:
        related = [query, *graph.objects(query, "ah:rootQuery"), *graph.objects(query, "dcterms:isPartOf")]
        if set(ids).isdisjoint(ident for iri in related for ident in graph.objects(iri, "ah:queryId")):
            return False
    times = _times(asked, query)
    is_before = asked.since is not None and max(times, default=asked.since) < asked.since
    is_after = asked.until is not None and min(times, default=asked.until) > asked.until
    counts_before, counts_after = (bool(needs & at.get(asked.name, frozenset())) for at in (_BEFORE, _AFTER))
    return (not is_before or counts_before or _is_bridged(asked)) and (not is_after or counts_after)
