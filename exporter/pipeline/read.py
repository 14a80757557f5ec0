"""Records -> rows, after filters and pseudonyms: what these remove reaches no later step or file.

A row goes to its query with its place; an unreadable one to the quarantine with a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import structs

from exporter.input.limits import shortened
from exporter.input.query_history import UNREADABLE, read_history
from exporter.input.reading import Record
from exporter.input.row import Row, Unreadable
from exporter.model.identifiers import uncut
from exporter.model.incomplete import not_understood
from exporter.model.query import account_of
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, QueryRank, To, encode, order
from exporter.pipeline.outcome import Counts, Unknown
from exporter.privacy.screen import Screened
from exporter.privacy.sql_text import without_sql

AS_PARENT, AS_ROOT = "parent", "root"


def read(records: Iterable[Record], job: ExportJob) -> Iterator[Message]:
    """Send rows, lines of QUERY_HISTORY and notes of children to their queries, and the number of records per block."""
    places, counts = Counter[tuple[str, int]](), Counts()
    numbers = counts.numbers
    screen, screened, odd = job.screen, Screened(numbers), _NotUnderstood()
    for record in records:
        if record.is_history:
            yield from _line(record, job, screened, numbers)
            continue
        place = labelled(record.file, job.run), record.block
        places[place] += 1
        number = places[place]
        if screen is None:
            row, text = record.row(), record.text
        else:
            row, text = screened.row(screen.look(record))
        if row is None:
            continue
        row, text = without_sql(row, text)
        numbers["rows"] += 1
        numbers["aggregate_rows"] += record.is_aggregate
        if isinstance(row, Unreadable):
            numbers["unreadable"] += 1
            yield quarantined_row(
                (*place, number, record.unit), "; ".join(row.problems), text, is_aggregate=record.is_aggregate
            )
        else:
            odd.note(row, (*place, number, record.unit))
            yield from _row(row, (*place, number, record.unit), text, job)
    yield from odd.messages(numbers)
    for (file, block), count in places.items():
        yield Message(To.PLACE, file, order(0, block), encode((block, count)))
    yield counts.message()


def _line(record: Record, job: ExportJob, screened: Screened, numbers: Counter[str]) -> Iterator[Message]:
    """The message of a line of QUERY_HISTORY to its query, if it names one."""
    line = read_history(record.text) if record.is_record else UNREADABLE
    if line is None:
        return
    query_id, history, is_unreadable = line
    numbers["history_rows"] += 1
    numbers["history_unreadable"] += is_unreadable
    numbers["history_unusable"] += query_id is None
    if query_id is not None:
        # SQL text can contain personal data: if it was not asked for, it is dropped here.
        kept = history if job.query_text else structs.replace(history, query_text=None)
        kept_line = kept if job.screen is None else screened.line(job.screen.line(kept, record.text))
        if kept_line is not None:
            yield Message(To.QUERY, query_id, order(QueryRank.LINE, job.run), encode(kept_line))


class _NotUnderstood:
    """What is not understood in the rows of a partition, by file."""

    def __init__(self) -> None:
        self._found: dict[str, Unknown] = {}

    def note(self, row: Row | Unreadable | None, place: Place) -> None:
        """Count what is not understood in a row, once for each name."""
        file, block, number, unit = place
        for name in not_understood(row) if isinstance(row, Row) else ():
            self._found.setdefault(file, Unknown()).add(name, 1, (f"{block:020}", number, unit))

    def messages(self, numbers: Counter[str]) -> Iterator[Message]:
        """To each file: names with their numbers and first places. ``numbers``: how many names are sent is added."""
        for file, unknown in self._found.items():
            entries = unknown.entries()
            numbers["not_understood"] += len(entries)
            yield Message(To.UNKNOWN, file, order(2), encode(entries))


def _writable(text: str) -> str:
    """The text with a replacement character for each byte that is not UTF-8. Fields that are read have no
    such bytes.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


Place = tuple[str, int, int, str]
"""The place of a row: file with its run, block, number within the block, unit of the number."""
_OF_RUN: Final = "\0"


def labelled(file: str, run: int) -> str:
    """A file name with the run that read it: a later run may find other rows under the same name."""
    return f"{file}{_OF_RUN}{run}" if run else file


def file_of(label: str) -> tuple[str, int]:
    """The file and the run of a text from :func:`labelled`."""
    file, _, run = label.partition(_OF_RUN)
    return file, int(run or 0)


def quarantined_row(place: Place, reason: str, text: str, *, is_aggregate: bool) -> Message:
    """The message that puts a row into the quarantine. ``is_aggregate``: whether it is of AGGREGATE_ACCESS_HISTORY."""
    file, block, number, unit = place
    body = block, number, unit, reason, _writable(shortened(text)), is_aggregate
    return Message(To.QUARANTINED_ROWS, file, order(1, block, f"{number:012}"), encode(body))


def _row(row: Row, place: Place, text: str, job: ExportJob) -> Iterator[Message]:
    # Only the text is sent: reading it again costs less than sending the row with it.
    yield Message(To.QUERY, row.query_id, order(QueryRank.ROW, job.run), encode((place, _writable(text))))
    yield from children_of(row, job)


def children_of(row: Row, job: ExportJob) -> Iterator[Message]:
    """Notes to the parent and the root of a row's query, and whether it needs the name of their job. It may also need
    that of a root without a parent: another row of the query may name the parent.
    """
    account = account_of(row, job.account)
    for role, query_id in relatives(row):
        note = account, row.query_id, role, query_id != row.query_id
        yield Message(To.QUERY, query_id, order(QueryRank.CHILD, job.run, row.query_id), encode(note))


def relatives(row: Row) -> list[tuple[str, str]]:
    """Role and id of the parent and the root in a row."""
    roles = (AS_PARENT, uncut(row.parent_query_id)), (AS_ROOT, uncut(row.root_query_id))
    return [(role, query_id) for role, query_id in roles if query_id is not None]
