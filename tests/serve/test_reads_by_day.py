"""Pages of a graph with reads by day: the record ends with the last read, and what they lack is said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exporter import export
from exporter.serve import server
from tests.mcp.asked import asked
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


MASKED = {"columnName": "C", "policies": [{"policyName": "D.S.M", "policyId": 9, "policyKind": "MASKING_POLICY"}]}


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_a_query_of_one_table_counts_once_for_its_user(tmp_path: Path, reads: str) -> None:
    """EVE: a mask on one of two columns, which makes parts of a day. LEO: two queries of one table."""
    both = {**TABLE, "columns": [{"columnName": "C"}, {"columnName": "E"}]}
    masked = {"policies_referenced": [{**TABLE, "columns": [MASKED]}]}
    other = {**TABLE, "columns": [{"columnName": "E"}]}
    rows = [
        row("w1", "06-01", "LOAD", OLD, TABLE),
        json.dumps({**json.loads(row("r1", "06-02", "EVE", both, None)), **masked}),
    ]
    rows += [row("r2", "06-02", "LEO", TABLE, None), row("r3", "06-02", "LEO", other, None).replace("08:00", "09:00")]
    given = tmp_path / "rows.ndjson"
    given.write_text("\n".join(rows), encoding="utf-8")
    export(str(given), str(tmp_path / "out"), engine="local", account="ACME-TEST", reads=reads)
    expected = {"EVE": ("1", "2026-06-02T08:00:00Z"), "LEO": ("2", "2026-06-02T09:00:00Z")}
    time = {"since": "2026-06-02T00:00:00Z", "until": "2026-06-03T00:00:00Z"}
    with sited(tmp_path / "out") as site:
        users, readers = site.ask("page-users"), site.ask("page-top-readers", time)
        counted = {one["user_name"]: (one["queries"], one["last"]) for one in users.dicts()}
        assert {name: counted[name] for name in expected} == expected
        assert {one["user_name"]: (one["queries"], one["last_read"]) for one in readers.dicts()} == expected
        page = server.make(site, "127.0.0.1").test_client().get("/user?name=EVE").text
    assert "1 quer" in page
    is_told = "one that read several objects counts once for each"
    said = [is_told in " ".join(answer.notes) for answer in (users, readers)]
    assert {*said, is_told in page} == {reads == "daily"}


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_none_and_unknown_do_not_look_alike(tmp_path: Path, reads: str) -> None:
    """A note that all answers of such a graph have is no reason for an empty one."""
    rows = [row("w1", "06-01", "LOAD", OLD, TABLE), row("r1", "06-02", "BEN", TABLE, None)]
    given = tmp_path / "rows.ndjson"
    given.write_text("\n".join(rows), encoding="utf-8")
    export(str(given), str(tmp_path / "out"), engine="local", account="ACME-TEST", reads=reads)
    with sited(tmp_path / "out") as site:
        page = server.make(site, "127.0.0.1").test_client().get(f"/object?name={TABLE['objectName']}").text
    none = "No row from 2026-06-01 to 2026-06-02 shows that its data went anywhere."
    note = "end-up leaves out queries that only read"
    assert page.count(none) == 2, "at the beginning, and in its part"
    assert (note in page) == (reads == "daily")
    with asked(tmp_path / "out") as tools:
        told = tools.notes("end-up", object_name=str(TABLE["objectName"]))
    assert sum("has what this question asks for" in one for one in told) == 1
    assert any(note in one for one in told) == (reads == "daily")
