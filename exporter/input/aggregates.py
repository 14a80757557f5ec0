"""Rows of AGGREGATE_ACCESS_HISTORY: one row stands for the calls of one parameterized query by one user in an interval.

The view has no query id. The key of a row is its interval, hash, user, and what the calls accessed, since the calls of
one query can differ in that (a table that was replaced within the interval). An id that is made from the key takes the
place of the query id, so that all later steps treat the calls as one query that starts and ends with the interval.
Source: Snowflake's documentation, "AGGREGATE_ACCESS_HISTORY view", "Columns".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import msgspec

from exporter.input.json_reader import raw_text
from exporter.input.properties import read
from exporter.input.row import STRUCTURED, Row, Unreadable, decode
from exporter.input.times import iso, parse_time, why_unread
from exporter.system.cache import CONTENTS

COLUMNS: Final = ("interval_start_time", "interval_end_time", "query_parameterized_hash", "calls")
"""The columns that ACCESS_HISTORY does not have."""
REQUIRED: Final = ("interval_start_time", "interval_end_time", "user_name", "calls")
"""The columns without which a row cannot be read."""
FOREIGN: Final = ("parent_query_id", "root_query_id", "additional_properties", "invoker_identity")
"""The columns of ACCESS_HISTORY that are no texts of this view; with content, they are unknown columns of the row."""
ID: Final = "calls-"
"""What the ids of these rows begin with. Ids of Snowflake's queries are UUIDs, so they never do."""
_MOST: Final = 2**63
_number: Final = re.compile(r"\+?([0-9]{1,19})(?:\.0*)?").fullmatch
_DIGEST: Final = 16
_CHANGE: Final = STRUCTURED.index("object_modified_by_ddl")
_SHORT: Final = 4 * 1024
"""Bytes of a content up to which its digest is cached, because statements recur."""


def is_id(query_id: str | None) -> bool:
    """Whether an id is one of those that :func:`row_of` makes."""
    return query_id is not None and query_id.startswith(ID)


def is_aggregate(texts: Mapping[str, str | None]) -> bool:
    """Whether the columns of a line are those of a row of AGGREGATE_ACCESS_HISTORY: it has no query id, but an interval
    or a number of calls. ``texts``: by column name in lower case.
    """
    if (texts.get("query_id") or "").strip(" "):
        return False
    return any((texts.get(name) or "").strip(" ") for name in COLUMNS if name != "query_parameterized_hash")


def row_of(texts: Mapping[str, str | None], content: bytes, unknown: str | None) -> Row | Unreadable:
    """The row, or one sentence for each column that is missing or cannot be read. ``unknown``: the unknown columns."""
    problems = [f"{name} is missing" for name in REQUIRED if not (texts.get(name) or "").strip(" ")]
    times = {name: parse_time(texts.get(name) or "") for name in REQUIRED[:2]}
    for name, time in times.items():
        if time is None and f"{name} is missing" not in problems:
            problems.append(why_unread(name, texts.get(name) or ""))
    calls = _calls(texts.get("calls") or "")
    if calls is None and "calls is missing" not in problems:
        problems.append(f"calls must be a whole number, 1 or more: {(texts.get('calls') or '')[:60]}")
    start, end = times.values()
    if start is not None and end is not None and end < start:
        problems.append("interval_end_time is before interval_start_time")
    if problems or start is None or end is None or calls is None:
        return Unreadable(tuple(problems))
    user, hash_ = texts.get("user_name") or "", texts.get("query_parameterized_hash")
    hash_ = hash_ if hash_ and hash_.strip(" ") else None
    names = ("event_source", "organization_name", "account_name", "account_locator")
    return Row(
        query_id=_id(start, end, hash_, user, content),
        start=start,
        user_name=user,
        content=content,
        unknown_columns=unknown,
        calls=calls,
        interval_end=end,
        query_parameterized_hash=hash_,
        **{name: texts.get(name) for name in names},
    )


def _calls(text: str) -> int | None:
    match = _number(text.strip(" "))
    number = int(match[1]) if match else 0
    return number if 0 < number < _MOST else None


def _id(start: int, end: int, hash_: str | None, user: str, content: bytes) -> str:
    """``calls-START-DIGEST``: for people the minute of the start, then a digest of the whole key."""
    key = (str(start), str(end), hash_, user, content_digest(content))
    digest = blake2b(msgspec.json.encode(key), digest_size=_DIGEST).hexdigest()
    return f"{ID}{iso(start)[:16].replace('-', '').replace(':', '')}Z-{digest}"


def content_digest(content: bytes) -> str:
    """A digest of what a row says about objects, however its JSON is written: the order of members and of elements,
    null and empty members, numbers and texts, and the forms of DDL properties do not matter. ``content``:
    :attr:`exporter.input.row.Row.content`.
    """
    return _digest_of_short(content) if len(content) <= _SHORT else _content_digest(content)


def _content_digest(content: bytes) -> str:
    try:
        columns = msgspec.json.decode(content)
        properties = _properties(content) if columns[_CHANGE] else None
        if properties is not None:
            columns[_CHANGE]["properties"] = msgspec.json.decode(properties)
        encoded = [msgspec.json.encode(_plain(column)) for column in columns]
    except RecursionError:  # nested too deeply to be compared: only the same text is the same
        encoded = [content]
    return blake2b(b"\n".join(encoded), digest_size=_DIGEST).hexdigest()


_digest_of_short: Final = lru_cache(maxsize=CONTENTS)(_content_digest)


def _properties(content: bytes) -> str | None:
    """The properties of the row's change in their one form, as JSON; None if there are none, or only a text."""
    change = decode(content).change
    normal = None if change is None else read(raw_text(change.properties) or None).normal
    return normal if normal is not None and normal.startswith("{") else None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        members = ((name, _plain(value)) for name, value in value.items())
        return dict(sorted((name, inner) for name, inner in members if inner is not None)) or None
    if isinstance(value, list):
        elements = (_plain(element) for element in value)
        return sorted((element for element in elements if element is not None), key=msgspec.json.encode) or None
    if isinstance(value, float) and value.is_integer():  # an id, as columns of doubles have it
        value = int(value)
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()
