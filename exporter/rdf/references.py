"""IRIs and literals as Spark SQL text, the same for every syntax.

IRIs of the exported account are below its base; those of another account, and places, are written in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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


_ANYTHING: Final = "rdfs:Resource"
_ELSEWHERE: Final = ("ah:SnowflakeObject", "ah:Account", "ah:Organization")
"""Classes of things that may have an IRI of their own: a location is itself, an account is the same under any base."""


def _is_below(of: str) -> bool:
    """Whether all things of a class are below an account: those of our classes but :data:`_ELSEWHERE`."""
    return of.startswith("ah:") and of not in _ELSEWHERE


def below(ref: str, of: str = _ANYTHING) -> str:
    """Paths of things of the class ``of`` below their account, relative to the base; what has its own IRI as it is."""
    own = f"concat(below, {ref})"
    return own if _is_below(of) else f"CASE WHEN contains({ref}, '://') THEN {ref} ELSE {own} END"


def whole(ref: str, base: str, of: str = _ANYTHING) -> str:
    """The same, in full; a path below another account has its base already."""
    own = f"CASE WHEN contains(below, '://') THEN concat(below, {ref}) ELSE concat({literal(base)}, {ref}) END"
    return own if _is_below(of) else f"CASE WHEN contains({ref}, '://') THEN {ref} ELSE {own} END"


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


def escaped(text: str) -> str:
    """A text as it stands between quotes in Turtle and N-Triples (RDF 1.1 Turtle, section 6.4)."""
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = f"replace({text}, {literal(character)}, {literal(escape)})"
    return text


def quoted(text: str) -> str:
    """:func:`escaped`, in its quotes."""
    return f"concat('\"', {escaped(text)}, '\"')"
