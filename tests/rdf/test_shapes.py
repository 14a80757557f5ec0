"""Every shape accepts the valid example, and refuses one small example that makes its mistake and no other."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyshacl
import pytest
from rdflib import RDF, RDFS, BNode, Graph, Literal, URIRef

from exporter.rdf.targets import with_own_targets
from exporter.rdf.vocabulary import NODE_CLASSES
from tests.rdf.shape_graphs import AHS, INVALID, SH, VALID, all_shapes, data, failing, iri, local, reporting, shapes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdflib.term import Node

    from exporter.rdf.terms import NodeClass, Property

FAST = with_own_targets(shapes())
ALIEN = URIRef("https://example.org/of-no-class")
WARNINGS = {"Change-operationKnown", "Setting-subOperationKnown", "PolicyEnforcement-policyKindSpelling"}


def test_the_valid_example_passes_every_shape() -> None:
    assert failing(data(VALID)) == set()


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_example_fails_for_its_reason_and_no_other(path: Path) -> None:
    """The file is named after the shape, and after the mistake where a shape has several."""
    assert failing(data(path)) == {path.name.split(".")[0]}


def test_every_shape_has_an_invalid_example() -> None:
    with_example = {path.name.split(".")[0] for path in INVALID}
    without = {local(shape) for shape in reporting()} - with_example
    assert not without, f"write shapes/invalid/NAME.ttl for: {', '.join(sorted(without))}"


@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_an_invalid_example_says_its_mistake(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith("# The mistake: ")


def mutants(one: Property) -> Iterator[tuple[str, list[Node]]]:
    """Values that the vocabulary's table does not allow."""
    wrong: Node = ALIEN if one.is_literal else Literal("a text, not a thing")
    yield "of another kind", [wrong]
    if one.required:
        yield "missing", []
    if not one.many:
        yield "two", list(two_of(one))


def two_of(one: Property) -> tuple[Node, Node]:
    values = {
        "xsd:string": ("one", "two"),
        "xsd:integer": (1, 2),
        "xsd:boolean": (True, False),
        "xsd:dateTime": (datetime(2024, 2, 3, tzinfo=UTC), datetime(2024, 2, 4, tzinfo=UTC)),
    }
    first, second = values.get(one.range, (None, None))
    return (Literal(first), Literal(second)) if one.is_literal else (ALIEN, URIRef(f"{ALIEN}/2"))


PAIRS = [(node_class, one) for node_class in NODE_CLASSES for one in node_class.properties]


@pytest.mark.parametrize(("node_class", "one"), PAIRS, ids=[f"{c.name[3:]}-{p.term}" for c, p in PAIRS])
def test_the_shapes_refuse_what_the_vocabulary_does_not_allow(node_class: NodeClass, one: Property) -> None:
    """The shapes are written by hand; whatever contradicts the table on a valid node, they must see."""
    for mistake, values in mutants(one):
        graph = data(VALID)
        focus = next(iter(sorted(with_most_properties(graph, node_class))))
        graph.remove((focus, iri(one.term), None))
        for value in values:
            graph.add((focus, iri(one.term), value))
        on_path = {local(shape) for shape in shapes().subjects(SH.path, iri(one.term))}
        assert failing(graph, FAST) & on_path, f"{node_class.name} with {one.term} {mistake} passes"


def with_most_properties(graph: Graph, node_class: NodeClass) -> list[Node]:
    """The fullest node of a class in the valid example."""
    classes = set(graph.transitive_subjects(RDFS.subClassOf, iri(node_class.name)))
    nodes = {node for name in classes for node in graph.subjects(RDF.type, name)}
    most = max(len(set(graph.predicates(node))) for node in nodes)
    return [node for node in nodes if len(set(graph.predicates(node))) == most]


def test_every_shape_is_named_and_described() -> None:
    graph = shapes()
    nameless = [
        local(shape)
        for shape in all_shapes()
        if not isinstance(shape, URIRef)
        or not shape.startswith(AHS)
        or any(graph.value(shape, term) is None for term in (SH.name, SH.description))
    ]
    assert nameless == []


def test_every_message_says_what_is_wrong_and_what_to_do() -> None:
    """Two sentences at least: what is expected, and what to do."""
    graph = shapes()
    terse = [local(shape) for shape in reporting() if not re.search(r"[.:] ", str(graph.value(shape, SH.message)))]
    assert terse == []


def test_only_words_that_snowflake_may_add_to_are_warnings() -> None:
    severities = {local(shape): str(shapes().value(shape, SH.severity)) for shape in reporting()}
    assert {name for name, severity in severities.items() if severity == str(SH.Warning)} == WARNINGS
    assert set(severities.values()) == {str(SH.Violation), str(SH.Warning)}


def test_shapes_keep_to_core() -> None:
    """Engines that skip ``sh:sparql`` in silence must not pass what others refuse."""
    assert (None, SH.sparql, None) not in shapes()
    assert not [subject for subject in shapes().subjects(SH.path) if isinstance(subject, BNode)]


def test_the_shapes_are_well_formed() -> None:
    """Checked by the shapes of SHACL itself."""
    conforms, _, report = pyshacl.validate(Graph(), shacl_graph=shapes(), meta_shacl=True)
    assert conforms, report
