"""Which later days a late row affects: those that mention a thing whose state at the end of an earlier day it changed.

A day reads of the days before it what is known of the things that it mentions, and keeps what is then known of them. So
the receivers of its own state are those of which it read. There are two exceptions. What happened to schemas and
databases is read only on days on which something ends or restores one. And where one was cloned, names are read that
the day itself need not mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.pipeline.answer import read_before
from exporter.pipeline.clones import is_event
from exporter.pipeline.merge_profiles import read_dataset
from exporter.pipeline.messages import (
    AT_RANK,
    BEFORE,
    THINGS,
    Message,
    To,
    by_receiver,
    decode,
    encode,
    order,
    read_known,
)
from exporter.pipeline.outcome import Counts

if TYPE_CHECKING:
    from exporter.pipeline.job import ExportJob

KNEW: Final = (To.PROFILE, To.DATASET, To.NAME, To.ELEMENT, To.HELPERS, To.COPY, *THINGS)
"""Receivers of the state of a day of which later days read the last messages for a key."""
HAPPENED: Final = (To.CONTAINED, To.CLONED, To.CLONED_FROM)
"""Receivers of which every day counts."""
DUE: Final = (To.WRITTEN, To.NAMED_FOR_QUERY, *THINGS)
"""Receivers of messages for queries that end on a later day."""
CHANGED: Final = "changed "
"""Prefix of a count: the keys of a receiver whose state has changed."""
EVENTS, AFFECTED = "events", "affected"
"""Names of counts: what happened to schemas and databases on a day; keys of a day whose state before it has changed."""
_WAS, _IS, _COMPARED, _MENTIONED = range(4)
_READ: Final = {
    (To.PROFILE, b""): read_known,
    (To.DATASET, AT_RANK[0]): read_dataset,
    (To.OBJECT, AT_RANK[BEFORE]): read_before,
}
"""By receiver and order: bodies with sets, which are written in any order."""


class _Known(NamedTuple):
    """Order and body of a message in the state of a day."""

    order: bytes
    body: bytes


def as_was(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Messages of the state that a day had before, for :func:`compare_states`."""
    for message in messages:
        yield message._replace(order=AT_RANK[_WAS], body=encode(message[2:]))


def as_is(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The same of the state that it has now."""
    for message in messages:
        yield message._replace(order=AT_RANK[_IS], body=encode(message[2:]))


def compare_states(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Whether the state of each receiver and key at the end of a day (``job.until``) has changed, for
    :func:`affected`; and how many have, by receiver.
    """
    counts = Counts()
    for (to, key), group in groupby(messages, by_receiver):
        was, now = list[_Known](), list[_Known]()
        for message in group:
            (was if message.order[0] == _WAS else now).append(_Known(*decode(message.body)))
        has_changed = not _is_same(to, was, now)
        if has_changed:
            counts.numbers[f"{CHANGED}{to}"] += 1
        yield Message(to, key, order(_COMPARED, job.until), encode(has_changed))
    yield counts.message()


def _is_same(to: str, was: list[_Known], now: list[_Known]) -> bool:
    """Whether messages mean the same. Of messages of one order the bodies have to be in the same order, too."""
    if was == now:
        return True
    if [one.order for one in was] != [one.order for one in now]:
        return False
    pairs = [(one, other) for one, other in zip(was, now, strict=True) if one != other]
    reads = [_READ.get((to, one.order)) for one, _ in pairs]
    return all(
        read is not None and read(one.body) == read(other.body) for read, (one, other) in zip(reads, pairs, strict=True)
    )


def mentioned(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The receivers of which a day read, from its state; and how much happened to schemas and databases."""
    counts = Counts()
    for message in messages:
        if message.to == To.CONTAINED:
            counts.numbers[EVENTS] += is_event(message)
        elif message.to not in HAPPENED:
            yield Message(message.to, message.key, AT_RANK[_MENTIONED], b"")
    yield counts.message()


def affected(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Count the keys that a day mentions and whose state has changed. The messages of a key: what
    :func:`compare_states` gave on each day, in order of time, of which the last one counts; and the mention.
    """
    counts = Counts()
    for _, group in groupby(messages, by_receiver):
        has_changed = False
        for message in group:
            if message.order[0] == _COMPARED:
                has_changed = decode(message.body)
            elif has_changed:
                counts.numbers[AFFECTED] += 1
                break
    yield counts.message()
