"""Rows that cannot be read, as lines of NDJSON, each with words that the reason of its quarantine must contain."""

from __future__ import annotations

import json
from typing import Any, Final

GOOD: Final[dict[str, Any]] = {
    "query_id": "01ad7987-0606-6e2c-0001-dd20f12a9777",
    "query_start_time": "2026-03-01 08:00:00.000 +0000",
    "user_name": "JSMITH",
    "direct_objects_accessed": [{"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T"}],
    "base_objects_accessed": [],
    "objects_modified": [],
    "object_modified_by_ddl": None,
    "policies_referenced": [],
    "parent_query_id": None,
    "root_query_id": None,
}
ARRAYS: Final = ("direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced")


def _but(**columns: Any) -> str:
    """The good row, but with these columns."""
    return json.dumps({**GOOD, **columns})


def _without(column: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != column})


BAD_ROWS: Final[list[tuple[str, str]]] = [
    ("this is no JSON", "JSON"),
    (_but()[:-30], "JSON"),
    ('{"query_id": "1", "query_start_time": undefined, "user_name": "U"}', "query_start_time"),
    ("[1, 2]", "JSON"),
    ('"a text"', "JSON"),
    *((_without(column), column) for column in ("query_id", "query_start_time", "user_name")),
    *((_but(**{column: None}), column) for column in ("query_id", "query_start_time", "user_name")),
    *((_but(**{column: ""}), column) for column in ("query_id", "query_start_time", "user_name")),
    *((_but(query_start_time=text), "query_start_time") for text in ("yesterday", "2026-02-30 08:00:00 +0000")),
    *((_but(query_start_time=text), "query_start_time") for text in ("2026-03-01 25:00:00", "01/03/2026 8 o'clock")),
    *((_but(**{column: "all of them"}), column) for column in ARRAYS),
    *((_but(**{column: '[{"objectName": '}), column) for column in ARRAYS),
    *((_but(**{column: {"objectName": "D.S.T"}}), column) for column in ARRAYS),
    *((_but(**{column: '{"objectName": "D.S.T"}'}), column) for column in ARRAYS),
    *((_but(**{column: 7}), column) for column in ARRAYS),
    (_but(object_modified_by_ddl="CREATE TABLE T"), "object_modified_by_ddl"),
    (_but(object_modified_by_ddl=[{"operationType": "CREATE"}]), "object_modified_by_ddl"),
    (_but(agents_info="none"), "agents_info"),
    (_but(USER_NAME="ANN"), "several columns user_name"),
    (_but(Objects_Modified=[{"objectName": "D.S.T"}]), "several columns objects_modified"),
    (_but(QUERY_ID="q", **{" query_id": None}), "several columns query_id"),
]
"""(line, words expected in the reason)"""

BAD_NESTED_ROWS: Final[list[tuple[str, str]]] = [
    (_but(direct_objects_accessed=["D.S.T"]), "direct_objects_accessed"),
    (_but(base_objects_accessed=[[]]), "base_objects_accessed"),
    (_but(direct_objects_accessed=[{"objectName": "T", "columns": "A, B"}]), "direct_objects_accessed"),
    (_but(objects_modified=[{"objectName": "T", "columns": {"columnName": "A"}}]), "objects_modified"),
    (
        _but(
            objects_modified=[
                {"objectName": "T", "columns": [{"columnName": "A", "directSources": {"columnName": "B"}}]}
            ]
        ),
        "objects_modified",
    ),
]
"""The same, one level deeper: what a JSON reader with a schema turns into NULL without a word."""
