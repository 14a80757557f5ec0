"""Answers questions, in a process of its own that can be ended at any time and cannot reach anything else.

:mod:`exporter.ask.pool` starts it and exchanges messages with it. Once the graph is open, the process opens only the
files of its store and no connections, and takes little more memory than the graph does.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

import msgspec
from pyoxigraph import QueryResultsFormat, QueryTriples, RdfFormat, Store

from exporter.ask import stores
from exporter.ask.lookups import Lookups
from exporter.ask.parameters import refuse
from exporter.ask.pool import (
    ERRORS,
    OpenRequest,
    QueryRequest,
    QueryResult,
    QuestionAnswer,
    QuestionRequest,
    Ready,
    Refusal,
    Reply,
    Request,
    UnacceptableError,
    receive,
    send,
)
from exporter.ask.questions import Graph, Question, ask, check_all, explained, find, in_words, questions
from exporter.ask.tag_stops import may_read_sql, reader_of_sql, reads_sql
from exporter.errors import ExporterError, UsageError
from exporter.system import faults

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_FILES: Final = 1_000
"""How many files of a store may be open where the system does not say how many are."""
_MARGIN: Final = 10
"""Seconds of CPU beyond the time limit after which the process ends by itself, if its parent did not end it."""
_OF_TRIPLES: Final = (
    "The answer is triples: accept text/turtle, application/n-triples, application/rdf+xml or application/ld+json."
)
_OF_TABLES: Final = (
    "The answer is a table: accept application/sparql-results+json, application/sparql-results+xml, text/csv or "
    "text/tab-separated-values."
)


class _Limited(BytesIO):
    """Bytes in memory, at most ``most``."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, more: Buffer) -> int:
        self._left -= len(memoryview(more))
        if self._left < 0:
            raise _TooLargeError
        return super().write(more)


class _TooLargeError(Exception):
    pass


def main() -> None:
    """Answers the messages on standard input until its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal: the parent ends this one
    _end_with_parent()
    first = receive(sys.stdin.buffer)
    if first is None:
        return
    answerer = _Answerer(msgspec.msgpack.decode(first, type=OpenRequest))
    while (message := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, _reply(answerer, msgspec.msgpack.decode(message, type=Request)))


def _end_with_parent() -> None:
    """From here on this process ends at once, also while it computes an answer, when the one that started it has ended
    and the system has closed the pipe at standard input. Call it before :func:`confine`, since it starts a thread.
    """
    Thread(target=_end_at_hang_up, daemon=True).start()


def _end_at_hang_up() -> None:
    pipe = select.poll()
    pipe.register(sys.stdin.fileno(), 0)  # without messages, which the main thread reads: a hang-up is always reported
    pipe.poll()
    os._exit(1)


def _reply(answerer: _Answerer, request: Request) -> Reply:
    try:
        if isinstance(request, QuestionRequest):
            return answerer.answer_question(request)
        return answerer.answer_query(request)
    except UsageError as error:
        kind = next(kind for kind, error_type in ERRORS.items() if isinstance(error, error_type))
        return _refusal(str(error), kind)
    except PermissionError as error:
        return _refusal(faults.words(error, "there is no answer") or "", "usage")
    except MemoryError:
        os.abort()  # as the engine does where it gets no memory: the parent process reports it
    except Exception as error:  # noqa: BLE001 - the parent process reports the fault
        if stores.is_damage(error) or str(error) == stores.DAMAGED:
            answerer.set_aside()
            return Refusal(stores.DAMAGED, "damaged")
        return _refusal(f"{type(error).__name__}: {error}", "fault")


def _refusal(text: str, kind: str) -> Refusal:
    """A refusal that can be sent: names of files may have bytes that are not UTF-8."""
    return Refusal(text.encode("utf-8", "backslashreplace").decode("utf-8"), kind)


class _Answerer:
    """The graph, opened when the first question has turned out to be allowed, and the known questions by name."""

    def __init__(self, request: OpenRequest) -> None:
        self._open_request, self._path = request, Path(os.fsdecode(request.graph))
        self._graph: Graph | None = None
        self._store: Store | None = None
        self._known: dict[bytes, Question] = {}
        if request.questions is not None:
            all_questions = [*questions(), *questions(Path(os.fsdecode(request.questions)))]
            self._known = {os.fsencode(question.name): question for question in all_questions}

    def answer_question(self, request: QuestionRequest) -> QuestionAnswer:
        """The answer to a named question."""
        question = self._question(request.name)
        params = {name: list(values) for name, values in request.params}
        if not request.things:
            check_all(question, params)
        store = self._opened_store(request)
        if self._graph is not None:
            answer = self._graph.answer(question, params, request.rows, of_page=request.of_page)
        else:
            answer = ask(store, question, params, request.rows, of_page=request.of_page, things=request.things)
            if not request.of_page:  # a page has words of its own
                answer = explained(store, question, params, answer)
        return QuestionAnswer(answer)

    def answer_query(self, request: QueryRequest) -> QueryResult:
        """The answer to a query in SPARQL."""
        refuse(request.query, "The query")
        return _result(self._opened_store(request), request)

    def set_aside(self) -> None:
        """The store is damaged: the next server, and the next question, are not to use it."""
        on_disk = self._graph.on_disk if self._graph else None
        store = on_disk if self._open_request.questions is None else self._path
        if store is not None:
            stores.set_aside(store)

    def _question(self, name: bytes) -> Question:
        if name not in self._known:
            self._known[name] = find(os.fsdecode(name))
        return self._known[name]

    def _opened_store(self, request: Request) -> Store:
        """The store; the first time it is opened, and from then on this process is confined."""
        if self._store is None:
            is_store = self._open_request.questions is not None
            if is_store:
                self._store = _opened(self._path)
            else:
                self._graph = Graph(self._path)
                self._store = self._graph.store
            needs_sql = is_store or (isinstance(request, QuestionRequest) and reads_sql(dict(request.params)))
            if needs_sql and may_read_sql(Lookups(self._store)):
                reader_of_sql()  # now, or for a later question: it cannot be imported afterwards
            confine(self._open_request.memory, self._path if self._graph is None else self._graph.on_disk)
            os.nice(self._open_request.nice)
            send(sys.stdout.buffer, Ready())
        limit_time(request.seconds)
        return self._store


def _opened(path: Path) -> Store:
    """A store on disk. Raises ExporterError where it is damaged, or gone since it was found to be."""
    try:
        return Store.read_only(str(path))
    except (FileNotFoundError, RuntimeError) as error:
        raise ExporterError(stores.DAMAGED) from error


def _result(store: Store, request: QueryRequest) -> QueryResult:
    with in_words("The query"):
        result = store.query(request.query, base_iri=request.base)
        media_type = request.triples if isinstance(result, QueryTriples) else request.solutions
        if media_type is None:
            raise UnacceptableError(_OF_TRIPLES if isinstance(result, QueryTriples) else _OF_TABLES)
        output = _Limited(request.most)
        try:
            if isinstance(result, QueryTriples):
                result.serialize(output, RdfFormat.from_media_type(media_type))
            else:
                result.serialize(output, QueryResultsFormat.from_media_type(media_type))
        except _TooLargeError:
            too_large = f"The answer is larger than {request.most >> 20} MiB"
            raise UsageError(f"{too_large}; ask for less (LIMIT, a FILTER), or in parts.") from None
    return QueryResult(media_type, output.getvalue())


def confine(memory: int, store: Path | None = None) -> None:
    """From here on this process opens no files, and takes no more than ``memory`` bytes. A store on disk opens its
    files when they are first read, and hangs where it cannot: so as many files as it has may be opened. Memory is
    limited where the system reports how much is used (Linux).
    """
    limits = {resource.RLIMIT_NOFILE: _files(store), resource.RLIMIT_CORE: 0}
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        limits[resource.RLIMIT_AS] = int(pages) * resource.getpagesize() + memory
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _files(store: Path | None) -> int:
    """How many files may be open: those that are open now, and those of a store, if there is one. Standard input is
    open, so a limit of 1 allows no other file. With a limit of 0, poll(2) on the pipe would fail.
    """
    if store is None:
        return 1
    with suppress(OSError):
        return 1 + max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + sum(1 for _ in store.glob("*.sst"))
    return _MOST_FILES


def limit_time(seconds: float) -> None:
    """Ends this process when it has worked for much longer than ``seconds`` from now and the parent did not end it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + _MARGIN
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
