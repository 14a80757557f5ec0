"""Data products by DPROD: the example's query, and the catalog, against the shapes that the OMG publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyshacl
import pytest
from pyoxigraph import QueryTriples
from rdflib import DCAT, RDF, RDFS, Graph, Namespace

from exporter.cli import main
from exporter.graph.store import load
from tests.shared import DPROD, needs

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
