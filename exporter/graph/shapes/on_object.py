"""Shapes that look around one object: they are applied to the nodes of its surroundings, which an export collects."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyoxigraph import Triple

from exporter.graph.shapes.classes import class_of, hierarchy, short, superclasses
from exporter.graph.shapes.data import Graph
from exporter.graph.shapes.on_graph import in_words
from exporter.graph.shapes.one_node import OneNode
from exporter.graph.shapes.results import Result, in_order
from exporter.graph.shapes.surroundings import types_of
from exporter.graph.shapes.terms import SUBCLASS, TYPE, NamedNode
from exporter.graph.shapes.ways import Reach
from exporter.graph.terms import full
from exporter.graph.vocabulary import NODE_CLASSES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from exporter.graph.shapes.model import Shape
    from exporter.graph.shapes.terms import Term
    from exporter.graph.terms import Node, NodeClass


@cache
def _ontology() -> Graph:
    """The triples of superclasses, which are added to every graph that is validated."""
    return Graph(hierarchy())


@cache
def _classes() -> frozenset[str]:
    """Every class of the ontology, as a whole IRI. Graphs state no more about a class than its superclasses."""
    known = frozenset(term.value for one in hierarchy() for term in (one.subject, one.object))  # type: ignore[union-attr]
    return known.union(*(map(full, types_of(of)) for of in NODE_CLASSES))


class Surroundings(Graph):
    """The graph of some nodes below ``base``. Of nodes that are only referred to, the class is derived from the IRI."""

    def __init__(self, nodes: Iterable[Node], base: str) -> None:
        self._base = base
        each = [OneNode(node, base) for node in nodes]
        super().__init__(Triple(one.focus, *said) for one in each for said in one.about(one.focus))

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


class AroundObjects:
    """Shapes that look around one object. ``reach``: what all of them together need from the surroundings."""

    def __init__(self, shapes: Iterable[tuple[Shape, Reach]]) -> None:
        self.reach = Reach()
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
        found = [
            in_words(one)
            for shape, nodes in targeted
            for focus in {OneNode(node, base).focus: None for node in nodes}
            for one in shape.results(graph, focus)
        ]
        return in_order(found)


def _is_target(shape: Shape, node: Node) -> bool:
    """Whether a shape targets the node."""
    targets = shape.targets
    said = {TYPE.value, *map(full, node.values)} if targets.subjects_of else ()
    return any(one.value in superclasses(name) for one in targets.classes for name in node.types) or any(
        one.value in said for one in targets.subjects_of
    )
