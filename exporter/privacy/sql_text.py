"""Take SQL text and values of bind variables out of rows: only the names of their columns stay.

They are columns of QUERY_HISTORY, and personal data. A row of ACCESS_HISTORY has them if its unload joined the views.
Rows are kept as text, in the state of an update and in the quarantine, so it is done before a row is passed on.
"""

from __future__ import annotations

import re
from typing import Final

from exporter.input.documented_form import members_of
from exporter.input.json_reader import Elements, Member, Members, Value, canonical_json
from exporter.input.limits import LONGEST_RECORD
from exporter.input.reading import SQL_NAME, holds_sql, read_line
from exporter.input.row import Row, Unreadable, columns_of, decode
from exporter.privacy.excluded_objects import HIDDEN_SQL, own_form

SQL_WITHHELD: Final = "its text is withheld, because it may contain SQL text"
_names_sql: Final = re.compile(rf"""(?:{SQL_NAME})(?:[^"':]*\\*["']|\w*)\s*:""", re.IGNORECASE).search
"""Matches the name of a member of JSON, also of JSON in a string, where its quotes are escaped, or without quotes."""


def without_sql(row: Row | Unreadable, text: str) -> tuple[Row | Unreadable, str]:
    """A row and its text without SQL text and values of bind variables; the same where there are none."""
    if isinstance(row, Unreadable):
        shown = _of_unreadable(text)
        return (row, shown) if shown is not None else (Unreadable((*row.problems, SQL_WITHHELD)), "")
    if not _has_sql(row):
        return row, text
    text = own_form(row, decode(row.content))
    return read_line(text) or row, text


def _has_sql(row: Row) -> bool:
    """Whether there is a column, or a member of an object, of which only the name is kept."""
    unknown = row.unknown_columns
    return unknown is not None and any(bytes(raw) == b"null" for raw in columns_of(unknown).values())


def _of_unreadable(text: str) -> str | None:
    """The text of a row that cannot be read; None if it cannot be told where SQL is in it."""
    members = members_of(text) if len(text) <= LONGEST_RECORD else None
    if members is None:
        return None if _names_sql(text) else text
    is_hidden = _hide(members, "")
    for member in members:
        is_hidden = _hide_inside(member.value) or is_hidden
    return canonical_json(members) if is_hidden else text


def _hide_inside(value: Value) -> bool:
    """Hide it in a column, at any depth, and say whether there was any. Names in properties are those of
    users. A list replaces recursion: the value may be deep.
    """
    is_hidden, waiting = False, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Members):
            is_hidden = _hide(item, "properties") or is_hidden
            waiting += [member.value for member in item if member.name != "properties"]
        elif isinstance(item, Elements):
            waiting += item
    return is_hidden


def _hide(members: Members, skipped_name: str) -> bool:
    """Hide the values of members whose names say that they are SQL, or that are texts of JSON with such members."""
    is_hidden = False
    for number, (name, value) in enumerate(members):
        is_sql = holds_sql(name) is not None and value is not None
        is_around = isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')) and _names_sql(value)
        if name != skipped_name and (is_sql or is_around):
            members[number], is_hidden = Member(name, HIDDEN_SQL), True
    return is_hidden
