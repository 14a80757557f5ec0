"""The event of a dataset with new columns repeats the last change of the dataset on earlier days."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
SPACE: Final = f"snowflake://{exports.ACCOUNT}"
COLUMN: Final = {"A": {"objectId": {"value": 7}, "subOperationType": "ADD"}}


def row(query: str, day: int, hour: int = 0, **told: Any) -> Json:
    start = f"2026-03-0{day}T{hour:02d}:00:00Z"
    return {"query_id": query, "query_start_time": start, "user_name": "U", **told}


def table(name: str, *columns: str) -> Json:
    told = {"objectDomain": "Table", "objectId": 1, "objectName": f"DB.S.{name}"}
    return {**told, "columns": [{"columnName": one} for one in columns]} if columns else told


def change(query: str, operation: str, hour: int = 0, name: str = "T", **properties: Any) -> Json:
    told = {**table(name), "operationType": operation, "properties": properties}
    return row(query, 1, hour, object_modified_by_ddl=told)


CREATED: Final = change("q1", "CREATE", columns=COLUMN)
RENAMED: Final = change("q2", "ALTER", 1, objectName={"value": "DB.S.NEW"})
WRITTEN: Final = row("q3", 1, 2, objects_modified=[table("NEW", "A")])
PREVIOUS: Final = {"previousIdentifier": {"namespace": SPACE, "name": "DB.S.T"}}


@pytest.mark.parametrize(
    ("first", "name", "expected"),
    [
        ([CREATED], "T", {"lifecycleStateChange": "CREATE"}),
        ([CREATED, RENAMED], "NEW", {"lifecycleStateChange": "RENAME", **PREVIOUS}),
        ([CREATED, RENAMED, WRITTEN], "NEW", None),
        ([CREATED, change("q4", "DROP", 3)], "T", {"lifecycleStateChange": "DROP"}),
    ],
    ids=["created", "renamed", "renamed and written", "dropped"],
)
def test_the_last_change_is_repeated(first: list[Json], name: str, expected: Json | None, tmp_path: Path) -> None:
    """A read on the next day shows a column more."""
    read = row("q9", 2, base_objects_accessed=[table(name, "A", "B")], direct_objects_accessed=[table(name, "A", "B")])
    for rows in (first[::-1], [read]):
        given = exports.ndjson(rows, tmp_path / "rows.ndjson")
        assert exports.export([given], tmp_path / "out", "--update", "--outputs", "events") == 0
    files = (tmp_path / "out" / "events" / "day=2026-03-02").glob("*.ndjson")
    told = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    (event,) = [one["dataset"] for one in told if one.get("dataset", {}).get("name") == f"DB.S.{name}"]
    facets = event["facets"]
    assert [one["name"] for one in facets["schema"]["fields"]] == ["A", "B"]
    found = facets.get("lifecycleStateChange")
    assert (found and {key: one for key, one in found.items() if key[0] != "_"}) == expected
