"""Rows that DIR is not to hold any more: those of a user, or from before a day; whole queries, with their lines of
QUERY_HISTORY.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from exporter.messages import QUERY, by_key, rank
from exporter.rows.reading import read_line
from exporter.rows.row import Row
from exporter.steps.reading import ROW
from exporter.steps.state import day_of
from exporter.steps.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.messages import Message
    from exporter.steps.job import Job

_row: Final = msgspec.msgpack.Decoder(tuple[Any, str]).decode


def forget(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The queries that stay."""
    tally = Tally()
    for to, _, group in by_key(messages):
        heard = list(group)
        rows = [read_line(_row(one.body)[1]) for one in heard if to == QUERY and rank(one) == ROW]
        each = [row for row in rows if isinstance(row, Row)]
        if each and _is_forgotten(each, job):
            tally.count("forgotten", len(each))
        else:
            yield from heard
    yield tally.message()


def _is_forgotten(rows: list[Row], job: Job) -> bool:
    if job.forget_before and day_of(min(row.start for row in rows)) < job.forget_before:
        return True
    return any(row.user_name in job.forget_users for row in rows)
