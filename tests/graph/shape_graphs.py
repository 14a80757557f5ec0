"""The project's shapes, and their example graphs, for the tests of this folder."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, parse

from exporter.graph.shapes import on_graph
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.model import TYPE, XSD, Documents
from exporter.graph.shapes.reading import Shapes, compiled, shapes_graph
from exporter.graph.shapes.source import ShapesGraph
from exporter.graph.terms import PREFIXES, Node, NodeClass, Value, full
from exporter.graph.vocabulary import NODE_CLASSES
from exporter.input.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyoxigraph import BlankNode

ROOT: Final = Path(__file__).parents[2]
VALID: Final = ROOT / "shapes" / "valid" / "small-company.ttl"
INVALID: Final = tuple(sorted((ROOT / "shapes" / "invalid").glob("*.ttl")))
AHS: Final = "https://w3id.org/access-history/shapes#"
BASE: Final = "snowflake://ACME-PROD/"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def source() -> ShapesGraph:
    return shapes_graph()


@cache
def shapes() -> Shapes:
    return compiled(source())


def triples(path: Path) -> list[Triple]:
    """The graph of a file, with the class hierarchy."""
    return [*Documents().triples(path), *hierarchy()]


def failing(graph: Iterable[Triple]) -> set[str]:
    """The local names of the shapes that a graph fails, warnings as well."""
    return {local(one.shape) for one in on_graph.validate(graph, shapes())}


def local(shape: str) -> str:
    """``ahs:Query-queryId`` -> ``Query-queryId``; what has no name of ours stays as it is, to be seen in a failure."""
    return shape.removeprefix(AHS)


def iri(name: str) -> NamedNode:
    """``prov:used`` -> the term."""
    return NamedNode(full(name))


def nodes(path: Path = VALID) -> Iterator[Node]:
    """The nodes of an example as the exporter has them in memory; raises where it could not have them so."""
    of: dict[NamedNode | BlankNode, dict[str, list[NamedNode | Literal]]] = {}
    for quad in parse(path=str(path), format=RdfFormat.TURTLE):
        of.setdefault(quad.subject, {}).setdefault(short(quad.predicate), []).append(quad.object)
    by_name = {one.name: one for one in NODE_CLASSES}
    for subject, properties in of.items():
        types = tuple(short(one) for one in properties.pop("rdf:type"))
        if not isinstance(subject, NamedNode):
            raise ValueError(subject)  # noqa: TRY004 - a node without an IRI is no value
        of_class = by_name[next(name for name in by_name if name in types)]
        ranges = {one.term: one.range for one in of_class.properties}
        values = {term: tuple(value_of(one, ranges[term]) for one in found) for term, found in properties.items()}
        yield Node(of_class, path_of(subject.value), types, values)


def short(term: NamedNode) -> str:
    for prefix, beginning in PREFIXES.items():
        if term.value.startswith(beginning):
            return f"{prefix}:{term.value.removeprefix(beginning)}"
    raise ValueError(term)


def path_of(iri: str) -> str:
    """An IRI as a node has it: accounts are whole under every base."""
    return iri if iri == f"{BASE}account" else iri.removeprefix(BASE)


def value_of(term: NamedNode | Literal, range_: str) -> Value:
    if isinstance(term, NamedNode):
        return path_of(term.value)
    if term.datatype.value != XSD + range_.removeprefix("xsd:"):
        raise ValueError(term)
    if range_ == "xsd:dateTime":
        return round((datetime.fromisoformat(term.value) - EPOCH).total_seconds() * 1_000_000)
    return {"xsd:integer": int, "xsd:boolean": "true".__eq__}.get(range_, str)(term.value)


def triples_of(node: Node, base: str) -> Iterator[Triple]:
    """A node as the triples of the graph, written anew: what the writers make of it is not asked."""
    subject = NamedNode(whole(node.iri, base))
    for name in node.types:
        yield Triple(subject, TYPE, iri(name))
    ranges = {one.term: one.range for one in node.of.properties}
    for term, values in node.values.items():
        for value in values:
            yield Triple(subject, iri(term), term_of(value, ranges[term], base))


def term_of(value: Value, range_: str, base: str) -> NamedNode | Literal:
    if not range_.startswith("xsd:"):
        return NamedNode(whole(str(value), base))
    texts = {"xsd:dateTime": lambda time: iso(int(time)), "xsd:boolean": lambda truth: str(truth).lower()}
    text = texts.get(range_, str)(value)
    return Literal(text, datatype=NamedNode(XSD + range_[4:]))


def whole(iri: str, base: str) -> str:
    return iri if "://" in iri else base + iri


def class_named(name: str) -> NodeClass:
    return next(one for one in NODE_CLASSES if one.name == name)


def parsed(turtle: str) -> list[Quad]:
    return list(parse(turtle.encode(), format=RdfFormat.TURTLE))
