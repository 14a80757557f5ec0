"""Answers that may take long, which are computed in the background: a page shows them when they are there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from time import monotonic
from typing import Final

from exporter.ask.answers import Answer
from exporter.ask.pool import BusyError, TooLongError
from exporter.errors import ExporterError

RETRY_SECONDS: Final = 60.0
"""After that time a question that ran out of time is asked again; twice as long after each further time."""
_LONGEST: Final = 3_600.0
_MOST_CACHED: Final = 200


class _Attempt:
    """A question that is being answered, or was. ``times``: how often it was before; ``ended``: when it was."""

    def __init__(self, executor: ThreadPoolExecutor, ask: Callable[[], Answer], times: int = 0) -> None:
        self.since, self.ended, self.times = monotonic(), 0.0, times
        self._ask = ask
        self.future: Future[Answer] = executor.submit(self._run)

    def _run(self) -> Answer:
        try:
            return self._ask()
        finally:
            self.ended = monotonic()

    @property
    def is_to_be_repeated(self) -> bool:
        """Whether there was no answer because the machine was busy, perhaps, some time ago."""
        if not self.future.done() or self.future.cancelled():
            return False
        pause = min(RETRY_SECONDS * 2**self.times, _LONGEST)
        return isinstance(self.future.exception(), (TooLongError, BusyError)) and monotonic() - self.ended >= pause


class BackgroundAnswers:
    """Answers and errors of questions that were asked in the background, by a key. A question that ran out of time is
    asked again by a later visit, one such question at a time. ``threads``: how many run at once; ``keeps_errors``:
    other errors stay, too.
    """

    def __init__(self, threads: int, *, keeps_errors: bool) -> None:
        self._executor = ThreadPoolExecutor(threads)
        self._keeps_errors = keeps_errors
        self._tries: OrderedDict[Hashable, _Attempt] = OrderedDict()
        self._repeated: _Attempt | None = None
        self._lock = Lock()

    def answer(self, key: Hashable, ask: Callable[[], Answer], wait: float, until: float) -> Answer:
        """The answer. Raises TimeoutError where there is none ``wait`` seconds after it was first asked, or at the time
        ``until`` (:func:`time.monotonic`).
        """
        with self._lock:
            attempt = self._tries.get(key)
            if attempt is None:
                attempt = self._tries[key] = _Attempt(self._executor, ask)
            elif attempt.is_to_be_repeated and (self._repeated is None or self._repeated.future.done()):
                attempt = self._repeated = self._tries[key] = _Attempt(self._executor, ask, attempt.times + 1)
            self._tries.move_to_end(key)
            if len(self._tries) > _MOST_CACHED:
                self._tries.popitem(last=False)
        try:
            return attempt.future.result(max(0.0, min(attempt.since + wait, until) - monotonic()))
        except ExporterError:
            if not self._keeps_errors:
                with self._lock:
                    self._tries.pop(key, None)
            raise

    def close(self) -> None:
        """Stops asking."""
        self._executor.shutdown(wait=False, cancel_futures=True)
