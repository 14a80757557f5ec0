"""Notes on what queries did with objects in ways that an answer does not count.

- Reads: what rows give as the source of what a query wrote, and not among what it read; what they read in another form
  (with an id, or without); a policy that was enforced on it, as on a view between a view and its table; a CLONE; a
  grant to a share, through which other accounts may read it.
- Columns: queries that read one object and wrote another, whose rows give no source of any column, or none behind the
  columns of a view over shared data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from exporter.ask.anew import last_read_before
from exporter.ask.answers import first_of
from exporter.ask.asked import FOLLOWING, Asked, in_utc, record_period
from exporter.ask.grants import granted_as, granted_on_all
from exporter.ask.left_out import OF_AGENTS
from exporter.ask.lookups import Lookups
from exporter.ask.mask_periods import masked_things
from exporter.ask.places import Places
from exporter.ask.renamings import OF_MASKS
from exporter.ask.without_ids import same_names
from exporter.model.identifiers import match_name
from exporter.system.reachable import reachable

_SHOWN: Final = 3
_UP_BY_COLUMN: Final = ("column-lineage", "root-cause", "page-column-up", "page-column-up-at")
_BY_COLUMN: Final = (*_UP_BY_COLUMN, "column-copies", "page-column-down", "tag-reach", "unmasked-copies")
"""Questions that follow columns alone."""
_SET_ON: Final = {
    "tag-reach": {"ah:TagSetting": "ah:settingOn"},
    "unmasked-copies": {"ah:PolicySetting": "ah:settingOn", "ah:PolicyEnforcement": "ah:protectedObject"},
}
_OF_READS: Final = (
    *("agent-reads", "column-readers", "columns-accessed", "downstream-users", "page-readers"),
    *("sensitive-data-movement", "unmasked-reads", "when-accessed", "who-accessed"),
)
_ACCESS: Final = ("prov:qualifiedUsage", "ah:accessPattern")
_LOOKED_AT: Final = 10_000
"""How many nodes a note looks at, at most."""
_USES: Final = 5
_SHARED: Final = "granted to a share{}: reads in other accounts are in their own ACCESS_HISTORY alone"


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
    label = asked.homes.label
    found = {
        f"{label(thing)} to {label(graph.text(whole, 'prov:specializationOf') or whole)}": query
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
              if "CERTAIN" in graph.objects(shows, "ah:evidence")
              for thing in graph.objects(shows, "ah:sourceObject")}  # fmt: skip
    used = {thing for state in graph.objects(whole, "prov:wasDerivedFrom")
            for thing in graph.objects(state, "prov:specializationOf")}  # fmt: skip
    return {thing for thing in (behind & used) - views if _is_shared(graph, thing)}


def _is_shared(graph: Lookups, thing: str) -> bool:
    return graph.is_of_other(thing) or graph.text(thing, "ah:domain") == "View"


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
    otherwise = {**_shared(asked, things), **_cloned_around(asked, things)}
    uses = (
        (name, next(_uses(asked, thing), "") or otherwise.get(thing) or last_read_before(asked, thing))
        for thing, name in things.items()
    )
    found = list(dict.fromkeys(f"{name} ({use})" for name, use in uses if use))
    if found:
        yield f"Some of these may be in use, in ways that do not count as read here: {first_of(found, _USES)}."


def _shared(asked: Asked, things: Mapping[str, str]) -> dict[str, str]:
    """The objects that were granted to a share, perhaps with all of a schema or database, or through roles, by a grant
    that held in the time that is asked for; and that in words. ``things``: with their names.
    """
    graph, grants = asked.graph, defaultdict[str, set[str]](set)
    for thing, row in granted_on_all(graph, lambda: things):
        first = graph.names_of(thing)[0]
        if not (graph.is_made(first) and in_utc(first.since) > in_utc(row["since"])):
            grants[thing].add(row["grant"])
    for thing in things:
        for form in (thing, *same_names(graph, thing)):
            grants[thing].update(graph.subjects("ah:grantedObject", form))

    def further(grant: str) -> list[str]:
        grantees = graph.objects(grant, "ah:grantee") if _held(asked, grant) else ()
        return [other for grantee in grantees for other in graph.subjects("ah:grantedObject", grantee)]

    return {
        thing: _SHARED.format(
            f" as {then}" if then and grant in direct and match_name(then) != match_name(things[thing]) else ""
        )
        for thing, own in grants.items()
        for direct in [set(graph.subjects("ah:grantedObject", thing))]
        for grant in reachable(sorted(own), further)
        for then in [granted_as(graph, grant)]
        if "SHARE" in graph.objects(grant, "ah:grantedTo") and _held(asked, grant)
    }


def _held(asked: Asked, grant: str) -> bool:
    until = asked.graph.text(grant, "ah:validUntil")
    return until is None or asked.since is None or in_utc(until) > asked.since


def _uses(asked: Asked, thing: str) -> Iterator[str]:
    """How rows of the time that is asked for name an object, other than as read."""
    graph = asked.graph
    for other in same_names(graph, thing):
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


def _cloned_around(asked: Asked, things: Iterable[str]) -> dict[str, str]:
    """The objects that were in a schema or database that was cloned in the time that is asked for, by its name, and
    that in words. Rows do not list what came with a CLONE.
    """
    graph, found = asked.graph, dict[str, str]()
    moves = {account: Places(one for one in places.statements if not one.source)
             for account, places in asked.places.items() if any(one.source for one in places.statements)}  # fmt: skip
    for thing in things if moves else ():
        for number, holder in enumerate(graph.names_of(thing)):
            if holder.account not in moves:
                continue  # also what is of another account
            name, places, own_moves = match_name(holder.name), asked.places[holder.account], moves[holder.account]
            was_there = number == 0 and not graph.is_made(holder)  # before the first row that names it
            begin, since = None if was_there else in_utc(holder.since), asked.since
            for place, _, moved_to in own_moves.forth(name, own_moves.since(begin) if begin else 0):
                if since and own_moves.statements[place].time < since:
                    name = moved_to
            start = max((time for time in (since, begin) if time), default=None)
            until = in_utc(holder.until) if holder.until else None
            for step, _ in islice(places.copies(name, places.since(start) if start else 0, until), 1):
                clone = step.clone
                query = f"query {clone.query_id}" if clone.query_id else f"at {clone.at}"
                found.setdefault(thing, f"in {clone.source}, which was cloned, {query}")
    return found


def only_as_source(asked: Asked) -> Iterator[str]:
    """For answers about reads: queries whose rows have an object as the source of what they wrote alone."""
    if asked.name not in _OF_READS or _is_after_record(asked):
        return
    graph, columns = asked.graph, asked.match_names("column_name")
    names, found = list[str](), set[str]()
    for thing in sorted(_read_things(asked)):
        own = (column for column in graph.subjects("ah:columnOf", thing) if columns)
        named = (column for column in own if graph.text(column, "ah:matchName") in columns)
        if columns and not any(any(graph.subjects("ah:sourceColumn", column)) for column in named):
            continue
        if queries := {query for query in _sourced(asked, thing) if _may_lack(asked, query, thing)}:
            names.append(asked.homes.label(thing))
            found |= queries
    if found:
        yield (
            f"Rows have {first_of(list(dict.fromkeys(names)), _USES)} as the source of what queries wrote, and not "
            f"among what they read: {_ids(graph, found)}. The answer does not count these as reads."
        )


def _read_things(asked: Asked) -> set[str]:
    """The objects whose reads are asked for; those that have masks, or that queries of agents used, if it is all."""
    graph = asked.graph
    if asked.name in FOLLOWING:
        return {*asked.about, *asked.followed}
    if asked.name == OF_AGENTS:
        queries = (query for agent in _agents(asked) for query in graph.subjects("prov:wasAssociatedWith", agent))
        used = (state for query in islice(queries, _LOOKED_AT) for state in graph.objects(query, "prov:used"))
        return {thing for state in used for thing in graph.objects(state, "prov:specializationOf")}
    if asked.about:
        return asked.about
    return masked_things(graph)


def _agents(asked: Asked) -> set[str]:
    names = asked.match_names("agent_name")
    every = asked.graph.of_class("ah:SoftwareAgent")
    return {
        agent for agent in every if not names or names & {*map(match_name, asked.graph.objects(agent, "ah:agentName"))}
    }


def _may_lack(asked: Asked, query: str, thing: str) -> bool:
    """Whether an answer may lack what a query read of an object: of agents, what theirs read; of reads in clear, what
    was read without a mask.
    """
    graph = asked.graph
    if asked.name == OF_AGENTS:
        return not _agents(asked).isdisjoint(graph.objects(query, "prov:wasAssociatedWith"))
    return asked.name != OF_MASKS or not any(
        graph.text(enforcement, "ah:policyKind") == "MASKING_POLICY"
        and thing in graph.objects(enforcement, "ah:protectedObject")
        for enforcement in graph.objects(query, "ah:enforced")
    )


def _sourced(asked: Asked, thing: str) -> Iterator[str]:
    """The queries of the time that is asked for that wrote from an object which is not among what they read."""
    graph = asked.graph
    states = set(graph.subjects("prov:specializationOf", thing))
    made = (version for state in sorted(states) for version in graph.subjects("prov:wasDerivedFrom", state))
    queries = {query for version in islice(made, _LOOKED_AT) for query in graph.objects(version, "prov:wasGeneratedBy")}
    for query in sorted(queries):
        # What came with the CLONE of a schema or database is no source that a row gives.
        if not _is_then(asked, query) or states.isdisjoint(graph.objects(query, "prov:used")):
            continue
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
    """``query q1`` or ``queries q1, q2``; those without an id by when they started."""
    each = [(graph.text(query, "ah:queryId"), graph.text(query, "prov:startedAtTime")) for query in queries]
    ids, times = sorted(ident for ident, _ in each if ident), sorted({time or "" for ident, time in each if not ident})
    texts = [f"{'query' if len(ids) == 1 else 'queries'} {first_of(ids, _SHOWN)}"] if ids else []
    texts += [f"queries without an id at {first_of(times, _SHOWN)}"] if times else []
    return " and ".join(texts)
