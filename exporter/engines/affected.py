"""Which days an update has to make again: of those after a late row, only the ones that it affects.

A day needs of the days before it the state of the things that it mentions, and the messages for queries that end on it
or later. If both are as they were when the day was made, its files and its state are too, and they are taken over. So
the state at the end of a day that was made again is compared with that of the old DIR. A thing of which it differs
affects the next day that mentions it; there the two are compared again. A day keeps what is known at its end of the
things that it mentions, so the receivers of its own state are those of which it read. There are two exceptions. What
happened to schemas and databases is read only on days on which something ends or restores one. And where one was
cloned, names are read that the day itself need not mention.

These days are made in any case: those with new rows or lines; those with children of a query that changes; those with
queries that the shapes refuse, since their state does not have what these mention; and all of them, once a day has
changed what days before it have used, or has no query any more: the period of DIR is then that of other days.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from exporter.pipeline.answer import read_before
from exporter.pipeline.clones import is_event
from exporter.pipeline.merge_profiles import read_dataset
from exporter.pipeline.messages import (
    AT_RANK,
    THINGS,
    Message,
    ObjectRank,
    To,
    by_receiver,
    decode,
    encode,
    order,
    read_known,
)
from exporter.pipeline.outcome import Counts
from exporter.pipeline.updates import end_of

if TYPE_CHECKING:
    from exporter.engines.state import Store
    from exporter.pipeline.job import ExportJob
    from exporter.pipeline.rounds import Engine

STATE_RECEIVERS: Final = (To.PROFILE, To.DATASET, To.NAME, To.ELEMENT, To.HELPERS, To.COPY, *THINGS)
"""Receivers of the state of a day of which later days read the last messages for a key."""
CONTAINER_RECEIVERS: Final = (To.CONTAINED, To.CLONED, To.CLONED_FROM)
"""Receivers of which every day counts."""
OPEN_RECEIVERS: Final = (To.WRITTEN, To.NAMED_FOR_QUERY, *THINGS)
"""Receivers of messages for queries that end on a later day."""
CHANGED: Final = "changed "
"""Prefix of a count: the keys of a receiver whose state has changed."""
EVENTS, AFFECTED = "events", "affected"
"""Names of counts: what happened to schemas and databases on a day; keys of a day whose state before it has changed."""
_WAS, _IS, _COMPARED, _MENTIONED = range(4)
_READ: Final = {
    (To.PROFILE, b""): read_known,
    (To.DATASET, AT_RANK[0]): read_dataset,
    (To.OBJECT, AT_RANK[ObjectRank.BEFORE]): read_before,
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
    """Messages of the state that the day has now, for :func:`compare_states`."""
    for message in messages:
        yield message._replace(order=AT_RANK[_IS], body=encode(message[2:]))


def compare_states(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Whether the state of each receiver and key at the end of a day (``job.day_end``) has changed, for
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
        yield Message(to, key, order(_COMPARED, job.day_end), encode(has_changed))
    yield counts.message()


def _is_same(to: str, was: list[_Known], now: list[_Known]) -> bool:
    """Whether messages mean the same. Of messages of one order the bodies have to be in the same order, too."""
    if was == now:
        return True
    if [known.order for known in was] != [known.order for known in now]:
        return False
    pairs = [(known, other) for known, other in zip(was, now, strict=True) if known != other]
    reads = [_READ.get((to, known.order)) for known, _ in pairs]
    return all(
        read is not None and read(known.body) == read(other.body)
        for read, (known, other) in zip(reads, pairs, strict=True)
    )


def mentioned(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The receivers of which a day read, from its state; and how much happened to schemas and databases."""
    counts = Counts()
    for message in messages:
        if message.to == To.CONTAINED:
            counts.numbers[EVENTS] += is_event(message)
        elif message.to not in CONTAINER_RECEIVERS:
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


Messages = TypeVar("Messages")
_STATE: Final = (*STATE_RECEIVERS, *CONTAINER_RECEIVERS)


class Affected(Generic[Messages]):
    """Finds the days to make again, in their order. ``earlier``: the days of the old DIR, each with the later days for
    which it has open messages. ``must``: days that are made in any case.
    """

    def __init__(
        self,
        engine: Engine[Messages],
        store: Store[Messages],
        job: ExportJob,
        earlier: Mapping[str, list[str]],
        must: Iterable[str],
    ) -> None:
        self._engine, self._store, self._job, self.earlier, self._must = engine, store, job, earlier, set(must)
        self._rebuilt: dict[str, Sequence[str]] = {}
        self._compared: list[Messages] = []
        self._changed: set[str] = set()
        self._stay: list[str] = []
        self._is_open_changed = self._is_every = False

    def add(self, days: Iterable[str]) -> None:
        """Make these days in any case."""
        self._must.update(days)

    def add_every(self) -> list[str]:
        """Make all days in any case. Returns those of which it was said that they stay."""
        stayed, self._stay = self._stay, []
        self._is_every = True
        return stayed

    def note_rebuilt(self, day: str, later: Sequence[str]) -> None:
        """Note that a day was made again, and has open messages for these later days."""
        self._rebuilt[day] = later

    def has(self, day: str) -> bool:
        """Whether a day has to be made again. Days before it were made, or stay as they were."""
        if self._is_every or day in self._must or day not in self.earlier or self._store.has(f"parents/{day}"):
            return True
        # States are compared here and not when a day was made: mostly no day follows that could stay as it is.
        for rebuilt in sorted(self._rebuilt):
            self._compare(rebuilt)
        self._rebuilt.clear()
        if self._is_open_changed or self._is_mentioned(day):
            return True
        self._stay.append(day)
        return False

    def _compare(self, day: str) -> None:
        """Compare the state at the end of a day with that of the old DIR, and the messages that it leaves open."""
        compared = self._differences(f"things/{day}", f"things/{day}", _STATE, day)
        self._compared.append(compared)
        self._changed |= self._changed_in(compared)
        last = max((earlier for earlier in self.earlier if earlier <= day), default=day)
        is_same = day not in self.earlier or [*self.earlier[day]] == [*self._rebuilt[day]]
        self._is_open_changed = not is_same or bool(
            self._changed_in(self._differences(f"open/{day}", f"open/{last}", OPEN_RECEIVERS, day))
        )

    def _differences(self, now: str, before: str, to: Sequence[str], day: str) -> Messages:
        engine, job = self._engine, replace(self._job, day_end=end_of(day))
        was = engine.map(self._store.load_before(before, to), as_was, job)
        is_now = engine.map(self._store.load([now], to), as_is, job)
        return engine.persist(engine.shuffle([was, is_now], compare_states, job), f"{now.replace('/', '-')}-compared")

    def _changed_in(self, compared: Messages) -> set[str]:
        numbers = self._engine.counts(compared).numbers
        return {name.removeprefix(CHANGED) for name in numbers if name.startswith(CHANGED)}

    def _is_mentioned(self, day: str) -> bool:
        """Whether a day reads the state of a thing that has changed. Few days clone or end a schema or database: such
        a day is made if anything has changed that it may read.
        """
        if not self._changed:
            return False
        if self._changed & {To.CLONED, To.CLONED_FROM}:
            return True
        if To.NAME in self._changed and (self._store.names("clones") or self._store.names_before("clones")):
            return True
        engine, before = self._engine, self._store.load_before(f"things/{day}", _STATE)
        asks = engine.persist(engine.map(before, mentioned, self._job), f"{day}mentioned")
        if To.CONTAINED in self._changed and engine.counts(asks).numbers[EVENTS]:
            return True
        of_keys = [engine.filter(messages, STATE_RECEIVERS) for messages in (*self._compared, asks)]
        marked = engine.persist(engine.shuffle(of_keys, affected, self._job), f"{day}affected")
        return bool(engine.counts(marked).numbers[AFFECTED])
