"""Read records into rows. A row goes to its query with its place; an unreadable one to the quarantine with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from exporter.messages import ASIDE, PLACE, QUERY, TALLY, UNKNOWN, Message, encode, order
from exporter.queries.build import account_of
from exporter.queries.identifiers import named
from exporter.queries.unknown import not_understood
from exporter.rows.history import read_history
from exporter.rows.limits import shortened
from exporter.rows.patient import NOT_ONE_OBJECT
from exporter.rows.reading import read_line, read_row
from exporter.rows.row import Row, Unreadable
from exporter.steps.screening import Screened
from exporter.steps.tallies import Unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job

ROW, LINE, CHILD, HOLD, CONTEXT, JOB_OF = range(6)
"""Ranks of the messages to a query: its rows, its lines of QUERY_HISTORY, its children, that it is quarantined,
(CONTEXT) its rows if it is of another day and only the name of its job is needed, and that name if another day made it.
"""
_NOT_A_RECORD: Final = Unreadable((NOT_ONE_OBJECT,))
AS_PARENT, AS_ROOT = "parent", "root"


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


def read(records: Iterable[Record], job: Job) -> Iterator[Message]:
    """Send rows, lines of QUERY_HISTORY and notes of children to their queries, and the number of records per block."""
    counts: dict[tuple[str, int], int] = {}
    rows = bad = lines = unreadable = unusable = aggregates = 0
    screen, screened, odd = job.screen, Screened(), _NotUnderstood()
    for record in records:
        if record.is_history:
            line = read_history(record.text)
            if line is not None:
                query_id, history, is_unreadable = line
                lines += 1
                unreadable += is_unreadable
                unusable += query_id is None
                if query_id is not None:
                    # SQL text can contain personal data: if it was not asked for, it is dropped here.
                    said = history if job.query_text else structs.replace(history, query_text=None)
                    kept = said if screen is None else screened.line(screen.line(said, record.text))
                    if kept is not None:
                        yield Message(QUERY, query_id, order(LINE, job.run), encode(kept))
            continue
        place = labelled(record.file, job.run), record.block
        number = counts[place] = counts.get(place, 0) + 1
        if screen is None:
            row, text = record.row(), record.text
        else:
            row, text = screened.row(screen.look(record))
        if row is None:
            continue
        rows += 1
        aggregates += record.is_aggregate
        if isinstance(row, Unreadable):
            bad += 1
            yield aside((*place, number, record.unit), "; ".join(row.problems), text, is_aggregate=record.is_aggregate)
        else:
            odd.note(row if screen is None else read_line(text), (*place, number, record.unit))
            yield from _row(row, (*place, number, record.unit), text, job)
    yield from odd.messages()
    for (file, block), count in counts.items():
        yield Message(PLACE, file, order(0, block), encode((block, count)))
    told = {"rows": rows, "unreadable": bad, "aggregate_rows": aggregates, "not_understood": odd.number}
    of_lines = {"history_rows": lines, "history_unreadable": unreadable, "history_unusable": unusable}
    yield Message(TALLY, "", b"", encode({**told, **of_lines, **screened.counts}))


class _NotUnderstood:
    """What is not understood in the rows of a partition, by file. ``number``: how many names are sent."""

    def __init__(self) -> None:
        self._found: dict[str, Unknown] = {}
        self.number = 0

    def note(self, row: Row | Unreadable | None, place: Place) -> None:
        """Count what is not understood in a row, once for each name."""
        file, block, number, unit = place
        for what in not_understood(row) if isinstance(row, Row) else ():
            self._found.setdefault(file, Unknown()).add(what, 1, (f"{block:020}", number, unit))

    def messages(self) -> Iterator[Message]:
        """To each file: names with their numbers and first places."""
        for file, found in self._found.items():
            entries = found.entries()
            self.number += len(entries)
            yield Message(UNKNOWN, file, order(2), encode(entries))


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


def aside(place: Place, reason: str, text: str, *, is_aggregate: bool) -> Message:
    """The message that puts a row into the quarantine. ``is_aggregate``: whether it is of AGGREGATE_ACCESS_HISTORY."""
    file, block, number, unit = place
    told = block, number, unit, reason, _writable(shortened(text)), is_aggregate
    return Message(ASIDE, file, order(1, block, f"{number:012}"), encode(told))


def _row(row: Row, place: Place, text: str, job: Job) -> Iterator[Message]:
    # Only the text is sent: reading it again costs less than sending the row with it.
    yield row_message(row.query_id, place, text, job)
    yield from children_of(row, job)


def children_of(row: Row, job: Job) -> Iterator[Message]:
    """Notes to the parent and the root of a row's query, and whether it needs the name of their job. It may also need
    that of a root without a parent: another row of the query may name the parent.
    """
    account = account_of(row, job.account)
    for role, query_id in relatives(row):
        note = account, row.query_id, role, query_id != row.query_id
        yield Message(QUERY, query_id, order(CHILD, job.run, row.query_id), encode(note))


def row_message(query_id: str, place: Place, text: str, job: Job) -> Message:
    """The message of a row to its query."""
    return Message(QUERY, query_id, order(ROW, job.run), encode((place, _writable(text))))


def relatives(row: Row) -> list[tuple[str, str]]:
    """Role and id of the parent and the root in a row."""
    each = (AS_PARENT, named(row.parent_query_id)), (AS_ROOT, named(row.root_query_id))
    return [(role, query_id) for role, query_id in each if query_id is not None]
