"""Nodes -> N-Triples and N-Quads: one line for each triple.

Source: RDF 1.1 N-Triples, section 2; RDF 1.1 N-Quads, section 2.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.terms import full
from exporter.graph.writers.literals import escaped
from exporter.rows.times import iso

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.graph.terms import Node, NodeClass, Property

    Render = Callable[[Node], str]

_TYPE: Final = f"> <{full('rdf:type')}> <"


def renderer(base: str, graph: str | None = None) -> Render:
    """How a node is written: its lines, without a newline at the end; as quads of ``graph``, where one is given."""
    end = " ." if graph is None else f" <{graph}> ."
    return partial(_render, base=base, end=end)


def _render(node: Node, base: str, end: str) -> str:
    pieces = _pieces(node.of)
    subject = f"<{node.iri if '://' in node.iri else base + node.iri}"
    lines = [f"{subject}{_TYPE}{full(name)}>{end}" for name in node.types]
    for term, values in node.values.items():
        predicate, written = pieces[term]
        before, after = f"{subject}{predicate}", f"{_AFTER[written]}{end}"
        if written == _IRI:
            lines += [f"{before}<{value if '://' in value else base + value}{after}" for value in values]  # type: ignore[operator]
        else:
            text = _TEXT[written]
            lines += [f'{before}"{text(value)}{after}' for value in values]
    return "\n".join(lines)


_IRI: Final = "iri"
_TEXT: Final[dict[str, Callable[[Any], str]]] = {
    "xsd:string": escaped,
    "xsd:dateTime": iso,
    "xsd:integer": str,
    "xsd:boolean": lambda value: "true" if value else "false",
}
_AFTER: Final = {
    _IRI: ">",
    "xsd:string": '"',
    **{name: f'"^^<{full(name)}>' for name in _TEXT if name != "xsd:string"},
}
"""The text after a value, by how the value is written."""


@lru_cache(maxsize=1_000)
def _pieces(of: NodeClass) -> dict[str, tuple[str, str]]:
    """By term, the text between subject and value, and how values are written."""
    return {one.term: (f"> <{full(one.term)}> ", _written(one)) for one in of.properties}


def _written(one: Property) -> str:
    return one.range if one.is_literal else _IRI
