"""Nodes -> N-Triples and N-Quads: one line a triple, by column expressions alone.

Source: RDF 1.1 N-Triples, section 2; RDF 1.1 N-Quads, section 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.rdf.references import date_time, quoted, types, values, whole, with_below
from exporter.rdf.terms import PREFIXES, NodeClass, Property, full
from exporter.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def render(nodes: DataFrame, node_class: NodeClass, account: str, base: str, graph: str | None = None) -> DataFrame:
    """Nodes with a column per property -> ``value``: the lines of a node; quads of ``graph``, where one is given."""
    end = " ." if graph is None else f" <{graph}> ."
    of_type = f"concat('<', {_full_name('value')}, '>')"
    own = Property("rdf:type", types(node_class), "rdfs:Class", many=True)
    lines = [_lines(own, of_type, end), *(_lines(one, _term(one, base), end) for one in node_class.properties)]
    subjects = with_below(nodes, account, base).selectExpr("*", f"{whole('path', base)} AS subject")
    return subjects.selectExpr(f"concat_ws('\\n', {', '.join(lines)}) AS value")


def _lines(one: Property, value_as: str, end: str) -> str:
    predicate = literal(f"> <{full(one.term)}> ")
    line = f"concat('<', subject, {predicate}, {value_as}, {literal(end)})"
    return f"array_join({values(one, line)}, '\\n')"


def _term(one: Property, base: str) -> str:
    if not one.is_literal:
        return f"concat('<', {whole('value', base)}, '>')"
    if one.range == "xsd:string":
        return quoted("value")
    text = date_time("value") if one.range == "xsd:dateTime" else "cast(value as string)"
    datatype = literal(f'"^^<{full(one.range)}>')
    return f"concat('\"', {text}, {datatype})"


def _full_name(name: str) -> str:
    prefixes = ", ".join(f"{literal(prefix)}, {literal(iri)}" for prefix, iri in PREFIXES.items())
    return f"concat(map({prefixes})[substring_index({name}, ':', 1)], substring_index({name}, ':', -1))"
