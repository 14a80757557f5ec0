"""Tests of a whole node, which combine several properties or several shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.graph.shapes.logic import All, Not, Of, One
from exporter.graph.shapes.one_node import whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.graph.shapes.logic import Any as AnyOf
    from exporter.graph.shapes.model import Constraint, Shape
    from exporter.graph.shapes.quick import OfAll
    from exporter.graph.terms import Values

    Whole = Callable[[str, Values], bool]
    """A test of a node by its IRI and its values."""


def of_term(term: str, test: OfAll | None) -> Whole:
    """The test of a node that must have a term, and whose values must pass."""
    if test is None:
        return lambda _, values: term in values
    return lambda _, values: term in values and test(values[term])


def fails(iri: str, values: Values) -> bool:  # noqa: ARG001 - a test
    """No node passes."""
    return False


def where_there(terms: tuple[str, ...], test: Whole | bool) -> Whole:  # noqa: FBT001 - a test, or what is known
    """The test that only applies to nodes that have one of the terms; others pass."""

    def applied(iri: str, values: Values) -> bool:
        is_there = any(term == "rdf:type" or term in values for term in terms)
        return not is_there or (test if isinstance(test, bool) else test(iri, values))

    return applied


def logic(constraint: Not | Of | All | AnyOf | One, as_one: Callable[[Shape], Whole | bool]) -> Whole | bool:
    """What the shapes of a logical constraint give for a node, combined."""
    shapes = (constraint.shape,) if isinstance(constraint, Not | Of) else constraint.shapes
    tests = [as_one(shape) for shape in shapes]
    known = sum(test is True for test in tests)
    open_ = [test for test in tests if not isinstance(test, bool)]
    if isinstance(constraint, Not) and open_:
        (test,) = open_
        return lambda iri, values: not test(iri, values)
    least, most = _counts(constraint, len(tests))
    if known > most or known + len(open_) < least:
        return False
    if known >= least and known + len(open_) <= most:
        return True
    return lambda iri, values: least <= known + sum(test(iri, values) for test in open_) <= most


def _counts(constraint: Constraint, of: int) -> tuple[int, int]:
    """The least and the greatest number of the shapes that a node may conform to."""
    if isinstance(constraint, Not):
        return 0, 0
    if isinstance(constraint, Of | All):
        return of, of
    return (1, 1) if isinstance(constraint, One) else (1, of)


def in_order(term: str, other: str, *, is_inclusive: bool) -> Whole:
    """Whether every value of a term comes before every one of the other."""

    def is_in_order(_: str, values: Values) -> bool:
        last: Any
        first: Any
        if term not in values or other not in values:
            return True
        last, first = max(values[term]), min(values[other])
        return bool(last < first or (is_inclusive and last == first))

    return is_in_order


def not_itself(term: str, base: str) -> Whole:
    """Whether the node is none of the values of a term."""

    def is_not_itself(iri: str, values: Values) -> bool:
        if term not in values:
            return True
        own = whole(iri, base)
        return all(whole(str(value), base) != own for value in values[term])

    return is_not_itself
