"""Constraints that refer to other shapes (SHACL, sections 4.6 and 4.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exporter.graph.shapes.model import Constraint, OfEach

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from exporter.graph.shapes.data import Data
    from exporter.graph.shapes.model import Found, Shape
    from exporter.graph.shapes.terms import Term


@dataclass(frozen=True)
class Not(OfEach):
    """sh:not: the value does not conform to the shape."""

    shape: Shape
    component = "sh:not"

    def accepts(self, data: Data, value: Term) -> bool:
        return not self.shape.accepts(data, value)


@dataclass(frozen=True)
class Of(OfEach):
    """sh:node: the value conforms to the shape."""

    shape: Shape
    component = "sh:node"

    def accepts(self, data: Data, value: Term) -> bool:
        return self.shape.accepts(data, value)


@dataclass(frozen=True)
class All(OfEach):
    """sh:and: the value conforms to all shapes."""

    shapes: tuple[Shape, ...]
    component = "sh:and"

    def accepts(self, data: Data, value: Term) -> bool:
        return all(shape.accepts(data, value) for shape in self.shapes)


@dataclass(frozen=True)
class Any(OfEach):
    """sh:or: the value conforms to at least one shape."""

    shapes: tuple[Shape, ...]
    component = "sh:or"

    def accepts(self, data: Data, value: Term) -> bool:
        return any(shape.accepts(data, value) for shape in self.shapes)


@dataclass(frozen=True)
class One(OfEach):
    """sh:xone: the value conforms to exactly one shape."""

    shapes: tuple[Shape, ...]
    component = "sh:xone"

    def accepts(self, data: Data, value: Term) -> bool:
        return sum(shape.accepts(data, value) for shape in self.shapes) == 1


@dataclass(frozen=True)
class OfProperty(Constraint):
    """sh:property: the results of the property shape at each value are its results."""

    shape: Shape
    component = "sh:property"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        yield from (one.value for one in self.found(self.shape, data, focus, values))

    def found(self, shape: Shape, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Found]:  # noqa: ARG002
        for value in values:
            yield from self.shape.results(data, value)


@dataclass(frozen=True)
class Qualified(Constraint):
    """sh:qualifiedValueShape with one of its two bounds: how many values conform to the shape and to none of
    ``siblings``. ``component``: ``sh:qualifiedMinCount`` or ``sh:qualifiedMaxCount``; ``bound``: its value.
    """

    component: str
    shape: Shape
    siblings: tuple[Shape, ...]
    bound: int

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        count = sum(
            self.shape.accepts(data, value) and not any(one.accepts(data, value) for one in self.siblings)
            for value in values
        )
        if count > self.bound if self.component == "sh:qualifiedMaxCount" else count < self.bound:
            yield None
