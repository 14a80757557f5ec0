"""Join the texts of an output into pieces, from which files are made; each file is readable by itself."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from exporter.graph.load import load_iri
from exporter.graph.writers import FORMATS, Writer, writer_of
from exporter.messages import DAILY, EVENTS, FACTS, GRAPH, QUARANTINE, Message, is_text
from exporter.queries.tables import FACTS as TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job

PIECE: Final = 1 << 18
"""Approximate bytes of a piece: few messages are needed, and a dozen pieces fit in memory."""
_PLAIN: Final = Writer("", lambda _: "")


def graph_in(syntax: str) -> str:
    """The name of the output with the graph in a syntax."""
    return f"{GRAPH}-{FORMATS[syntax]}"


def daily_in(syntax: str) -> str:
    """The name of the output with reads by day in a syntax."""
    return f"{DAILY}-{FORMATS[syntax]}"


def facts_of(table: str) -> str:
    """The name of the output with a table of facts as JSON."""
    return f"{FACTS}-{table}"


def texts_of(job: Job) -> list[str]:
    """The names of the outputs of a job that are texts."""
    return [EVENTS, QUARANTINE, *map(graph_in, job.syntaxes), *map(facts_of, TABLES)]


@lru_cache(maxsize=16)
def writer(syntax: str, base: str, load: int) -> Writer:
    """The writer of a syntax. ``load``: digest of the load, which names its graph in N-Quads."""
    return writer_of(syntax, base, load_iri(load, base) if syntax == "nquads" else None)


def pieces(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """Join the texts of each output into larger pieces, in order. Messages that are not texts pass through. The
    messages of one output, one after the other, form a document of its syntax.
    """
    writers = {of(syntax): writer(syntax, job.base, job.load) for syntax in job.syntaxes for of in (graph_in, daily_in)}
    files: dict[str, _File] = {}
    for message in messages:
        if not is_text(message.to):
            yield message
            continue
        file = files.get(message.to)
        if file is None:
            file = files[message.to] = _File(message.to, writers.get(message.to, _PLAIN))
        file.lines.append(message.body)
        file.size += len(message.body)
        if file.size >= PIECE:
            yield file.piece()
    for file in files.values():
        yield from file.last()


class _File:
    """The texts of one output that are not yet sent."""

    def __init__(self, to: str, writer: Writer) -> None:
        self.to = to
        self.lines: list[bytes] = []
        self.size = 0
        self._between = f"\n{writer.between}".encode()
        self._before = f"{writer.header}\n".encode() if writer.header else b""
        self._opening = writer.opening.encode()
        self._next = writer.between.encode()
        self._after = writer.footer.encode()

    def piece(self) -> Message:
        body = self._before + self._opening + self._between.join(self.lines)
        self.lines, self.size, self._before = [], 0, self._next
        return Message(self.to, "", b"", body)

    def last(self) -> Iterator[Message]:
        if self.lines:
            yield self.piece()
        if self._after:
            yield Message(self.to, "", b"", self._after)
