"""Spark SQL expressions as text, put together from smaller ones.

The events are wide structs. As ``Column`` objects they take some 19,000 calls from Python to the JVM, which is seconds
before the first row is read; as text they are parsed there in one call each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.sql import literal

if TYPE_CHECKING:
    from collections.abc import Mapping


def struct(fields: Mapping[str, str]) -> str:
    """A struct of named expressions.

    >>> struct({"name": "lower(n)", "type": literal("UNKNOWN")})
    "named_struct('name', lower(n), 'type', 'UNKNOWN')"
    """
    return "named_struct(" + ", ".join(f"{literal(name)}, {value}" for name, value in fields.items()) + ")"


def only_if(condition: str, value: str) -> str:
    """The value where the condition holds, else null."""
    return f"CASE WHEN {condition} THEN {value} END"


def sorted_set(array: str) -> str:
    """The array's values without nulls, each once and in order: collected lists come in any order."""
    return f"sort_array(array_distinct(array_compact({array})))"


def typed_fields(names: str, kind: str) -> str:
    """The fields of a ``schema`` facet: these names, all of one type."""
    return f"transform({names}, n -> struct(n AS name, {literal(kind)} AS type))"


def json_text(value: str) -> str:
    """A string as JSON has it, in its quotes: names that need no escapes, which are nearly all, without a generator."""
    escaped = rf"regexp_extract(to_json(array({value})), r'(?s)^\[(.*)\]\z', 1)"
    return rf"""CASE WHEN {value} RLIKE r'^[ !#-\[\]-~]*\z' THEN concat('"', {value}, '"') ELSE {escaped} END"""


def members(value: str) -> str:
    """What stands between the brace that opens a struct's JSON and the end: ``"a":1}``. Something must be before it."""
    return f"substring(to_json({value}), 2)"


def iso(time: str) -> str:
    """A timestamp as events have it (RFC 3339): in UTC, with microseconds, whatever the session's time zone."""
    return f"""date_format(to_utc_timestamp({time}, current_timezone()), "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")"""
