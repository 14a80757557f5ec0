"""Rows of a warehouse whose tables are made anew each night, for :mod:`benchmarks.questions`.

Each night a table is loaded from a stage, another one is created from it under the name of a build, masked and tagged,
and swapped in; what it replaces is dropped. So each name is that of many tables, one after the other, which notes on
answers look up. By day, users and an agent read the tables, through views and without columns, and copy them; one table
is granted to a share.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]
_START: Final = datetime(2026, 1, 1, 1, tzinfo=UTC)
_COLUMNS: Final = ("ID", "EMAIL", "AMOUNT")
_MASK: Final = {"policyName": "GOV.P.MASK", "policyId": 1, "policyKind": "MASKING_POLICY"}
_AGENT: Final = {"agentType": "CORTEX_AGENT", "agentId": "7", "agentName": "GOV.A.HELPER"}


def write(rows: int, file: Path, tables: int = 12) -> None:
    """So many rows, as NDJSON; some 130 of them a night with twelve tables."""
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(
            json.dumps({"query_id": f"q-{number}", **row}) + "\n"
            for number, row in enumerate(islice(_rows(tables), rows))
        )


def _thing(domain: str, number: int, name: str) -> Json:
    return {"objectDomain": domain, "objectId": number, "objectName": name}


def _with_columns(thing: Json) -> Json:
    return {**thing, "columns": [{"columnName": name} for name in _COLUMNS]}


def _rows(tables: int) -> Iterator[Json]:
    """Without end, in the order of time."""
    ids = count(10_000)
    present = [next(ids) for _ in range(tables)]
    for night in count():
        clock = (_START + timedelta(days=night, seconds=second) for second in count(0, 10))
        for table in range(tables):
            old, present[table] = present[table], next(ids)
            for row in _rebuilt(table, old, present[table]):
                yield {"query_start_time": next(clock).isoformat(), "parent_query_id": f"night-{night}", **row}
            for row in _used(table, present[table], night):
                yield {"query_start_time": next(clock).isoformat(), **row}


def _rebuilt(table: int, old: int, new: int) -> Iterator[Json]:
    name, source = f"DW.MART.T{table}", _thing("Table", 100 + table, f"RAW.CRM.S{table}")
    build, before = _thing("Table", new, f"{name}_NEW"), _thing("Table", old, name)
    filled = [{"columnName": one, "baseSources": [{**source, "columnName": one}]} for one in _COLUMNS]
    stage = _thing("Stage", 50, "RAW.CRM.FILES")
    loaded = {"direct_objects_accessed": [stage], "base_objects_accessed": [stage]}
    yield {"user_name": "DBT", **loaded, "objects_modified": [_with_columns(source)]}
    yield {
        **_read("DBT", source, source),
        "objects_modified": [{**build, "columns": filled}],
        "object_modified_by_ddl": {**build, "operationType": "CREATE", "properties": {}},
    }
    mask = {"GOV.P.MASK": {"objectId": {"value": 1}, "subOperationType": "ADD"}}
    tag = {"GOV.T.PII": {"objectId": {"value": 2}, "subOperationType": "ADD", "tagValue": {"value": "mail"}}}
    yield _altered(build, {"columns": {"EMAIL": {"maskingPolicies": mask, "tags": tag}}})
    target = {"Domain": "Table", "Id": old, "Name": name}
    other = {f"swapTarget{key}": {"value": value} for key, value in target.items()}
    yield _altered(build, other)
    yield _altered({**before, "objectName": f"{name}_NEW"}, {}, "DROP")


def _used(table: int, ident: int, night: int) -> Iterator[Json]:
    name = f"DW.MART.T{table}"
    mart, view = _thing("Table", ident, name), _thing("View", 200 + table, f"DW.BI.V{table}")
    copy = _thing("Table", 300 + table, f"LAB.X.C{table}")
    masked = [{**mart, "columns": [{"columnName": "EMAIL", "policies": [_MASK]}]}]
    yield {**_read("BI", view, mart), "policies_referenced": masked}
    yield {**_read(f"USER{night % 20}", mart, mart), "policies_referenced": masked if night % 7 else []}
    yield {**_read("BOT", view, mart), "agents_info": [_AGENT], "policies_referenced": masked}
    yield {"user_name": "SPARK", "direct_objects_accessed": [mart], "base_objects_accessed": [mart]}
    filled = [{"columnName": one, "baseSources": [{**mart, "columnName": one}]} for one in _COLUMNS]
    yield {**_read("LAB", mart, mart), "objects_modified": [{**copy, "columns": filled}]}
    yield _read("LAB", copy, copy)
    if table == 0:
        share = {"objectDomain": "Share", "objectName": "PARTNERS"}
        told = {"DOMAIN": "Table", "NAME": name, "ID": ident}
        granted = {"PRIVILEGES": ["SELECT"], **{f"SECURABLE_OBJECT_{key}": value for key, value in told.items()}}
        yield _altered(share, {"grant": {"value": granted}}, "GRANT")


def _read(user: str, direct: Json, base: Json) -> Json:
    return {
        "user_name": user,
        "direct_objects_accessed": [_with_columns(direct)],
        "base_objects_accessed": [_with_columns(base)],
    }


def _altered(thing: Json, properties: Json, operation: str = "ALTER") -> Json:
    return {
        "user_name": "DBT",
        "object_modified_by_ddl": {**thing, "operationType": operation, "properties": properties},
    }
