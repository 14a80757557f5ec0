"""Statements as the account records them: one call, one row of ACCESS_HISTORY and one of QUERY_HISTORY.

The account keeps the names, tags and policies of the moment, so a read shows the policies that were then in force.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

from company import BASES, FUNCTIONS, GOVERNED, PEOPLE, PROCEDURES, STAGES, Relation, relations

Json = dict[str, Any]
Reads = Mapping[str, Iterable[str]]
Lineage = Mapping[str, Iterable[tuple[str, str]]]


def stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d} +0000"


class Account:
    """Rows and queries so far, and what is in force now."""

    def __init__(self) -> None:
        self.rows: list[Json] = []
        self.queries: list[Json] = []
        self.relations = relations()
        self.masks: dict[tuple[int | None, str], str] = {}
        self.tagged: dict[tuple[int | None, str], str] = {}
        self.filters: dict[int | None, str] = {}
        self.mask_of_tag: dict[str, str] = {}

    # --- what a row is made of ---------------------------------------------------------------------------------------

    def element(self, name: str, columns: Iterable[str] = ()) -> Json:
        """An object as an element of the arrays; ``name`` is any object's present name, or a location."""
        if "://" in name:
            return {"location": name}
        if name in STAGES:
            number, kind = STAGES[name]
            return {"objectDomain": "Stage", "objectId": number, "objectName": name, "stageKind": kind}
        if name in FUNCTIONS or name in PROCEDURES:
            return self._callable(name)
        relation = self.relations[name]
        shown = [{"columnId": relation.columns[column], "columnName": column} for column in columns]
        return {**({"columns": shown} if shown else {}), **self._identity(relation)}

    def _identity(self, relation: Relation) -> Json:
        number = {} if relation.object_id is None else {"objectId": relation.object_id}
        return {"objectDomain": relation.domain, **number, "objectName": relation.name}

    def _callable(self, name: str) -> Json:
        if name in PROCEDURES:
            signature, kind = PROCEDURES[name]
            return {"objectDomain": "PROCEDURE", "objectName": name, "argumentSignature": signature, "dataType": kind}
        number, signature, kind = FUNCTIONS[name]
        identity = {"objectDomain": "FUNCTION", "objectName": name, "objectId": str(number)}
        return {**identity, "argumentSignature": signature, "dataType": kind}

    def base(self, reads: Reads) -> dict[str, list[str]]:
        """What the reads come down to: the tables below views and streams."""
        below: dict[str, list[str]] = {}
        for name, columns in reads.items():
            for table, known in BASES.get(name, {name: tuple(columns)}).items():
                wanted = [column for column in columns if column in known]
                below[table] = list(dict.fromkeys([*below.get(table, []), *wanted]))
        return below

    def lineage(self, target: str, columns: Lineage) -> Json:
        """A write with its column lineage; ``columns`` maps a target column to (object, column) pairs."""
        element = self.element(target, columns)
        for written, sources in zip(element.get("columns", []), columns.values(), strict=False):
            direct = [self._source(name, column) for name, column in sources]
            base = [self._source(*below) for source in sources for below in self._below(*source)]
            written |= {"baseSources": base, "directSources": direct} if direct else {}
        return element

    def _below(self, name: str, column: str) -> list[tuple[str, str]]:
        return [(table, base) for table, bases in self.base({name: [column]}).items() for base in bases]

    def _source(self, name: str, column: str) -> Json:
        identity = self.element(name)
        return {"columnName": column, **identity} if column else identity

    def policies(self, reads: Reads) -> list[Json]:
        """The policies in force on the objects of a read, by object."""
        touched = {**{name: list(columns) for name, columns in reads.items()}, **self.base(reads)}
        found = [self._policies_on(self.relations[n], cols) for n, cols in touched.items() if n in self.relations]
        return [element for element in found if "columns" in element or "policies" in element]

    def _policies_on(self, relation: Relation, columns: Iterable[str]) -> Json:
        masked = [
            {"columnId": relation.columns[c], "columnName": c, "policies": [_policy(mask)]}
            for c in columns
            if (mask := self._mask(relation, c))
        ]
        row_filter = self.filters.get(relation.object_id)
        own = {"policies": [_policy(row_filter)]} if row_filter and relation.object_id else {}
        return {**({"columns": masked} if masked else {}), **self._identity(relation), **own}

    def _mask(self, relation: Relation, column: str) -> str | None:
        key = (relation.object_id, column)
        return self.masks.get(key) or self.mask_of_tag.get(self.tagged.get(key, ""))

    # --- statements --------------------------------------------------------------------------------------------------

    def run(self, at: datetime, user: str, kind: str, sql: str, *, seconds: float = 2.0, **columns: Any) -> str:
        """Record a statement; returns its query id. ``columns``: further columns of the row, or of QUERY_HISTORY."""
        query_id = self.log(
            at, user, kind, sql, seconds=seconds, **{k: columns.pop(k) for k in _HISTORY & columns.keys()}
        )
        row: Json = {"query_id": query_id, "query_start_time": stamp(at), "user_name": user}
        arrays = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
        row |= {name: [] for name in arrays} | {"object_modified_by_ddl": None, "policies_referenced": []}
        row |= {"parent_query_id": None, "root_query_id": None, "event_source": "snowflake_sql"}
        self.rows.append(deepcopy({**row, **columns}))
        return query_id

    def log(self, at: datetime, user: str, kind: str, sql: str, *, seconds: float = 2.0, **known: Any) -> str:
        """Record a query in QUERY_HISTORY alone; returns its id, which is made from its time."""
        same = sum(query["start_time"] == stamp(at) for query in self.queries)
        query_id = f"01bf{at:%m%d}-{at:%H%M}-6e2c-{at:%S}{same:02x}-dd20f12a9777"
        role, warehouse, schema = PEOPLE[user]
        database, _, schema = schema.partition(".")
        shape = hashlib.sha256(re.sub(r"'[^']*'|\d+", "?", f"{user} {kind} {sql}").encode()).hexdigest()[:32]
        size = "X-Small" if warehouse == "ADMIN_WH" else "Medium" if warehouse == "TRANSFORM_WH" else "Small"
        scanned = int(shape[:6], 16) * 100 if kind in ("SELECT", "INSERT", "MERGE") else 0
        query: Json = {"query_id": query_id, "query_text": sql, "query_type": kind, "query_tag": None}
        query |= {
            "query_parameterized_hash": shape,
            "session_id": str(1_900_000 + at.timetuple().tm_yday * 24 + at.hour),
        }
        query |= {
            "role_name": role,
            "role_type": "ROLE",
            "warehouse_name": warehouse,
            "warehouse_size": warehouse and size,
        }
        query |= {"database_name": database, "schema_name": schema, "start_time": stamp(at)}
        query |= {"end_time": stamp(at + timedelta(seconds=seconds)), "total_elapsed_time": int(seconds * 1000)}
        query |= {"execution_status": "SUCCESS", "bytes_scanned": scanned, "rows_produced": None}
        query |= {"rows_inserted": None, "rows_updated": None, "rows_deleted": None}
        self.queries.append({**query, **known})
        return query_id

    def read(self, at: datetime, user: str, reads: Reads, sql: str = "", *, join: str = "", **columns: Any) -> str:
        """SELECT; with ``join`` the first object is joined with the second."""
        direct = [self.element(name, shown) for name, shown in reads.items()]
        if join:
            partner = {k: v for k, v in direct[1].items() if k != "columns"}
            direct[0]["joinObjects"] = [{"joinType": join, "node": partner}]
        sql = sql or f"select {', '.join(c for shown in reads.values() for c in shown)} from {', '.join(reads)}".lower()
        base = [self.element(name, shown) for name, shown in self.base(reads).items()]
        accessed = {"direct_objects_accessed": direct, "base_objects_accessed": base}
        kept = {"rows_produced": 10 + len(sql), **accessed, "policies_referenced": self.policies(reads), **columns}
        return self.run(at, user, kept.pop("kind", "SELECT"), sql, **kept)

    def write(
        self, at: datetime, user: str, kind: str, targets: Mapping[str, Lineage], reads: Reads, sql: str, **columns: Any
    ) -> str:
        """INSERT, MERGE, CTAS, COPY: what was read, and the targets with the sources of their columns."""
        modified = [self.lineage(target, lineage) for target, lineage in targets.items()]
        return self.read(
            at, user, reads, sql, kind=kind, objects_modified=modified, **{"rows_inserted": 100, **columns}
        )

    def create_as(
        self, at: datetime, user: str, target: str, lineage: Lineage, reads: Reads, sql: str, **more: Any
    ) -> str:
        """CREATE TABLE ... AS SELECT (or CLONE): a write and a DDL change in one row."""
        ddl = self.change(target, "CREATE", {"columns": self.added(target, lineage)})
        kind = "CREATE_TABLE" if " clone " in sql else "CREATE_TABLE_AS_SELECT"
        return self.write(at, user, kind, {target: lineage}, reads, sql, object_modified_by_ddl=ddl, **more)

    def ddl(self, at: datetime, user: str, kind: str, change: Json, sql: str, **columns: Any) -> str:
        return self.run(at, user, kind, sql, seconds=0.3, object_modified_by_ddl=change, **columns)

    def change(self, name: str, operation: str, properties: Json, domain: str = "", number: int = 0) -> Json:
        """What DDL says of a relation, policy or tag, or of an object of another domain."""
        if name in self.relations:
            identity = self._identity(self.relations[name])
        else:
            domain, number = GOVERNED.get(name, (domain, number))
            identity = {"objectDomain": domain, "objectId": number, "objectName": name}
        return {**identity, "operationType": operation, "properties": properties}

    def added(self, name: str, columns: Iterable[str]) -> Json:
        ids = self.relations[name].columns
        return {column: {"objectId": {"value": ids[column]}, "subOperationType": "ADD"} for column in columns}

    def rename(self, old: str, new: str) -> None:
        self.relations[new] = self.relations.pop(old)
        self.relations[new].name = new

    def swap(self, one: str, other: str) -> None:
        first, second = self.relations[one], self.relations[other]
        first.name, second.name = other, one
        self.relations |= {one: second, other: first}


_HISTORY = {"query_tag", "rows_produced", "rows_inserted", "rows_updated", "rows_deleted", "execution_status"}


def _policy(name: str) -> Json:
    kind, number = GOVERNED[name]
    return {"policyName": name, "policyId": number, "policyKind": kind}


def set_or_unset(name: str, operation: str, value: str | None = None) -> Json:
    """One tag or policy as an element of a compound property."""
    said = {"subOperationType": operation, "objectId": {"value": GOVERNED[name][1]}}
    return {name: said if value is None else {**said, "tagValue": {"value": value}}}
