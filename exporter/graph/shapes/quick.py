"""Fast tests of values in memory: a constraint and a property of the vocabulary -> a function, or True or False.

What follows from the vocabulary's range is decided here once: that an xsd:string is a string, that a reference is an
IRI, that a time has a year of four digits (:mod:`exporter.input.times` reads no other). Counts, lengths, patterns,
bounds and the classes of references remain to be tested. A constraint without a fast form is applied to the value as a
term. Each test gives the same result as its constraint: a value that passes is not validated again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter.graph.shapes.classes import class_of, readable, superclasses
from exporter.graph.shapes.constraints import (
    NODE_KINDS,
    Bound,
    Datatype,
    HasValue,
    In,
    Length,
    MinCount,
    NodeKind,
    OfClass,
    Pattern,
    UniqueLang,
)
from exporter.graph.shapes.literals import read
from exporter.graph.shapes.model import XSD, Literal, NamedNode
from exporter.graph.shapes.on_graph import term_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.graph.shapes.model import Constraint, OfEach
    from exporter.graph.shapes.on_graph import NodeGraph
    from exporter.graph.terms import Property, Value

    Test = Callable[[Any], bool]
    """A test of one value."""
    OfAll = Callable[[tuple[Value, ...]], bool]
    """A test of all values of a property."""

REMEMBERED: Final = 50_000
"""How many references that passed are remembered for each class, before all are forgotten."""


class References:
    """Whether references are of a class, by their IRIs. Remembers those that passed."""

    def __init__(self, class_: str, base: str) -> None:
        self.passed: set[str] = set()
        self._base = base
        self._classes = frozenset(name for name in readable() if class_ in superclasses(name))

    def one(self, iri: str) -> bool:
        """Whether the IRI is of the class."""
        if iri in self.passed:
            return True
        if class_of(iri, self._base) not in self._classes:
            return False
        if len(self.passed) >= REMEMBERED:
            self.passed.clear()
        self.passed.add(iri)
        return True


def never(value: object) -> bool:  # noqa: ARG001 - a test
    """No value passes."""
    return False


class Quick:
    """Makes the tests for a graph below ``base``."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._references: dict[str, References] = {}

    def references(self, class_: str) -> References:
        """The references of a class; properties with the same class share them."""
        if class_ not in self._references:
            self._references[class_] = References(class_, self._base)
        return self._references[class_]

    def test(self, constraint: OfEach, predicate: Property, unknown: NodeGraph) -> Test | None:
        """The test of each value of a property; None where all values pass. ``unknown``: a node of the class without
        values, which stands for all such nodes where a constraint reads values alone.
        """
        for kind, make in _MAKERS.items():
            if isinstance(constraint, kind):
                test: Test | bool = make(self, constraint, predicate)
                return (None if test else never) if isinstance(test, bool) else test
        range_, base = predicate.range if predicate.is_literal else "IRI", self._base
        return lambda value: constraint.accepts(unknown, term_of(value, range_, base))

    def datatype(self, constraint: Datatype, one: Property) -> Test | bool:
        return one.is_literal and constraint.datatype.value == XSD + one.range.removeprefix("xsd:")

    def node_kind(self, constraint: NodeKind, one: Property) -> Test | bool:
        return (Literal if one.is_literal else NamedNode) in NODE_KINDS[constraint.kind]

    def class_(self, constraint: OfClass, one: Property) -> Test | bool:
        return False if one.is_literal else self.references(constraint.class_.value).one

    def length(self, constraint: Length, one: Property) -> Test | bool:
        bound = constraint.bound
        if not one.is_literal:
            base = self._base
            return lambda value: constraint.allows(len(whole(value, base)))
        if one.range != "xsd:string":
            return lambda value: constraint.allows(len(term_of(value, one.range, "").value))
        if not constraint.is_least:
            return lambda value: len(value) <= bound
        if bound <= 1:
            return bool if bound else True
        return lambda value: len(value) >= bound

    def pattern(self, constraint: Pattern, one: Property) -> Test | bool:
        found, base = constraint.expression.found, self._base
        if not one.is_literal:
            return lambda value: found(whole(value, base))
        if one.range != "xsd:string":
            return lambda value: found(term_of(value, one.range, "").value)
        return found

    def bound(self, constraint: Bound, one: Property) -> Test | bool:
        bound = read(constraint.bound)
        if one.range != "xsd:integer" or not bound.is_number or not isinstance(bound.value, int):
            range_, base = one.range if one.is_literal else "IRI", self._base
            return lambda value: constraint.accepts(None, term_of(value, range_, base))  # type: ignore[arg-type]
        limit = bound.value
        return lambda value: constraint.allows((value > limit) - (value < limit))

    def in_(self, constraint: In, one: Property) -> Test | bool:
        if one.range != "xsd:string":
            range_, base = one.range if one.is_literal else "IRI", self._base
            return lambda value: term_of(value, range_, base) in constraint.terms
        texts = frozenset(term.value for term in constraint.terms if term == Literal(term.value))
        return texts.__contains__


_MAKERS: Final[dict[type[OfEach], Callable[[Quick, Any, Property], Test | bool]]] = {
    Datatype: Quick.datatype,
    NodeKind: Quick.node_kind,
    OfClass: Quick.class_,
    Length: Quick.length,
    Pattern: Quick.pattern,
    Bound: Quick.bound,
    In: Quick.in_,
}


def to_values(constraint: Constraint, predicate: Property, unknown: NodeGraph, base: str) -> OfAll | None:
    """The test of all values of a property together; None where all values always pass."""
    range_ = predicate.range if predicate.is_literal else "IRI"
    if isinstance(constraint, UniqueLang) or (isinstance(constraint, MinCount) and constraint.count <= 1):
        return None
    if isinstance(constraint, MinCount):
        return lambda found: len(found) >= constraint.count
    if isinstance(constraint, HasValue) and range_ == "xsd:string":
        wanted = constraint.term.value
        return (lambda found: wanted in found) if constraint.term == Literal(wanted) else never

    def asked(found: tuple[Value, ...]) -> bool:
        values = {term_of(value, range_, base): None for value in found}
        return next(constraint.failing(unknown, unknown.focus, values), asked) is asked

    return asked


def of_all(most: int | None, each: list[Test], others: list[OfAll]) -> OfAll:
    """All tests of a property's values as one; it is only applied to properties that have values."""
    if never in each or most == 0:
        return never
    if others:
        rest = of_all(most, each, [])
        return lambda found: rest(found) and all(test(found) for test in others)
    if most == 1:
        return _of_one(each)
    of_many = _of_many(each)
    return of_many if most is None else lambda found: len(found) <= most and of_many(found)


def _of_one(each: list[Test]) -> OfAll:
    if not each:
        return lambda found: len(found) == 1
    if len(each) > 1:
        return lambda found: len(found) == 1 and all(test(found[0]) for test in each)
    (test,) = each
    references = getattr(test, "__self__", None)
    if isinstance(references, References):
        passed = references.passed
        return lambda found: len(found) == 1 and (found[0] in passed or test(found[0]))
    return lambda found: len(found) == 1 and test(found[0])


def _of_many(each: list[Test]) -> OfAll:
    if not each:
        return lambda found: True  # noqa: ARG005 - a test
    if len(each) > 1:
        return lambda found: all(test(value) for value in found for test in each)
    (test,) = each
    references = getattr(test, "__self__", None)
    if isinstance(references, References):
        passed = references.passed
        return lambda found: passed.issuperset(found) or all(map(test, found))
    return lambda found: all(map(test, found))
