"""Remove rows from DIR: those of a user, or from before a day. Whole queries are removed, with their lines of
QUERY_HISTORY. The user of a line without a row is not known: such a line is kept only if rows are removed by day and it
ended on a day that is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from exporter.messages import QUERY, by_key, rank
from exporter.queries.facts import History
from exporter.rows.reading import read_line
from exporter.rows.row import Row
from exporter.steps.reading import LINE, ROW
from exporter.steps.state import day_of
from exporter.steps.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.messages import Message
    from exporter.steps.job import Job

_row: Final = msgspec.msgpack.Decoder(tuple[Any, str]).decode
_line: Final = msgspec.msgpack.Decoder(History).decode


def forget(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The messages of the queries that are kept."""
    tally = Tally()
    for to, _, group in by_key(messages):
        heard = list(group)
        rows = [read_line(_row(one.body)[1]) for one in heard if to == QUERY and rank(one) == ROW]
        each = [row for row in rows if isinstance(row, Row)]
        if not each:
            yield from (one for one in heard if not _is_of_nobody(one, job))
        elif _is_forgotten(each, job):
            tally.count("forgotten", len(each))
        else:
            yield from heard
    yield tally.message()


def _is_forgotten(rows: list[Row], job: Job) -> bool:
    if job.forget_before and day_of(min(row.start for row in rows)) < job.forget_before:
        return True
    return any(row.user_name in job.forget_users for row in rows)


def _is_of_nobody(message: Message, job: Job) -> bool:
    """Whether it is a line of a query without a row that may belong to the removed queries."""
    if message.to != QUERY or rank(message) != LINE:
        return False
    end = _line(message.body).end_time
    return bool(job.forget_users) or end is None or day_of(end) < job.forget_before
