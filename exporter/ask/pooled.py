"""Answers the questions of one :class:`exporter.ask.pool.Pool`, one after the other, in a process of its own that
can be ended at any time. Once the store is open, the process opens only the store's own files, and no connections.
"""

from __future__ import annotations

import os
import signal
import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from pyoxigraph import QueryResultsFormat, QueryTriples, RdfFormat, Store

from exporter.ask.limited import receive, send
from exporter.ask.parameters import ForbiddenError, refuse
from exporter.ask.pool import (
    Asked,
    Named,
    NamedAnswer,
    Opened,
    Refused,
    Result,
    Told,
    UnacceptableError,
    Written,
)
from exporter.ask.questions import Question, ask, check_all, in_words, questions
from exporter.ask.worker import confine, end_with_parent, limit_time
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Buffer


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
    end_with_parent()
    first = receive(sys.stdin.buffer)
    if first is None:
        return
    opened = msgspec.msgpack.decode(first, type=Opened)
    known = {question.name: question for question in (*questions(), *questions(Path(os.fsdecode(opened.questions))))}
    folder = Path(os.fsdecode(opened.store))
    store = Store.read_only(str(folder))
    confine(opened.memory, folder)
    os.nice(opened.nice)
    while (message := receive(sys.stdin.buffer)) is not None:
        asked = msgspec.msgpack.decode(message, type=Asked)
        limit_time(asked.seconds)
        send(sys.stdout.buffer, msgspec.msgpack.encode(_told(store, known, asked)))


def _told(store: Store, known: Mapping[str, Question], asked: Asked) -> Told:
    try:
        return _found(store, known[asked.name], asked) if isinstance(asked, Named) else _result(store, asked)
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


def _found(store: Store, question: Question, asked: Named) -> NamedAnswer:
    params = {name: list(values) for name, values in asked.params}
    if not asked.thing:
        check_all(question, params)
    answer = ask(store, question, params, asked.rows, of_page=asked.of_page, thing=asked.thing)
    return NamedAnswer(answer.columns, answer.rows, answer.notes)


def _result(store: Store, asked: Written) -> Result:
    refuse(asked.query, "The query")
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
