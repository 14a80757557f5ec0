"""Updates: which day a row belongs to, what is kept for the next day, and what is forgotten.

A query belongs to the day (UTC) on which it starts: the day of its earliest row. An index records what is known
already: for each row its day and a digest, for each line of QUERY_HISTORY a digest, and for each query the days of its
children, whose jobs are named after it.

Rows are removed from DIR by user, or by day. First the names that a person gave are resolved to users that DIR has, by
Snowflake's rule: letter case counts only in quotes. Whole queries are removed, with their lines of QUERY_HISTORY. The
user of a line without a row is not known: such a line is kept only if rows are removed by day and it ended on a day
that is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from hashlib import blake2b
from itertools import groupby
from typing import Any, Final

import msgspec

from exporter.errors import RefusedError
from exporter.input.aggregates import is_id
from exporter.input.query_history import History
from exporter.input.reading import read_line
from exporter.input.row import Row
from exporter.model.query import contradict_each_other
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import (
    AT_RANK,
    Message,
    QueryRank,
    To,
    by_receiver,
    decode,
    encode,
    for_each,
    is_later,
    split_requester,
    time_and_query,
)
from exporter.pipeline.outcome import Counts
from exporter.pipeline.read import children_of, relatives
from exporter.privacy.filters import typed

OPEN_DAY: Final = "open "
"""Prefix of a count: queries that end on a later day."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def snapshot(message: Message) -> Message:
    """Keep a message as the state of a thing, which it receives first on the next day."""
    return Message(To.SNAPSHOT, "", b"", encode(tuple(message)))


def kept_for_later(message: Message) -> Message:
    """Keep a message for a later day, because its query has not ended."""
    return Message(To.OPEN, "", b"", encode(tuple(message)))


def now_or_later(message: Message, address: str, day: str) -> Message:
    """The message, kept for a later day if ``address`` (or a bucket or key) belongs to a day after ``day``."""
    return kept_for_later(message) if is_later(address, day) else message


def unwrapped(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The messages that :func:`snapshot` and :func:`kept_for_later` kept."""
    for message in messages:
        yield Message(*decode(message.body))


def day_of(time: int) -> str:
    """The day of a time (microseconds since 1970, UTC), ``2026-11-21``."""
    return (_EPOCH + timedelta(microseconds=time)).date().isoformat()


def end_of(day: str) -> int:
    """The end of a day: the first microsecond of the next one, since 1970, UTC."""
    return (date.fromisoformat(day) - _EPOCH.date() + timedelta(days=1)) // timedelta(microseconds=1)


INDEX: Final = "index"
LINES: Final = "lines"
_INDEXED: Final = 9
"""The rank of an index entry among the messages to a query."""
_BEFORE: Final = 8
"""The rank of a message of :func:`as_parents` from when the day was made before."""
AGAIN: Final = "again"
"""The receiver that counts the rows of a query that DIR has already."""
OF_SEVERAL: Final = "again-several"
"""The name of a count of queries, and a receiver: the query has several rows, which can contradict each other."""
HELD: Final = "held_again"
"""Name of a count: rows that DIR has already, of queries that the shapes refuse or whose rows contradict each other."""
DAY, MOVED, CHILDREN = "day ", "moved", "children "
"""Names of counts: new rows by day; queries whose day changes; days with children whose parents have changed."""
_row: Final = msgspec.msgpack.Decoder(tuple[Any, str]).decode


def assign_days(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """New rows under their days, new lines and new entries of the index. Known rows are only counted."""
    counts = Counts()
    yield from for_each(To.QUERY, messages, partial(_of_query, job=job, counts=counts))
    yield counts.message()


class _Known:
    """The index entries of a query."""

    def __init__(self, entries: Iterable[Message]) -> None:
        self.digests: set[bytes] = set()
        self.rows = 0
        self.day: str | None = None
        self.children: set[str] = set()
        for entry in entries:
            rank, day, digest = decode(entry.body)
            if rank == QueryRank.CHILD:
                self.children.add(day)
            else:
                self.digests.add(digest)
                self.rows += rank == QueryRank.ROW
                self.day = day if rank == QueryRank.ROW else self.day


def _of_query(query_id: str, group: Iterator[Message], job: ExportJob, counts: Counts) -> Iterator[Message]:
    messages = list(group)
    known = _Known(message for message in messages if message.order[0] == _INDEXED)
    rows = list(_new(messages, QueryRank.ROW, known))
    doubled = sum(message.order[0] == QueryRank.ROW for message in messages) - len(rows)
    counts.numbers["duplicates"] += doubled
    counts.numbers["aggregate_duplicates"] += doubled * is_id(query_id)
    if doubled and known.day is not None:
        yield Message(AGAIN, query_id, AT_RANK[1], encode(doubled))
        if known.rows + len(rows) > 1:
            counts.numbers[OF_SEVERAL] += 1
            yield Message(OF_SEVERAL, query_id, b"", b"")
    if rows:
        read = [read_line(_row(message.body)[1]) for message, _ in rows]
        parsed = [row for row in read if isinstance(row, Row)]
        day = day_of(min(row.start for row in parsed))
        counts.numbers[MOVED] += known.day is not None and day != known.day
        yield from _dated(query_id, rows, known.day or day)
        for relative in sorted({relative for row in parsed for _, relative in relatives(row)}):  # the days of children
            yield _entry(relative, QueryRank.CHILD, known.day or day, b"")
        counts.named(f"{DAY}{known.day or day}")
        # The run that read a row is in the place of the time in the message's order.
        new = sum(time_and_query(message.order)[0] == job.run for message, _ in rows)
        counts.numbers[f"{DAY}{known.day or day}"] += new
        for of_child in sorted(known.children):
            counts.named(f"{DAY}{of_child}")
    for message, digest in _new(messages, QueryRank.LINE, known):
        yield Message(LINES, query_id, message.order, message.body)
        yield _entry(query_id, QueryRank.LINE, "", digest)
        if known.day is not None:
            counts.named(f"{DAY}{known.day}")


def _new(messages: Iterable[Message], rank: int, known: _Known) -> Iterator[tuple[Message, bytes]]:
    """The messages of rank ``rank`` that are not known yet, each once, with their digests."""
    for message in messages:
        if message.order[0] == rank:
            data = _row(message.body)[1].encode("utf-8", "surrogatepass") if rank == QueryRank.ROW else message.body
            digest = blake2b(data, digest_size=16, salt=bytes((rank,))).digest()
            if digest not in known.digests:
                known.digests.add(digest)
                yield message, digest


def _dated(query_id: str, rows: Iterable[tuple[Message, bytes]], day: str) -> Iterator[Message]:
    for message, digest in rows:
        yield Message(day, query_id, message.order, message.body)
        yield _entry(query_id, QueryRank.ROW, day, digest)


def _entry(query_id: str, rank: int, day: str, digest: bytes) -> Message:
    return Message(INDEX, query_id, AT_RANK[_INDEXED], encode((rank, day, digest)))


# --- the input of a day -----------------------------------------------------------------------------------------------


def to_queries(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Address stored messages (rows of a day, lines, the index) to their queries again."""
    for message in messages:
        yield message._replace(to=To.QUERY)


def rows_again(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Rows to their queries, with the notes to their parents and roots."""
    for message in messages:
        yield message._replace(to=To.QUERY)
        row = read_line(_row(message.body)[1])
        assert isinstance(row, Row), "a row that was read before"
        yield from children_of(row, job)


def asks_for_context(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The queries that have children. If they are of another day, their rows are needed as context."""
    for message in messages:
        if message.to == To.QUERY and message.order[0] == QueryRank.CHILD:
            yield message


def as_context(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Rows of other days as context for this one."""
    for message in messages:
        yield Message(To.QUERY, message.key, AT_RANK[QueryRank.CONTEXT], message.body)


def as_parents(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """What children on other days need of queries: that the shapes refuse the query, if it started on this day; and the
    name of its job, if it has to do with helpers.
    """
    for message in messages:
        if message.to == To.QUARANTINED:
            account, query_id, _, reason, day = decode(message.body)
            if day == job.day:
                yield Message(To.QUERY, query_id, AT_RANK[QueryRank.QUARANTINED], encode((account, query_id, reason)))
        elif message.to == To.JOB:
            account, query_id, name = decode(message.body)
            yield Message(To.QUERY, query_id, AT_RANK[QueryRank.JOB], encode((account, name)))


def as_refused(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """That the shapes refused queries when their day was made before: see :func:`as_parents`."""
    for message in messages:
        if message.order[0] == QueryRank.QUARANTINED:
            account, _query_id, _reason = decode(message.body)
            yield message._replace(order=AT_RANK[QueryRank.REFUSED], body=encode(account))


def as_held(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """That the shapes refuse queries (see :func:`as_parents`), and rows of queries, for :func:`count_held`."""
    for message in messages:
        if message.to != To.QUERY:
            yield Message(AGAIN, message.key, AT_RANK[2], message.body)
        elif message.order[0] == QueryRank.QUARANTINED:
            yield Message(AGAIN, message.key, AT_RANK[0], b"")


def count_held(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Count the rows that DIR has already, and whose queries are in quarantine."""
    counts = Counts()
    for _to, group in groupby(messages, by_receiver):
        number, is_refused, rows = 0, False, list[Row]()
        for message in group:
            if message.order == AT_RANK[0]:
                is_refused = True
            elif message.order == AT_RANK[1]:
                number += decode(message.body)
            elif isinstance(row := read_line(_row(message.body)[1]), Row):
                rows.append(row)
        if is_refused or contradict_each_other(rows):
            counts.numbers[HELD] += number
    yield counts.message()


def as_before(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The same messages, as those of the day when it was made before."""
    for message in messages:
        yield message._replace(order=AT_RANK[_BEFORE])


def compare_parents(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Count the other days with children of a query for which :func:`as_parents` gives something else than before.
    The messages of a query: those of now and before, and its entries in the index.
    """
    counts = Counts()
    for _, group in groupby(messages, by_receiver):
        now, before, index = set[bytes](), set[bytes](), list[Message]()
        for message in group:
            if message.order[0] == _INDEXED:
                index.append(message)
            else:
                (before if message.order[0] == _BEFORE else now).add(message.body)
        if now != before:
            for day in _Known(index).children:
                if day != job.day:
                    counts.named(f"{CHILDREN}{day}")
    yield counts.message()


def open_messages(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Messages that earlier days left open: passed on if they are of this day, otherwise kept for a later one."""
    for message in messages:
        address = split_requester(time_and_query(message.order)[1])[1] if message.to == To.OBJECT else message.key
        yield now_or_later(message, address, job.day)


_HAS, _NEAR = "user ", "near "
"""Beginnings of counts: the place of a name among those given, and a user that it means, or that is similar."""
_line: Final = msgspec.msgpack.Decoder(History).decode


def look_up(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Count the users of these rows that the given names mean, and the most similar others."""
    users = {row.user_name for row in map(_row_of, messages) if row is not None and row.user_name}
    counts = Counts()
    for place, asked in enumerate(job.forget_asked):
        for user in sorted(user for user in users if asked.means(user)):
            counts.numbers[f"{_HAS}{place} {user}"] += 1
        for user in asked.nearest(users):
            counts.numbers[f"{_NEAR}{place} {user}"] += 1
    yield counts.message()


def resolved(counts: Iterable[str], job: ExportJob, shown: str) -> tuple[str, ...]:
    """The users to forget, from the names of the counts of :func:`look_up`. Raises RefusedError, with the most similar
    users, if DIR (``shown``) does not have one of them.
    """
    names = list(counts)
    texts, missing = list[str](), list[str]()
    for place, asked in enumerate(job.forget_asked):
        there = {name.removeprefix(f"{_HAS}{place} ") for name in names if name.startswith(f"{_HAS}{place} ")}
        exact = [user for user in asked.spellings if user in there]
        if there:
            texts += sorted(there) if asked.any_case else exact[:1]
        else:
            near = {name.removeprefix(f"{_NEAR}{place} ") for name in names if name.startswith(f"{_NEAR}{place} ")}
            text = ", ".join(map(typed, asked.nearest(near)))
            missing.append(f"{asked.given} (did you mean {text}?)" if text else asked.given)
    if missing:
        hidden = any(asked.others for asked in job.forget_asked)
        unknown = "; with pseudonyms the letter case of other names has to be as in the rows" if hidden else ""
        raise RefusedError(
            f"--forget-user: {shown} has no rows of {'; '.join(missing)}. Nothing was changed. Letter case counts "
            f"only in quotes: jsmith is the user JSMITH, '\"jsmith\"' the user jsmith{unknown}. Rows in quarantine are "
            'not looked at: they may name anybody (docs/updates.md, "Forgetting")'
        )
    return tuple(sorted(set(texts)))


def _row_of(message: Message) -> Row | None:
    if message.to != To.QUERY or message.order[0] != QueryRank.ROW:
        return None
    row = read_line(_row(message.body)[1])
    return row if isinstance(row, Row) else None


def forget_rows(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The messages of the queries that are kept. Of a query with rows of several users those of the others are kept,
    without its lines of QUERY_HISTORY, which may be of the forgotten user.
    """
    counts = Counts()
    for _, group in groupby(messages, by_receiver):
        of_query = list(group)
        rows = [(message, row) for message in of_query if (row := _row_of(message)) is not None]
        kept = [message for message, row in rows if row.user_name not in job.forget_users]
        if not rows:
            yield from (message for message in of_query if not _is_of_nobody(message, job))
        elif not kept or _is_before(job, (row for _, row in rows)):
            counts.numbers["forgotten"] += len(rows)
            counts.numbers["forgotten_queries"] += 1
        else:
            counts.numbers["forgotten"] += len(rows) - len(kept)
            yield from of_query if len(kept) == len(rows) else kept
    yield counts.message()


def _is_before(job: ExportJob, rows: Iterable[Row]) -> bool:
    return bool(job.forget_before) and day_of(min(row.start for row in rows)) < job.forget_before


def _is_of_nobody(message: Message, job: ExportJob) -> bool:
    """Whether it is a line of a query without a row that may belong to the removed queries."""
    if message.to != To.QUERY or message.order[0] != QueryRank.LINE:
        return False
    end = _line(message.body).end_time
    return bool(job.forget_users) or end is None or day_of(end) < job.forget_before
