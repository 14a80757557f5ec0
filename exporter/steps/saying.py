"""Validate nodes and write them as text in each requested syntax."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from exporter.errors import UsageError
from exporter.graph.shapes.on_nodes import Checks
from exporter.graph.shapes.results import ALLOWED
from exporter.graph.terms import Node
from exporter.messages import REFUSED, RESULT, Message
from exporter.steps.tallies import Tally
from exporter.steps.texts import graph_in, writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.graph.shapes.results import Result
    from exporter.steps.job import Job


@lru_cache(maxsize=4)
def checks(folders: tuple[str, ...]) -> Checks:
    """The checks of the shipped shapes and of those in the folders, loaded once by each process.

    Raises UsageError if a shape cannot be compiled, or needs more than the surroundings of one object.
    """
    loaded = Checks.load([Path(folder) for folder in folders])
    if loaded.needs_graph:
        raise UsageError(
            f"{loaded.needs_graph[0]}. An export validates only single nodes and the surroundings of objects "
            "(docs/shapes.md); use this shape with exporter validate --shapes, which reads the whole graph"
        )
    return loaded


def thing(to: str, key: str) -> str:
    """The key of messages about a refused thing."""
    return f"{to}\0{key}"


class Saying:
    """Validates, writes and counts the nodes of one partition. ``is_asked``: whether nodes are needed, to be written or
    validated. ``output``: syntax -> name of the output.
    """

    def __init__(self, job: Job, output: Callable[[str], str] = graph_in) -> None:
        self.tally = Tally()
        self._checks = checks(job.shapes) if job.validate else None
        self._base = job.base
        self._in_order = job.in_order
        self.is_asked = job.graph or job.validate
        names = job.syntaxes if job.graph else ()
        writers = [(output(name), writer(name, job.base, job.load)) for name in names]
        self._writers = [(to, one.render, f"\n{one.between}") for to, one in writers]

    def of_thing(self, to: str, key: str, nodes: Iterable[Node]) -> Iterator[Message]:
        """The nodes of a thing. If the shapes refuse one, the queries that mention the thing will be quarantined."""
        every = list(nodes) if self.is_asked else []
        yield from self._refusal(to, key, every)
        yield from self.texts(every)

    def _refusal(self, to: str, key: str, nodes: list[Node]) -> Iterator[Message]:
        results = self.checked(nodes)
        reason = refusal(results)
        if reason is not None:
            self.tally.count("refused")
            yield Message(REFUSED, thing(to, key), b"", reason.encode())
        yield from self.results(results)

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
        checked = [*self._refusal(to, key, list(whole.values()))]
        self._count(len(whole))
        return checked, list(self.more(stay)), list(self.more(passing))

    def checked(self, nodes: list[Node]) -> list[Result]:
        """The results of validating the nodes; empty without validation."""
        if self._checks is None:
            return []
        check, base = self._checks.check, self._base
        found: list[Result] = []
        for node in nodes:
            found += check(node, base)
        return found

    def results(self, results: list[Result]) -> Iterator[Message]:
        """The results as messages for the validation report."""
        for result in results:
            self.tally.result(result.severity, result.shape)
            yield Message(RESULT, "", b"", msgspec.json.encode(result))

    def rendered(self, nodes: list[Node]) -> list[str]:
        """The nodes as one text in each syntax."""
        return [between.join(map(render, nodes)) for _, render, between in self._writers]

    def texts(self, nodes: list[Node]) -> Iterator[Message]:
        """The nodes in each syntax: one text for each node if they are sorted later, otherwise one for all."""
        if not self._in_order:
            yield from self.joined(self.rendered(nodes), len(nodes))
            return
        self._count(len(nodes))
        for to, render, _ in self._writers:
            for node in nodes:
                yield Message(to, "", node.iri.encode(), render(node).encode())

    def more(self, nodes: list[Node]) -> Iterator[Message]:
        """Nodes as texts without counting them, because they add to nodes that are counted already."""
        if not nodes:
            return
        for (to, _, _), text in zip(self._writers, self.rendered(nodes), strict=True):
            yield Message(to, "", b"", text.encode())

    def joined(self, texts: list[str], nodes: int) -> Iterator[Message]:
        """Texts from :meth:`rendered`, counted as ``nodes`` nodes."""
        self._count(nodes)
        if nodes:
            for (to, _, _), text in zip(self._writers, texts, strict=True):
                yield Message(to, "", b"", text.encode())

    def _count(self, nodes: int) -> None:
        self.tally.count("nodes", nodes)
        if self._checks is not None:
            self.tally.count("checked", nodes)


def refusal(results: list[Result]) -> str | None:
    """Why nodes must not be written; None if they may, with or without warnings."""
    return min((f"shape {one.shape}: {one.message}" for one in results if one.severity not in ALLOWED), default=None)
