"""Rows as lines and as plain values, to compare several ways of reading the same row."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import Raw, Struct

from exporter.input import row as documents
from exporter.input.json_reader import raw_text
from exporter.input.reading import read_line
from exporter.input.row import STRUCTURED, Row, Unreadable
from tests.input.bad_rows import GOOD

BASE: Final = '"query_id":"q","query_start_time":"2026-03-01 08:00:00","user_name":"u"'
NOT_JSON: Final = "the line is not one JSON object (or, in CSV, not one record)"
TOO_DEEP: Final = "the JSON is nested more than 1,000 levels deep"
DAMAGED: Final = "contains bytes that are not UTF-8, or half of a surrogate pair, in a text"
TEXT: Final = "contains text, but an array is expected"
OBJECT: Final = "contains an object, but an array is expected"
UNLIKE: Final = "contains an array that does not match Snowflake's documentation of the column"
TEXT_INSIDE: Final = f"{UNLIKE} (in it is text that is not a JSON object)"


def line_of(**columns: Any) -> str:
    """A row that is right, but for these columns."""
    return json.dumps({**GOOD, **columns})


def raw_line(**columns: str) -> str:
    """A row with columns as JSON text."""
    return "{" + ",".join([BASE, *(f'"{name}":{value}' for name, value in columns.items())]) + "}"


def plain(row: Row) -> dict[str, Any]:
    """The row's columns by name; the structured ones as lists and dicts of texts, without what is null."""
    own = {name: getattr(row, name) for name in row.__struct_fields__ if name != "content"}
    document = documents.decode(row.content)
    columns = zip(STRUCTURED, document.__struct_fields__, strict=True)
    return own | {name: _plain(getattr(document, field)) for name, field in columns}


def _plain(value: Any) -> Any:
    if isinstance(value, Raw):
        return raw_text(value)
    if isinstance(value, Struct):
        fields = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        given = {name: _plain(getattr(value, field)) for name, field in fields}
        return {name: one for name, one in given.items() if one is not None}
    return [_plain(one) for one in value] if isinstance(value, list) else documents.text(value)


def read(text: str) -> dict[str, Any]:
    """The row of a line that can be read, as plain values."""
    row = read_line(text)
    assert isinstance(row, Row), (row, text[:300])
    return plain(row)


def problems(text: str) -> list[str]:
    """Why a line cannot be read."""
    row = read_line(text)
    assert isinstance(row, Unreadable), text[:300]
    return list(row.problems)


def first_of(text: str, column: str = "direct_objects_accessed") -> dict[str, Any]:
    """The first object in a column of a line that can be read."""
    return dict(read(text)[column][0])
