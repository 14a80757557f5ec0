"""The answer of ``tag-reach``, computed in plain Python from the rows: copies of tagged columns that lack the tag."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tests.ask import plain_history as past
from tests.ask.plain_asking import enforced
from tests.ask.plain_governance import is_wanted
from tests.ask.plain_meant import name_at
from tests.ask.plain_settings import held, is_gone
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from datetime import datetime

    from tests.ask.plain_asking import Given, Row
    from tests.ask.plain_history import Column, History, State


def tag_reach(history: History, given: Given) -> set[Row]:
    """What was in a column with the tag, under whatever name, went into these columns and is there; they are there, and
    neither they nor their object have the tag.
    """
    at = plain.time(given["at"]) if "at" in given else None
    tags = [
        one.doing
        for one in held(history)
        if one.doing.property == "tags" and one.is_at(at) and not is_gone(history, at, one.doing.element)
    ]
    tagged = {(one.place, one.element) for one in tags}
    onward = without_masked(history) if "masks" in given.get("stop_at", ()) else history.column_onward
    found = set()
    for one in tags:
        (key, name), tag = one.place, one.element
        now = _now(history, key, at)
        if name is None or now.dropped or not is_wanted(history, tag, given):
            continue
        held_in = past.reached(_former(history, past.Column(now, name)), onward)
        for target, column in sorted({(one.state.key, one.name) for one in held_in}):
            state = _now(history, target, at)
            has_it = {((target, column), tag), ((target, None), tag)} & tagged
            there = past.Column(state, column)
            is_there = there in held_in and not state.dropped and not history.is_gone(there)
            if (target, column) != (key, name) and is_there and not has_it:
                named = name_at(history, key, at), name, name_at(history, tag, at), one.said or ""
                found.add((*named, name_at(history, target, at), column))
    return found


def without_masked(history: History) -> dict[Column, set[Column]]:
    """Where the data of a column went without a query that enforced a masking policy on it, or, where the query read a
    view, on all that is behind it, or before it.
    """
    masked = {
        (query.query_id, key, column)
        for query, _, key, _, column, policy in enforced(history, {})
        if column and policy["policyKind"] == "MASKING_POLICY"
    }
    kinds: dict[Column, dict[str, set[Column]]] = defaultdict(lambda: defaultdict(set))
    for copy in history.copies:
        if copy.source.name:
            kinds[copy.target][copy.kind].add(copy.source)
    onward = {source: set(targets) for source, targets in history.column_onward.items()}
    for copy in history.copies:
        source, target = copy.source, copy.target
        direct, base = kinds[target]["DIRECT"], kinds[target]["BASE"]
        others = set() if source in direct & base else base - direct if source in direct else direct - base
        is_masked = [(copy.query_id, one.state.key, one.name) in masked for one in (source, *others)]
        goes_on = (source.name, source.state) == (target.name, history.prior(target.state))
        is_kept = goes_on and not history.is_begun(target)
        if source.name and (is_masked[0] or (others and all(is_masked[1:]))) and not is_kept:
            onward[source].discard(target)
    return onward


def _now(history: History, key: str, at: datetime | None) -> State:
    last = max(query.end for query in history.queries.values())
    return history.state_at(key, last if at is None else at)


def _former(history: History, column: Column) -> set[Column]:
    """The column in the states before, also under the names that it had before: a TRUNCATE ends the data in it, and
    neither the column nor the copies.
    """
    found = {column}
    while True:
        ident, key = column.state.query_id, column.state.key
        olds = {
            old
            for changed, other, change in history.changes
            for old, new in past.columns_renamed(change)
            if (changed, other, new) == (ident, key, column.name)
        }
        before = [
            one
            for one, others in history.column_onward.items()
            if column in others and one.state.key == key and one.name in olds
        ]
        if history.is_begun(column):
            if not before:
                return found
            (column,) = before[:1]
        else:
            prior = history.former(column.state)
            if prior is None:
                return found
            column = past.Column(prior, column.name)
        found.add(column)
