"""How one event is delivered: how fast, how often it is tried, and what the ledger records of it.

At most so many events a second are sent; none while the backend asks to wait, and fewer at once after.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from exporter.backends.event import Json
from exporter.backends.ledger import LEFT, SENDING, TAKEN_LATE, Ledger
from exporter.backends.ledger import TAKEN as WAS_TAKEN
from exporter.backends.secrecy import TAKEN, AnswerKind, BackendAnswer

if TYPE_CHECKING:
    from exporter.backends.fit import Fit
    from exporter.backends.index import Item
    from exporter.backends.transports import Sender

_GAP: Final = 60.0
"""Seconds between two reports that the backend does not answer: one that answers now and then would give many."""
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


TRIES: Final = {AnswerKind.ERROR: 3, AnswerKind.SILENT: 4, AnswerKind.BUSY: 10}
"""How many times an event is sent to a backend that answers so. BUSY: counted only while no other event is accepted. To
one that does not answer (SILENT) it is sent so often, and further as long as the user's patience lasts.
"""
LONGEST_WAIT_ASKED: Final = 60.0
"""The most seconds that a backend may ask to wait. If it asks for more, the push ends and can be started again later.
"""


class Retries:
    """Counts the answers to one request that is made again. ``patience``: as of :class:`Attempts`."""

    def __init__(self, patience: float) -> None:
        self._patience, self._begun, self._tries = patience, time.monotonic(), Counter[AnswerKind]()

    def wait(self, answer: BackendAnswer) -> float | None:
        """The seconds until the next try; None where this was the last one."""
        self._tries[answer.kind] += 1
        tries = self._tries[answer.kind]
        is_last = tries >= TRIES.get(answer.kind, 1)
        if answer.kind is AnswerKind.SILENT:
            is_last = is_last and time.monotonic() - self._begun >= self._patience
        if is_last:
            return None
        return backoff(tries) if answer.wait is None else answer.wait

    def forget(self, kind: AnswerKind) -> None:
        """Answers of this kind count from the beginning again."""
        self._tries[kind] = 0


@dataclass(frozen=True)
class AttemptResult:
    """``answer``: the last one, None where the push ended before; ``tries``: the number of requests; ``is_reduced``:
    delivered without some of its facets, or not taken in full.
    """

    answer: BackendAnswer | None = None
    tries: int = 0
    is_reduced: bool = False


class Attempts:
    """Delivers events to a backend, adapted to it, at the push's pace. Thread-safe. ``patience``: the seconds for which
    an event is tried again while the backend does not answer. ``on_silent``: called with the reason when it no longer
    answers, once until it does again, and once a minute at most. ``taken_late``: the fingerprints of events that an
    earlier push had set aside, and that were taken by this one, or by one that ended before it sent what has to follow
    them.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what is sent, where to, and how long
        self, fit: Fit, sender: Sender, ledger: Ledger, pace: Pace, patience: float, on_silent: Callable[[str], None]
    ) -> None:
        self._fit, self._sender, self._ledger, self._pace = fit, sender, ledger, pace
        self._patience, self._on_silent = patience, on_silent
        self._taken, self._is_silent, self._silence_said_at = 0, False, -_GAP
        self.taken_late = [*ledger.late]

    def deliver(self, item: Item, line: bytes, event: Json) -> AttemptResult:
        """Sends one event until it is accepted or the tries are used up; ``line``: its text. The ledger records it as
        taken if all of its parts were taken, else as left, also after errors.
        """
        fitted = self._fit.fit(event, line, item)
        if fitted.refused:
            return AttemptResult(BackendAnswer(AnswerKind.REFUSED, f"not sent: {fitted.refused}"))
        self._ledger.write(SENDING, item.mark)
        all_tries, sign, lost = 0, LEFT, [*fitted.lost]
        try:
            for body in fitted.bodies:
                answer, tries = self._try(body)
                all_tries += tries
                if answer.kind is not AnswerKind.TAKEN:
                    return AttemptResult(answer, all_tries)
                lost += [f"by the backend: {answer.text}"] if answer.text else []
            sign = TAKEN_LATE if item.mark in self._ledger.refused else WAS_TAKEN
        except Stopped:
            return AttemptResult()
        finally:
            self._ledger.write(sign, item.mark)
        if sign == TAKEN_LATE:
            self.taken_late.append(item.mark)
        for record in fitted.records:
            self._ledger.write(*record)
        if lost:
            names = {"job": event.get("job", {}).get("name"), "run": event.get("run", {}).get("runId")}
            self._ledger.append_record("reduced.ndjson", {**names, "left_away": lost})
        return AttemptResult(TAKEN, all_tries, is_reduced=bool(lost))

    def _try(self, body: bytes) -> tuple[BackendAnswer, int]:
        """The last answer, and the number of requests."""
        retries, count, taken = Retries(self._patience), 0, self._taken
        while True:
            with self._pace.request():
                answer = self._sender.send(body)
            count += 1
            if taken != self._taken:  # it accepts other events, only not many at a time: that is not busy for ever
                taken = self._taken
                retries.forget(AnswerKind.BUSY)
            if answer.kind is AnswerKind.TAKEN:
                self._taken += 1
                self._pace.ease()
            was_silent, self._is_silent = self._is_silent, answer.kind is AnswerKind.SILENT
            if self._is_silent and not was_silent and time.monotonic() - self._silence_said_at > _GAP:
                self._silence_said_at = time.monotonic()
                self._on_silent(answer.text)
            wait = retries.wait(answer)
            if wait is None or (answer.wait or 0) > LONGEST_WAIT_ASKED:
                return answer, count
            if answer.kind is AnswerKind.BUSY or answer.wait is not None:
                self._pace.pause(wait)
            elif self._pace.stopped.wait(wait):
                raise Stopped
