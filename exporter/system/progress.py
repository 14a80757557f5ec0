"""Progress: the running stages, shown on a terminal, or as a line a minute elsewhere; and the seconds of each stage."""

from __future__ import annotations

import io
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final, TextIO

from exporter.system.terminal import bare

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

_STAGE_LABELS = {
    "session": "starting Spark",
    "names": "finding user names",
    "export": "exporting",
    "read": "reading rows",
    "bridge": "following intermediate tables",
    "answer": "computing version histories",
    "write": "validating and writing",
    "surround": "validating what belongs to each object",
    "days": "summing reads by day",
    "date": "finding the days of rows",
    "things": "writing objects",
    "changes": "comparing with the earlier output",
    "join": "joining old state",
}
"""The names of stages, as ``report.json`` has them -> what a person reads."""

_EVERY = 0.5  # seconds
MINUTE: Final = 60.0
_DESCRIPTION: Final = "spark.job.description"
"""The name of a job in Spark's web pages and event log."""


class Progress:
    """``seconds``: by stage, summed over its runs. While several stages run, the time is divided equally among them, so
    that the sum never exceeds the total. ``stream``: it shows the running stages, the number of finished Spark tasks,
    and counts. A terminal shows them at any time, other streams a line after each ``every`` seconds, so that a log says
    what a long run does. None for standard error. Spark's web pages show the stages as the names of jobs.
    """

    def __init__(self, stream: TextIO | None = None, *, every: float = MINUTE) -> None:
        self.stream = stream or bare(sys.stderr or io.StringIO())  # None where it was closed before the start
        self._every, self._ended, self._lines = every, Event(), 0
        self.seconds: dict[str, float] = {}
        self.begun = time.monotonic()
        self._running: list[str] = []
        self._counts: dict[str, int] = {}
        self._tracker: StatusTracker | None = None
        self._context: Any = None
        self._lock = Lock()
        self._looked = self.begun

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage and show that it runs."""
        with self._lock:
            self._share()
            if not self._running:
                self._begin_showing()
            self._running.append(name)
            self.seconds.setdefault(name, 0.0)
            self._show()
        try:
            with self._described(_STAGE_LABELS.get(name, name)):
                yield
        finally:
            with self._lock:
                self._share()
                self._running.remove(name)
                if not self._running:
                    self._ended.set()
                self._show()

    def _share(self) -> None:
        """Divide the time since the last call among the stages that run."""
        now = time.monotonic()
        for name in self._running:
            self.seconds[name] += (now - self._looked) / len(self._running)
        self._looked = now

    def _begin_showing(self) -> None:
        """Show the running stages again and again until none runs: twice a second on a terminal, else now and then."""
        self._ended = Event()
        how = self._show_again if self.stream.isatty() else self._write_lines
        Thread(target=how, args=(self._ended,), name="progress", daemon=True).start()

    def _show_again(self, ended: Event) -> None:
        while not ended.wait(_EVERY):
            with self._lock:
                if not ended.is_set():  # what follows on the terminal is not overwritten
                    self._show()

    def _write_lines(self, ended: Event) -> None:
        """The times count from the start of the run, so that many short stages have lines, too."""
        while not ended.wait(max(0.0, self._every * (self._lines + 1) - self.total())):
            with self._lock, suppress(OSError, ValueError):  # nobody reads it any more, which is no fault of the run
                self._lines = int(self.total() / self._every)
                text = self._text().strip()
                if text:
                    self.stream.write(f"exporter: {text}\n")
                    self.stream.flush()

    def clear(self) -> None:
        """Clear the line of a terminal, before a message; the running stages come again below it."""
        if self.stream.isatty():
            with self._lock:
                self.stream.write("\r\x1b[K")
                self.stream.flush()

    def counted(self, name: str, number: int) -> None:
        """Show a count from now on; a later call with the same name replaces it."""
        with self._lock:
            self._counts[name] = number
            self._show()

    def watch(self, spark: SparkSession) -> None:
        """Show the finished tasks of this session, too."""
        self._context = getattr(spark, "sparkContext", None)  # a session of Spark Connect has none
        if self._context is not None:
            self._tracker = self._context.statusTracker()

    @contextmanager
    def _described(self, doing: str) -> Iterator[None]:
        context = self._context
        if context is None:
            yield
            return
        before = context.getLocalProperty(_DESCRIPTION)
        context.setJobDescription(doing)
        try:
            yield
        finally:
            with suppress(Exception):  # the JVM may have ended, which the run itself reports
                context.setLocalProperty(_DESCRIPTION, before)

    def total(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.begun

    def _show(self) -> None:
        if self.stream.isatty():
            text = self._text()[: shutil.get_terminal_size().columns - 1]  # a second line could not be overwritten
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()

    def _text(self) -> str:
        if not self._running:
            return ""
        doing = ", ".join(dict.fromkeys(_STAGE_LABELS.get(name, name) for name in self._running))
        counts = [f"{number:,} {name}" for name, number in self._counts.items()]
        return f"{self.total():6.1f} s  {doing} … {', '.join([*self._tasks(), *counts])}".rstrip()

    def _tasks(self) -> list[str]:
        if self._tracker is None:
            return []
        try:
            stages = [self._tracker.getStageInfo(number) for number in self._tracker.getActiveStageIds()]
        except Exception:  # noqa: BLE001 - if the engine fails, the run itself reports it
            self._tracker = None
            return []
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        all_ = sum(stage.numTasks for stage in stages if stage)
        return [f"{done:,} of {all_:,} tasks"] if all_ else []


class NoProgress(Progress):
    """Shows nothing and measures nothing."""

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:  # noqa: ARG002 - as in the base class
        yield

    def counted(self, name: str, number: int) -> None:
        """Do nothing."""
