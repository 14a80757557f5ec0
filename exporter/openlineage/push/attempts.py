"""Delivers one event, in all of its parts, with retries, and records it in the ledger before and after."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.push.answers import TAKEN, Answer, Kind
from exporter.openlineage.push.ledger import ENDED, NOT_TAKEN, PLACED, SENDING, Ledger
from exporter.openlineage.push.ledger import TAKEN as WAS_TAKEN
from exporter.openlineage.push.pace import Pace, Stopped, backoff

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.openlineage.push.fit import Fit, Fitted
    from exporter.openlineage.push.index import Item
    from exporter.openlineage.push.transports import Sender

Json = dict[str, Any]
TRIES: Final = {Kind.SICK: 3, Kind.SILENT: 4, Kind.BUSY: 10}
"""How many times an event is sent to a backend that answers so. BUSY: counted only while no other event is accepted. To
one that does not answer (SILENT) it is sent so often, and further as long as the user's patience lasts.
"""
LONGEST_ASKED: Final = 60.0
"""The most seconds that a backend may ask to wait. If it asks for more, the push ends and can be started again later.
"""


@dataclass(frozen=True)
class Tried:
    """``answer``: the last one, None where the push ended before; ``tries``: the number of requests; ``is_reduced``:
    delivered without some of its facets.
    """

    answer: Answer | None = None
    tries: int = 0
    is_reduced: bool = False


class Attempts:
    """Delivers events to a backend, adapted to it, at the push's pace. Thread-safe. ``patience``: the seconds for which
    an event is tried again while the backend does not answer. ``tell``: called with the reason when it no longer
    answers, once until it does again.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what is sent, where to, and how long
        self, fit: Fit, sender: Sender, ledger: Ledger, pace: Pace, patience: float, tell: Callable[[str], None]
    ) -> None:
        self._fit, self._sender, self._ledger, self._pace = fit, sender, ledger, pace
        self._patience, self._tell = patience, tell
        self._taken, self._is_silent = 0, False

    def deliver(self, item: Item, line: bytes, event: Json) -> Tried:
        """Sends one event until it is accepted or the tries are used up; ``line``: its text."""
        try:
            fitted = self._fit.fit(event, line, item)
            if fitted.refused:
                return Tried(Answer(Kind.REFUSED, f"not sent: {fitted.refused}"))
            answer, tries = self._on_record(item, fitted)
        except Stopped:
            return Tried()
        if answer.kind is Kind.TAKEN and fitted.ends and fitted.place:
            self._ledger.write(ENDED, fitted.ends)
            self._ledger.write(PLACED, fitted.place)
        is_reduced = answer.kind is Kind.TAKEN and bool(fitted.lost)
        if is_reduced:
            told = {"job": event.get("job", {}).get("name"), "run": event.get("run", {}).get("runId")}
            self._ledger.keep("reduced.ndjson", {**told, "left_away": list(fitted.lost)})
        return Tried(answer, tries, is_reduced)

    def _on_record(self, item: Item, fitted: Fitted) -> tuple[Answer, int]:
        """The ledger records the event as taken if all of its parts were taken, else as not taken, also after
        errors.
        """
        self._ledger.write(SENDING, item.mark)
        answer, tries, sign = TAKEN, 0, NOT_TAKEN
        try:
            for body in fitted.bodies:
                answer, more = self._try(body)
                tries += more
                if answer.kind is not Kind.TAKEN:
                    break
            else:
                sign = WAS_TAKEN
        finally:
            self._ledger.write(sign, item.mark)
        return answer, tries

    def _try(self, body: bytes) -> tuple[Answer, int]:
        tries: Counter[Kind] = Counter()
        count, taken, begun = 0, self._taken, time.monotonic()
        while True:
            with self._pace.request():
                answer = self._sender.send(body)
            count += 1
            if taken != self._taken:  # it accepts other events, only not many at a time: that is not busy for ever
                taken, tries[Kind.BUSY] = self._taken, 0
            tries[answer.kind] += 1
            if answer.kind is Kind.TAKEN:
                self._taken += 1
                self._pace.ease()
            self._note(answer)
            is_last = tries[answer.kind] >= TRIES.get(answer.kind, 1)
            if answer.kind is Kind.SILENT:
                is_last = is_last and time.monotonic() - begun >= self._patience
            if is_last or (answer.wait or 0) > LONGEST_ASKED:
                return answer, count
            wait = backoff(tries[answer.kind]) if answer.wait is None else answer.wait
            if answer.kind is Kind.BUSY or answer.wait is not None:
                self._pace.pause(wait)
            elif self._pace.stopped.wait(wait):
                raise Stopped

    def _note(self, answer: Answer) -> None:
        """Says once that the backend does not answer, until it does again."""
        was_silent, self._is_silent = self._is_silent, answer.kind is Kind.SILENT
        if self._is_silent and not was_silent:
            self._tell(answer.text)
