"""Accounts and organizations: one IRI each, from whichever account and under whichever base they are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, Graph, URIRef

from exporter.rdf import iri
from exporter.rdf.terms import AH
from tests import golden
from tests.columns import applied
from tests.exports import export, ndjson
from tests.rdf.test_iri import TEXTS, assert_kept

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.histories import Json

few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
BASE: Final = "https://lineage.example/"
PROD, SALES, RETAIL = (f"snowflake://ACME-{name}/account" for name in ("PROD", "SALES", "RETAIL"))
ACME: Final = "snowflake://ACME/organization"


def rows() -> list[Json]:
    """A query in each of two accounts that reads the table of a third, and one in an account that nobody named."""
    row = golden.rows(golden.folders()[0])[0]
    shared = [{"objectDomain": "Table", "objectId": 7, "objectName": "D.S.T", "accountName": "RETAIL"}]
    read = {**row, "base_objects_accessed": shared}
    locators = {"PROD": "AB1", "SALES": "AB2"}
    named = [
        {
            **read,
            "query_id": f"of-{name}",
            "organization_name": "ACME",
            "account_name": name,
            "account_locator": locator,
        }
        for name, locator in locators.items()
    ]
    return [*named, {**row, "query_id": "of-nobody"}]


@pytest.fixture(scope="module")
def graph(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Graph:  # noqa: ARG001 - the session to work in
    scratch: Path = tmp_path_factory.mktemp("accounts")
    given_base = ["--account", iri.UNNAMED_ACCOUNT, "--base", BASE]
    assert export([ndjson(rows(), scratch / "rows.ndjson")], scratch / "out", *given_base) == 0
    graph = Graph()
    for file in (scratch / "out" / "graph").iterdir():
        graph.parse(file)
    return graph


def of(graph: Graph, subject: str, term: str) -> set[str]:
    return {str(value) for value in graph.objects(URIRef(subject), URIRef(AH + term))}


def instances(graph: Graph, name: str) -> dict[str, str]:
    """The nodes of a class, with their labels."""
    found = graph.subjects(RDF.type, URIRef(AH + name))
    return {str(node): str(graph.value(node, RDFS.label)) for node in found}


def test_each_account_and_organization_is_one_thing(graph: Graph) -> None:
    assert instances(graph, "Account") == {PROD: "ACME-PROD", SALES: "ACME-SALES", RETAIL: "ACME-RETAIL"}
    assert instances(graph, "Organization") == {ACME: "ACME"}
    assert [of(graph, one, "memberOf") for one in (PROD, SALES, RETAIL)] == [{ACME}] * 3


def test_an_account_says_what_the_rows_say_of_it(graph: Graph) -> None:
    said = {one: (of(graph, one, "accountName"), of(graph, one, "accountLocator")) for one in (PROD, SALES, RETAIL)}
    assert said == {PROD: ({"PROD"}, {"AB1"}), SALES: ({"SALES"}, {"AB2"}), RETAIL: ({"RETAIL"}, set())}


def test_queries_ran_in_their_account_and_none_where_nobody_named_it(graph: Graph) -> None:
    ran = {
        str(graph.value(query, URIRef(AH + "queryId"))): of(graph, str(query), "account")
        for query in graph.subjects(RDF.type, URIRef(AH + "Query"))
    }
    assert ran == {"of-PROD": {PROD}, "of-SALES": {SALES}, "of-nobody": set()}


def test_an_object_belongs_to_the_account_that_is_named_beside_it(graph: Graph) -> None:
    tables = [f"{BASE}account/ACME-{reader}/table/7" for reader in ("PROD", "SALES")]
    assert [of(graph, one, "account") for one in tables] == [{RETAIL}] * 2


@given(st.lists(TEXTS, min_size=1, max_size=100, unique=True))
@example(["ACME", "ACME-PROD", "acme-prod", "A/account", "A%2Faccount", "é", "."])
@few
def test_two_never_meet_in_one_iri(spark: SparkSession, names: list[str]) -> None:
    paths = applied(spark, iri.account_path, names) + applied(spark, iri.organization_path, names)
    assert len(set(paths)) == 2 * len(names)
    assert_kept(paths)


def test_the_organization_in_the_name_of_an_account(spark: SparkSession) -> None:
    names = ["ACME-PROD", "ACME-PROD_EU-2", "PROD", "ab12345.eu-west-1", iri.UNNAMED_ACCOUNT, "ACME-", "-PROD"]
    assert applied(spark, iri.organization_of, names) == ["ACME", "ACME", None, None, None, None, None]
