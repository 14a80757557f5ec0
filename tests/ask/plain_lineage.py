"""The answers about sources and targets of data, computed in plain Python from the rows."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tests.ask import plain_history as past
from tests.ask.plain_asking import (
    Meant,
    domain,
    enforced,
    ident,
    listed,
    meant,
    name_of,
    queries,
    same_name,
)
from tests.ask.plain_settings import first, held, is_away, is_one_tag, named_later, only_enforced
from tests.ask.plain_settings import masks as set_masks
from tests.ask.plain_views import Shown, certain
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.ask.plain_asking import Given, Row
    from tests.ask.plain_history import Column, Copy, History, Query, State
    from tests.ask.plain_settings import Held


def is_from(history: History, thing: Meant, state: State, time: datetime) -> bool:
    """Whether what reads a state of the object at a time reads what was in it while it had the name, and not before
    that: a state that was there by the end of that period, or one that goes on from it. Nothing is in an object that
    was dropped; who reads it nevertheless counts while it has the name.
    """
    if thing.since is not None and time < thing.since:
        return False
    if state.dropped:
        return thing.until is None or time < thing.until
    return any(
        (began := history.begins(one)) is None or thing.until is None or began < thing.until
        for one in _back(history, state)
    )


def _back(history: History, state: State) -> Iterator[State]:
    one: State | None = state
    while one is not None:
        yield one
        one = history.prior(one)


def downstream_users(history: History, given: Given) -> set[Row]:
    """Each by the name that was read: of the object itself, and of all that was written from it."""
    things = meant(history, given)
    first = {
        made
        for query in history.queries.values()
        if query.query_id not in history.removing
        for thing in things
        if thing.key in query.data and is_from(history, thing, query.data[thing.key], query.start)
        for made in query.makes.values()
    }
    states = past.reached(first, history.onward)
    last: dict[tuple[str, str], datetime] = {}
    shown_by: dict[str, list[Shown]] = defaultdict(list)
    for one in certain(history):
        shown_by[one.view].append(one)
    for query in queries(history, given):
        for (_, key), (name, _) in query.shown.items():
            shown = name_of(history, key, name) or ident(key)
            own = [
                thing for thing in things if thing.key == key and is_from(history, thing, query.data[key], query.start)
            ]
            sources = {
                one.source for one in shown_by.get(key, ())
                if one.at(query.start) and not _read_another(one.source, one.name, query)
            }  # fmt: skip
            if shown and (own or query.data[key] in states or _shows(history, sources, states, query)
                          or _shows_itself(history, sources, things, query)):  # fmt: skip
                last[query.user, shown] = max(query.start, last.get((query.user, shown), query.start))
    return {(user, name, time) for (user, name), time in last.items()}


def _read_another(source: str, called: str | None, query: Query) -> bool:
    """Whether the row of a query has another object under the name of a source, both with an id, and not the source."""
    keys = {key for (kind, key), (name, _) in query.shown.items() if kind == "BASE" and name == called}
    is_read = any(key == source for _, key in query.shown)
    return not is_read and "/name/" not in source and any("/name/" not in key for key in keys)


def _shows_itself(history: History, sources: set[str], things: list[Meant], query: Query) -> bool:
    """Whether a view over these sources shows what is meant itself: one of its states was there by then."""
    return any(
        is_from(history, thing, state, query.start) and _is_there(history, state, query)
        for thing in things
        if thing.key in sources
        for state in history.states(thing.key)
    )


def _shows(history: History, sources: set[str], states: set[State], query: Query) -> bool:
    """Whether a view over these sources shows the data when the query starts: one of them had it by then, and was not
    emptied or made anew since it had it last.
    """
    by_source = [[state for state in states if state.key == source] for source in sources]
    return any(
        any(_is_there(history, state, query) for state in held)
        and not all(_is_over(history, one, query) for one in held)
        for held in by_source
    )


def _is_over(history: History, state: State, query: Query) -> bool:
    """Whether another state had taken the place of this one, not a DROP."""
    events = history.events(state.key)
    own = next((n for n, one in enumerate(events) if one[1] == state.query_id and one[2] != past.DROPPED), -1)
    after = events[own + 1 : own + 2] if state.query_id is not None and not state.dropped else []
    return any(rank != past.DROPPED and time < query.start for time, _, rank in after)


def _is_there(history: History, state: State, query: Query) -> bool:
    return state.query_id is None or state.dropped or history.queries[state.query_id].end <= query.start


def lineage_as_of(history: History, given: Given) -> set[Row]:
    """Back from what was in the object at that time; nothing was in one that was dropped."""
    at = plain.time(given["at"])
    keys = {one.key for one in meant(history, given) if one.at(at)}
    behind = [one for one in certain(history) if one.view in keys and _is_there_at(history, one, at)]
    states = {history.state_at(key, at) for key in keys | {one.source for one in behind}}
    back: dict[State, set[State]] = defaultdict(set)
    for one, others in history.onward.items():
        for other in others:
            back[other].add(one)
    found = past.reached({state for state in states if not state.dropped}, back)
    shown = {
        (one.name or history.names.label(one.source), one.query_id, one.first)
        for one in behind
        if one.view_column is None
    }
    return shown | {
        (_read_as(history, query, key), query.query_id, query.start)
        for query in history.queries.values()
        if query.query_id not in history.removing and found & set(query.makes.values())
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


class Followed(NamedTuple):
    """Where the data of a column went: ``held``: into these columns, also of the object itself under other names of
    the column; ``copies``: by these, each once.
    """

    key: str
    name: str
    held: set[Column]
    copies: list[Copy]


def followed(history: History, things: list[Meant], wanted: str | None) -> list[Followed]:
    """A name's data is what was in the object while it had the name; where that goes later counts, whatever the object
    or the column is called then. ``wanted``: the column; None: each of the object.
    """
    names = {(one.state.key, one.name) for copies in history.column_onward.items() for one in (copies[0], *copies[1])}
    names |= {(one.source.state.key, one.source.name) for one in history.copies if one.source.name}
    found = []
    for key, name in sorted(one for one in names if one[1]):  # A column without a name is none: a note tells of it.
        own = [thing for thing in things if thing.key == key and (wanted is None or same_name(name, wanted))]
        direct = [
            one
            for one in history.copies
            if (one.source.state.key, one.source.name) == (key, name)
            and any(is_from(history, thing, one.source.state, history.queries[one.query_id].start) for thing in own)
            and any(_kept_there(history, thing, one.source) for thing in own)
        ]
        renamed = {
            new
            for column, others in history.column_onward.items()
            if (column.state.key, column.name) == (key, name)
            for new in others
            if new.state.key == key and new.name != name and new.state.query_id is not None
            and any(change[:2] == (new.state.query_id, key) and (name, new.name) in past.columns_renamed(change[2])
                    for change in history.changes)
            and any(is_from(history, thing, column.state, history.queries[new.state.query_id].end)
                    and _kept_there(history, thing, column) for thing in own)
        }  # fmt: skip
        held = past.reached({*(one.target for one in direct), *renamed}, history.column_onward)
        copies = {one for one in history.copies if one.source.name and one.source in held}
        if own:
            found.append(Followed(key, name, held, [*{*direct, *copies}]))
    return found


def _kept_there(history: History, thing: Meant, column: Column) -> bool:
    """Whether the column in this state has what was in it by the end of the period with the name: it was not begun
    anew since.
    """
    if thing.until is None or column.state.dropped:
        return True
    one: Column | None = column
    while one is not None:
        began = history.begins(one.state)
        if began is None or began < thing.until:
            return True
        one = (
            None if history.is_begun(one) or (prior := history.prior(one.state)) is None else one._replace(state=prior)
        )
    return False


def column_copies(history: History, given: Given) -> set[Row]:
    return {
        (one.target_name, domain(one.target.state.key), one.target.name)
        for source in followed(history, meant(history, given), given["column_name"])
        for one in source.copies
        if (one.target.state.key, one.target.name) != (source.key, source.name)
        and not _is_itself(history, one, (source.key, source.name), given)
    }


def _is_itself(history: History, copy: Copy, source: tuple[str, str], given: Given) -> bool:
    """Whether the filled column has the names that are asked for: the table was made anew and took the name."""
    time = history.queries[copy.query_id].start
    return "object_name" in given and same_name(copy.target.name, source[1]) and any(
        same_name(name, given["object_name"]) and since <= time and (until is None or time < until)
        for name, since, until in history.names.held.get(copy.target.state.key, [])
    )  # fmt: skip


def root_cause(history: History, given: Given) -> set[Row]:
    """All copies that lead to one of the column's own; ``at``: to what was in the column at that time."""
    back: dict[Column, set[Column]] = defaultdict(set)
    for one, others in history.column_onward.items():
        for other in others:
            back[other].add(one)
    things = meant(history, given)
    last = _held_at(history, things, given) if "at" in given else _ever_held(history, things, given["column_name"])
    behind = [
        one
        for one in certain(history)
        if one.view_column
        and same_name(one.view_column, given["column_name"])
        and _is_meant(history, one, things, given)
    ]
    columns = past.reached(last | set(_held_behind(history, behind, given)), back)
    shown = {
        (one.name or history.names.label(one.source), one.source_column, one.query_id, one.first) for one in behind
    }
    return shown | {
        (one.source_name, one.source.name or None, one.query_id, history.queries[one.query_id].start)
        for one in history.copies
        if one.target in columns
    }


def _is_meant(history: History, one: Shown, things: list[Meant], given: Given) -> bool:
    at = plain.time(given["at"]) if "at" in given else None
    is_there = at is None or _is_there_at(history, one, at)
    return is_there and any(thing.key == one.view and (at is None or thing.at(at)) for thing in things)


def _is_there_at(history: History, one: Shown, at: datetime) -> bool:
    """Whether the definition is in force when all that happened at a time is done, and its source was made by then."""
    begun = {history.begins(state) for state in history.states(one.source)}
    is_made = not begun or any(time is None or time <= at for time in begun)
    return one.at(at) and one.until != at and is_made


def _held_behind(history: History, behind: list[Shown], given: Given) -> Iterator[Column]:
    """The columns behind a view in the states that what is there goes on from; ``at``: what is there at that time."""
    for one in behind:
        made = history.states(one.source)
        if "at" in given:
            made = {history.state_at(one.source, plain.time(given["at"]))}
        for last in made:
            state: State | None = last
            while state is not None and not last.dropped and last.query_id is not None and one.source_column:
                yield past.Column(state, one.source_column)
                state = history.prior(state)


def _ever_held(history: History, things: list[Meant], column: str) -> set[Column]:
    """What was written into the column, or moved into it from one of another name, and was in the object while it was
    meant.
    """
    written = {one.target for one in history.copies}
    written |= {column for columns in history.column_onward.values() for column in columns}
    within = {state for one in things for state in history.states_within(*one)}
    return {one for one in written if same_name(one.name, column) and one.state in within}


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
    """Copies of masked columns, made under this name of the column or a former one, in states that hold their data,
    under any later name of their columns, read while the masked column was masked (if it is gone, as it was at its end)
    by a query that enforced no mask on them, and while none was set on them; each by its name at that time.
    """
    masks, masked_in = _masks(history)
    kept = _kept(history)
    reached = _onward_from(history, [one for one in history.copies if (one.source.state.key, one.source.name) in masks])
    for copy in (one for one in history.copies if one.source.name):
        place, since = (copy.source.state.key, str(copy.source.name)), history.queries[copy.query_id].start
        for masked in named_later(history, place, since) & masks.keys() - {place}:
            reached.setdefault((masked[0], str(masked[1])), set()).update(
                past.reached({history.held_since(copy.source)}, history.column_onward)
            )
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
        if column in columns and (column.state.key, column.name) not in _names_since(history, masked)
        and masked not in _names_since(history, (column.state.key, str(column.name)))
        for mask in masks[masked]
        for policy in [mask.policy]
        if mask.since <= query.start and (mask.until is None or query.start < mask.until
                                          or _is_gone_since(history, mask.last, mask.until, query.start))
        and not any(is_away(history, one, mask.since, mask.time_at(query.start)) for one in mask.elements)
    }  # fmt: skip


class Mask(NamedTuple):
    """A policy on a column from when until when; ``last``: the column by its last name in this time. ``elements``:
    the policy and the tag by which it was set; none if it is known only by being enforced.
    """

    policy: str
    since: datetime
    until: datetime | None
    last: tuple[str, str]
    elements: tuple[str, ...] = ()

    def time_at(self, read: datetime) -> datetime:
        """The time whose state counts for a read: of a column that is gone, just before its end."""
        return read if self.until is None or read < self.until else self.until - timedelta(microseconds=1)


def _masks(history: History) -> tuple[dict[tuple[str, str], list[Mask]], set[tuple[str, str, str]]]:
    """By column its masks: set on it, or on a tag that it has, whatever the column is called later; and enforced at
    another time, from when on until a change says otherwise. And query, object and column of each enforcement.
    """
    masks: dict[tuple[str, str], list[Mask]] = defaultdict(list)
    every = held(history)
    on_tags = [one for one in every if one.doing.property == "maskingPolicies" and one.doing.place[1] is None]
    for one in every:
        (key, column), until, last = one.doing.place, *_until_the_end(history, every, one)
        if column and one.doing.property == "maskingPolicies":
            masks[key, column].append(Mask(one.doing.element, one.since, until, last, (one.doing.element,)))
        for mask in on_tags if column and one.doing.property == "tags" else ():
            since, end = max(one.since, mask.since), first(until, mask.until)
            tag = mask.doing.place[0]
            if is_one_tag(history, tag, one.doing.element) and (end is None or since < end):
                both = (mask.doing.element, tag)
                masks[key, str(column)].append(Mask(mask.doing.element, since, end, last, both))
    enforced_in = {
        (query.query_id, key, column)
        for query, _, key, _, column, policy in enforced(history, {})
        if column and policy["policyKind"] == "MASKING_POLICY"
    }
    for only in only_enforced(history):
        place = only.place[0], str(only.place[1])
        masks[place].append(Mask(only.policy, only.since, only.until, place, (only.policy,)))
    return masks, enforced_in


def _until_the_end(history: History, every: list[Held], one: Held) -> tuple[datetime | None, tuple[str, str]]:
    """When a setting ends, under the last of the names that its column has; and the column by that name."""
    key, column = one.doing.place
    renamed = {
        (ident, new)
        for ident, changed, change in history.changes
        for old, new in past.columns_renamed(change)
        if changed == key and old == column
    }
    own = (one.doing.property, one.doing.element, one.doing.said)
    following = [
        two
        for two in every
        if two.since == one.until
        and two.doing.place[0] == key
        and (two.doing.query.query_id, two.doing.place[1]) in renamed
        and (two.doing.property, two.doing.element, two.doing.said) == own
    ]
    return _until_the_end(history, every, following[0]) if following else (one.until, (key, str(column)))


def _is_gone_since(history: History, place: tuple[str, str], until: datetime, time: datetime) -> bool:
    """Whether a column was dropped then, by itself or with its object, and nothing took its place up to a time."""
    key, column = place
    events = history.events(key)
    dropped = any(at == until and rank == past.DROPPED for at, _, rank in events)
    if dropped:
        return not any(until < at <= time and rank != past.DROPPED for at, _, rank in events)
    by_itself = any(
        changed == key and column in past.columns_dropped(change) and history.queries[ident].end == until
        for ident, changed, change in history.changes
    )
    return by_itself and not any(
        until < at <= time and history.is_begun(past.Column(past.State(key, ident), column)) for at, ident, _ in events
    )


def _kept(history: History) -> dict[Column, set[Column]]:
    """From a state to the next of the same object, and from a column to its next name."""
    renamed = {
        (ident, key, old, new)
        for ident, key, change in history.changes
        for old, new in past.columns_renamed(change)
    }  # fmt: skip
    found = {}
    for column, others in history.column_onward.items():
        found[column] = {
            one for one in others
            if (one.name == column.name and history.prior(one.state) == column.state)
            or ((one.state.query_id, one.state.key, column.name, one.name) in renamed
            and one.state.key == column.state.key)
        }  # fmt: skip
    return found


def _names_since(history: History, column: tuple[str, str]) -> set[tuple[str, str]]:
    """The column under all its later names, each of which is itself and no copy of it."""
    key, found = column[0], {column[1]}
    while True:
        more = {
            new
            for _, changed, change in history.changes
            for old, new in past.columns_renamed(change)
            if changed == key and old in found
        }
        if more <= found:
            return {(key, name) for name in found}
        found |= more


def _read_bare(
    history: History, given: Given, masked_in: set[tuple[str, str, str]]
) -> Iterator[tuple[Query, Column, str | None]]:
    set_on = set_masks(history)
    for query in queries(history, given):
        for (_, key), (name, columns) in query.shown.items():
            for column in columns:
                is_set = any(mask.is_for(history, query) for mask in set_on.get((key, column), ()))
                if (query.query_id, key, column) not in masked_in and not is_set:
                    yield query, past.Column(query.data[key], column), name


# --- movement ---------------------------------------------------------------------------------------------------------


def sensitive_data_movement(history: History, given: Given) -> set[Row]:
    """Every path; a step reads what the step before wrote, or a later state that goes on from it."""
    found: dict[Row, set[str]] = defaultdict(set)
    sources = meant(history, given, of_id="Stage")
    for query in history.queries.values():
        for key in query.keys("BASE") if query.query_id not in history.removing else ():
            name = name_of(history, key, query.shown["BASE", key][0])
            is_meant = any(one.key == key and is_from(history, one, query.data[key], query.start) for one in sources)
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
    return (
        (query, query.data[key])
        for query in history.queries.values()
        if key in query.keys("BASE") and query.query_id not in history.removing
    )


def _is_at_or_after(history: History, state: State | None, made: State) -> bool:
    while state is not None and state != made:
        state = history.prior(state)
    return state == made
