"""Runs programs in separate processes, as a shell does, and measures their seconds and memory."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.memory import Sampler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

ROOT: Final = Path(__file__).parents[1]


class FailedRunError(Exception):
    """A measured program failed; the message is the end of its output."""


@dataclass(frozen=True)
class Run:
    """One run. ``whole``: seconds from the process's start to its end; ``net``: seconds that the program itself
    reports, None where it does not; ``peak``: bytes by kind of process, when their sum was greatest; ``cpu``: seconds
    of all processes.
    """

    whole: float
    net: float | None = None
    peak: dict[str, int] = field(default_factory=dict)
    cpu: float = 0.0


@dataclass(frozen=True)
class Result:
    """The results of a program's runs. ``all_rows``: of the history, where the program only read the first ``rows``."""

    name: str
    rows: int
    runs: tuple[Run, ...] = ()
    all_rows: int | None = None

    @property
    def whole(self) -> float | None:
        """The median."""
        return statistics.median(run.whole for run in self.runs) if self.runs else None

    @property
    def net(self) -> float | None:
        """The median."""
        nets = [run.net for run in self.runs if run.net is not None]
        return statistics.median(nets) if nets else None

    @property
    def cpu(self) -> float | None:
        """The median."""
        return statistics.median(run.cpu for run in self.runs) if self.runs else None

    @property
    def peak(self) -> dict[str, int]:
        """That of the run with the greatest peak."""
        return max((run.peak for run in self.runs), key=lambda one: sum(one.values()), default={})

    @property
    def for_all(self) -> float | None:
        """Seconds for all rows; if it only read the first rows, extrapolated without its start."""
        if self.all_rows is None or self.whole is None or self.net is None:
            return self.whole
        return self.whole - self.net + self.net * self.all_rows / self.rows

    @property
    def rate(self) -> float | None:
        """Rows a second, from start to end, for all rows."""
        return (self.all_rows or self.rows) / self.for_all if self.for_all else None


@dataclass(frozen=True)
class Program:
    """``command``: run in ``folder``; ``out``: removed before and after; ``net``: reads its own seconds from the JSON
    at the end of its output.
    """

    name: str
    rows: int
    command: tuple[str, ...]
    folder: Path
    out: Path | None = None
    net: Callable[[dict[str, Any]], float | None] = lambda _: None
    all_rows: int | None = None

    def run(self) -> Run:
        """One run; raises FailedRunError."""
        self._clear()
        os.sync()  # what the program before wrote is not to be written while this one is measured
        run, printed = timed(self.command, self.folder)
        self._clear()
        return Run(run.whole, self.net(_last_json(printed)), run.peak, run.cpu)

    def _clear(self) -> None:
        if self.out is not None:
            shutil.rmtree(self.out, ignore_errors=True)
            self.out.unlink(missing_ok=True)


def measured(programs: Sequence[Program], runs: int, pause: float = 0) -> list[Result]:
    """Runs the programs in turn, with a pause before each; a program that failed is not run again."""
    found: dict[int, list[Run] | None] = {number: [] for number in range(len(programs))}
    for _ in range(runs):
        for number, program in enumerate(programs):
            done = found[number]
            if done is None:
                continue
            say(f"{program.name}: {program.rows:,} rows")
            time.sleep(pause)
            try:
                done.append(program.run())
            except FailedRunError as failure:
                say(f"not measured: {program.name}: {failure}")
                found[number] = None
    return [Result(one.name, one.rows, tuple(found[number] or ()), one.all_rows) for number, one in enumerate(programs)]


def timed(command: Iterable[str], folder: Path) -> tuple[Run, str]:
    """One run of a command, and its output; raises FailedRunError."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    before, started = _cpu_of_ended(), time.perf_counter()
    process = subprocess.Popen(
        list(command),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        with Sampler(process.pid) as memory:
            printed, said = process.communicate()
            whole = time.perf_counter() - started
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        raise
    _wait_for(process.pid)
    if process.returncode:
        words = (said or printed).strip().splitlines() or ["no output"]
        raise FailedRunError(f"exit code {process.returncode}: {words[-1][:200]}")
    # Java is no child that somebody waits for, so it is in the samples alone; a short process is not in any sample.
    return Run(whole, peak=memory.peak, cpu=max(memory.cpu, _cpu_of_ended() - before)), printed


def _cpu_of_ended() -> float:
    """Seconds of all child processes that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for(group: int) -> None:
    """Wait until all processes of the group have ended, at most a minute. After the first export Java goes on to write
    its cache of classes, which would disturb what is measured next.
    """
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)


def _last_json(output: str) -> dict[str, Any]:
    """The JSON object at the end of the output: the whole output, or its last line."""
    for text in (output, *output.strip().splitlines()[-1:]):
        with suppress(ValueError):
            return dict(json.loads(text))
    return {}


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
