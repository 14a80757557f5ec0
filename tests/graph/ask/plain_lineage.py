"""The answers about where data came from and went, by a plain reading of the rows."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.facts import plain_reading as plain
from tests.graph.ask import plain_history as past
from tests.graph.ask.plain_asking import domain, enforced, ident, listed, name_of, of_kind, queries, same_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from tests.graph.ask.plain_asking import Given, Row
    from tests.graph.ask.plain_history import Column, Copy, History, Query, State


def downstream_users(history: History, given: Given) -> set[Row]:
    starts = {
        key
        for key in history.names.held
        if any(same_name(one, given["object_name"]) for one in history.names.ever_called(key))
    }
    states = past.reached({state for key in starts for state in history.states(key)}, history.onward)
    last: dict[tuple[str, str], datetime] = {}
    for query in queries(history, given):
        for key in {key for _, key in query.shown if query.data[key] in states}:
            last[query.user, key] = max(query.start, last.get((query.user, key), query.start))
    return {(user, history.names.label(key), time) for (user, key), time in last.items() if history.names.label(key)}


def lineage_as_of(history: History, given: Given) -> set[Row]:
    """Back from what was in the object at that time; nothing was in one that was dropped."""
    at = plain.time(given["at"])
    states = {
        history.state_at(key, at)
        for key, turns in history.names.held.items()
        for name, begin, end in turns
        if same_name(name, given["object_name"]) and begin <= at and (end is None or at < end)
    }
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
    first = [
        one
        for one in history.copies
        if same_name(one.source_name, given["object_name"]) and same_name(one.source.name, given["column_name"])
    ]
    return {
        (one.target_name, domain(one.target.state.key), one.target.name)
        for source, columns in _onward_from(history, first).items()
        for one in history.copies
        if one.source in columns and (one.target.state.key, one.target.name) != source
    }


def root_cause(history: History, given: Given) -> set[Row]:
    """All copies that lead to one of the column's own; ``at``: of those, the ones made by then."""
    back: dict[Column, set[Column]] = defaultdict(set)
    for one, others in history.column_onward.items():
        for other in others:
            back[other].add(one)
    last = {
        one.target
        for one in history.copies
        if same_name(one.target_name, given["object_name"]) and same_name(one.target.name, given["column_name"])
        and ("at" not in given or history.queries[one.query_id].start <= plain.time(given["at"]))
    }  # fmt: skip
    columns = past.reached(last, back)
    return {
        (one.source_name, one.source.name or None, one.query_id, history.queries[one.query_id].start)
        for one in history.copies
        if one.target in columns
    }


def unmasked_copies(history: History, given: Given) -> set[Row]:
    """Copies of masked columns in states that hold their data, read by a query that enforced no mask on them."""
    masks: dict[tuple[str, str], set[str]] = defaultdict(set)
    masked_in: set[tuple[str, str, str]] = set()
    for query, _, key, _, column, policy in enforced(history, {}):
        if column and policy["policyKind"] == "MASKING_POLICY":
            masks[key, column].add(policy["policyName"])
            masked_in.add((query.query_id, key, column))
    bare, kept = _read_bare(history, given, masked_in), _kept(history)
    reached = _onward_from(history, [one for one in history.copies if (one.source.state.key, one.source.name) in masks])
    return {
        (history.names.label(masked[0]), masked[1], policy, one.target_name, one.target.name)
        for masked, columns in reached.items()
        for policy in masks[masked]
        for one in history.copies
        if one.source in columns and (one.target.state.key, one.target.name) != masked
        and bare & past.reached({one.target}, kept)
    }  # fmt: skip


def _kept(history: History) -> dict[Column, set[Column]]:
    """From a state to the next of the same object."""
    found = {}
    for column, others in history.column_onward.items():
        found[column] = {one for one in others if one.name == column.name and history.prior(one.state) == column.state}
    return found


def _read_bare(history: History, given: Given, masked_in: set[tuple[str, str, str]]) -> set[Column]:
    return {
        past.Column(query.data[key], name)
        for query in queries(history, given)
        for (_, key), (_, columns) in query.shown.items()
        for name in columns
        if (query.query_id, key, name) not in masked_in
    }


# --- movement ---------------------------------------------------------------------------------------------------------


def sensitive_data_movement(history: History, given: Given) -> set[Row]:
    """Every path; a step reads what the step before wrote, or a later state that goes on from it."""
    found: dict[Row, set[str]] = defaultdict(set)
    for query in history.queries.values():
        for key in query.keys("BASE"):
            name, _ = query.shown["BASE", key]
            if (
                same_name(name, given["object_name"]) and of_kind(key, given.get("domain", "Stage"))
                and ("since" not in given or query.start >= plain.time(given["since"]))
            ):  # fmt: skip
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
