"""Shapes that look beyond a node, but stay around one object: on the nodes of the object's surroundings.

An export collects these nodes. How far a shape looks from its focus nodes decides which of these nodes and values it
needs (:mod:`exporter.graph.shapes.neighbourhood`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyoxigraph import Triple

from exporter.graph.shapes.components import classes_known_by_iri
from exporter.graph.shapes.constraints import Closed, Disjoint, Equals, LessThan, OfClass
from exporter.graph.shapes.model import SUBCLASS, TYPE, Graph, NamedNode
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
from exporter.graph.shapes.on_graph import NodeGraph, Result, in_order, in_words
from exporter.graph.shapes.values import class_of, hierarchy, short, superclasses
from exporter.graph.terms import full
from exporter.graph.vocabulary import NODE_CLASSES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from exporter.graph.shapes.model import Constraint, Shape, Term
    from exporter.graph.shapes.neighbourhood import Places
    from exporter.graph.terms import Node, NodeClass


def neighbourhood_of(shape: Shape) -> Neighbourhood:
    """What a shape with targets needs; raises TooFarError, with the name of the shape, where it looks further."""
    look = _Look(shape)
    try:
        look.at_shape(shape, look.at_targets())
    except TooFarError as error:
        is_named = look.part is not shape and not look.part.name.startswith("_:")
        raise TooFarError(f"{shape.name}{f' ({look.part.name})' if is_named else ''}: {error}") from None
    return look.follower.found


class _Look:
    """Follows a shape through its constraints. ``part``: the shape or inner shape that is followed now."""

    def __init__(self, shape: Shape) -> None:
        self.part = self._shape = shape
        self.follower = PathFollower()

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
            self.follower.step(focus, predicate)
            found |= focus
        return found

    def _focus(self, target: str, classes: Iterable[NodeClass]) -> Places:
        places: Places = {}
        for of in classes:
            if of not in OBJECT_OF:
                raise TooFarError(f"{target} looks for {a(of.name)}, {BEYOND}")
            places[self.follower.at(OWN, of)] = None
        return places

    def at_shape(self, shape: Shape, focus: Places) -> None:
        """Follows the constraints of a shape from these focus nodes."""
        if shape.is_deactivated:
            return
        outer, self.part, values = self.part, shape, focus
        if shape.path:
            self.follower.doing = f"the path {shape.path_text}"
            values = self.follower.forward(shape.path, focus)
        for constraint in shape.constraints:
            self.follower.doing = constraint.component
            self._at_constraint(constraint, focus, values)
        self.part = outer

    def _at_constraint(self, constraint: Constraint, focus: Places, values: Places) -> None:
        if isinstance(constraint, Equals | Disjoint | LessThan):
            self.follower.step(focus, constraint.predicate)
        elif isinstance(constraint, Closed):
            self._known(values, constraint.component)
            for value in values:
                for each in value.of.properties if isinstance(value, Kind) else ():
                    self.follower.asks(value.of, each.term)  # type: ignore[union-attr]  # a kind, since it has properties
        elif isinstance(constraint, OfClass) and constraint.class_.value not in classes_known_by_iri():
            self._known(values, f"sh:class {constraint.class_.value}")
        for inner in constraint.inner_shapes:
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
    known = frozenset(term.value for triple in hierarchy() for term in (triple.subject, triple.object))  # type: ignore[union-attr]  # terms
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
        return any(class_.value in superclasses(short(type_.value)) for type_ in types)


class NeighbourhoodShapes:
    """Shapes that look around one object. ``reach``: what all of them together need of its surroundings."""

    def __init__(self, shapes: Iterable[tuple[Shape, Neighbourhood]]) -> None:
        self.reach = Neighbourhood()
        self._shapes: list[Shape] = []
        for shape, neighbourhood in shapes:
            self._shapes.append(shape)
            self.reach.join(neighbourhood)

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


def around_objects(shapes: list[Shape]) -> tuple[NeighbourhoodShapes, tuple[str, ...]]:
    """The shapes that stay around one object, and for each other shape the reason why it does not."""
    around, reasons = [], []
    for shape in shapes:
        try:
            around.append((shape, neighbourhood_of(shape)))
        except TooFarError as error:
            reasons.append(str(error))
    return NeighbourhoodShapes(around), tuple(reasons)
