"""Assign the rows of an update to days, and read the rows of a day again.

A query belongs to the day (UTC) on which it starts: the day of its earliest row. An index records what is known
already: for each row its day and a digest, for each line of QUERY_HISTORY a digest, and for each query the days of its
children, whose jobs are named after it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import msgspec

from exporter.messages import HELD, JOB, OBJECT, QUERY, Message, by_key, decode, encode, order, rank, time_and_query
from exporter.rows.aggregates import is_id
from exporter.rows.reading import read_line
from exporter.rows.row import Row
from exporter.steps.homes import asked, is_later
from exporter.steps.reading import CHILD, CONTEXT, HOLD, JOB_OF, LINE, ROW, children_of, relatives
from exporter.steps.state import day_of, later
from exporter.steps.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job

INDEX: Final = "index"
LINES: Final = "lines"
_INDEXED: Final = 9
"""The rank of an index entry among the messages to a query."""
_BEFORE: Final = 8
"""The rank of a message of :func:`as_parents` from when the day was made before."""
DAY, MOVED, EARLIER = "day ", "moved", "earlier "
"""Names of counts: new rows by day; queries whose day changes; days that were made with other quarantined parents."""
_row: Final = msgspec.msgpack.Decoder(tuple[Any, str]).decode


def date(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """New rows under their days, new lines and new entries of the index. Known rows are only counted."""
    tally = Tally()
    for to, query_id, group in by_key(messages):
        if to == QUERY:
            yield from _of_query(query_id, list(group), job, tally)
        else:
            yield from group
    yield tally.message()


def run_of(message: Message) -> int:
    """The run that read a row: it is in the place of the time in the message's order."""
    return time_and_query(message.order)[0]


class _Known:
    """The index entries of a query."""

    def __init__(self, entries: Iterable[Message]) -> None:
        self.digests: set[bytes] = set()
        self.day: str | None = None
        self.children: set[str] = set()
        for entry in entries:
            what, day, digest = decode(entry.body)
            if what == CHILD:
                self.children.add(day)
            else:
                self.digests.add(digest)
                self.day = day if what == ROW else self.day


def _of_query(query_id: str, heard: list[Message], job: Job, tally: Tally) -> Iterator[Message]:
    known = _Known(one for one in heard if rank(one) == _INDEXED)
    rows = list(_new(heard, ROW, known))
    doubled = sum(rank(one) == ROW for one in heard) - len(rows)
    tally.count("duplicates", doubled)
    tally.count("aggregate_duplicates", doubled * is_id(query_id))
    if rows:
        read = [read_line(_row(message.body)[1]) for message, _ in rows]
        each = [row for row in read if isinstance(row, Row)]
        day = day_of(min(row.start for row in each))
        tally.count(MOVED, known.day is not None and day != known.day)
        yield from _dated(query_id, rows, known.day or day)
        yield from _children(each, known.day or day)
        tally.named(f"{DAY}{known.day or day}")
        tally.count(f"{DAY}{known.day or day}", sum(run_of(message) == job.run for message, _ in rows))
        for of_child in sorted(known.children):
            tally.named(f"{DAY}{of_child}")
    for message, digest in _new(heard, LINE, known):
        yield Message(LINES, query_id, message.order, message.body)
        yield _entry(query_id, LINE, "", digest)
        if known.day is not None:
            tally.named(f"{DAY}{known.day}")


def _new(heard: Iterable[Message], what: int, known: _Known) -> Iterator[tuple[Message, bytes]]:
    """The messages of rank ``what`` that are not known yet, each once, with their digests."""
    for message in heard:
        if rank(message) == what:
            said = _row(message.body)[1].encode("utf-8", "surrogatepass") if what == ROW else message.body
            digest = blake2b(said, digest_size=16, salt=bytes((what,))).digest()
            if digest not in known.digests:
                known.digests.add(digest)
                yield message, digest


def _dated(query_id: str, rows: Iterable[tuple[Message, bytes]], day: str) -> Iterator[Message]:
    for message, digest in rows:
        yield Message(day, query_id, message.order, message.body)
        yield _entry(query_id, ROW, day, digest)


def _children(rows: Iterable[Row], day: str) -> Iterator[Message]:
    """Index entries for parents and roots: the days of their children."""
    for relative in sorted({query_id for row in rows for _, query_id in relatives(row)}):
        yield _entry(relative, CHILD, day, b"")


def _entry(query_id: str, what: int, day: str, digest: bytes) -> Message:
    return Message(INDEX, query_id, order(_INDEXED), encode((what, day, digest)))


# --- the input of a day -----------------------------------------------------------------------------------------------


def to_queries(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """Address stored messages (rows of a day, lines, the index) to their queries again."""
    for message in messages:
        yield message._replace(to=QUERY)


def rows_again(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """Rows to their queries, with the notes to their parents and roots."""
    for message in messages:
        yield message._replace(to=QUERY)
        row = read_line(_row(message.body)[1])
        assert isinstance(row, Row), "a row that was read before"
        yield from children_of(row, job)


def asks_for_context(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """The queries that have children. If they are of another day, their rows are needed as context."""
    for message in messages:
        if message.to == QUERY and rank(message) == CHILD:
            yield message


def as_context(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """Rows of other days as context for this one."""
    for message in messages:
        yield Message(QUERY, message.key, order(CONTEXT), message.body)


def as_parents(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """What children on other days need of queries: that the shapes refuse the query, if it started on this day; and the
    name of its job, if it has to do with helpers.
    """
    for message in messages:
        if message.to == HELD:
            account, query_id, _, reason, day = decode(message.body)
            if day == job.day:
                yield Message(QUERY, query_id, order(HOLD), encode((account, query_id, reason)))
        elif message.to == JOB:
            account, query_id, name = decode(message.body)
            yield Message(QUERY, query_id, order(JOB_OF), encode((account, name)))


def as_before(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """The same messages, as those of the day when it was made before."""
    for message in messages:
        yield message._replace(order=order(_BEFORE))


def compare(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """Count the earlier days with children of a query for which :func:`as_parents` gives something else than before.
    The messages of a query: those of now and before, and its entries in the index.
    """
    tally = Tally()
    for _, _, group in by_key(messages):
        now, before, index = set[bytes](), set[bytes](), list[Message]()
        for message in group:
            if rank(message) == _INDEXED:
                index.append(message)
            else:
                (before if rank(message) == _BEFORE else now).add(message.body)
        if now != before:
            for day in _Known(index).children:
                if day < job.day:
                    tally.named(f"{EARLIER}{day}")
    yield tally.message()


def due(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """Messages that earlier days left open: passed on if they are of this day, otherwise kept for a later one."""
    for message in messages:
        address = asked(time_and_query(message.order)[1])[1] if message.to == OBJECT else message.key
        yield later(message) if is_later(address, job.day) else message
