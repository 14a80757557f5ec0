"""Answers questions that may come from anybody, each with limits: of time, rows and memory, and of what it can read.

The engine cannot be stopped once it has begun. So a process of its own answers (:mod:`exporter.ask.worker`), which is
ended when the time is over. Starting it takes some 70 ms. A server keeps a pool of these processes, each with the store
open for the next question, which then takes one millisecond. A process that had to be ended is replaced by a new one.
"""

from __future__ import annotations

import os
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Event, Lock, Semaphore, Thread, Timer
from typing import IO, Final, TypeVar

import msgspec
from msgspec import Struct

from exporter.ask.answers import Answer
from exporter.ask.parameters import ForbiddenError, ParameterValues, values_of
from exporter.errors import ExporterError, UsageError

MEMORY: Final = 4 << 30
"""Bytes of memory that an answer may take while it is computed."""
_MOST_CACHED: Final = 200
"""How many answers are cached; they stay true, since the store does not change."""
_MOST_ROWS_CACHED: Final = 1_000
_POLL_SECONDS: Final = 0.5
"""Seconds between two checks whether a client still waits for the answer."""
_LENGTH: Final = struct.Struct(">I")


class TooLongError(UsageError):
    """There is no answer within the time. ``fact``: that, without what a person who writes the question can do."""

    def __init__(self, fact: str, advice: str) -> None:
        super().__init__(f"{fact}; {advice}.")
        self.fact = f"{fact}."


class BusyError(ExporterError):
    """Too many questions at once."""


class UnacceptableError(UsageError):
    """The answer cannot be written in any of the accepted media types."""


# --- messages to and from a process: MessagePack, each after its length in four bytes


class OpenRequest(Struct, tag=True):
    """The first message to a process: the store of a graph and a folder of questions in addition to the shipped ones,
    or an export or Turtle and None; the limit of memory in bytes, and by how much it gives way to other processes
    (nice(2)).
    """

    graph: bytes
    questions: bytes | None
    memory: int
    nice: int


class QuestionRequest(Struct, tag=True, frozen=True):
    """A question by its name or its ``.rq`` file, with parameters; ``rows``: the most rows of its answer; ``of_page``:
    with the objects that names mean; ``things``: the IRIs of the objects that it is about, empty for what the
    parameters name.
    """

    name: bytes
    params: tuple[tuple[str, tuple[str, ...]], ...]
    rows: int
    seconds: float
    of_page: bool = False
    things: tuple[str, ...] = ()


class QueryRequest(Struct, tag=True, frozen=True):
    """A query in SPARQL. The media types for solutions and for triples, None where the client accepts none; ``most``:
    the most bytes of the answer; ``base``: the base of its relative IRIs, None for none.
    """

    query: str
    solutions: str | None
    triples: str | None
    most: int
    seconds: float
    base: str | None


class Ready(Struct, tag=True):
    """The graph is open; the time limit of the first question starts now."""


class QuestionAnswer(Struct, tag=True):
    """The answer to a named question."""

    answer: Answer


class QueryResult(Struct, tag=True):
    """The answer to a query in SPARQL."""

    media_type: str
    body: bytes


class Refusal(Struct, tag=True):
    """Why there is no answer; ``kind`` is a key of :data:`ERRORS`, or ``fault`` for a fault of the program, or
    ``damaged`` for a store that is.
    """

    why: str
    kind: str


Request = QuestionRequest | QueryRequest
Reply = QuestionAnswer | QueryResult | Refusal
ERRORS: Final[Mapping[str, type[UsageError]]] = {
    "forbidden": ForbiddenError,
    "unacceptable": UnacceptableError,
    "usage": UsageError,
}
"""Kinds of refusals; an error is of the first kind that fits."""
_T = TypeVar("_T", QuestionAnswer, QueryResult)


def send(stream: IO[bytes], message: Struct) -> None:
    """Writes a message."""
    body = msgspec.msgpack.encode(message)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Reads a message; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    body = stream.read(_LENGTH.unpack(head)[0])
    return body if len(body) == _LENGTH.unpack(head)[0] else None


def answer(  # noqa: PLR0913, PLR0917 - a question and its limits
    question: str,
    graph: Path,
    params: ParameterValues,
    seconds: float,
    rows: int,
    memory: int = MEMORY,
    *,
    of_page: bool = False,
) -> Answer:
    """The answer to one question, shipped or in a file, of an export, or of a folder or file of Turtle; ``seconds``
    count from when the graph is loaded. ``of_page``: as in :func:`exporter.ask.questions.ask`. Raises UsageError where
    the limits do not suffice, and where the question is wrong.
    """
    pool = Pool(graph, None, 1, seconds, memory)
    try:
        return pool.answer(question, {name: values_of(params, name) for name in params}, rows, of_page=of_page)
    except UnicodeEncodeError:
        raise UsageError("a --param is not UTF-8 text.") from None
    finally:
        pool.close()


class Pool:
    """At most ``size`` processes, started when they are needed. ``graph`` and ``questions``: a store and a folder of
    ``.rq`` files that can be asked by name, as the shipped ones; or a graph that is no store, and None. ``seconds``:
    the time limit for each answer; ``nice``: by how much the processes give way to others; ``waiting``: how many
    callers may wait for a process, None for any number.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what is asked, and the limits
        self,
        graph: Path,
        questions: Path | None,
        size: int,
        seconds: float,
        memory: int = MEMORY,
        nice: int = 0,
        waiting: int | None = None,
    ) -> None:
        folder = None if questions is None else os.fsencode(questions)
        self._open_request = OpenRequest(os.fsencode(graph), folder, memory, nice)
        self._seconds = seconds
        self._free = Semaphore(size)
        self._admitted = None if waiting is None else Semaphore(size + waiting)
        self._lock = Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._is_closed = False
        self._cache: OrderedDict[QuestionRequest, Answer] = OrderedDict()

    def answer(
        self,
        name: str,
        params: Mapping[str, Sequence[str]],
        rows: int,
        *,
        of_page: bool = False,
        things: tuple[str, ...] = (),
    ) -> Answer:
        """The answer to a named question; from the cache where it was asked before. ``of_page`` and ``things``: as in
        :func:`exporter.ask.questions.ask`.
        """
        values = tuple((key, tuple(values)) for key, values in params.items())
        request = QuestionRequest(os.fsencode(name), values, rows, self._seconds, of_page, things)
        with self._lock:
            if request in self._cache:
                self._cache.move_to_end(request)
                return self._cache[request]
        fresh_answer = self._reply(request, QuestionAnswer).answer
        if len(fresh_answer.rows) <= _MOST_ROWS_CACHED:
            with self._lock:
                self._cache[request] = fresh_answer
                if len(self._cache) > _MOST_CACHED:
                    self._cache.popitem(last=False)
        return fresh_answer

    def result(  # noqa: PLR0913, PLR0917 - a query, and what its answer may be
        self,
        query: str,
        solutions: str | None,
        triples: str | None,
        most: int,
        base: str | None = None,
        is_gone: Callable[[], bool] | None = None,
    ) -> QueryResult:
        """The answer to a query in one of the media types. Raises BusyError where too many others wait. ``is_gone``:
        whether the client is gone; then the process is ended, so that others can ask.
        """
        return self._reply(QueryRequest(query, solutions, triples, most, self._seconds, base), QueryResult, is_gone)

    def close(self) -> None:
        """Ends the processes; callers that wait for an answer get an error."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:
                worker.kill()
        for worker in idle:
            worker.end()

    def _reply(self, request: Request, kind: type[_T], is_gone: Callable[[], bool] | None = None) -> _T:
        with self._admission(), self._worker() as worker, _killed_when_gone(is_gone, worker):
            reply = worker.reply_to(request)
        if isinstance(reply, Refusal):
            if reply.kind in ERRORS:
                raise ERRORS[reply.kind](reply.why)
            raise ExporterError(reply.why if reply.kind == "damaged" else f"a fault of the program: {reply.why}")
        assert isinstance(reply, kind), "an answer is of the kind of its question"
        return reply

    @contextmanager
    def _admission(self) -> Iterator[None]:
        """The right to wait for a process. Without it, callers that wait would take all threads of a server."""
        if self._admitted is not None and not self._admitted.acquire(blocking=False):
            raise BusyError("Too many questions are asked at once. Try again in some seconds.")
        try:
            yield
        finally:
            if self._admitted is not None:
                self._admitted.release()

    @contextmanager
    def _worker(self) -> Iterator[_Worker]:
        """A process for one question; it goes back to the pool afterwards if it still runs."""
        if not self._free.acquire(timeout=self._seconds):
            raise BusyError(
                f"Too many questions are asked at once; none was answered for {self._seconds:g} s. Try later."
            )
        try:
            with self._lock:
                worker = self._idle.pop() if self._idle else _Worker(self._open_request)
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
    """One process that runs :mod:`exporter.ask.worker`. ``is_ready``: it can take a question. It imports modules from
    where this process does, and never from its working folder, which anybody might write to.
    """

    def __init__(self, request: OpenRequest) -> None:
        self._memory = request.memory
        self.is_ready, self._is_open = True, False
        path = [*filter(None, sys.path), str(Path(__file__).parents[2])]
        code = f"import sys; sys.path[:] = {path!r}; from exporter.ask.worker import main; main()"
        errors = None if os.environ.get("EXPORTER_DEBUG") else DEVNULL
        self._process = Popen([sys.executable, "-I", "-S", "-c", code], stdin=PIPE, stdout=PIPE, stderr=errors)  # noqa: S603 - the code is ours
        assert self._process.stdin, "it is a pipe"
        assert self._process.stdout, "it is a pipe"
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        with suppress(BrokenPipeError):
            send(self._stdin, request)

    def reply_to(self, request: Request) -> Reply:
        """The process's reply. Raises UsageError where the process ended, or had to be ended, before it replied."""
        self.is_ready = False
        clock = Timer(request.seconds, self._process.kill)
        clock.daemon = True
        reply: Ready | Reply | None = None
        try:
            if self._is_open:
                clock.start()
            with suppress(BrokenPipeError):
                send(self._stdin, request)
                reply = self._received()
                if isinstance(reply, Ready):
                    self._is_open = True
                    clock.start()
                    reply = self._received()
        finally:
            is_over = clock.finished.is_set()
            clock.cancel()
        if reply is None:
            raise self._no_reply_error(request, is_over=is_over)
        assert not isinstance(reply, Ready), "the graph is opened once"
        self.is_ready = not is_over
        return reply

    def _received(self) -> Ready | Reply | None:
        """A message of the process; None where it ended."""
        body = receive(self._stdout)
        return None if body is None else msgspec.msgpack.decode(body, type=Ready | Reply)

    def kill(self) -> None:
        """Ends the process, even while another thread waits for its reply."""
        self._process.kill()

    def end(self) -> None:
        """Ends the process and frees its resources."""
        self._process.kill()
        with suppress(BrokenPipeError), self._process:
            pass

    def _no_reply_error(self, request: Request, *, is_over: bool) -> UsageError:
        is_shipped = isinstance(request, QuestionRequest) and not request.name.endswith(b".rq")
        of_question, of_query = "one object, or a shorter time", "less (LIMIT, a FILTER, a shorter time)"
        ask_for_less = f"ask for {of_question if is_shipped else of_query}"
        if is_over:
            return TooLongError(f"There is no answer after {request.seconds:g} s", ask_for_less)
        most = f"{self._memory / (1 << 30):g} GiB of memory"
        return UsageError(f"There is no answer: it takes more than {most}, or is nested too deep; {ask_for_less}.")


@contextmanager
def _killed_when_gone(is_gone: Callable[[], bool] | None, worker: _Worker) -> Iterator[None]:
    """While the context is open, the process is ended as soon as ``is_gone()`` is true."""
    if is_gone is None:
        yield
        return
    is_over, was_ended = Event(), Event()

    def watch() -> None:
        while not is_gone():
            if is_over.wait(_POLL_SECONDS):
                return
        was_ended.set()
        worker.kill()

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()  # before the process takes the next question
        if was_ended.is_set():
            worker.is_ready = False
