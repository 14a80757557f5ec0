"""Pages of a graph with reads by day: the record ends with the last read, and what they lack is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exporter import export
from exporter.serve import server
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from pathlib import Path

TABLE = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.A", "columns": [{"columnName": "C"}]}
OLD = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.R", "columns": [{"columnName": "C"}]}


def row(query_id: str, day: str, user: str, read: dict[str, object], wrote: dict[str, object] | None) -> str:
    return json.dumps(
        {
            "query_id": query_id,
            "query_start_time": f"2026-{day} 08:00:00.000 +0000",
            "user_name": user,
            "direct_objects_accessed": [read],
            "base_objects_accessed": [read],
            "objects_modified": [wrote] if wrote else [],
        }
    )


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_the_record_of_the_pages_ends_with_the_last_read(tmp_path: Path, reads: str) -> None:
    """The first page counts its last week and fortnight from there."""
    rows = [row("w1", "06-01", "LOAD", OLD, TABLE), row("r1", "07-25", "BEN", TABLE, None)]
    rows.append(row("r2", "08-20", "NEW", TABLE, None))
    given = tmp_path / "rows.ndjson"
    given.write_text("\n".join(rows), encoding="utf-8")
    export(str(given), str(tmp_path / "out"), engine="local", account="ACME-TEST", reads=reads)
    with sited(tmp_path / "out") as site:
        client = server.make(site, "127.0.0.1").test_client()
        first, query = client.get("/").text.replace("<wbr>", ""), client.get("/query?id=r1").text
    assert "2026-08-20" in first
    assert "Queries from 2026-06-01 08:00:00 to 2026-08-20 08:00:00" in first
    assert "D.S.R" in first, "the table that nobody read in the last 14 days"
    is_told = "cannot be found by their ids"
    assert (is_told in first) == (is_told in query) == (reads == "daily")
