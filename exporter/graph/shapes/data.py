"""The graph that shapes read: the questions that they ask, and a graph in memory that answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from exporter.graph.shapes.terms import SUBCLASS, TYPE, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyoxigraph import NamedNode, Quad, Triple

    from exporter.graph.shapes.terms import Term


class Data(Protocol):
    """What shapes ask of a graph. A graph is a set of triples, so no answer has duplicates."""

    def objects(self, subject: Term, predicate: NamedNode) -> Collection[Term]:
        """The values of a property."""

    def subjects(self, predicate: NamedNode, value: Term) -> Collection[Term]:
        """The nodes that have the value for the property."""

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """Every property of a node with each of its values."""

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """Whether the node is an instance, by its types and their superclasses (SHACL, section 1.1)."""


class Graph:
    """Any graph in memory. It is indexed by subject; the index by predicate and object is made when first needed."""

    def __init__(self, triples: Iterable[Triple | Quad]) -> None:
        self._of: dict[Term, dict[NamedNode, dict[Term, None]]] = {}
        self._to: dict[NamedNode, dict[Term, dict[Term, None]]] | None = None
        self._above: dict[Term, frozenset[Term]] = {}
        for one in triples:
            predicate, value = one.predicate, one.object
            of = self._of.setdefault(one.subject, {})  # type: ignore[arg-type]
            if predicate in of:
                of[predicate][value] = None  # type: ignore[index]
            else:
                of[predicate] = {value: None}  # type: ignore[dict-item]

    def __len__(self) -> int:
        return sum(len(values) for of in self._of.values() for values in of.values())

    def objects(self, subject: Term, predicate: NamedNode) -> Collection[Term]:
        """As :class:`Data`."""
        return self._of.get(subject, _NOTHING).get(predicate, _NOBODY)

    def subjects(self, predicate: NamedNode, value: Term) -> Collection[Term]:
        """As :class:`Data`."""
        return self._index().get(predicate, _NO_VALUES).get(value, _NOBODY)

    def about(self, subject: Term) -> Iterator[tuple[NamedNode, Term]]:
        """As :class:`Data`."""
        for predicate, values in self._of.get(subject, _NOTHING).items():
            for value in values:
                yield predicate, value

    def has_class(self, node: Term, class_: NamedNode) -> bool:
        """As :class:`Data`."""
        if isinstance(node, Literal):
            return False
        return any(class_ in self._superclasses(one) for one in self.objects(node, TYPE))

    def pairs(self, predicate: NamedNode) -> Iterator[tuple[Term, Collection[Term]]]:
        """Every value of a property, with the nodes that have it."""
        yield from self._index().get(predicate, _NO_VALUES).items()

    def instances(self, class_: NamedNode) -> Iterator[Term]:
        """The instances of a class and of its subclasses; some may come more than once."""
        seen: set[Term] = set()
        todo: list[Term] = [class_]
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo.extend(self.subjects(SUBCLASS, one))
                yield from self.subjects(TYPE, one)

    def _index(self) -> dict[NamedNode, dict[Term, dict[Term, None]]]:
        if self._to is None:
            self._to = {}
            for subject, of in self._of.items():
                for predicate, values in of.items():
                    to = self._to.setdefault(predicate, {})
                    for value in values:
                        to.setdefault(value, {})[subject] = None
        return self._to

    def _superclasses(self, class_: Term) -> frozenset[Term]:
        """The class and all of its superclasses."""
        if class_ not in self._above:
            found: set[Term] = set()
            todo = [class_]
            while todo:
                one = todo.pop()
                if one not in found:
                    found.add(one)
                    todo.extend(self.objects(one, SUBCLASS))
            self._above[class_] = frozenset(found)
        return self._above[class_]


_NOBODY: dict[Term, None] = {}
_NOTHING: dict[NamedNode, dict[Term, None]] = {}
_NO_VALUES: dict[Term, dict[Term, None]] = {}
