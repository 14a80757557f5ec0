"""CLONE of a schema or database: which changes say so, what it copied, and which tables came by it.

The row of a CLONE names the two schemas or databases, and not the objects in them (view, "object_modified_by_ddl"). Its
source is in the properties of the change, or among what the query read (view, "Read query notes"). What ends a schema
or database is found here too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from exporter.model.answers import Ending
from exporter.model.effects import CREATES, DROP_OR_UNDROP
from exporter.model.facts import Change, Content
from exporter.model.identifiers import canonical_name, parts_of
from exporter.model.object_state import (
    ContainerEvent,
    Profile,
    Take,
)
from exporter.model.objects import containers

KINDS: Final = {"database": 1, "schema": 2}
"""Kinds of objects that are cloned with what is in them, and how many parts their names have."""
COPIED: Final = "table"
"""The kind of objects whose data a CLONE of their schema or database copies."""

BEGINS: Final = "CREATE"
ENDS: Final = ("DROP", "REPLACE")
"""Operations on a schema or database after which nothing that was in it is there."""
RESTORES: Final = "UNDROP"


class Remade(NamedTuple):
    """A schema or database is made, dropped, restored or renamed: what has its name afterwards is another one.
    ``source``: the name of that which was cloned, empty if it is no CLONE. Names are canonical. ``operation``: as in
    the row.
    """

    change_key: str
    target: str
    source: str
    operation: str


def remade(content: Content) -> Iterator[tuple[str, Remade]]:
    """What the query does to schemas and databases, each with the key of the changed object."""
    for change in content.changes:
        kind = change.thing.kind
        if kind not in KINDS:
            continue
        new_names = [name for name in (change.new_name, change.swap_name) if name is not None]
        if change.operation not in {*CREATES, *DROP_OR_UNDROP} and not new_names:
            continue
        source = _source(change, content) if change.operation in CREATES else ""
        for name in (change.thing.name, *new_names):
            if name is not None and len(parts_of(name)) == KINDS[kind]:
                target = canonical_name(name)
                is_clone = source != target and name == change.thing.name
                yield change.thing.key, Remade(change.change_key, target, source if is_clone else "", change.operation)


def _source(change: Change, content: Content) -> str:
    kind = change.thing.kind
    named = {change.source_name}
    if change.source_key is None:
        named = {access.thing.name for access in content.accesses if access.thing.kind == kind}
    elif change.source_key.split("/", 1)[0] != kind:
        return ""
    names = {canonical_name(name) for name in named if name is not None and len(parts_of(name)) == KINDS[kind]}
    names -= {canonical_name(change.thing.name or "")}
    return min(names) if len(names) == 1 else ""


def schema_and_database(name: str) -> tuple[str, ...]:
    """The canonical names of the schema and the database of a table; empty if its name is not qualified."""
    enclosing = containers(COPIED, name)
    return tuple([canonical_name(thing.name) for thing in enclosing if thing.name is not None])


def database(container: str) -> str:
    """The database of a schema, or itself."""
    return parts_of(container)[0]


def in_source(name: str, target: str, source: str) -> str:
    """The canonical name that a table in the target of a CLONE has in its source."""
    parts = parts_of(canonical_name(name))[len(parts_of(target)) :]
    return ".".join([source, *parts])


def taken_back(events: Iterable[ContainerEvent]) -> dict[ContainerEvent, ContainerEvent]:
    """DROP or REPLACE -> the UNDROP that takes it back, of events in order of time."""
    ended: list[tuple[ContainerEvent, str]] = []  # with the key of what ended, empty if it is not known
    has_name: dict[str, str] = {}
    undone: dict[ContainerEvent, ContainerEvent] = {}
    for event in events:
        if event.operation in ENDS:
            former = has_name.pop(event.target, "")
            ended.append((event, event.key or former if event.operation == "DROP" else former))
        if event.operation == RESTORES and (end := _end_before(event, ended)) is not None:
            ended.remove(end)
            undone[end[0]] = event
        if event.operation in {"REPLACE", RESTORES}:
            has_name[event.target] = event.key
        elif event.operation not in ENDS:
            has_name.pop(event.target, None)
    return undone


def _end_before(undrop: ContainerEvent, ended: list[tuple[ContainerEvent, str]]) -> tuple[ContainerEvent, str] | None:
    """What an UNDROP takes back: the last end of the same id, under whatever name. If the row gives no id, the last
    DROP of the name; if it gives one, the last DROP or REPLACE of the name for which no id of what ended is known.
    """
    if undrop.key:
        same = [end for end in ended if end[1] == undrop.key]
        same = same or [
            (event, key)
            for event, key in ended
            if event.target == undrop.target and not key and event.key != undrop.key
        ]
    else:
        same = [end for end in ended if end[0].target == undrop.target and end[0].operation == "DROP"]
    return same[-1] if same else None


class Copy(Struct, array_like=True, frozen=True, gc=False):
    """A table that a CLONE brought, as is inferred. ``key``, ``name``: its key, and its name when a query named it
    first; ``first``: that query. ``columns``: its columns in all rows, sorted. ``event``: the CLONE; ``source``: the
    canonical name of the table that it copied; ``since``: when something else had the name of the schema or database
    before.
    """

    key: str
    name: str
    first: str
    columns: list[str]
    event: ContainerEvent
    source: str
    since: int


class FirstStateOutcome(Struct, array_like=True, frozen=True, gc=False):
    """What became of the state in which the first query found an object. ``ending``: how it ended, None if it has not.
    ``is_kept``: whether a later version has what the object had before.
    """

    ending: Ending | None = None
    is_kept: bool = False


class Moment(Struct, array_like=True, frozen=True, gc=False):
    """A table when its schema or database was cloned. ``state``: the version in force, empty if it was dropped.
    ``columns``: the state that wrote each column; ``chain``: that of all others; ``lost``: columns that it had before.
    ``name``: its name, last seen at ``seen``.
    """

    state: str
    columns: dict[str, str]
    chain: str
    lost: list[str]
    name: str
    seen: int


class Inferred(Struct, frozen=True, gc=False):
    """A copy with the version and the columns that it came from. ``columns``: column -> the state that wrote it, and
    whether a recorded query did.
    """

    copy: Copy
    state: str
    columns: dict[str, tuple[str, bool]]


class Copies:
    """The copies of one table. Its state is bounded by the clones that are in force or have a table in the rows."""

    def __init__(self, moments: Mapping[str, Moment] | None = None, copies: Iterable[Copy] = ()) -> None:
        self._moments = dict(moments or {})
        self._copies = {(_key(copy.event), copy.key): copy for copy in copies}
        self.due: list[ContainerEvent] = []

    def kept(self) -> tuple[dict[str, Moment], list[Copy]]:
        """The state for the next day."""
        return self._moments, [copy for _, copy in sorted(self._copies.items())]

    def add(
        self, profile: Profile, passed: tuple[int, str], events: Iterable[ContainerEvent] | None, copies: Iterable[Copy]
    ) -> None:
        """Record the clones that may still bring tables (None if that is no news), and the tables that they brought.
        ``passed``: time and query of the last use of the table so far; its state before is not known any more.
        """
        for copy in copies:
            self._copies[_key(copy.event), copy.key] = copy
        due = {*(events or ()), *(copy.event for copy in self._copies.values())}
        if events is not None:
            keys = set(map(_key, due))
            self._moments = {key: moment for key, moment in self._moments.items() if key in keys}
        begun = max(profile.first[:2], passed)
        known = [event for event in due if _key(event) not in self._moments and begun < (event.start, event.query_id)]
        self.due = sorted(known, key=lambda event: (event.start, event.query_id, event.change_key))

    def clones_before(self, before: tuple[int, str] | None) -> Iterator[ContainerEvent]:
        """The clones that began before a time and query, all if None; each is given once."""
        while self.due and (before is None or (self.due[0].start, self.due[0].query_id) <= before):
            yield self.due.pop(0)

    def at(self, event: ContainerEvent, moment: Moment) -> None:
        """Record the state of the table at a clone."""
        self._moments[_key(event)] = moment

    @property
    def keys(self) -> set[str]:
        """The keys of the copies."""
        return {key for _, key in self._copies}

    def inferred(self, taken: Take | None, unrecorded: Collection[tuple[str, str]]) -> Iterator[Inferred]:
        """The copies, sorted. ``taken``: who took the name of the table; ``unrecorded``: columns, with the states that
        they had and no recorded query wrote.
        """
        for (key, _), copy in sorted(self._copies.items()):
            moment = self._moments.get(key)
            if moment is None or not moment.state or moment.seen < copy.since:
                continue
            if canonical_name(moment.name) != copy.source or (taken is not None and taken[0] <= copy.event.start):
                continue
            columns = {}
            for column in copy.columns:
                if column in moment.lost:
                    continue
                if column in moment.columns:
                    columns[column] = moment.columns[column], True
                elif (column, moment.chain) in unrecorded:
                    columns[column] = moment.chain, False
            yield Inferred(copy, moment.state, columns)


def _key(event: ContainerEvent) -> str:
    return f"{event.query_id}\0{event.change_key}"
