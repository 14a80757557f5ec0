"""The shapes on one node at a time, as it is in memory.

Most nodes conform, so only finding that out has to be fast. The shapes that target a node's classes are compiled into
one :class:`ClassTests` for each class of nodes (and each tuple of types): the fewest tests, of values and of the whole
node, that show that a node conforms. A node that fails a test is validated by the shapes themselves, as in any graph.

What follows from the vocabulary's range is decided once: that an xsd:string is a string, that a reference is an IRI,
that a time has a year of four digits (:mod:`exporter.input.times` reads no other). Counts, lengths, patterns, bounds
and the classes of references remain to be tested. A constraint without a fast form is applied to the value, or to the
node, as in a graph. Each test gives the same result as its constraint: a value that passes is not validated again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from exporter.graph.shapes.classes import References, class_of, has_class_of_iri, superclasses
from exporter.graph.shapes.constraints import (
    NODE_KINDS,
    Bound,
    Closed,
    Count,
    Datatype,
    Disjoint,
    Equals,
    HasValue,
    In,
    Length,
    LessThan,
    Logic,
    NodeKind,
    OfClass,
    OfProperty,
    Pattern,
    UniqueLang,
)
from exporter.graph.shapes.literals import read
from exporter.graph.shapes.model import TYPE, Constraint, Literal, NamedNode, Shape, Term, ValueConstraint, component_of
from exporter.graph.shapes.neighbourhood import NeighbourhoodShapes, TooFarError, needed_by
from exporter.graph.shapes.on_graph import (
    NodeGraph,
    Result,
    in_order,
    iri_of,
    is_target,
    result_of,
    results_at,
    term_of,
)
from exporter.graph.shapes.paths import Predicate
from exporter.graph.shapes.reading import Shapes, load
from exporter.graph.terms import AH, Node, NodeClass, Property, Value, Values, full

ValueTest = Callable[[Any], bool]
"""A test of one value."""
ValuesTest = Callable[[tuple[Value, ...]], bool]
"""A test of all values of a property."""
NodeTest = Callable[[str, Values], bool]
"""A test of a node by its IRI and its values."""


WRONG_CLASS: Final = f"{AH}ANodeHasTheClassThatItsIriSays"
"""The shape of this result: no shape in a file can check it, since references know nodes only by their IRIs."""


class Checks:
    """Shapes, ready to validate nodes. ``neighbourhood``: those that look beyond a node but stay at one object, for the
    neighbourhoods of objects; ``needs_graph``: for each that looks further, and which only
    :func:`exporter.graph.shapes.on_graph.validate` applies to a whole graph, its name and the reason.
    """

    def __init__(self, shapes: Shapes) -> None:
        self._shapes: list[Shape] = []
        self.neighbourhood = NeighbourhoodShapes()
        self.needs_graph: list[str] = []
        for shape in shapes.targeted:
            try:
                needed = needed_by(shape)
            except TooFarError as error:
                self.needs_graph.append(str(error))
            else:
                self._shapes.append(shape) if needed is None else self.neighbourhood.add(shape, needed)
        self._plans: dict[str, dict[NodeClass, dict[tuple[str, ...], ClassTests]]] = {}

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
        if plan.conforms(node.iri, node.values):
            return []
        return self._validated(node, base, plan.shapes)

    def _planned(self, node: Node, base: str) -> ClassTests:
        plan = _Compiler(base, node.of, node.types).plan(self._shapes)
        self._plans.setdefault(base, {}).setdefault(node.of, {})[node.types] = plan
        return plan

    def _validated(self, node: Node, base: str, shapes: tuple[Shape, ...]) -> list[Result]:
        graph, focus = NodeGraph([node], base), iri_of(node, base)
        results = results_at([(shape, focus) for shape in shapes if is_target(focus, shape.targets, graph)], graph)
        if has_class_of_iri(node.types, base)(node.iri, node.values):
            return results
        message = f"the node should be a {class_of(node.iri, base)} by its IRI"
        component = component_of("sh:class")
        wrong = result_of(focus, WRONG_CLASS, None, focus, severity="Violation", component=component, message=message)
        return in_order([*results, wrong])


# --- tests of nodes ---------------------------------------------------------------------------------------------------


def fails(*_: object) -> bool:
    """The test that no node or value passes."""
    return False


def passes(*_: object) -> bool:
    """The test that every node or value passes."""
    return True


def if_any_term(terms: tuple[str, ...], test: NodeTest) -> NodeTest:
    """The test that only applies to nodes that have one of the terms; others pass."""
    return lambda iri, values: not any(term == "rdf:type" or term in values for term in terms) or test(iri, values)


def logic(constraint: Logic, tests: list[NodeTest]) -> NodeTest:
    """The tests of the shapes of a logical constraint, combined."""
    combined = constraint.combined
    if constraint.component != "sh:xone" or {*tests} <= {passes, fails}:
        at_least, at_most = combined(test is passes for test in tests), combined(test is not fails for test in tests)
        if at_least == at_most:
            return passes if at_least else fails
    tests = [test for test in tests if test is not fails]  # it changes nothing, else the result would be known now
    if len(tests) > 1:
        return lambda iri, values: combined([test(iri, values) for test in tests])  # faster than to stop early
    (only,) = tests
    return only if constraint.component != "sh:not" else lambda iri, values: not only(iri, values)


def in_time(term: str, other: str, *, is_inclusive: bool) -> NodeTest:
    """Whether every value of a term comes before every one of the other."""

    def is_in_time(_: str, values: Values) -> bool:
        last: Any
        first: Any
        if term not in values or other not in values:
            return True
        last, first = max(values[term]), min(values[other])
        return bool(last < first or (is_inclusive and last == first))

    return is_in_time


def not_itself(term: str, base: str) -> NodeTest:
    """Whether the node is none of the values of a term, in neither form of its IRI: whole, or a path."""

    def is_not_itself(iri: str, values: Values) -> bool:
        if term not in values:
            return True
        other = iri.removeprefix(base) if "://" in iri else base + iri
        return all(value not in {iri, other} for value in values[term])

    return is_not_itself


# --- tests of values --------------------------------------------------------------------------------------------------


_references: Final = cache(References)
"""Properties with the same class share what has passed."""


def test_of_value(constraint: ValueConstraint, predicate: Property, base: str) -> ValueTest | None:  # noqa: PLR0911 - one for each
    """The fast test of each value of a property; None where the constraint has none for such values."""
    is_literal, is_text = predicate.is_literal, predicate.range == "xsd:string"
    match constraint:
        case Datatype():
            return passes if is_literal and constraint.datatype.value == full(predicate.range) else fails
        case NodeKind():
            return passes if (Literal if is_literal else NamedNode) in NODE_KINDS[constraint.kind] else fails
        case OfClass():
            return fails if is_literal else _references(constraint.class_.value, base)
        case Pattern() if is_text:
            return constraint.expression.found
        case In() if is_text:
            return frozenset(term.value for term in constraint.terms if term == Literal(term.value)).__contains__
        case Length(bound=bound) if is_text and constraint.is_least:
            return bool if bound == 1 else lambda value: len(value) >= bound
        case Length(bound=bound) if is_text:
            return lambda value: len(value) <= bound
        case Bound() if predicate.range == "xsd:integer":
            reading = read(constraint.bound)
            limit = reading.value
            if reading.is_number and isinstance(limit, int):
                return lambda value: constraint.allows((value > limit) - (value < limit))
    return None


def test_of_values(constraint: Constraint, predicate: Property) -> ValuesTest | None:
    """The fast test of all values of a property together; None where the constraint has none for such values."""
    match constraint:
        case UniqueLang() | Count(bound=0 | 1):
            return passes
        case Count(bound=bound):
            return lambda values: len(values) >= bound
        case HasValue(term=term) if predicate.range == "xsd:string":
            return (lambda values: term.value in values) if term == Literal(term.value) else fails
    return None


def all_tests(most: int | None, of_each: list[ValueTest], of_all: list[ValuesTest]) -> ValuesTest:
    """All tests of a property's values as one; it is only applied to properties that have values. ``most``: how many
    there may be; ``of_each``: tests of each value; ``of_all``: of all values together.
    """
    if fails in of_each or most == 0:
        return fails
    if of_all:
        each_test = all_tests(most, of_each, [])
        return lambda values: each_test(values) and all(test(values) for test in of_all)
    if most == 1:
        return _of_one(of_each)
    of_many = _of_many(of_each)
    return of_many if most is None else lambda values: len(values) <= most and of_many(values)


def _of_one(tests: list[ValueTest]) -> ValuesTest:
    if not tests:
        return lambda values: len(values) == 1
    if len(tests) > 1:
        return lambda values: len(values) == 1 and all(test(values[0]) for test in tests)
    (test,) = tests
    if isinstance(test, References):
        passed = test.passed
        return lambda values: len(values) == 1 and (values[0] in passed or test(values[0]))
    return lambda values: len(values) == 1 and test(values[0])


def _of_many(tests: list[ValueTest]) -> ValuesTest:
    if not tests:
        return bool  # there are values
    if len(tests) > 1:
        return lambda values: all(test(value) for value in values for test in tests)
    (test,) = tests
    if isinstance(test, References):
        passed = test.passed
        return lambda values: passed.issuperset(values) or all(map(test, values))
    return lambda values: all(map(test, values))


# --- plans ------------------------------------------------------------------------------------------------------------


class ClassTests:
    """The tests of a class of nodes. ``shapes``: those that can have results at such nodes."""

    __slots__ = ("_node_tests", "_of_values", "_required", "shapes")

    def __init__(self, shapes: tuple[Shape, ...], tests: _CollectedTests, properties: Iterable[Property]) -> None:
        self.shapes = shapes
        self._required = tuple(tests.required)
        self._of_values = {predicate.term: tests.of(predicate.term) for predicate in properties}
        self._node_tests = tuple(tests.node_tests)

    def conforms(self, iri: str, values: Values) -> bool:
        """Whether the node conforms to all shapes of the plan."""
        for term in self._required:
            if term not in values:
                return False
        of_values = self._of_values
        for term, value in values.items():
            if not of_values[term](value):
                return False
        for test in self._node_tests:  # noqa: SIM110 - a loop is several times as fast as all() of few
            if not test(iri, values):
                return False
        return True


@dataclass
class _CollectedTests:
    """The tests, collected. ``of_each``: of each single value of a term; ``of_all``: of all its values together."""

    required: dict[str, None] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    of_each: defaultdict[str, list[ValueTest]] = field(default_factory=lambda: defaultdict(list))
    of_all: defaultdict[str, list[ValuesTest]] = field(default_factory=lambda: defaultdict(list))
    node_tests: list[NodeTest] = field(default_factory=list)

    def of(self, term: str) -> ValuesTest:
        """All tests of a term's values as one test."""
        return all_tests(self.most.get(term), self.of_each.get(term, []), self.of_all.get(term, []))

    def add_node_test(self, test: NodeTest) -> None:
        """Adds a test of the node."""
        if test is not passes:
            self.node_tests.append(test)

    def as_one(self) -> NodeTest:
        """All tests as one."""
        if fails in self.node_tests:
            return fails
        required, node_tests = tuple(self.required), tuple(self.node_tests)
        terms = {term: self.of(term) for term in {**self.most, **self.of_each, **self.of_all}}
        if not (required or node_tests or terms):
            return passes
        if len(required) == 1 and not node_tests and set(terms) <= set(required):
            (term,) = required
            test = terms.get(term, bool)  # there are values
            return lambda _, values: term in values and test(values[term])
        return lambda iri, values: (
            all(term in values for term in required)
            and all(test(values[term]) for term, test in terms.items() if term in values)
            and all(test(iri, values) for test in node_tests)
        )


class _Compiler:
    """Makes the plan of the nodes of one class with these types, in a graph below ``base``. ``_unknown`` stands for any
    of them: it has no values.
    """

    def __init__(self, base: str, node_class: NodeClass, types: tuple[str, ...]) -> None:
        self._base, self._of, self._types = base, node_class, types
        unknown = Node(node_class, "", types, {})
        self._unknown, self._focus = NodeGraph([unknown], base), iri_of(unknown, base)
        self._properties = {full(predicate.term): predicate for predicate in node_class.properties}

    def plan(self, shapes: Iterable[Shape]) -> ClassTests:
        """The plan of the nodes."""
        classes = frozenset[str]().union(*(superclasses(name) for name in self._types))
        terms = {iri: predicate.term for iri, predicate in self._properties.items()} | {TYPE.value: "rdf:type"}
        tests, applying = _CollectedTests(), []
        tests.add_node_test(has_class_of_iri(self._types, self._base))
        for shape in shapes:
            having = tuple(terms[iri.value] for iri in shape.targets.subjects_of if iri.value in terms)
            if any(class_.value in classes for class_ in shape.targets.classes):
                self.add(shape, tests)
            elif having:
                tests.add_node_test(if_any_term(having, self.as_one(shape)))
            else:
                continue
            applying.append(shape)
        return ClassTests(tuple(applying), tests, self._of.properties)

    def as_one(self, shape: Shape) -> NodeTest:
        """The test of whether a node conforms to the shape."""
        tests = _CollectedTests()
        self.add(shape, tests)
        return tests.as_one()

    def add(self, shape: Shape, tests: _CollectedTests) -> None:
        """Adds the tests of a shape whose focus node is the node itself."""
        for constraint in () if shape.is_deactivated else shape.constraints:
            if shape.path is None:
                self._add_of_node(shape, constraint, tests)
            elif not isinstance(shape.path, Predicate) or isinstance(constraint, Equals | Disjoint):
                tests.add_node_test(self._asked(shape, constraint))
            elif isinstance(constraint, LessThan):
                tests.add_node_test(self._order(shape, shape.path, constraint))
            elif shape.path.iri.value in self._properties:
                self._add_of_values(constraint, self._properties[shape.path.iri.value], tests)
            else:  # rdf:type, or a property that no node of the class has
                tests.add_node_test(self._decided(constraint, shape.path.values(self._unknown, self._focus)))

    def _add_of_values(self, constraint: Constraint, predicate: Property, tests: _CollectedTests) -> None:
        """Adds a constraint on the values of a property of the class."""
        term, base, unknown = predicate.term, self._base, self._unknown
        if self._decided(constraint, ()) is fails:
            tests.required[term] = None
        if isinstance(constraint, Count) and not constraint.is_least:
            tests.most[term] = min(constraint.bound, tests.most.get(term, constraint.bound))
        elif isinstance(constraint, ValueConstraint):
            test = test_of_value(constraint, predicate, base)
            if test is not passes:
                tests.of_each[term].append(
                    test or (lambda value: constraint.accepts(unknown, term_of(value, predicate, base)))
                )
        else:
            values_test = test_of_values(constraint, predicate)

            def asked(plain_values: tuple[Value, ...]) -> bool:
                values = {term_of(value, predicate, base): None for value in plain_values}
                return next(constraint.failing(unknown, self._focus, values), asked) is asked

            if values_test is not passes:
                tests.of_all[term].append(values_test or asked)

    def _add_of_node(self, shape: Shape, constraint: Constraint, tests: _CollectedTests) -> None:
        """Adds a constraint whose one value is the node itself."""
        if isinstance(constraint, OfProperty):
            self.add(constraint.shape, tests)
        elif isinstance(constraint, Closed):
            for iri, predicate in self._properties.items():
                if NamedNode(iri) not in constraint.allowed:
                    tests.of_each[predicate.term].append(fails)
            tests.add_node_test(self._decided(constraint, (self._focus,)))
        elif isinstance(constraint, Disjoint) and constraint.predicate.value in self._properties:
            tests.add_node_test(not_itself(self._properties[constraint.predicate.value].term, self._base))
        elif isinstance(constraint, Logic):
            tests.add_node_test(logic(constraint, list(map(self.as_one, constraint.shapes))))
        elif isinstance(constraint, NodeKind | OfClass | Datatype):
            tests.add_node_test(self._decided(constraint, (self._focus,)))
        else:
            tests.add_node_test(self._asked(shape, constraint))

    def _decided(self, constraint: Constraint, values: Collection[Term]) -> NodeTest:
        """The test for a constraint on values that are the same for all nodes, so that all give the same result."""
        return passes if next(constraint.failing(self._unknown, self._focus, values), self) is self else fails

    def _order(self, shape: Shape, path: Predicate, constraint: LessThan) -> NodeTest:
        """The test of whether the values of the path come before those of the other property."""
        own, other = (self._properties.get(iri.value) for iri in (path.iri, constraint.predicate))
        if own and other and own.range == other.range in {"xsd:dateTime", "xsd:integer"}:
            return in_time(own.term, other.term, is_inclusive=constraint.is_inclusive)
        if TYPE in {path.iri, constraint.predicate} or (own and other):
            return self._asked(shape, constraint)
        return passes  # one of the two has no values

    def _asked(self, shape: Shape, constraint: Constraint) -> NodeTest:
        """The test for a constraint without a faster form: it is applied to the whole node."""
        node_class, types, base = self._of, self._types, self._base

        def asked(iri: str, values: Values) -> bool:
            node = Node(node_class, iri, types, values)
            graph, focus = NodeGraph([node], base), iri_of(node, base)
            of_path = shape.path.values(graph, focus) if shape.path else (focus,)
            return next(constraint.failing(graph, focus, of_path), asked) is asked

        return asked
