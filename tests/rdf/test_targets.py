"""The fast form of the shapes says the same as the readable one, of whole graphs and of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyshacl
import pytest
from rdflib import RDF, SH, Graph, URIRef

from exporter.rdf.targets import add_marks, for_parts, with_own_targets
from tests.rdf.shape_graphs import INVALID, VALID, data, ontology, shapes

if TYPE_CHECKING:
    from pathlib import Path

    from rdflib.term import Node

FAST = with_own_targets(shapes())
OF_PARTS = for_parts(shapes())


def results(graph: Graph, by: Graph) -> set[tuple[Node | None, ...]]:
    """What is reported, without the nodes of the report itself."""
    _, report, _ = pyshacl.validate(graph, shacl_graph=by)
    assert isinstance(report, Graph)
    said = (SH.focusNode, SH.sourceShape, SH.resultPath, SH.value, SH.resultSeverity, SH.sourceConstraintComponent)
    found = report.subjects(RDF.type, SH.ValidationResult)
    return {tuple(report.value(result, term) for term in said) for result in found}


@pytest.mark.parametrize("path", [VALID, *INVALID], ids=lambda path: path.stem)
def test_every_form_reports_the_same(path: Path) -> None:
    graph = data(path)
    wanted = results(graph, shapes())
    assert results(graph, FAST) == wanted
    add_marks(graph, shapes(), ontology())
    assert results(graph, OF_PARTS) == wanted


def test_no_property_shape_hangs_on_another_shape() -> None:
    assert (None, SH.property, None) not in FAST


def part_of(whole: Graph, node: Node) -> Graph:
    """One node, and of those that it refers to their classes alone."""
    part = Graph()
    part += whole.triples((node, None, None))
    add_marks(part, shapes(), ontology())
    for other in set(part.objects(node)) - {node}:
        part += whole.triples((other, RDF.type, None))
    return part + data_hierarchy()


def data_hierarchy() -> Graph:
    return data(VALID) - Graph().parse(VALID)


@pytest.mark.parametrize("node", sorted({node for node in Graph().parse(VALID).subjects() if isinstance(node, URIRef)}))
def test_a_node_is_checked_without_the_rest_of_those_that_it_refers_to(node: URIRef) -> None:
    part = part_of(Graph().parse(VALID), node)
    assert results(part, OF_PARTS) == set()
