"""The pace of a push: at most so many events a second; none while the backend asks to wait, and fewer at once after."""

from __future__ import annotations

import random
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

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
