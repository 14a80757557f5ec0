"""Nodes -> Turtle: one block for each node.

Source: RDF 1.1 Turtle, sections 2.4 (IRIs relative to @base), 2.5 (literals), 6.4 (escapes).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.terms import PREFIXES
from exporter.graph.writers.literals import escaped
from exporter.rows.times import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exporter.graph.terms import Node, NodeClass, Property

    Texts = Callable[[tuple[Any, ...]], list[str]]

_NEXT: Final = " ;\n    "
_END: Final = " ."


def header(base: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """The beginning of a document: the base and the prefixes. It may be repeated further down."""
    lines = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items())
    return f"@base <{base}> .\n{lines}\n"


def render(node: Node) -> str:
    """The block of a node, without a newline at the end; paths are relative to the base."""
    pieces = _pieces(node.of)
    parts = [f"<{node.iri}> a {_types(node.types)}"]
    for term, values in node.values.items():
        before, between, after, texts = pieces[term]
        shown = values if texts is None else texts(values)
        parts.append(f"{before}{between.join(shown)}{after}")  # type: ignore[arg-type]
    return _NEXT.join(parts) + _END


@lru_cache(maxsize=1_000)
def _types(types: tuple[str, ...]) -> str:
    return " , ".join(types)


@lru_cache(maxsize=1_000)
def _pieces(of: NodeClass) -> dict[str, tuple[str, str, str, Texts | None]]:
    """By term, the text before, between and after its values, and how they are written (None: unchanged)."""
    return {one.term: _piece(one) for one in of.properties}


def _piece(one: Property) -> tuple[str, str, str, Texts | None]:
    if not one.is_literal:
        return f"{one.term} <", "> , <", ">", None
    if one.range == "xsd:string":
        return f'{one.term} "', '" , "', '"', _strings
    if one.range == "xsd:dateTime":
        return f'{one.term} "', '"^^xsd:dateTime , "', '"^^xsd:dateTime', _times
    return f"{one.term} ", " , ", "", _truths if one.range == "xsd:boolean" else _numbers


def _strings(values: tuple[Any, ...]) -> list[str]:
    return [escaped(value) for value in values]


def _times(values: tuple[Any, ...]) -> list[str]:
    return [iso(value) for value in values]


def _numbers(values: tuple[Any, ...]) -> list[str]:
    return [str(value) for value in values]


def _truths(values: tuple[Any, ...]) -> list[str]:
    return ["true" if value else "false" for value in values]
