"""Notes on queries of which something is missing in the graph: Snowflake cut their rows, or rows give something without
a name, or in a form that is not known (``ah:incomplete``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.container_history import CONTAINERS
from exporter.ask.lookups import Lookups
from exporter.ask.notes import changes_without_id
from exporter.ask.notes.asked import AGENT_READS, CHANGES, MOST, Asked
from exporter.ask.shipped import is_shipped
from exporter.ask.triples import in_utc, literals
from exporter.input.properties import is_of_source, read
from exporter.model.effects import CREATES
from exporter.model.identifiers import FUNCTIONS, TRUNCATED, normal_domain
from exporter.model.incomplete import ACCOUNTS, KNOWN_DOMAINS, NOT_UNDERSTOOD, OF_ALL_ANSWERS, REQUESTS, UNNAMED

ACCESSES: Final = frozenset({"reads", "writes", "lineage"})
_SHOWN: Final = 3
_DDL: Final = "object_modified_by_ddl"
_NEEDED_BY: Final = {
    "direct_objects_accessed": ACCESSES,
    "base_objects_accessed": ACCESSES,
    "objects_modified": ACCESSES - {"reads"},
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
LACKS: Final = "so the answer may lack what"


def incomplete_queries(asked: Asked) -> Iterator[str]:
    """How many queries in the time that is asked for lack something at a place that the question needs."""
    asks_for = asked.question.needs | ({"DDL"} if asked.name in _BY_DDL else set())
    for reasons, reason_text in _REASONS.items():
        queries, lacking = set(_by_unknown_change(asked, asks_for, reasons)), set[str]()
        lacking |= {_DDL} if queries else set()
        for place, needs in ((place, needs & asks_for) for place, needs in _NEEDED_BY.items() if needs & asks_for):
            for reason in (*reasons, *(_unnamed_reasons(asked, place) if UNNAMED in reasons else ())):
                for query in _lacking(asked, place, reason):
                    if _is_asked_for(asked, query, needs) and (place == _DDL or _is_of_users(asked, query)):
                        queries.add(query)
                        lacking.add(place)
        if queries:
            yield _lacks(asked, queries, reason_text.format(", ".join(sorted(lacking))))


def _lacking(asked: Asked, place: str, reason: str) -> Iterator[str]:
    """Queries of whose rows something is missing at a place, for one of the reasons of ``ah:incomplete``."""
    return asked.graph.at_most(asked.graph.with_text("ah:incomplete", f"{place} {reason}"), MOST)


def _by_unknown_change(asked: Asked, asks_for: AbstractSet[str], reasons: Iterable[str]) -> Iterator[str]:
    """The queries whose changes can matter to answers that need no DDL; and of those that do, a RENAME or SWAP before
    ``since`` that may have given what is new since then its name.
    """
    if asked.name == CHANGES and _is_new_by_name(asked):
        cut = (query for reason in reasons for query in asked.graph.with_text("ah:incomplete", f"{_DDL} {reason}"))
        yield from (query for query in asked.graph.at_most(cut, MOST) if _may_move(asked.graph, query))
    if "DDL" in asks_for:
        return
    is_of_lineage = "lineage" in asks_for
    if is_of_lineage or _is_of_names(asked) or asked.values("column_name"):
        for query in (query for reason in reasons for query in _lacking(asked, _DDL, reason)):
            if _may_change_what_is_asked_for(asked, query, is_of_lineage=is_of_lineage):
                is_possible = asked.until is None or asked.until >= min(_times(asked, query), default=asked.until)
            else:
                is_possible = is_of_lineage and _may_be_clone(asked, query)
                is_possible |= asked.is_bridged and _may_hide_columns(asked, query)
            if is_possible:
                yield query


def _is_of_names(asked: Asked) -> bool:
    return bool(asked.values("object_name")) or asked.name == "unused-objects"


def _may_change_what_is_asked_for(asked: Asked, query: str, *, is_of_lineage: bool) -> bool:
    """Whether a change of which something is missing may be one that the answer depends on: a RENAME, SWAP or DROP, if
    it is about a name or about what is there; a DROP, if about the data of an id; a RENAME of a column, if about one.
    """
    graph = asked.graph
    return (
        (_is_of_names(asked) and _may_move(graph, query))
        or (is_of_lineage and bool(asked.values("object_id")) and _may_end(graph, query))
        or (bool(asked.values("column_name")) and _may_rename_column(graph, query, {*asked.things}))
    )


def _may_be_clone(asked: Asked, query: str) -> bool:
    """Whether a query of the time that is asked for may have made a CLONE."""
    return _is_source_cut(asked.graph, query) and _is_asked_for(asked, query, frozenset({"lineage"}))


def _is_new_by_name(asked: Asked) -> bool:
    """Whether something that is known by its name alone was read or copied for the first time."""
    names = {row["object_name"] or "" for row in changes_without_id.first_times(asked)}
    return any(not holder.ident for name in names for holder in asked.graph.holders(name))


def _may_hide_columns(asked: Asked, query: str) -> bool:
    """Whether a change of which Snowflake cut something may have kept the answer from going past a helper: all of it is
    missing, or it may have renamed or dropped columns of one at which the answer ends.
    """
    changes = _changes(asked.graph, query)
    altered = (change for change, operation in changes if operation not in CREATES)
    return not changes or any(not asked.ends.isdisjoint(_changed(asked.graph, change)) for change in altered)


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
    # What is behind a helper was filled into it before ``since``, too, and the row that created it says that it is one.
    return (not is_before or counts_before or asked.is_bridged) and (not is_after or counts_after)


def _is_of_users(asked: Asked, query: str) -> bool:
    """Whether the query is of a user that is asked for, if any is. A user is never cut, so what another one read or had
    enforced is not in the answer.
    """
    graph, names = asked.graph, asked.values("user_name")
    users = set(graph.objects(query, "prov:wasAssociatedWith"))
    return not names or any(not users.isdisjoint(graph.users(name)) for name in names)


def _times(asked: Asked, query: str) -> list[datetime]:
    return [in_utc(time) for time in asked.graph.objects(query, "prov:startedAtTime")]


def _lacks(asked: Asked, queries: set[str], reason_text: str, otherwise: str = "") -> str:
    count = f"{len(queries):,}" + (" or more" if len(queries) >= MOST else "")
    queries_are, pronoun = ("query was", "it") if len(queries) == 1 else ("queries were", "they")
    first_id = asked.graph.text(min(queries), "ah:queryId")
    the_first = f"; the first is {first_id}." if first_id else "."
    return f"{count} {queries_are} {reason_text}, {LACKS} {pronoun} did{otherwise}{the_first}"


# --- what a change that was cut may have done -------------------------------------------------------------------------

_NAMES: Final = frozenset({"objectName", "newName", "newObjectName", "swapTargetDomain", "swapTargetName"})
"""The properties of a change that give an object another name."""
_ANY_KIND: Final = "Object"  # of what a row gives no kind of


def _is_source_cut(graph: Lookups, query: str) -> bool:
    """Whether what a query made may be a CLONE of anything, as Snowflake cut the source, the name of what was made, by
    which its objects are found, or all of the change.
    """
    created = [change for change, operation in _changes(graph, query) if operation in CREATES]
    is_cut = (
        _is_cut(graph, change, lambda name: bool(is_of_source(name)))
        or (bool(graph.text(change, "ah:madeFromName")) and graph.text(change, "ah:objectName") is None)
        for change in created
    )
    return _may_end(graph, query) or any(is_cut)


def _may_move(graph: Lookups, query: str) -> bool:
    """Whether a change of which Snowflake cut something may have dropped an object, or given it another name: it may
    have ended one, or what it says of names is missing.
    """
    changes = _changes(graph, query)
    return _may_end(graph, query) or any(_is_cut(graph, change, lambda name: name in _NAMES) for change, _ in changes)


def _may_end(graph: Lookups, query: str) -> bool:
    """Whether a change of which Snowflake cut something may have dropped or replaced any object, or taken that back:
    all of it is missing, or the kind of what was changed, without which it is not known to be an object of other rows,
    or the name of a schema or database, by which what is in it is found.
    """
    changes = _changes(graph, query)
    kinds = {
        (graph.text(thing, "ah:domain"), graph.text(change, "ah:objectName") is None)
        for change, _ in changes
        for thing in _changed(graph, change)
    }
    return not changes or any(kind == _ANY_KIND or (kind in CONTAINERS and is_unnamed) for kind, is_unnamed in kinds)


def _may_rename_column(graph: Lookups, query: str, things: AbstractSet[str]) -> bool:
    """Whether a change of which Snowflake cut something may have renamed a column of one of the objects."""
    changes = _changes(graph, query)
    altered = (change for change, operation in changes if operation not in CREATES)
    return not changes or any(not things.isdisjoint(_changed(graph, change)) for change in altered)


def _changed(graph: Lookups, change: str) -> Iterable[str]:
    return graph.objects(change, "ah:changedObject")


def _changes(graph: Lookups, query: str) -> list[tuple[str, str]]:
    """The changes of a query on record, with their operations."""
    changes = graph.subjects("dcterms:isPartOf", query)
    return [(change, operation) for change in changes if (operation := graph.text(change, "ah:operation"))]


def _is_cut(graph: Lookups, change: str, is_meant: Callable[[str], bool]) -> bool:
    """Whether Snowflake cut one of these properties of a change, or all of them."""
    properties = graph.text(change, "ah:properties")
    return properties == TRUNCATED or TRUNCATED in (
        value for name, value in read(properties).atoms.items() if is_meant(name)
    )


# --- agents, requests, accounts ---------------------------------------------------------------------------------------

_REQUESTS: Final = "requests"  # what a question about requests needs (``Question.needs``)
_PARENT, _ROOT = REQUESTS


def agents(asked: Asked) -> Iterator[str]:
    """What the answer about agents lacks: rows that name no agent, agents that Snowflake cut, and agents without type,
    id and name.
    """
    cut = {query for query in _lacking(asked, "agents_info", TRUNCATED) if _is_asked_for(asked, query)}
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


def cut_requests(asked: Asked) -> Iterator[str]:
    """A note on queries of which Snowflake cut the parent or the root."""
    queries, places = _cut_requests(asked)
    if queries:
        yield _lacks(asked, queries, _REASONS[_CUT].format(", ".join(places)))


def _cut_requests(asked: Asked) -> tuple[set[str], list[str]]:
    """The queries that may belong to what is asked for, and which of the two columns they lack. A question about one
    request needs the parents of its statements alone, and ``column-lineage`` the roots of those that made or dropped a
    helper.
    """
    queries_lacking: dict[str, set[str]] = {}
    for column in _needed_of_request(asked):
        for query in _lacking(asked, column, TRUNCATED):
            if _is_of_request(asked, query):
                queries_lacking.setdefault(column, set()).add(query)
    return set().union(*queries_lacking.values()), sorted(queries_lacking)


def _needed_of_request(asked: Asked) -> tuple[str, ...]:
    if asked.name == "column-lineage":
        return (_ROOT,) if "bridged" in asked.values("helpers") else ()
    if _REQUESTS not in asked.question.needs:
        return ()
    return (_PARENT,) if asked.values("query_id") else REQUESTS


def _is_of_request(asked: Asked, query: str) -> bool:
    """Whether the query may be one of those that are asked for."""
    graph, ids = asked.graph, asked.values("query_id")
    if asked.name == "column-lineage":
        return any(graph.objects(query, "ah:hasChange"))
    if ids:
        return any(
            _may_be_of(asked, query, request) for ident in ids for request in graph.with_text("ah:queryId", ident)
        )
    times = _times(asked, query)
    return not times or asked.has(*times)


def _may_be_of(asked: Asked, query: str, request: str) -> bool:
    """Whether a query whose parent was cut may be a statement of a request: it starts no earlier, and has the same
    root, if both are known.
    """
    roots, of_request = (set(asked.graph.objects(iri, "ah:rootQuery")) for iri in (query, request))
    is_other = bool(roots) and roots.isdisjoint({request, *of_request})
    begun, requested = _times(asked, query), _times(asked, request)
    is_earlier = bool(begun and requested) and max(begun) < min(requested)
    return query != request and not is_other and not is_earlier


_NOT_KEPT: Final = """\
SELECT DISTINCT ?query ?columns WHERE { ?query ah:unknownColumns ?columns FILTER(CONTAINS(?columns, @key@)) }
"""


def contradicting_rows(asked: Asked) -> Iterator[str]:
    """A note on queries whose rows give different parents, roots or agents. A query has one, so the graph has the
    others as text alone (docs/input.md, "Duplicates").
    """
    columns = ("agents_info",) if asked.name == AGENT_READS else _needed_of_request(asked)
    ids, queries, contradicting = asked.values("query_id"), set[str](), set[str]()
    for column in columns:
        for row in asked.graph.select(_NOT_KEPT, key=literals([f'"{column}":'])):
            if json.loads(row["columns"]).get(column) in ids if ids else _is_asked_for(asked, row["query"]):
                queries.add(row["query"])
                contradicting.add(column)
    if queries:
        are = "1 query has rows" if len(queries) == 1 else f"{len(queries):,} queries have rows"
        first_id = asked.graph.text(min(queries), "ah:queryId")
        yield (
            f"{are} with different values of {', '.join(sorted(contradicting))}: the answer has one of them; the first "
            f"is {first_id}."
        )


def cut_accounts(asked: Asked) -> Iterator[str]:
    """A note on queries of which Snowflake cut the account: what they did may be of another one."""
    needs, queries, places = asked.question.needs, set[str](), list[str]()
    for place in ACCOUNTS if needs else ():
        cut = {query for query in _lacking(asked, place, TRUNCATED) if _is_asked_for(asked, query, needs)}
        places += [place] if cut else []
        queries |= cut
    if queries:
        reason_text = _REASONS[_CUT].format(", ".join(sorted(places)))
        yield _lacks(asked, queries, reason_text, ", or have it as of another account")


def nested_statements(asked: Asked) -> Iterator[str]:
    """A note on statements in the answer that ran others: the answer has those of one parent."""
    graph = asked.graph
    callers = [
        ident
        for ident in (row["query_id"] or "" for row in asked.answer.dicts())
        if any(
            graph.text(part, "ah:queryId")
            for query in graph.with_text("ah:queryId", ident)
            for part in graph.subjects("dcterms:isPartOf", query)
        )
    ]
    if callers:
        yield (
            "Some of these statements ran others, which the answer does not have: ask for the statements of "
            f"{first_of(callers, _SHOWN)}, too."
        )


# --- without a name ---------------------------------------------------------------------------------------------------

_MASKS: Final = frozenset({"MASKING POLICY", "POLICY"})
_OF_MASKS: Final = frozenset({"agent-reads", "masking-policies", "unmasked-copies", "unmasked-reads"})
_BY_MASK: Final = _OF_MASKS | {"policy-coverage"}
_OF_OBJECTS: Final = frozenset({"changes", "former-names", "policy-coverage", "tag-history"})
"""Questions about objects of any kind: what was done to them, and which tags they have."""
_BY_TAG: Final = frozenset({"policy-coverage", "tag-history", "tag-reach", "unmasked-copies", "unmasked-reads"})
_BY_GRANT: Final = frozenset({"agent-reads", "end-up", "exposure"})
_GRANTEES: Final = frozenset(
    {"APPLICATION", "APPLICATION ROLE", "DATABASE ROLE", "INSTANCE ROLE", "LISTING", "ROLE", "SHARE", "USER"}
)

_GRANTED: Final = frozenset({*FUNCTIONS, "CORTEX SEARCH SERVICE", "MODEL"})
"""Kinds beside :data:`OF_ALL_ANSWERS` of which objects can be granted to a share."""


def _unnamed_reasons(asked: Asked, place: str) -> Iterator[str]:
    """The reasons of ``ah:incomplete`` at a place of the row that say of something without a name, of which the row
    gives the kind, that the answer can lack what it did: ``UNNAMED TAG`` … Of a page or a user's own question nothing
    is known but its needs.
    """
    concerns = _is_of_changes if place == "object_modified_by_ddl" else _is_of_policies
    for kind in sorted(KNOWN_DOMAINS - OF_ALL_ANSWERS):
        if not is_shipped(asked.question) or concerns(asked, kind):
            yield f"{UNNAMED} {kind}"


def _is_of_policies(asked: Asked, kind: str) -> bool:
    """Whether an answer about what was enforced is about policies of this kind."""
    if asked.name == "row-access-policies":
        return kind in {"ROW ACCESS POLICY", "POLICY"}
    return kind.endswith("POLICY") and (asked.name not in _OF_MASKS or kind in _MASKS)


def _is_of_changes(asked: Asked, kind: str) -> bool:
    """Whether a change of an object of this kind can make a difference to an answer."""
    if kind.endswith("POLICY"):
        acts_on = _BY_MASK if kind in _MASKS else frozenset({"policy-coverage"})
    elif kind == "TAG":
        acts_on = _BY_TAG
    else:
        acts_on = _BY_GRANT if kind in _GRANTEES else frozenset()
    is_of_objects = asked.name in _OF_OBJECTS or (asked.name == "exposure" and kind in _GRANTED)
    return asked.name in acts_on or (is_of_objects and _is_about_kind(asked, kind))


def _is_about_kind(asked: Asked, kind: str) -> bool:
    """Whether the answer is about objects of this kind, too: about all, or one of the kind."""
    return not asked.things or any(
        normal_domain(asked.graph.text(thing, "ah:domain")) == kind for thing in asked.things
    )
