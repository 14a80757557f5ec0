"""Notes on what queries did with objects in ways that do not count as reads.

What rows give as the source of what a query wrote, and not among what it read; what they read in another form (with an
id, or without); a policy that was enforced on it, as on a view between a view and its table; a CLONE; a grant to a
share, through which other accounts may read it. And reads of which rows list no columns, in answers about columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from exporter.ask.answers import first_of
from exporter.ask.container_history import ContainerHistory
from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import AGENT_READS, FOLLOWING, UNMASKED_READS, Asked, queries_in_words, record_period
from exporter.ask.notes.columns import copies_of
from exporter.ask.notes.mask_periods import columns_with_masks, masked_things
from exporter.ask.notes.shares import shared_in_words
from exporter.ask.notes.successors import tables_of_name
from exporter.ask.parameters import as_text
from exporter.ask.triples import in_utc
from exporter.model.identifiers import match_name

OF_READS: Final = (
    *("agent-reads", "column-readers", "columns-accessed", "downstream-users", "page-readers"),
    *("sensitive-data-movement", "unmasked-reads", "when-accessed", "who-accessed"),
)
OF_CLEAR_READS: Final = (UNMASKED_READS, "unmasked-copies")
OF_READ_COLUMNS: Final = ("column-readers", "columns-accessed", "end-up", "unmasked-copies", "unmasked-reads")
_LOOKED_AT: Final = 10_000
"""How many nodes a note looks at, at most."""
_USES: Final = 5


def uses_of_unused(asked: Asked) -> Iterator[str]:
    """A note on objects that count as not read, which rows of that time name otherwise than as read."""
    graph = asked.graph
    listed = {(row["object_name"] or "", row["domain"]) for row in asked.answer.dicts()}
    things = {
        holder.iri: name
        for name, domain in sorted(listed, key=str)
        for holder in (*graph.holders(name), *graph.of_id(name))
        if holder.domain == domain and name in {graph.label(holder.iri), holder.ident}
        if holder.until is None  # what was replaced under the name is not listed
    }
    shared, cloned = shared_in_words(asked, things), _cloned_around(asked, things)
    uses = (
        (name, shared.get(thing) or next(_uses(asked, thing), cloned.get(thing)) or next(_around(asked, thing), ""))
        # What other accounts may read is the gravest: in front, as only the first ones are shown.
        for thing, name in sorted(things.items(), key=lambda item: item[0] not in shared)
    )
    texts = list(dict.fromkeys(f"{name} ({use})" for name, use in uses if use))
    if texts:
        yield f"Some of these may be in use, in ways that do not count as read here: {first_of(texts, _USES)}."


def files_of_unused(asked: Asked) -> Iterator[str]:
    """A note on stages that count as not read: what reads their files need have no row that names them."""
    rows = asked.answer.dicts()
    names = sorted({row["object_name"] or "" for row in rows if (row["domain"] or "").endswith("Stage")})
    if names:
        yield (
            "Files of a stage can be read outside of Snowflake, and by what has no row that names the stage, such as "
            f"pipes and external tables. Find out what uses these before you drop them: {first_of(names, _USES)}."
        )


def _uses(asked: Asked, thing: str) -> Iterator[str]:
    """How rows of the time that is asked for name an object, other than as read."""
    graph = asked.graph
    for other in sorted(graph.same_names(thing)):
        accesses = graph.subjects("ah:accessedObject", other)
        if any(asked.has_activity(query) for access in accesses for query in graph.reads_with(access)):
            yield f"read {'with' if graph.text(other, 'ah:objectId') else 'without'} an id"
    yield from _uses_of_stage(asked, thing)
    for query in _sourced(asked, thing):
        yield f"source of what {queries_in_words(graph, [query])} wrote"
    for enforcement in graph.subjects("ah:protectedObject", thing):
        for query in graph.subjects("ah:enforced", enforcement):
            if asked.has_activity(query):
                yield f"a policy on it was enforced for {queries_in_words(graph, [query])}"
    for name in dict.fromkeys(holder.name for holder in graph.names_of(thing)):
        for change in graph.with_text("ah:madeFromName", name):
            if asked.has_activity(change):
                yield f"source of a CLONE or LIKE, {queries_in_words(graph, graph.objects(change, 'dcterms:isPartOf'))}"


def _uses_of_stage(asked: Asked, stage: str) -> Iterator[str]:
    """Whether rows of that time read what may be the stage in another form: of a table, or as one of its own."""
    graph = asked.graph
    for other in sorted(graph.same_stages(stage)):
        if any(_sourced(asked, other)) or any(map(asked.has, graph.read_times(other))):
            yield f"files were read in {graph.text(other, 'ah:domain')} {graph.text(other, 'ah:objectId')} of its name"


def _around(asked: Asked, thing: str) -> Iterator[str]:
    """What was read in the time that is asked for of what belongs to an object, or had its name."""
    for stage in asked.graph.stages_of_table(thing):
        if any(map(asked.has, asked.graph.read_times(stage))):
            yield "files in its own stage, which goes with it, were read"
    if read := _last_read_before(asked, thing):
        yield read


def _cloned_around(asked: Asked, things: Iterable[str]) -> dict[str, str]:
    """The objects that were in a schema or database that was cloned in the time that is asked for, by its name, and
    that in words. Rows do not list what came with a CLONE.
    """
    graph, texts = asked.graph, dict[str, str]()
    moves = {
        account: ContainerHistory(statement for statement in history.statements if not statement.source)
        for account, history in asked.containers.items()
        if any(statement.source for statement in history.statements)
    }
    for thing in things if moves else ():
        for number, holder in enumerate(graph.names_of(thing)):
            if holder.account not in moves:
                continue  # also what is of another account
            name, history, own_moves = match_name(holder.name), asked.containers[holder.account], moves[holder.account]
            was_there = number == 0 and not graph.is_made(holder)  # before the first row that names it
            begin, since = None if was_there else in_utc(holder.since), asked.since
            for place, _, moved_to in own_moves.forward(name, own_moves.count_before(begin) if begin else 0):
                if since and own_moves.statements[place].time < since:
                    name = moved_to
            start = max((time for time in (since, begin) if time), default=None)
            until = in_utc(holder.until) if holder.until else None
            for step, _ in islice(history.copies(name, history.count_before(start) if start else 0, until), 1):
                clone = step.clone
                query = f"query {clone.query_id}" if clone.query_id else f"at {clone.at}"
                texts.setdefault(thing, f"in {clone.source}, which was cloned, {query}")
    return texts


def only_as_source(asked: Asked) -> Iterator[str]:
    """For answers about reads: queries whose rows have an object as the source of what they wrote alone."""
    if _is_after_record(asked):
        return
    graph, columns = asked.graph, asked.match_names("column_name")
    names, lacking = list[str](), set[str]()
    for thing in sorted(_read_things(asked)):
        named = graph.columns_of(thing, columns) if columns else ()
        if columns and not any(any(graph.subjects("ah:sourceColumn", column)) for column in named):
            continue
        if queries := {query for query in _sourced(asked, thing) if _may_lack(asked, query, thing)}:
            names.append(asked.label(thing))
            lacking |= queries
    if lacking:
        yield (
            f"Rows have {first_of(list(dict.fromkeys(names)), _USES)} as the source of what queries wrote, and not "
            f"among what they read: {queries_in_words(graph, lacking)}. The answer does not count these as reads."
        )


def without_columns(asked: Asked) -> Iterator[str]:
    """For answers about columns: queries that read an object, and of which rows list no columns of it, such as calls to
    the Iceberg REST catalog.
    """
    graph, things = asked.graph, sorted(filter(partial(_has_columns, asked.graph), _things_with_columns(asked)))
    if not things or _is_after_record(asked):
        return
    all_reads = (read for thing in things for read in _reads_without_columns(graph, thing))
    reads = [
        read
        for read in graph.at_most(all_reads, _LOOKED_AT)
        if asked.has(in_utc(read.first), in_utc(read.last))
        if asked.until is None or in_utc(read.first) < asked.until
        if _is_meant(asked, read.thing, read.first)
        if _may_lack(asked, read.iri, read.thing)
        if asked.name != "end-up" or any(graph.objects(read.iri, "ah:madeVersion"))
    ]
    if reads:
        count = sum({read.iri: read.number for read in reads}.values())
        queries = f"{count:,} {'query' if count == 1 else 'queries'}" + (" or more" if len(reads) == _LOOKED_AT else "")
        names = sorted({asked.label(read.thing) for read in reads})
        users = sorted({user for read in reads for user in _users(graph, read.iri)})
        first, last = min(in_utc(read.first) for read in reads), max(in_utc(read.last) for read in reads)
        when = f"at {as_text(first)}" if first == last else f"from {as_text(first)} to {as_text(last)}"
        yield (
            f"Rows list no columns of what {queries} read of {first_of(names, _USES)} (by {first_of(users, _USES)}, "
            f"{when}), so the answer does not have these, whatever they read. who-accessed and when-accessed have them."
        )


class _ReadWithoutColumns(NamedTuple):
    """``iri``: of a query, or of several of a day; ``first``, ``last``: their starts; ``number``: how many they are."""

    iri: str
    thing: str
    first: str
    last: str
    number: int


def _reads_without_columns(graph: Lookups, thing: str) -> Iterator[_ReadWithoutColumns]:
    """The reads of an object of which rows list no columns, in none of their arrays."""
    accesses = (access for access in graph.subjects("ah:accessedObject", thing) if not _lists_columns(graph, access))
    reads = {read for access in accesses for read in graph.reads_with(access)}
    for read in sorted(reads):
        first = graph.text(read, "prov:startedAtTime")
        of_thing = (access for access in graph.accesses_of(read) if thing in graph.objects(access, "ah:accessedObject"))
        if first is not None and not any(_lists_columns(graph, access) for access in of_thing):
            last, count = graph.text(read, "ah:lastStartedAtTime") or first, graph.text(read, "ah:queryCount") or "1"
            yield _ReadWithoutColumns(read, thing, first, last, int(count))


def _lists_columns(graph: Lookups, access: str) -> bool:
    return any(graph.objects(access, "ah:readColumn"))


def _users(graph: Lookups, read: str) -> Iterator[str]:
    agents = graph.objects(read, "prov:wasAssociatedWith")
    return (name for agent in agents for name in graph.objects(agent, "ah:userName"))


def _has_columns(graph: Lookups, thing: str) -> bool:
    """Whether an object has columns: rows list some, or it is a table or view."""
    is_table = (graph.text(thing, "ah:domain") or "").lower().endswith(("table", "view"))
    return is_table or any(graph.subjects("ah:columnOf", thing))


def _things_with_columns(asked: Asked) -> set[str]:
    """The objects whose columns an answer is about."""
    graph = asked.graph
    if asked.name == "unmasked-copies":
        return _copies_of_masked(graph)
    if asked.name == "end-up" and not asked.values("column_name"):
        return set()
    if asked.name != UNMASKED_READS:
        return asked.asked_objects
    masked = masked_things(graph)
    return {thing for thing in asked.asked_objects or masked if masked & {thing, *graph.same_names(thing)}}


def _copies_of_masked(graph: Lookups) -> set[str]:
    """The objects with a column that was filled from a masked one, directly or by further copies."""
    starts = {
        version for column in columns_with_masks(graph) for version in graph.subjects("prov:specializationOf", column)
    }
    copies = set(graph.at_most(copies_of(graph, starts), _LOOKED_AT)) - starts
    held = {column for version in copies for column in graph.objects(version, "prov:specializationOf")}
    return {thing for column in held for thing in graph.objects(column, "ah:columnOf")}


def _is_meant(asked: Asked, thing: str, time: str) -> bool:
    """Whether what was done to an object at a time counts for the name that is asked for: while it had the name, or at
    any time, if it has it last.
    """
    names, holders = asked.match_names(), asked.graph.names_of(thing)
    having = [holder for holder in holders if match_name(holder.name) in names]
    return not names or holders[-1:] == having[-1:] or any(holder.holds(in_utc(time)) for holder in having)


def _read_things(asked: Asked) -> set[str]:
    """The objects whose reads are asked for; those that have masks, or that queries of agents used, if it is all."""
    graph = asked.graph
    if asked.name in FOLLOWING:
        return {*asked.asked_objects, *asked.followed}
    if asked.name == AGENT_READS:
        queries = (query for agent in _agents(asked) for query in graph.subjects("prov:wasAssociatedWith", agent))
        used = (state for query in graph.at_most(queries, _LOOKED_AT) for state in graph.objects(query, "prov:used"))
        return {thing for state in used for thing in graph.objects(state, "prov:specializationOf")}
    if asked.asked_objects:
        return asked.asked_objects
    return masked_things(graph)


def _agents(asked: Asked) -> set[str]:
    names = asked.match_names("agent_name")
    agents = asked.graph.of_class("ah:SoftwareAgent")
    return {
        agent for agent in agents if not names or names & {*map(match_name, asked.graph.objects(agent, "ah:agentName"))}
    }


def _may_lack(asked: Asked, query: str, thing: str) -> bool:
    """Whether an answer may lack what a query read of an object: of agents, what theirs read; of unmasked reads, what
    was read without a mask.
    """
    graph = asked.graph
    if asked.name == AGENT_READS:
        return not _agents(asked).isdisjoint(graph.objects(query, "prov:wasAssociatedWith"))
    return asked.name not in OF_CLEAR_READS or not any(
        graph.is_mask(enforcement) and thing in graph.objects(enforcement, "ah:protectedObject")
        for enforcement in graph.objects(query, "ah:enforced")
    )


def _sourced(asked: Asked, thing: str) -> Iterator[str]:
    """The queries of the time that is asked for that wrote from an object which is not among what they read."""
    graph = asked.graph
    states = set(graph.subjects("prov:specializationOf", thing))
    made = (version for state in sorted(states) for version in graph.subjects("prov:wasDerivedFrom", state))
    queries = {
        query for version in graph.at_most(made, _LOOKED_AT) for query in graph.objects(version, "prov:wasGeneratedBy")
    }
    for query in sorted(queries):
        # What came with the CLONE of a schema or database is no source that a row gives.
        if not asked.has_activity(query) or states.isdisjoint(graph.objects(query, "prov:used")):
            continue
        if not any(thing in graph.objects(access, "ah:accessedObject") for access in graph.accesses_of(query)):
            yield query


def _is_after_record(asked: Asked) -> bool:
    """Whether only what is later than all queries is asked for."""
    covered = record_period(asked.graph) if asked.since else None
    return covered is not None and asked.since is not None and asked.since > in_utc(covered[1])


def _last_read_before(asked: Asked, thing: str) -> str:
    """When what had the name of an object before it was last read under this name, in the time that is asked for, in
    words; empty if it was not.
    """
    graph = asked.graph
    for present in graph.names_of(thing)[-1:]:
        for other in reversed(tables_of_name(graph, present.name, present.account) if present.until is None else []):
            is_before = other.iri != thing and other.until is not None and asked.has(in_utc(other.until))
            reads = (
                [time for time in graph.read_times(other.iri) if asked.has(time) and other.holds(time)]
                if is_before
                else ()
            )
            if reads:
                return f"has the name since {present.since}; what had it before was read last at {as_text(max(reads))}"
    return ""
