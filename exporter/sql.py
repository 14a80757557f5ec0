"""Spark SQL as text, where a plan has too many expressions to build them one call at a time; unions of many tables."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame


def literal(text: str) -> str:
    r"""A string literal.

    >>> literal("it's")
    "'it\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def literals(texts: Iterable[str]) -> str:
    """String literals with commas between, as ``IN (…)`` takes them."""
    return ", ".join(literal(text) for text in texts)


def let(name: str, value: str, body: str) -> str:
    """The body with the value under a name: worked out once, however often the body names it."""
    return f"get(transform(array({value}), {name} -> {body}), 0)"


def aggregates(**texts: str) -> list[Column]:
    """Aggregates by the name of their column, as Spark SQL text."""
    return [F.expr(text).alias(name) for name, text in texts.items()]


def union(tables: Iterable[DataFrame]) -> DataFrame:
    """All rows of the tables, of which there is at least one, by the names of their columns."""
    return reduce(lambda one, other: one.unionByName(other), tables)
