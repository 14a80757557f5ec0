"""Which events may be sent at once, which ones again, and how fast.

Events are added in the order to send them in. One that writes what an earlier one reads or writes, or reads what an
earlier one writes, waits for it. So for each run, job and dataset the order holds, whatever each request takes.

A backend takes the last event to arrive for the present state. A row that comes late makes an event that belongs before
others that were delivered. Sent alone, it would bring back a table that was dropped since, or remove columns that were
added since. So for each dataset that such an event names, the last event that writes it, and the last that names it,
are sent again after it.

At most so many events a second are sent; none while the backend asks to wait, and fewer at once after.
"""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Hashable, Iterable, Iterator

Json = dict[str, Any]


@dataclass(eq=False)
class OrderNode:
    """An event in the order. ``waiting_for``: how many unfinished events it waits for; ``followers``: the events that
    wait for it.
    """

    reads: frozenset[Hashable]
    writes: frozenset[Hashable]
    waiting_for: int = 0
    followers: list[OrderNode] = field(default_factory=list)
    is_done: bool = False


@dataclass
class _Last:
    writer: OrderNode | None = None
    readers: list[OrderNode] = field(default_factory=list)


class Order:
    """The unfinished events, by the things that they read and write."""

    def __init__(self) -> None:
        self._last: dict[Hashable, _Last] = {}

    def add(self, node: OrderNode) -> bool:
        """Adds an event after those that it must follow; returns whether it may be sent at once."""
        before: set[int] = set()
        for thing in node.reads - node.writes:
            last = self._last.setdefault(thing, _Last())
            self._follow(node, [last.writer], before)
            last.readers.append(node)
        for thing in node.writes:
            last = self._last.setdefault(thing, _Last())
            self._follow(node, last.readers or [last.writer], before)
            last.writer, last.readers = node, []
        return node.waiting_for == 0

    @staticmethod
    def _follow(node: OrderNode, others: Iterable[OrderNode | None], before: set[int]) -> None:
        for other in others:
            if other is not None and not other.is_done and id(other) not in before:
                before.add(id(other))
                other.followers.append(node)
                node.waiting_for += 1

    def done(self, node: OrderNode) -> list[OrderNode]:
        """Removes a finished event; returns those that may be sent now."""
        node.is_done = True
        for thing in node.reads | node.writes:
            last = self._last.get(thing)
            if last is None:
                continue
            last.readers = [reader for reader in last.readers if reader is not node]
            last.writer = None if last.writer is node else last.writer
            if last.writer is None and not last.readers:
                del self._last[thing]
        for follower in node.followers:
            follower.waiting_for -= 1
        return [follower for follower in node.followers if follower.waiting_for == 0]


def node_of(event: Json) -> OrderNode:
    """What an event writes: its dataset; or its run, job and outputs. What it reads: its inputs, parent and root."""
    if "run" not in event:
        thing = event.get("dataset") or event["job"]
        return OrderNode(frozenset(), frozenset([("dataset", thing["namespace"], thing["name"])]))
    job, parent = event["job"], event["run"].get("facets", {}).get("parent", {})
    writes = {("run", event["run"]["runId"]), ("job", job["namespace"], job["name"]), *_datasets(event, "outputs")}
    relatives = [relative for relative in (parent, parent.get("root")) if relative]
    runs = {("run", relative["run"]["runId"]) for relative in relatives}
    jobs = {("job", relative["job"]["namespace"], relative["job"]["name"]) for relative in relatives}
    return OrderNode(frozenset({*runs, *jobs, *_datasets(event, "inputs")} - writes), frozenset(writes))


def _datasets(event: Json, side: str) -> list[tuple[str, str, str]]:
    return [("dataset", dataset["namespace"], dataset["name"]) for dataset in event.get(side) or ()]


class QueuedEvent(NamedTuple):
    """An event: its ``place`` in the order, its fingerprint, whether it is to be sent, and its text."""

    place: int
    mark: str
    is_sent: bool
    line: bytes


_TABLE: Final = "CREATE TEMP TABLE named_datasets (place INT, mark TEXT, thing TEXT, writes INT, sent INT)"
_ROW: Final = "INSERT INTO named_datasets VALUES (?, ?, ?, ?, ?)"
_FOLLOW: Final = """
UPDATE named_datasets SET sent = 1 WHERE NOT sent AND place IN (
    WITH early AS (SELECT thing, min(place) AS place FROM named_datasets WHERE sent GROUP BY thing),
        late AS (
            SELECT thing, max(t.place) AS named, max(CASE WHEN t.writes THEN t.place END) AS written
            FROM named_datasets t JOIN early e USING (thing) WHERE t.place > e.place GROUP BY thing)
    SELECT named FROM late UNION ALL SELECT written FROM late)
"""
"""An event that is sent again names other datasets too, which may have later events: repeated until nothing is added.
"""


def overtaken(db: sqlite3.Connection, events: Iterable[QueuedEvent]) -> list[str]:
    """The fingerprints of events to send again. ``events``: in order, from the first one on that is to be sent."""
    db.execute(_TABLE)
    db.executemany(_ROW, _rows(events))
    delivered = {mark for (mark,) in db.execute("SELECT mark FROM named_datasets WHERE NOT sent")}
    while db.execute(_FOLLOW).rowcount > 0:
        pass
    overtaken_marks = sorted({mark for (mark,) in db.execute("SELECT mark FROM named_datasets WHERE sent")} & delivered)
    db.execute("DROP TABLE named_datasets")
    return overtaken_marks


def _rows(events: Iterable[QueuedEvent]) -> Iterator[tuple[int, str, str, bool, bool]]:
    """One row for each dataset of each event."""
    for queued_event in events:
        event = json.loads(queued_event.line)
        written = [*(event.get("outputs") or []), *([event["dataset"]] if "dataset" in event else [])]
        for side, writes in ((event.get("inputs") or [], False), (written, True)):
            for dataset in side:
                thing = json.dumps([dataset["namespace"], dataset["name"]])
                yield queued_event.place, queued_event.mark, thing, writes, queued_event.is_sent


FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 20.0


class Stopped(Exception):  # noqa: N818 - no error: the push ends here
    """The push ends; events that wait are left for the next push."""


def backoff(tries: int) -> float:
    """Seconds to wait after so many tries: doubled each time, and reduced by a random part of up to a half, so that not
    all requests come again at the same time.
    """
    longest = min(FIRST_WAIT * 2.0 ** (tries - 1), LONGEST_WAIT)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - no secret depends on it


class Pace:
    """``rate``: the most events a second, None for no limit; ``concurrency``: the most requests at once."""

    def __init__(self, rate: float | None, concurrency: int) -> None:
        self.stopped = threading.Event()
        self._gap = 1.0 / rate if rate else 0.0
        self._most, self._allowed = concurrency, float(concurrency)
        self._running, self._next, self._until = 0, 0.0, 0.0
        self._turn = threading.Condition()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Waits until one request may be sent; raises Stopped if the push ends before."""
        self._enter()
        try:
            yield
        finally:
            with self._turn:
                self._running -= 1
                self._turn.notify()

    def _enter(self) -> None:
        with self._turn:
            while not self.stopped.is_set():
                now = time.monotonic()
                start = max(self._next, self._until)
                if now >= start and self._running < int(self._allowed):
                    self._running += 1
                    self._next = max(now, self._next) + self._gap
                    return
                self._turn.wait(min(max(start - now, 0.001), 0.5) if start > now else 0.5)
        raise Stopped

    def pause(self, seconds: float) -> None:
        """The backend asks for time: nothing is sent for so many seconds, and then half as many requests at once."""
        with self._turn:
            self._until = max(self._until, time.monotonic() + max(seconds, FIRST_WAIT))
            self._allowed = max(1.0, self._allowed / 2)

    def ease(self) -> None:
        """An event was taken: allows slightly more requests at once, up to ``concurrency``."""
        if self._allowed < self._most:
            with self._turn:
                self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)
                self._turn.notify()

    def is_paused(self) -> bool:
        return time.monotonic() < self._until

    def stop(self) -> None:
        """Ends the push: no further request is sent."""
        self.stopped.set()
        with self._turn:
            self._turn.notify_all()
