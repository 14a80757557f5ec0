"""Drawn loads with helpers: statements as people write them, the rows that Snowflake has for them, and what events have
to show, read from the statements in plain Python (docs/openlineage.md, "Helpers").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

Json = dict[str, Any]
Column = tuple[str, str]
"""A table and its column."""
Mapping = dict[str, list[Column]]
BEGIN: Final = datetime(2026, 11, 20, 3, tzinfo=UTC)
COLUMNS: Final = ("A", "B")
SOURCES: Final = ("D.RAW.S1", "D.RAW.S2")
HELPERS: Final = ("D.M.T1__DBT_TMP", "D.M.T2__DBT_TMP", 'D.M."_airbyte_tmp_x"', "D.M.SCRATCH")
TEMPORARY: Final = HELPERS[3]
"""The helper whose name says nothing; it is created as TEMPORARY."""
DROP: Final = "drop"
ADD: Final = "add"
TARGETS: Final = ("D.M.T1", "D.M.T2")
OF_SESSIONS: Final = ("D.M.T1__DBT_TMP@1", "D.M.T1__DBT_TMP@2", "D.M.T1__DBT_TMP@3", "D.M.T2__DBT_TMP")
"""Helpers of which sessions have their own under one name at the same time; after ``@`` is the session."""
TEMPORARY_OF_SESSIONS: Final = (f"{TEMPORARY}@1", f"{TEMPORARY}@2", f"{TEMPORARY}@3", *OF_SESSIONS[:2])


@dataclass
class Statement:
    """``does``: create, insert, cut (an insert whose row lists no columns), drop, swap, rename, columns. ``table``: of
    the change; ``made_of``: the sources of its columns; ``reads``: tables; ``to``: of a swap or rename. ``columns``: by
    column its new name, DROP or ADD. A table of which sessions have their own has the session after ``@``.
    """

    does: str
    table: str
    at: datetime
    made_of: Mapping = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    to: str = ""
    columns: dict[str, str] = field(default_factory=dict)


@dataclass
class Shown:
    """What the event of a statement has to show."""

    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    edges: set[tuple[str, str, str, str]] = field(default_factory=set)
    helpers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def named(table: str) -> str:
    """The name of a table in rows and events, without the session."""
    return table.partition("@")[0]


def session_of(table: str) -> str:
    """The session that has the table; empty if all have it."""
    return table.partition("@")[2]


def drawn(rng: Random, length: int, helpers: tuple[str, ...] = HELPERS) -> list[Statement]:
    """A load: about ``length`` statements, one after the other, over some days."""
    sessions = sorted({session_of(one) for one in helpers} - {""}) or [""]
    at, load, alive = BEGIN, list[Statement](), set[str]()
    for _ in range(length):
        at += timedelta(minutes=rng.choice((0, 1, 7, 200, 600)), seconds=1)
        helper = rng.choice(helpers)
        session = session_of(helper) or (rng.choice(sessions) if len(sessions) > 1 else "")
        mine = {one for one in alive if session_of(one) in {"", session}}
        does = rng.choice((*["create"] * 2, *["insert"] * 3, *["read"] * 3, "end", "cut", "columns"))
        if does == "create" or helper not in alive:
            with_rows = rng.random() < 0.5
            load.append(Statement("create", helper, at, *(_made_of(rng, mine - {helper}) if with_rows else ({}, ()))))
            alive.add(helper)
        elif does == "end":
            way = rng.choice(("drop", "drop", "swap", "rename")) if named(helper) != TEMPORARY else "drop"
            load.append(Statement(way, helper, at, to=rng.choice(TARGETS)))
            alive.remove(helper)
            if way == "swap":
                load.append(Statement("drop", helper, at + timedelta(milliseconds=500)))
        elif does == "columns":
            load += changes(helper, at, *rng.choice((SWAPPED, ANEW, BACK)))
        elif does == "cut":
            if rng.random() < 0.4:
                load.append(Statement("cut", helper, at, reads=(rng.choice(SOURCES),)))
        else:
            table = helper if does == "insert" else rng.choice(TARGETS)
            load.append(Statement("insert", table, at, *_made_of(rng, mine)))
    return load


SWAPPED: Final = ({"A": "C"}, {"B": "A"}, {"C": "B"})
ANEW: Final = ({"A": DROP}, {"A": ADD})
BACK: Final = ({"B": "C"}, {"C": "D"}, {"D": "B"})


def changes(table: str, at: datetime, *each: dict[str, str]) -> list[Statement]:
    """Statements that change columns, one after the other within a second."""
    times = [at + timedelta(milliseconds=number) for number in range(len(each))]
    return [Statement("columns", table, time, columns=columns) for time, columns in zip(times, each, strict=True)]


def _made_of(rng: Random, alive: set[str]) -> tuple[Mapping, tuple[str, ...]]:
    tables = [*SOURCES, TARGETS[0], *sorted(alive) * 3]
    reads = tuple(sorted({rng.choice(tables) for _ in range(rng.randint(1, 2))}))
    every = [(table, column) for table in reads for column in COLUMNS]
    return {column: rng.sample(every, rng.randint(0, 2)) for column in COLUMNS}, reads


# --- the rows ---------------------------------------------------------------------------------------------------------


class Rows:
    """The rows of a load, and the lines of QUERY_HISTORY of what creates temporary tables."""

    def __init__(self, load: list[Statement]) -> None:
        self._ids: dict[str, int] = {}
        self.rows: list[Json] = []
        self.lines: list[Json] = []
        for number, one in enumerate(load):
            self._add(f"q{number:03}", one)

    def _id(self, name: str, *, new: bool = False) -> int:
        if new or name not in self._ids:
            self._ids[name] = 1000 + sum(1 for _ in self.rows) * 10 + len(self._ids)
        return self._ids[name]

    def _add(self, query_id: str, one: Statement) -> None:
        read = [self._thing(table, [{"columnName": column} for column in COLUMNS]) for table in one.reads]
        new = one.does == "create"
        written = {"objectDomain": "Table", "objectId": self._id(one.table, new=new), "objectName": named(one.table)}
        row: Json = {
            "query_id": query_id,
            "query_start_time": one.at.isoformat(),
            "user_name": "LOADER",
            "direct_objects_accessed": read,
            "base_objects_accessed": read,
            "objects_modified": [],
        }
        if one.made_of:
            columns = [self._column(column, one.made_of[column]) for column in COLUMNS]
            row["objects_modified"] = [{**written, "columns": columns}]
        elif one.does == "cut":
            row["objects_modified"] = [{**written, "columns": []}]
        if one.does in {"create", "drop"}:
            row["object_modified_by_ddl"] = {**written, "operationType": one.does.upper(), "properties": {}}
        if one.columns:
            columns = {name: _change(done) for name, done in one.columns.items()}
            change = {**written, "operationType": "ALTER", "properties": {"columns": columns}}
            row["object_modified_by_ddl"] = change
        if one.does in {"swap", "rename"}:
            self._moved(row, one)
        else:
            self.rows.append(row)
        if named(one.table) == TEMPORARY and new:
            text = "/* of dbt */ create or replace temporary table SCRATCH as select 1"
            line = {"query_id": query_id, "query_text": text, "end_time": one.at.isoformat()}
            self.lines.append({**line, "session_id": session_of(one.table)} if session_of(one.table) else line)

    def _moved(self, row: Json, one: Statement) -> None:
        mine, theirs = self._id(one.table), self._id(one.to)
        if one.does == "rename":
            change = {"objectDomain": "Table", "objectId": mine, "objectName": named(one.table)}
            change["operationType"] = "ALTER"
            properties = {"objectName": {"value": one.to}}
            self.rows.append({**row, "object_modified_by_ddl": {**change, "properties": properties}})
            self._ids[one.to] = self._ids.pop(one.table)
            return
        for name, number, other, its in (
            (named(one.table), mine, one.to, theirs),
            (one.to, theirs, named(one.table), mine),
        ):
            change = {"objectDomain": "Table", "objectId": number, "objectName": name, "operationType": "ALTER"}
            given = {"swapTargetDomain": "Table", "swapTargetId": its, "swapTargetName": other}
            properties = {key: {"value": value} for key, value in given.items()}
            self.rows.append({**row, "object_modified_by_ddl": {**change, "properties": properties}})
        self._ids[one.to], self._ids[one.table] = mine, theirs

    def _thing(self, name: str, columns: list[Json]) -> Json:
        return {"objectDomain": "Table", "objectId": self._id(name), "objectName": named(name), "columns": columns}

    def _column(self, column: str, sources: list[Column]) -> Json:
        every = [
            {"objectDomain": "Table", "objectId": self._id(table), "objectName": named(table), "columnName": of}
            for table, of in sources
        ]
        return {"columnName": column, "directSources": every, "baseSources": every}


def _change(done: str) -> Json:
    """What the properties of a change have for a column."""
    if done in {DROP, ADD}:
        return {"subOperationType": done.upper(), "objectId": {"value": 0}}
    return {"objectName": {"value": done}, "subOperationType": "ALTER", "objectId": {"value": 0}}


# --- what events have to show -----------------------------------------------------------------------------------------


@dataclass
class Held:
    """What a helper holds: the sources of its columns, and the tables that it was filled from."""

    columns: dict[str, set[Column]] = field(default_factory=lambda: defaultdict(set))
    tables: set[str] = field(default_factory=set)
    is_plain: bool = False
    is_filled: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether it is an ordinary dataset where it is read: rows do not show what filled it."""
        return self.is_plain or not self.is_filled


def shown(load: list[Statement]) -> list[Shown]:
    """What the event of each statement has to show."""
    held: dict[str, Held | None] = {}
    return [_without_sessions(_shown(one, held, unclear)) for one, unclear in zip(load, _unclear(load), strict=True)]


def _unclear(load: list[Statement]) -> list[set[str]]:
    """The tables, at each statement, into which a row without columns writes on that day; another CREATE makes another
    table.
    """
    numbers, objects = Counter[str](), list[dict[str, tuple[str, int, date]]]()
    for one in load:
        numbers[one.table] += one.does == "create"
        objects.append({table: (table, numbers[table], one.at.date()) for table in (one.table, *one.reads)})
    cut = {each[one.table] for one, each in zip(load, objects, strict=True) if one.does == "cut"}
    return [{table for table, which in each.items() if which in cut} for each in objects]


def _without_sessions(shown: Shown) -> Shown:
    helpers: dict[str, set[str]] = defaultdict(set)
    for table, uses in shown.helpers.items():
        helpers[named(table)] |= uses
    edges = {(named(source), field, named(target), column) for source, field, target, column in shown.edges}
    return Shown(set(map(named, shown.inputs)), set(map(named, shown.outputs)), edges, helpers)


def _shown(one: Statement, held: dict[str, Held | None], unclear: set[str]) -> Shown:
    found, brought = Shown(), _brought(one, held, unclear)
    is_unclear, changes = one.table in unclear, {"create", "drop", "columns"}
    for table in one.reads:
        helper = held.get(table)
        if helper is not None and (helper.tables or not (helper.is_shown or table in unclear)):
            found.helpers[table].add("READ")
    found.inputs = set(brought.tables)
    if one.does == "create":
        held[one.table] = Held(is_plain=is_unclear)
    helper = held.get(one.table)
    if helper is not None and one.columns:
        before = {column: helper.columns.pop(column, set()) for column in one.columns}
        helper.columns |= {new: before[name] for name, new in one.columns.items() if new not in {DROP, ADD}}
    if one.does in {"swap", "rename"}:
        _move(one, helper, found)
        held[one.table] = Held(is_plain=bool(helper and helper.is_plain)) if one.does == "swap" else None
        return found
    if one.does == "drop":
        held[one.table] = None
    if helper is None or helper.is_plain or (is_unclear and one.does in {"insert", "cut"}):
        found.outputs.add(one.table)
        found.edges = {(*source, one.table, column) for column, each in brought.columns.items() for source in each}
        if helper is not None and is_unclear:
            helper.is_plain = True
        return found
    found.helpers[one.table].update({"DDL"} if one.does in changes else set(), {"WRITE"} if one.made_of else ())
    for column, each in brought.columns.items():
        helper.columns[column] |= each
    helper.tables |= brought.tables if one.made_of else set()
    helper.is_filled |= bool(one.made_of)
    return found


def _brought(one: Statement, held: dict[str, Held | None], unclear: set[str]) -> Held:
    """What the statement reads, with what helpers hold in their places."""
    brought = Held()
    for table in one.reads:
        helper = held.get(table)
        if helper is None or helper.is_shown or table in unclear:
            brought.tables.add(table)
        brought.tables |= helper.tables if helper is not None else set()
    for column, sources in one.made_of.items():
        brought.columns[column] = set()
        for table, of in sources:
            helper = held.get(table)
            if helper is None or helper.is_shown or table in unclear:
                brought.columns[column].add((table, of))
            brought.columns[column] |= helper.columns[of] if helper is not None else set()
    return brought


def _move(one: Statement, helper: Held | None, found: Shown) -> None:
    found.outputs.add(one.to)
    if helper is None or helper.is_plain:
        found.outputs.add(one.table)
    else:
        found.helpers[one.table].add("DDL")
    if helper is not None:
        found.inputs |= helper.tables
        found.edges = {(*source, one.to, column) for column, each in helper.columns.items() for source in each}
