"""Which shapes can be decided on one node alone.

All is known of the node itself. Of the nodes that it refers to, only the IRI is known, and with it the class. So a
shape may use the node's own triples, and what a value shows by itself: its kind, datatype, text, order and class.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from exporter.graph.shapes.classes import readable, superclasses
from exporter.graph.shapes.logic import All, Any, Not, Of, OfProperty, One, Qualified
from exporter.graph.shapes.together import Closed, Disjoint, Equals
from exporter.graph.shapes.values import OfClass

if TYPE_CHECKING:
    from exporter.graph.shapes.model import Constraint, Shape


@cache
def told_classes() -> frozenset[str]:
    """Classes that can be derived from an IRI, or whose subclasses can be, as whole IRIs."""
    return frozenset[str]().union(*(superclasses(name) for name in readable()))


def inner_shapes(constraint: Constraint) -> tuple[Shape, ...]:
    """The shapes that a constraint refers to."""
    if isinstance(constraint, All | Any | One):
        return constraint.shapes
    if isinstance(constraint, Not | Of | OfProperty):
        return (constraint.shape,)
    return (constraint.shape, *constraint.siblings) if isinstance(constraint, Qualified) else ()


def is_near(shape: Shape) -> bool:
    """Whether a shape with targets reads nothing but each focus node."""
    return not (shape.targets.nodes or shape.targets.objects_of) and _of_focus(shape)


def _of_focus(shape: Shape) -> bool:
    """The same for a shape whose focus node is the node itself."""
    if shape.is_deactivated:
        return True
    if shape.path and not shape.path.is_near:
        return False
    return all(_of_value(one) if shape.path else _of_node(one) for one in shape.constraints)


def _of_node(constraint: Constraint) -> bool:
    """The same for a constraint whose only value is the node itself."""
    return all(map(_of_focus, inner_shapes(constraint)))


def _of_value(constraint: Constraint) -> bool:
    """The same for a constraint whose values are values of the node."""
    if isinstance(constraint, OfClass) and constraint.class_.value not in told_classes():
        return False
    return not isinstance(constraint, Closed | OfProperty) and all(map(_of_other, inner_shapes(constraint)))


def _of_other(shape: Shape) -> bool:
    """The same for a shape whose focus node is a value of the node."""
    if shape.is_deactivated:
        return True
    is_alone = not any(isinstance(one, Equals | Disjoint) for one in shape.constraints)
    return is_alone and shape.path is None and all(map(_of_value, shape.constraints))
