"""The published ontology and shapes, read by rdflib."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from rdflib import RDF, SH, Graph, Namespace, URIRef

from exporter.graph.terms import full
from tests.graph.shape_graphs import ROOT

if TYPE_CHECKING:
    from rdflib.term import Node

AH: Final = Namespace("https://w3id.org/access-history#")
AHS: Final = Namespace("https://w3id.org/access-history/shapes#")


@cache
def shapes() -> Graph:
    """All shapes in one graph."""
    graph = Graph()
    for path in sorted((ROOT / "shapes").glob("*.ttl")):
        graph.parse(path)
    return graph


@cache
def ontology() -> Graph:
    return Graph().parse(ROOT / "ontology" / "access-history.ttl")


def all_shapes() -> set[Node]:
    return set(shapes().subjects(RDF.type, SH.NodeShape)) | set(shapes().subjects(RDF.type, SH.PropertyShape))


def local(shape: Node) -> str:
    """``ahs:Query-queryId`` -> ``Query-queryId``; what has no name of ours stays as it is, to be seen in a failure."""
    return str(shape).removeprefix(str(AHS))


def iri(name: str) -> URIRef:
    """``prov:used`` -> the whole IRI, by the vocabulary's prefixes."""
    return URIRef(full(name))
