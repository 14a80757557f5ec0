"""Which days an update has to make again: of those after a late row, only the ones that it affects.

A day needs of the days before it the state of the things that it mentions, and the messages for queries that end on it
or later. If both are as they were when the day was made, its files and its state are too, and they are taken over. So
the state at the end of a day that was made again is compared with that of the old DIR. A thing of which it differs
affects the next day that mentions it; there the two are compared again.

These days are made in any case: those with new rows or lines; those with children of a query that changes; those with
queries that the shapes refuse, since their state does not have what these mention; and all of them, once a day has
changed what days before it have used, or has no query any more: the period of DIR is then that of other days.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from exporter.pipeline.affected import (
    AFFECTED,
    CHANGED,
    DUE,
    EVENTS,
    HAPPENED,
    KNEW,
    affected,
    as_is,
    as_was,
    compare_states,
    mentioned,
)
from exporter.pipeline.messages import To
from exporter.pipeline.updates import end_of

if TYPE_CHECKING:
    from exporter.engines.state import Store
    from exporter.pipeline.job import ExportJob
    from exporter.pipeline.rounds import Engine

Messages = TypeVar("Messages")
_STATE: Final = (*KNEW, *HAPPENED)


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
        self._made: dict[str, Sequence[str]] = {}
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

    def made(self, day: str, later: Sequence[str]) -> None:
        """A day was made again, and has open messages for these later days."""
        self._made[day] = later

    def has(self, day: str) -> bool:
        """Whether a day has to be made again. Days before it were made, or stay as they were."""
        if self._is_every or day in self._must or day not in self.earlier or self._store.has(f"parents/{day}"):
            return True
        # States are compared here and not when a day was made: mostly no day follows that could stay as it is.
        for made in sorted(self._made):
            self._compare(made)
        self._made.clear()
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
        is_same = day not in self.earlier or [*self.earlier[day]] == [*self._made[day]]
        self._is_open_changed = not is_same or bool(
            self._changed_in(self._differences(f"open/{day}", f"open/{last}", DUE, day))
        )

    def _differences(self, now: str, before: str, to: Sequence[str], day: str) -> Messages:
        engine, job = self._engine, replace(self._job, until=end_of(day))
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
        of_keys = [engine.filter(each, KNEW) for each in (*self._compared, asks)]
        found = engine.persist(engine.shuffle(of_keys, affected, self._job), f"{day}affected")
        return bool(engine.counts(found).numbers[AFFECTED])
