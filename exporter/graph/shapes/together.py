"""Constraints on all values of a shape together, or on two properties (SHACL, sections 4.2, 4.4, 4.5, 4.8)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exporter.graph.shapes.model import Constraint, Found
from exporter.graph.shapes.order import is_before
from exporter.graph.shapes.paths import Predicate
from exporter.graph.shapes.terms import RESOURCE, TYPE, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyoxigraph import NamedNode

    from exporter.graph.shapes.data import Data
    from exporter.graph.shapes.model import Shape
    from exporter.graph.shapes.terms import Term


@dataclass(frozen=True)
class MinCount(Constraint):
    """sh:minCount."""

    count: int
    component = "sh:minCount"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        if len(values) < self.count:
            yield None


@dataclass(frozen=True)
class MaxCount(Constraint):
    """sh:maxCount."""

    count: int
    component = "sh:maxCount"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        if len(values) > self.count:
            yield None


@dataclass(frozen=True)
class HasValue(Constraint):
    """sh:hasValue: exactly this term is among the values."""

    term: Term
    component = "sh:hasValue"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        if self.term not in values:
            yield None


@dataclass(frozen=True)
class UniqueLang(Constraint):
    """sh:uniqueLang true: one result for each language that several values have."""

    component = "sh:uniqueLang"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        used = Counter(one.language.lower() for one in values if isinstance(one, Literal) and one.language)
        for _ in (language for language, times in used.items() if times > 1):
            yield None


@dataclass(frozen=True)
class Equals(Constraint):
    """sh:equals: the values are exactly those of another property of the focus node."""

    predicate: NamedNode
    component = "sh:equals"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        others = data.objects(focus, self.predicate)
        yield from (value for value in values if value not in others)
        yield from (other for other in others if other not in values)


@dataclass(frozen=True)
class Disjoint(Constraint):
    """sh:disjoint: no value is also a value of another property of the focus node."""

    predicate: NamedNode
    component = "sh:disjoint"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        others = data.objects(focus, self.predicate)
        yield from (value for value in values if value in others)


@dataclass(frozen=True)
class LessThan(Constraint):
    """sh:lessThan and sh:lessThanOrEquals: one result for each pair that is not in this order."""

    component: str
    predicate: NamedNode

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        others = data.objects(focus, self.predicate)
        for value in values:
            for other in others:
                if not is_before(value, other, or_same=self.is_inclusive):
                    yield value

    @property
    def is_inclusive(self) -> bool:
        """Whether equal values are allowed."""
        return self.component == "sh:lessThanOrEquals"


@dataclass(frozen=True)
class Closed(Constraint):
    """sh:closed true: the node has only these properties. Each value of another property is a result, with that
    property as its path.
    """

    allowed: frozenset[NamedNode]
    component = "sh:closed"

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        yield from (value for _, value in self.others(data, values))

    def found(self, shape: Shape, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Found]:
        for predicate, value in self.others(data, values):
            yield Found(focus, shape, Predicate(predicate), value, self)

    def others(self, data: Data, values: Collection[Term]) -> Iterator[tuple[NamedNode, Term]]:
        """The properties that are not allowed, with their values."""
        for node in values:
            for predicate, value in data.about(node):
                if predicate not in self.allowed and not (predicate == TYPE and value == RESOURCE):
                    yield predicate, value
