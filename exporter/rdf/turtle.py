"""Nodes -> Turtle: one block a node, by column expressions alone.

Source: RDF 1.1 Turtle, sections 2.4 (IRIs relative to @base), 2.5 (literals), 6.4 (escapes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.rdf.terms import PREFIXES, NodeClass, Property
from exporter.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))
NODE_COLUMNS: Final = ("account", "query_id", "iri", "node_class", "turtle", "refs")


def header(base: str) -> str:
    """What each file begins with: the base and the prefixes."""
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())
    return f"@base <{base}> .\n{prefixes}\n"


def render(nodes: DataFrame, node_class: NodeClass, account: str, base: str) -> DataFrame:
    """Nodes with a column per property -> ``account``, ``query_id`` (None: of no single query), ``iri``,
    ``node_class``, ``turtle`` and ``refs``, the IRIs that it refers to.

    IRIs of ``account`` are written relative to ``base``; those of another account in full.
    """
    below = f"CASE WHEN account = {literal(account)} THEN '' ELSE {_base_of_other(base)} END"
    own = " , ".join((node_class.name, *node_class.also))
    types = "array_join(types, ' , ')" if node_class.typed else literal(own)
    pieces = ", ".join(_piece(one) for one in node_class.properties)
    subject = f"concat('<', {_below('path')}, '> a ', {types})"
    refs = ", ".join(
        ["cast(array() as array<string>)", *(_refs(one) for one in node_class.properties if not one.is_literal)]
    )
    is_of_query = "query_id" in nodes.columns and node_class.name != "ah:UnrecordedQuery"
    return nodes.selectExpr("*", f"{below} AS below").selectExpr(
        "account",
        "query_id" if is_of_query else "cast(null as string) AS query_id",
        f"{_absolute(_below('path'), base)} AS iri",
        f"{literal(node_class.name)} AS node_class",
        f"concat(concat_ws({literal(_NEXT)}, {subject}, {pieces}), {literal(_END)}) AS turtle",
        f"transform(array_compact(concat({refs})), ref -> {_absolute('ref', base)}) AS refs",
    )


_NEXT: Final = " ;\n    "
_END: Final = " .\n"


def _base_of_other(base: str) -> str:
    if base.startswith("snowflake://"):
        return "concat('snowflake://', account, '/')"
    return f"concat({literal(base + 'account/')}, url_encode(account), '/')"


def _below(ref: str) -> str:
    """Paths below their account; locations as they are."""
    return f"CASE WHEN contains({ref}, '://') THEN {ref} ELSE concat(below, {ref}) END"


def _absolute(ref: str, base: str) -> str:
    return f"CASE WHEN contains({ref}, '://') THEN {ref} ELSE concat({literal(base)}, {ref}) END"


def _refs(one: Property) -> str:
    if one.many:
        return f"transform(coalesce({one.column}, array()), one -> {_below('one')})"
    return f"array({_below(one.column)})"


def _piece(one: Property) -> str:
    term = literal(f"{one.term} ")
    if not one.many:
        return f"concat({term}, {_term(one.column, one)})"
    values = f"array_join(transform({one.column}, value -> {_term('value', one)}), ' , ')"
    return f"CASE WHEN size({one.column}) > 0 THEN concat({term}, {values}) END"


def _term(value: str, one: Property) -> str:
    if not one.is_literal:
        return f"concat('<', {_below(value)}, '>')"
    if one.range == "xsd:dateTime":
        return f"concat('\"', {date_time(value)}, '\"^^xsd:dateTime')"
    if one.range in ("xsd:integer", "xsd:boolean"):
        return f"cast({value} as string)"
    return f"concat('\"', {_escaped(value)}, '\"')"


def date_time(value: str) -> str:
    """A timestamp as xsd:dateTime in UTC, with as many digits of fraction as it has."""
    return f"concat(replace(cast({value} as string), ' ', 'T'), 'Z')"


def _escaped(text: str) -> str:
    for character, escape in _ESCAPES:
        text = f"replace({text}, {literal(character)}, {literal(escape)})"
    return text


def with_headers(blocks: DataFrame, base: str) -> DataFrame:
    """The blocks as lines of text files that each parse by themselves: the first of each partition has the header."""
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1)) == 0
    headed = F.concat(F.lit(header(base)), F.col("turtle"))
    return blocks.select(F.when(is_first, headed).otherwise(F.col("turtle")).alias("value"))
