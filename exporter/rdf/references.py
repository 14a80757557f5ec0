"""IRIs and literals as Spark SQL text, the same for every syntax.

IRIs of the exported account are below its base; those of another account, and places, are written in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.rdf.terms import NodeClass, Property


def with_below(nodes: DataFrame, account: str, base: str) -> DataFrame:
    """The nodes with the column ``below``: what comes before a path of a row's account, relative to ``base``."""
    below_other = f"CASE WHEN account = {literal(account)} THEN '' ELSE {_base_of_other(base)} END"
    return nodes.selectExpr("*", f"{below_other} AS below")


def _base_of_other(base: str) -> str:
    if base.startswith("snowflake://"):
        return "concat('snowflake://', account, '/')"
    return f"concat({literal(base + 'account/')}, url_encode(account), '/')"


def below(ref: str) -> str:
    """Paths below their account, relative to the base; locations as they are."""
    return f"CASE WHEN contains({ref}, '://') THEN {ref} ELSE concat(below, {ref}) END"


def absolute(ref: str, base: str) -> str:
    """What :func:`below` gives, in full."""
    return f"CASE WHEN contains({ref}, '://') THEN {ref} ELSE concat({literal(base)}, {ref}) END"


def whole(ref: str, base: str) -> str:
    """A path or location as the node has it, in full."""
    return absolute(f"({below(ref)})", base)


def types(node_class: NodeClass) -> str:
    """The classes of a node, as an array of names with prefixes."""
    fixed = ", ".join(literal(name) for name in (node_class.name, *node_class.also))
    return "types" if node_class.typed else f"array({fixed})"


def values(one: Property, value_as: str) -> str:
    """The values of a property as an array of texts, null where there is none; ``value_as`` of each ``value``."""
    column = one.column if one.many else f"CASE WHEN {one.column} IS NOT NULL THEN array({one.column}) END"
    return f"CASE WHEN size({column}) > 0 THEN transform({column}, value -> {value_as}) END"


def date_time(value: str) -> str:
    """A timestamp as xsd:dateTime in UTC, with as many digits of fraction as it has."""
    return f"concat(replace(cast({value} as string), ' ', 'T'), 'Z')"


def quoted(text: str) -> str:
    """A text as Turtle and N-Triples quote it (RDF 1.1 Turtle, section 6.4)."""
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = f"replace({text}, {literal(character)}, {literal(escape)})"
    return f"concat('\"', {text}, '\"')"
