"""Delivers events with retries: several at once where their order allows it, one after the other where they share
something. Each is recorded in the ledger before and after.

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.push.answers import TAKEN, BackendAnswer, Kind
from exporter.openlineage.push.ledger import NOT_TAKEN, SENDING, Ledger
from exporter.openlineage.push.ledger import TAKEN as WAS_TAKEN
from exporter.openlineage.push.order import Order, OrderNode, Pace, Stopped, backoff, node_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.openlineage.push.command import Progress
    from exporter.openlineage.push.fit import Fit, Fitted
    from exporter.openlineage.push.index import Index, Item
    from exporter.openlineage.push.plan import Counts
    from exporter.openlineage.push.transports import Sender

Json = dict[str, Any]
TRIES: Final = {Kind.SICK: 3, Kind.SILENT: 4, Kind.BUSY: 10}
"""How many times an event is sent to a backend that answers so. BUSY: counted only while no other event is accepted. To
one that does not answer (SILENT) it is sent so often, and further as long as the user's patience lasts.
"""
LONGEST_WAIT_ASKED: Final = 60.0
"""The most seconds that a backend may ask to wait. If it asks for more, the push ends and can be started again later.
"""


class Retries:
    """Counts the answers to one request that is made again. ``patience``: as of :class:`Attempts`."""

    def __init__(self, patience: float) -> None:
        self._patience, self._begun, self._tries = patience, time.monotonic(), Counter[Kind]()

    def wait(self, answer: BackendAnswer) -> float | None:
        """The seconds until the next try; None where this was the last one."""
        self._tries[answer.kind] += 1
        tries = self._tries[answer.kind]
        is_last = tries >= TRIES.get(answer.kind, 1)
        if answer.kind is Kind.SILENT:
            is_last = is_last and time.monotonic() - self._begun >= self._patience
        if is_last:
            return None
        return backoff(tries) if answer.wait is None else answer.wait

    def forget(self, kind: Kind) -> None:
        """Answers of this kind count from the beginning again."""
        self._tries[kind] = 0


@dataclass(frozen=True)
class AttemptResult:
    """``answer``: the last one, None where the push ended before; ``tries``: the number of requests; ``is_reduced``:
    delivered without some of its facets.
    """

    answer: BackendAnswer | None = None
    tries: int = 0
    is_reduced: bool = False


class Attempts:
    """Delivers events to a backend, adapted to it, at the push's pace. Thread-safe. ``patience``: the seconds for which
    an event is tried again while the backend does not answer. ``on_silent``: called with the reason when it no longer
    answers, once until it does again.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what is sent, where to, and how long
        self, fit: Fit, sender: Sender, ledger: Ledger, pace: Pace, patience: float, on_silent: Callable[[str], None]
    ) -> None:
        self._fit, self._sender, self._ledger, self._pace = fit, sender, ledger, pace
        self._patience, self._on_silent = patience, on_silent
        self._taken, self._is_silent = 0, False

    def deliver(self, item: Item, line: bytes, event: Json) -> AttemptResult:
        """Sends one event until it is accepted or the tries are used up; ``line``: its text."""
        try:
            fitted = self._fit.fit(event, line, item)
            if fitted.refused:
                return AttemptResult(BackendAnswer(Kind.REFUSED, f"not sent: {fitted.refused}"))
            answer, tries = self._on_record(item, fitted)
        except Stopped:
            return AttemptResult()
        for sign, mark in fitted.records if answer.kind is Kind.TAKEN else ():
            self._ledger.write(sign, mark)
        is_reduced = answer.kind is Kind.TAKEN and bool(fitted.lost)
        if is_reduced:
            names = {"job": event.get("job", {}).get("name"), "run": event.get("run", {}).get("runId")}
            self._ledger.append_record("reduced.ndjson", {**names, "left_away": list(fitted.lost)})
        return AttemptResult(answer, tries, is_reduced)

    def _on_record(self, item: Item, fitted: Fitted) -> tuple[BackendAnswer, int]:
        """The ledger records the event as taken if all of its parts were taken, else as not taken, also after
        errors.
        """
        self._ledger.write(SENDING, item.mark)
        answer, tries, sign = TAKEN, 0, NOT_TAKEN
        try:
            for body in fitted.bodies:
                answer, body_tries = self._try(body)
                tries += body_tries
                if answer.kind is not Kind.TAKEN:
                    break
            else:
                sign = WAS_TAKEN
        finally:
            self._ledger.write(sign, item.mark)
        return answer, tries

    def _try(self, body: bytes) -> tuple[BackendAnswer, int]:
        retries, count, taken = Retries(self._patience), 0, self._taken
        while True:
            with self._pace.request():
                answer = self._sender.send(body)
            count += 1
            if taken != self._taken:  # it accepts other events, only not many at a time: that is not busy for ever
                taken = self._taken
                retries.forget(Kind.BUSY)
            if answer.kind is Kind.TAKEN:
                self._taken += 1
                self._pace.ease()
            self._report_silence(answer)
            wait = retries.wait(answer)
            if wait is None or (answer.wait or 0) > LONGEST_WAIT_ASKED:
                return answer, count
            if answer.kind is Kind.BUSY or answer.wait is not None:
                self._pace.pause(wait)
            elif self._pace.stopped.wait(wait):
                raise Stopped

    def _report_silence(self, answer: BackendAnswer) -> None:
        """Says once that the backend does not answer, until it does again."""
        was_silent, self._is_silent = self._is_silent, answer.kind is Kind.SILENT
        if self._is_silent and not was_silent:
            self._on_silent(answer.text)


MOST_UNANSWERED, MOST_SUSPECTS = 3, 100
"""How many events in a row may get no answer, or be forbidden, and how many may get an error, before the backend is
taken to be at fault.
"""
PATIENCE: Final = 120.0
"""Seconds in which events fail and none is accepted, after which the backend is taken to be at fault."""
_WINDOW, _WINDOW_BYTES = 1_000, 32 * 2**20


@dataclass(frozen=True)
class SentEvent:
    """An event that was sent, or could not be sent. ``fault``: an error in the program while sending it."""

    item: Item
    node: OrderNode
    result: AttemptResult
    fault: BaseException | None = None


class Delivery:
    """Sends the events of an index. ``why``: the reason why it stopped before the end, None if it did not."""

    def __init__(self, index: Index, attempts: Attempts, ledger: Ledger, pace: Pace, *, is_parallel: bool) -> None:
        self._index, self._ledger, self._pace = index, ledger, pace
        self._attempts, self._is_parallel = attempts, is_parallel
        self.why: str | None = None
        self.refusals: Counter[str] = Counter()
        self.reduced = 0
        self._order, self._done = Order(), queue.SimpleQueue[SentEvent]()
        self._waiting: dict[int, tuple[Item, bytes, Json]] = {}
        self._running, self._unfinished, self._bytes = 0, 0, 0
        self._suspects: list[SentEvent] = []
        self._last_success = time.monotonic()

    def run(self, counts: Counts, progress: Progress, concurrency: int) -> None:
        """Sends everything that is not settled; keeps ``counts`` and ``progress`` up to date.

        Raises an interruption by the user, or a fault of the program in any thread, after all threads have ended: then
        the ledger and ``counts`` have what they delivered.
        """
        self._counts, self._progress = counts, progress
        try:
            with ThreadPoolExecutor(concurrency if self._is_parallel else 1) as self._pool:
                try:
                    self._send_all()
                finally:
                    self._pace.stop()
            self._classify_remaining()
        except Exception as fault:  # of any kind: it ends the push, and is raised again once it is recorded
            self.why = f"a fault of the program: {type(fault).__name__}: {fault}"
            raise
        finally:
            self._count_left()

    def _send_all(self) -> None:
        was_run: bool | None = None
        for item in self._index.items():
            self._await_results(0 if item.is_run != was_run else _WINDOW - 1, _WINDOW_BYTES)
            was_run = item.is_run
            if self._pace.stopped.is_set():
                break
            self._start(item)
        self._await_results(0, 0)

    def _start(self, item: Item) -> None:
        line = self._index.line(item)
        event = json.loads(line)
        node = node_of(event)
        self._unfinished += 1
        self._bytes += item.size
        self._waiting[id(node)] = (item, line, event)
        if self._order.add(node):
            self._submit(node)

    def _submit(self, node: OrderNode) -> None:
        self._running += 1
        self._pool.submit(self._work, node, *self._waiting.pop(id(node)))

    def _await_results(self, events: int, size: int) -> None:
        """Waits until at most so many events, of so many bytes, are unfinished; after a stop, until none runs."""
        while True:
            is_stopped = self._pace.stopped.is_set()
            if self._unfinished <= events and (self._bytes <= size or not self._unfinished) and self._done.empty():
                return
            if is_stopped and not self._running:
                return
            try:
                self._take_result(self._done.get(timeout=0.5))
            except queue.Empty:
                self._stop_if_backend_fails()

    # --- one event, in a thread of its own ------------------------------------------------------------------------

    def _work(self, node: OrderNode, item: Item, line: bytes, event: Json) -> None:
        try:
            sent = SentEvent(item, node, self._attempts.deliver(item, line, event))
        except BaseException as fault:  # noqa: BLE001 - raised again in the main thread, which would else wait for ever
            self._pace.stop()
            sent = SentEvent(item, node, AttemptResult(), fault)
        self._done.put(sent)

    # --- the result of an event, in the main thread ---------------------------------------------------------------

    def _take_result(self, sent: SentEvent) -> None:
        self._running -= 1
        self._unfinished -= 1
        self._bytes -= sent.item.size
        if sent.fault is not None:
            raise sent.fault
        self.reduced += sent.result.is_reduced
        if sent.result.answer is not None:
            self._classify(sent, sent.result.answer)
        self._progress.show(self._counts, self._index)
        for node in self._order.done(sent.node):
            if not self._pace.stopped.is_set():
                self._submit(node)

    def _classify(self, sent: SentEvent, answer: BackendAnswer) -> None:
        if answer.kind is Kind.TAKEN:
            self._counts.delivered += 1
            self._last_success = time.monotonic()
            self._set_aside_suspects([Kind.SICK, Kind.SILENT, Kind.MISPLACED, Kind.FORBIDDEN])
        elif answer.kind is Kind.REFUSED:
            self._set_aside(sent)
            if sent.result.tries:
                self._last_success = time.monotonic()
                self._set_aside_suspects([Kind.SILENT])
        elif answer.kind in (Kind.BUSY, Kind.DENIED):
            self._stop(answer.text if answer.kind is Kind.DENIED else f"asks to wait: {_wait_text(answer)}")
        else:
            self._suspects.append(sent)
            self._stop_if_backend_fails()

    def _set_aside_suspects(self, kinds: list[Kind]) -> None:
        """The backend works, so the suspected events of these kinds are at fault themselves."""
        at_fault = [suspect for suspect in self._suspects if _kind_of(suspect) in kinds]
        self._suspects = [suspect for suspect in self._suspects if suspect not in at_fault]
        for sent in at_fault:
            self._set_aside(sent)

    def _stop_if_backend_fails(self) -> None:
        """Stops the push if the backend is at fault."""
        silent = max(
            sum(_kind_of(suspect) is kind for suspect in self._suspects) for kind in (Kind.SILENT, Kind.FORBIDDEN)
        )
        is_long = time.monotonic() - self._last_success > PATIENCE and not self._pace.is_paused()
        if self._suspects and (silent >= MOST_UNANSWERED or len(self._suspects) >= MOST_SUSPECTS or is_long):
            self._stop(_text_of(self._suspects[-1]))

    def _stop(self, why: str) -> None:
        self.why = self.why or why
        self._pace.stop()

    def _classify_remaining(self) -> None:
        """At the end, with no further evidence: errors count against the events, silence and what is forbidden against
        the backend.
        """
        if not self.why:
            self._set_aside_suspects([Kind.SICK, Kind.MISPLACED])
            if self._suspects:
                self.why = _text_of(self._suspects[-1])

    def _count_left(self) -> None:
        """Counts what threads still finished after an interruption or a fault, and what is left."""
        counts = self._counts
        while not self._done.empty():
            sent = self._done.get()
            counts.delivered += _kind_of(sent) is Kind.TAKEN
            self.reduced += sent.result.is_reduced
        counts.left = counts.events - counts.delivered - counts.already_delivered - counts.set_aside

    def _set_aside(self, sent: SentEvent) -> None:
        self._counts.set_aside += 1
        text = _text_of(sent)
        self.refusals[text[:100]] += 1
        event = json.loads(self._index.line(sent.item))
        self._ledger.append_record("set-aside.ndjson", {"answer": text, "tries": sent.result.tries, "event": event})


def _text_of(sent: SentEvent) -> str:
    return sent.result.answer.text if sent.result.answer else ""


def _kind_of(sent: SentEvent) -> Kind | None:
    return sent.result.answer.kind if sent.result.answer else None


def _wait_text(answer: BackendAnswer) -> str:
    return answer.text if answer.wait is None else f"{answer.wait:,.0f} seconds ({answer.text})"
