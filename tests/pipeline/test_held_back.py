"""Queries that the shapes refuse are in neither output: they are quarantined by shape and line, and counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

TABLE = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.T", "columns": [{"columnName": "A"}]}
COPY = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.COPY", "columns": [{"columnName": "A"}]}


def row(query_id: str, at: str, **columns: Any) -> dict[str, Any]:
    return {
        **GOOD,
        "direct_objects_accessed": [],
        "query_id": query_id,
        "query_start_time": f"2026-03-01 {at} +0000",
        **columns,
    }


ROWS = [
    row("before", "08:00:00", objects_modified=[TABLE]),
    row("own-parent", "08:01:00", objects_modified=[TABLE], parent_query_id="own-parent"),
    row("own-parent", "08:01:00", objects_modified=[COPY], parent_query_id="own-parent"),
    row("own-root", "08:02:00", objects_modified=[TABLE], parent_query_id="own-root"),
    row("child", "08:03:00", direct_objects_accessed=[TABLE], parent_query_id="own-parent", root_query_id="own-root"),
    row("child", "08:03:00", direct_objects_accessed=[TABLE], parent_query_id="own-parent", root_query_id="own-root"),
    row("two-users", "08:04:00", user_name="ONE", direct_objects_accessed=[TABLE]),
    row("two-users", "08:04:00", user_name="TWO", direct_objects_accessed=[COPY]),
]
HISTORY = [
    {"query_id": "before", "end_time": "2026-03-01 08:00:30 +0000", "role_name": "LOADER", "rows_inserted": 3},
    {"query_id": "own-root", "end_time": "2026-03-01 08:02:59 +0000"},
    {"query_id": "of-no-row", "end_time": "2026-03-01 08:01:59 +0000"},
]
QUARANTINED = {"own-parent", "own-root", "two-users"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held")
    exports.ndjson(ROWS, folder / "rows.ndjson")
    exports.ndjson(HISTORY, folder / "history.ndjson")
    told = ("--query-history", str(folder / "history.ndjson"), "--outputs", "events,graph,facts")
    assert exports.export([folder / "rows.ndjson"], folder / "out", *told) == 1
    return folder


def test_the_account_adds_up(folder: Path) -> None:
    report = exports.report(folder / "out")
    assert (report["rows_in"], report["exported"], report["duplicates"], report["quarantined"]) == (8, 2, 1, 5)
    assert report["violations"].keys() == {
        "https://w3id.org/access-history/shapes#QueryNotItsOwnParent",
    }


def test_the_rows_are_quarantined_unchanged_with_shape_and_line(folder: Path) -> None:
    lines = (folder / "rows.ndjson").read_text(encoding="utf-8").split("\n")
    aside = {one["line"]: one for one in exports.quarantine(folder / "out")}
    assert sorted(aside) == [2, 3, 4, 7, 8]
    assert all(lines[number - 1] == one["as_it_came"] for number, one in aside.items())
    assert "QueryNotItsOwnParent" in aside[2]["reason"]
    assert "QueryNotItsOwnParent" in aside[3]["reason"]
    assert "QueryNotItsOwnParent" in aside[4]["reason"]
    assert "user" in aside[7]["reason"]


def test_neither_output_has_them(folder: Path) -> None:
    out = folder / "out"
    assert {fact["query_id"] for fact in exports.facts(out, "queries")} == {"before", "child"}
    told = [json.loads(event)["run"]["facets"] for event in exports.events(out) if "run" in json.loads(event)]
    assert {facets["externalQuery"]["externalQueryId"] for facets in told} == {"before", "child"}
    subjects = {triple[0] for triple in exports.triples(out)}
    assert not [
        one for one in subjects for query_id in QUARANTINED if f"/version/{query_id}" in one or f"{query_id}/" in one
    ]


def test_what_stays_is_as_if_they_had_never_come(folder: Path) -> None:
    """The child's parent and root are queries without a row, and it read the version before theirs."""
    triples = exports.triples(folder / "out")
    own = "snowflake://ACME-PROD"
    rdf_type, ah = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "https://w3id.org/access-history#"
    for query_id in ("own-parent", "own-root"):
        assert (f"<{own}/query/{query_id}>", rdf_type, f"<{ah}UnrecordedQuery>") in triples
        assert (f"<{own}/query/{query_id}>", rdf_type, f"<{ah}Query>") not in triples
    used = {triple[2] for triple in triples if triple[1] == "<http://www.w3.org/ns/prov#used>"}
    assert used == {f"<{own}/table/1/version/before>"}


def test_the_report_is_of_shacl_and_names_the_queries(folder: Path) -> None:
    report = (folder / "out" / "shacl-report.ttl").read_text(encoding="utf-8")
    assert "sh:conforms false" in report
    for query_id in ("own-parent", "own-root"):
        assert f"/query/{query_id}>" in report


def test_query_history_is_counted(folder: Path) -> None:
    facts = {fact["query_id"]: fact for fact in exports.facts(folder / "out", "queries")}
    assert facts["before"]["role_name"] == "LOADER"
    assert facts["before"]["rows_inserted"] == 3
    assert facts["before"]["end_time"].isoformat()[:19] == "2026-03-01T08:00:30"
    assert facts["child"]["end_time"] is None
    assert exports.report(folder / "out")["query_history"] == {
        "rows_in": 3,
        "doubled": 0,
        "unreadable": 0,
        "unusable": 0,
        "contradicting": 0,
    }
