"""What changed between two times, computed in plain Python: new readers and copies, policies and tags set and unset,
objects created and dropped, what was done to columns, grants given and taken back.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from tests.ask.plain_asking import ident as number_of
from tests.ask.plain_asking import in_time, matched
from tests.ask.plain_grants import EVERYBODY, opened, taken_back
from tests.ask.plain_history import columns_changed
from tests.ask.plain_meant import name_at
from tests.ask.plain_names import body, value
from tests.ask.plain_settings import doings
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from tests.ask.plain_asking import Given, Row
    from tests.ask.plain_history import History, Query

DONE: Final = {
    "CREATE": "object made", "REPLACE": "object made", "DROP": "object dropped", "UNDROP": "object brought back",
}  # fmt: skip
GIVING: Final = {"object renamed": "objectName", "object swapped": "swapTargetName"}
Event = tuple[str, "Query", str, str | None]
"""What changed, in which query, of which object and column."""
End = tuple[str, str | None]
"""The key of an object, and a column; None: the object as a whole."""


def changes(history: History, given: Given) -> set[Row]:
    every = (
        *_readers(history),
        *_copies(history),
        *_settings(history),
        *_objects(history),
        *_named(history),
        *_columns(history),
        *_grants(history),
    )
    return {
        (
            change,
            _name_then(history, change, query, key),
            column,
            query.user,
            query.query_id,
            query.start,
        )
        for change, query, key, column in every
        if in_time(given, query.start)
    }


def _name_then(history: History, change: str, query: Query, key: str) -> str | None:
    """Of what is renamed or swapped the new name: that of a row without an id is another object's name from then on."""
    if change in GIVING and number_of(key) is None:
        told = (one for query_id, changed, one in history.changes if (query_id, changed) == (query.query_id, key))
        return next(str(name) for one in told if (name := value((one.get("properties") or {}).get(GIVING[change]))))
    return name_at(history, key, query.start) or _place_name(key)


def _readers(history: History) -> Iterator[Event]:
    """The first read of a user: neither the object nor another one of its name was read before."""
    met = [
        ("new reader", query, key, None, [(query.user, key), (query.user, _names(history, query, key) or key)])
        for query in history.queries.values()
        for key in {key for _, key in query.shown}
    ]
    yield from _first(met)


def _copies(history: History) -> Iterator[Event]:
    """The first time that a column was filled from another, or an object of which the columns are not told."""
    told = {one.target.state for one in history.copies if one.source.name}
    met = [
        (query, (one.source.state.key, one.source.name), (one.target.state.key, one.target.name))
        for one in history.copies
        for query in [history.queries[one.query_id]]
        if one.source.name and (one.source.state.key, one.source.name) != (one.target.state.key, one.target.name)
        if not (_is_named_alike(history, query, one.source.state.key, one.target.state.key)
                and matched(one.source.name) == matched(one.target.name))
    ]  # fmt: skip
    yield from _first_copies(history, met)
    whole = [
        (query, (read, None), (key, None))
        for query in history.queries.values()
        for key, state in query.makes.items()
        if state not in told
        for read in query.data
        if read != key and not _is_named_alike(history, query, read, key)
    ]
    yield from _first_copies(history, whole)


def _first_copies(history: History, met: list[tuple[Query, End, End]]) -> Iterator[Event]:
    """Those that none came before whose ends are the same, each by itself or by its name: also a column under a former
    name, if it was renamed between the two.
    """
    earliest: dict[Hashable, Any] = {}
    for query, *ends in met:
        for pair in product(*(_marks(history, query, end) for end in ends)):
            earliest[pair] = min(query.start, earliest.get(pair, query.start))
    renames = _renames(history)
    for query, *ends in met:
        each = [{**_former(renames, end), **dict.fromkeys(_marks(history, query, end))} for end in ends]
        before = [
            pair for pair in product(*each)
            if (first := earliest.get(pair, query.start)) < query.start
            and all((times := one[mark]) is None or any(first <= at < query.start for at in times)
                    for one, mark in zip(each, pair, strict=True))
        ]  # fmt: skip
        if not before:
            yield "new copy", query, *ends[1]


def _marks(history: History, query: Query, end: End) -> list[Hashable]:
    """A column or object itself, and the names that it has at a query, if it has any."""
    key, column = end
    names = _names(history, query, key)
    return [end, *([(names, None if column is None else matched(column))] if names else [])]


def _renames(history: History) -> dict[End, list[tuple[End, Any]]]:
    """Column -> its former names, and when it was renamed."""
    renames: dict[End, list[tuple[End, Any]]] = {}
    for ident, key, change in history.changes:
        for former, new in columns_changed(change)[2]:
            renames.setdefault((key, new), []).append(((key, former), history.queries[ident].start))
    return renames


def _former(renames: dict[End, list[tuple[End, Any]]], column: End) -> dict[End, list[Any]]:
    """The names that a column had before, over any number of renames -> when each was given up, for any name."""
    found, left = set(), [column]
    while left:
        for former, _ in renames.get(left.pop(), []):
            if former not in found:
                found.add(former)
                left.append(former)
    return {
        name: [at for every in renames.values() for former, at in every if former == name] for name in sorted(found)
    }


def _is_named_alike(history: History, query: Query, source: str, target: str) -> bool:
    """Whether a table is made anew from the one whose name it takes: what has one name is no copy of itself."""
    names = [
        {(key.partition("@")[2], matched(name)) for name, since, until in history.names.held.get(key, [])
         if since <= query.start and (until is None or query.start < until)}
        for key in (source, target)
    ]  # fmt: skip
    return bool(names[0] & names[1])


def _names(history: History, query: Query, *keys: str) -> Hashable:
    """What the objects were called then; None where one of them has no name."""
    names = [name_at(history, key, query.start) for key in keys if key in history.names.held]
    accounts = [key.partition("@")[2] for key in keys]  # a name is of an account
    is_named = len(names) == len(keys)
    return tuple(zip(accounts, (matched(str(name)) for name in names), strict=True)) if is_named else None


def _first(met: list[tuple[str, Query, str, str | None, list[Hashable]]]) -> Iterator[Event]:
    """What nothing that is the same by any of its marks came before."""
    earliest: dict[Hashable, Any] = {}
    for _, query, _, _, marks in met:
        for mark in marks:
            earliest[mark] = min(query.start, earliest.get(mark, query.start))
    for change, query, key, column, marks in met:
        if all(earliest[mark] == query.start for mark in marks):
            yield change, query, key, column


def _settings(history: History) -> Iterator[Event]:
    for one in doings(history):
        words = re.sub("(?<=[a-z])(?=[A-Z])", " ", re.sub("Policies$", " policy", one.property)).lower()
        word = "tag" if words == "tags" else " ".join(words.split())
        yield f"{word} {'set' if one.sets else 'unset'}", one.query, *one.place


def _objects(history: History) -> Iterator[Event]:
    for ident, key, change in history.changes:
        operation, query = (change.get("operationType") or "").upper(), history.queries[ident]
        if operation in DONE:
            yield DONE[operation], query, key, None
        elif body(change):
            yield "policy body changed", query, key, None


def _named(history: History) -> Iterator[Event]:
    """Renames and swaps: each side of a swap has a row."""
    for ident, key, change in history.changes:
        properties, query = change.get("properties") or {}, history.queries[ident]
        if plain.said(value(properties.get("objectName"))):
            yield "object renamed", query, key, None
        target = {
            "objectDomain": value(properties.get("swapTargetDomain")) or change.get("objectDomain"),
            **{f"object{part}": value(properties.get(f"swapTarget{part}")) for part in ("Id", "Name")},
        }
        if plain.key(target) not in (None, key):
            yield "object swapped", query, key, None


def _columns(history: History) -> Iterator[Event]:
    """What statements did to columns; what comes with a table that is created is no change of it."""
    for ident, key, change in history.changes:
        added, dropped, renames = columns_changed(change)
        words = {"column added": added, "column dropped": dropped, "column renamed": [new for _, new in renames]}
        if (change.get("operationType") or "").upper() == "ALTER":
            yield from ((word, history.queries[ident], key, one) for word, names in words.items() for one in names)


def _grants(history: History) -> Iterator[Event]:
    """Those that are given; and what a statement takes back: the grants that it ends, or it is not known which."""
    every = opened(history)
    for one in every:
        yield "grant made", one.grant.query, one.grant.key, None
    for taken in taken_back(history):
        query, share = taken.query, taken.share
        given = {(two.grant.key, two.grant.to) for two in every if two.grant.query.query_id == query.query_id}
        ended = {
            two.grant.key
            for two in every
            if two.grant.share == share and two.until == query.start and (two.grant.key, two.grant.to) not in given
        }
        unknown = {share} if taken.to != EVERYBODY else ()
        yield from (("grant revoked", query, key, None) for key in ended or unknown)


def _place_name(key: str) -> str | None:
    """The name of a schema or database, which rows name in the names of others alone."""
    kind, _, name = key.partition("/")
    return name.removeprefix("name/") if kind in ("schema", "database") else None
