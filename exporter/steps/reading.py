"""Records -> rows: each goes to its query with its place, what cannot be read goes aside with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import structs

from exporter.messages import ASIDE, PLACE, QUERY, TALLY, Message, encode, order
from exporter.queries.build import account_of
from exporter.queries.identifiers import named
from exporter.rows.history import read_history
from exporter.rows.limits import shortened
from exporter.rows.patient import NOT_ONE_OBJECT
from exporter.rows.reading import read_line
from exporter.rows.row import Row, Unreadable
from exporter.steps.screening import Screened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job

ROW, LINE, CHILD, HOLD, CONTEXT = range(5)
"""What a query hears, by rank: its rows, its lines of QUERY_HISTORY, its children, that it is held back; and the rows
of an earlier day, where it is only asked for the name of its job.
"""
_NOT_A_RECORD: Final = Unreadable((NOT_ONE_OBJECT,))
AS_PARENT, AS_ROOT = "parent", "root"


class Record(NamedTuple):
    """A record of an input as text. ``file``: where it is from, in ``block`` of it (an offset: blocks of a file may be
    read apart); ``unit``: whether its place counts lines or rows; ``is_history``: whether it is of QUERY_HISTORY;
    ``is_record``: False where a CSV has too few or too many fields, so that it is no row whatever it says.
    """

    file: str
    block: int
    unit: str
    text: str
    is_history: bool = False
    is_record: bool = True


def read(records: Iterable[Record], job: Job) -> Iterator[Message]:
    """Rows, lines of QUERY_HISTORY and notes of children, to their queries; and how many records each block has."""
    counts: dict[tuple[str, int], int] = {}
    rows = bad = lines = unreadable = unusable = 0
    screen, screened = job.screen, Screened()
    for record in records:
        if record.is_history:
            line = read_history(record.text)
            if line is not None:
                query_id, history, is_unreadable = line
                lines += 1
                unreadable += is_unreadable
                unusable += query_id is None
                if query_id is not None:
                    # SQL text can hold personal data: where it is not asked for it goes no further than this.
                    said = history if job.query_text else structs.replace(history, query_text=None)
                    kept = said if screen is None else screened.line(screen.line(said, record.text))
                    if kept is not None:
                        yield Message(QUERY, query_id, order(LINE, job.run), encode(kept))
            continue
        place = labelled(record.file, job.run), record.block
        number = counts[place] = counts.get(place, 0) + 1
        if screen is None:
            row, text = read_line(record.text) if record.is_record else _NOT_A_RECORD, record.text
        else:
            row, text = screened.row(screen.look(record))
        if row is None:
            continue
        rows += 1
        if isinstance(row, Unreadable):
            bad += 1
            yield aside((*place, number, record.unit), "; ".join(row.problems), text)
        else:
            yield from _row(row, (*place, number, record.unit), text, job)
    for (file, block), count in counts.items():
        yield Message(PLACE, file, order(0, block), encode((block, count)))
    told = {"rows": rows, "unreadable": bad, "history_rows": lines, "history_unreadable": unreadable}
    yield Message(TALLY, "", b"", encode({**told, "history_unusable": unusable, **screened.counts}))


def _writable(text: str) -> str:
    """The text with a replacement character for each byte that is not UTF-8; in a row that is read they are in fields
    that are not.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text


Place = tuple[str, int, int, str]
"""Where a row came from: file with its run, block, its number within the block, and what that counts."""
_OF_RUN: Final = "\0"


def labelled(file: str, run: int) -> str:
    """A file as one run read it: the next may find others rows under the same name."""
    return f"{file}{_OF_RUN}{run}" if run else file


def file_of(label: str) -> tuple[str, int]:
    """The file and the run that :func:`labelled` was given."""
    file, _, run = label.partition(_OF_RUN)
    return file, int(run or 0)


def aside(place: Place, reason: str, text: str) -> Message:
    """A row for the quarantine."""
    file, block, number, unit = place
    told = block, number, unit, reason, _writable(shortened(text))
    return Message(ASIDE, file, order(1, block, f"{number:012}"), encode(told))


def _row(row: Row, place: Place, text: str, job: Job) -> Iterator[Message]:
    # The text alone: to read it again takes less than to carry the row beside it.
    yield row_message(row.query_id, place, text, job)
    yield from children_of(row, job)


def children_of(row: Row, job: Job) -> Iterator[Message]:
    """Notes to the parent and the root of a row's query."""
    account, named_for = account_of(row, job.account), {role for role, _ in relatives(row)}
    for role, query_id in all_relatives(row):
        note = account, row.query_id, role, role in named_for
        yield Message(QUERY, query_id, order(CHILD, job.run, row.query_id), encode(note))


def row_message(query_id: str, place: Place, text: str, job: Job) -> Message:
    """A row, to its query."""
    return Message(QUERY, query_id, order(ROW, job.run), encode((place, _writable(text))))


def relatives(row: Row) -> list[tuple[str, str]]:
    """The role and the id of the queries for whose jobs a row's query is named: none where it has no parent, or is it
    itself.
    """
    found = all_relatives(row)
    return found if found and found[0][0] == AS_PARENT and found[0][1] != row.query_id else []


def all_relatives(row: Row) -> list[tuple[str, str]]:
    """The same, whether or not a job is named for it."""
    each = (AS_PARENT, named(row.parent_query_id)), (AS_ROOT, named(row.root_query_id))
    return [(role, query_id) for role, query_id in each if query_id is not None]
