"""Processes of this program that call functions, on all processors of this machine.

Each process runs this module's :func:`main`. It reads calls from its standard input, one at a time, and writes what
they return; both are pickled, and only this program's processes write them. A process whose input ends stops at once,
so none outlives the one that started it.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from threading import Thread
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

from exporter.errors import ExporterError
from exporter.system.cache import collect_garbage_rarely, exclude_caches_from_collection

T = TypeVar("T")
_MOST: Final = 16
"""Most processes: as many have enough to do with the rows that one process can read from files."""
_WAITING: Final = 2
"""Calls of an iterator that wait for a process, for each process."""


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcesses:
    """``with WorkerProcesses(cores()) as workers: workers.map(function, arguments)``. ``number``: of processes, at
    least 1.
    """

    def __init__(self, number: int) -> None:
        self.number = min(number, _MOST)
        self._processes: list[Popen[bytes]] = []
        self._free = SimpleQueue[Popen[bytes]]()
        self._threads = ThreadPoolExecutor(self.number)

    def __enter__(self) -> Self:
        path = [*filter(None, sys.path), str(Path(__file__).parents[2])]
        code = f"import sys; sys.path[:] = {path!r}; from {__name__} import main; main()"
        try:
            for _ in range(self.number):
                process = Popen([sys.executable, "-I", "-S", "-c", code], stdin=PIPE, stdout=PIPE)  # noqa: S603 - the code is ours
                self._processes.append(process)
                self._free.put(process)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.communicate()

    def map(self, function: Callable[..., T], arguments: Iterable[tuple[Any, ...]]) -> Iterator[T]:
        """The results of calling the function with each tuple of arguments, in their order. A few calls are made ahead
        of the results that are read. Raises what a call raises; ExporterError if a process ends before it answers.
        """
        waiting: list[Future[T]] = []
        for given in arguments:
            waiting.append(self._threads.submit(self._call, function, given))
            if len(waiting) > _WAITING * self.number:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()

    def _call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        process = self._free.get()
        assert process.stdin, "it is a pipe"
        assert process.stdout, "it is a pipe"
        try:
            pickle.dump((function, arguments), process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            result, error = pickle.load(process.stdout)  # noqa: S301 - our own process wrote it
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            raise ExporterError(_ended(process)) from None
        finally:
            self._free.put(process)
        if error is not None:
            raise error
        return cast("T", result)


def _ended(process: Popen[bytes]) -> str:
    code = process.wait()
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return (
        f"a process of the local engine ended {how}: killed, or out of memory; check the memory of the machine, or "
        "give --engine spark, and start it again"
    )


# --- in the processes -------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer the calls on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes; the first one ends the others
    collect_garbage_rarely()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what prints to standard output would break the answers
    calls = SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]]()
    Thread(target=_receive, args=(calls,), daemon=True).start()
    while True:
        function, arguments = calls.get()
        answers.write(_answer(function, arguments))
        answers.flush()
        exclude_caches_from_collection()


def _receive(calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]]]) -> None:
    """Put the calls into a queue. Ends this process when there are no more, even while it works."""
    try:
        while True:
            calls.put(pickle.load(sys.stdin.buffer))  # noqa: S301 - the process that started this one wrote it
    finally:
        os._exit(0)


def _answer(function: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """The result of a call and None, or None and its error, pickled."""
    try:
        return pickle.dumps((function(*arguments), None), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - whatever it is, the process that called reports it
        error.add_note(traceback.format_exc())
        try:
            text = pickle.dumps((None, error))
            pickle.loads(text)  # noqa: S301 - an error of which that fails cannot be sent
        except Exception:  # noqa: BLE001 - any class may refuse to be pickled
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
        return text
