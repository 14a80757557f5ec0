"""Spark SQL as text, where a plan has too many expressions to build them one call at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


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
