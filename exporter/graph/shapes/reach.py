"""How far a shape looks from its focus nodes: whether it stays within the surroundings of one object, and which of
these nodes and values it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.shapes.near import inner_shapes, told_classes
from exporter.graph.shapes.surroundings import OBJECT_OF, can_be
from exporter.graph.shapes.terms import SUBCLASS, TYPE
from exporter.graph.shapes.together import Closed, Disjoint, Equals, LessThan
from exporter.graph.shapes.values import OfClass
from exporter.graph.shapes.ways import BEYOND, OWN, Kind, Outside, TooFarError, Ways, a, property_of
from exporter.graph.vocabulary import NODE_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.shapes.model import Constraint, Shape
    from exporter.graph.shapes.ways import Places, Reach
    from exporter.graph.terms import NodeClass


def reach_of(shape: Shape) -> Reach:
    """What a shape with targets needs; raises TooFarError, with the name of the shape, where it looks further."""
    look = _Look(shape)
    try:
        look.at_shape(shape, look.at_targets())
    except TooFarError as error:
        is_named = look.part is not shape and not look.part.name.startswith("_:")
        raise TooFarError(f"{shape.name}{f' ({look.part.name})' if is_named else ''}: {error}") from None
    return look.ways.found


class _Look:
    """Follows a shape through its constraints. ``part``: the shape or inner shape that is followed now."""

    def __init__(self, shape: Shape) -> None:
        self.part = self._shape = shape
        self.ways = Ways()

    def at_targets(self) -> Places:
        """The nodes that the shape targets."""
        targets = self._shape.targets
        if targets.nodes:
            raise TooFarError("sh:targetNode, since the node may be absent")
        if targets.objects_of:
            raise TooFarError("sh:targetObjectsOf")
        found: Places = {}
        for class_ in targets.classes:
            found |= self._focus(
                f"sh:targetClass {class_.value}", [of for of in NODE_CLASSES if can_be(of, class_.value)]
            )
        for predicate in targets.subjects_of:
            if predicate == SUBCLASS:
                raise TooFarError(f"sh:targetSubjectsOf {predicate.value}, which only the ontology has")
            having = [of for of in NODE_CLASSES if predicate == TYPE or property_of(of, predicate)]
            focus = self._focus(f"sh:targetSubjectsOf {predicate.value}", having)
            self.ways.step(focus, predicate)
            found |= focus
        return found

    def _focus(self, target: str, classes: Iterable[NodeClass]) -> Places:
        found: Places = {}
        for of in classes:
            if of not in OBJECT_OF:
                raise TooFarError(f"{target} looks for {a(of.name)}, {BEYOND}")
            found[self.ways.at(OWN, of)] = None
        return found

    def at_shape(self, shape: Shape, focus: Places) -> None:
        """Follows the constraints of a shape from these focus nodes."""
        if shape.is_deactivated:
            return
        outer, self.part, values = self.part, shape, focus
        if shape.path:
            self.ways.doing = f"the path {shape.path_text}"
            values = self.ways.forward(shape.path, focus)
        for constraint in shape.constraints:
            self.ways.doing = constraint.component
            self._at_constraint(constraint, focus, values)
        self.part = outer

    def _at_constraint(self, constraint: Constraint, focus: Places, values: Places) -> None:
        if isinstance(constraint, Equals | Disjoint | LessThan):
            self.ways.step(focus, constraint.predicate)
        elif isinstance(constraint, Closed):
            self._known(values, constraint.component)
            for one in values:
                for each in one.of.properties if isinstance(one, Kind) else ():
                    self.ways.asks(one.of, each.term)  # type: ignore[union-attr]
        elif isinstance(constraint, OfClass) and constraint.class_.value not in told_classes():
            self._known(values, f"sh:class {constraint.class_.value}")
        for inner in inner_shapes(constraint):
            self.at_shape(inner, values)

    @staticmethod
    def _known(values: Places, what: str) -> None:
        for one in values:
            if isinstance(one, Outside):
                raise TooFarError(f"{what} of {a(one.name)}, {BEYOND}")
