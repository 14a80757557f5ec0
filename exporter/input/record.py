"""A record of an input: its text, and the place of it."""

from __future__ import annotations

from typing import Final, NamedTuple

from exporter.input.documented_form import NOT_ONE_OBJECT
from exporter.input.reading import read_row
from exporter.input.row import Row, Unreadable

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
