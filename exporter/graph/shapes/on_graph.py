"""Shapes on any RDF graph, or on one node as a graph of its own where the fast tests do not settle the matter."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.shapes.classes import class_of, superclasses
from exporter.graph.shapes.model import TYPE, XSD, BlankNode, Graph, Literal, NamedNode, Term, text
from exporter.graph.shapes.results import Result, Terms, in_order
from exporter.graph.terms import full
from exporter.input.times import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from pyoxigraph import Quad, Triple

    from exporter.graph.shapes.model import Finding, Shape, Targets
    from exporter.graph.shapes.reading import Shapes
    from exporter.graph.terms import Node, NodeClass, Property, Value

_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "xsd:dateTime": iso,
    "xsd:integer": str,
    "xsd:boolean": lambda value: "true" if value else "false",
}


def whole(iri: str, base: str) -> str:
    """An IRI as a node has it (a path or whole) -> the whole IRI."""
    return iri if "://" in iri else base + iri


def term_of(value: Value, range_: str, base: str) -> Term:
    """A value in memory as an RDF term, by the range of its property."""
    if range_ == "xsd:string":
        return Literal(str(value))
    if range_ in _TEXTS:
        return Literal(_TEXTS[range_](value), datatype=NamedNode(XSD + range_.removeprefix("xsd:")))
    return NamedNode(whole(str(value), base))


class NodeGraph:
    """The triples of one node (:class:`exporter.graph.shapes.model.Data`). For other nodes, the class is derived from
    the IRI.
    """

    def __init__(self, node: Node, base: str) -> None:
        self.focus = NamedNode(whole(node.iri, base))
        self._base = base
        self._classes = frozenset[str]().union(*(superclasses(name) for name in node.types))
        self._of: dict[NamedNode, dict[Term, None]] = {TYPE: {NamedNode(full(name)): None for name in node.types}}
        ranges = _properties(node.of)
        for name, values in node.values.items():
            predicate, range_ = ranges[name]
            self._of[predicate] = {term_of(value, range_, base): None for value in values}

    def objects(self, subject: Term, predicate: NamedNode) -> Collection[Term]:
        """The values of the node's property."""
        return self._described(subject).get(predicate, {})

    def subjects(self, predicate: NamedNode, value: Term) -> Collection[Term]:
        """Always raises LookupError: a node alone does not show what refers to it. Near shapes never ask."""
        raise LookupError(f"who has {value} as {predicate}")

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """Every property of the node with each of its values."""
        for predicate, values in self._described(subject).items():
            for value in values:
                yield predicate, value

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """Whether the node is an instance; for another node, whether its IRI says so."""
        if node == self.focus:
            return class_.value in self._classes
        return isinstance(node, NamedNode) and class_.value in superclasses(class_of(node.value, self._base))

    def has(self, predicate: NamedNode) -> bool:
        """Whether the node has the property."""
        return bool(self._of.get(predicate))

    def is_a(self, class_: NamedNode) -> bool:
        """Whether the node is an instance."""
        return class_.value in self._classes

    def _described(self, subject: Term) -> dict[NamedNode, dict[Term, None]]:
        if subject != self.focus or isinstance(subject, BlankNode):
            raise LookupError(f"what {subject} is")
        return self._of


@lru_cache(maxsize=1_000)
def _properties(of: NodeClass) -> dict[str, tuple[NamedNode, str]]:
    """By term: its predicate, and the range by which its values are written."""
    return {predicate.term: (NamedNode(full(predicate.term)), _range(predicate)) for predicate in of.properties}


def _range(predicate: Property) -> str:
    return predicate.range if predicate.is_literal else "IRI"


def validate(triples: Graph | Iterable[Triple | Quad], shapes: Shapes) -> list[Result]:
    """The results of the shapes on the graph, in order. Names of graphs are ignored: all quads are one graph.

    Only superclasses that the graph states are known: add those of the ontology
    (:func:`exporter.graph.shapes.classes.hierarchy`).
    """
    graph = triples if isinstance(triples, Graph) else Graph(triples)
    return in_order(
        [
            in_words(result)
            for shape in shapes.targeted
            for focus in focus_nodes(graph, shape.targets)
            for result in shape.results(graph, focus)
        ]
    )


def focus_nodes(graph: Graph, targets: Targets) -> dict[Term, None]:
    """The nodes that a shape applies to (SHACL, section 2.1.3)."""
    found: dict[Term, None] = dict.fromkeys(targets.nodes)
    for class_ in targets.classes:
        found |= dict.fromkeys(graph.instances(class_))
    for predicate in targets.subjects_of:
        found |= {subject: None for _, subjects in graph.pairs(predicate) for subject in subjects}
    for predicate in targets.objects_of:
        found |= {value: None for value, _ in graph.pairs(predicate)}
    return found


def in_words(finding: Finding) -> Result:
    """The result with all its parts as texts."""
    shape, value, path = finding.shape, finding.value, finding.path
    return Result(
        text(finding.focus),
        shape.name,
        None if path is None else path.text,
        None if value is None else text(value),
        shape.severity,
        " ".join([message.value for message in shape.messages]) or _default_message(shape, finding),
        finding.constraint.component_iri,
        Terms(
            str(finding.focus),
            shape.name if shape.name.startswith("_:") else f"<{shape.name}>",
            None if path is None else path.turtle,
            None if value is None else str(value),
            tuple(map(str, shape.messages)),
        ),
    )


def _default_message(shape: Shape, finding: Finding) -> str:
    """The message for a shape that has no sh:message."""
    where = "" if shape.path is None else f" on {shape.path}"
    return f"does not meet {finding.constraint.component}{where}"
