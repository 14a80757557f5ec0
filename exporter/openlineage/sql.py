"""Spark SQL expressions as text, put together from smaller ones.

The events are wide structs. As ``Column`` objects they take some 19,000 calls from Python to the JVM, which is seconds
before the first row is read; as text they are parsed there in one call each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def literal(text: str) -> str:
    """A string literal.

    >>> literal("it's")
    "'it\\\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def literals(texts: Iterable[str]) -> str:
    """String literals with commas between, as ``IN (…)`` takes them."""
    return ", ".join(map(literal, texts))


def struct(fields: Mapping[str, str]) -> str:
    """A struct of named expressions.

    >>> struct({"name": "lower(n)", "type": literal("UNKNOWN")})
    "named_struct('name', lower(n), 'type', 'UNKNOWN')"
    """
    return "named_struct(" + ", ".join(f"{literal(name)}, {value}" for name, value in fields.items()) + ")"


def fields(source: str, names: Iterable[str]) -> str:
    """A struct of some fields of another, under the same names."""
    return struct({name: f"{source}.{name}" for name in names})


def renamed(source: str, names: Mapping[str, str]) -> str:
    """A struct of some fields of another, under other names: field -> new name."""
    return struct({new: f"{source}.{name}" for name, new in names.items()})


def only_if(condition: str, value: str) -> str:
    """The value where the condition holds, else null."""
    return f"CASE WHEN {condition} THEN {value} END"


def sorted_set(array: str) -> str:
    """The array's values without nulls, each once and in order: collected lists come in any order."""
    return f"sort_array(array_distinct(array_compact({array})))"


def let(name: str, value: str, body: str) -> str:
    """The body with the value under a name: worked out once, however often the body names it."""
    return f"get(transform(array({value}), {name} -> {body}), 0)"
