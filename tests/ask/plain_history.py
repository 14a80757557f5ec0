"""The rows of one account, read in plain Python: what each query read, created and ended, and the state of objects
then.

The order of events is the documented one: by time, then query id; a query reads before it ends or creates anything.
What a query creates exists from its end, if QUERY_HISTORY has the end. This module shares no code with the exporter.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.ask.plain_names import Names, gives_body, matched, value
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import datetime

Json = dict[str, Any]
_DROPPED, _MADE = 1, 2
HOLDERS: Final = ("stage", "stream", "table", "view")
"""Kinds of objects that hold data or show it."""


class State(NamedTuple):
    """An object between two events: the query that made it so, or that dropped it; the first one is nobody's."""

    key: str
    query_id: str | None = None
    dropped: bool = False


class Column(NamedTuple):
    """A column in one state of its object."""

    state: State
    name: str


class Copy(NamedTuple):
    """One source of one written column; ``source.name`` is empty where a function is the source."""

    query_id: str
    kind: str
    source: Column
    source_name: str | None
    target: Column
    target_name: str | None


@dataclass
class Query:
    """``data``: state by object for all that was read; ``shown``: kind of access and object -> name and columns."""

    query_id: str
    user: str
    start: datetime
    end: datetime
    parent: str | None
    root: str | None
    shown: dict[tuple[str, str], tuple[str | None, set[str]]] = field(default_factory=dict)
    written: dict[str, tuple[str | None, set[str]]] = field(default_factory=dict)
    data: dict[str, State] = field(default_factory=dict)
    makes: dict[str, State] = field(default_factory=dict)

    def keys(self, kind: str) -> set[str]:
        return {key for one, key in self.shown if one == kind}


class History:
    """The events of one account. ``truncated``, ``deleted``: queries that are so called by QUERY_HISTORY."""

    def __init__(
        self, rows: list[Json], ends: Mapping[str, str], truncated: Collection[str] = (), deleted: Collection[str] = ()
    ) -> None:
        rows = [plain.with_streams(row) for row in rows]
        self.rows = rows
        self.truncated = truncated
        self.removing = {*truncated, *deleted}
        self.queries: dict[str, Query] = {}
        self.names = Names(rows)
        for row in rows:
            self._query(row, ends)
        self._events: dict[str, set[tuple[datetime, str, int]]] = defaultdict(set)
        self._created: set[State] = set()
        self.changes = [(one.query_id, key, change) for one, key, change in plain.changes(rows)]
        self._happen()
        self._take()
        for key in self.names.held:
            ends = [self.dropped_for_good(key), self.taken[key][0] if key in self.taken else None]
            if any(ends):
                self.names.end(key, min(time for time in ends if time))
        self._read()

    def _query(self, row: Json, ends: Mapping[str, str]) -> None:
        ident, start = row["query_id"], plain.time(row["query_start_time"])
        end = plain.time(ends[ident]) if ident in ends else start
        parent, root = plain.said(row.get("parent_query_id")), plain.said(row.get("root_query_id"))
        query = self.queries.setdefault(ident, Query(ident, row["user_name"], start, end, parent, root))
        for kind, array in plain.READS.items():
            for key, thing in plain.named(row.get(array)):
                _add(query.shown, (kind, key), thing)
        for key, thing in plain.named(row.get("objects_modified")):
            _add(query.written, key, thing)

    def _happen(self) -> None:
        for query in self.queries.values():
            for key in query.written:
                self._make(query, key)
        for ident, key, change in self.changes:
            operation, query = (change.get("operationType") or "").upper(), self.queries[ident]
            if operation in ("CREATE", "REPLACE", "UNDROP") or gives_body(change) or any(columns_changed(change)):
                self._make(query, key)
            elif operation == "DROP":
                self._events[key].add((query.end, ident, _DROPPED))
            if anew := known_as(key, change):
                self._events[key].add((query.end, ident, _DROPPED))
                self._make(query, anew)
                self._created.add(State(anew, ident))
            if operation in ("CREATE", "REPLACE"):
                self._created.add(State(key, ident))

    def _take(self) -> None:
        """An object ends when another one of its kind is created under its name, unless a row shows it again later."""
        shown: dict[str, tuple[datetime, str]] = {}
        for row in self.rows:
            query = self.queries[row["query_id"]]
            changed = {key for _, key, _ in plain.changes([row])} | {
                key for key, _ in plain.named(row.get("objects_modified"))
            }
            for key, _ in self.names.named(row):
                if key:
                    last = (query.end if key in changed else query.start), query.query_id
                    shown[key] = max(last, shown.get(key, last))
        taken = sorted(
            (self.queries[ident].end, ident, key, matched(name))
            for ident, key, change in self.changes
            if (change.get("operationType") or "").upper() in ("CREATE", "REPLACE")
            and key.split("/")[-1].isdigit() and not key.startswith(("function/", "procedure/"))
            and (name := plain.said(change.get("objectName")))
        )  # fmt: skip
        self.taken: dict[str, tuple[datetime, str]] = {}
        for key, turns in self.names.held.items():
            kind, _, ident = key.partition("/")
            ends = [
                (time, query_id) for time, query_id, other, name in taken
                if ident.isdigit() and other != key and other.split("/")[0] == kind and name == matched(turns[-1][0])
                and (time, query_id) >= shown[key]
            ]  # fmt: skip
            if ends:
                time, query_id = self.taken[key] = min(ends)
                events = self.events(key)
                if not events or events[-1][2] != _DROPPED:
                    self._events[key].add((time, query_id, _DROPPED))

    def _make(self, query: Query, key: str) -> None:
        query.makes[key] = State(key, query.query_id)
        self._events[key].add((query.end, query.query_id, _MADE))

    def _read(self) -> None:
        for query in self.queries.values():
            for _, key in query.shown:
                query.data[key] = self.state(key, query)
        for ident, _, _, _, key, _ in ((one[0].query_id, *one[1:]) for one in plain.derivations(self.rows)):
            self.queries[ident].data[key] = self.state(key, self.queries[ident])

    @cached_property
    def keys(self) -> set[str]:
        """All that a row names."""
        return {key for row in self.rows for key, _ in self.names.named(row) if key}

    def events(self, key: str) -> list[tuple[datetime, str, int]]:
        return sorted(self._events.get(key, ()))

    def dropped_for_good(self, key: str) -> datetime | None:
        """The time of a DROP after which the object is neither made nor shown again."""
        events = self.events(key)
        is_last = bool(events) and events[-1][2] == _DROPPED and self.names.last_seen(key) <= events[-1][0]
        return events[-1][0] if is_last else None

    def is_created(self, key: str, ident: str) -> bool:
        """Whether a query created or replaced the object."""
        return State(key, ident) in self._created

    def state(self, key: str, reader: Query) -> State:
        """What a query finds when it starts."""
        return self._after([one for one in self.events(key) if one[:2] < (reader.start, reader.query_id)], key)

    def state_at(self, key: str, time: datetime) -> State:
        """What is there at a time, all that happened at that time included."""
        return self._after([one for one in self.events(key) if one[0] <= time], key)

    def _after(self, events: list[tuple[datetime, str, int]], key: str) -> State:
        return State(key, events[-1][1], events[-1][2] == _DROPPED) if events else State(key)

    def prior(self, state: State) -> State | None:
        """What a state goes on from: the one made before it, None where the object was created anew or truncated."""
        return None if state.query_id in self.truncated else self.former(state)

    def former(self, state: State) -> State | None:
        """The state of the same object before it, also if a TRUNCATE emptied that; None if it was created anew."""
        if state.query_id is None or state.dropped or state in self._created:
            return None
        made = [one for one in self.events(state.key) if one[2] == _MADE]
        own = next(place for place, one in enumerate(made) if one[1] == state.query_id)
        return State(state.key, made[own - 1][1]) if own else State(state.key)

    def states(self, key: str) -> set[State]:
        """All that anything refers to."""
        made = {State(key, ident) for _, ident, rank in self.events(key) if rank == _MADE}
        read = {query.data[key] for query in self.queries.values() if key in query.data}
        events = self.events(key)
        is_new = bool(events) and State(key, events[0][1]) in self._created  # nothing was in it before the record
        return made | read | (set() if is_new else {State(key)})

    def begins(self, state: State) -> datetime | None:
        """When a state began; None: before the record, or an object that was dropped, whose states have no time."""
        made = [time for time, ident, rank in self.events(state.key) if rank == _MADE and ident == state.query_id]
        return None if state.dropped or not made else made[0]

    def states_within(self, key: str, since: datetime | None, until: datetime | None) -> set[State]:
        """What was in the object at some time from ``since`` on and before ``until``: the states that were in force
        then, and those that they go on from.
        """
        events, found = self.events(key), set[State]()
        for place, (time, ident, rank) in enumerate(events):
            end = events[place + 1][0] if place + 1 < len(events) else None
            if rank == _MADE and (until is None or time < until) and (since is None or end is None or end > since):
                state: State | None = State(key, ident)
                while state is not None:
                    found.add(state)
                    state = self.prior(state)
        return found

    def is_gone(self, column: Column) -> bool:
        """Whether the column was dropped or got another name after it was written last."""
        changed = {(ident, key): columns_changed(change) for ident, key, change in self.changes}
        while (before := self.prior(column.state)) is not None and not self._wrote(column):
            _, dropped, renamed = changed.get((column.state.query_id, column.state.key), ([], [], []))
            if column.name in dropped or column.name in [old for old, _ in renamed]:
                return True
            column = Column(before, column.name)
        return False

    @cached_property
    def onward(self) -> dict[State, set[State]]:
        """Where the data of a state went: the state after it, and what queries that read it made."""
        found: dict[State, set[State]] = defaultdict(set)
        for query in self.queries.values():
            for state in query.makes.values():
                for read in query.data.values() if query.query_id not in self.removing else ():
                    found[read].add(state)
                if (before := self.prior(state)) is not None:
                    found[before].add(state)
        return found

    @cached_property
    def copies(self) -> list[Copy]:
        """Every source of every written column."""
        return [
            Copy(
                row["query_id"], kind, *source, Column(State(target, row["query_id"]), column), thing.get("objectName")
            )
            for row in self.rows
            for target, thing in plain.named(row.get("objects_modified"))
            for one in thing.get("columns") or []
            if (column := plain.said(one.get("columnName")))
            for kind, spellings in plain.SOURCES.items()
            for spelling in spellings
            for given in one.get(spelling) or []
            for source in self._source(row, given)
        ]

    def _source(self, row: Json, given: Json) -> Iterator[tuple[Column, str | None]]:
        if key := plain.key({name: value for name, value in given.items() if name != "location"}):
            state = self.state(key, self.queries[row["query_id"]])
            yield Column(state, plain.said(given.get("columnName")) or ""), plain.said(given.get("objectName"))

    @cached_property
    def column_onward(self) -> dict[Column, set[Column]]:
        """Where the data of a column went: as :attr:`onward`, column by column."""
        found: dict[Column, set[Column]] = defaultdict(set)
        for copy in self.copies:
            if copy.source.name:
                found[copy.source].add(copy.target)
        for ident, key, change in self.changes:
            _, _, renamed = columns_changed(change)
            query = self.queries[ident]
            before = self._after([one for one in self.events(key) if one[:2] < (query.end, ident)], key)
            for old, new in renamed:
                found[Column(before, old)].add(Column(State(key, ident), new))
        begun = self._begun
        names = {(column.state.key, column.name) for copy in self.copies for column in (copy.source, copy.target)}
        names |= {(key, name) for query in self.queries.values() for (_, key), (_, columns) in query.shown.items()
                  for name in columns}  # fmt: skip
        for key, name in names:
            for state in self.states(key):
                if (before := self.prior(state)) is not None and Column(state, name) not in begun:
                    found[Column(before, name)].add(Column(state, name))
        return found

    def held_since(self, column: Column) -> Column:
        """The column in the first of the states in which it held what it holds: those after it left it as it was."""
        while (before := self.prior(column.state)) is not None and not self._wrote(column):
            column = Column(before, column.name)
        return column

    def _wrote(self, column: Column) -> bool:
        written = self.queries[column.state.query_id or ""].written.get(column.state.key, (None, set[str]()))
        return column.name in written[1] or column in self._begun

    def is_begun(self, column: Column) -> bool:
        """Whether the column was added in this state, or took another's place under a new name."""
        return column in self._begun

    @cached_property
    def _begun(self) -> set[Column]:
        """Columns that are added, or take another's place under a new name: what was called so before is not they."""
        return {
            Column(State(key, ident), name)
            for ident, key, change in self.changes
            for added, _, renamed in [columns_changed(change)]
            for name in [*added, *(new for _, new in renamed)]
        }


def known_as(key: str, change: Json) -> str | None:
    """What a RENAME without an id makes of a table, view, stage or stream, which is known by its name alone."""
    name = plain.said(value((change.get("properties") or {}).get("objectName")))
    is_by_name = key.split("/", maxsplit=1)[0] in HOLDERS and key.split("/")[1] == "name"
    if not name or not is_by_name:
        return None
    anew = plain.key({"objectDomain": change.get("objectDomain"), "objectName": name})
    return None if anew == key else anew


def _add(found: dict[Any, tuple[str | None, set[str]]], key: Any, thing: Json) -> None:
    """A thing that a row shows twice has the columns of both, and one name."""
    name, columns = found.get(key, (None, set()))
    own = plain.said(thing.get("objectName"))
    names = {name for name, _ in plain.columns(thing)}
    found[key] = min((one for one in (name, own) if one), default=None), columns | names


def columns_changed(change: Json) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """The columns that a change adds, drops, and renames (from, to)."""
    columns = (change.get("properties") or {}).get("columns")
    if not isinstance(columns, dict):  # as most, which are asked again and again
        return [], [], []
    said = {name: one for name, one in columns.items() if plain.said(name)}
    added, dropped = (
        [name for name, one in said.items() if (one.get("subOperationType") or "").upper() == doing]
        for doing in ("ADD", "DROP")
    )
    given = {name: plain.said(value(one.get("objectName"))) for name, one in said.items()}
    return added, dropped, [(name, new) for name, new in given.items() if new and new != name]


def columns_dropped(change: Json) -> list[str]:
    """The columns that a change drops."""
    return columns_changed(change)[1]


def columns_renamed(change: Json) -> list[tuple[str, str]]:
    """The columns that a change renames: from, to."""
    return columns_changed(change)[2]


def reached(starts: Iterable[Any], onward: Mapping[Any, set[Any]]) -> set[Any]:
    """The starts, and all that they lead to."""
    found, waiting = set(starts), list(starts)
    while waiting:
        fresh = onward.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


DROPPED: Final = _DROPPED
