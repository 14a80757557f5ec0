"""Nodes -> the syntaxes of the graph, with the header, footer and separators that a document needs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.writers import jsonld, ntriples, turtle
from exporter.resources import ontology_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.graph.terms import Node

FORMATS: Final = {"turtle": "ttl", "ntriples": "nt", "nquads": "nq", "jsonld": "jsonld"}
"""The names of the syntaxes, with their file endings."""


@dataclass(frozen=True)
class Writer:
    """How a graph is written. ``render``: a node -> its text, without a newline at the end.

    A document is ``header``, chunks and ``footer``, each on lines of its own. A chunk is ``opening`` and then nodes.
    ``between`` stands before every node but the document's first; in a later chunk it stands before the ``opening``.
    Chunks of Turtle, N-Triples and N-Quads are documents by themselves.
    """

    ending: str
    render: Callable[[Node], str]
    header: str = ""
    opening: str = ""
    between: str = ""
    footer: str = ""

    def chunk(self, texts: Iterable[str], *, is_first: bool) -> str:
        """One chunk of nodes as ``render`` gives them, at least one; without a newline at the end."""
        before, between = "" if is_first else self.between, f"\n{self.between}"
        return f"{before}{self.opening}{between.join(texts)}"

    def document(self, chunks: Iterable[Iterable[str]]) -> Iterator[str]:
        """The texts of a document, which the caller ends with a newline each; none where there are no nodes."""
        is_first = True
        for texts in chunks:
            if is_first and self.header:
                yield self.header
            yield self.chunk(texts, is_first=is_first)
            is_first = False
        if self.footer and not is_first:
            yield self.footer


def writer_of(name: str, base: str, graph: str | None = None) -> Writer:
    """The writer of a syntax, one of :data:`FORMATS`, for a graph below ``base``; ``graph``: for N-Quads only, the name
    of the load (:func:`exporter.graph.load.load_iri`).
    """
    ending = FORMATS[name]
    if name == "turtle":
        return Writer(ending, turtle.render, opening=turtle.header(base), between="\n")
    if name == "jsonld":
        return jsonld_writer(base, _context())
    return Writer(ending, ntriples.renderer(base, graph))


def jsonld_writer(base: str, context: dict[str, Any]) -> Writer:
    """The writer of JSON-LD with a context."""
    return Writer(
        FORMATS["jsonld"], jsonld.renderer(base, context), jsonld.header(context), between=",", footer=jsonld.FOOTER
    )


@cache
def _context() -> dict[str, Any]:
    """The context that is published with the ontology."""
    text = (ontology_dir() / "context.jsonld").read_text(encoding="utf-8")
    return dict(json.loads(text)["@context"])
