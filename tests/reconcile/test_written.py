"""The declared lineage as a graph: validated, beside the export, and joined with it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import pytest
from pyoxigraph import RdfFormat, Store, parse

from exporter.cli import main
from exporter.graph.store import load
from tests import exports
from tests.reconcile.small import compared

Capsys = pytest.CaptureFixture[str]
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
GIVEN: Final = tuple(str(EXAMPLES / "reconcile" / name) for name in ("manifest.json", "events.ndjson"))
_PREFIXES: Final = """PREFIX ah: <https://w3id.org/access-history#>
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
"""


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("month") / "out"
    rows = EXAMPLES / "company-month" / "access_history.ndjson"
    assert main(["export", str(rows), "--account", "ACME-RETAIL", "--engine", "local", "--out", str(out)]) == 0
    return out


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_file_conforms_and_the_export_is_as_it_was(month: Path, tmp_path: Path, capsys: Capsys) -> None:
    before = everything(month)
    found = compared(month, capsys, *GIVEN, "--out", tmp_path / "d.ttl")
    assert everything(month) == before
    assert main(["validate", str(tmp_path / "d.ttl")]) == 0
    assert main(["validate", str(tmp_path / "d.ttl"), "--by", "compiled"]) == 0
    triples = [quad.triple for quad in parse(path=str(tmp_path / "d.ttl"))]
    assert not [one for one in triples if "BlankNode" in type(one.subject).__name__ + type(one.object).__name__]
    store = load(tmp_path / "d.ttl")
    rows = store.query(
        f"{_PREFIXES} SELECT ?verdict (COUNT(?edge) AS ?n) WHERE {{ ?edge ah:verdict ?verdict }} GROUP BY ?verdict"
    )
    counts = {row["verdict"].value.lower(): int(row["n"].value) for row in rows}
    assert counts == {name: number for name, number in found["counts"].items() if name != "undeclared"}
    rows = store.query(
        f"{_PREFIXES} SELECT ?name ?digest WHERE {{ ?one a ah:Declaration ; rdfs:label ?name ; ah:digest ?digest }}"
    )
    assert {row["name"].value: row["digest"].value for row in rows} == {
        Path(one).name: f"sha256:{hashlib.sha256(Path(one).read_bytes()).hexdigest()}" for one in GIVEN
    }


def test_the_same_input_gives_the_same_file_and_the_named_graph_has_the_same_triples(
    month: Path, tmp_path: Path, capsys: Capsys
) -> None:
    for name in ("one.ttl", "two.ttl", "three.nq"):
        compared(month, capsys, *GIVEN, "--out", tmp_path / name)
    assert (tmp_path / "one.ttl").read_bytes() == (tmp_path / "two.ttl").read_bytes()
    quads = list(parse(path=str(tmp_path / "three.nq"), format=RdfFormat.N_QUADS))
    assert {quad.triple for quad in quads} == {quad.triple for quad in parse(path=str(tmp_path / "one.ttl"))}
    graphs = {str(quad.graph_name) for quad in quads}
    assert len(graphs) == 1
    assert "/declared/in/" in graphs.pop()


def test_a_path_of_prov_goes_from_a_spark_job_to_a_dashboard(month: Path, tmp_path: Path, capsys: Capsys) -> None:
    """Over S3, which only Spark and Airflow declare, and Snowflake, whose versions the rows give."""
    compared(month, capsys, *GIVEN, "--out", tmp_path / "d.ttl")
    store: Store = load(month)
    store.bulk_load(path=str(tmp_path / "d.ttl"), format=RdfFormat.TURTLE)
    path = "(prov:wasDerivedFrom|prov:alternateOf|^prov:alternateOf|prov:specializationOf|^prov:specializationOf)+"
    asked = f"""{_PREFIXES} SELECT DISTINCT ?job WHERE {{
      ?board rdfs:label "exposure.shop.revenue_dashboard" ; {path} ?made .
      ?made prov:wasAttributedTo/rdfs:label ?job . FILTER(STRSTARTS(?job, "spark")) }}"""
    assert [row["job"].value for row in store.query(asked)] == ["spark/orders_export"]
    own = asked.replace(path, "(prov:wasDerivedFrom)+")
    assert [row["job"].value for row in store.query(own)] == ["spark/orders_export"], "by what is declared alone"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("out/d.ttl", "which is not changed"),
        ("d.json", "has to end in .ttl or .nq"),
        ("none/d.ttl", "its folder does not exist"),
    ],
)
def test_where_it_cannot_be_written(name: str, words: str, month: Path, capsys: Capsys) -> None:
    assert main(["reconcile", str(month), *GIVEN, "--out", str(month.parent / name)]) == 2
    assert words in capsys.readouterr().err


def test_a_graph_with_a_base_of_its_own(tmp_path: Path, capsys: Capsys) -> None:
    rows = EXAMPLES / "company-month" / "access_history.ndjson"
    base = ("--base", "https://example.org/x/")
    out = tmp_path / "out"
    words = ["export", str(rows), "--account", "ACME-RETAIL", "--engine", "local", "--out", str(out), *base]
    assert main(words) == 0
    found = compared(out, capsys, *GIVEN, "--out", tmp_path / "d.ttl")
    assert found["counts"]["verified"] == 12
    assert "@base <https://example.org/x/>" in (tmp_path / "d.ttl").read_text("utf-8")
    assert main(["validate", str(tmp_path / "d.ttl")]) == 0


def test_an_export_of_other_rows_has_none_of_it(tmp_path: Path, capsys: Capsys) -> None:
    given = exports.ndjson([], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--allow-empty") == 0
    found = compared(tmp_path / "out", capsys, *GIVEN)
    assert found["counts"]["unknown"] == len(found["edges"]) > 0
    assert found["period"] == {"first": None, "last": None}
