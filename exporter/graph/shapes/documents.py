"""Files of RDF -> triples. The same files always give the same names of blank nodes."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, Quad, RdfFormat, Triple, parse

from exporter import compressed
from exporter.errors import UsageError
from exporter.graph.ask.store import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class Documents:
    """Reads files one after the other. Blank nodes of different files are different nodes, even if named alike."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def triples(self, file: Path) -> Iterator[Triple]:
        """The triples of a file; raises UsageError where it cannot be read or parsed."""
        known: dict[BlankNode, BlankNode] = {}
        try:
            base = file.resolve().as_uri()
            for quad in _parsed(file, base):
                subject, object_ = quad.subject, quad.object
                if isinstance(subject, BlankNode):
                    subject = self._named(subject, known)
                if isinstance(object_, BlankNode):
                    object_ = self._named(object_, known)
                yield Triple(subject, quad.predicate, object_)
        except SyntaxError as error:
            raise UsageError(f"{file}: is not valid Turtle: {error.msg.removeprefix('Parser error at ')}") from None
        except compressed.BROKEN as error:
            raise UsageError(f"{file}: cannot be unpacked: {error}") from None
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None

    def all_triples(self, files: Iterable[Path]) -> Iterator[Triple]:
        """The triples of the files, one after the other."""
        for file in files:
            yield from self.triples(file)

    def _named(self, node: BlankNode, known: dict[BlankNode, BlankNode]) -> BlankNode:
        """The blank node, named by the order in which it first appeared."""
        if node not in known:
            known[node] = BlankNode(f"b{next(self._numbers)}")
        return known[node]


def _parsed(file: Path, base: str) -> Iterator[Quad]:
    syntax = FORMATS.get(compressed.syntax_of(file), RdfFormat.TURTLE)
    if file.suffix != compressed.ENDING:
        yield from parse(path=str(file), format=syntax, base_iri=base)
        return
    with compressed.opened(file) as unpacked:
        yield from parse(unpacked, syntax, base_iri=base)
