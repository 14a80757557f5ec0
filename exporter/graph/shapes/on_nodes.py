"""Shapes on the nodes of an export: on one at a time as they are in memory, or on those around an object.

Most nodes conform, so only finding that out has to be fast. The shapes that target a node's classes are compiled into
one :class:`Plan` for each class of nodes (and each tuple of types): a few tests of counts and values. A node that fails
a test, or has a shape without a test, is validated by the shapes themselves, as in any graph.

A shape that looks further is applied to the nodes of an object's surroundings, which an export collects. How far it
looks from its focus nodes decides which of these nodes and values it needs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from pyoxigraph import Triple

from exporter.graph.shapes.classes import class_of, hierarchy, short, superclasses
from exporter.graph.shapes.components import classes_known_by_iri, inner_shapes, is_local
from exporter.graph.shapes.constraints import Closed, Disjoint, Equals, LessThan, OfClass
from exporter.graph.shapes.model import SUBCLASS, TYPE, Graph, Literal, NamedNode, component_of
from exporter.graph.shapes.neighbourhood import (
    BEYOND,
    OBJECT_OF,
    OWN,
    Kind,
    Neighbourhood,
    Outside,
    PathFollower,
    TooFarError,
    a,
    can_be,
    property_of,
    types_of,
)
from exporter.graph.shapes.node_plans import Plan, Planner
from exporter.graph.shapes.on_graph import NodeGraph, in_words, whole
from exporter.graph.shapes.reading import load
from exporter.graph.shapes.results import Result, Terms, in_order
from exporter.graph.terms import AH, full
from exporter.graph.vocabulary import NODE_CLASSES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from exporter.graph.shapes.model import Constraint, Shape, Term
    from exporter.graph.shapes.neighbourhood import Places
    from exporter.graph.shapes.reading import Shapes
    from exporter.graph.terms import Node, NodeClass


def neighbourhood_of(shape: Shape) -> Neighbourhood:
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
        self.ways = PathFollower()

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
            for value in values:
                for each in value.of.properties if isinstance(value, Kind) else ():
                    self.ways.asks(value.of, each.term)  # type: ignore[union-attr]
        elif isinstance(constraint, OfClass) and constraint.class_.value not in classes_known_by_iri():
            self._known(values, f"sh:class {constraint.class_.value}")
        for inner in inner_shapes(constraint):
            self.at_shape(inner, values)

    @staticmethod
    def _known(values: Places, what: str) -> None:
        for value in values:
            if isinstance(value, Outside):
                raise TooFarError(f"{what} of {a(value.name)}, {BEYOND}")


@cache
def _ontology() -> Graph:
    """The triples of superclasses, which are added to every graph that is validated."""
    return Graph(hierarchy())


@cache
def _classes() -> frozenset[str]:
    """Every class of the ontology, as a whole IRI. Graphs state no more about a class than its superclasses."""
    known = frozenset(term.value for triple in hierarchy() for term in (triple.subject, triple.object))  # type: ignore[union-attr]
    return known.union(*(map(full, types_of(of)) for of in NODE_CLASSES))


class Surroundings(Graph):
    """The graph of some nodes below ``base``. Of nodes that are only referred to, the class is derived from the IRI."""

    def __init__(self, nodes: Iterable[Node], base: str) -> None:
        self._base = base
        each = [NodeGraph(node, base) for node in nodes]
        super().__init__(
            Triple(node_graph.focus, *said) for node_graph in each for said in node_graph.about(node_graph.focus)
        )

    def objects(self, subject: Term, predicate: NamedNode) -> Collection[Term]:
        """The values of a property."""
        return _ontology().objects(subject, predicate) if predicate == SUBCLASS else super().objects(subject, predicate)

    def subjects(self, predicate: NamedNode, value: Term) -> Collection[Term]:
        """The nodes that have the value."""
        return _ontology().subjects(predicate, value) if predicate == SUBCLASS else super().subjects(predicate, value)

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """Every property of a node with each of its values."""
        yield from super().about(subject)
        yield from _ontology().about(subject)

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """Whether the node is an instance, by its types; by its IRI where the node itself is not in this graph."""
        if not isinstance(node, NamedNode) or node.value in _classes():
            return False
        types = super().objects(node, TYPE)
        if not types:
            return class_.value in superclasses(class_of(node.value, self._base))
        return any(class_.value in superclasses(short(one.value)) for one in types)


class NeighbourhoodShapes:
    """Shapes that look around one object. ``reach``: what all of them together need from the surroundings."""

    def __init__(self, shapes: Iterable[tuple[Shape, Neighbourhood]]) -> None:
        self.reach = Neighbourhood()
        self._shapes: list[Shape] = []
        for shape, reach in shapes:
            self._shapes.append(shape)
            self.reach.join(reach)

    def __bool__(self) -> bool:
        return bool(self._shapes)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the shapes."""
        return tuple(shape.name for shape in self._shapes)

    def asked_of(self, node: Node) -> Node:
        """The node with only those values that the shapes need."""
        terms = self.reach.terms.get(node.of, ())
        return node._replace(values={term: values for term, values in node.values.items() if term in terms})

    def needs(self, of: NodeClass, ring: str) -> bool:
        """Whether the shapes need nodes of a class in a ring of the surroundings."""
        return of in self.reach.rings.get(ring, ())

    def check(self, own: list[Node], others: list[Node], base: str) -> list[Result]:
        """The results of the shapes at an object's own nodes, in order; ``others``: the rest of its surroundings."""
        targeted = [(shape, [node for node in own if _is_target(shape, node)]) for shape in self._shapes]
        if not any(nodes for _, nodes in targeted):
            return []
        graph = Surroundings([*own, *others], base)
        results = [
            in_words(result)
            for shape, nodes in targeted
            for focus in {NodeGraph(node, base).focus: None for node in nodes}
            for result in shape.results(graph, focus)
        ]
        return in_order(results)


def _is_target(shape: Shape, node: Node) -> bool:
    """Whether a shape targets the node."""
    targets = shape.targets
    said = {TYPE.value, *map(full, node.values)} if targets.subjects_of else ()
    return any(node_class.value in superclasses(name) for node_class in targets.classes for name in node.types) or any(
        subject.value in said for subject in targets.subjects_of
    )


WRONG_CLASS: Final = f"{AH}ANodeHasTheClassThatItsIriSays"
"""The shape of this result: no shape in a file can check it, since references know nodes only by their IRIs."""


class Checks:
    """Shapes, ready to validate nodes. ``around``: those that look beyond a node but stay around one object, for the
    surroundings of objects; ``needs_graph``: those that look further, with the reason, which
    :func:`exporter.graph.shapes.on_graph.validate` applies to a whole graph.
    """

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = tuple(filter(is_local, shapes.targeted))
        self.around, self.needs_graph = _around([shape for shape in shapes.targeted if not is_local(shape)])
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
        return self._validated(node, base, plan.shapes)

    def _planned(self, node: Node, base: str) -> Plan:
        if base not in self._planners:
            self._planners[base] = Planner(base)
        classes = frozenset[str]().union(*(superclasses(name) for name in node.types))
        shapes = [shape for shape in self._shapes if _may_target(shape, classes)]
        plan = self._planners[base].plan(node.of, node.types, shapes, classes)
        self._plans.setdefault(base, {}).setdefault(node.of, {})[node.types] = plan
        return plan

    def _validated(self, node: Node, base: str, shapes: tuple[Shape, ...]) -> list[Result]:
        data = NodeGraph(node, base)
        results = [
            in_words(result)
            for shape in shapes
            if any(map(data.is_a, shape.targets.classes)) or any(map(data.has, shape.targets.subjects_of))
            for result in shape.results(data, data.focus)
        ]
        if not self._has_its_class(node, base):
            message = f"the node should be a {class_of(node.iri, base)} by its IRI"
            focus = NamedNode(whole(node.iri, base))
            terms = Terms(str(focus), f"<{WRONG_CLASS}>", None, str(focus), (str(Literal(message)),))
            component = component_of("sh:class")
            results.append(Result(focus.value, WRONG_CLASS, None, focus.value, "Violation", message, component, terms))
        return in_order(results)

    @staticmethod
    def _has_its_class(node: Node, base: str) -> bool:
        text = class_of(node.iri, base)
        return text in node.types or (text == "ah:Query" and "ah:UnrecordedQuery" in node.types)


def _around(shapes: list[Shape]) -> tuple[NeighbourhoodShapes, tuple[str, ...]]:
    """The shapes that stay around one object, and for each other shape the reason why it does not."""
    found, reasons = [], []
    for shape in shapes:
        try:
            found.append((shape, neighbourhood_of(shape)))
        except TooFarError as error:
            reasons.append(str(error))
    return NeighbourhoodShapes(found), tuple(reasons)


def _may_target(shape: Shape, classes: frozenset[str]) -> bool:
    """Whether the shape targets nodes of these classes, or nodes that have a property."""
    return bool(shape.targets.subjects_of) or any(node_class.value in classes for node_class in shape.targets.classes)
