"""Read a line into a row, or into the reason why it cannot be read.

Three readers are tried in turn, the fastest first; all give the same result. The first decodes the documented form as
a whole. The second decodes column by column: names in any letter case, arrays and their elements as text. The third is
the tolerant one (:mod:`exporter.input.documented_form`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from exporter.input import aggregates, documented_form, json_reader, limits
from exporter.input.documented_form import (
    DAMAGED,
    NOT_ONE_OBJECT,
    NOTHING,
    TRUNCATED,
    fits,
    is_damaged,
    plain_text,
    unknown_members,
    unwrapped,
)
from exporter.input.json_reader import raw_json, raw_text, text_of, unwrapped_json
from exporter.input.row import (
    ABSENT,
    JSON_TEXTS,
    NOT_DECODED,
    STRUCTURED,
    TEXTS,
    Line,
    Row,
    Unreadable,
    columns_of,
    lower_name,
)
from exporter.input.times import parse_time, why_unread

_NULL: Final = b"null"
_NO_TEXT: Final = frozenset({"\\N", "NULL", "null"})
"""Texts for null, as written by export tools that write arrays as text."""
_NEEDED: Final = ("query_id", "query_start_time", "user_name")
_EMPTY: Final = frozenset({*NOTHING, "[]", "{}"})
"""Texts of an unknown column that has no content."""
SQL_NAME: Final = "query_?text|sql_?text|bind_?(?:value|var)|binding"
holds_sql: Final = re.compile(SQL_NAME, re.IGNORECASE).search
"""Whether the name of a column says that it has SQL text, or values of bind variables."""


OF_TEXT: Final = frozenset({*_NEEDED, *TEXTS, *aggregates.COLUMNS})
"""The columns of both views that are one value."""
_READ: Final = (*_NEEDED, *TEXTS, *JSON_TEXTS, *aggregates.COLUMNS)
"""All columns that are read as text."""
_KNOWN: Final = frozenset({*_READ, *STRUCTURED})
"""The columns that were known when this version was made."""
_decode_line: Final = msgspec.json.Decoder(Line).decode
_texts_of: Final = attrgetter(*TEXTS)
_json_texts_of: Final = attrgetter(*JSON_TEXTS)
_structured_of: Final = attrgetter(*STRUCTURED)
_decode_text: Final = msgspec.json.Decoder(str).decode
_decode_texts: Final = msgspec.json.Decoder(list[str]).decode
_check: Final = msgspec.json.Decoder(Raw).decode
_IDS: Final = ("query_id", "parent_query_id", "root_query_id")
_NO_ID: Final = "query_id is missing"
_CUT_IDS: Final = (TRUNCATED, "-1")
"""What Snowflake writes in place of an id that it cut. Rows of several queries would be one query."""
_OF_ROWS: Final = ("query_id", "query_start_time")
"""What a problem begins with that rows of ACCESS_HISTORY alone have."""
_NO_CALLS: Final = "interval_start_time, interval_end_time and calls are missing"
_OF_OTHER: Final = {
    True: "this is a row of ACCESS_HISTORY, not of AGGREGATE_ACCESS_HISTORY; give it in an INPUT",
    False: "this is a row of AGGREGATE_ACCESS_HISTORY; give it with --aggregate",
}
"""Why a row cannot be read, by whether it was given as one of AGGREGATE_ACCESS_HISTORY."""


_NOT_A_RECORD: Final = Unreadable((NOT_ONE_OBJECT,))


class Record(NamedTuple):
    """A record of an input as text. ``file``: its file. ``block``: offset of its block, since blocks of a file may be
    read separately. ``unit``: ``line`` or ``row``. ``is_history``: whether it is of QUERY_HISTORY. ``is_record``: False
    if a CSV record has too few or too many fields; it is then not a row, whatever it contains. ``is_aggregate``:
    whether it is of AGGREGATE_ACCESS_HISTORY.
    """

    file: str
    block: int
    unit: str
    text: str
    is_history: bool = False
    is_record: bool = True
    is_aggregate: bool = False

    def row(self) -> Row | Unreadable | None:
        """The row in it, or why it cannot be read; None for a blank line."""
        return read_row(self.text, is_aggregate=self.is_aggregate) if self.is_record else _NOT_A_RECORD


def read_line(text: str) -> Row | Unreadable | None:
    """The row of either view in a line of JSON, or why it cannot be read; None for a blank line."""
    return _read(text) if len(text) <= limits.LONG else _read_long(text)


def read_row(text: str, *, is_aggregate: bool = False) -> Row | Unreadable | None:
    """As :func:`read_line`, where it is known of which view the row must be."""
    row = read_line(text)
    if isinstance(row, Row):
        return row if (row.calls is not None) == is_aggregate else Unreadable((_OF_OTHER[is_aggregate],))
    if is_aggregate and row is not None and any(problem.startswith(_OF_ROWS) for problem in row.problems):
        return Unreadable((_NO_CALLS if _NO_ID in row.problems else _OF_OTHER[True],))
    return row


def _read_long(text: str) -> Row | Unreadable | None:
    """As :func:`read_line`, for a line that is long enough to exceed a limit."""
    reason = limits.too_much(text)
    row = Unreadable((reason,)) if reason else _read(text)
    names = limits.long_names(row) if isinstance(row, Row) else []
    return Unreadable(tuple(names)) if names else row


def _read(text: str) -> Row | Unreadable | None:
    try:
        line = _decode_line(text)
    except NOT_DECODED:
        return _read_unusual(text)
    content = b"[%b]" % b",".join(_structured_of(line))
    start = parse_time(str(line.query_start_time))
    has_names = line.query_id.strip(" ") and line.user_name.strip(" ") and not _has_no_id(line)
    if start is None or not has_names or line.query_id in _CUT_IDS or not fits(content):
        return _read_unusual(text)
    members = unknown_members(content)
    texts: dict[str, Any] = dict(zip(TEXTS, _texts_of(line), strict=True))
    for name, value in zip(JSON_TEXTS, _json_texts_of(line), strict=True):
        texts[name] = None if value is ABSENT else raw_text(value)
    return Row(
        line.query_id,
        start,
        line.user_name,
        content,
        **texts,
        unknown_columns=unknown_columns(members) if members else None,
    )


def _has_no_id(line: Line) -> bool:
    """Whether an id is a text for null, or one that is made for rows of AGGREGATE_ACCESS_HISTORY. Two things would have
    one id.
    """
    ids = line.query_id, line.parent_query_id, line.root_query_id
    return not _NO_TEXT.isdisjoint(ids) or any(map(aggregates.is_id, ids))


def _read_unusual(text: str) -> Row | Unreadable | None:
    bare = text.removeprefix("\ufeff")
    if not bare.strip(" \t\r\n"):
        return None
    row = _read_by_name(bare)
    return row if isinstance(row, Row) else _read_tolerantly(bare)


def _read_by_name(text: str) -> Row | Unreadable | None:
    """Read names in any letter case and arrays as text; None if this reader cannot read the line."""
    try:
        raws = columns_of(text)
        columns = {lower_name(name): value for name, value in raws.items()}
        if len(columns) < len(raws):
            return None
        structured = [bytes(columns.pop(name, ABSENT)) for name in STRUCTURED]
        content = b"[%b]" % b",".join([_unwrapped_column(value) for value in structured])
    except NOT_DECODED:
        return None
    if not fits(content):
        return None
    is_text = any(value.startswith(b'"') for value in structured)
    return _row_or_problems(raws, {name: text_of(value) for name, value in columns.items()}, content, is_text=is_text)


def unknown_columns(texts: Mapping[str, str | None]) -> str | None:
    """The columns, and members of objects by path, with content as a JSON object; None if there are none. Texts that
    are JSON arrays or objects become these; others, also numbers, stay texts, because CSV has only texts. SQL text and
    the values of bind variables (columns of QUERY_HISTORY) are personal data, so of such columns only the name is kept.
    """
    with_content = {name: text for name in sorted(texts) if (text := texts[name]) is not None and text not in _EMPTY}
    if not with_content:
        return None
    return (
        "{"
        + ",".join([f"{json_reader.quoted(name)}:{_as_json(name, text)}" for name, text in with_content.items()])
        + "}"
    )


def _as_json(name: str, text: str) -> str:
    if holds_sql(name):
        return "null"
    plain = text.encode("utf-8", "replace").decode("utf-8")
    raw = raw_json(unwrapped_json(plain))
    if raw.startswith(("{", "[")):
        try:
            return bytes(_check(raw)).decode()
        except NOT_DECODED:
            pass
    return json_reader.quoted(plain)


def _unwrapped_column(value: bytes) -> bytes:
    """A structured column as JSON without the strings around it and around its elements. Raises DecodeError."""
    if value.startswith(b'"'):
        text = unwrapped(_decode_text(value))
        value = _NULL if text is None else bytes(_check(text))
    return b"[%b]" % b",".join([_check(text) for text in _decode_texts(value)]) if value.startswith(b'["') else value


def _read_tolerantly(text: str) -> Row | Unreadable:
    members = documented_form.members_or_reason(text)
    if isinstance(members, str):
        return Unreadable((members,))
    columns, doubled = documented_form.by_name(members.last())
    content = documented_form.content_of(columns)
    damaged = [name for name in _READ if is_damaged(columns.get(name))]
    if any(map(is_damaged, columns)):  # it may be the name of a column that is read
        damaged.append("the name of a column")
    if isinstance(content, Unreadable) or damaged or doubled:
        problems = content.problems if isinstance(content, Unreadable) else ()
        several = (f"there are several columns {name} with different values" for name in sorted(doubled))
        return Unreadable((*several, *(f"{name} contains {DAMAGED}" for name in damaged), *problems))
    is_text = any(isinstance(columns.get(name), str) for name in STRUCTURED)
    texts = {name: plain_text(value) for name, value in columns.items() if name not in STRUCTURED}
    return _row_or_problems(members.last(), texts, content, is_text=is_text)


def _row_or_problems(
    names: Collection[str], texts: dict[str, str | None], content: bytes, *, is_text: bool
) -> Row | Unreadable:
    """The row, or the problems if it lacks a query id, a readable start time or a user name. ``names``: of the columns
    as they are written. ``texts``: all columns but the structured ones. ``is_text``: whether one of these is a text.

    A text for null is null in an id; elsewhere only if the line has not the documented form, in which ``null`` can be a
    user's name.
    """
    is_plain = not is_text and not {"query_id", "calls"}.isdisjoint(names)
    texts = {name: text for name, text in texts.items() if text not in _NO_TEXT or (is_plain and name not in _IDS)}
    unknown_texts = {name: text for name, text in texts.items() if name not in _KNOWN}
    if aggregates.is_aggregate(texts):
        content, foreign = _without_foreign(content)
        foreign |= {name: texts.get(name) for name in aggregates.FOREIGN}
        return aggregates.row_of(
            texts, content, unknown_columns({**unknown_texts, **foreign, **unknown_members(content)})
        )
    query_id, time, user = (texts.get(name) or "" for name in _NEEDED)
    start = parse_time(time)
    problems = [
        _NO_ID if not query_id.strip(" ") else None,
        "query_start_time is missing" if not time.strip(" ") else None,
        why_unread("query_start_time", time) if time.strip(" ") and start is None else None,
        "user_name is missing" if not user.strip(" ") else None,
        f"query_id was cut by Snowflake ({query_id})" if query_id in _CUT_IDS else None,
        *(f"{name} cannot be an id of Snowflake's" for name in _IDS if aggregates.is_id(texts.get(name))),
    ]
    problems_found = tuple(problem for problem in problems if problem)
    if problems_found or start is None:
        return Unreadable(problems_found)
    values = {name: texts.get(name) for name in TEXTS}
    values |= {
        name: None if (text := texts.get(name)) is None else raw_json(unwrapped_json(text)) for name in JSON_TEXTS
    }
    foreign = {name: texts.get(name) for name in aggregates.COLUMNS}
    unknown = unknown_columns({**unknown_texts, **foreign, **unknown_members(content)})
    return Row(query_id, start, user, content, **values, unknown_columns=unknown)  # type: ignore[arg-type] # each field by its name


def _without_foreign(content: bytes) -> tuple[bytes, dict[str, str | None]]:
    """The content of a row of AGGREGATE_ACCESS_HISTORY without the agents, which that view does not have; and these, by
    the name of their column.
    """
    columns = _decode_rows(content)
    agents = STRUCTURED.index("agents_info")
    data = bytes(columns[agents])
    if data == _NULL:
        return content, {}
    columns[agents] = Raw(_NULL)
    return msgspec.json.encode(columns), {STRUCTURED[agents]: data.decode()}


# --- JSON documents --------------------------------------------------------------------------------------------------


class _Wrapped(Struct):
    """An object with an array ``rows``, as some APIs give it."""

    rows: list[Raw]


_decode_rows: Final = msgspec.json.Decoder(list[Raw]).decode
_decode_wrapped: Final = msgspec.json.Decoder(_Wrapped).decode


def rows_of_document(text: str) -> list[str]:
    """The rows of a JSON document: the elements of an array, the elements of ``rows`` in an object, or the object."""
    bare = text.removeprefix("\ufeff")
    is_array = bare.lstrip().startswith("[")
    try:
        rows = _decode_rows(bare) if is_array else _decode_wrapped(bare).rows
    except msgspec.ValidationError:
        return [bare]
    except NOT_DECODED:
        return _rows_tolerantly(bare)
    return [_row_text(bytes(row)) for row in rows]


def _row_text(row: bytes) -> str:
    """The JSON text of a row; the content of a string; an empty text for null, which then counts as a blank line."""
    if row == _NULL:
        return ""
    return _decode_text(row) if row.startswith(b'"') else row.decode("utf-8")


def _rows_tolerantly(text: str) -> list[str]:
    if len(text) > limits.LONGEST_DOCUMENT:
        return [text]
    try:
        value = json_reader.parse(text)
    except json_reader.NotJsonError:
        return [text]
    rows = value.last().get("rows") if isinstance(value, json_reader.Members) else value
    if not isinstance(rows, json_reader.Elements):
        return [text]
    return [row if isinstance(row, str) else "" if row is None else json_reader.canonical_json(row) for row in rows]
