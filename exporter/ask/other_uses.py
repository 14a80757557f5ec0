"""Notes on what queries did with objects in ways that an answer does not count.

- Reads: what rows give as the source of what a query wrote, and not among what it read; what they read in another form
  (with an id, or without); a policy that was enforced on it, as on a view between a view and its table; a CLONE.
- Columns: queries that read one object and wrote another, whose rows give no source of any column, or none behind the
  columns of a view over shared data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from exporter.ask.answers import first_of
from exporter.ask.asked import MOST, Asked, in_utc, record_period
from exporter.ask.lookups import Lookups
from exporter.ask.without_ids import SAME_NAME
from exporter.model.other_accounts import account_in

_SHOWN: Final = 3
_UP_BY_COLUMN: Final = ("column-lineage", "root-cause", "page-column-up", "page-column-up-at")
_BY_COLUMN: Final = (*_UP_BY_COLUMN, "column-copies", "page-column-down", "tag-reach", "unmasked-copies")
"""Questions that follow columns alone."""
_SET_ON: Final = {
    "tag-reach": {"ah:TagSetting": "ah:settingOn"},
    "unmasked-copies": {"ah:PolicySetting": "ah:settingOn", "ah:PolicyEnforcement": "ah:protectedObject"},
}
_OF_READS: Final = (
    *("column-readers", "columns-accessed", "downstream-users", "page-readers", "when-accessed", "who-accessed"),
)
_ACCESS: Final = ("prov:qualifiedUsage", "ah:accessPattern")
_LOOKED_AT: Final = 10_000
"""How many nodes a note looks at, at most."""
_USES: Final = 5


# --- columns ---------------------------------------------------------------------------------------------------------


def without_columns(asked: Asked) -> Iterator[str]:
    """For an empty answer that follows columns: queries that read the object and wrote another one (or, upward, that
    wrote it), and whose rows give no source of any column.
    """
    if asked.name not in _BY_COLUMN:
        return
    graph, is_up = asked.graph, asked.name in _UP_BY_COLUMN
    things = {graph.text(thing, "ah:columnOf") or thing for thing in asked.about or _set_things(asked)}
    states = (state for thing in sorted(things) for state in graph.subjects("prov:specializationOf", thing))
    written = (
        made for state in states for made in ([state] if is_up else graph.subjects("prov:wasDerivedFrom", state))
    )
    queries = {
        query
        for made in islice(written, _LOOKED_AT)
        if any(graph.objects(made, "prov:wasDerivedFrom")) and not _has_sources(graph, made)
        for query in graph.objects(made, "prov:wasGeneratedBy")
        if _is_then(asked, query)
    }
    if queries:
        did = "wrote what is asked for" if is_up else "read what is asked for and wrote other objects"
        yield (
            f"Rows of queries that {did} do not say which column came from which: {_ids(graph, queries)}. The answer "
            "cannot have these; end-up and lineage-as-of follow whole objects."
        )


def through_shared(asked: Asked) -> Iterator[str]:
    """For answers that follow columns: those that were filled from columns of a view over shared data, of which rows
    give no source behind the view (view, "Data sharing notes").
    """
    if asked.name not in _BY_COLUMN or asked.name == "column-lineage":
        return
    graph, is_up = asked.graph, asked.name in _UP_BY_COLUMN
    things = {graph.text(thing, "ah:columnOf") or thing for thing in asked.about or _set_things(asked)}
    parts = sorted(asked.way.columns or ()) if is_up else _filled_over(graph, things)
    found = {
        f"{graph.label(thing)} to {graph.label(graph.text(whole, 'prov:specializationOf') or whole)}": query
        for part in islice(parts, _LOOKED_AT)
        for whole in graph.objects(part, "dcterms:isPartOf")
        for thing in sorted(_shared_behind(graph, part, whole))
        if is_up or thing in things
        for query in graph.objects(whole, "prov:wasGeneratedBy")
        if _is_then(asked, query)
    }
    if found:
        yield (
            "Rows do not say what is behind the columns of a view over shared data. So the answer cannot have what "
            f"came through one: {first_of(sorted(found), _SHOWN)} ({_ids(graph, set(found.values()))}). "
            f"{'lineage-as-of' if is_up else 'end-up'} follows whole objects."
        )


def _filled_over(graph: Lookups, things: Iterable[str]) -> Iterator[str]:
    """The versions of columns that were filled from views over those of these objects that are shared."""
    shows = (one for thing in things if _is_shared(graph, thing) for one in graph.subjects("ah:sourceObject", thing))
    views = {view for one in islice(shows, _LOOKED_AT) for view in graph.objects(one, "ah:view")}
    for view in sorted(views):
        for derivation in graph.subjects("ah:sourceObject", view):
            yield from graph.objects(derivation, "ah:targetColumnVersion")
            yield from graph.subjects("ah:derivationPattern", derivation)


def _shared_behind(graph: Lookups, part: str, whole: str) -> set[str]:
    """The shared objects behind the views of whose columns a version of a column was filled; none if rows give what is
    behind these columns. Shared is what is of another account, and a view that is behind another one.
    """
    derivations = {*graph.subjects("ah:targetColumnVersion", part), *graph.objects(part, "ah:derivationPattern")}
    if any("BASE" in graph.objects(one, "ah:sourceType") for one in derivations):
        return set()
    views = {view for one in derivations for view in graph.objects(one, "ah:sourceObject")}
    behind = {thing for view in views for shows in graph.subjects("ah:view", view)
              for thing in graph.objects(shows, "ah:sourceObject")}  # fmt: skip
    used = {thing for state in graph.objects(whole, "prov:wasDerivedFrom")
            for thing in graph.objects(state, "prov:specializationOf")}  # fmt: skip
    return {thing for thing in (behind & used) - views if _is_shared(graph, thing)}


def _is_shared(graph: Lookups, thing: str) -> bool:
    return bool(account_in(thing.rpartition("/")[2])) or graph.text(thing, "ah:domain") == "View"


def _set_things(asked: Asked) -> set[str]:
    """The objects that have tags or policies, of a question that is about these."""
    places = (
        (node, place) for name, place in _SET_ON.get(asked.name, {}).items() for node in asked.graph.of_class(name)
    )
    return {thing for node, place in islice(places, _LOOKED_AT) for thing in asked.graph.objects(node, place)}


def _has_sources(graph: Lookups, made: str) -> bool:
    """Whether a column of a version has a source."""
    columns = graph.subjects("dcterms:isPartOf", made)
    return any(any(graph.objects(column, "prov:wasDerivedFrom")) for column in columns)


# --- used, but not among what a query read ----------------------------------------------------------------------------


def otherwise_used(asked: Asked) -> Iterator[str]:
    """A note on objects that count as not read, which rows of that time name otherwise than as read."""
    if asked.name != "unused-objects" or _is_after_record(asked):
        return
    graph = asked.graph
    listed = {(row["object_name"] or "", row["domain"]) for row in asked.answer.dicts()}
    things = {
        holder.iri: name
        for name, domain in sorted(listed, key=str)
        for holder in (*graph.holders(name), *graph.of_id(name))
        if holder.domain == domain and name in {graph.label(holder.iri), holder.ident}
    }
    found = {f"{name} ({use})": None for thing, name in things.items() if (use := next(_uses(asked, thing), None))}
    if found:
        yield f"Some of these may be in use, in ways that do not count as read here: {first_of([*found], _USES)}."


def _uses(asked: Asked, thing: str) -> Iterator[str]:
    """How rows of the time that is asked for name an object, other than as read."""
    graph = asked.graph
    for other in (*graph.objects(thing, SAME_NAME), *graph.subjects(SAME_NAME, thing)):
        accesses = graph.subjects("ah:accessedObject", other)
        if any(_is_then(asked, query) for access in accesses for query in _users(graph, access)):
            yield f"read {'with' if graph.text(other, 'ah:objectId') else 'without'} an id"
    for query in _sourced(asked, thing):
        yield f"source of what {_ids(graph, [query])} wrote"
    for enforcement in graph.subjects("ah:protectedObject", thing):
        for query in graph.subjects("ah:enforced", enforcement):
            if _is_then(asked, query):
                yield f"a policy on it was enforced for {_ids(graph, [query])}"
    for name in {holder.name for holder in graph.names_of(thing)}:
        for change in graph.with_text("ah:madeFromName", name):
            if _is_then(asked, change):
                yield f"source of a CLONE or LIKE, {_ids(graph, graph.objects(change, 'dcterms:isPartOf'))}"


def only_as_source(asked: Asked) -> Iterator[str]:
    """For answers about reads: queries whose rows have the object as the source of what they wrote alone."""
    for thing in sorted(asked.about) if asked.name in _OF_READS and not _is_after_record(asked) else ():
        columns = asked.match_names("column_name")
        own = (column for column in asked.graph.subjects("ah:columnOf", thing) if columns)
        named = (column for column in own if asked.graph.text(column, "ah:matchName") in columns)
        if columns and not any(any(asked.graph.subjects("ah:sourceColumn", column)) for column in named):
            continue
        if queries := set(_sourced(asked, thing)):
            yield (
                f"Rows have {asked.graph.label(thing)} as the source of what queries wrote, and not among what they "
                f"read: {_ids(asked.graph, queries)}. The answer does not count these as reads."
            )


def _sourced(asked: Asked, thing: str) -> Iterator[str]:
    """The queries of the time that is asked for that used an object which is not among what they read."""
    graph = asked.graph
    states = graph.subjects("prov:specializationOf", thing)
    queries = (query for state in states for query in graph.subjects("prov:used", state) if _is_then(asked, query))
    for query in islice(queries, MOST):
        accesses = (access for term in _ACCESS for access in graph.objects(query, term))
        if not any(thing in graph.objects(access, "ah:accessedObject") for access in accesses):
            yield query


def _users(graph: Lookups, access: str) -> Iterator[str]:
    """The queries, and nodes for several of them, that have an access."""
    return (query for term in _ACCESS for query in graph.subjects(term, access))


def _is_after_record(asked: Asked) -> bool:
    """Whether only what is later than all queries is asked for."""
    covered = record_period(asked.graph) if asked.since else None
    return covered is not None and asked.since is not None and asked.since > in_utc(covered[1])


def _is_then(asked: Asked, activity: str) -> bool:
    """Whether a query, reads of a day or a change is in the time that is asked for."""
    terms = ("prov:startedAtTime", "ah:lastStartedAtTime")
    times = [in_utc(time) for term in terms for time in asked.graph.objects(activity, term)]
    return bool(times) and asked.has(*times)


def _ids(graph: Lookups, queries: Iterable[str]) -> str:
    """``query q1`` or ``queries q1, q2``; for those without an id, when they started."""
    texts = sorted(
        graph.text(query, "ah:queryId") or f"that at {graph.text(query, 'prov:startedAtTime')}" for query in queries
    )
    return f"{'query' if len(texts) == 1 else 'queries'} {first_of(texts, _SHOWN)}"
