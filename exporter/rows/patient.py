r"""The tolerant reader, for a line that a strict decoder refused: its columns in the documented form, or why not.

It reads names in any letter case, arrays as JSON text (even wrapped in a text again), ``\N`` and other words for null,
a bare ``undefined``, lists replaced by ``"TRUNCATED"``, and everything that :mod:`exporter.rows.lenient` reads. Common
JSON readers turn each of these into null and report nothing.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from exporter.rows import fitting, lenient
from exporter.rows.lenient import Elements, Members, NotJsonError, TooDeepError, Value
from exporter.rows.row import STRUCTURED, Unreadable

NOTHING: Final = frozenset({"", "\\N", "null", "undefined"})
"""Texts that export tools write for a structured column that is null."""
NOT_ONE_OBJECT: Final = "the line is not one JSON object (or, in CSV, not one record)"
TOO_DEEP: Final = f"the JSON is nested more than {lenient.DEEPEST:,} levels deep"

_CHANGE: Final = "object_modified_by_ddl"
WRAPPINGS: Final = 2
"""A structured column that is a JSON string may be wrapped in this many further strings."""
_AFTER_ROW: Final = " \t\r\n,]}"
"""Characters allowed after a row: the rest of an array that has one row on each line."""


def members_of(text: str) -> Members | None:
    """The names and values of a line; None if it is not one JSON object."""
    found = members_or_reason(text)
    return found if isinstance(found, Members) else None


def members_or_reason(text: str) -> Members | str:
    """The names and values of a line, or the reason why it is not one JSON object."""
    try:
        row, end = lenient.parse_first(text)
    except TooDeepError:
        return TOO_DEEP
    except NotJsonError:
        return NOT_ONE_OBJECT
    return row if isinstance(row, Members) and not text[end:].strip(_AFTER_ROW) else NOT_ONE_OBJECT


def content_of(columns: dict[str, Value]) -> bytes | Unreadable:
    """The structured columns of a row as :attr:`exporter.rows.row.Row.content`, or the problems with their values."""
    content: list[Any] = [None] * len(STRUCTURED)
    problems = []
    for name, value in columns.items():
        if name in STRUCTURED:
            place = STRUCTURED.index(name)
            opened = _opened(value)
            problem = _misplaced(name, opened)
            try:
                content[place] = _fitted(name, opened, place) if problem is None else None
            except fitting.DamagedError:
                problem = f"{name} contains {fitting.DAMAGED}"
            except TooDeepError:
                problem = f"{name}: {TOO_DEEP}"
            except (NotJsonError, fitting.MisfitError):
                problem = f"{name} contains {_wanted(name)} that does not match Snowflake's documentation of the column"
            problems += [problem] if problem else []
    return Unreadable(tuple(problems)) if problems else msgspec.json.encode(content)


def _opened(value: Value) -> Value:
    """A structured column without the strings around it; None for a text that means null."""
    if not isinstance(value, str):
        return value
    text = value.strip("\ufeff ")
    for _ in range(WRAPPINGS):
        text = _unwrapped(text)
    return None if text in NOTHING else text


def _unwrapped(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        inner = lenient.parse(text)
    except NotJsonError:
        return text
    return inner.strip(" ") if isinstance(inner, str) else text


def _misplaced(name: str, value: Value) -> str | None:
    """The problem with a value of the wrong kind (array, object, text), judged by its first character; else None."""
    if value is None or (value == fitting.TRUNCATED and name != _CHANGE):
        return None
    looks, wanted = _looks(value), _wanted(name)
    return None if looks == wanted else f"{name} contains {looks}, but {wanted} is expected"


def _looks(value: Value) -> str:
    if isinstance(value, Members) or (isinstance(value, str) and value.startswith("{")):
        return "an object"
    return "an array" if isinstance(value, Elements) or (isinstance(value, str) and value.startswith("[")) else "text"


def _wanted(name: str) -> str:
    return "an object" if name == _CHANGE else "an array"


def _fitted(name: str, value: Value, place: int) -> Any:
    if value == fitting.TRUNCATED and name != _CHANGE:
        return fitting.SENTINEL
    return fitting.fitted(lenient.parse(value) if isinstance(value, str) else value, place)
