"""Constraints of SHACL Core (sections 4.1 to 4.8): on each value by itself, on all values of a shape or two properties
together, and those that refer to other shapes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from exporter.graph.shapes.literals import Expression, compared, is_before, read
from exporter.graph.shapes.model import (
    LANG_STRING,
    RESOURCE,
    TYPE,
    BlankNode,
    Constraint,
    Data,
    Finding,
    Literal,
    NamedNode,
    Shape,
    Term,
    ValueConstraint,
)
from exporter.graph.shapes.paths import Predicate

NODE_KINDS: Final = {
    "IRI": (NamedNode,),
    "BlankNode": (BlankNode,),
    "Literal": (Literal,),
    "BlankNodeOrIRI": (BlankNode, NamedNode),
    "BlankNodeOrLiteral": (BlankNode, Literal),
    "IRIOrLiteral": (NamedNode, Literal),
}
"""The values of sh:nodeKind, with the kinds of terms that each allows."""


@dataclass(frozen=True)
class OfClass(ValueConstraint):
    """sh:class: an instance of the class, or of a subclass."""

    class_: NamedNode

    def accepts(self, data: Data, value: Term) -> bool:
        return data.has_class(value, self.class_)


@dataclass(frozen=True)
class Datatype(ValueConstraint):
    """sh:datatype: a literal of the datatype whose text is valid for it."""

    datatype: NamedNode

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        if not isinstance(value, Literal) or value.datatype != self.datatype:
            return False
        return bool(value.language) if self.datatype == LANG_STRING else not read(value).is_ill_typed


@dataclass(frozen=True)
class NodeKind(ValueConstraint):
    """sh:nodeKind, one of :data:`NODE_KINDS`."""

    kind: str

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        return isinstance(value, NODE_KINDS[self.kind])


@dataclass(frozen=True)
class Length(ValueConstraint):
    """sh:minLength and sh:maxLength: the characters of a text or an IRI. A blank node only passes a minimum of 0."""

    bound: int

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        if isinstance(value, BlankNode):
            return self.is_least and self.bound == 0
        return self.allows(len(value.value))

    @property
    def is_least(self) -> bool:
        """Whether the bound is the minimum; otherwise it is the maximum."""
        return self.component == "sh:minLength"

    def allows(self, length: int) -> bool:
        """Whether a text of this length passes."""
        return length >= self.bound if self.is_least else length <= self.bound


def flags_of(text: str) -> int:
    """``sh:flags`` for Python's expressions."""
    return (re.IGNORECASE if "i" in text else 0) | (re.MULTILINE if "m" in text else 0)


@dataclass(frozen=True)
class Pattern(ValueConstraint):
    """sh:pattern with sh:flags: a match anywhere in the text or IRI, by Python's regular expressions."""

    expression: Expression

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        return not isinstance(value, BlankNode) and self.expression.found(value.value)


@dataclass(frozen=True)
class LanguageIn(ValueConstraint):
    """sh:languageIn: the language of the text, or its part before the first hyphen, is one of these; ``*`` is any
    language.
    """

    languages: frozenset[str]

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        tag = value.language if isinstance(value, Literal) else None
        if not tag:
            return False
        return not self.languages.isdisjoint({"*", tag.lower(), tag.lower().split("-")[0]})


_ALLOWED: Final = {
    "sh:minExclusive": (1,),
    "sh:minInclusive": (0, 1),
    "sh:maxExclusive": (-1,),
    "sh:maxInclusive": (-1, 0),
}


@dataclass(frozen=True)
class Bound(ValueConstraint):
    """sh:minInclusive and similar: a value that cannot be compared does not pass."""

    bound: Literal

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        return self.allows(compared(value, self.bound))

    def allows(self, order: int | None) -> bool:
        """Whether a value passes that is below (-1), equal to (0) or above (1) the bound; None: not comparable."""
        return order in _ALLOWED[self.component]


@dataclass(frozen=True)
class In(ValueConstraint):
    """sh:in: the value is exactly one of these terms."""

    terms: frozenset[Term]

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002 - the class has this parameter
        return value in self.terms


@dataclass(frozen=True)
class Count(Constraint):
    """sh:minCount and sh:maxCount."""

    bound: int

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002 - the class has this parameter
        if len(values) < self.bound if self.is_least else len(values) > self.bound:
            yield None

    @property
    def is_least(self) -> bool:
        """Whether the bound is the minimum; otherwise it is the maximum."""
        return self.component == "sh:minCount"


@dataclass(frozen=True)
class HasValue(Constraint):
    """sh:hasValue: exactly this term is among the values."""

    term: Term

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002 - the class has this parameter
        if self.term not in values:
            yield None


@dataclass(frozen=True)
class UniqueLang(Constraint):
    """sh:uniqueLang: where it is true, one result for each language that several values have."""

    is_unique: bool

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002 - the class has this parameter
        used = Counter(value.language.lower() for value in values if isinstance(value, Literal) and value.language)
        yield from (None for times in used.values() if times > 1 and self.is_unique)


@dataclass(frozen=True)
class Equals(Constraint):
    """sh:equals: the values are exactly those of another property of the focus node."""

    predicate: NamedNode

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        other_values = data.objects(focus, self.predicate)
        yield from (value for value in values if value not in other_values)
        yield from (other for other in other_values if other not in values)


@dataclass(frozen=True)
class Disjoint(Constraint):
    """sh:disjoint: no value is also a value of another property of the focus node."""

    predicate: NamedNode

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        other_values = data.objects(focus, self.predicate)
        yield from (value for value in values if value in other_values)


@dataclass(frozen=True)
class LessThan(Constraint):
    """sh:lessThan and sh:lessThanOrEquals: one result for each pair that is not in this order."""

    predicate: NamedNode

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        other_values = data.objects(focus, self.predicate)
        for value in values:
            for other in other_values:
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

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002 - the class has this parameter
        yield from (value for _, value in self.others(data, values))

    def found(self, shape: Shape, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Finding]:
        for predicate, value in self.others(data, values):
            yield Finding(focus, shape, Predicate(predicate), value, self)

    def others(self, data: Data, values: Collection[Term]) -> Iterator[tuple[NamedNode, Term]]:
        """The properties that are not allowed, with their values."""
        for node in values:
            for predicate, value in data.about(node):
                if predicate not in self.allowed and not (predicate == TYPE and value == RESOURCE):
                    yield predicate, value


_COMBINED: Final[dict[str, Callable[[Iterable[bool]], bool]]] = {
    "sh:not": lambda conforms: not any(conforms),
    "sh:node": all,
    "sh:and": all,
    "sh:or": any,
    "sh:xone": lambda conforms: sum(conforms) == 1,
}


@dataclass(frozen=True)
class Logic(ValueConstraint):
    """sh:not, sh:node, sh:and, sh:or, sh:xone: to how many of the shapes the value conforms."""

    shapes: tuple[Shape, ...]

    @property
    def inner_shapes(self) -> tuple[Shape, ...]:
        return self.shapes

    @property
    def combined(self) -> Callable[[Iterable[bool]], bool]:
        """From whether a value conforms to each of the shapes: whether it meets the constraint."""
        return _COMBINED[self.component]

    def accepts(self, data: Data, value: Term) -> bool:
        return self.combined(shape.accepts(data, value) for shape in self.shapes)


@dataclass(frozen=True)
class OfProperty(Constraint):
    """sh:property: the results of the property shape at each value are its results."""

    shape: Shape

    @property
    def inner_shapes(self) -> tuple[Shape, ...]:
        return (self.shape,)

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        yield from (finding.value for finding in self.found(self.shape, data, focus, values))

    def found(self, shape: Shape, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Finding]:  # noqa: ARG002 - the class has this parameter
        for value in values:
            yield from self.shape.results(data, value)


@dataclass(frozen=True)
class Qualified(Constraint):
    """sh:qualifiedValueShape with one of its two bounds: how many values conform to the shape and to none of
    ``siblings``. ``component``: ``sh:qualifiedMinCount`` or ``sh:qualifiedMaxCount``; ``bound``: its value.
    """

    shape: Shape
    siblings: tuple[Shape, ...]
    bound: int

    @property
    def inner_shapes(self) -> tuple[Shape, ...]:
        return (self.shape, *self.siblings)

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002 - the class has this parameter
        count = sum(
            self.shape.accepts(data, value) and not any(sibling.accepts(data, value) for sibling in self.siblings)
            for value in values
        )
        if count > self.bound if self.component == "sh:qualifiedMaxCount" else count < self.bound:
            yield None
