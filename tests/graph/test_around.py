"""Schemas and databases of objects, roles and warehouses of queries, in the graph of an export."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import NamedNode

from exporter.graph.store import load
from tests import exports
from tests.model.told import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories import Json

TABLE: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.T"}
MOVE: Final = {**TABLE, "operationType": "ALTER", "properties": {"objectName": {"value": 'D."new".T'}}}
SCHEMA: Final = {"objectDomain": "Schema", "objectId": 8, "objectName": "D.S", "operationType": "CREATE"}
ROWS: Final = [
    {**GOOD, "query_id": "q1", "object_modified_by_ddl": {**SCHEMA, "properties": {}}},
    {**GOOD, "query_id": "q2", "query_start_time": "2026-03-02 08:00:00.000 +0000", "direct_objects_accessed": [TABLE]},
    {**GOOD, "query_id": "q3", "query_start_time": "2026-03-03 08:00:00.000 +0000", "object_modified_by_ddl": MOVE},
]
LINES: Final = [
    {"query_id": "q2", "role_name": "ANALYST", "role_type": "ROLE", "warehouse_name": "WH"},
    {"query_id": "q3", "role_name": "ANALYST", "warehouse_name": "w h"},
]
LINKS: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX dcterms: <http://purl.org/dc/terms/>
SELECT ?one ?link ?other WHERE { ?one ?link ?other . ?other a ?class . ?one a ah:SnowflakeObject .
  VALUES ?link { dcterms:isPartOf ah:sameNameAs } FILTER(?class = ah:SnowflakeObject) }"""
RUNS: Final = """PREFIX ah: <https://w3id.org/access-history#>
SELECT ?id ?role ?warehouse WHERE { ?query ah:queryId ?id ; ah:role ?r ; ah:warehouse ?w .
  ?r a ah:Role ; ah:matchName ?role . ?w a ah:Warehouse ; ah:matchName ?warehouse } ORDER BY ?id"""
BASE: Final = "snowflake://ACME-PROD/"


@pytest.fixture(params=["at once", "day by day"])
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    lines = tmp_path / "lines.ndjson"
    lines.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    parts: list[list[Json]] = [ROWS] if request.param == "at once" else [[ROWS[2]], [ROWS[0]], [ROWS[1]]]
    for part in parts:
        given = ["--query-history", str(lines), *(["--update"] if len(parts) > 1 else [])]
        assert exports.export([exports.ndjson(part, tmp_path / "rows.ndjson")], tmp_path / "out", *given) == 0
    return tmp_path / "out"


def test_an_object_is_part_of_the_schema_of_its_last_name(out: Path) -> None:
    found = {
        (one["one"].value.removeprefix(BASE), one["link"].value.rsplit("/")[-1], one["other"].value.removeprefix(BASE))  # type: ignore[index]  # pyoxigraph types results wider
        for one in load(out).query(LINKS)  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    }
    assert found == {
        ("table/5", "isPartOf", "schema/name/D.%22new%22"),
        ("schema/name/D.%22new%22", "isPartOf", "database/name/D"),
        ("schema/name/D.S", "isPartOf", "database/name/D"),
        ("schema/8", "isPartOf", "database/name/D"),
        ("schema/name/D.S", "access-history#sameNameAs", "schema/8"),
    }


def test_a_query_ran_as_a_role_on_a_warehouse(out: Path) -> None:
    found = [tuple(one[name].value for name in ("id", "role", "warehouse")) for one in load(out).query(RUNS)]  # type: ignore[union-attr, index]
    assert found == [("q2", "ANALYST", "WH"), ("q3", "ANALYST", '"w h"')]


def test_a_place_is_no_name_of_an_object_in_a_schema(tmp_path: Path) -> None:
    """Its label is then the place, whose parts are no schema and database."""
    place = {"objectDomain": "Schema", "objectId": 3, "location": "s3://b/a.csv"}
    rows = exports.ndjson([{**GOOD, "direct_objects_accessed": [place]}], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out") == 0
    of = [one for one in exports.triples(tmp_path / "out") if one[0].endswith("/schema/3>")]
    assert any("label" in term and "s3://b/a.csv" in value for _, term, value in of)
    assert not any("isPartOf" in term for _, term, _ in of)


def test_there_are_no_dangling_references(out: Path) -> None:
    graph = load(out)
    told = {quad.subject for quad in graph}
    ours = {quad.object for quad in graph if isinstance(quad.object, NamedNode) and quad.object.value.startswith(BASE)}
    assert ours <= told
