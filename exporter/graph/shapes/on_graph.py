"""Shapes on any RDF graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.shapes.data import Graph
from exporter.graph.shapes.results import Result, Terms, in_order
from exporter.graph.shapes.terms import text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad, Triple

    from exporter.graph.shapes.model import Found, Shape, Targets
    from exporter.graph.shapes.reading import Shapes
    from exporter.graph.shapes.terms import Term


def validate(triples: Graph | Iterable[Triple | Quad], shapes: Shapes) -> list[Result]:
    """The results of the shapes on the graph, in order. Names of graphs are ignored: all quads are one graph.

    Only superclasses that the graph states are known: add those of the ontology
    (:func:`exporter.graph.shapes.classes.hierarchy`).
    """
    graph = triples if isinstance(triples, Graph) else Graph(triples)
    return in_order(
        [
            in_words(found)
            for shape in shapes.targeted
            for focus in focus_nodes(graph, shape.targets)
            for found in shape.results(graph, focus)
        ]
    )


def focus_nodes(graph: Graph, targets: Targets) -> dict[Term, None]:
    """The nodes that a shape applies to (SHACL, section 2.1.3)."""
    found: dict[Term, None] = dict.fromkeys(targets.nodes)
    for class_ in targets.classes:
        found |= dict.fromkeys(graph.instances(class_))
    for predicate in targets.subjects_of:
        found |= {subject: None for _, subjects in graph.pairs(predicate) for subject in subjects}
    for predicate in targets.objects_of:
        found |= {value: None for value, _ in graph.pairs(predicate)}
    return found


def in_words(found: Found) -> Result:
    """The result with all its parts as texts."""
    shape, value, path = found.shape, found.value, found.path
    return Result(
        text(found.focus),
        shape.name,
        None if path is None else path.text,
        None if value is None else text(value),
        shape.severity,
        " ".join([one.value for one in shape.messages]) or _said(shape, found),
        found.constraint.component_iri,
        Terms(
            str(found.focus),
            shape.name if shape.name.startswith("_:") else f"<{shape.name}>",
            None if path is None else path.turtle,
            None if value is None else str(value),
            tuple(map(str, shape.messages)),
        ),
    )


def _said(shape: Shape, found: Found) -> str:
    """The message for a shape that has no sh:message."""
    where = "" if shape.path is None else f" on {shape.path}"
    return f"does not meet {found.constraint.component}{where}"
