"""The shapes on one node at a time, as it is in memory.

Most nodes conform, so only finding that out has to be fast. The shapes that target a node's classes are compiled into
one :class:`Plan` for each class of nodes (and each tuple of types): the fewest tests, of values
(:mod:`exporter.graph.shapes.values`) and of the whole node, that show that a node conforms. A node that fails a test,
or has a shape without a test, is validated by the shapes themselves, as in any graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.shapes.constraints import Closed, Count, Disjoint, Equals, LessThan, Logic, OfProperty
from exporter.graph.shapes.model import TYPE, NamedNode, OfEach, component_of
from exporter.graph.shapes.neighbourhood import NeighbourhoodShapes, TooFarError, needed_by
from exporter.graph.shapes.on_graph import NodeGraph, Result, in_order, iri_of, is_target, result_of, results_at
from exporter.graph.shapes.paths import Predicate
from exporter.graph.shapes.reading import load
from exporter.graph.shapes.values import (
    Quick,
    class_of,
    never,
    of_all,
    superclasses,
    test_of_class,
    to_values,
)
from exporter.graph.terms import AH, Node, full

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from exporter.graph.shapes.model import Constraint, Shape, Term
    from exporter.graph.shapes.reading import Shapes
    from exporter.graph.shapes.values import OfAll, Test, Whole
    from exporter.graph.terms import NodeClass, Property, Values


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
        self._plans: dict[str, dict[NodeClass, dict[tuple[str, ...], Plan]]] = {}
        self._quick: dict[str, Quick] = {}

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
        if plan.is_sound(node.iri, node.values):
            return []
        return self._validated(node, base, plan.shapes)

    def _planned(self, node: Node, base: str) -> Plan:
        if base not in self._quick:
            self._quick[base] = Quick(base)
        classes = frozenset[str]().union(*(superclasses(name) for name in node.types))
        maker = _Maker(self._quick[base], base, node.of, node.types)
        plan = maker.plan([shape for shape in self._shapes if _may_target(shape, classes)], classes)
        self._plans.setdefault(base, {}).setdefault(node.of, {})[node.types] = plan
        return plan

    def _validated(self, node: Node, base: str, shapes: tuple[Shape, ...]) -> list[Result]:
        graph, focus = NodeGraph([node], base), iri_of(node, base)
        results = results_at([(shape, focus) for shape in shapes if is_target(focus, shape.targets, graph)], graph)
        if test_of_class(node.types, base)(node.iri, node.values):
            return results
        message = f"the node should be a {class_of(node.iri, base)} by its IRI"
        component = component_of("sh:class")
        wrong = result_of(focus, WRONG_CLASS, None, focus, severity="Violation", component=component, message=message)
        return in_order([*results, wrong])


def _may_target(shape: Shape, classes: frozenset[str]) -> bool:
    """Whether the shape targets nodes of these classes, or nodes that have a property."""
    return bool(shape.targets.subjects_of) or any(node_class.value in classes for node_class in shape.targets.classes)


# --- plans ------------------------------------------------------------------------------------------------------------


def of_term(term: str, test: OfAll | None) -> Whole:
    """The test of a node that must have a term, and whose values must pass."""
    if test is None:
        return lambda _, values: term in values
    return lambda _, values: term in values and test(values[term])


def fails(iri: str, values: Values) -> bool:  # noqa: ARG001 - a test
    """No node passes."""
    return False


def passes(iri: str, values: Values) -> bool:  # noqa: ARG001 - a test
    """Every node passes."""
    return True


def where_there(terms: tuple[str, ...], test: Whole | bool) -> Whole:  # noqa: FBT001 - a test, or what is known
    """The test that only applies to nodes that have one of the terms; others pass."""

    def applied(iri: str, values: Values) -> bool:
        is_there = any(term == "rdf:type" or term in values for term in terms)
        return not is_there or (test if isinstance(test, bool) else test(iri, values))

    return applied


def logic(constraint: Logic, tests: list[Whole | bool]) -> Whole | bool:
    """The tests of the shapes of a logical constraint, combined; True or False where the result is always the same."""
    combined = constraint.combined
    if constraint.component != "sh:xone" or all(isinstance(test, bool) for test in tests):
        at_least, at_most = combined(test is True for test in tests), combined(test is not False for test in tests)
        if at_least == at_most:
            return at_least
    # What is known decides nothing by itself now: False counts for nothing, True only among others.
    functions = [passes if isinstance(test, bool) else test for test in tests if test is not False]
    if len(functions) > 1:
        return lambda iri, values: combined(test(iri, values) for test in functions)
    (only,) = functions
    return only if constraint.component != "sh:not" else lambda iri, values: not only(iri, values)


def in_time(term: str, other: str, *, is_inclusive: bool) -> Whole:
    """Whether every value of a term comes before every one of the other."""

    def is_in_time(_: str, values: Values) -> bool:
        last: Any
        first: Any
        if term not in values or other not in values:
            return True
        last, first = max(values[term]), min(values[other])
        return bool(last < first or (is_inclusive and last == first))

    return is_in_time


def not_itself(term: str, base: str) -> Whole:
    """Whether the node is none of the values of a term, in neither form of its IRI: whole, or a path."""

    def is_not_itself(iri: str, values: Values) -> bool:
        if term not in values:
            return True
        other = iri.removeprefix(base) if "://" in iri else base + iri
        return all(value not in {iri, other} for value in values[term])

    return is_not_itself


class Plan:
    """The tests of a class of nodes. ``shapes``: those that can have results at such nodes."""

    __slots__ = ("_of_values", "_required", "_wholes", "shapes")

    def __init__(self, shapes: tuple[Shape, ...], tests: _Tests, properties: Iterable[Property]) -> None:
        self.shapes = shapes
        self._required = tuple(tests.required)
        self._of_values = {predicate.term: tests.of(predicate.term) for predicate in properties}
        self._wholes = tuple(tests.wholes)

    def is_sound(self, iri: str, values: Values) -> bool:
        """Whether the node conforms to all shapes of the plan."""
        for term in self._required:
            if term not in values:
                return False
        of_values = self._of_values
        for term, value in values.items():
            if not of_values[term](value):
                return False
        for of_node in self._wholes:  # noqa: SIM110 - a loop is several times as fast as all() of few
            if not of_node(iri, values):
                return False
        return True


@dataclass
class _Tests:
    """The tests, collected. ``each``: of each single value of a term; ``others``: of all its values together."""

    required: dict[str, None] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    each: dict[str, list[Test]] = field(default_factory=dict)
    others: dict[str, list[OfAll]] = field(default_factory=dict)
    wholes: list[Whole] = field(default_factory=list)

    def of(self, term: str) -> OfAll:
        """All tests of a term's values as one test."""
        return of_all(self.most.get(term), self.each.get(term, []), self.others.get(term, []))

    def as_one(self) -> Whole | bool:
        """All tests as one; True or False where the result is the same for every node."""
        if fails in self.wholes:
            return False
        required, wholes = tuple(self.required), tuple(self.wholes)
        terms = {term: self.of(term) for term in {**self.most, **self.each, **self.others}}
        if not (required or wholes or terms):
            return True
        if len(required) == 1 and not wholes and set(terms) <= set(required):
            return of_term(required[0], terms.get(required[0]))
        return lambda iri, values: (
            all(term in values for term in required)
            and all(test(values[term]) for term, test in terms.items() if term in values)
            and all(test(iri, values) for test in wholes)
        )


class _Maker:
    """Makes the plan of the nodes of one class with these types, in a graph below ``base``. ``_unknown`` stands for any
    of them: it has no values.
    """

    def __init__(self, quick: Quick, base: str, of: NodeClass, types: tuple[str, ...]) -> None:
        self._quick, self._base, self._of, self._types = quick, base, of, types
        unknown = Node(of, "", types, {})
        self._unknown, self._focus = NodeGraph([unknown], base), iri_of(unknown, base)
        self._properties = {full(predicate.term): predicate for predicate in of.properties}

    def plan(self, shapes: Iterable[Shape], classes: frozenset[str]) -> Plan:
        """The plan of the nodes; ``classes``: all their classes as whole IRIs."""
        tests, applying = _Tests(), []
        for shape in shapes:
            if any(node_class.value in classes for node_class in shape.targets.classes):
                applying.append(shape)
                self.add(shape, tests)
            elif terms := self.terms(shape.targets.subjects_of):
                applying.append(shape)
                tests.wholes.append(where_there(terms, self.as_one(shape)))
        tests.wholes.insert(0, test_of_class(self._types, self._base))
        return Plan(tuple(applying), tests, self._of.properties)

    def terms(self, predicates: Iterable[NamedNode]) -> tuple[str, ...]:
        """Those of the predicates that nodes of the class may have."""
        known = {iri: predicate.term for iri, predicate in self._properties.items()} | {TYPE.value: "rdf:type"}
        return tuple(known[predicate.value] for predicate in predicates if predicate.value in known)

    def as_one(self, shape: Shape) -> Whole | bool:
        """The test of whether a node conforms to the shape; True or False where all nodes give the same result."""
        tests = _Tests()
        self.add(shape, tests)
        return tests.as_one()

    def add(self, shape: Shape, tests: _Tests) -> None:
        """Adds the tests of a shape whose focus node is the node itself."""
        if shape.is_deactivated:
            return
        predicate = self._properties.get(shape.path.iri.value) if isinstance(shape.path, Predicate) else None
        for constraint in shape.constraints:
            if shape.path is None:
                self._add_of_node(shape, constraint, tests)
            elif not isinstance(shape.path, Predicate) or isinstance(constraint, Equals | Disjoint):
                tests.wholes.append(self._asked(shape, constraint))
            elif isinstance(constraint, LessThan):
                self._add_order(shape, constraint, predicate, tests)
            elif predicate is None:  # rdf:type, or a property that no node of the class has
                self._add_decided(constraint, shape.path.values(self._unknown, self._focus), tests)
            else:
                self._add_of_values(constraint, predicate, tests)

    def _add_of_values(self, constraint: Constraint, predicate: Property, tests: _Tests) -> None:
        """Adds a constraint on the values of a property of the class."""
        if next(constraint.failing(self._unknown, self._focus, ()), self) is not self:
            tests.required[predicate.term] = None
        if isinstance(constraint, Count) and not constraint.is_least:
            tests.most[predicate.term] = min(constraint.bound, tests.most.get(predicate.term, constraint.bound))
        elif isinstance(constraint, OfEach):
            test = self._quick.test(constraint, predicate, self._unknown)
            if test:
                tests.each.setdefault(predicate.term, []).append(test)
        else:
            test = to_values(constraint, predicate, self._unknown, self._base)
            if test:
                tests.others.setdefault(predicate.term, []).append(test)

    def _add_decided(self, constraint: Constraint, values: Collection[Term], tests: _Tests) -> None:
        """Adds a constraint on values that are the same for all nodes, so that all give the same result."""
        if next(constraint.failing(self._unknown, self._focus, values), self) is not self:
            tests.wholes.append(fails)

    def _add_order(self, shape: Shape, constraint: LessThan, predicate: Property | None, tests: _Tests) -> None:
        other = self._properties.get(constraint.predicate.value)
        if predicate is None or other is None:
            if shape.path == Predicate(TYPE) or constraint.predicate == TYPE:
                tests.wholes.append(self._asked(shape, constraint))
        elif predicate.range == other.range in {"xsd:dateTime", "xsd:integer"}:
            tests.wholes.append(in_time(predicate.term, other.term, is_inclusive=constraint.is_inclusive))
        else:
            tests.wholes.append(self._asked(shape, constraint))

    def _add_of_node(self, shape: Shape, constraint: Constraint, tests: _Tests) -> None:
        """Adds a constraint whose one value is the node itself."""
        if isinstance(constraint, OfProperty):
            self.add(constraint.shape, tests)
        elif isinstance(constraint, Closed):
            self._add_closed(constraint, tests)
        elif isinstance(constraint, Disjoint) and constraint.predicate.value in self._properties:
            tests.wholes.append(not_itself(self._properties[constraint.predicate.value].term, self._base))
        elif isinstance(constraint, Logic):
            test = logic(constraint, list(map(self.as_one, constraint.shapes)))
            if not isinstance(test, bool):
                tests.wholes.append(test)
            elif not test:
                tests.wholes.append(fails)
        elif constraint.component in {"sh:nodeKind", "sh:class", "sh:datatype"}:
            self._add_decided(constraint, (self._focus,), tests)
        else:
            tests.wholes.append(self._asked(shape, constraint))

    def _add_closed(self, constraint: Closed, tests: _Tests) -> None:
        for iri, predicate in self._properties.items():
            if NamedNode(iri) not in constraint.allowed:
                tests.each.setdefault(predicate.term, []).append(never)
        self._add_decided(constraint, (self._focus,), tests)

    def _asked(self, shape: Shape, constraint: Constraint) -> Whole:
        """The test for a constraint without a faster form: it is applied to the whole node."""
        of, types, base = self._of, self._types, self._base

        def asked(iri: str, values: Values) -> bool:
            node = Node(of, iri, types, values)
            graph, focus = NodeGraph([node], base), iri_of(node, base)
            of_path = shape.path.values(graph, focus) if shape.path else (focus,)
            return next(constraint.failing(graph, focus, of_path), asked) is asked

        return asked
