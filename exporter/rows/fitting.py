"""Convert JSON from the tolerant reader to the documented form (the fields of :mod:`exporter.rows.documents`).

A text field accepts any value: a number by its digits, an array or object as its JSON. A list field accepts a list, or
the word that Snowflake writes in place of a truncated list. An object field accepts only an object. A field that no
document has stays as it is.
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
"""A truncated list inside a column: one element, named ``TRUNCATED`` by whichever name field the list's type has."""
_MOST_BRACKETS: Final = 200
"""Raw JSON with more brackets may be nested deeper than a decoder allows, so it is kept as text."""

_check: Final = msgspec.json.Decoder(Raw).decode


class MisfitError(ValueError):
    """A value has another type than the documents give for its field."""


class DamagedError(MisfitError):
    """A text contains bytes that are not UTF-8, or a single surrogate."""


DAMAGED: Final = "bytes that are not UTF-8, or half of a surrogate pair, in a text"
"""Two different damaged texts look the same once they are written, so no object may be named by one."""
_half: Final = re.compile("[\ud800-\udfff]").search


def is_damaged(value: Value) -> bool:
    """Whether it is a text with a single surrogate. Python also decodes a byte that is not UTF-8 to a single
    surrogate.
    """
    return isinstance(value, str) and not value.isascii() and _half(value) is not None


@dataclass(frozen=True)
class _Text:
    """Any value as a text."""


@dataclass(frozen=True)
class _Kept:
    """Raw JSON."""


@dataclass(frozen=True)
class ListKind:
    """An array."""

    of: Kind


@dataclass(frozen=True)
class ObjectKind:
    """An object: its known fields by name."""

    fields: Mapping[str, Kind]


Kind: TypeAlias = "_Text | _Kept | ListKind | ObjectKind"


def fitted(value: Value, column: int) -> Any:
    """The value of a structured column in the documented form, ready to be encoded as JSON. ``column``: its index in
    :data:`exporter.rows.row.STRUCTURED`. Raises MisfitError if the types do not match.
    """
    return _fitted(value, COLUMNS[column])


def plain_text(value: Value) -> str | None:
    """A value as text: a number by its digits, an array or object as its JSON; None for null."""
    if value is None:
        return None
    if isinstance(value, str):
        # a single surrogate cannot be encoded as UTF-8; the JVM writes a question mark for it
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
    if isinstance(kind, ObjectKind) and isinstance(value, Members):
        fields = kind.fields
        return {name: _fitted(one, fields[name]) if name in fields else _as_raw(one) for name, one in value}
    if isinstance(kind, ListKind) and isinstance(value, Elements):
        return [_fitted(one, kind.of) for one in value]
    if isinstance(kind, ListKind) and isinstance(kind.of, ObjectKind) and value == TRUNCATED:
        return _CUT
    raise MisfitError


def _in_text(value: Value) -> str | None:
    """The same text that :func:`exporter.rows.documents.text` gives after decoding."""
    if isinstance(value, Number) and not value.digits.lstrip("-").isdecimal() and isfinite(float(value.digits)):
        return str(float(value.digits))
    return plain_text(value)


def _kept(value: Value) -> str | Raw:
    """The value as raw JSON, or as a text that contains it if a decoder would refuse it. Raises DamagedError if any
    text in it is damaged, because names of objects are read from it later.
    """
    if isinstance(value, str):
        _refuse_damaged(_inside(value))
        return plain_text(value) or ""
    _refuse_damaged(value)
    return _as_raw(value)


def _as_raw(value: Value) -> str | Raw:
    text = spelt(value)
    if text.count("[") + text.count("{") > _MOST_BRACKETS:
        return text
    try:
        return _check(text)
    except msgspec.DecodeError:
        return text


def _inside(text: str) -> Value:
    """The JSON array or object that a text contains; None for other texts."""
    if not text.lstrip(" \t\r\n").startswith(("{", "[")):
        return None
    try:
        return parse_first(text)[0]
    except NotJsonError:
        return None


def _refuse_damaged(value: Value) -> None:
    """Raise DamagedError if any name or value is damaged. A stack replaces recursion: the value may be deep."""
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
        return ListKind(_kind(info.item_type))
    if isinstance(info, inspect.StructType):
        return ObjectKind({field.encode_name: _kind(field.type) for field in info.fields})
    assert isinstance(info, inspect.RawType), info
    return _Kept()


def _columns() -> tuple[Kind, ...]:
    info = inspect.type_info(Document)
    assert isinstance(info, inspect.StructType)
    return tuple(_kind(field.type) for field in info.fields)


COLUMNS: Final = _columns()
"""The kinds of the columns in :data:`exporter.rows.row.STRUCTURED`."""
