"""The plan of a class of nodes: the least that has to be looked at to see that a node is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter.graph.shapes.logic import All, Not, Of, OfProperty, One
from exporter.graph.shapes.logic import Any as AnyOf
from exporter.graph.shapes.model import OfEach
from exporter.graph.shapes.one_node import OneNode, term_of, whole
from exporter.graph.shapes.paths import Predicate
from exporter.graph.shapes.quick import Quick, never
from exporter.graph.shapes.terms import TYPE, NamedNode
from exporter.graph.shapes.together import Closed, Disjoint, HasValue, LessThan, MaxCount, MinCount
from exporter.graph.terms import Node, full

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from exporter.graph.shapes.model import Constraint, Shape
    from exporter.graph.terms import NodeClass, Property, Value, Values

    Whole = Callable[[str, Values], bool]
    """A test of a node by its IRI and its values."""
    OfAll = Callable[[tuple[Value, ...]], bool]
    """A test of the values of one property."""

_NONE: Final = ()


class Plan:
    """``shapes``: those that may have something to say of the node."""

    __slots__ = ("_of_values", "_required", "_wholes", "shapes")

    def __init__(
        self,
        shapes: tuple[Shape, ...],
        required: tuple[str, ...],
        of_values: dict[str, OfAll],
        wholes: tuple[Whole, ...],
    ) -> None:
        self.shapes = shapes
        self._required = required
        self._of_values = of_values
        self._wholes = wholes

    def is_sound(self, iri: str, values: Values) -> bool:
        """Whether nothing can be found; where it is not, something may be."""
        for term in self._required:
            if term not in values:
                return False
        of_values = self._of_values
        for term, found in values.items():
            if not of_values[term](found):
                return False
        for whole_ in self._wholes:
            if not whole_(iri, values):
                return False
        return True
