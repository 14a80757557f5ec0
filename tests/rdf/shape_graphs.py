"""The project's shapes, ontology and example graphs, for the tests of this folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyshacl
from rdflib import RDF, RDFS, Graph, Namespace, URIRef

from exporter.rdf.terms import PREFIXES

if TYPE_CHECKING:
    from rdflib.term import Node

ROOT: Final = Path(__file__).parents[2]
AH: Final = Namespace("https://w3id.org/access-history#")
AHS: Final = Namespace("https://w3id.org/access-history/shapes#")
SH: Final = Namespace("http://www.w3.org/ns/shacl#")
VALID: Final = ROOT / "shapes" / "valid" / "small-company.ttl"
INVALID: Final = tuple(sorted((ROOT / "shapes" / "invalid").glob("*.ttl")))


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


def data(path: Path) -> Graph:
    """The graph of a file, with the class hierarchy that ``sh:class`` and ``sh:targetClass`` look into."""
    graph = Graph().parse(path)
    for triple in ontology().triples((None, RDFS.subClassOf, None)):
        graph.add(triple)
    return graph


def failing(graph: Graph, by: Graph | None = None) -> set[str]:
    """The local names of the shapes that ``graph`` fails, warnings as well."""
    _, report, _ = pyshacl.validate(graph, shacl_graph=by or shapes())
    assert isinstance(report, Graph)
    return {local(shape) for shape in report.objects(None, SH.sourceShape)}


def all_shapes() -> set[Node]:
    return set(shapes().subjects(RDF.type, SH.NodeShape)) | set(shapes().subjects(RDF.type, SH.PropertyShape))


def parts() -> set[Node]:
    """The shapes that stand inside another one's ``sh:or`` or ``sh:not`` and report nothing by themselves."""
    graph = shapes()
    inside = {part for head in graph.objects(None, SH["or"]) for part in graph.items(head)}
    return inside | set(graph.objects(None, SH["not"]))


def reporting() -> set[Node]:
    """The shapes that can report something: all but the parts of others and those that only gather properties."""
    return {shape for shape in all_shapes() - parts() if (shape, SH.message, None) in shapes()}


def local(shape: Node) -> str:
    """``ahs:Query-queryId`` -> ``Query-queryId``; what has no name of ours stays as it is, to be seen in a failure."""
    return str(shape).removeprefix(str(AHS))


def iri(name: str) -> URIRef:
    """``prov:used`` -> the whole IRI, by the vocabulary's prefixes."""
    prefix, _, rest = name.partition(":")
    return URIRef(PREFIXES[prefix] + rest)
