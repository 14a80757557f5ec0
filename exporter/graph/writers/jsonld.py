"""Nodes -> JSON-LD: one object for each node, with a context that gives the terms short names.

Source: JSON-LD 1.1, sections 3.1 (the context), 4.2.3 (type coercion), 4.9 (named graphs).
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from exporter.rows.times import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from exporter.graph.terms import Node, NodeClass, Property

    Context = dict[str, Any]
    Render = Callable[[Node], str]

FOOTER: Final = "]}"
"""The end of a document."""
_encode: Final = msgspec.json.Encoder().encode


def context_of(classes: Iterable[NodeClass], prefixes: Mapping[str, str]) -> Context:
    """A context with the local name of each property, and the type of values that are not plain text."""
    terms: Context = {"@version": 1.1, **prefixes, "id": "@id", "type": "@type"}
    for one in (one for node_class in classes for one in node_class.properties):
        short = one.term.split(":")[1]
        is_taken = short in terms and _iri(terms[short]) != one.term
        typed = {"@id": one.term, "@type": one.range if one.is_literal else "@id"}
        terms[one.term if is_taken else short] = one.term if one.range == "xsd:string" else typed
    return terms


def header(context: Context) -> str:
    """The beginning of a document; :data:`FOOTER` ends it."""
    return f'{{"@context": {json.dumps(context, ensure_ascii=False)},\n"@graph": ['


def renderer(base: str, context: Context) -> Render:
    """How a node is written: as an object on one line, with the names of ``context``."""
    names = {_iri(term): short for short, term in context.items() if not short.startswith("@")}
    return partial(_render, base=base, names=names, pieces={})


def _iri(term: str | dict[str, str]) -> str:
    return term["@id"] if isinstance(term, dict) else term


def _render(
    node: Node, base: str, names: Mapping[str, str], pieces: dict[NodeClass, dict[str, tuple[str, Property]]]
) -> str:
    if node.of not in pieces:
        pieces[node.of] = {one.term: (names[one.term], one) for one in node.of.properties}
    of_class = pieces[node.of]
    whole: dict[str, Any] = {"id": node.iri if "://" in node.iri else base + node.iri, "type": node.types}
    for term, values in node.values.items():
        name, one = of_class[term]
        shown: tuple[Any, ...] | list[Any] = values
        if not one.is_literal:
            shown = [value if "://" in value else base + value for value in values]  # type: ignore[operator]
        elif one.range == "xsd:dateTime":
            shown = [iso(value) for value in values]  # type: ignore[arg-type]
        whole[name] = shown if one.many else shown[0]
    return _encode(whole).decode()
