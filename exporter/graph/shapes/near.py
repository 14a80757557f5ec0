"""Which shapes can be decided on a node alone, and of the others what stands in the way.

Of a node everything is known; of those that it refers to, the IRI and with it one class. So a shape may ask anything of
the node's own triples, and of a value what the value itself shows: its kind, datatype, text, place in an order, class.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from exporter.graph.shapes.classes import readable, superclasses
from exporter.graph.shapes.logic import All, Any, Not, Of, OfProperty, One, Qualified
from exporter.graph.shapes.together import Closed, Disjoint, Equals
from exporter.graph.shapes.values import OfClass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.graph.shapes.model import Constraint, Shape


@cache
def _told() -> frozenset[str]:
    """Classes that IRIs tell, or tell by what is below them, as whole IRIs."""
    return frozenset[str]().union(*(superclasses(name) for name in readable()))


def obstacles(shape: Shape) -> Iterator[str]:
    """Why a shape with targets needs other nodes than its focus nodes; nothing where it does not."""
    if shape.targets.nodes:
        yield f"{shape.name}: sh:targetNode, for the node may be absent"
    if shape.targets.objects_of:
        yield f"{shape.name}: sh:targetObjectsOf"
    for part, what in _of_focus(shape):
        is_named = part is not shape and not part.name.startswith("_:")
        yield f"{shape.name}{f' ({part.name})' if is_named else ''}: {what}"


def _of_focus(shape: Shape) -> Iterator[tuple[Shape, str]]:
    """Why, where the shape's focus node is the node itself; with the part of the shape that asks for it."""
    if shape.is_deactivated:
        return
    if shape.path and not shape.path.is_near:
        yield shape, f"the path {shape.path}"
        return
    for constraint in shape.constraints:
        yield from _of_value(shape, constraint) if shape.path else _of_node(constraint)


def _of_node(constraint: Constraint) -> Iterator[tuple[Shape, str]]:
    """Why, where the only value is the node itself."""
    for inner in _inner(constraint):
        yield from _of_focus(inner)


def _of_value(shape: Shape, constraint: Constraint) -> Iterator[tuple[Shape, str]]:
    """Why, where the values are values of the node."""
    if isinstance(constraint, OfClass) and constraint.class_.value not in _told():
        yield shape, f"sh:class {constraint.class_.value} of another node, which its IRI does not tell"
    if isinstance(constraint, Closed | OfProperty):
        yield shape, f"{constraint.component} of another node"
        return
    for inner in _inner(constraint):
        yield from _of_other(inner)


def _of_other(shape: Shape) -> Iterator[tuple[Shape, str]]:
    """Why, where the shape's focus node is a value of the node."""
    if shape.is_deactivated:
        return
    if shape.path:
        yield shape, f"the path {shape.path} of another node"
        return
    for constraint in shape.constraints:
        if isinstance(constraint, Equals | Disjoint):
            yield shape, f"{constraint.component} of another node"
        yield from _of_value(shape, constraint)


def _inner(constraint: Constraint) -> tuple[Shape, ...]:
    """The shapes that a constraint refers to."""
    if isinstance(constraint, All | Any | One):
        return constraint.shapes
    if isinstance(constraint, Not | Of | OfProperty):
        return (constraint.shape,)
    return (constraint.shape, *constraint.siblings) if isinstance(constraint, Qualified) else ()
