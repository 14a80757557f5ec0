"""Constraints that each value meets by itself (SHACL, sections 4.1, 4.3, 4.4 and 4.8)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from exporter.graph.shapes.expressions import Expression
from exporter.graph.shapes.literals import read
from exporter.graph.shapes.model import OfEach
from exporter.graph.shapes.order import compared
from exporter.graph.shapes.terms import LANG_STRING, BlankNode, Literal, NamedNode

if TYPE_CHECKING:
    from exporter.graph.shapes.data import Data
    from exporter.graph.shapes.terms import Term

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
class OfClass(OfEach):
    """sh:class: an instance of the class, or of a subclass."""

    class_: NamedNode
    component = "sh:class"

    def accepts(self, data: Data, value: Term) -> bool:
        return data.has_class(value, self.class_)


@dataclass(frozen=True)
class Datatype(OfEach):
    """sh:datatype: a literal of the datatype whose text is valid for it."""

    datatype: NamedNode
    component = "sh:datatype"

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
        if not isinstance(value, Literal) or value.datatype != self.datatype:
            return False
        return bool(value.language) if self.datatype == LANG_STRING else not read(value).is_ill_typed


@dataclass(frozen=True)
class NodeKind(OfEach):
    """sh:nodeKind, one of :data:`NODE_KINDS`."""

    kind: str
    component = "sh:nodeKind"

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
        return isinstance(value, NODE_KINDS[self.kind])


@dataclass(frozen=True)
class Length(OfEach):
    """sh:minLength and sh:maxLength: the characters of a text or an IRI. A blank node only passes a minimum of 0."""

    component: str
    bound: int

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
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


def flags_of(given: str) -> int:
    """``sh:flags`` for Python's expressions."""
    return (re.IGNORECASE if "i" in given else 0) | (re.MULTILINE if "m" in given else 0)


@dataclass(frozen=True)
class Pattern(OfEach):
    """sh:pattern with sh:flags: a match anywhere in the text or IRI, by Python's regular expressions."""

    pattern: str
    flags: str = ""
    component = "sh:pattern"
    expression: Expression = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", Expression(self.pattern, flags_of(self.flags)))

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
        return not isinstance(value, BlankNode) and self.expression.found(value.value)


@dataclass(frozen=True)
class LanguageIn(OfEach):
    """sh:languageIn: the language of the text, or its part before the first hyphen, is one of these; ``*`` is any
    language.
    """

    languages: frozenset[str]
    component = "sh:languageIn"

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
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
class Bound(OfEach):
    """sh:minInclusive and similar: a value that cannot be compared does not pass."""

    component: str
    bound: Literal

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
        return self.allows(compared(value, self.bound))

    def allows(self, order: int | None) -> bool:
        """Whether a value passes that is below (-1), equal to (0) or above (1) the bound; None: not comparable."""
        return order in _ALLOWED[self.component]


@dataclass(frozen=True)
class In(OfEach):
    """sh:in: the value is exactly one of these terms."""

    terms: frozenset[Term]
    component = "sh:in"

    def accepts(self, data: Data, value: Term) -> bool:  # noqa: ARG002
        return value in self.terms
