"""Shapes and constraints as objects: each gives its results at a focus node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from exporter.graph.shapes.terms import SH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pyoxigraph import Literal, NamedNode

    from exporter.graph.shapes.data import Data
    from exporter.graph.shapes.paths import Path
    from exporter.graph.shapes.terms import Term


class Found(NamedTuple):
    """A result before its message is made. ``path``: None for the node as a whole; ``value``: None where no single
    value is at fault.
    """

    focus: Term
    shape: Shape
    path: Path | None
    value: Term | None
    constraint: Constraint


class Constraint(ABC):
    """One constraint of a shape. ``component``: the SHACL parameter that declares it, such as ``sh:minCount``."""

    component: str

    @property
    def component_iri(self) -> str:
        """The IRI of its constraint component, such as ``…MinCountConstraintComponent`` (SHACL, section 4)."""
        return component_of(self.component)

    @abstractmethod
    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:
        """The value of each result, None for a result without a value; empty where the constraint is met.

        ``values``: the value nodes; for a node shape, the focus node alone.
        """

    def found(self, shape: Shape, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Found]:
        """The results."""
        for value in self.failing(data, focus, values):
            yield Found(focus, shape, shape.path, value, self)


def component_of(parameter: str) -> str:
    """``sh:minCount`` -> the IRI of the component that SHACL names after this parameter."""
    name = parameter.removeprefix("sh:")
    return f"{SH}{name[0].upper()}{name[1:]}ConstraintComponent"


class OfEach(Constraint):
    """A constraint that is decided for each value node by itself."""

    @abstractmethod
    def accepts(self, data: Data, value: Term) -> bool:
        """Whether the value meets the constraint."""

    def failing(self, data: Data, focus: Term, values: Collection[Term]) -> Iterator[Term | None]:  # noqa: ARG002
        for value in values:
            if not self.accepts(data, value):
                yield value


@dataclass(frozen=True)
class Targets:
    """Which nodes a shape applies to (SHACL, section 2.1.3). ``classes`` has the shape itself if it is also a class."""

    classes: tuple[NamedNode, ...] = ()
    nodes: tuple[Term, ...] = ()
    subjects_of: tuple[NamedNode, ...] = ()
    objects_of: tuple[NamedNode, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.classes or self.nodes or self.subjects_of or self.objects_of)


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape. ``name``: its IRI, or ``_:name``; ``file``: where it was read; ``path``: None for a node shape;
    ``severity``: as in :class:`~exporter.graph.shapes.results.Result`; ``messages``: its sh:message, in the order of
    their texts.
    """

    name: str
    file: str
    path: Path | None
    targets: Targets
    constraints: tuple[Constraint, ...]
    severity: str = "Violation"
    messages: tuple[Literal, ...] = ()
    is_deactivated: bool = False

    @property
    def path_text(self) -> str | None:
        """The path as it is written in a result."""
        return self.path.text if self.path else None

    def results(self, data: Data, focus: Term) -> Iterator[Found]:
        """The results of the shape at a focus node."""
        if self.is_deactivated:
            return
        values: Collection[Term] = self.path.values(data, focus) if self.path else (focus,)
        for constraint in self.constraints:
            yield from constraint.found(self, data, focus, values)

    def accepts(self, data: Data, focus: Term) -> bool:
        """Whether the node conforms: there is no result of any severity (SHACL, section 3.4.3)."""
        return next(self.results(data, focus), None) is None
