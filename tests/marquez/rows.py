"""The lineage of rows, read in plain Python: exactly what Marquez must show.

Datasets are named as in docs/openlineage.md; jobs are found through the runs of their queries, so no name of a job is
needed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid5

from tests.facts import plain_reading as plain
from tests.openlineage.plain_reading import DATASETS, OPERATIONS, ROUTINES, dataset, qualified

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

Json = dict[str, Any]
Name = tuple[str, str]
Query = tuple[str, str]
ColumnEdge = tuple[Name, str, Name, str]
RUN_NAMESPACE: Final = UUID("303cd5b2-8b07-52f5-b4b1-903f3a349c94")
"""UUIDv5 of ``https://w3id.org/access-history/run``, which all run ids are made in."""


@dataclass
class Statement:
    """What the rows of one query say."""

    at: datetime
    parent: Query | None = None
    inputs: set[Name] = field(default_factory=set)
    outputs: set[Name] = field(default_factory=set)
    columns: set[ColumnEdge] = field(default_factory=set)
    dropped: set[Name] = field(default_factory=set)
    previous: dict[Name, Name] = field(default_factory=dict)


@dataclass
class Lineage:
    """All statements, and the columns known of each dataset."""

    statements: dict[Query, Statement] = field(default_factory=dict)
    fields: dict[Name, set[str]] = field(default_factory=lambda: defaultdict(set))

    def in_order(self) -> list[tuple[Query, Statement]]:
        return sorted(self.statements.items(), key=lambda item: item[1].at)

    def dropped(self) -> set[Name]:
        """The datasets whose last mention is that they were dropped."""
        gone: dict[Name, bool] = {}
        for _, statement in self.in_order():
            gone |= dict.fromkeys(statement.inputs | statement.outputs, False) | dict.fromkeys(statement.dropped, True)
        return {name for name, is_gone in gone.items() if is_gone}


def run_id(query: Query) -> str:
    """The UUIDv5 of ``ACCOUNT/QUERY_ID``."""
    return str(uuid5(RUN_NAMESPACE, "/".join(query)))


def read(rows: Iterable[Json], account: str) -> Lineage:
    """``account``: of rows that do not name their own."""
    lineage, known = Lineage(), _Known()
    for row in rows:
        owner = f"{row['organization_name']}-{row['account_name']}" if row.get("account_name") else account
        query, at = (owner, row["query_id"]), plain.time(row["query_start_time"])
        statement = lineage.statements.setdefault(query, Statement(at))
        statement.at = min(statement.at, at)
        parent = row.get("parent_query_id")
        if parent and parent != row["query_id"]:
            statement.parent = (owner, parent)
        _accesses(row, owner, statement, known)
        _writes(row, owner, statement, known)
        _change(row.get("object_modified_by_ddl"), owner, statement, known)
        _policies(row, owner, known)
    for key, names in known.names.items():
        for name in names:
            lineage.fields[name] |= known.columns[key]
    for statement in lineage.statements.values():
        for name in statement.inputs | statement.outputs:
            lineage.fields[name]
    return lineage


# --- what a row says --------------------------------------------------------------------------------------------------


@dataclass
class _Known:
    """Of each object (account and key): the datasets that it is, and its columns."""

    names: dict[Name, set[Name]] = field(default_factory=lambda: defaultdict(set))
    columns: dict[Name, set[str]] = field(default_factory=lambda: defaultdict(set))

    def see(self, owner: str, key: str, fact: Json, columns: Iterable[str]) -> Name:
        """The dataset that an object is in this row."""
        name = dataset(fact)
        self.names[owner, key].add(name)
        self.columns[owner, key].update(columns)
        return name


def _fact(owner: str, key: str, thing: Json) -> Json:
    """An object as :func:`dataset` takes it."""
    given = thing.get("objectId")
    name = plain.said(thing.get("objectName")) or (None if plain.number(given) else plain.said(_as_name(given)))
    told = {"object_name": name, "location": plain.said(thing.get("location")), "object_key": key}
    return {"account": owner, "kind": plain.kind(thing), "object_account": plain.said(thing.get("accountName")), **told}


def _as_name(given: Any) -> Any:
    return given if any(not (one.isdigit() or one in ".-") for one in str(given or "")) else None


def _column_names(thing: Json) -> set[str]:
    return {name for name, _ in plain.columns(thing)}


def _things(owner: str, things: Iterable[Json] | None) -> Iterator[tuple[str, Json, Json]]:
    for key, thing in plain.named(things):
        yield key, thing, _fact(owner, key, thing)


def _accesses(row: Json, owner: str, statement: Statement, known: _Known) -> None:
    for array in plain.READS.values():
        for key, thing, fact in _things(owner, row.get(array)):
            if fact["kind"] not in ROUTINES:
                statement.inputs.add(known.see(owner, key, fact, _column_names(thing)))
            for join in thing.get("joinObjects") or []:
                for other, partner, told in _things(owner, [join.get("joinObject") or join.get("node") or {}]):
                    if told["kind"] in DATASETS:
                        known.see(owner, other, told, _column_names(partner))


def _writes(row: Json, owner: str, statement: Statement, known: _Known) -> None:
    for key, thing, fact in _things(owner, row.get("objects_modified")):
        target = known.see(owner, key, fact, _column_names(thing))
        statement.outputs.add(target)
        for column in thing.get("columns") or []:
            if (made := plain.said(column.get("columnName"))) is not None:
                _sources(column, owner, statement, known, (target, made))


def _sources(column: Json, owner: str, statement: Statement, known: _Known, made: tuple[Name, str]) -> None:
    for spelling in (one for spellings in plain.SOURCES.values() for one in spellings):
        for source in column.get(spelling) or []:
            alone = {name: value for name, value in source.items() if name != "location"}
            name, key = plain.said(source.get("columnName")), plain.key(alone)
            if key and name and plain.kind(alone) not in ROUTINES:
                origin = known.see(owner, key, _fact(owner, key, alone), [name])
                statement.inputs.add(origin)
                statement.columns.add((origin, name, *made))


def _change(change: Json | None, owner: str, statement: Statement, known: _Known) -> None:
    key = plain.key(change) if change else None
    if not change or not key or plain.kind(change) not in DATASETS:
        return
    fact, told = _fact(owner, key, change), change.get("properties") or {}
    below = told.get("columns")
    old = known.see(owner, key, fact, below if isinstance(below, dict) else [])
    operation = (change.get("operationType") or "").upper()
    if operation not in OPERATIONS:
        return
    statement.outputs.add(old)
    given = (told.get("objectName") or {}).get("value")
    if given:
        new = known.see(owner, key, {**fact, "object_name": qualified(given, fact["object_name"])}, [])
        statement.outputs.add(new)
        statement.previous[new] = old
    if given or operation == "DROP":
        statement.dropped.add(old)


def _policies(row: Json, owner: str, known: _Known) -> None:
    """Objects under a policy have events of their own, also where no query reads them by that name."""
    for array in plain.POLICIES:
        for key, thing, fact in _things(owner, row.get(array)):
            protected = {name for name in _protected_columns(thing) if name}
            if fact["kind"] in DATASETS and (protected or thing.get("policies")):
                known.see(owner, key, fact, protected)


def _protected_columns(thing: Json) -> Iterator[str | None]:
    yield from (plain.said(one.get("columnName")) for one in thing.get("columns") or [] if one.get("policies"))
