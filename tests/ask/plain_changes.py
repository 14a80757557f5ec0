"""What changed between two times, computed in plain Python: new readers and copies, policies and tags set and unset,
objects created and dropped, what was done to columns, grants given and taken back.
"""

from __future__ import annotations

import re
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
        ("new copy", query, one.target.state.key, one.target.name, _pairs(history, query, one.source, one.target))
        for one in history.copies
        for query in [history.queries[one.query_id]]
        if one.source.name and (one.source.state.key, one.source.name) != (one.target.state.key, one.target.name)
        if not (_is_named_alike(history, query, one.source.state.key, one.target.state.key)
                and matched(one.source.name) == matched(one.target.name))
    ]  # fmt: skip
    met += [
        ("new copy", query, key, None, [(read, key), _names(history, query, read, key) or (read, key)])
        for query in history.queries.values()
        for key, state in query.makes.items()
        if state not in told and query.query_id not in history.removing
        for read in query.data
        if read != key and not _is_named_alike(history, query, read, key)
    ]
    yield from _first(met)


def _is_named_alike(history: History, query: Query, source: str, target: str) -> bool:
    """Whether a table is made anew from the one whose name it takes: what has one name is no copy of itself."""
    names = [
        {(key.partition("@")[2], matched(name)) for name, since, until in history.names.held.get(key, [])
         if since <= query.start and (until is None or query.start < until)}
        for key in (source, target)
    ]  # fmt: skip
    return bool(names[0] & names[1])


def _pairs(history: History, query: Query, source: Any, target: Any) -> list[Hashable]:
    ends = tuple((one.state.key, one.name) for one in (source, target))
    names = _names(history, query, source.state.key, target.state.key)
    columns = tuple(matched(one.name) for one in (source, target))
    return [ends, (names, columns) if names else ends]


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
