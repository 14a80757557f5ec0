"""The shapes in the form that pySHACL checks fastest in parts of a graph, with the same results.

Two things cost pySHACL most of its time, and neither is needed:

- A property shape that hangs on a node shape is read and run anew for every focus node. With targets of its own it runs
  once over all of them.
- A part of a graph holds, of nodes that lie elsewhere, their class alone. They are targets too, and each reports all
  that it lacks. So the nodes of the part are marked, and the targets are the marked ones.

Use: ``add_marks(part, …)`` before the classes of nodes elsewhere are added, then validate with ``for_parts(shapes)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdflib import RDF, RDFS, SH, Graph, URIRef
from rdflib.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdflib.term import Node


def for_parts(shapes: Graph) -> Graph:
    """``shapes`` for parts of a graph whose nodes :func:`add_marks` marked."""
    targeted = with_own_targets(shapes)
    for shape, target in set(targeted.subject_objects(SH.targetClass)):
        targeted.remove((shape, SH.targetClass, target))
        targeted.add((shape, SH.targetClass, _mark(target)))
    return targeted


def add_marks(part: Graph, shapes: Graph, hierarchy: Graph) -> None:
    """Mark every node of ``part`` by each class that a shape is targeted at and that ``hierarchy``
    (``rdfs:subClassOf``) says it has.
    """
    targets = set(shapes.objects(None, SH.targetClass))
    marks: dict[Node, list[URIRef]] = {}
    for node, kind in list(part.subject_objects(RDF.type)):
        if kind not in marks:
            above = set(hierarchy.transitive_objects(kind, RDFS.subClassOf))
            marks[kind] = [_mark(target) for target in targets if target in above]
        for mark in marks[kind]:
            part.add((node, RDF.type, mark))


def _mark(target: Node) -> URIRef:
    return URIRef(f"{target}-in-this-part")


def with_own_targets(shapes: Graph) -> Graph:
    """``shapes`` with each property shape targeted at the classes of the node shapes that it hangs on.

    A closed shape allows the paths of its property shapes (SHACL, section 4.8.1); it names them itself afterwards.
    """
    targeted = Graph()
    targeted += shapes
    for shape in set(shapes.subjects(SH.closed)):
        _allow_paths(targeted, shape)
    for shape, one in set(shapes.subject_objects(SH.property)):
        targeted.remove((shape, SH.property, one))
        for target in shapes.objects(shape, SH.targetClass):
            targeted.add((one, SH.targetClass, target))
    return targeted


def _allow_paths(shapes: Graph, shape: Node) -> None:
    ignored = shapes.value(shape, SH.ignoredProperties)
    already = list(shapes.items(ignored)) if ignored is not None else []
    paths = [path for path in _paths(shapes, shape) if path not in already]
    names = URIRef(f"{shape}-ignored")
    shapes.remove((shape, SH.ignoredProperties, None))
    shapes.add((shape, SH.ignoredProperties, names))
    Collection(shapes, names, [*already, *paths])


def _paths(shapes: Graph, shape: Node) -> Iterator[Node]:
    for one in shapes.objects(shape, SH.property):
        path = shapes.value(one, SH.path)
        if isinstance(path, URIRef) and path != RDF.type:
            yield path
