"""The messages to a query: its rows, its lines of QUERY_HISTORY, its children, and whether it is quarantined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from exporter.messages import HELD, QUERY, Message, decode, encode, order, rank, within
from exporter.queries.build import account_of
from exporter.queries.facts import History
from exporter.rows.reading import read_line
from exporter.rows.row import Row
from exporter.steps.reading import CHILD, CONTEXT, HOLD, JOB_OF, LINE, ROW, Place
from exporter.steps.state import day_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.queries.facts import QueryFacts
    from exporter.steps.job import Job
    from exporter.steps.tallies import Tally

Placed = tuple[Row, Place, str]
"""A row, its place, and its text."""
STARTED: Final = "started "
"""Prefix of a count: the earlier days of an update on which quarantined queries started."""
_row: Final = msgspec.msgpack.Decoder(tuple[Place, str]).decode
_history: Final = msgspec.msgpack.Decoder(History).decode


class Heard:
    """The messages of a query, sorted by kind. ``context``: rows of another day. ``without``: children that are
    quarantined. ``reasons``: why the query itself is quarantined. ``job``: the name of its job, if another day made it.
    """

    def __init__(self) -> None:
        self.rows: list[Placed] = []
        self.context: list[Row] = []
        self.children: set[tuple[str, str, bool]] = set()
        self.without: set[str] = set()
        self.reasons: list[str] = []
        self.job: str | None = None


def heard_by(group: Iterator[Message], job: Job) -> tuple[dict[str, Heard], list[History]]:
    """By account, the messages of a query; and its lines of QUERY_HISTORY."""
    heard: dict[str, Heard] = {}
    lines: list[History] = []
    for message in group:
        what = rank(message)
        if what in {ROW, CONTEXT}:
            place, text = _row(message.body)
            row = read_line(text)
            assert isinstance(row, Row), "a row that was read before"
            one = heard.setdefault(account_of(row, job.account), Heard())
            if what == ROW:
                one.rows.append((row, place, text))
            else:
                one.context.append(row)
        elif what == LINE:
            lines.append(_history(message.body))
        elif what == CHILD:
            account, child, role, wants_name = decode(message.body)
            heard.setdefault(account, Heard()).children.add((role, child, wants_name))
        elif what == HOLD:
            account, child, reason = decode(message.body)
            one = heard.setdefault(account, Heard())
            if reason is None:
                one.without.add(child)
            else:
                one.reasons.append(reason)
        elif what == JOB_OF:
            account, name = decode(message.body)
            heard.setdefault(account, Heard()).job = name
    return heard, lines


def hold(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """Quarantined queries -> messages to them, their parents and roots for the repeated round."""
    for message in messages:
        if message.to == HELD:
            account, query_id, relatives, reason, _ = decode(message.body)
            yield Message(QUERY, query_id, order(HOLD), encode((account, query_id, reason)))
            for relative in relatives:
                yield Message(QUERY, relative, order(HOLD), encode((account, query_id, None)))


def count_start(tally: Tally, day: str, job: Job) -> None:
    """Name the day on which a quarantined query started, if an update refuses it on a later one, on which it ends."""
    if day < job.day:
        tally.named(f"{STARTED}{day}")


def held(facts: QueryFacts, reason: str) -> Message:
    """The message that quarantines a query. The rounds are then repeated without it, so it is in neither output."""
    relatives = [one for one in (facts.parent_query_id, facts.root_query_id) if one is not None]
    body = facts.account, facts.query_id, relatives, reason, day_of(facts.start)
    return Message(HELD, within(facts.account, facts.query_id), b"", encode(body))
