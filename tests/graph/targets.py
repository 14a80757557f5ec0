"""The shapes in a form that pySHACL validates faster, with the same results, for tests of many graphs.

pySHACL reads and runs a property shape of a node shape again for every focus node. With targets of its own it runs once
for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdflib import RDF, SH, Graph, URIRef
from rdflib.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdflib.term import Node


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
