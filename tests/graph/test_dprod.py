"""Data products by DPROD: the example's query, and the catalog, against the shapes that the OMG publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyshacl
import pytest
from pyoxigraph import QueryTriples
from rdflib import DCAT, RDF, RDFS, Graph, Namespace

from exporter.cli import main
from exporter.graph.store import load
from tests import exports
from tests.shared import DPROD, needs

Json = dict[str, Any]
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
QUERY: Final = EXAMPLES / "data-products" / "product.rq"
TERMS: Final = Namespace("https://ekgf.github.io/dprod/")


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("month") / "out"
    rows = EXAMPLES / "company-month" / "access_history.ndjson"
    given = ["--account", "ACME-RETAIL", "--engine", "local", "--outputs", "graph,catalog", "--out", str(out)]
    assert main(["export", str(rows), *given]) == 0
    return out


@pytest.fixture(scope="module")
def product(month: Path) -> Graph:
    made = load(month).query(QUERY.read_text(encoding="utf-8"))
    assert isinstance(made, QueryTriples)
    return Graph().parse(data="".join(f"{one} .\n" for one in made), format="nt")


def named(product: Graph, term: str) -> set[str]:
    return {str(product.value(one, RDFS.label)) for one in product.objects(None, TERMS[term])}


def test_the_inputs_are_what_rows_show_and_nothing_of_the_product(product: Graph) -> None:
    """As examples/company-month says how its tables are filled."""
    assert named(product, "outputDataset") == {"MART.SALES.FCT_ORDERS", "MART.SALES.DAILY_REVENUE"}
    assert named(product, "inputDataset") == {
        "STAGING.DBT.STG_ORDERS",
        "STAGING.DBT.STG_CUSTOMERS",
        "RAW.SHOP.FX_RATES",
    }


def test_datasets_have_the_iris_of_the_catalog(product: Graph, month: Path) -> None:
    catalog = Graph().parse(next(month.rglob("catalog.ttl")))
    assert set(product.subjects(RDF.type, DCAT.Dataset)) <= set(catalog.subjects(RDF.type, DCAT.Dataset))


def test_what_was_replaced_or_was_a_helper_is_no_dataset(tmp_path: Path) -> None:
    """As dbt builds: each night the source is another object, and the target is filled from a table that is dropped."""
    orders, rows = "MART.SALES.FCT_ORDERS", []
    for day in (1, 2):
        source, made = thing(10 + day, "RAW.SHOP.ORDERS"), thing(20 + day, orders)
        helper = thing(30 + day, f"{orders}__DBT_TMP")
        rows += [
            row(f"s{day}", day, 1, [thing(1, "RAW.SHOP.LOADED")], source),
            row(f"h{day}", day, 2, [source], helper),
            row(f"c{day}", day, 3, [helper], made),
            row(f"d{day}", day, 4, [], None, object_modified_by_ddl={**helper, "operationType": "DROP"}),
        ]
    out = tmp_path / "out"
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([given], out, "--outputs", "graph,catalog") == 0
    answer = load(out).query(QUERY.read_text(encoding="utf-8"))
    assert isinstance(answer, QueryTriples)
    found = {(str(one.predicate).rpartition("/")[2], str(one.object).rpartition("/")[2]) for one in answer}
    assert {one for one in found if "Dataset>" in one[0]} == {("outputDataset>", "22>"), ("inputDataset>", "12>")}


TARGET: Final = "MART.SALES.FCT_ORDERS"


def inputs(rows: list[Json], folder: Path) -> set[str]:
    """The names of the inputs of a product, with their kinds."""
    given = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--outputs", "graph") == 0
    answer = load(folder / "out").query(QUERY.read_text(encoding="utf-8"))
    assert isinstance(answer, QueryTriples)
    found = {str(one.object) for one in answer if str(one.predicate).endswith("inputDataset>")}
    return {name.rpartition("/")[0].rpartition("/")[2] + name.rpartition("/")[2].rstrip(">") for name in found}


def test_helpers_behind_helpers_stand_for_all_that_filled_them(tmp_path: Path) -> None:
    first, second, made = thing(31, "A.B.H1__DBT_TMP"), thing(32, "A.B.H2__DBT_TMP"), thing(20, TARGET)
    rows = [
        row("q1", 1, 1, [thing(11, "A.B.R")], first),
        {**row("q2", 1, 2, [thing(12, "A.B.X")], first), "object_modified_by_ddl": None},
        row("q3", 1, 3, [first], second),
        row("q4", 1, 4, [second], made),
    ]
    assert inputs(rows, tmp_path) == {"table11", "table12"}


def test_an_input_is_of_the_kind_that_was_read(tmp_path: Path) -> None:
    """The stage of a table has its name."""
    stage = {"objectDomain": "Stage", "objectId": 11, "objectName": "A.B.R", "stageKind": "Table Stage"}
    rows = [row("q1", 1, 1, [thing(11, "A.B.R")], thing(20, TARGET)), row("q2", 1, 2, [stage], None)]
    assert inputs(rows, tmp_path) == {"table11"}


def test_the_inputs_of_a_view_are_what_is_behind_it(tmp_path: Path) -> None:
    view = {**thing(20, TARGET), "objectDomain": "View"}
    rows = [{**row("q1", 1, 1, [view], None), "base_objects_accessed": [thing(11, "A.B.R"), thing(12, "A.B.X")]}]
    assert inputs(rows, tmp_path) == {"table11", "table12"}


def thing(number: int, name: str) -> Json:
    return {"objectDomain": "Table", "objectId": number, "objectName": name}


def row(query: str, day: int, hour: int, read: list[Json], made: Json | None, **columns: Any) -> Json:
    sources = [{**one, "columnName": "A"} for one in read]
    column = {"columnName": "A", "directSources": sources, "baseSources": sources}
    return {
        "query_id": query,
        "query_start_time": f"2026-03-{day:02} {hour:02}:00:00Z",
        "user_name": "DBT",
        "direct_objects_accessed": read,
        "base_objects_accessed": read,
        "objects_modified": [{**made, "columns": [column]}] if made else [],
        "object_modified_by_ddl": {**made, "operationType": "REPLACE", "properties": {}} if made else None,
        **columns,
    }


@needs(DPROD)
def test_the_product_and_the_catalog_conform(product: Graph, month: Path) -> None:
    shapes = Graph().parse(DPROD / "dprod-shapes.ttl")
    catalog = Graph().parse(next(month.rglob("catalog.ttl")))
    for graph in (product, catalog, product + catalog):
        conforms, _, text = pyshacl.validate(graph, shacl_graph=shapes)
        assert conforms, text
    wrong = Graph() + product
    wrong.add((next(product.subjects(RDF.type, TERMS.DataProduct)), TERMS.inputPort, TERMS.nothing))
    assert not pyshacl.validate(wrong, shacl_graph=shapes)[0], "the shapes are in force"
