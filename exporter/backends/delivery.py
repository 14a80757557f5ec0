"""Delivers the events of an index, several at once where their order allows it.

Events are started in the order to send them in. One that writes what an earlier one reads or writes, or reads what an
earlier one writes, waits for it. So for each run, job and dataset the order holds, whatever each request takes.

The push ends where the backend as a whole does not work. If one event fails while others are accepted, that event is at
fault, and is set aside (recorded in set-aside.ndjson, and not sent again). Events that fail one after the other are
only suspected: if the next one is accepted, they are set aside; if none is, the backend is at fault, and all are left
for the next push.
"""

from __future__ import annotations

import json
import queue
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.backends.attempts import AttemptResult, Attempts, Pace
from exporter.backends.event import Json, facet, thing_of
from exporter.backends.ledger import SENDING, SET_ASIDE, TAKEN, Ledger
from exporter.backends.secrecy import AnswerKind, BackendAnswer

if TYPE_CHECKING:
    from exporter.backends.index import Index, Item
    from exporter.backends.plan import PushCounts


@dataclass(eq=False)
class OrderNode:
    """An event in the order, by the things that it reads and writes. ``waits_for``: the unfinished events that it must
    follow; ``followers``: those that wait for it.
    """

    reads: frozenset[Hashable]
    writes: frozenset[Hashable]
    waits_for: set[OrderNode] = field(default_factory=set)
    followers: list[OrderNode] = field(default_factory=list)


@dataclass
class _Last:
    """The unfinished events about a thing that a later one has to follow: its last writer, and its readers since."""

    writer: OrderNode | None = None
    readers: list[OrderNode] = field(default_factory=list)


class Order:
    """The unfinished events, by the things that they read and write."""

    def __init__(self) -> None:
        self._last: dict[Hashable, _Last] = {}

    def add(self, node: OrderNode) -> bool:
        """Adds an event after those that it must follow; returns whether it may be sent at once."""
        for thing in node.reads - node.writes:
            last = self._last.setdefault(thing, _Last())
            node.waits_for |= {last.writer} if last.writer else set()
            last.readers.append(node)
        for thing in node.writes:
            last = self._last.setdefault(thing, _Last())
            node.waits_for |= set(last.readers) or ({last.writer} if last.writer else set())
            last.writer, last.readers = node, []
        for other in node.waits_for:
            other.followers.append(node)
        return not node.waits_for

    def done(self, node: OrderNode) -> list[OrderNode]:
        """Removes a finished event; returns those that may be sent now."""
        for thing in node.reads | node.writes:
            last = self._last[thing]
            last.readers = [reader for reader in last.readers if reader is not node]
            last.writer = None if last.writer is node else last.writer
            if last.writer is None and not last.readers:
                del self._last[thing]
        for follower in node.followers:
            follower.waits_for.remove(node)
        return [follower for follower in node.followers if not follower.waits_for]


def node_of(event: Json) -> OrderNode:
    """What an event writes: its dataset; or its run, job and outputs. What it reads: its inputs, parent and root."""
    if "run" not in event:
        return OrderNode(frozenset(), frozenset([("dataset", *thing_of(event.get("dataset") or event["job"]))]))
    parent = facet(event["run"], "parent")
    runs = [event, *(relative for relative in (parent, parent.get("root")) if relative)]
    (run, job), *relatives = [
        (("run", document["run"]["runId"]), ("job", *thing_of(document["job"]))) for document in runs
    ]
    reads, writes = (
        [("dataset", *thing_of(dataset)) for dataset in event.get(side) or ()] for side in ("inputs", "outputs")
    )
    written = frozenset((run, job, *writes))
    return OrderNode(frozenset((*chain.from_iterable(relatives), *reads)) - written, written)


MOST_UNANSWERED, MOST_SUSPECTS = 3, 100
"""How many events in a row may get no answer, or be forbidden, and how many may get an error, before the backend is
taken to be at fault.
"""
PATIENCE: Final = 120.0
"""Seconds in which events fail and none is accepted, after which the backend is taken to be at fault."""
_WINDOW, _WINDOW_BYTES = 1_000, 32 * 2**20


class _Failure(NamedTuple):
    item: Item
    answer: BackendAnswer
    tries: int


class Delivery:
    """Sends the events of an index. ``why``: the reason why it stopped before the end, None if it did not. ``fault``:
    of the program, which ended it. ``resent``: how many delivered events had to follow others that earlier pushes
    had set aside, and that were taken now.
    """

    def __init__(self, index: Index, attempts: Attempts, ledger: Ledger, pace: Pace, *, is_parallel: bool) -> None:
        self._index, self._ledger, self._pace = index, ledger, pace
        self._attempts, self._is_parallel = attempts, is_parallel
        self.why: str | None = None
        self.fault: Exception | None = None
        self.refusals: Counter[str] = Counter()
        self.reduced, self.resent = 0, 0
        self._order, self._done = Order(), queue.SimpleQueue[Future[AttemptResult]]()
        self._waiting: dict[OrderNode, tuple[Item, bytes, Json]] = {}
        self._running: dict[Future[AttemptResult], tuple[OrderNode, Item]] = {}
        self._unfinished, self._bytes = 0, 0
        self._suspects: list[_Failure] = []
        self._marks_set_aside = set[str]()
        self._last_success = time.monotonic()

    def run(self, counts: PushCounts, show: Callable[[PushCounts, Index], None], concurrency: int) -> None:
        """Sends everything that is not settled; keeps ``counts`` up to date. ``show``: called after each event.

        Raises an interruption by the user, or a fault of the program in any thread, after all threads have ended: then
        the ledger and ``counts`` have what they delivered.
        """
        self._counts, self._show = counts, show
        try:
            with ThreadPoolExecutor(concurrency if self._is_parallel else 1) as self._pool:
                try:
                    self._send_all()
                finally:
                    self._pace.stop()
            if not self.why:  # no further evidence: errors count against the events, silence and what is forbidden
                self._set_aside_suspects(AnswerKind.ERROR, AnswerKind.MISPLACED)  # against the backend
                self.why = self._suspects[-1].answer.text if self._suspects else None
        except Exception as fault:  # of any kind: it ends the push, and is raised again once it is recorded
            self.fault = fault
            raise
        finally:
            while not self._done.empty():  # what threads still finished after an interruption or a fault
                future = self._done.get()
                result = None if future.exception() else future.result()
                counts.delivered += bool(result and result.answer and result.answer.kind is AnswerKind.TAKEN)
                self.reduced += bool(result and result.is_reduced)
            counts.left = counts.events - counts.delivered - counts.already_delivered - counts.set_aside

    def send_nothing(self, counts: PushCounts, why: str) -> None:
        """Leaves all events for the next push, for a reason."""
        self.why, counts.left = why, counts.events - counts.already_delivered

    def _send_all(self) -> None:
        self._send(self._index.items())
        late = self._attempts.taken_late
        if late and not self._pace.stopped.is_set():
            refused = {*self._marks_set_aside, *(suspect.item.mark for suspect in self._suspects)}
            again, before = self._index.follow({*late}, refused)
            for sign, marks in ((SENDING, again), (TAKEN, late)):  # in this order: a stopped push continues
                for mark in marks:
                    self._ledger.write(sign, mark)
            self.resent = len(again)
            self._counts.already_delivered -= before
            self._counts.delivered -= len(again) - before
            self._send(self._index.items())

    def _send(self, items: Iterable[Item]) -> None:
        """Starts each of the events when its time has come, and waits for all."""
        was_run: bool | None = None
        for item in items:
            self._await_results(0 if item.is_run != was_run else _WINDOW - 1, _WINDOW_BYTES)
            was_run = item.is_run
            if self._pace.stopped.is_set():
                break
            line = self._index.line(item)
            event = json.loads(line)
            node = node_of(event)
            self._unfinished += 1
            self._bytes += item.size
            self._waiting[node] = (item, line, event)
            if not self._is_parallel or self._order.add(node):  # one after the other is in order by itself
                self._start(node)
        self._await_results(0, 0)

    def _start(self, node: OrderNode) -> None:
        item, line, event = self._waiting.pop(node)
        future = self._pool.submit(self._attempts.deliver, item, line, event)
        self._running[future] = (node, item)
        future.add_done_callback(self._done.put)

    def _await_results(self, events: int, size: int) -> None:
        """Waits until at most so many events, of so many bytes, are unfinished; after a stop, until none runs."""
        while True:
            is_stopped = self._pace.stopped.is_set()
            if self._unfinished <= events and (self._bytes <= size or not self._unfinished) and self._done.empty():
                return
            if is_stopped and not self._running:
                return
            try:
                self._take(self._done.get(timeout=0.5))
            except queue.Empty:
                self._stop_if_backend_fails()

    def _take(self, future: Future[AttemptResult]) -> None:
        """The result of an event; raises the fault of the program that ended its thread."""
        node, item = self._running.pop(future)
        self._unfinished -= 1
        self._bytes -= item.size
        result = future.result()
        self.reduced += result.is_reduced
        if result.answer is not None:
            self._classify(_Failure(item, result.answer, result.tries))
        self._show(self._counts, self._index)
        for follower in self._order.done(node) if self._is_parallel else ():
            if not self._pace.stopped.is_set():
                self._start(follower)

    def _classify(self, sent: _Failure) -> None:
        answer = sent.answer
        if answer.kind is AnswerKind.TAKEN:
            self._counts.delivered += 1
            self._last_success = time.monotonic()
            self._set_aside_suspects(AnswerKind.ERROR, AnswerKind.SILENT, AnswerKind.MISPLACED, AnswerKind.FORBIDDEN)
        elif answer.kind is AnswerKind.REFUSED:
            self._set_aside(sent)
            if sent.tries:
                self._last_success = time.monotonic()
                self._set_aside_suspects(AnswerKind.SILENT)
        elif answer.kind is AnswerKind.DENIED:
            self._stop(answer.text)
        elif answer.kind is AnswerKind.BUSY:
            wait = answer.text if answer.wait is None else f"{answer.wait:,.0f} seconds ({answer.text})"
            self._stop(f"asks to wait: {wait}")
        else:
            self._suspects.append(sent)
            self._stop_if_backend_fails()

    def _set_aside_suspects(self, *kinds: AnswerKind) -> None:
        """The backend works, so the suspected events of these kinds are at fault themselves."""
        suspects, self._suspects = self._suspects, []
        for suspect in suspects:
            if suspect.answer.kind in kinds:
                self._set_aside(suspect)
            else:
                self._suspects.append(suspect)

    def _stop_if_backend_fails(self) -> None:
        """Stops the push if the backend is at fault."""
        kinds = Counter(suspect.answer.kind for suspect in self._suspects)
        is_silent = max(kinds[AnswerKind.SILENT], kinds[AnswerKind.FORBIDDEN]) >= MOST_UNANSWERED
        is_long = time.monotonic() - self._last_success > PATIENCE and not self._pace.is_paused()
        if self._suspects and (is_silent or len(self._suspects) >= MOST_SUSPECTS or is_long):
            self._stop(self._suspects[-1].answer.text)

    def _stop(self, reason: str) -> None:
        self.why = self.why or reason
        self._pace.stop()

    def _set_aside(self, failed: _Failure) -> None:
        self._counts.set_aside += 1
        self._ledger.write(SET_ASIDE, failed.item.mark)
        self._marks_set_aside.add(failed.item.mark)
        self.refusals[failed.answer.text[:100]] += 1
        event = json.loads(self._index.line(failed.item))
        record = {"answer": failed.answer.text, "tries": failed.tries, "event": event}
        self._ledger.append_record("set-aside.ndjson", record)
