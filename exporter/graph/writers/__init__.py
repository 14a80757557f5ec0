"""Nodes -> the syntaxes of the graph, each with what a document of it needs around the nodes."""

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
"""The names of the syntaxes, and how their files end."""


@dataclass(frozen=True)
class Writer:
    """How a graph is written. ``render``: a node -> its text, which ends without a newline.

    A document is ``header``, chunks and ``footer``, each on lines of its own; a chunk is ``opening`` and nodes, with
    ``between`` before all but the first node of the document (of its chunk's ``opening``, where it is the first there).
    Chunks of Turtle, N-Triples and N-Quads are documents by themselves.
    """

    ending: str
    render: Callable[[Node], str]
    header: str = ""
    opening: str = ""
    between: str = ""
    footer: str = ""

    def chunk(self, texts: Iterable[str], *, is_first: bool) -> str:
        """Nodes as ``render`` gives them, of which there is at least one; ends without a newline."""
        before, between = "" if is_first else self.between, f"\n{self.between}"
        return f"{before}{self.opening}{between.join(texts)}"

    def document(self, chunks: Iterable[Iterable[str]]) -> Iterator[str]:
        """What a document is written from, each to be ended with a newline; nothing where there are no nodes."""
        is_first = True
        for texts in chunks:
            if is_first and self.header:
                yield self.header
            yield self.chunk(texts, is_first=is_first)
            is_first = False
        if self.footer and not is_first:
            yield self.footer


def writer_of(name: str, base: str, graph: str | None = None) -> Writer:
    """The writer of a syntax, one of :data:`FORMATS`, for a graph below ``base``; ``graph``: the name of the load, of
    N-Quads alone (:func:`exporter.graph.load.load_iri`).
    """
    ending = FORMATS[name]
    if name == "turtle":
        return Writer(ending, turtle.render, opening=turtle.header(base), between="\n")
    if name == "jsonld":
        return jsonld_writer(base, _context())
    return Writer(ending, ntriples.renderer(base, graph))


def jsonld_writer(base: str, context: dict[str, Any]) -> Writer:
    """The writer of JSON-LD under a context."""
    return Writer(
        FORMATS["jsonld"], jsonld.renderer(base, context), jsonld.header(context), between=",", footer=jsonld.FOOTER
    )


@cache
def _context() -> dict[str, Any]:
    """The context that is published with the ontology."""
    text = (ontology_dir() / "context.jsonld").read_text(encoding="utf-8")
    return dict(json.loads(text)["@context"])
