"""The fast form of the shapes says the same as the readable one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyshacl
import pytest
from rdflib import RDF, SH, Graph

from exporter.rdf.targets import with_own_targets
from tests.rdf.shape_graphs import INVALID, VALID, data, shapes

if TYPE_CHECKING:
    from pathlib import Path

    from rdflib.term import Node

FAST = with_own_targets(shapes())


def results(graph: Graph, by: Graph) -> set[tuple[Node | None, ...]]:
    """What is reported, without the nodes of the report itself."""
    _, report, _ = pyshacl.validate(graph, shacl_graph=by)
    assert isinstance(report, Graph)
    said = (SH.focusNode, SH.sourceShape, SH.resultPath, SH.value, SH.resultSeverity, SH.sourceConstraintComponent)
    found = report.subjects(RDF.type, SH.ValidationResult)
    return {tuple(report.value(result, term) for term in said) for result in found}


@pytest.mark.parametrize("path", [VALID, *INVALID], ids=lambda path: path.stem)
def test_both_forms_report_the_same(path: Path) -> None:
    graph = data(path)
    assert results(graph, FAST) == results(graph, shapes())


def test_no_property_shape_hangs_on_another_shape() -> None:
    assert (None, SH.property, None) not in FAST
