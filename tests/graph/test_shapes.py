"""Every shape accepts the valid example, and refuses one small example that only it refuses."""

from __future__ import annotations

import re
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

import pyshacl
import pytest
from pyoxigraph import Literal, NamedNode, Triple
from rdflib import RDF, SH, BNode, Graph, URIRef

from exporter.graph.shapes import on_graph
from exporter.graph.shapes.by_pyshacl import graph_of, run_pyshacl, validate
from exporter.graph.shapes.classes import hierarchy
from exporter.graph.shapes.model import SUBCLASS, TYPE, XSD, Documents
from exporter.graph.vocabulary import NODE_CLASSES
from tests.graph.shape_graphs import AHS, INVALID, VALID, failing, iri, local, shapes, source, triples
from tests.graph.targets import with_own_targets

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdflib.term import Node

    from exporter.graph.shapes.model import Term
    from exporter.graph.terms import NodeClass, Property

ALIEN: Final = NamedNode("https://example.org/of-no-class")
WARNINGS: Final = {"Change-operationKnown", "Setting-subOperationKnown", "PolicyEnforcement-policyKindSpelling"}
GRAPH: Final = graph_of(source().triples)
FAST: Final = with_own_targets(GRAPH)


def all_shapes() -> set[Node]:
    return set(GRAPH.subjects(RDF.type, SH.NodeShape)) | set(GRAPH.subjects(RDF.type, SH.PropertyShape))


def reporting() -> set[Node]:
    """The shapes that can report something: all but the parts of others and those that only gather properties."""
    inside = {part for head in GRAPH.objects(None, SH["or"]) for part in GRAPH.items(head)}
    inside |= set(GRAPH.objects(None, SH["not"]))
    return {shape for shape in all_shapes() - inside if (shape, SH.message, None) in GRAPH}


@cache
def every_example(tmp: Path) -> list[Triple]:
    """All examples in one graph, each below a base of its own."""
    documents, graph = Documents(), list(hierarchy())
    for number, path in enumerate((VALID, *INVALID)):
        copy = tmp / path.name
        copy.write_text(path.read_text("utf-8").replace("snowflake://ACME", f"snowflake://N{number}"), "utf-8")
        graph += documents.triples(copy)
    return graph


def test_the_valid_example_passes_every_shape() -> None:
    assert failing(triples(VALID)) == set()


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_example_fails_for_its_reason_and_no_other(path: Path) -> None:
    """The file is named after the shape, and after the mistake where a shape has several."""
    assert failing(triples(path)) == {path.name.split(".")[0]}


def test_pyshacl_finds_exactly_the_same_in_every_example(tmp_path: Path) -> None:
    """The same focus nodes, shapes, paths, values, severities and messages, as often."""
    graph = every_example(tmp_path)
    found = on_graph.validate(graph, shapes())
    assert found == validate(graph, source())
    assert found == run_pyshacl(graph, source(), FAST)
    assert {local(one.shape) for one in found} == {path.name.split(".")[0] for path in INVALID}


def test_every_shape_has_an_invalid_example() -> None:
    with_example = {path.name.split(".")[0] for path in INVALID}
    without = {local(shape) for shape in reporting()} - with_example
    assert not without, f"write shapes/invalid/NAME.ttl for: {', '.join(sorted(without))}"


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_example_says_its_mistake(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# The mistake: ")


def mutants(one: Property) -> Iterator[tuple[str, list[Term]]]:
    """Values that the vocabulary's table does not allow."""
    yield "of another kind", [ALIEN if one.is_literal else Literal("a text, not a thing")]
    if one.required:
        yield "missing", []
    if not one.many:
        yield "two", list(two_of(one))


def two_of(one: Property) -> tuple[Term, Term]:
    texts = {
        "xsd:string": ("one", "two"),
        "xsd:integer": ("1", "2"),
        "xsd:boolean": ("true", "false"),
        "xsd:dateTime": ("2024-02-03T00:00:00Z", "2024-02-04T00:00:00Z"),
    }
    if not one.is_literal:
        return ALIEN, NamedNode(f"{ALIEN.value}/2")
    first, second = texts[one.range]
    datatype = NamedNode(XSD + one.range.removeprefix("xsd:"))
    return Literal(first, datatype=datatype), Literal(second, datatype=datatype)


PAIRS = [(node_class, one) for node_class in NODE_CLASSES for one in node_class.properties]


@pytest.mark.parametrize(("node_class", "one"), PAIRS, ids=[f"{c.name[3:]}-{p.term}" for c, p in PAIRS])
def test_the_shapes_refuse_what_the_vocabulary_does_not_allow(node_class: NodeClass, one: Property) -> None:
    """The shapes are written by hand; whatever contradicts the table on a valid node, they must see."""
    whole = triples(VALID)
    focus = fullest(whole, node_class)
    on_path = {local(shape.name) for shape in shapes().every if shape.path_text == iri(one.term).value}
    for mistake, values in mutants(one):
        graph = [each for each in whole if (each.subject, each.predicate) != (focus, iri(one.term))]
        graph += [Triple(focus, iri(one.term), value) for value in values]
        assert failing(graph) & on_path, f"{node_class.name} with {one.term} {mistake} passes"


def fullest(graph: list[Triple], node_class: NodeClass) -> NamedNode:
    """The node of a class in the valid example that has the most properties."""
    classes = {iri(node_class.name)}
    for _ in range(4):
        classes |= {one.subject for one in graph if one.predicate == SUBCLASS and one.object in classes}
    nodes = {one.subject for one in graph if one.predicate == TYPE and one.object in classes}
    ordered = sorted((one for one in graph if one.subject in nodes), key=lambda one: one.subject.value)
    by_node = {node: {one.predicate for one in found} for node, found in groupby(ordered, key=lambda one: one.subject)}
    return max(by_node, key=lambda node: (len(by_node[node]), node.value))


def test_every_shape_is_named_and_described() -> None:
    nameless = [
        local(shape)
        for shape in all_shapes()
        if not isinstance(shape, URIRef)
        or not shape.startswith(AHS)
        or any(GRAPH.value(shape, term) is None for term in (SH.name, SH.description))
    ]
    assert nameless == []


def test_every_message_says_what_is_wrong_and_what_to_do() -> None:
    """Two sentences at least: what is expected, and what to do."""
    terse = [local(shape) for shape in reporting() if not re.search(r"[.:] ", str(GRAPH.value(shape, SH.message)))]
    assert terse == []


def test_only_words_that_snowflake_may_add_to_are_warnings() -> None:
    severities = {local(shape): str(GRAPH.value(shape, SH.severity)) for shape in reporting()}
    assert {name for name, severity in severities.items() if severity == str(SH.Warning)} == WARNINGS
    assert set(severities.values()) == {str(SH.Violation), str(SH.Warning)}
    assert {local(shape.name) for shape in shapes().every if shape.severity == "Warning"} == WARNINGS


def test_shapes_keep_to_core() -> None:
    """Engines that skip ``sh:sparql`` in silence must not pass what others refuse."""
    assert (None, SH.sparql, None) not in GRAPH
    assert not [subject for subject in GRAPH.subjects(SH.path) if isinstance(subject, BNode)]


def test_the_shapes_are_well_formed() -> None:
    """Checked by the shapes of SHACL itself."""
    conforms, _, report = pyshacl.validate(Graph(), shacl_graph=GRAPH, meta_shacl=True)
    assert conforms, report


def test_every_shape_is_compiled() -> None:
    assert {shape.name for shape in shapes().every} == {str(shape) for shape in all_shapes()}


def test_no_property_shape_hangs_on_another_shape_in_the_fast_form() -> None:
    assert (None, SH.property, None) not in FAST
