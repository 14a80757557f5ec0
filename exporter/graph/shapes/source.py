"""The triples of shapes, and how their values are read: what is not as SHACL has it is refused, with file and shape.

Source: SHACL, sections 2.1 (shapes) and 2.3.1 (paths).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from exporter.errors import UsageError
from exporter.graph.shapes.model import (
    RDF,
    RDFS,
    SH,
    SUBCLASS,
    TYPE,
    XSD,
    BlankNode,
    Literal,
    MemoryGraph,
    NamedNode,
    Term,
    sh,
    text,
)
from exporter.graph.shapes.paths import REPEATED, Alternative, Inverse, Predicate, PropertyPath, Repeated, Sequence

if TYPE_CHECKING:
    from pyoxigraph import Triple

_Kind = TypeVar("_Kind", NamedNode, Literal)
_TRUE: Final = Literal("true", datatype=NamedNode(f"{XSD}boolean"))
_FALSE: Final = Literal("false", datatype=NamedNode(f"{XSD}boolean"))
_FIRST: Final = NamedNode(f"{RDF}first")
_REST: Final = NamedNode(f"{RDF}rest")
_NIL: Final = NamedNode(f"{RDF}nil")
_CLASS: Final = NamedNode(f"{RDFS}Class")
_OWL_CLASS: Final = NamedNode("http://www.w3.org/2002/07/owl#Class")


class ShapesGraph:
    """The triples of shapes. ``files``: subject -> the file that first describes it."""

    def __init__(self, triples: list[Triple], files: dict[Term, Path]) -> None:
        self.triples, self.files = triples, files
        self.graph = MemoryGraph(triples)

    def classes_of_classes(self) -> set[Term]:
        """The classes whose instances are classes, so that a shape which is one targets its own instances."""
        return {_CLASS, _OWL_CLASS, *self.graph.subjects(SUBCLASS, _CLASS)}

    def count(self) -> int:
        """The number of shapes: of nodes, and of properties."""
        says = {(TYPE, sh("NodeShape")), (TYPE, sh("PropertyShape"))}
        return len(
            {
                triple.subject
                for triple in self.triples
                if triple.predicate == sh("path") or (triple.predicate, triple.object) in says
            }
        )

    def file_of(self, subject: Term) -> str:
        """The file that first describes the subject."""
        return str(self.files[subject]) if subject in self.files else "shapes"

    def refused(self, subject: Term, fault: str) -> UsageError:
        """An error about a shape, or about a part of it without a name; ``fault``: what is wrong."""
        return UsageError(f"{self.file_of(subject)}: {text(self._named(subject))}: {fault}")

    def _named(self, subject: Term) -> Term:
        """The subject, or the nearest node above it that has a name."""
        seen: set[Term] = set()
        while isinstance(subject, BlankNode) and subject not in seen:
            seen.add(subject)
            above = (triple.subject for triple in self.triples if triple.object == subject)
            subject = next(above, subject)  # type: ignore[assignment]  # Turtle has no quoted triple as a subject
        return subject

    def shown(self, shape: Term) -> str:
        """The shape as results name it: its IRI; of a part without one, the shape that it is part of, and its path."""
        if not isinstance(shape, BlankNode):
            return text(shape)
        paths, around = self.values(shape, "path"), self._named(shape)
        part = f"its part on {path_of(self, shape, paths[0]).text}" if paths else "a part of it"
        is_alone = isinstance(around, BlankNode)
        return f"{text(shape)} in {self.file_of(shape)}" if is_alone else f"{text(around)} ({part})"

    def values(self, subject: Term, name: str) -> list[Term]:
        """The values of a SHACL property; ``name``: without prefix, such as ``minCount``."""
        return list(self.graph.objects(subject, NamedNode(SH + name)))

    def one(self, subject: Term, name: str) -> Term | None:
        """The value; None where there is none; raises UsageError where there are several."""
        values = self.values(subject, name)
        if len(values) > 1:
            raise self.refused(subject, f"has sh:{name} {len(values)} times, and can have it once")
        return values[0] if values else None

    def of_kind(self, subject: Term, name: str, value: Term, kind: type[_Kind]) -> _Kind:
        """The value; raises UsageError where it is not of the kind, which is an IRI or a literal."""
        if not isinstance(value, kind):
            wanted = "an IRI" if kind is NamedNode else "a literal"
            raise self.refused(subject, f"sh:{name} takes {wanted}, and has {value}")
        return value

    def truth(self, subject: Term, name: str, value: Term) -> bool:
        """The value as a boolean; only ``true`` and ``false`` are taken: engines disagree on ``"1"^^xsd:boolean``."""
        if value not in {_TRUE, _FALSE}:
            raise self.refused(subject, f"sh:{name} takes true or false, and has {value}")
        return value == _TRUE

    def items(self, subject: Term, name: str, head: Term, *, least: int = 0) -> list[Term]:
        """The members of a list; raises UsageError where there are fewer than ``least``."""
        members: list[Term] = []
        seen: set[Term] = set()
        while head != _NIL:
            firsts, rests = self.graph.objects(head, _FIRST), self.graph.objects(head, _REST)
            if head in seen or len(firsts) != 1 or len(rests) != 1:
                raise self.refused(subject, f"sh:{name} takes a list, and has an incomplete one")
            seen.add(head)
            members.extend(firsts)
            head = next(iter(rests))
        if len(members) < least:
            raise self.refused(subject, f"sh:{name} takes a list of {least} at least, and has {len(members)}")
        return members


def path_of(source: ShapesGraph, subject: Term, node: Term) -> PropertyPath:
    """The path that the node ``node`` describes; ``subject``: its shape, for errors."""
    if isinstance(node, NamedNode):
        return Predicate(node)
    if source.graph.objects(node, _FIRST):
        return Sequence(_paths(source, subject, node))
    operands = [
        (name, operand)
        for name in ("inversePath", "alternativePath", *REPEATED)
        for operand in source.values(node, name)
    ]
    if len(operands) != 1:
        raise source.refused(subject, f"sh:path takes an IRI or one path, and has {node}")
    ((name, operand),) = operands
    if name == "alternativePath":
        return Alternative(_paths(source, subject, operand))
    inner = path_of(source, subject, operand)
    return Inverse(inner) if name == "inversePath" else Repeated(inner, name)


def _paths(source: ShapesGraph, subject: Term, head: Term) -> tuple[PropertyPath, ...]:
    return tuple(path_of(source, subject, item) for item in source.items(subject, "path", head, least=2))
