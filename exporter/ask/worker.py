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

from exporter.ask.graph import Graph
from exporter.ask.parameters import ForbiddenError, refuse
from exporter.ask.pool import (
    Asked,
    Named,
    NamedAnswer,
    Opened,
    Ready,
    Refused,
    Reply,
    Result,
    UnacceptableError,
    Written,
    receive,
    send,
)
from exporter.ask.questions import Question, ask, check_all, find, in_words, questions
from exporter.ask.tag_stops import may_read_sql, reader_of_sql, reads_sql
from exporter.errors import UsageError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_MOST_FILES: Final = 1_000
"""How many files of a store may be open where the system does not say how many are."""
_MARGIN: Final = 10
"""Seconds of CPU beyond the time limit after which the process ends by itself, if nobody ended it."""


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
    answerer = _Answerer(msgspec.msgpack.decode(first, type=Opened))
    while (message := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, _reply(answerer, msgspec.msgpack.decode(message, type=Asked)))


def _end_with_parent() -> None:
    """From here on this process ends at once, also while it computes an answer, when the one that started it has ended
    and the system has closed the pipe at standard input. Call it before :func:`confine`, since it starts a thread.
    """
    Thread(target=_end_at_hang_up, daemon=True).start()


def _end_at_hang_up() -> None:
    pipe = select.poll()
    pipe.register(sys.stdin.fileno(), 0)  # no messages, which others read: the end of the pipe is always told
    pipe.poll()
    os._exit(1)


def _reply(answerer: _Answerer, asked: Asked) -> Reply:
    try:
        return answerer.named(asked) if isinstance(asked, Named) else answerer.written(asked)
    except ForbiddenError as error:
        return Refused(str(error), "forbidden")
    except UnacceptableError as error:
        return Refused(str(error), "unacceptable")
    except UsageError as error:
        return Refused(str(error), "usage")
    except MemoryError:
        os.abort()  # as the engine does where it gets none: who started this process says so
    except Exception as error:  # noqa: BLE001 - a fault is told in words, by who started this process
        return Refused(f"{type(error).__name__}: {error}", "fault")


class _Answerer:
    """The graph, opened when the first question has turned out to be allowed, and the known questions by name."""

    def __init__(self, opened: Opened) -> None:
        self._opened, self._path = opened, Path(os.fsdecode(opened.graph))
        self._graph: Graph | None = None
        self._store: Store | None = None
        own = [] if opened.questions is None else [*questions(), *questions(Path(os.fsdecode(opened.questions)))]
        self._known = {os.fsencode(question.name): question for question in own}

    def named(self, asked: Named) -> NamedAnswer:
        """The answer to a named question."""
        question = self._question(asked.name)
        params = {name: list(values) for name, values in asked.params}
        if not asked.thing:
            check_all(question, params)
        store = self._ready(asked)
        if self._graph is not None:
            found = self._graph.answer(question, params, asked.rows, of_page=asked.of_page)
        else:
            found = ask(store, question, params, asked.rows, of_page=asked.of_page, thing=asked.thing)
        return NamedAnswer(found.columns, found.rows, found.notes)

    def written(self, asked: Written) -> Result:
        """The answer to a query in SPARQL."""
        refuse(asked.query, "The query")
        return _result(self._ready(asked), asked)

    def _question(self, name: bytes) -> Question:
        if name not in self._known:
            self._known[name] = find(os.fsdecode(name))
        return self._known[name]

    def _ready(self, asked: Asked) -> Store:
        """The store; the first time it is opened, and from then on this process is confined."""
        if self._store is None:
            if self._opened.is_store:
                self._store = Store.read_only(str(self._path))
            else:
                self._graph = Graph(self._path)
                self._store = self._graph.store
            is_asked = isinstance(asked, Named) and reads_sql({name: list(values) for name, values in asked.params})
            if (is_asked or self._opened.is_store) and may_read_sql(self._store):
                reader_of_sql()  # now, or for a later question: it cannot be imported afterwards
            confine(self._opened.memory, self._path if self._graph is None else self._graph.on_disk)
            os.nice(self._opened.nice)
            send(sys.stdout.buffer, Ready())
        limit_time(asked.seconds)
        return self._store


def _result(store: Store, asked: Written) -> Result:
    with in_words("The query"):
        result = store.query(asked.query, base_iri=asked.base)
        media_type = asked.triples if isinstance(result, QueryTriples) else asked.solutions
        if media_type is None:
            raise UnacceptableError(_no_form(is_triples=isinstance(result, QueryTriples)))
        into = _Limited(asked.most)
        try:
            if isinstance(result, QueryTriples):
                result.serialize(into, RdfFormat.from_media_type(media_type))
            else:
                result.serialize(into, QueryResultsFormat.from_media_type(media_type))
        except _TooLargeError:
            more = f"The answer is larger than {asked.most >> 20} MiB"
            raise UsageError(f"{more}; ask for less (LIMIT, a FILTER), or in parts.") from None
    return Result(media_type, into.getvalue())


def _no_form(*, is_triples: bool) -> str:
    if is_triples:
        kinds = "text/turtle, application/n-triples, application/rdf+xml or application/ld+json"
        return f"The answer is triples: accept {kinds}."
    kinds = "application/sparql-results+json, application/sparql-results+xml, text/csv or text/tab-separated-values"
    return f"The answer is a table: accept {kinds}."


def confine(memory: int, store: Path | None = None) -> None:
    """From here on this process opens no files, and takes no more than ``memory`` bytes. A store on disk opens its
    files when they are first read, and hangs where it cannot: so as many files as it has may be opened. Memory is
    limited where the system reports how much is used (Linux).
    """
    limits = {resource.RLIMIT_NOFILE: _files(store), resource.RLIMIT_CORE: 0}
    with suppress(OSError):
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        limits[resource.RLIMIT_AS] = int(pages) * resource.getpagesize() + memory
    for what, most in limits.items():
        hard = resource.getrlimit(what)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (allowed, allowed))


def _files(store: Path | None) -> int:
    """How many files may be open: those that are open now, and those of a store, if there is one. Standard input is
    open, so one means no other; poll(2) fails where there may be none, and nobody would watch the pipe.
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
