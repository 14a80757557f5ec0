"""Nodes -> Turtle: one block a node, by column expressions alone.

Source: RDF 1.1 Turtle, sections 2.4 (IRIs relative to @base), 2.5 (literals), 6.4 (escapes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.rdf.references import below, date_time, escaped, whole, with_below
from exporter.rdf.terms import PREFIXES, NodeClass, Property
from exporter.sql import literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

NODE_COLUMNS: Final = ("account", "query_id", "iri", "node_class", "turtle", "refs")


def header(base: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """What each file begins with: the base and the prefixes."""
    lines = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items())
    return f"@base <{base}> .\n{lines}\n"


def render(nodes: DataFrame, node_class: NodeClass, account: str, base: str) -> DataFrame:
    """Nodes with a column per property -> ``account``, ``query_id`` (None: of no single query), ``iri``,
    ``node_class``, ``turtle`` and ``refs``, the IRIs that it refers to.

    IRIs of ``account`` are written relative to ``base``; those of another account in full.
    """
    own = " , ".join((node_class.name, *node_class.also))
    types = "array_join(types, ' , ')" if node_class.typed else literal(own)
    pieces = ", ".join(_piece(one) for one in node_class.properties)
    subject = f"concat('<', {below('path', node_class.name)}, '> a ', {types})"
    is_of_query = "query_id" in nodes.columns and node_class.name != "ah:UnrecordedQuery"
    return with_below(nodes, account, base).selectExpr(
        "account",
        "query_id" if is_of_query else "cast(null as string) AS query_id",
        f"{whole('path', base, node_class.name)} AS iri",
        f"{literal(node_class.name)} AS node_class",
        f"concat(concat_ws({literal(_NEXT)}, {subject}, {pieces}), {literal(_END)}) AS turtle",
        f"transform(array_compact({_refs(node_class)}), ref -> {whole('ref', base)}) AS refs",
    )


_NEXT: Final = " ;\n    "
_END: Final = " .\n"


def _refs(node_class: NodeClass) -> str:
    """All that a node refers to, as one array of paths and locations."""
    things = [one for one in node_class.properties if not one.is_literal]
    single = ", ".join(one.column for one in things if not one.many)
    lists = [f"coalesce({one.column}, array())" for one in things if one.many]
    return f"concat({', '.join([f'cast(array({single}) as array<string>)', *lists])})"


def _piece(one: Property) -> str:
    term = f"{one.term} "
    if not one.many:
        return _term(one.column, one, term)
    values = f"array_join(transform({one.column}, value -> {_term('value', one)}), ' , ')"
    return f"CASE WHEN size({one.column}) > 0 THEN concat({literal(term)}, {values}) END"


def _term(value: str, one: Property, before: str = "") -> str:
    """The value as Turtle has it, with a text ``before`` it; null for null."""
    if not one.is_literal:
        return f"concat({literal(before + '<')}, {below(value, one.range)}, '>')"
    if one.range == "xsd:dateTime":
        return f"concat({literal(before + _QUOTE)}, {date_time(value)}, '\"^^xsd:dateTime')"
    if one.range in ("xsd:integer", "xsd:boolean"):
        return f"concat({literal(before)}, {value})" if before else f"cast({value} as string)"
    return f"concat({literal(before + _QUOTE)}, {escaped(value)}, '\"')"


_QUOTE: Final = '"'


def with_headers(blocks: DataFrame, header: str, column: str, between: str = "") -> DataFrame:
    """The texts of ``column`` as lines of files that each parse by themselves: the first of each partition comes after
    ``header``, the others after ``between``.
    """
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1)) == 0
    before = F.when(is_first, F.lit(header)).otherwise(F.lit(between))
    return blocks.select(F.concat(before, F.col(column)).alias("value"))
