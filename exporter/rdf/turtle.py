"""Nodes -> Turtle: one block a node, by column expressions alone.

Source: RDF 1.1 Turtle, sections 2.4 (IRIs relative to @base), 2.5 (literals), 6.4 (escapes).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.rdf.vocabulary import PREFIXES, NodeClass, Property

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))
NODE_COLUMNS: Final = ("account", "query_id", "iri", "node_class", "turtle", "refs")


def header(base: str) -> str:
    """What each file begins with: the base and the prefixes."""
    prefixes = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in PREFIXES.items())
    return f"@base <{base}> .\n{prefixes}\n"


def render(nodes: DataFrame, node_class: NodeClass, account: str, base: str) -> DataFrame:
    """Nodes with a column per property -> ``account``, ``query_id`` (None: of no single query), ``iri``, ``node_class``,
    ``turtle`` and ``refs``, the IRIs that it refers to.

    IRIs of ``account`` are written relative to ``base``; those of another account in full.
    """
    below = F.when(F.col("account") == account, "").otherwise(_base_of_other(base))
    based = nodes.withColumn("below", below)
    types = (
        F.col("types") if node_class.typed else F.array(*[F.lit(name) for name in (node_class.name, *node_class.also)])
    )
    pieces = [_piece(one) for one in node_class.properties]
    subject = F.concat(F.lit("<"), _full("path"), F.lit("> a "), F.array_join(types, " , "))
    turtle = F.concat(F.concat_ws(" ;\n    ", subject, *pieces), F.lit(" .\n"))
    refs = [_refs(one) for one in node_class.properties if not one.is_literal]
    return based.select(
        "account",
        F.col("query_id")
        if "query_id" in nodes.columns and _is_of_query(node_class)
        else F.lit(None).alias("query_id"),
        _absolute(_full("path"), base).alias("iri"),
        F.lit(node_class.name).alias("node_class"),
        turtle.alias("turtle"),
        F.transform(
            F.array_compact(F.concat(F.array().cast("array<string>"), *refs)), lambda ref: _absolute(ref, base)
        ).alias("refs"),
    )


def _is_of_query(node_class: NodeClass) -> bool:
    return node_class.name != "ah:UnrecordedQuery"


def _base_of_other(base: str) -> Column:
    if base.startswith("snowflake://"):
        return F.concat(F.lit("snowflake://"), "account", F.lit("/"))
    return F.concat(F.lit(f"{base}account/"), F.url_encode("account"), F.lit("/"))


def _full(name: str) -> Column:
    return _below(F.col(name))


def _below(ref: Column) -> Column:
    """Paths below their account; locations as they are."""
    return F.when(F.contains(ref, F.lit("://")), ref).otherwise(F.concat(F.col("below"), ref))


def _absolute(ref: Column, base: str) -> Column:
    return F.when(F.contains(ref, F.lit("://")), ref).otherwise(F.concat(F.lit(base), ref))


def _refs(one: Property) -> Column:
    if one.many:
        return F.transform(F.coalesce(one.column, F.array()), _below)
    return F.array(_full(one.column))


def _piece(one: Property) -> Column:
    column = F.col(one.column)
    if not one.many:
        return F.when(column.isNotNull(), F.concat(F.lit(f"{one.term} "), _term(column, one)))
    values = F.array_join(F.transform(column, lambda value: _term(value, one)), " , ")
    return F.when(F.size(column) > 0, F.concat(F.lit(f"{one.term} "), values))


def _term(value: Column, one: Property) -> Column:
    if not one.is_literal:
        return F.concat(F.lit("<"), _below(value), F.lit(">"))
    if one.range == "xsd:dateTime":
        return F.concat(F.lit('"'), date_time(value), F.lit('"^^xsd:dateTime'))
    if one.range in ("xsd:integer", "xsd:boolean"):
        return value.cast("string")
    return F.concat(F.lit('"'), _escaped(value), F.lit('"'))


def date_time(value: Column) -> Column:
    """A timestamp as xsd:dateTime in UTC, with as many digits of fraction as it has."""
    return F.concat(F.replace(value.cast("string"), F.lit(" "), F.lit("T")), F.lit("Z"))


def _escaped(text: Column) -> Column:
    for character, escape in _ESCAPES:
        text = F.replace(text, F.lit(character), F.lit(escape))
    return text


def with_headers(blocks: DataFrame, base: str) -> DataFrame:
    """The blocks as the lines of text files that each parse by themselves: the first of each partition has the header."""
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1)) == 0
    return blocks.select(
        F.when(is_first, F.concat(F.lit(header(base)), F.col("turtle"))).otherwise(F.col("turtle")).alias("value")
    )
