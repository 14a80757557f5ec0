"""A reasoner finds no contradiction in ontology, alignments and the valid example, and infers nothing wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import owlrl
import pytest
from rdflib import OWL, RDF, Graph, URIRef

from exporter.graph.terms import PREFIXES
from tests.graph.shape_graphs import ROOT, VALID

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BASE: Final = "snowflake://ACME-PROD/"
PREFIX: Final = {**PREFIXES, "dcat": "http://www.w3.org/ns/dcat#"}
CONCLUDED: Final = {
    "account": {"prov:Location"},
    "database/name/D": {"dcat:Catalog"},
    "function/2": {"prov:Plan"},
    "masking-policy/7": {"prov:Plan"},
    "query/q-0": {"ah:Statement"},
    "query/calls-20240203T0800Z-0f1e2d3c4b5a69788796a5b4c3d2e1f0": {"ah:Execution"},
    "query/q-1": {"ah:Execution", "ah:Statement"},
    "query/q-2": {"ah:Execution", "ah:Statement"},
    "query/q-3": {"ah:Execution", "ah:Statement"},
    "schema/71": {"dcat:Catalog"},
    "schema/name/D.S": {"dcat:Catalog"},
    "stage/117": {"prov:Location"},
    "table/11": {"dcat:Dataset"},
    "table/13": {"dcat:Dataset"},
    "table/53": {"dcat:Dataset"},
    "table/name/D.S.T": {"dcat:Dataset"},
    "view/12": {"dcat:Dataset"},
}
"""All that OWL RL adds to what the nodes say of their classes: no column is an activity, no query a table."""


def types(graph: Graph, base: str = BASE) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node, kind in graph.subject_objects(RDF.type):
        if str(node).startswith(base) and kind != OWL.Thing:
            found.setdefault(str(node).removeprefix(base), set()).add(short(str(kind)))
    return found


def short(iri: str) -> str:
    prefix = next(name for name, where in PREFIX.items() if iri.startswith(where))
    return f"{prefix}:{iri.removeprefix(PREFIX[prefix])}"


def closed(*extra: tuple[URIRef, URIRef, URIRef], of: Iterable[Path] = (VALID,)) -> Graph:
    graph = Graph()
    for path in (ROOT / "ontology" / "access-history.ttl", ROOT / "ontology" / "alignments.ttl", *of):
        graph.parse(path)
    for triple in extra:
        graph.add(triple)
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
    return graph


def errors(graph: Graph) -> list[str]:
    return [str(value) for value in graph.objects(None, URIRef("http://www.daml.org/2002/03/agents/agent-ont#error"))]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return closed()


def test_nothing_contradicts(graph: Graph) -> None:
    assert errors(graph) == []


def test_a_contradiction_would_be_found() -> None:
    """A column that is an object, too: the ontology says that nothing is both."""
    column, table = URIRef(f"{BASE}table/13/column/SSN"), URIRef(f"{PREFIX['ah']}Table")
    assert errors(closed((column, RDF.type, table)))


def test_only_superclasses_are_concluded(graph: Graph) -> None:
    said, concluded = types(Graph().parse(VALID)), types(graph)
    assert {name: kinds - said[name] for name, kinds in concluded.items() if kinds - said[name]} == CONCLUDED


ABOVE: Final = {"ah:Execution", "ah:Statement", "dcat:Catalog", "dcat:Dataset", "prov:Location", "prov:Plan"}
"""Classes that nodes do not say, since the ontology or the alignments do."""


def test_the_examples_contradict_nothing_and_nothing_else_follows() -> None:
    """All of them in one graph: each is an account of its own."""
    examples = sorted((ROOT / "examples").glob("[0-9]*/graph.ttl"))
    said = Graph()
    for path in examples:
        said.parse(path)
    graph = closed(of=examples)
    assert errors(graph) == []
    own, all_ = types(said, "snowflake://"), types(graph, "snowflake://")
    assert len(own) > 200
    assert {name: kinds - own[name] for name, kinds in all_.items() if not kinds - own[name] <= ABOVE} == {}
