"""Property paths (SHACL, section 2.3.1): the nodes that they lead to, and how SPARQL writes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyoxigraph import NamedNode

    from exporter.graph.shapes.model import Data, Term


class PropertyPath(ABC):
    """A path. ``is_near``: all values are objects of the focus node's own triples, or the node itself."""

    is_near: bool = False

    @abstractmethod
    def values(self, data: Data, focus: Term) -> Collection[Term]:
        """The nodes that the path leads to from ``focus``; no node twice."""

    @abstractmethod
    def back(self, data: Data, value: Term) -> Collection[Term]:
        """The nodes from which the path leads to ``value``; no node twice."""

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
    is_near = True

    def values(self, data: Data, focus: Term) -> Collection[Term]:
        return data.objects(focus, self.iri)

    def back(self, data: Data, value: Term) -> Collection[Term]:
        return data.subjects(self.iri, value)

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

    def values(self, data: Data, focus: Term) -> Collection[Term]:
        return self.of.back(data, focus)

    def back(self, data: Data, value: Term) -> Collection[Term]:
        return self.of.values(data, value)

    def __str__(self) -> str:
        return f"^{self.of}"

    @property
    def turtle(self) -> str:
        return f"[ sh:inversePath {self.of.turtle} ]"


@dataclass(frozen=True)
class Sequence(PropertyPath):
    """``(first/then)``."""

    steps: tuple[PropertyPath, ...]

    def values(self, data: Data, focus: Term) -> Collection[Term]:
        found: Collection[Term] = (focus,)
        for step in self.steps:
            found = {value: None for one in found for value in step.values(data, one)}
        return found

    def back(self, data: Data, value: Term) -> Collection[Term]:
        found: Collection[Term] = (value,)
        for step in reversed(self.steps):
            found = {one: None for each in found for one in step.back(data, each)}
        return found

    def __str__(self) -> str:
        return f"({'/'.join(map(str, self.steps))})"

    @property
    def turtle(self) -> str:
        return f"( {' '.join([step.turtle for step in self.steps])} )"


@dataclass(frozen=True)
class Alternative(PropertyPath):
    """``(one|other)``."""

    choices: tuple[PropertyPath, ...]

    @property
    def is_near(self) -> bool:  # type: ignore[override]
        return all(choice.is_near for choice in self.choices)

    def values(self, data: Data, focus: Term) -> Collection[Term]:
        return {value: None for choice in self.choices for value in choice.values(data, focus)}

    def back(self, data: Data, value: Term) -> Collection[Term]:
        return {one: None for choice in self.choices for one in choice.back(data, value)}

    def __str__(self) -> str:
        return f"({'|'.join(map(str, self.choices))})"

    @property
    def turtle(self) -> str:
        return f"[ sh:alternativePath ( {' '.join([choice.turtle for choice in self.choices])} ) ]"


@dataclass(frozen=True)
class Repeated(PropertyPath):
    """``path*``, ``path+`` or ``path?``: from zero (or one) times to any number of times (or one)."""

    of: PropertyPath
    sign: str

    @property
    def is_near(self) -> bool:  # type: ignore[override]
        return self.sign == "?" and self.of.is_near

    def values(self, data: Data, focus: Term) -> Collection[Term]:
        return self._reached(data, focus, backwards=False)

    def back(self, data: Data, value: Term) -> Collection[Term]:
        return self._reached(data, value, backwards=True)

    def _reached(self, data: Data, start: Term, *, backwards: bool) -> Collection[Term]:
        step = self.of.back if backwards else self.of.values
        found: dict[Term, None] = {} if self.sign == "+" else {start: None}
        todo = list(step(data, start))
        while todo:
            one = todo.pop()
            if one not in found:
                found[one] = None
                if self.sign != "?":
                    todo.extend(step(data, one))
        return found

    def __str__(self) -> str:
        return f"{self.of}{self.sign}"

    @property
    def turtle(self) -> str:
        return f"[ sh:{_SIGNS[self.sign]} {self.of.turtle} ]"


_SIGNS: Final = {"*": "zeroOrMorePath", "+": "oneOrMorePath", "?": "zeroOrOnePath"}
