"""JSON that was read with patience -> the documents' form, field by field as :mod:`exporter.rows.documents` has it.

A text takes any value: a number in its digits, an array or object as its JSON. A list takes a list, or the one word
that Snowflake leaves of a list that it cut away; an object takes an object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import Raw, inspect

from exporter.rows.documents import Document
from exporter.rows.lenient import Elements, Members, NotJsonError, Number, Value, parse_first, spelt

if TYPE_CHECKING:
    from collections.abc import Mapping

TRUNCATED: Final = "TRUNCATED"
SENTINEL: Final = [{"objectDomain": TRUNCATED, "objectId": -1, "objectName": TRUNCATED}]
"""A column that Snowflake replaced as a whole (view, "Truncated records")."""
_CUT: Final = [dict.fromkeys(("columnName", "objectName", "policyName", "joinType"), TRUNCATED)]
"""A list within a column that was cut away: one element, which names itself so whatever the list is of."""
_MOST_BRACKETS: Final = 200
"""Raw JSON with more may be nested deeper than a decoder goes, so it is kept as text."""

_check: Final = msgspec.json.Decoder(Raw).decode


class MisfitError(ValueError):
    """A value is not what the documents have in its place."""


class DamagedError(MisfitError):
    """A text is none."""


DAMAGED: Final = "bytes that are not UTF-8, or half of a surrogate pair, where a text belongs"
"""Two such texts cannot be told apart once they are written, so nothing is named by one."""
_half: Final = re.compile("[\ud800-\udfff]").search


def is_damaged(value: Value) -> bool:
    """Whether it is a text with a part that is no character: half of a surrogate pair, or a byte that is not UTF-8
    (which Python decodes to such a half).
    """
    return isinstance(value, str) and not value.isascii() and _half(value) is not None


@dataclass(frozen=True)
class _Text:
    """Any value as a text."""


@dataclass(frozen=True)
class _Kept:
    """JSON as it came."""


@dataclass(frozen=True)
class _List:
    """An array."""

    of: Kind


@dataclass(frozen=True)
class _Object:
    """An object: its fields by name; others are left out."""

    fields: Mapping[str, Kind]


Kind: TypeAlias = "_Text | _Kept | _List | _Object"


def fitted(value: Value, column: int) -> Any:
    """The value of a structured column (its place in :data:`exporter.rows.row.STRUCTURED`) in the documents' form, as
    values to be written as JSON; raises MisfitError.
    """
    return _fitted(value, _COLUMNS[column])


def plain_text(value: Value) -> str | None:
    """A value as a text column has it: a number in its digits, an array or object as its JSON, null as None."""
    if value is None:
        return None
    if isinstance(value, str):
        # a lone half of a pair has no UTF-8; the JVM writes a question mark for it
        return value if value.isascii() else value.encode("utf-8", errors="replace").decode("utf-8")
    return value.digits if isinstance(value, Number) else spelt(value)


def _fitted(value: Value, kind: Kind) -> Any:
    if value is None:
        return None
    if is_damaged(value):
        raise DamagedError
    if isinstance(kind, _Text):
        return _in_text(value)
    if isinstance(kind, _Kept):
        return _kept(value)
    if isinstance(kind, _Object) and isinstance(value, Members):
        return {name: _fitted(one, kind.fields[name]) for name, one in value if name in kind.fields}
    if isinstance(kind, _List) and isinstance(value, Elements):
        return [_fitted(one, kind.of) for one in value]
    if isinstance(kind, _List) and isinstance(kind.of, _Object) and value == TRUNCATED:
        return _CUT
    raise MisfitError


def _in_text(value: Value) -> str | None:
    """As :func:`exporter.rows.documents.text` spells it when a decoder has read it."""
    if isinstance(value, Number) and not value.digits.lstrip("-").isdecimal() and isfinite(float(value.digits)):
        return str(float(value.digits))
    return plain_text(value)


def _kept(value: Value) -> str | Raw:
    """As JSON, or, where a decoder would not take that, as a text that holds it. Raises DamagedError where a part of it
    is no text: names of things are read from it later.
    """
    if isinstance(value, str):
        _refuse_damaged(_inside(value))
        return plain_text(value) or ""
    _refuse_damaged(value)
    text = spelt(value)
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return text
    try:
        return _check(text)
    except msgspec.DecodeError:
        return text


def _inside(text: str) -> Value:
    """The JSON that a text holds; None for other texts."""
    if not text.lstrip(" \t\r\n").startswith(("{", "[")):
        return None
    try:
        return parse_first(text)[0]
    except NotJsonError:
        return None


def _refuse_damaged(value: Value) -> None:
    """Look through all names and values, which may be deep."""
    left = [value]
    while left:
        one = left.pop()
        if is_damaged(one):
            raise DamagedError
        if isinstance(one, Members):
            left += [part for member in one for part in member]
        elif isinstance(one, Elements):
            left += one


def _kind(info: inspect.Type) -> Kind:
    if isinstance(info, inspect.UnionType):
        there = [one for one in info.types if not isinstance(one, inspect.NoneType)]
        return _Text() if len(there) > 1 else _kind(there[0])
    if isinstance(info, inspect.ListType):
        return _List(_kind(info.item_type))
    if isinstance(info, inspect.StructType):
        return _Object({field.encode_name: _kind(field.type) for field in info.fields})
    assert isinstance(info, inspect.RawType), info
    return _Kept()


def _columns() -> tuple[Kind, ...]:
    info = inspect.type_info(Document)
    assert isinstance(info, inspect.StructType)
    return tuple(_kind(field.type) for field in info.fields)


_COLUMNS: Final = _columns()
