"""Rows as plain values, for comparing what was read of one and the same row in several ways."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from exporter.rows import documents
from exporter.rows.raw import raw_text
from exporter.rows.reading import read_line
from exporter.rows.row import STRUCTURED, Row, Unreadable


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
