"""Spark SQL as text, where a plan has too many expressions to build them one call at a time."""

from __future__ import annotations


def literal(text: str) -> str:
    """A string literal.

    >>> literal("it's")
    "'it\\\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"
