"""What shapes consist of: RDF terms, documents, the graph that they read, shapes and constraints.

The same files of RDF always give the same names of blank nodes. A graph answers the questions that shapes ask; shapes
and constraints give their results at a focus node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple, parse

from exporter.graph.shapes.paths import Edges, PropertyPath
from exporter.graph.store import source_of
from exporter.system.reachable import reachable

__all__ = [
    "LANG_STRING", "RDF", "RDFS", "RESOURCE", "SH", "SUBCLASS", "TYPE", "XSD",
    "BlankNode", "Literal", "NamedNode", "Term", "sh", "text",
]  # fmt: skip

Term = NamedNode | BlankNode | Literal

SH: Final = "http://www.w3.org/ns/shacl#"
RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"

TYPE: Final = NamedNode(f"{RDF}type")
SUBCLASS: Final = NamedNode(f"{RDFS}subClassOf")
RESOURCE: Final = NamedNode(f"{RDFS}Resource")
LANG_STRING: Final = NamedNode(f"{RDF}langString")


def sh(name: str) -> NamedNode:
    """``path`` -> the SHACL term ``sh:path``."""
    return NamedNode(f"{SH}{name}")


def text(term: Term) -> str:
    """The term as results show it: the IRI, the lexical form, or ``_:name``."""
    return f"_:{term.value}" if isinstance(term, BlankNode) else term.value


class Documents:
    """Reads files one after the other. Blank nodes of different files are different nodes, even if named alike."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def triples(self, file: Path) -> Iterator[Triple]:
        """The triples of a file; raises UsageError where it cannot be read or parsed."""
        known: dict[BlankNode, BlankNode] = {}
        with source_of(file, f"{file}:") as source:
            for quad in parse(**source, base_iri=file.resolve().as_uri()):
                subject, object_ = quad.subject, quad.object
                if isinstance(subject, BlankNode):
                    subject = self._named(subject, known)
                if isinstance(object_, BlankNode):
                    object_ = self._named(object_, known)
                yield Triple(subject, quad.predicate, object_)

    def _named(self, node: BlankNode, known: dict[BlankNode, BlankNode]) -> BlankNode:
        """The blank node, named by the order in which it first appeared."""
        if node not in known:
            known[node] = BlankNode(f"b{next(self._numbers)}")
        return known[node]


class Data(Edges[Term], Protocol):
    """What shapes ask of a graph. A graph is a set of triples, so no answer has duplicates."""

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """Every property of a node with each of its values."""

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """Whether the node is an instance, by its types and their superclasses (SHACL, section 1.1)."""


Properties = dict[NamedNode, dict[Term, None]]
"""Properties of a node, with their values."""


class MemoryGraph:
    """Any graph in memory. It is indexed by subject; the index by predicate and object is made when first needed.
    ``by_subject``: the values of each subject's properties; complete before the first question.
    """

    def __init__(self, triples: Iterable[Triple | Quad] = ()) -> None:
        self.by_subject: dict[Term, Properties] = {}
        self._to: dict[NamedNode, dict[Term, dict[Term, None]]] | None = None
        self._above: dict[Term, frozenset[Term]] = {}
        for triple in triples:
            predicate, value = triple.predicate, triple.object
            properties = self.by_subject.setdefault(triple.subject, {})  # type: ignore[arg-type]  # no subject is a triple
            if predicate in properties:
                properties[predicate][value] = None  # type: ignore[index]  # no value is a triple
            else:
                properties[predicate] = {value: None}  # type: ignore[dict-item]  # no value is a triple

    def __len__(self) -> int:
        return sum(len(values) for properties in self.by_subject.values() for values in properties.values())

    def objects(self, subject: Term, predicate: NamedNode) -> Collection[Term]:
        """As :class:`Data`."""
        return self.by_subject.get(subject, _NOTHING).get(predicate, _NOBODY)

    def subjects(self, predicate: NamedNode, value: Term) -> Collection[Term]:
        """As :class:`Data`."""
        return self._index().get(predicate, _NO_VALUES).get(value, _NOBODY)

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """As :class:`Data`."""
        for predicate, values in self.by_subject.get(subject, _NOTHING).items():
            for value in values:
                yield predicate, value

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """As :class:`Data`."""
        if isinstance(node, Literal):
            return False
        return any(class_ in self.superclasses(own_class) for own_class in self.objects(node, TYPE))

    def pairs(self, predicate: NamedNode) -> Iterator[tuple[Term, Collection[Term]]]:
        """Every value of a property, with the nodes that have it."""
        yield from self._index().get(predicate, _NO_VALUES).items()

    def instances(self, class_: Term) -> Iterator[Term]:
        """The instances of a class and of its subclasses; some may come more than once."""
        for subclass in reachable([class_], lambda subclass: self.subjects(SUBCLASS, subclass)):
            yield from self.subjects(TYPE, subclass)

    def _index(self) -> dict[NamedNode, dict[Term, dict[Term, None]]]:
        if self._to is None:
            self._to = {}
            for subject, properties in self.by_subject.items():
                for predicate, values in properties.items():
                    by_value = self._to.setdefault(predicate, {})
                    for value in values:
                        by_value.setdefault(value, {})[subject] = None
        return self._to

    def superclasses(self, class_: Term) -> frozenset[Term]:
        """The class and all of its superclasses."""
        if class_ not in self._above:
            self._above[class_] = frozenset(reachable([class_], lambda subclass: self.objects(subclass, SUBCLASS)))
        return self._above[class_]


_NOBODY: dict[Term, None] = {}
_NOTHING: Properties = {}
_NO_VALUES: dict[Term, dict[Term, None]] = {}


class Finding(NamedTuple):
    """A result before its message is made. ``path``: None for the node as a whole; ``value``: None where no single
    value is at fault.
    """

    focus: Term
    shape: Shape
    path: PropertyPath | None
    value: Term | None
    constraint: Constraint


@dataclass(frozen=True)
class Constraint(ABC):
    """One constraint of a shape. ``component``: the SHACL parameter that declares it, such as ``sh:minCount``."""

    component: str

    @property
    def inner_shapes(self) -> tuple[Shape, ...]:
        """The shapes that it refers to."""
        return ()

    @property
    def component_iri(self) -> str:
        """The IRI of its constraint component, such as ``…MinCountConstraintComponent`` (SHACL, section 4)."""
        return component_of(self.component)

    @abstractmethod
    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        """The value of each result, None for a result without a value; empty where the constraint is met.

        ``values``: the value nodes; for a node shape, the focus node alone.
        """

    def found(self, shape: Shape, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Finding]:
        """The results."""
        for value in self.failing(data, focus, values):
            yield Finding(focus, shape, shape.path, value, self)


def component_of(parameter: str) -> str:
    """``sh:minCount`` -> the IRI of the component that SHACL names after this parameter."""
    name = parameter.removeprefix("sh:")
    return f"{SH}{name[0].upper()}{name[1:]}ConstraintComponent"


@dataclass(frozen=True)
class ValueConstraint(Constraint):
    """A constraint that is decided for each value node by itself."""

    @abstractmethod
    def accepts(self, data: Data, value: Term) -> bool:
        """Whether the value meets the constraint."""

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002 - the class has this parameter
        for value in values:
            if not self.accepts(data, value):
                yield value


@dataclass(frozen=True)
class Targets:
    """Which nodes a shape applies to (SHACL, section 2.1.3). ``classes`` has the shape itself if it is also a class."""

    classes: tuple[NamedNode, ...] = ()
    nodes: tuple[Term, ...] = ()
    subjects_of: tuple[NamedNode, ...] = ()
    objects_of: tuple[NamedNode, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.classes or self.nodes or self.subjects_of or self.objects_of)


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape. ``name``: its IRI, or ``_:name``; ``shown``: as results name it; ``file``: where it was read;
    ``path``: None for a node shape;
    ``severity``: as in :class:`~exporter.graph.shapes.on_graph.Result`; ``messages``: its sh:message, in the order of
    their texts.
    """

    name: str
    shown: str
    file: str
    path: PropertyPath | None
    targets: Targets
    constraints: tuple[Constraint, ...]
    severity: str = "Violation"
    messages: tuple[Literal, ...] = ()
    is_deactivated: bool = False

    @property
    def path_text(self) -> str | None:
        """The path as it is written in a result."""
        return self.path.text if self.path else None

    def results(self, data: Data, focus: Term) -> Iterator[Finding]:
        """The results of the shape at a focus node."""
        if self.is_deactivated:
            return
        values: Collection[Term] = self.path.values(data, focus) if self.path else (focus,)
        for constraint in self.constraints:
            yield from constraint.found(self, data, focus, values)

    def accepts(self, data: Data, focus: Term) -> bool:
        """Whether the node conforms: there is no result of any severity (SHACL, section 3.4.3)."""
        return next(self.results(data, focus), None) is None
