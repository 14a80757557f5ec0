"""Read QUERY_HISTORY: a line -> the columns that are joined to a query by its query id.

The input has the same forms as rows of ACCESS_HISTORY. What Snowflake writes for truncated values (``TRUNCATED``, -1)
counts as missing, as there. The view sometimes contains duplicates: of several lines with
one query id, the one with the latest end_time is kept. The end of a line that starts at another time than the query's
rows, or ends before them, is not used: of the two times of a line, neither is then known to be right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from decimal import Decimal, InvalidOperation
from typing import Final, NamedTuple

from msgspec import Struct, structs

from exporter.input import documented_form, limits
from exporter.input.documented_form import TRUNCATED, is_damaged
from exporter.input.find import OBJECTS
from exporter.input.times import parse_time


class History(Struct, array_like=True, frozen=True, gc=False):
    """A query's line of QUERY_HISTORY. ``end_time`` microseconds since 1970; ``total_elapsed_time`` milliseconds.
    ``is_temporary``: whether its text is a CREATE TEMPORARY; this is known also if SQL text is not exported.
    ``start_time``: only to compare it with the query's rows, as ``end_time``; None in the facts of a query.
    """

    query_text: str | None = None
    query_type: str | None = None
    query_tag: str | None = None
    query_parameterized_hash: str | None = None
    session_id: str | None = None
    role_name: str | None = None
    role_type: str | None = None
    warehouse_name: str | None = None
    warehouse_size: str | None = None
    database_name: str | None = None
    schema_name: str | None = None
    end_time: int | None = None
    total_elapsed_time: int | None = None
    execution_status: str | None = None
    bytes_scanned: int | None = None
    rows_produced: int | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    is_temporary: bool = False
    start_time: int | None = None

    @property
    def deletes(self) -> bool:
        """Whether the statement was a DELETE: it moves no data, though it reads what its conditions name."""
        return self.query_type is not None and self.query_type.upper() == _DELETE


HISTORY_COLUMNS: Final = History.__struct_fields__[:-2]
"""The columns of QUERY_HISTORY that are read and kept."""
NO_HISTORY: Final = History()

_DELETE: Final = "DELETE"
"""The ``query_type`` of DELETE."""
_TIME: Final = "end_time"
_START: Final = "start_time"
_TOLERANCE: Final = 1_000_000
"""Microseconds by which start_time may differ from query_start_time, since tools cut and round fractions."""
_NUMBERS: Final = frozenset(
    {"total_elapsed_time", "bytes_scanned", "rows_produced", "rows_inserted", "rows_updated", "rows_deleted"}
)
_OF_NUMBERS: Final = _NUMBERS | {_START, _TIME, "session_id"}
"""The columns that are numbers or times in the view."""
_KNOWN: Final = frozenset({"query_id", _START, *HISTORY_COLUMNS})
COLUMNS: Final = _KNOWN | {"user_name"}
"""The columns that are read; the user only by filters."""
_IN_ORDER: Final = (_TIME, *(name for name in HISTORY_COLUMNS if name != _TIME))
_NOTHING: Final = frozenset({"", "\\N", "NULL", "null", TRUNCATED})
_CUT: Final = -1
"""A truncated number."""
_NUMBER: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[dDfF]?", re.ASCII)
_LARGEST: Final = 2**63
_LONGEST: Final = 400
"""Longest number, in characters."""
_temporary: Final = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:(?:local|global)\s+)?(?:temp(?:orary)?|volatile)\s", re.IGNORECASE | re.ASCII
).match
"""Matches CREATE TEMPORARY TABLE and its synonyms (CREATE TABLE, "Syntax")."""
_COMMENTS: Final = {"--": "\n", "/*": "*/"}
_CONTROLS: Final = "".join(map(chr, range(0x21)))
"""Characters allowed around a number: blanks and control characters."""


class HistoryLine(NamedTuple):
    """A line of QUERY_HISTORY. ``query_id``: None if it is missing. ``is_unreadable``: the query id is missing, or a
    time or number cannot be read, or a number is negative (that value becomes None, the others are kept).
    """

    query_id: str | None
    history: History
    is_unreadable: bool


UNREADABLE: Final = HistoryLine(None, NO_HISTORY, is_unreadable=True)


def read_history(line: str) -> HistoryLine | None:
    """The values that a line of JSON gives for a query; None for a blank line."""
    texts = {} if len(line) > limits.LONG and limits.too_much(line) else _texts(line)
    if not texts:
        return UNREADABLE if line.strip("\ufeff \t\r\n") else None
    present = {name: text for name, text in texts.items() if text is not None and text not in _NOTHING}
    query_id = present.pop("query_id", None)
    query_id = None if is_damaged(query_id) else query_id
    values = {name: value for name, text in present.items() if (value := _value(name, text)) != _CUT}
    is_unreadable = query_id is None or None in values.values()
    is_temporary = "query_text" in present and _creates_temporary(present["query_text"])
    return HistoryLine(query_id, History(**values, is_temporary=is_temporary), is_unreadable)  # type: ignore[arg-type] # each as its column is


def _creates_temporary(text: str) -> bool:
    """Whether a statement creates a temporary table, after blanks and comments such as those of dbt."""
    statement = text.lstrip()
    while (end := _COMMENTS.get(statement[:2])) is not None:
        statement = statement[2:].partition(end)[2].lstrip()
    return _temporary(statement) is not None


def joined(lines: Iterable[History], starts: Collection[int]) -> tuple[History, int]:
    """The line of a query, and the number of its lines that contradict its rows. ``starts``: query_start_time of each
    row.
    """
    known, contradicting = list[History](), 0
    for line in lines:
        start = line.start_time
        is_other = start is not None and all(abs(start - other) > _TOLERANCE for other in starts)
        is_other |= line.end_time is not None and line.end_time < min(starts, default=line.end_time)
        contradicting += is_other
        known.append(structs.replace(line, start_time=None, **({_TIME: None} if is_other else {})))
    return (latest(known) if known else NO_HISTORY), contradicting


def latest(histories: Iterable[History]) -> History:
    """The line with the latest end_time. If several have it, the other columns are compared in order; None is
    smallest.
    """
    return max(histories, key=_order)


def _order(history: History) -> tuple[tuple[bool, str | int | None], ...]:
    return tuple((value is not None, value) for value in (getattr(history, name) for name in _IN_ORDER))


def _texts(line: str) -> dict[str, str | None]:
    """The texts of the columns that are read; empty if the line is not a JSON object, or is a row of the other view,
    which would give an empty line.
    """
    texts = documented_form.texts_of_line(line, COLUMNS)
    return {name: texts[name] for name in texts.keys() & _KNOWN} if OBJECTS.isdisjoint(texts) else {}


def _value(name: str, text: str) -> str | int | None:
    if text.strip(_CONTROLS) == str(_CUT) and name in _OF_NUMBERS:
        return _CUT
    if name in {_START, _TIME}:
        return parse_time(text)
    if name in _NUMBERS:
        number = _integer(text)
        return number if number is None or number >= _CUT else None
    if name == "session_id" and (number := _integer(text)) is not None:
        return str(number)  # a column of doubles has 12.0
    return None if is_damaged(text) else text


def _integer(text: str) -> int | None:
    """The integer part of a number; None if the text is not a number or does not fit in 64 bits."""
    match = _NUMBER.fullmatch(text.strip(_CONTROLS))
    if match is None or len(text) > _LONGEST:
        return None
    try:
        number = Decimal(match[1])
    except InvalidOperation:  # an exponent that no number has
        return None
    return int(number) if -_LARGEST <= number < _LARGEST else None
