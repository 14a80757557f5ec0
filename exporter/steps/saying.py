"""Nodes on their way out: validated, and as text in each syntax that is asked for."""

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
    """The checks of the shipped shapes and of those in the folders, loaded once by a process.

    Raises UsageError where a shape cannot be compiled, or looks further than the surroundings of one object.
    """
    loaded = Checks.load([Path(folder) for folder in folders])
    if loaded.needs_graph:
        raise UsageError(
            f"{loaded.needs_graph[0]}. An export validates each node and each object's surroundings (docs/shapes.md); "
            "keep this shape for exporter validate --shapes, which has the whole graph"
        )
    return loaded


def thing(to: str, key: str) -> str:
    """The key under which a thing is refused."""
    return f"{to}\0{key}"


class Saying:
    """Says the nodes of things and queries for one partition, and counts them. ``is_asked``: whether anybody wants
    nodes, to write or to validate them; ``output``: which output they are in a syntax.
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
        """The nodes of a thing; where the shapes refuse one, those who mention the thing are to be held back."""
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
        """The same in parts: what the shapes say of the nodes, whose parts these are; the texts of what stays, and of
        what may pass.
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
        """What the shapes say of the nodes."""
        if self._checks is None:
            return []
        check, base = self._checks.check, self._base
        found: list[Result] = []
        for node in nodes:
            found += check(node, base)
        return found

    def results(self, results: list[Result]) -> Iterator[Message]:
        """The results, for the report."""
        for result in results:
            self.tally.result(result.severity, result.shape)
            yield Message(RESULT, "", b"", msgspec.json.encode(result))

    def rendered(self, nodes: list[Node]) -> list[str]:
        """The nodes as one text in each syntax."""
        return [between.join(map(render, nodes)) for _, render, between in self._writers]

    def texts(self, nodes: list[Node]) -> Iterator[Message]:
        """The nodes in each syntax: each by itself where they are put in order later, else as one text."""
        if not self._in_order:
            yield from self.joined(self.rendered(nodes), len(nodes))
            return
        self._count(len(nodes))
        for to, render, _ in self._writers:
            for node in nodes:
                yield Message(to, "", node.iri.encode(), render(node).encode())

    def more(self, nodes: list[Node]) -> Iterator[Message]:
        """Nodes as texts, without counting them: more of what was said before, or parts of what is counted."""
        if not nodes:
            return
        for (to, _, _), text in zip(self._writers, self.rendered(nodes), strict=True):
            yield Message(to, "", b"", text.encode())

    def joined(self, texts: list[str], nodes: int) -> Iterator[Message]:
        """So many nodes as :meth:`rendered` made them."""
        self._count(nodes)
        if nodes:
            for (to, _, _), text in zip(self._writers, texts, strict=True):
                yield Message(to, "", b"", text.encode())

    def _count(self, nodes: int) -> None:
        self.tally.count("nodes", nodes)
        if self._checks is not None:
            self.tally.count("checked", nodes)


def refusal(results: list[Result]) -> str | None:
    """Why nodes must not go out; None where they may, with or without a warning."""
    return min((f"shape {one.shape}: {one.message}" for one in results if one.severity not in ALLOWED), default=None)
