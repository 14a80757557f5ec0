r"""The JSON of a row in the form that the documents give, from the tolerant reader; and what is not in that form.

The tolerant reader takes a line that a strict decoder refused: names in any letter case, arrays as JSON text (even
wrapped in a text again), ``\N`` and other words for null, a bare ``undefined``, lists replaced by ``"TRUNCATED"``, and
everything that :mod:`exporter.input.json_reader` reads. Common JSON readers turn each of these into null and report
nothing.

A text field accepts any value: a number by its digits, an array or object as its JSON. A list field accepts a list, or
the word that Snowflake writes in place of a truncated list. An object field accepts only an object, and the column of a
DDL change also what Snowflake writes in place of a truncated column. Lists and objects may be JSON text at any depth:
COPY INTO writes arrays that are cast (TO_ARRAY) as lists of JSON texts. A field that no document has stays as it is,
and is counted (:func:`unknown_members`). Results are cached, because statements recur.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from math import isfinite
from types import GenericAlias, UnionType
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Raw, Struct, defstruct, inspect
from msgspec.structs import fields

from exporter.input import json_reader
from exporter.input.json_reader import (
    WRAPPINGS,
    Elements,
    Member,
    Members,
    NotJsonError,
    Number,
    TooDeepError,
    Value,
    canonical_json,
    parse_first,
    unwrapped_json,
)
from exporter.input.row import NOT_DECODED, STRUCTURED, Document, Unreadable, decode, lower_name, texts_of
from exporter.system.cache import CONTENTS, LARGE

TRUNCATED: Final = "TRUNCATED"
SENTINEL: Final = [{"objectDomain": TRUNCATED, "objectId": -1, "objectName": TRUNCATED}]
"""A column that Snowflake replaced as a whole (view, "Truncated records")."""
_SENTINEL_TEXTS: Final = {name: str(value) for name, value in SENTINEL[0].items()}
_NAMES: Final = ("columnName", "objectName", "policyName", "joinType")
"""A truncated list inside a column becomes one element, named ``TRUNCATED`` by those of these fields that it has."""
_MOST_BRACKETS: Final = 200
"""Raw JSON with more brackets may be nested deeper than a decoder allows, so it is kept as text."""

_check: Final = msgspec.json.Decoder(Raw).decode
_T = TypeVar("_T")


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


Kind: TypeAlias = "type[str | Raw] | list[Kind] | dict[str, Kind]"
"""What a value has to be: any value as a text, raw JSON, an array of one kind, or an object with known fields."""


def plain_text(value: Value) -> str | None:
    """A value as text: a number by its digits, an array or object as its JSON; None for null."""
    if value is None:
        return None
    if isinstance(value, str):
        # a single surrogate cannot be encoded as UTF-8; the JVM writes a question mark for it
        return value if value.isascii() else value.encode("utf-8", errors="replace").decode("utf-8")
    return value.digits if isinstance(value, Number) else canonical_json(value)


def _fitted(value: Value, kind: Kind) -> Any:
    """The value in the documented form, ready to be encoded as JSON. Raises MisfitError if the types do not match."""
    if is_damaged(value):
        raise DamagedError
    if isinstance(value, str) and isinstance(kind, list | dict):
        value = _in_place_of(value, kind)
    if value is None:
        return None
    if kind is str:
        return _in_text(value)
    if kind is Raw:
        return _raw_or_text(value)
    if isinstance(kind, dict) and isinstance(value, Members):
        if any(is_damaged(name) for name, _ in value):  # it may be the name of a field that is read
            raise DamagedError
        return {name: _fitted(member, kind[name]) if name in kind else _as_raw(member) for name, member in value}
    if isinstance(kind, list) and isinstance(value, Elements):
        return [_fitted(element, kind[0]) for element in value]
    raise MisfitError


def _in_place_of(text: str, kind: list[Kind] | dict[str, Kind]) -> Value:
    """What a text stands for where a list or an object belongs: that of which it is the JSON, None for the JSON of
    null, a list of one element for a truncated list. Raises MisfitError for any other text.
    """
    if text == TRUNCATED and isinstance(kind, list) and isinstance(kind[0], dict):
        return Elements([Members(Member(name, TRUNCATED) for name in _NAMES if name in kind[0])])
    expected = Members if isinstance(kind, dict) else Elements
    try:
        value = json_reader.parse(unwrapped_json(text))
    except TooDeepError:
        raise
    except NotJsonError:
        value = text
    if value is None or isinstance(value, expected):
        return value
    raise MisfitError(f" (in it is text that is not a JSON {'object' if expected is Members else 'array'})")


def _in_text(value: Value) -> str | None:
    """The same text that :func:`exporter.input.row.text` gives after decoding."""
    if isinstance(value, Number) and not value.digits.lstrip("-").isdecimal() and isfinite(float(value.digits)):
        return str(float(value.digits))
    return plain_text(value)


def _raw_or_text(value: Value) -> str | Raw:
    """The value as raw JSON, or as a text that contains it if a decoder would refuse it. Raises DamagedError if any
    text in it is damaged, because names of objects are read from it later.
    """
    if isinstance(value, str):
        _refuse_damaged(_inside(unwrapped_json(value)))
        return plain_text(value) or ""
    _refuse_damaged(value)
    return _as_raw(value)


def _as_raw(value: Value) -> str | Raw:
    text = canonical_json(value)
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
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if is_damaged(item):
            raise DamagedError
        if isinstance(item, Members):
            waiting += [part for member in item for part in member]
        elif isinstance(item, Elements):
            waiting += item


def _kind(info: inspect.Type) -> Kind:
    if isinstance(info, inspect.UnionType):
        types = [item for item in info.types if not isinstance(item, inspect.NoneType)]
        return str if len(types) > 1 else _kind(types[0])
    if isinstance(info, inspect.ListType):
        return [_kind(info.item_type)]
    if isinstance(info, inspect.StructType):
        return {field.encode_name: _kind(field.type) for field in info.fields}
    return Raw


_OF_DOCUMENT: Final = _kind(inspect.type_info(Document))
assert isinstance(_OF_DOCUMENT, dict)
COLUMNS: Final = dict(zip(STRUCTURED, _OF_DOCUMENT.values(), strict=True))
"""The kinds of the structured columns."""


_SHORT: Final = 4 * 1024
_LONG: Final = 32 * 1024
"""Bytes of a content. Many short and few long contents are cached, and none beyond, as in
:mod:`exporter.model.query`.
"""
_MAY_BE_DEEP: Final = 400
"""From this many brackets on, a content may be nested as deeply as Python's stack allows."""
_SPARE: Final = 100


def fits(content: bytes) -> bool:
    """Whether :func:`exporter.input.row.decode` can decode the content, here and where it is called later, and
    the properties of its change have no damaged text.
    """
    return _inspect(content)[0]


def unknown_members(content: bytes) -> Mapping[str, str]:
    """The members of objects that no document has: path -> JSON array of their values, without empty ones.

    A path has no names that users gave: ``direct_objects_accessed[].columns[].newKey``. Members of the properties of a
    change are not among them (:mod:`exporter.input.properties`).
    """
    return _inspect(content)[1]


def _inspect(content: bytes) -> tuple[bool, Mapping[str, str]]:
    if len(content) <= _SHORT:
        return _inspect_short(content)
    return _inspect_long(content) if len(content) <= _LONG else _inspect_content(content)


def _inspect_content(content: bytes) -> tuple[bool, Mapping[str, str]]:
    try:
        document = _decode_below(content, _SPARE if content.count(b"[") + content.count(b"{") > _MAY_BE_DEEP else 0)
        members = _NONE if _is_known(content) else _unknown_of_content(content)
    except NOT_DECODED:
        return False, _NONE
    return document.change is None or not _may_be_damaged(bytes(document.change.properties)), members


def _may_be_damaged(properties: bytes) -> bool:
    """Whether it contains escaped surrogates, single or in pairs. A decoder that keeps raw JSON does not check them."""
    return b"\\ud" in properties.lower()


_inspect_short: Final = lru_cache(maxsize=CONTENTS)(_inspect_content)
_inspect_long: Final = lru_cache(maxsize=LARGE)(_inspect_content)


def _decode_below(content: bytes, frames: int) -> Document:
    """Decode with ``frames`` stack frames in use, so that a later call from a deeper stack succeeds too."""
    return _decode_below(content, frames - 1) if frames else decode(content)


# --- members that no document has -------------------------------------------------------------------------------------

_NONE: Final[Mapping[str, str]] = {}
_EMPTY: Final = frozenset({"null", '""', "[]", "{}"})


def _strict_type(kind: Any) -> Any:
    """A type of documents whose objects refuse members that they do not have."""
    if isinstance(kind, type) and issubclass(kind, Struct):
        members = [(field.name, _strict_type(field.type), None) for field in fields(kind)]
        is_array = kind.__struct_config__.array_like
        return defstruct(kind.__name__, members, rename="camel", forbid_unknown_fields=True, array_like=is_array)
    arguments = tuple(map(_strict_type, get_args(kind)))
    if get_origin(kind) is UnionType:
        return Union[arguments]  # noqa: UP007 # of a tuple
    return GenericAlias(list, arguments) if get_origin(kind) is list else kind


_decode_closed: Final = msgspec.json.Decoder(_strict_type(Document)).decode
_decode_columns: Final = msgspec.json.Decoder(list[Raw]).decode
_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def _is_known(content: bytes) -> bool:
    try:
        _decode_closed(content)
    except msgspec.ValidationError:
        return False
    return True


def _unknown_of_content(content: bytes) -> dict[str, str]:
    values_of: dict[str, set[str]] = {}
    for (name, kind), value in zip(COLUMNS.items(), _decode_columns(content), strict=True):
        if name == "agents_info" and _is_sentinel(bytes(value).decode()):  # an object, which is not an agent
            continue
        for path, data in _unknown(name, kind, bytes(value)):
            text = json_reader.canonical_json(json_reader.parse(data.decode()))
            if text not in _EMPTY:
                values_of.setdefault(path, set()).add(text)
    return {path: f"[{','.join(sorted(values_of[path]))}]" for path in sorted(values_of)}


def _unknown(path: str, kind: Kind, value: bytes) -> Iterator[tuple[str, bytes]]:
    """Path and JSON of the unknown members in a value of a documented kind."""
    if isinstance(kind, list) and value.startswith(b"["):
        for element in _decode_columns(value):
            yield from _unknown(f"{path}[]", kind[0], bytes(element))
    elif isinstance(kind, dict) and value.startswith(b"{"):
        for name, element in _decode_members(value).items():
            member_path = f"{path}.{name}"
            if name in kind:
                yield from _unknown(member_path, kind[name], bytes(element))
            else:
                yield member_path, bytes(element)


NOTHING: Final = frozenset({"", "\\N", "NULL", "null", "undefined"})
"""Texts that export tools write for a structured column that is null."""
NOT_ONE_OBJECT: Final = "the line is not one JSON object (or, in CSV, not one record)"
TOO_DEEP: Final = f"the JSON is nested more than {json_reader.DEEPEST:,} levels deep"

_CHANGE: Final = "object_modified_by_ddl"
_AFTER_ROW: Final = " \t\r\n,]}"
"""Characters allowed after a row: the rest of an array that has one row on each line."""


def members_of(text: str) -> Members | None:
    """The names and values of a line; None if it is not one JSON object."""
    members = members_or_reason(text.removeprefix("\ufeff"))
    return members if isinstance(members, Members) else None


def texts_of_line(line: str, read: Collection[str]) -> dict[str, str | None]:
    """The texts of all columns of a line, names in lower case, without those that are there in several letter cases
    with different values. Empty if one of these is ``read``, or if the line is not one JSON object.
    """
    try:
        texts, doubled = by_name(texts_of(line))
    except NOT_DECODED:
        values, doubled = by_name((members_of(line) or Members()).last())
        texts = {name: value if isinstance(value, str) else plain_text(value) for name, value in values.items()}
    return {} if doubled.intersection(read) else {name: texts[name] for name in texts.keys() - doubled}


def by_name(columns: Mapping[str, _T]) -> tuple[dict[str, _T], set[str]]:
    """The values of columns by their names in lower case, and the names of those that are there in several letter cases
    with different values: nothing says which is right. Null is no value.
    """
    values, doubled = dict[str, _T](), set[str]()
    for written, value in columns.items():
        name = lower_name(written)
        if name in values and None not in (values[name], value) and values[name] != value:
            doubled.add(name)
        if value is not None or name not in values:
            values[name] = value
    return values, doubled


def members_or_reason(text: str) -> Members | str:
    """The names and values of a line, or the reason why it is not one JSON object."""
    try:
        row, end = json_reader.parse_first(text)
    except TooDeepError:
        return TOO_DEEP
    except NotJsonError:
        return NOT_ONE_OBJECT
    return row if isinstance(row, Members) and not text[end:].strip(_AFTER_ROW) else NOT_ONE_OBJECT


def content_of(columns: dict[str, Value]) -> bytes | Unreadable:
    """The structured columns of a row as :attr:`exporter.input.row.Row.content`, or the problems with their values."""
    content: dict[str, Any] = dict.fromkeys(STRUCTURED)
    problems = []
    for name, value in columns.items():
        try:
            if name in content:
                content[name] = _documented(name, unwrapped(value) if isinstance(value, str) else value)
        except DamagedError:
            problems.append(f"{name} contains {DAMAGED}")
        except TooDeepError:
            problems.append(f"{name}: {TOO_DEEP}")
        except (NotJsonError, MisfitError) as error:
            problems.append(f"{name} contains {error}")
    return Unreadable(tuple(problems)) if problems else msgspec.json.encode([*content.values()])


def unwrapped(text: str) -> str | None:
    """The text of a structured column without the strings around it; None for a text that means null."""
    text = text.strip("\ufeff ")
    for _ in range(WRAPPINGS):
        text = _without_quotes(text)
    return None if text in NOTHING else text


def _without_quotes(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        inner = json_reader.parse(text)
    except NotJsonError:
        return text
    return inner.strip(" ") if isinstance(inner, str) else text


def _documented(name: str, value: Value) -> Any:
    """A structured column in the documented form. Raises MisfitError, which says what it contains instead."""
    if value == TRUNCATED:
        return SENTINEL[0] if name == _CHANGE else SENTINEL
    expected = "an object" if name == _CHANGE else "an array"
    kind = _kind_of_value(value)
    if name == _CHANGE and kind == "an array" and _is_sentinel(value):
        return SENTINEL[0]
    if kind not in {None, expected}:
        raise MisfitError(f"{kind}, but {expected} is expected")
    try:
        return _fitted(json_reader.parse(value) if isinstance(value, str) else value, COLUMNS[name])
    except (DamagedError, TooDeepError):
        raise
    except (NotJsonError, MisfitError) as error:
        inside = error if isinstance(error, MisfitError) else ""
        raise MisfitError(f"{expected} that does not match Snowflake's documentation of the column{inside}") from None


def _is_sentinel(value: Value) -> bool:
    """Whether it is the array that Snowflake writes in place of a whole column, or its JSON."""
    try:
        array = json_reader.parse(value) if isinstance(value, str) else value
    except NotJsonError:
        return False
    if not isinstance(array, Elements) or len(array) != 1:
        return False
    element = _inside(array[0]) if isinstance(array[0], str) else array[0]
    return isinstance(element, Members) and {name: plain_text(inner) for name, inner in element} == _SENTINEL_TEXTS


def _kind_of_value(value: Value) -> str | None:
    """What a value is, a text by its first character; None for null."""
    if isinstance(value, Members) or (isinstance(value, str) and value.startswith("{")):
        return "an object"
    if isinstance(value, Elements) or (isinstance(value, str) and value.startswith("[")):
        return "an array"
    return None if value is None else "text"
