"""The memory and CPU seconds of all processes of a command, sampled from Linux's /proc while it runs.

The measure of memory is PSS (proportional set size, ``smaps_rollup``): a page that several processes share is divided
among them, so the sum over all processes counts each page once. Pages that are only in the page cache are not counted.
A sample of large processes takes some hundredths of a second, which the command loses, so there are fewer samples of
them. A peak between two samples is missed, and a command that ends after a few samples has no value.
"""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path, PurePath
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

EVERY: Final = 0.5
"""Seconds between two samples, or more: as many times the last sample's own seconds as :data:`REST` says."""
REST: Final = 50
FEW: Final = 4  # samples that tell nothing of a peak
JVM, PYTHON, WORKERS = "driver JVM", "Python", "Python workers"
KINDS: Final = (JVM, PYTHON, WORKERS)
_PROC: Final = Path("/proc")
_PARENT, _SESSION, _WORKED, _BEGAN = 1, 3, slice(11, 13), 19  # of the fields of a process's stat that follow its name


class Sampler:
    """Samples a session's processes, at most every half second: ``with Sampler(session) as memory: …; memory.peak``.

    ``cpu``: seconds of all processes as far as they were seen; what one did after its last sample is not in it.
    """

    def __init__(self, session: int) -> None:
        """``session``: the id of the process that started it; its child processes belong to it."""
        self.peak: dict[str, int] = {}
        self._ticks: dict[tuple[int, str], int] = {}
        self._session = session
        self._done = Event()
        self._thread = Thread(target=self._look_on, name="memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    @property
    def cpu(self) -> float:
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _look_on(self) -> None:
        most: dict[str, int] = {}
        took = 0.0
        for looked in itertools.count():
            if self._done.wait(max(EVERY, REST * took)):
                break
            begun = time.monotonic()
            now = by_kind(self._session)
            self._ticks.update(ticks(self._session))
            took = time.monotonic() - begun
            most = max(most, now, key=lambda one: sum(one.values()))
            self.peak = most if looked >= FEW else {}


def by_kind(session: int) -> dict[str, int]:
    """Bytes of the processes of a session now, by kind; empty where there is no /proc.

    A process that Java starts shares Java's memory and command for a moment. It is not counted.
    """
    sizes, kinds, parents = {}, {}, {}
    for process in _PROC.glob("[0-9]*"):
        try:
            number, parent, of_session = _numbers(process)
            if of_session == session:
                kinds[number] = _kind((process / "cmdline").read_bytes().decode(errors="replace").split("\0"))
                sizes[number] = _bytes((process / "smaps_rollup").read_text())
                parents[number] = parent
        except OSError:  # it has ended meanwhile
            continue
    found: dict[str, int] = {}
    for number, size in sizes.items():
        if not kinds[number] == JVM == kinds.get(parents[number]):
            found[kinds[number]] = found.get(kinds[number], 0) + size
    return found


def ticks(session: int) -> dict[tuple[int, str], int]:
    """The clock ticks in which each process of a session worked, by its id and when it began."""
    found = {}
    for process in _PROC.glob("[0-9]*"):
        try:
            fields = _stat(process)
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[_SESSION]) == session:
            found[int(process.name), fields[_BEGAN]] = sum(map(int, fields[_WORKED]))
    return found


def _numbers(process: Path) -> tuple[int, int, int]:
    """The ids of a process, of its parent and of its session."""
    fields = _stat(process)
    return int(process.name), int(fields[_PARENT]), int(fields[_SESSION])


def _stat(process: Path) -> list[str]:
    """The fields that follow the name of the program."""
    return (process / "stat").read_text(errors="replace").rpartition(")")[2].split()


def _kind(command: list[str]) -> str:
    if PurePath(command[0]).name == "java":
        return JVM
    return WORKERS if any(word.startswith("pyspark.") for word in command) else PYTHON


def _bytes(rollup: str) -> int:
    """The line ``Pss:   1234 kB``."""
    return next((1024 * int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
