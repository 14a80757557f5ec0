"""Nodes -> JSON-LD: one object a node, by column expressions alone, under a context that gives the terms short names.

Source: JSON-LD 1.1, sections 3.1 (the context), 4.2.3 (type coercion), 4.9 (named graphs).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from exporter.rdf.references import date_time, types, values, whole, with_below
from exporter.sql import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame

    from exporter.rdf.terms import NodeClass, Property

Context = dict[str, Any]
FOOTER: Final = "]}\n"


def context_of(classes: Iterable[NodeClass], prefixes: Mapping[str, str]) -> Context:
    """A context with the local name of each property; values that are no texts have their type."""
    terms: Context = {"@version": 1.1, **prefixes, "id": "@id", "type": "@type"}
    for one in (one for node_class in classes for one in node_class.properties):
        short = one.term.split(":")[1]
        is_taken = short in terms and _iri(terms[short]) != one.term
        typed = {"@id": one.term, "@type": one.range if one.is_literal else "@id"}
        terms[one.term if is_taken else short] = one.term if one.range == "xsd:string" else typed
    return terms


def header(context: Context) -> str:
    """What a file begins with; :data:`FOOTER` ends it."""
    return f'{{"@context": {json.dumps(context, ensure_ascii=False)},\n"@graph": [\n'


def render(nodes: DataFrame, node_class: NodeClass, account: str, base: str, context: Context) -> DataFrame:
    """Nodes with a column per property -> ``value``: a JSON object each."""
    names = {_iri(term): short for short, term in context.items() if not short.startswith("@")}
    fields = [("id", whole("path", base)), ("type", types(node_class))]
    fields += [(names[one.term], _value(one, base)) for one in node_class.properties]
    struct = ", ".join(f"{literal(name)}, {value}" for name, value in fields)
    return with_below(nodes, account, base).selectExpr(f"to_json(named_struct({struct})) AS value")


def _iri(term: str | dict[str, str]) -> str:
    return term["@id"] if isinstance(term, dict) else term


def _value(one: Property, base: str) -> str:
    """Null, which JSON leaves out, where there is none; an array where there can be many."""
    value = "value" if one.many else one.column
    if not one.is_literal:
        text = whole(value, base)
    elif one.range == "xsd:dateTime":
        text = date_time(value)
    else:
        text = value
    return values(one, text) if one.many else f"CASE WHEN {one.column} IS NOT NULL THEN {text} END"
