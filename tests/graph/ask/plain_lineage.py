"""The answers about sources and targets of data, computed in plain Python from the rows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.facts import plain_reading as plain
from tests.graph.ask import plain_history as past
from tests.graph.ask.plain_asking import (
    Meant,
    domain,
    enforced,
    ident,
    listed,
    meant,
    name_of,
    policy_key,
    queries,
    same_name,
)
from tests.graph.ask.plain_names import masks_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from tests.graph.ask.plain_asking import Given, Row
    from tests.graph.ask.plain_history import Column, Copy, History, Query, State


def downstream_users(history: History, given: Given) -> set[Row]:
    """Each by the name that was read."""
    starts = {state for one in meant(history, given) for state in history.states_while(*one)}
    states = past.reached(starts, history.onward)
    last: dict[tuple[str, str], datetime] = {}
    for query in queries(history, given):
        for (_, key), (name, _) in query.shown.items():
            shown = name_of(history, key, name)
            if shown and query.data[key] in states:
                last[query.user, shown] = max(query.start, last.get((query.user, shown), query.start))
    return {(user, name, time) for (user, name), time in last.items()}


def lineage_as_of(history: History, given: Given) -> set[Row]:
    """Back from what was in the object at that time; nothing was in one that was dropped."""
    at = plain.time(given["at"])
    states = {history.state_at(one.key, at) for one in meant(history, given) if one.at(at)}
    back: dict[State, set[State]] = defaultdict(set)
    for one, others in history.onward.items():
        for other in others:
            back[other].add(one)
    found = past.reached({state for state in states if not state.dropped}, back)
    return {
        (_read_as(history, query, key), query.query_id, query.start)
        for query in history.queries.values()
        if found & set(query.makes.values())
        for key in query.data
    }


def _read_as(history: History, query: Query, key: str) -> str | None:
    names = [name for (_, one), (name, _) in query.shown.items() if one == key and name]
    names += [
        one.source_name
        for one in history.copies
        if one.query_id == query.query_id and one.source.state.key == key and one.source_name
    ]
    return names[0] if names else history.names.label(key)


# --- columns ----------------------------------------------------------------------------------------------------------


def _onward_from(history: History, copies: Iterable[Copy]) -> dict[tuple[str, str], set[Column]]:
    """By source column, in whatever state, all that its data reached."""
    starts: dict[tuple[str, str], set[Column]] = defaultdict(set)
    for copy in copies:
        if copy.source.name:
            starts[copy.source.state.key, copy.source.name].add(history.held_since(copy.source))
    return {column: past.reached(states, history.column_onward) for column, states in starts.items()}


def column_copies(history: History, given: Given) -> set[Row]:
    sources = meant(history, given)
    first = [
        one
        for one in history.copies
        if same_name(one.source.name, given["column_name"])
        and any(
            source.key == one.source.state.key and source.at(history.queries[one.query_id].start) for source in sources
        )
    ]
    return {
        (one.target_name, domain(one.target.state.key), one.target.name)
        for source, columns in _onward_from(history, first).items()
        for one in history.copies
        if one.source in columns and (one.target.state.key, one.target.name) != source
    }


def root_cause(history: History, given: Given) -> set[Row]:
    """All copies that lead to one of the column's own; ``at``: to what was in the column at that time."""
    back: dict[Column, set[Column]] = defaultdict(set)
    for one, others in history.column_onward.items():
        for other in others:
            back[other].add(one)
    things = meant(history, given)
    last = _held_at(history, things, given) if "at" in given else _ever_held(history, things, given["column_name"])
    columns = past.reached(last, back)
    return {
        (one.source_name, one.source.name or None, one.query_id, history.queries[one.query_id].start)
        for one in history.copies
        if one.target in columns
    }


def _ever_held(history: History, things: list[Meant], column: str) -> set[Column]:
    """What was written into the column, or moved into it from one of another name, while the object was meant."""
    written = {one.target for one in history.copies}
    written |= {column for columns in history.column_onward.values() for column in columns}
    return {
        one
        for one in written
        if same_name(one.name, column)
        and one.state.query_id is not None
        and history.held_since(one) == one
        and any(thing.key == one.state.key and thing.at(history.queries[one.state.query_id].start) for thing in things)
    }


def _held_at(history: History, things: list[Meant], given: Given) -> set[Column]:
    """The column as it was at that time: of an object that was there, and neither dropped nor renamed itself."""
    at = plain.time(given["at"])
    states = {history.state_at(thing.key, at) for thing in things if thing.at(at)}
    names = {one.name for copies in history.column_onward.values() for one in copies}
    return {
        past.Column(state, name)
        for state in states
        if not state.dropped
        for name in names
        if same_name(name, given["column_name"]) and not history.is_gone(past.Column(state, name))
    }


def unmasked_copies(history: History, given: Given) -> set[Row]:
    """Copies of masked columns in states that hold their data, read by a query that enforced no mask on them when the
    column was masked already; each by its name at that time.
    """
    masks, masked_in = _masks(history)
    kept = _kept(history)
    reached = _onward_from(history, [one for one in history.copies if (one.source.state.key, one.source.name) in masks])
    held = {
        masked: past.reached(
            {one.target for one in history.copies
             if one.source in columns and (one.target.state.key, one.target.name) != masked},
            kept,
        )
        for masked, columns in reached.items()
    }  # fmt: skip
    return {
        (history.names.called_at(masked[0], query.start), masked[1], history.names.called_at(policy, query.start),
         name_of(history, column.state.key, name), column.name)
        for query, column, name in _read_bare(history, given, masked_in)
        for masked, columns in held.items()
        if column in columns
        for policy, since in masks[masked].items()
        if since <= query.start
    }  # fmt: skip


def _masks(
    history: History,
) -> tuple[dict[tuple[str, str], dict[str, datetime]], set[tuple[str, str, str]]]:
    """By column the policies and since when each was on it, set or enforced; and query, object and column of each time
    that one was enforced.
    """
    masks: dict[tuple[str, str], dict[str, datetime]] = defaultdict(dict)
    enforced_in = set()
    found = [(history.queries[ident], key, column, policy) for ident, key, column, policy in masks_set(history)]
    for query, _, key, _, column, policy in enforced(history, {}):
        if column and policy["policyKind"] == "MASKING_POLICY":
            found.append((query, key, column, policy_key(policy)))
            enforced_in.add((query.query_id, key, column))
    for query, key, column, policy in found:
        since = masks[key, column]
        since[policy] = min(query.start, since.get(policy, query.start))
    return masks, enforced_in


def _kept(history: History) -> dict[Column, set[Column]]:
    """From a state to the next of the same object."""
    found = {}
    for column, others in history.column_onward.items():
        found[column] = {one for one in others if one.name == column.name and history.prior(one.state) == column.state}
    return found


def _read_bare(
    history: History, given: Given, masked_in: set[tuple[str, str, str]]
) -> Iterator[tuple[Query, Column, str | None]]:
    for query in queries(history, given):
        for (_, key), (name, columns) in query.shown.items():
            for column in columns:
                if (query.query_id, key, column) not in masked_in:
                    yield query, past.Column(query.data[key], column), name


# --- movement ---------------------------------------------------------------------------------------------------------


def sensitive_data_movement(history: History, given: Given) -> set[Row]:
    """Every path; a step reads what the step before wrote, or a later state that goes on from it."""
    found: dict[Row, set[str]] = defaultdict(set)
    sources = meant(history, given, of_id="Stage")
    for query in history.queries.values():
        for key in query.keys("BASE"):
            name = name_of(history, key, query.shown["BASE", key][0])
            is_meant = any(one.key == key and one.at(query.start) for one in sources)
            if is_meant and ("since" not in given or query.start >= plain.time(given["since"])):
                _walk(history, given, found, query, (str(name),), (_chain(history, query.data[key]),))
    return {(*row, listed(columns)) for row, columns in found.items()}


def _chain(history: History, state: State) -> State:
    """The first state of those that go on from one another."""
    while (before := history.prior(state)) is not None:
        state = before
    return state


def _walk(
    history: History, given: Given, found: dict[Row, set[str]], query: Query, names: tuple[str, ...],
    chains: tuple[State, ...],
) -> None:  # fmt: skip
    """From a query on to each state that it made, and to the queries that read on from there."""
    if "until" in given and query.start >= plain.time(given["until"]):
        return
    for key, made in query.makes.items():
        chain = _chain(history, made)
        if chain in chains:
            continue
        name, columns = query.written.get(key, (None, set()))
        path = (*names, str(name_of(history, key, name)))
        found["-->".join(path), path[-1], ident(key), domain(key)] |= columns
        for reader, state in _readers(history, key):
            if _chain(history, state) == chain and _is_at_or_after(history, state, made):
                _walk(history, given, found, reader, path, (*chains, chain))


def _readers(history: History, key: str) -> Iterator[tuple[Query, State]]:
    return ((query, query.data[key]) for query in history.queries.values() if key in query.keys("BASE"))


def _is_at_or_after(history: History, state: State | None, made: State) -> bool:
    while state is not None and state != made:
        state = history.prior(state)
    return state == made
