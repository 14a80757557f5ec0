"""Files of shapes -> triples, with the file of each subject, and errors that name file and shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, cast

from exporter.errors import UsageError
from exporter.graph.ask.store import FORMATS
from exporter.graph.shapes.data import Graph
from exporter.graph.shapes.documents import Documents
from exporter.graph.shapes.terms import RDF, SH, XSD, BlankNode, Literal, NamedNode, text
from exporter.resources import shapes_dir

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyoxigraph import Triple

    from exporter.graph.shapes.terms import Term

_Kind = TypeVar("_Kind", NamedNode, Literal)
_TRUE: Final = Literal("true", datatype=NamedNode(f"{XSD}boolean"))
_FALSE: Final = Literal("false", datatype=NamedNode(f"{XSD}boolean"))
_FIRST: Final = NamedNode(f"{RDF}first")
_REST: Final = NamedNode(f"{RDF}rest")
_NIL: Final = NamedNode(f"{RDF}nil")


class Source:
    """The triples of the project's shapes (``own``: of these files in their place) and of ``extra_dirs``: folders or
    single files, which may not change the project's shapes.
    """

    def __init__(self, extra_dirs: Iterable[Path] = (), own: Iterable[Path] | None = None) -> None:
        self.triples: list[Triple] = []
        self._files: dict[Term, Path] = {}
        documents = Documents()
        own = own_files() if own is None else list(own)
        for file in own:
            self._add(documents.triples(file), file)
        known, given = set(self._files), {file.resolve() for file in own}
        for file in (file for folder in extra_dirs for file in files_of(folder)):
            if file.resolve() not in given:
                given.add(file.resolve())
                self._add(documents.triples(file), file, known)
        self.graph = Graph(self.triples)

    def _add(self, triples: Iterable[Triple], file: Path, known: set[Term] | None = None) -> None:
        for one in triples:
            subject = cast("Term", one.subject)  # typed wider by pyoxigraph, for RDF-star, which is not parsed here
            if known and subject in known:
                raise UsageError(
                    f"{file}: {text(subject)} is a shape of the exporter, which cannot be changed. "
                    "Give your shape another IRI"
                )
            self.triples.append(one)
            self._files.setdefault(subject, file)

    def file_of(self, subject: Term) -> str:
        """The file that first describes the subject."""
        return str(self._files[subject]) if subject in self._files else "shapes"

    def refused(self, subject: Term, what: str) -> UsageError:
        """An error about a shape, or about a part of it without a name; ``what``: what is wrong."""
        return UsageError(f"{self.file_of(subject)}: {text(self._named(subject))}: {what}")

    def _named(self, subject: Term) -> Term:
        """The subject, or the nearest node above it that has a name."""
        seen: set[Term] = set()
        while isinstance(subject, BlankNode) and subject not in seen:
            seen.add(subject)
            subject = next((one.subject for one in self.triples if one.object == subject), subject)  # type: ignore[assignment]
        return subject

    def values(self, subject: Term, name: str) -> list[Term]:
        """The values of a SHACL property; ``name``: without prefix, such as ``minCount``."""
        return list(self.graph.objects(subject, NamedNode(SH + name)))

    def one(self, subject: Term, name: str) -> Term | None:
        """The value; None where there is none; raises UsageError where there are several."""
        found = self.values(subject, name)
        if len(found) > 1:
            raise self.refused(subject, f"has sh:{name} {len(found)} times, and can have it once")
        return found[0] if found else None

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
        found: list[Term] = []
        seen: set[Term] = set()
        while head != _NIL:
            firsts, rests = self.graph.objects(head, _FIRST), self.graph.objects(head, _REST)
            if head in seen or len(firsts) != 1 or len(rests) != 1:
                raise self.refused(subject, f"sh:{name} takes a list, and has an incomplete one")
            seen.add(head)
            found.extend(firsts)
            head = next(iter(rests))
        if len(found) < least:
            raise self.refused(subject, f"sh:{name} takes a list of {least} at least, and has {len(found)}")
        return found


def own_files() -> list[Path]:
    """The files of the project's shapes."""
    return sorted(shapes_dir().glob("*.ttl"))


def files_of(folder: Path) -> list[Path]:
    """The files of shapes in a folder, or the file itself; raises UsageError where there are none."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise UsageError(f"{folder}: does not exist. Give a folder with your shapes in Turtle (*.ttl)")
    found = sorted(file for file in folder.iterdir() if file.suffix in FORMATS and file.is_file())
    if not found:
        raise UsageError(f"{folder}: holds no shapes. Give a folder with your shapes in Turtle (*.ttl)")
    return found
