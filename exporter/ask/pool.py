"""Answers questions of several people at once from one store on disk, each with limits of time, memory and size.

As in :mod:`exporter.ask.limited`, a process of its own answers, and is ended when the time is over. Here the
process (:mod:`exporter.ask.pooled`) keeps the store open for the next question, which then takes one millisecond
and not a hundred. Where one had to be ended, another is started.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock, Semaphore, Timer
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import Struct

from exporter.ask.answers import Answer
from exporter.ask.limited import MEMORY, receive, send, started
from exporter.ask.parameters import ForbiddenError
from exporter.errors import ExporterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

_MOST_KEPT: Final = 200
"""How many answers are cached; they stay true, since the store does not change."""
_MOST_ROWS_KEPT: Final = 1_000


class TooLongError(UsageError):
    """There is no answer within the time."""


class BusyError(ExporterError):
    """Too many questions at once."""


class UnacceptableError(UsageError):
    """The answer cannot be written in any of the accepted media types."""


# --- messages to and from a process: MessagePack


class Opened(Struct, tag=True):
    """The first message to a process: the store, a folder of questions in addition to the shipped ones, the limit of
    memory in bytes, and by how much it gives way to other processes (nice(2)).
    """

    store: bytes
    questions: bytes
    memory: int
    nice: int


class Named(Struct, tag=True, frozen=True):
    """A question by its name, with parameters; ``rows``: the most rows of its answer; ``of_page``: with the objects
    that names mean; ``thing``: the IRI of the object that it is about, empty for what the parameters name.
    """

    name: str
    params: tuple[tuple[str, tuple[str, ...]], ...]
    rows: int
    seconds: float
    of_page: bool = False
    thing: str = ""


class Written(Struct, tag=True, frozen=True):
    """A query in SPARQL. The media types for solutions and for triples, None where the client accepts none; ``most``:
    the most bytes of the answer; ``base``: the base of its relative IRIs, None for none.
    """

    query: str
    solutions: str | None
    triples: str | None
    most: int
    seconds: float
    base: str | None


class NamedAnswer(Struct, tag=True):
    """The answer to a named question."""

    columns: tuple[str, ...]
    rows: list[tuple[str | None, ...]]
    notes: list[str]


class Result(Struct, tag=True):
    """The answer to a query in SPARQL."""

    media_type: str
    body: bytes


class Refused(Struct, tag=True):
    """Why there is no answer; ``kind`` is a key of :data:`_ERRORS`, or ``fault`` for a fault of the program."""

    why: str
    kind: str


Asked = Named | Written
Told = NamedAnswer | Result | Refused
_ERRORS: Final[Mapping[str, type[UsageError]]] = {
    "usage": UsageError,
    "forbidden": ForbiddenError,
    "unacceptable": UnacceptableError,
}
_T = TypeVar("_T", NamedAnswer, Result)


class Pool:
    """At most ``size`` processes, started when they are needed. ``seconds``: the time limit for each answer;
    ``questions``: a folder of ``.rq`` files that can be asked by name, as the shipped ones; ``nice``: by how much the
    processes give way to others; ``waiting``: how many callers may wait for a process, None for any number.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what is asked, and the limits
        self,
        store: Path,
        questions: Path,
        size: int,
        seconds: float,
        memory: int = MEMORY,
        nice: int = 0,
        waiting: int | None = None,
    ) -> None:
        self._opened = Opened(os.fsencode(store), os.fsencode(questions), memory, nice)
        self._seconds = seconds
        self._free = Semaphore(size)
        self._admitted = None if waiting is None else Semaphore(size + waiting)
        self._lock = Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._is_closed = False
        self._kept: OrderedDict[Named, Answer] = OrderedDict()

    def answer(
        self, name: str, params: Mapping[str, Sequence[str]], rows: int, *, of_page: bool = False, thing: str = ""
    ) -> Answer:
        """The answer to a named question; from the cache where it was asked before. ``of_page`` and ``thing``: as in
        :func:`exporter.ask.questions.ask`.
        """
        values = tuple((key, tuple(values)) for key, values in sorted(params.items()))
        asked = Named(name, values, rows, self._seconds, of_page, thing)
        with self._lock:
            if asked in self._kept:
                self._kept.move_to_end(asked)
                return self._kept[asked]
        named_answer = self._told(asked, NamedAnswer)
        found = Answer(named_answer.columns, named_answer.rows, named_answer.notes)
        if len(named_answer.rows) <= _MOST_ROWS_KEPT:
            with self._lock:
                self._kept[asked] = found
                if len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
        return found

    def result(
        self, query: str, solutions: str | None, triples: str | None, most: int, base: str | None = None
    ) -> Result:
        """The answer to a query in one of the media types. Raises BusyError where too many others wait."""
        return self._told(Written(query, solutions, triples, most, self._seconds, base), Result)

    def close(self) -> None:
        """Ends the processes; callers that wait for an answer get an error."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:
                worker.kill()
        for worker in idle:
            worker.end()

    def _told(self, asked: Asked, kind: type[_T]) -> _T:
        with self._admission(), self._one() as worker:
            told = worker.asked(asked)
        if isinstance(told, Refused):
            if told.kind in _ERRORS:
                raise _ERRORS[told.kind](told.why)
            raise ExporterError(f"a fault of the program: {told.why}")
        assert isinstance(told, kind), "an answer is of the kind of its question"
        return told

    @contextmanager
    def _admission(self) -> Iterator[None]:
        """The right to wait for a process. Without it, callers that wait would take all threads of a server."""
        if self._admitted is None:
            yield
            return
        if not self._admitted.acquire(blocking=False):
            raise BusyError("Too many questions are asked at once. Try again in some seconds.")
        try:
            yield
        finally:
            self._admitted.release()

    @contextmanager
    def _one(self) -> Iterator[_Worker]:
        """A process for one question; it goes back to the pool afterwards if it still runs."""
        if not self._free.acquire(timeout=self._seconds):
            raise BusyError(
                f"Too many questions are asked at once; none was answered for {self._seconds:g} s. Try later."
            )
        try:
            with self._lock:
                worker = self._idle.pop() if self._idle else _Worker(self._opened)
                self._busy.add(worker)
            try:
                yield worker
            finally:
                with self._lock:
                    self._busy.discard(worker)
                    is_kept = worker.is_ready and not self._is_closed
                    if is_kept:
                        self._idle.append(worker)
                if not is_kept:
                    worker.end()
        finally:
            self._free.release()


class _Worker:
    """One process. ``is_ready``: it can take a question."""

    def __init__(self, opened: Opened) -> None:
        self._memory = opened.memory
        self._stack = ExitStack()
        self._process = self._stack.enter_context(started("exporter.ask.pooled"))
        self.is_ready = True
        with suppress(BrokenPipeError):
            send(self._stdin, msgspec.msgpack.encode(opened))

    def asked(self, asked: Asked) -> Told:
        """The process's reply. Raises UsageError where the process ended, or had to be ended, before it replied."""
        self.is_ready = False
        clock = Timer(asked.seconds, self._process.kill)
        clock.daemon = True
        clock.start()
        body = None
        try:
            with suppress(BrokenPipeError):
                send(self._stdin, msgspec.msgpack.encode(asked))
                body = receive(self._stdout)
        finally:
            is_over = clock.finished.is_set()
            clock.cancel()
        if body is None:
            raise self._why_not(asked, is_over=is_over)
        self.is_ready = not is_over
        told: Told = msgspec.msgpack.decode(body, type=Told)
        return told

    def kill(self) -> None:
        """Ends the process, even while another thread waits for its reply."""
        self._process.kill()

    def end(self) -> None:
        """Ends the process and frees its resources."""
        with suppress(BrokenPipeError):
            self._stack.close()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _why_not(self, asked: Asked, *, is_over: bool) -> UsageError:
        ask_for_less = "ask for less (LIMIT, a FILTER, a shorter time)"
        if is_over:
            return TooLongError(f"There is no answer after {asked.seconds:g} s; {ask_for_less}.")
        most = f"{self._memory / (1 << 30):g} GiB of memory"
        return UsageError(f"There is no answer: it takes more than {most}, or is nested too deep; {ask_for_less}.")
