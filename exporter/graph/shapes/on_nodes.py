"""Shapes on the nodes of an export, one at a time, as they are in memory.

Most nodes conform, so only finding that out has to be fast. The shapes that target a node's classes are compiled into
one :class:`Plan` for each class of nodes (and each tuple of types): a few tests of counts and values. A node that fails
a test, or has a shape without a test, is validated by the shapes themselves, as in any graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.shapes.classes import class_of, superclasses
from exporter.graph.shapes.model import component_of
from exporter.graph.shapes.near import is_near
from exporter.graph.shapes.on_graph import in_words
from exporter.graph.shapes.on_object import AroundObjects
from exporter.graph.shapes.one_node import OneNode, whole
from exporter.graph.shapes.plans import Plan, Planner
from exporter.graph.shapes.reach import reach_of
from exporter.graph.shapes.reading import load
from exporter.graph.shapes.results import Result, Terms, in_order
from exporter.graph.shapes.terms import Literal, NamedNode
from exporter.graph.shapes.ways import TooFarError
from exporter.graph.terms import AH

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from exporter.graph.shapes.model import Shape
    from exporter.graph.shapes.reading import Shapes
    from exporter.graph.terms import Node, NodeClass

WRONG_CLASS: Final = f"{AH}ANodeHasTheClassThatItsIriSays"
"""The shape of this result: no shape in a file can check it, since references know nodes only by their IRIs."""


class Checks:
    """Shapes, ready to validate nodes. ``around``: those that look beyond a node but stay around one object, for the
    surroundings of objects; ``needs_graph``: those that look further, with the reason, which
    :func:`exporter.graph.shapes.on_graph.validate` applies to a whole graph.
    """

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = tuple(filter(is_near, shapes.targeted))
        self.around, self.needs_graph = _around([shape for shape in shapes.targeted if not is_near(shape)])
        self._plans: dict[str, dict[NodeClass, dict[tuple[str, ...], Plan]]] = {}
        self._planners: dict[str, Planner] = {}

    @classmethod
    def load(cls, extra_dirs: Iterable[Path] = ()) -> Checks:
        """The project's shapes and those in the folders; raises UsageError where one cannot be compiled."""
        return cls(load(extra_dirs))

    def check(self, node: Node, base: str) -> list[Result]:
        """The results of the shapes at a node of a graph below ``base``, in order; empty where it conforms."""
        try:
            plan = self._plans[base][node.of][node.types]
        except KeyError:
            plan = self._planned(node, base)
        if plan.is_sound(node.iri, node.values) and self._has_its_class(node, base):
            return []
        return self._looked_at(node, base, plan.shapes)

    def _planned(self, node: Node, base: str) -> Plan:
        if base not in self._planners:
            self._planners[base] = Planner(base)
        classes = frozenset[str]().union(*(superclasses(name) for name in node.types))
        shapes = [shape for shape in self._shapes if _may_target(shape, classes)]
        plan = self._planners[base].plan(node.of, node.types, shapes, classes)
        self._plans.setdefault(base, {}).setdefault(node.of, {})[node.types] = plan
        return plan

    def _looked_at(self, node: Node, base: str, shapes: tuple[Shape, ...]) -> list[Result]:
        data = OneNode(node, base)
        found = [
            in_words(one)
            for shape in shapes
            if any(map(data.is_a, shape.targets.classes)) or any(map(data.has, shape.targets.subjects_of))
            for one in shape.results(data, data.focus)
        ]
        if not self._has_its_class(node, base):
            message = f"the node should be a {class_of(node.iri, base)} by its IRI"
            focus = NamedNode(whole(node.iri, base))
            terms = Terms(str(focus), f"<{WRONG_CLASS}>", None, str(focus), (str(Literal(message)),))
            component = component_of("sh:class")
            found.append(Result(focus.value, WRONG_CLASS, None, focus.value, "Violation", message, component, terms))
        return in_order(found)

    @staticmethod
    def _has_its_class(node: Node, base: str) -> bool:
        said = class_of(node.iri, base)
        return said in node.types or (said == "ah:Query" and "ah:UnrecordedQuery" in node.types)


def _around(shapes: list[Shape]) -> tuple[AroundObjects, tuple[str, ...]]:
    """The shapes that stay around one object, and for each other shape the reason why it does not."""
    found, reasons = [], []
    for shape in shapes:
        try:
            found.append((shape, reach_of(shape)))
        except TooFarError as error:
            reasons.append(str(error))
    return AroundObjects(found), tuple(reasons)


def _may_target(shape: Shape, classes: frozenset[str]) -> bool:
    """Whether the shape targets nodes of these classes, or nodes that have a property."""
    return bool(shape.targets.subjects_of) or any(one.value in classes for one in shape.targets.classes)
