"""Answers a question that may come from anybody, with limits: of time, rows and memory, and of what it can read.

The engine cannot be stopped once it has begun. So a process of its own answers (:mod:`exporter.ask.worker`),
which is ended when the time is over. Starting it takes some 70 ms.
"""

from __future__ import annotations

import os
import struct
import sys
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from exporter.ask.answers import Answer
from exporter.ask.parameters import values_of
from exporter.errors import ExporterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from exporter.ask.parameters import Given

MEMORY: Final = 4 << 30
"""Bytes of memory that an answer may take while it is computed."""
_LENGTH: Final = struct.Struct(">I")


def send(stream: IO[bytes], body: bytes) -> None:
    """Writes a message after its length in four bytes."""
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """Reads a message; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    body = stream.read(_LENGTH.unpack(head)[0])
    return body if len(body) == _LENGTH.unpack(head)[0] else None


# --- messages: the process gets an Asked as MessagePack, and writes lines of JSON: Begun, Head, rows as arrays, End; or
# --- Failed, in any place


class Asked(Struct):
    """A question: its name or file, the folder or file of the graph, its parameters, and the limits in seconds, rows
    and bytes of memory.
    """

    question: bytes
    graph: bytes
    params: dict[str, list[str]]
    seconds: float
    rows: int
    memory: int


class Begun(Struct, tag=True):
    """The graph is loaded; the time limit starts now."""


class Head(Struct, tag=True):
    """The columns of the answer, and its notes."""

    columns: tuple[str, ...]
    notes: list[str]


class End(Struct, tag=True):
    """All rows have been written."""


class Failed(Struct, tag=True):
    """Why there is no answer. ``is_usage``: the question is wrong; otherwise it is a fault of the program."""

    why: str
    is_usage: bool


Told = Begun | Head | End | Failed

_told: Final = msgspec.json.Decoder(Told).decode
_row: Final = msgspec.json.Decoder(tuple[str | None, ...]).decode


def answer(  # noqa: PLR0913, PLR0917 - a question and its limits
    question: str,
    graph: Path,
    params: Given,
    seconds: float,
    rows: int,
    memory: int = MEMORY,
) -> Answer:
    """The answer of :func:`exporter.ask.questions.answer`, within the limits; ``seconds`` count from when the
    graph is loaded. Raises UsageError where the limits do not suffice, and where the question is wrong.
    """
    try:
        asked = Asked(
            os.fsencode(question),
            os.fsencode(graph),
            {name: values_of(params, name) for name in params},
            seconds,
            rows,
            memory,
        )
        request = msgspec.msgpack.encode(asked)
    except UnicodeEncodeError:
        raise UsageError("a --param is not UTF-8 text.") from None
    with started("exporter.ask.worker") as process:
        clock = Timer(seconds, process.kill)
        clock.daemon = True
        try:
            found = _heard(process, request, clock)
        finally:
            is_over = clock.finished.is_set()
            clock.cancel()
    if found is None:
        raise UsageError(_why(asked, is_over=is_over))
    return found


@contextmanager
def started(module: str) -> Iterator[Popen[bytes]]:
    """A process that runs ``main`` of a module, and is ended when the context closes. It imports modules from where
    this process does, and never from its working folder, which anybody might write to.
    """
    path = [*filter(None, sys.path), str(Path(__file__).parents[2])]
    code = f"import sys; sys.path[:] = {path!r}; from {module} import main; main()"
    errors = None if os.environ.get("EXPORTER_DEBUG") else DEVNULL
    with Popen([sys.executable, "-I", "-S", "-c", code], stdin=PIPE, stdout=PIPE, stderr=errors) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.kill()


def _heard(process: Popen[bytes], request: bytes, clock: Timer) -> Answer | None:
    """The answer; None where the process ended before it was complete."""
    assert process.stdin is not None
    assert process.stdout is not None
    send(process.stdin, request)  # the pipe stays open, so that the process sees when this one ends
    found = Answer((), [])
    for line in process.stdout:
        if line.startswith(b"["):
            found.rows.append(_row(line))
            continue
        told = _told(line)
        if isinstance(told, Begun):
            clock.start()
        elif isinstance(told, Head):
            found = Answer(told.columns, [], told.notes)
        elif isinstance(told, Failed):
            raise UsageError(told.why) if told.is_usage else ExporterError(f"a fault of the program: {told.why}")
        elif isinstance(told, End):
            return found
    return None


def _why(asked: Asked, *, is_over: bool) -> str:
    name, ask_for_less = os.fsdecode(asked.question), "ask for less (LIMIT, a FILTER)"
    if is_over:
        return f"{name} has no answer after {asked.seconds:g} s; {ask_for_less}, or give --timeout."
    most = f"{asked.memory / (1 << 30):g} GiB of memory"
    return f"{name} cannot be answered: it takes more than {most}, or is nested too deep; {ask_for_less}."
