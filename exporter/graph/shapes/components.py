"""The constraint components that are compiled.

:data:`COMPONENTS` lists them, from their parameters in a shapes file to constraints. docs/shapes.md shows the list, and
a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from exporter.graph.shapes import constraints
from exporter.graph.shapes.constraints import Qualified
from exporter.graph.shapes.literals import Expression, read
from exporter.graph.shapes.model import RDFS, SH, Constraint, Literal, NamedNode, Shape, Term, sh
from exporter.graph.shapes.paths import Predicate
from exporter.graph.shapes.source import ShapesGraph


class Parameters:
    """Makes the constraints of one shape. ``shape_of``: gives a shape that this one refers to.

    A method reads one parameter: its name (``minCount``) and its value -> what the constraint takes; None where the
    value says that nothing is constrained. It raises UsageError where the value is invalid or not compiled.
    """

    def __init__(
        self, source: ShapesGraph, subject: Term, shape_of: Callable[[Term], Shape], *, is_property: bool
    ) -> None:
        self._source = source
        self._subject = subject
        self._shape_of = shape_of
        self._is_property = is_property

    def constraints(self) -> Iterator[Constraint]:
        """All constraints of the shape; raises UsageError where a parameter is invalid or not compiled."""
        for name, component in COMPONENTS.items():
            given = self._source.values(self._subject, name)
            if given and name in _OF_PROPERTIES and not self._is_property:
                raise self._refused(f"sh:{name} has no meaning without sh:path")
            if component.is_single:
                self._source.one(self._subject, name)
            for value in given:
                parameter = component.read(self, name, value)
                if component.of is Qualified:
                    yield from parameter
                elif parameter is not None:
                    yield component.of(f"sh:{name}", parameter)
        for name, with_ in _WITH_ANOTHER.items():
            if self._source.values(self._subject, name) and not self._source.values(self._subject, with_):
                raise self._refused(f"sh:{name} has no meaning without sh:{with_}")

    def _refused(self, fault: str) -> Exception:
        return self._source.refused(self._subject, fault)

    # --- values -------------------------------------------------------------------------------------------------------

    def iri(self, name: str, value: Term) -> NamedNode:
        return self._source.of_kind(self._subject, name, value, NamedNode)

    def literal(self, name: str, value: Term) -> Literal:
        return self._source.of_kind(self._subject, name, value, Literal)

    def term(self, name: str, value: Term) -> Term:  # noqa: ARG002 - any value is valid
        return value

    def terms(self, name: str, value: Term) -> frozenset[Term]:
        return frozenset(self._source.items(self._subject, name, value))

    def number(self, name: str, value: Term) -> int:
        number = read(value).value if isinstance(value, Literal) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise self._refused(f"sh:{name} takes a whole number from 0 on, and has {value}")
        return number

    def truth(self, name: str, value: Term | None) -> bool:
        return value is not None and self._source.truth(self._subject, name, value)

    def datatype(self, name: str, value: Term) -> NamedNode:
        datatype = self.iri(name, value)
        if datatype.value in {f"{RDFS}Literal", f"{RDFS}Datatype"}:
            raise self._refused(f"sh:datatype {datatype.value} is not compiled. For any literal write sh:nodeKind")
        return datatype

    def node_kind(self, name: str, value: Term) -> str:
        kind = self.iri(name, value).value.removeprefix(SH)
        if kind not in constraints.NODE_KINDS:
            raise self._refused(f"sh:nodeKind {value} is none of {', '.join(constraints.NODE_KINDS)}")
        return kind

    def expression(self, name: str, value: Term) -> Expression:
        pattern = self.literal(name, value).value
        given = self._source.one(self._subject, "flags")
        flags = given.value if isinstance(given, Literal) else ""
        if set(flags) - set("im"):
            raise self._refused(f'sh:flags "{flags}" is not compiled, only i and m')
        try:
            return Expression(pattern, constraints.flags_of(flags))
        except re.error as error:
            raise self._refused(f"sh:pattern {pattern!r} is not compiled: {error}") from None

    def languages(self, name: str, value: Term) -> frozenset[str]:
        items = self._source.items(self._subject, name, value)
        return frozenset(self.literal(name, item).value.lower() for item in items)

    def closed(self, name: str, value: Term) -> frozenset[NamedNode] | None:
        ignored = self._source.one(self._subject, "ignoredProperties")
        also = [] if ignored is None else self._source.items(self._subject, "ignoredProperties", ignored)
        paths = [self._shape_of(shape).path for shape in self._source.values(self._subject, "property")]
        if not self.truth(name, value):
            return None
        own = [path.iri for path in paths if isinstance(path, Predicate)]
        return frozenset([*own, *(self.iri("ignoredProperties", term) for term in also)])

    # --- other shapes -------------------------------------------------------------------------------------------------

    def shape(self, name: str, value: Term) -> tuple[Shape]:  # noqa: ARG002 - readers of parameters are called alike
        return (self._shape_of(value),)

    def shapes(self, name: str, value: Term) -> tuple[Shape, ...]:
        return tuple(self._shape_of(item) for item in self._source.items(self._subject, name, value, least=1))

    def node_shape(self, name: str, value: Term) -> tuple[Shape]:  # noqa: ARG002 - readers of parameters are called alike
        shape = self._shape_of(value)
        if shape.path is not None:
            raise self._refused(f"sh:node takes a shape without sh:path, and {shape.name} has one")
        return (shape,)

    def property_shape(self, name: str, value: Term) -> Shape:  # noqa: ARG002 - readers of parameters are called alike
        shape = self._shape_of(value)
        if shape.path is None:
            raise self._refused(f"sh:property takes a shape with sh:path, and {shape.name} has none")
        return shape

    def qualified(self, name: str, value: Term) -> list[Constraint]:
        """The constraints themselves: one for each bound."""
        bounds = {which: self._source.one(self._subject, which) for which in ("qualifiedMinCount", "qualifiedMaxCount")}
        if not any(bounds.values()):
            raise self._refused(f"sh:{name} has no meaning without sh:qualifiedMinCount or sh:qualifiedMaxCount")
        disjoint = "qualifiedValueShapesDisjoint"
        siblings = self._siblings(value) if self.truth(disjoint, self._source.one(self._subject, disjoint)) else ()
        sibling_shapes = tuple(map(self._shape_of, siblings))
        return [
            Qualified(f"sh:{which}", self._shape_of(value), sibling_shapes, self.number(which, bound))
            for which, bound in bounds.items()
            if bound is not None
        ]

    def _siblings(self, own: Term) -> list[Term]:
        """The other qualified value shapes of the shapes that have this one as a property shape."""
        graph, property_ = self._source.graph, sh("property")
        parents = graph.subjects(property_, self._subject)
        properties = [predicate for parent in parents for predicate in graph.objects(parent, property_)]
        shapes = {
            shape: None for predicate in properties for shape in self._source.values(predicate, "qualifiedValueShape")
        }
        return [shape for shape in shapes if shape != own]


class Component(NamedTuple):
    """``of``: the class of its constraints; ``read``: the method that reads its parameter; ``is_single``: whether a
    shape can have it only once.
    """

    of: type[Any]
    read: Callable[[Parameters, str, Term], Any]
    is_single: bool = False


_once: Final = partial(Component, is_single=True)
COMPONENTS: Final = {
    "class": Component(constraints.OfClass, Parameters.iri),
    "datatype": _once(constraints.Datatype, Parameters.datatype),
    "nodeKind": _once(constraints.NodeKind, Parameters.node_kind),
    "minCount": _once(constraints.Count, Parameters.number),
    "maxCount": _once(constraints.Count, Parameters.number),
    "minExclusive": _once(constraints.Bound, Parameters.literal),
    "minInclusive": _once(constraints.Bound, Parameters.literal),
    "maxExclusive": _once(constraints.Bound, Parameters.literal),
    "maxInclusive": _once(constraints.Bound, Parameters.literal),
    "minLength": _once(constraints.Length, Parameters.number),
    "maxLength": _once(constraints.Length, Parameters.number),
    "pattern": Component(constraints.Pattern, Parameters.expression),
    "languageIn": _once(constraints.LanguageIn, Parameters.languages),
    "uniqueLang": _once(constraints.UniqueLang, Parameters.truth),
    "equals": Component(constraints.Equals, Parameters.iri),
    "disjoint": Component(constraints.Disjoint, Parameters.iri),
    "lessThan": Component(constraints.LessThan, Parameters.iri),
    "lessThanOrEquals": Component(constraints.LessThan, Parameters.iri),
    "not": Component(constraints.Logic, Parameters.shape),
    "and": Component(constraints.Logic, Parameters.shapes),
    "or": Component(constraints.Logic, Parameters.shapes),
    "xone": Component(constraints.Logic, Parameters.shapes),
    "node": Component(constraints.Logic, Parameters.node_shape),
    "property": Component(constraints.OfProperty, Parameters.property_shape),
    "qualifiedValueShape": Component(constraints.Qualified, Parameters.qualified),
    "closed": _once(constraints.Closed, Parameters.closed),
    "hasValue": Component(constraints.HasValue, Parameters.term),
    "in": _once(constraints.In, Parameters.terms),
}
"""By parameter."""

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
