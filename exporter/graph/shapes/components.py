"""The constraint components that are compiled, and which shapes one node decides.

:data:`COMPONENTS` lists them, from their parameters in a shapes file to constraints. docs/shapes.md shows the list, and
a test compares the two.

A shape can be decided on one node alone if it uses the node's own triples, and of the nodes that these refer to only
what a value shows by itself: its kind, datatype, text, order and class. Of such nodes the IRI is known, and with it the
class.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from exporter.graph.shapes import constraints
from exporter.graph.shapes.constraints import (
    And,
    Closed,
    Disjoint,
    Equals,
    Not,
    Of,
    OfClass,
    OfProperty,
    Or,
    Qualified,
    Xone,
)
from exporter.graph.shapes.literals import read
from exporter.graph.shapes.model import RDFS, SH, Literal, NamedNode, Term, sh
from exporter.graph.shapes.paths import Predicate
from exporter.graph.shapes.values import readable, superclasses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exporter.graph.shapes.model import Constraint, Shape
    from exporter.graph.shapes.reading import ShapesGraph


class Parameters:
    """Makes the constraints of one shape. ``shape_of``: gives a shape that this one refers to."""

    def __init__(
        self, source: ShapesGraph, subject: Term, shape_of: Callable[[Term], Shape], *, is_property: bool
    ) -> None:
        self._source = source
        self._subject = subject
        self._shape_of = shape_of
        self._is_property = is_property

    def constraints(self) -> Iterator[Constraint]:
        """All constraints of the shape; raises UsageError where a parameter is invalid or not compiled."""
        for name, (make, is_single) in COMPONENTS.items():
            given = self._source.values(self._subject, name)
            if given and name in _OF_PROPERTIES and not self._is_property:
                raise self._refused(f"sh:{name} has no meaning without sh:path")
            if is_single:
                self._source.one(self._subject, name)
            for value in given:
                yield from make(self, name, value)
        for name, with_ in _WITH_ANOTHER.items():
            if self._source.values(self._subject, name) and not self._source.values(self._subject, with_):
                raise self._refused(f"sh:{name} has no meaning without sh:{with_}")

    def _refused(self, what: str) -> Exception:
        return self._source.refused(self._subject, what)

    def _iri(self, name: str, value: Term) -> NamedNode:
        return self._source.of_kind(self._subject, name, value, NamedNode)

    def _number(self, name: str, value: Term) -> int:
        number = read(value).value if isinstance(value, Literal) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise self._refused(f"sh:{name} takes a whole number from 0 on, and has {value}")
        return number

    def _truth(self, name: str) -> bool:
        value = self._source.one(self._subject, name)
        return value is not None and self._source.truth(self._subject, name, value)

    def min_count(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.MinCount(self._number(name, value))

    def max_count(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.MaxCount(self._number(name, value))

    def class_(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.OfClass(self._iri(name, value))

    def datatype(self, name: str, value: Term) -> Iterator[Constraint]:
        datatype = self._iri(name, value)
        if datatype.value in {f"{RDFS}Literal", f"{RDFS}Datatype"}:
            raise self._refused(f"sh:datatype {datatype.value} is not compiled. For any literal write sh:nodeKind")
        yield constraints.Datatype(datatype)

    def node_kind(self, name: str, value: Term) -> Iterator[Constraint]:
        kind = self._iri(name, value).value.removeprefix(SH)
        if kind not in constraints.NODE_KINDS:
            raise self._refused(f"sh:nodeKind {value} is none of {', '.join(constraints.NODE_KINDS)}")
        yield constraints.NodeKind(kind)

    def length(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.Length(f"sh:{name}", self._number(name, value))

    def bound(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.Bound(f"sh:{name}", self._source.of_kind(self._subject, name, value, Literal))

    def pattern(self, name: str, value: Term) -> Iterator[Constraint]:
        pattern = self._source.of_kind(self._subject, name, value, Literal).value
        given = self._source.one(self._subject, "flags")
        flags = given.value if isinstance(given, Literal) else ""
        if set(flags) - set("im"):
            raise self._refused(f'sh:flags "{flags}" is not compiled, only i and m')
        try:
            yield constraints.Pattern(pattern, flags)
        except re.error as error:
            raise self._refused(f"sh:pattern {pattern!r} is not compiled: {error}") from None

    def language_in(self, name: str, value: Term) -> Iterator[Constraint]:
        tags = [
            self._source.of_kind(self._subject, name, item, Literal).value.lower()
            for item in self._source.items(self._subject, name, value)
        ]
        yield constraints.LanguageIn(frozenset(tags))

    def unique_lang(self, name: str, value: Term) -> Iterator[Constraint]:  # noqa: ARG002
        if self._truth(name):
            yield constraints.UniqueLang()

    def equals(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.Equals(self._iri(name, value))

    def disjoint(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.Disjoint(self._iri(name, value))

    def less_than(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.LessThan(f"sh:{name}", self._iri(name, value))

    def in_(self, name: str, value: Term) -> Iterator[Constraint]:
        yield constraints.In(frozenset(self._source.items(self._subject, name, value)))

    def has_value(self, name: str, value: Term) -> Iterator[Constraint]:  # noqa: ARG002
        yield constraints.HasValue(value)

    def closed(self, name: str, value: Term) -> Iterator[Constraint]:  # noqa: ARG002
        ignored = self._source.one(self._subject, "ignoredProperties")
        also = [] if ignored is None else self._source.items(self._subject, "ignoredProperties", ignored)
        paths = [self._shape_of(one).path for one in self._source.values(self._subject, "property")]
        own = [path.iri for path in paths if isinstance(path, Predicate)]
        if self._truth(name):
            yield constraints.Closed(frozenset([*own, *(self._iri("ignoredProperties", one) for one in also)]))

    def property_(self, name: str, value: Term) -> Iterator[Constraint]:  # noqa: ARG002
        shape = self._shape_of(value)
        if shape.path is None:
            raise self._refused(f"sh:property takes a shape with sh:path, and {shape.name} has none")
        yield OfProperty(shape)

    def node(self, name: str, value: Term) -> Iterator[Constraint]:  # noqa: ARG002
        shape = self._shape_of(value)
        if shape.path is not None:
            raise self._refused(f"sh:node takes a shape without sh:path, and {shape.name} has one")
        yield Of(shape)

    def not_(self, name: str, value: Term) -> Iterator[Constraint]:  # noqa: ARG002
        yield Not(self._shape_of(value))

    def several(self, name: str, value: Term) -> Iterator[Constraint]:
        shapes = tuple(self._shape_of(item) for item in self._source.items(self._subject, name, value, least=1))
        yield _OF_SEVERAL[name](shapes)

    def qualified(self, name: str, value: Term) -> Iterator[Constraint]:
        bounds = {which: self._source.one(self._subject, which) for which in _BOUNDS}
        if not any(bounds.values()):
            raise self._refused(f"sh:{name} has no meaning without sh:qualifiedMinCount or sh:qualifiedMaxCount")
        siblings = self._siblings(value) if self._truth("qualifiedValueShapesDisjoint") else ()
        others = tuple(map(self._shape_of, siblings))
        for which, bound in bounds.items():
            if bound is not None:
                yield Qualified(f"sh:{which}", self._shape_of(value), others, self._number(which, bound))

    def _siblings(self, own: Term) -> list[Term]:
        """The other qualified value shapes of the shapes that have this one as a property shape."""
        graph, property_ = self._source.graph, sh("property")
        parents = graph.subjects(property_, self._subject)
        properties = [one for parent in parents for one in graph.objects(parent, property_)]
        shapes = {
            shape: None for predicate in properties for shape in self._source.values(predicate, "qualifiedValueShape")
        }
        return [shape for shape in shapes if shape != own]


_BOUNDS: Final = ("qualifiedMinCount", "qualifiedMaxCount")
_OF_SEVERAL: Final[dict[str, Callable[[tuple[Shape, ...]], Constraint]]] = {"and": And, "or": Or, "xone": Xone}

COMPONENTS: Final[dict[str, tuple[Callable[[Parameters, str, Term], Iterator[Constraint]], bool]]] = {
    "class": (Parameters.class_, False),
    "datatype": (Parameters.datatype, True),
    "nodeKind": (Parameters.node_kind, True),
    "minCount": (Parameters.min_count, True),
    "maxCount": (Parameters.max_count, True),
    "minExclusive": (Parameters.bound, True),
    "minInclusive": (Parameters.bound, True),
    "maxExclusive": (Parameters.bound, True),
    "maxInclusive": (Parameters.bound, True),
    "minLength": (Parameters.length, True),
    "maxLength": (Parameters.length, True),
    "pattern": (Parameters.pattern, False),
    "languageIn": (Parameters.language_in, True),
    "uniqueLang": (Parameters.unique_lang, True),
    "equals": (Parameters.equals, False),
    "disjoint": (Parameters.disjoint, False),
    "lessThan": (Parameters.less_than, False),
    "lessThanOrEquals": (Parameters.less_than, False),
    "not": (Parameters.not_, False),
    "and": (Parameters.several, False),
    "or": (Parameters.several, False),
    "xone": (Parameters.several, False),
    "node": (Parameters.node, False),
    "property": (Parameters.property_, False),
    "qualifiedValueShape": (Parameters.qualified, False),
    "closed": (Parameters.closed, True),
    "hasValue": (Parameters.has_value, False),
    "in": (Parameters.in_, True),
}
"""By parameter: the method that reads it, and whether a shape can have it only once."""

_OF_PROPERTIES: Final = {"minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape"}
"""Components that a node shape cannot have."""

_WITH_ANOTHER: Final = {
    "flags": "pattern",
    "ignoredProperties": "closed",
    "qualifiedMinCount": "qualifiedValueShape",
    "qualifiedMaxCount": "qualifiedValueShape",
    "qualifiedValueShapesDisjoint": "qualifiedValueShape",
}
"""Parameters that complete another one, by that other one."""

PARAMETERS: Final = {*COMPONENTS, *_WITH_ANOTHER}
"""Every parameter that is compiled."""


@cache
def classes_known_by_iri() -> frozenset[str]:
    """Classes that can be derived from an IRI, or whose subclasses can be, as whole IRIs."""
    return frozenset[str]().union(*(superclasses(name) for name in readable()))


def inner_shapes(constraint: Constraint) -> tuple[Shape, ...]:
    """The shapes that a constraint refers to."""
    if isinstance(constraint, And | Or | Xone):
        return constraint.shapes
    if isinstance(constraint, Not | Of | OfProperty):
        return (constraint.shape,)
    return (constraint.shape, *constraint.siblings) if isinstance(constraint, Qualified) else ()


def is_local(shape: Shape) -> bool:
    """Whether a shape with targets reads nothing but each focus node."""
    return not (shape.targets.nodes or shape.targets.objects_of) and _is_local_at_node(shape)


def _is_local_at_node(shape: Shape) -> bool:
    """Whether a shape whose focus node is the validated node reads nothing but that node."""
    if shape.is_deactivated:
        return True
    if shape.path and not shape.path.is_near:
        return False
    return all(
        _is_local_on_values(constraint) if shape.path else _is_local_on_node(constraint)
        for constraint in shape.constraints
    )


def _is_local_on_node(constraint: Constraint) -> bool:
    """Whether a constraint whose only value is the validated node reads nothing but that node."""
    return all(map(_is_local_at_node, inner_shapes(constraint)))


def _is_local_on_values(constraint: Constraint) -> bool:
    """Whether a constraint on values of the validated node reads only what each of them shows by itself."""
    if isinstance(constraint, OfClass) and constraint.class_.value not in classes_known_by_iri():
        return False
    return not isinstance(constraint, Closed | OfProperty) and all(map(_is_local_at_value, inner_shapes(constraint)))


def _is_local_at_value(shape: Shape) -> bool:
    """Whether a shape whose focus node is a value of the validated node reads only what it shows by itself."""
    if shape.is_deactivated:
        return True
    is_alone = not any(isinstance(constraint, Equals | Disjoint) for constraint in shape.constraints)
    return is_alone and shape.path is None and all(map(_is_local_on_values, shape.constraints))
