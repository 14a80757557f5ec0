"""Nodes as validated text in each requested syntax, and texts as files; the catalog among them.

The catalog and the tags are two documents, made from the attributes of objects and the changes of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

import msgspec

from exporter.errors import UsageError
from exporter.graph.catalog import CatalogEntry, CatalogNote, catalog_nodes, documents, tag_nodes
from exporter.graph.iri import Iris
from exporter.graph.shapes.checks import Checks
from exporter.graph.shapes.on_graph import ALLOWED, Result
from exporter.graph.shapes.reading import digest_of
from exporter.graph.store import load_iri
from exporter.graph.terms import SYNTAXES, Node
from exporter.graph.writers import Writer, writer_of
from exporter.model.fact_tables import FACTS as TABLES
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, To, is_text
from exporter.pipeline.outcome import Counts

PIECE: Final = 1 << 18
"""Approximate bytes of a piece: few messages are needed, and a dozen pieces fit in memory."""
_PLAIN: Final = Writer(lambda _: "")


def graph_output(syntax: str) -> str:
    """The name of the output with the graph in a syntax."""
    return f"{To.GRAPH}-{SYNTAXES[syntax].ending}"


def daily_output(syntax: str) -> str:
    """The name of the output with reads by day in a syntax."""
    return f"{To.DAILY}-{SYNTAXES[syntax].ending}"


def facts_output(table: str) -> str:
    """The name of the output with a table of facts as JSON."""
    return f"{To.FACTS}-{table}"


def text_outputs(job: ExportJob) -> list[str]:
    """The names of the outputs of a job that are texts."""
    return [To.EVENTS, To.QUARANTINE, *map(graph_output, job.syntaxes), *map(facts_output, TABLES)]


@lru_cache(maxsize=16)
def writer(syntax: str, base: str, load: int) -> Writer:
    """The writer of a syntax. ``load``: digest of the load, which names its graph for a syntax that has it."""
    return writer_of(syntax, base, load_iri(load, base) if SYNTAXES[syntax].names_load else None)


def pieces(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Join the texts of each output into larger pieces, in order. Messages that are not texts pass through. The
    messages of one output, one after the other, form a document of its syntax.
    """
    writers = {
        output_of(syntax): writer(syntax, job.base, job.query_digest)
        for syntax in job.syntaxes
        for output_of in (graph_output, daily_output)
    }
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
        self.to, self._writer, self._is_first = to, writer, True
        self.lines: list[bytes] = []
        self.size = 0

    def piece(self) -> Message:
        body = self._writer.chunk(self.lines, is_first=self._is_first)
        self.lines, self.size, self._is_first = [], 0, False
        return Message(self.to, "", b"", body)

    def last(self) -> Iterator[Message]:
        if self.lines:
            yield self.piece()
        if self._writer.footer:
            yield Message(self.to, "", b"", self._writer.footer.encode())


def checks(folders: tuple[str, ...]) -> Checks:
    """The checks of the shipped shapes and of those in the folders, loaded once by each process; once more where files
    have changed, since a process can make several exports.

    Raises UsageError if a shape cannot be compiled, or needs more than the surroundings of one object.
    """
    paths = tuple(map(Path, folders))
    return _checks(paths, digest_of(paths))


@lru_cache(maxsize=4)
def _checks(folders: tuple[Path, ...], _: str) -> Checks:
    loaded = Checks.load(folders)
    if loaded.needs_graph:
        raise UsageError(
            f"{loaded.needs_graph[0]}. An export validates only single nodes and the surroundings of objects "
            "(docs/shapes.md); use this shape with exporter validate --shapes, which reads the whole graph"
        )
    return loaded


def needs_neighbourhoods(job: ExportJob) -> bool:
    """Whether the job has shapes that need the surroundings of objects (:mod:`exporter.pipeline.neighbourhood`)."""
    return job.validate and bool(checks(job.shapes).neighbourhood)


def refused_key(to: str, key: str) -> str:
    """The key of messages about a refused thing."""
    return f"{to}\0{key}"


class NodeWriter:
    """Validates, writes and counts the nodes of one partition. ``is_asked``: whether nodes are needed, to be written or
    validated. ``output``: syntax -> name of the output.
    """

    def __init__(self, job: ExportJob, output: Callable[[str], str] = graph_output) -> None:
        self.counts = Counts()
        self._checks = checks(job.shapes) if job.validate else None
        self._base = job.base
        self._own = job.account, job.base
        self._iris: dict[str, Iris] = {}
        self._in_order = job.in_order
        self.is_asked = job.graph or job.validate
        names = job.syntaxes if job.graph else ()
        writers = [(output(name), writer(name, job.base, job.query_digest)) for name in names]
        self._writers = [(to, of_syntax.render, f"\n{of_syntax.between}") for to, of_syntax in writers]

    def iris(self, account: str) -> Iris:
        """The IRIs of what queries of an account name."""
        known = self._iris.get(account)
        if known is None:
            known = self._iris[account] = Iris(account, *self._own)
        return known

    def of_thing(self, to: str, key: str, nodes: list[Node]) -> list[Message]:
        """The nodes of a thing. If the shapes refuse one, the queries that mention the thing will be quarantined."""
        written = nodes if self.is_asked else []
        return [*self._validated(to, key, written), *self.texts(written)]

    def _validated(self, to: str, key: str, nodes: list[Node]) -> list[Message]:
        """The results of validating the nodes of a thing, and why it is refused."""
        results = self.checked(nodes)
        if not results:
            return []
        messages, reason = self.results(results), refusal(results)
        if reason is not None:
            self.counts.numbers["refused"] += 1
            messages.append(Message(To.REFUSED, refused_key(to, key), b"", reason.encode()))
        return messages

    def of_day(
        self, to: str, key: str, stay: list[Node], passing: list[Node]
    ) -> tuple[list[Message], list[Message], list[Message]]:
        """The same for a day of an update: the results of validation for the whole nodes, the texts of statements that
        last, and the texts of statements that may change.
        """
        whole = {node.iri: node for node in stay}
        for node in passing:
            known = whole.get(node.iri)
            values = {**node.values, **known.values} if known else node.values
            whole[node.iri] = Node(node.of, node.iri, node.types, values)
        validated = self._validated(to, key, list(whole.values()))
        self._count(len(whole))
        return validated, self.more(stay), self.more(passing)

    def checked(self, nodes: list[Node]) -> list[Result]:
        """The results of validating the nodes; empty without validation."""
        if self._checks is None:
            return []
        return [result for node in nodes for result in self._checks.check(node, self._base)]

    def results(self, results: list[Result]) -> list[Message]:
        """The results as messages for the validation report."""
        for result in results:
            self.counts.result(result.severity, result.shape)
        return [Message(To.RESULT, "", b"", msgspec.json.encode(result)) for result in results]

    def rendered(self, nodes: list[Node]) -> list[str]:
        """The nodes as one text in each syntax."""
        return [between.join(map(render, nodes)) for _, render, between in self._writers]

    def texts(self, nodes: list[Node]) -> list[Message]:
        """The nodes in each syntax: one text for each node if they are sorted later, otherwise one for all."""
        if not self._in_order:
            return self.joined(self.rendered(nodes), len(nodes))
        self._count(len(nodes))
        return [
            Message(to, "", node.iri.encode(), render(node).encode())
            for to, render, _ in self._writers
            for node in nodes
        ]

    def more(self, nodes: list[Node]) -> list[Message]:
        """Nodes as texts without counting them, because they add to nodes that are counted already."""
        return self._as_messages(self.rendered(nodes)) if nodes else []

    def joined(self, texts: list[str], nodes: int) -> list[Message]:
        """Texts from :meth:`rendered`, counted as ``nodes`` nodes."""
        self._count(nodes)
        return self._as_messages(texts) if nodes else []

    def _as_messages(self, texts: list[str]) -> list[Message]:
        return [Message(to, "", b"", text.encode()) for (to, _, _), text in zip(self._writers, texts, strict=True)]

    def _count(self, nodes: int) -> None:
        self.counts.numbers["nodes"] += nodes
        if self._checks is not None:
            self.counts.numbers["checked"] += nodes


def refusal(results: list[Result]) -> str | None:
    """Why nodes must not be written; None if they may, with or without warnings."""
    return min(
        (f"shape {result.shape}: {result.message}" for result in results if result.severity not in ALLOWED),
        default=None,
    )


_read_entry: Final = msgspec.msgpack.Decoder(tuple[str, CatalogEntry | None, CatalogNote | None]).decode


def catalog_texts(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The two documents, for all accounts together."""
    entries: dict[str, list[CatalogEntry]] = {}
    notes: dict[str, list[CatalogNote]] = {}
    for message in messages:
        account, entry, note = _read_entry(message.body)
        if entry is not None:
            entries.setdefault(account, []).append(entry)
        if note is not None:
            notes.setdefault(account, []).append(note)
    catalog: list[Node] = []
    tags: list[Node] = []
    for account in sorted(job.first_starts):
        of_account = sorted(entries.get(account, ()), key=lambda entry: entry.key)
        iris = Iris(account, job.account, job.base)
        catalog += catalog_nodes(of_account, notes.get(account, ()), iris)
        tags += tag_nodes(of_account, notes.get(account, ()), iris)
    for name, text in documents(catalog, tags, job.base):
        yield Message(f"{To.CATALOG}-{name}", "", b"", text.removesuffix("\n").encode())
