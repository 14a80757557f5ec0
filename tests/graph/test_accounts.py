"""Accounts and organizations: each has one IRI, whatever account names it and whatever the base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Store

from exporter.graph.iri import Iris, account_iri, organization_iri, organization_of
from exporter.graph.nodes.agents import (
    AccountDescription,
    account_description,
    of_account,
    of_organization,
    organizations,
    owners,
)
from exporter.graph.nodes.objects import of_object
from exporter.graph.store import load
from exporter.graph.terms import full
from exporter.model.account_identifier import UNNAMED_ACCOUNT
from exporter.model.answers import Answers
from exporter.model.facts import Content, QueryFacts
from exporter.model.object_state import ObjectHistory, Profile
from tests import exports, golden
from tests.graph.samples import by_iri, of_query
from tests.graph.test_iri import TEXTS, assert_kept

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.graph.terms import Node
    from tests.histories import Json

BASE: Final = "https://lineage.example/"
PROD, SALES, RETAIL = (f"snowflake://ACME-{name}/account" for name in ("PROD", "SALES", "RETAIL"))
ACME: Final = "snowflake://ACME/organization"
FACTS: Final = (
    QueryFacts("ACME-PROD", "of-PROD", 0, "ETL", Content(), organization_name="ACME", account_locator="AB1"),
    QueryFacts("ACME-SALES", "of-SALES", 0, "ETL", Content(), organization_name="ACME", account_locator="AB2"),
    QueryFacts(UNNAMED_ACCOUNT, "of-nobody", 0, "ETL", Content()),
)
"""A query in each of two accounts, and one in an account that nobody named."""
TYPE: Final = NamedNode(full("rdf:type"))


def shared(reader: str) -> Profile:
    """The table of a third account, as rows of ``reader`` show it."""
    return Profile(reader, "table/7", "7", {"TABLE"}, accounts={"RETAIL"})


def iris(account: str) -> Iris:
    return Iris(account, UNNAMED_ACCOUNT, BASE)


def accounts() -> dict[str, Node]:
    said = [account_description(facts) for facts in FACTS]
    for facts in FACTS:
        said += owners(shared(facts.account))
    names = sorted({one.account for one in said})
    made = [of_account(name, [one for one in said if one.account == name]) for name in names]
    return by_iri(node for node in made if node is not None)


def test_each_account_and_organization_is_one_thing() -> None:
    found = {iri: node.values["rdfs:label"] for iri, node in accounts().items()}
    assert found == {PROD: ("ACME-PROD",), SALES: ("ACME-SALES",), RETAIL: ("ACME-RETAIL",)}
    assert {name for facts in FACTS for name in organizations(facts)} == {"ACME"}
    assert by_iri([of_organization("ACME")])[ACME].values["rdfs:label"] == ("ACME",)
    assert [node.values["ah:memberOf"] for node in accounts().values()] == [(ACME,)] * 3


def test_an_account_says_what_the_rows_say_of_it() -> None:
    terms = ("ah:accountName", "ah:accountLocator")
    said = {iri: tuple(node.values.get(term) for term in terms) for iri, node in accounts().items()}
    assert said == {
        PROD: (("PROD",), ("AB1",)),
        SALES: (("SALES",), ("AB2",)),
        RETAIL: (("RETAIL",), None),
    }


def test_an_organization_is_named_by_the_row_or_in_the_name_of_its_account() -> None:
    assert account_description(FACTS[0]) == AccountDescription("ACME-PROD", "ACME", "AB1")
    unsaid = QueryFacts("ACME-PROD", "q", 0, "ETL", Content())
    assert account_description(unsaid) == AccountDescription("ACME-PROD", "ACME", None)
    both = QueryFacts("ACME-PROD", "q", 0, "ETL", Content(), organization_name="OTHER")
    assert account_description(both).organization == "OTHER"
    assert organizations(both) == ("OTHER", "ACME")


def test_an_account_outside_of_the_organization_that_its_row_names_has_no_name() -> None:
    made = of_account("ab12345.eu-west-1", [AccountDescription("ab12345.eu-west-1", "ACME", None)])
    assert made is not None
    assert made.values == {"rdfs:label": ("ab12345.eu-west-1",), "ah:memberOf": (ACME,)}


def test_queries_ran_in_their_account_and_none_where_nobody_named_it() -> None:
    made = [of_query(facts, Answers(), iris(facts.account))[0] for facts in FACTS]
    ran = {node.values["ah:queryId"]: node.values.get("ah:account") for node in made}
    assert ran == {("of-PROD",): (PROD,), ("of-SALES",): (SALES,), ("of-nobody",): None}


def test_an_object_belongs_to_the_account_that_is_named_beside_it() -> None:
    for reader in ("ACME-PROD", "ACME-SALES"):
        made = next(of_object(shared(reader), ObjectHistory(), iris(reader)))
        assert made.iri == f"{BASE}account/{reader}/table/7"
        assert made.values["ah:account"] == (RETAIL,)
        assert made.values["ah:owningAccount"] == ("RETAIL",)
    alone = next(of_object(shared(UNNAMED_ACCOUNT), ObjectHistory(), iris(UNNAMED_ACCOUNT)))
    assert "ah:account" not in alone.values


@given(st.lists(TEXTS, min_size=1, max_size=100, unique=True))
@example(["ACME", "ACME-PROD", "acme-prod", "A/account", "A%2Faccount", "é", "."])
def test_two_accounts_never_share_an_iri(names: list[str]) -> None:
    paths = [account_iri(name) for name in names] + [organization_iri(name) for name in names]
    assert len(set(paths)) == 2 * len(names)
    assert_kept([path for path in paths if path is not None])


def test_the_organization_in_the_name_of_an_account() -> None:
    names = ["ACME-PROD", "ACME-PROD_EU-2", "PROD", "ab12345.eu-west-1", UNNAMED_ACCOUNT, "ACME-", "-PROD"]
    assert [organization_of(name) for name in names] == ["ACME", "ACME", None, None, None, None, None]


# --- a whole export


def rows() -> list[Json]:
    """A query in each of two accounts that reads the table of a third, and one in an account that nobody named."""
    row = golden.rows(golden.folders()[0])[0]
    other = [{"objectDomain": "Table", "objectId": 7, "objectName": "D.S.T", "accountName": "RETAIL"}]
    named = [
        {
            **row,
            "base_objects_accessed": other,
            "query_id": f"of-{name}",
            "organization_name": "ACME",
            "account_name": name,
            "account_locator": locator,
        }
        for name, locator in (("PROD", "AB1"), ("SALES", "AB2"))
    ]
    return [*named, {**row, "query_id": "of-nobody"}]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("accounts")
    given = exports.ndjson(rows(), folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--account", UNNAMED_ACCOUNT, "--base", BASE) == 0
    return load(folder / "out")


def said_of(graph: Store, subject: str) -> dict[str, set[str]]:
    """What is said of a node, by the local names of the terms."""
    found: dict[str, set[str]] = {}
    for quad in graph.quads_for_pattern(NamedNode(subject), None, None):
        assert isinstance(quad.object, NamedNode | Literal)
        found.setdefault(quad.predicate.value.rpartition("#")[2], set()).add(quad.object.value)
    return found


def instances(graph: Store, name: str) -> dict[str, dict[str, set[str]]]:
    """The nodes of a class, and what is said of them."""
    nodes = [quad.subject.value for quad in graph.quads_for_pattern(None, TYPE, NamedNode(full(f"ah:{name}")))]  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
    return {node: said_of(graph, node) for node in nodes}


def test_in_the_graph_each_account_and_organization_is_one_thing(graph: Store) -> None:
    found = instances(graph, "Account")
    terms = ("label", "memberOf", "accountName", "accountLocator")
    assert {node: tuple(said.get(term) for term in terms) for node, said in found.items()} == {
        PROD: ({"ACME-PROD"}, {ACME}, {"PROD"}, {"AB1"}),
        SALES: ({"ACME-SALES"}, {ACME}, {"SALES"}, {"AB2"}),
        RETAIL: ({"ACME-RETAIL"}, {ACME}, {"RETAIL"}, None),
    }
    assert {node: said["label"] for node, said in instances(graph, "Organization").items()} == {ACME: {"ACME"}}


def test_in_the_graph_queries_and_objects_belong_to_their_accounts(graph: Store) -> None:
    ran = {said["queryId"].pop(): said.get("account") for said in instances(graph, "Query").values()}
    assert ran == {"of-PROD": {PROD}, "of-SALES": {SALES}, "of-nobody": None}
    tables = [f"{BASE}account/ACME-{reader}/table/7@RETAIL" for reader in ("PROD", "SALES")]
    assert [said_of(graph, one)["account"] for one in tables] == [{RETAIL}] * 2


GRANTEES: Final = """PREFIX ah: <https://w3id.org/access-history#>
SELECT ?name ?account ?organization WHERE {
  ?grant ah:grantee ?grantee ; ah:granteeName ?name .
  OPTIONAL { ?grantee ah:account ?account . ?account a ah:Account ; ah:memberOf/ah:organizationName ?organization }
}"""


def test_an_account_that_a_share_is_open_to_is_the_one_that_queries_ran_in(tmp_path: Path) -> None:
    """Where its name says the organization; a name alone is a locator, and not known to be anybody's."""
    opened = {"accountsToAdd": {"value": ["acme.sales", "OTHER.SHOP", "XY12345"]}}
    share = {"objectDomain": "Share", "objectId": 5, "objectName": "PARTNERS", "operationType": "ALTER"}
    provider, consumer, _ = rows()
    provider = {**provider, "object_modified_by_ddl": {**share, "properties": opened}}
    given = exports.ndjson([provider, consumer], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--account", "ACME-PROD") == 0
    graph = load(tmp_path / "out")
    asked: Any = graph.query(GRANTEES)
    assert {tuple(None if one is None else one.value for one in row) for row in asked} == {
        ("acme.sales", SALES, "ACME"),
        ("OTHER.SHOP", "snowflake://OTHER-SHOP/account", "OTHER"),
        ("XY12345", None, None),
    }
    assert {said["queryId"].pop(): said["account"] for said in instances(graph, "Query").values()} == {
        "of-PROD": {PROD},
        "of-SALES": {SALES},
    }
