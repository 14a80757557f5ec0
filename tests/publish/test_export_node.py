"""``export.ttl``: the export as provenance of its graph."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyoxigraph import RdfFormat, parse

from exporter.cli import main
from exporter.graph.store import load
from exporter.version import MODEL, __version__
from tests import exports
from tests.model.told import GOOD

if TYPE_CHECKING:
    from pathlib import Path

ROWS: Final = [
    {**GOOD, "query_id": f"q{day}", "query_start_time": f"2026-03-0{day} 08:00:00.250 +0000"} for day in (3, 1, 2)
]
QUESTION: Final = """PREFIX ah: <https://w3id.org/access-history#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT * WHERE { ?export a ah:Export, prov:Entity ; prov:generatedAtTime ?at ; ah:account/a ?class ;
  ah:firstQueryTime ?first ; ah:lastQueryTime ?last ; ah:exporterVersion ?version ; ah:modelVersion ?model }"""


def told(out: Path) -> dict[str, str]:
    (found,) = load(out).query(QUESTION)  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    return {name: found[name].value for name in ("export", "at", "first", "last", "version", "model")}  # type: ignore[index]  # pyoxigraph types results wider


def test_it_says_when_by_which_version_and_of_which_period(tmp_path: Path) -> None:
    assert exports.export([exports.ndjson(ROWS, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    said = told(tmp_path / "out")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["at"])
    assert said["export"] == f"snowflake://ACME-PROD/export/{said['at'].replace(':', '%3A')}"
    assert (said["first"], said["last"]) == ("2026-03-01T08:00:00.25Z", "2026-03-03T08:00:00.25Z")
    assert (said["version"], said["model"]) == (__version__, MODEL)
    assert main(["validate", str(tmp_path / "out" / "export.ttl")]) == 0
    assert not [quad for quad in parse(path=tmp_path / "out" / "graph" / "part-00000.ttl", format=RdfFormat.TURTLE)
                if "export/" in str(quad.subject)]  # fmt: skip


def test_after_an_update_it_is_of_all_that_dir_holds(tmp_path: Path) -> None:
    for row in ROWS:
        assert exports.export([exports.ndjson([row], tmp_path / "rows.ndjson")], tmp_path / "out", "--update") == 0
    said = told(tmp_path / "out")
    assert (said["first"], said["last"]) == ("2026-03-01T08:00:00.25Z", "2026-03-03T08:00:00.25Z")


def test_without_the_graph_there_is_none(tmp_path: Path) -> None:
    rows = exports.ndjson(ROWS, tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--outputs", "events") == 0
    assert not (tmp_path / "out" / "export.ttl").exists()
