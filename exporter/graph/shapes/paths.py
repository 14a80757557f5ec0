"""Property paths (SHACL, section 2.3.1): the nodes that they lead to, and how SPARQL and Turtle write them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from exporter.system.reachable import reachable

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

_Node = TypeVar("_Node")


class Edges(Protocol[_Node]):
    """What paths follow: a graph; or, before there is one, the places where its nodes can be."""

    def objects(self, subject: _Node, predicate: NamedNode, /) -> Collection[_Node]:
        """The values of a property; none twice."""

    def subjects(self, predicate: NamedNode, value: _Node, /) -> Collection[_Node]:
        """The nodes that have the value for the property; none twice."""


class PropertyPath(ABC):
    """A path."""

    @abstractmethod
    def values(self, edges: Edges[_Node], focus: _Node, *, back: bool = False) -> Collection[_Node]:
        """The nodes that the path leads to from ``focus``, or with ``back`` the nodes from which it leads there; none
        twice.
        """

    @abstractmethod
    def __str__(self) -> str:
        """The path as SPARQL writes it, IRIs between ``<`` and ``>``."""

    @property
    def text(self) -> str:
        """The path as it is written in a result."""
        return str(self)

    @property
    @abstractmethod
    def turtle(self) -> str:
        """The path as a shape has it in Turtle (SHACL, section 2.3.1)."""


@dataclass(frozen=True)
class Predicate(PropertyPath):
    """A property."""

    iri: NamedNode

    def values(self, edges: Edges[_Node], focus: _Node, *, back: bool = False) -> Collection[_Node]:
        return edges.subjects(self.iri, focus) if back else edges.objects(focus, self.iri)

    def __str__(self) -> str:
        return f"<{self.iri.value}>"

    @property
    def text(self) -> str:
        return self.iri.value

    @property
    def turtle(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Inverse(PropertyPath):
    """``^path``."""

    of: PropertyPath

    def values(self, edges: Edges[_Node], focus: _Node, *, back: bool = False) -> Collection[_Node]:
        return self.of.values(edges, focus, back=not back)

    def __str__(self) -> str:
        return f"^{self.of}"

    @property
    def turtle(self) -> str:
        return f"[ sh:inversePath {self.of.turtle} ]"


@dataclass(frozen=True)
class Sequence(PropertyPath):
    """``(first/then)``."""

    steps: tuple[PropertyPath, ...]

    def values(self, edges: Edges[_Node], focus: _Node, *, back: bool = False) -> Collection[_Node]:
        nodes: Collection[_Node] = (focus,)
        for step in reversed(self.steps) if back else self.steps:
            nodes = {value: None for node in nodes for value in step.values(edges, node, back=back)}
        return nodes

    def __str__(self) -> str:
        return f"({'/'.join(map(str, self.steps))})"

    @property
    def turtle(self) -> str:
        return f"( {' '.join([step.turtle for step in self.steps])} )"


@dataclass(frozen=True)
class Alternative(PropertyPath):
    """``(one|other)``."""

    choices: tuple[PropertyPath, ...]

    def values(self, edges: Edges[_Node], focus: _Node, *, back: bool = False) -> Collection[_Node]:
        return {value: None for choice in self.choices for value in choice.values(edges, focus, back=back)}

    def __str__(self) -> str:
        return f"({'|'.join(map(str, self.choices))})"

    @property
    def turtle(self) -> str:
        return f"[ sh:alternativePath ( {' '.join([choice.turtle for choice in self.choices])} ) ]"


REPEATED: Final = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}
"""By their terms in SHACL, the signs of SPARQL for repeated paths."""


@dataclass(frozen=True)
class Repeated(PropertyPath):
    """``path*``, ``path+`` or ``path?``: from zero (or one) times to any number of times (or one). ``term``: one of
    :data:`REPEATED`.
    """

    of: PropertyPath
    term: str

    def values(self, edges: Edges[_Node], focus: _Node, *, back: bool = False) -> Collection[_Node]:
        def step(node: _Node) -> Collection[_Node]:
            return self.of.values(edges, node, back=back)

        if self.term == "zeroOrOnePath":
            return dict.fromkeys((focus, *step(focus)))
        return reachable(step(focus) if self.term == "oneOrMorePath" else (focus,), step)

    def __str__(self) -> str:
        return f"{self.of}{REPEATED[self.term]}"

    @property
    def turtle(self) -> str:
        return f"[ sh:{self.term} {self.of.turtle} ]"
