"""Cache the rendered nodes of statements that are run again and again.

This is a layer around functions that do not depend on it, and it does not change their results. The nodes of a
statement are rendered once as a template, with marks in place of the query id and of the states that it used. Each run
only fills in these values. A statement is cached if another run of it follows (queries of one statement are written one
after the other), its nodes are valid, and the template, filled in for the first run, gives exactly its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from msgspec import structs

from exporter.graph.nodes.queries import Links
from exporter.graph.nodes.versions import QueryContext
from exporter.graph.terms import Node
from exporter.model.answers import Answers, Dataset, ObjectSpelling
from exporter.model.facts import Content
from exporter.model.identifiers import segment
from exporter.openlineage.settings import OpenLineageSettings
from exporter.openlineage.statement import StatementParts, statement
from exporter.pipeline.job import ExportJob
from exporter.system.cache import Recent

MakeNodes = Callable[[QueryContext], tuple[list[Node], Links]]
Render = Callable[[list[Node]], list[str]]


_STATEMENTS: Final = 500
"""Statements that a process caches; each takes some KB. Queries of one statement are written one after the other, so
few are enough.
"""
_MARK: Final = "\ue000"
"""A private-use character for the marks. If rows contain it, the texts differ and the statement is not cached."""


class Filled(NamedTuple):
    """The nodes of a statement for one run. ``texts``: one for each syntax. ``links``: the links to them. ``nodes``:
    their number.
    """

    texts: list[str]
    links: Links
    nodes: int


class Recurring:
    """The cache of statements. ``make_nodes``: makes the nodes of a statement and the links to them. ``render``: writes
    the nodes as texts, one for each syntax.
    """

    def __init__(self, make_nodes: MakeNodes, render: Render) -> None:
        self._make_nodes, self._render = make_nodes, render
        self._accounts: dict[str, _OfAccount] = {}

    def filled(self, query: QueryContext) -> Filled | None:
        """The statement's nodes from the cache; None if they must be made."""
        known = self._of(query.iris.account).templates.get(query.content)
        return known.filled(query) if known else None

    def remember(self, query: QueryContext, texts: list[str], links: Links) -> None:
        """Cache a statement with valid nodes; ``texts`` and ``links``: of them, in this run."""
        known, content = self._of(query.iris.account), query.content
        if known.templates.get(content) is not None:
            return
        marked = _Marked(query)
        nodes, marked_links = self._make_nodes(marked.query)
        template = _Template(marked, self._render(nodes), marked_links, len(nodes))
        again = template.filled(query)
        is_right = again is not None and (again.texts, again.links) == (texts, links)
        known.templates.keep(content, template if is_right else False)

    def statement(
        self, content: Content, account: str, datasets: Mapping[ObjectSpelling, Dataset], settings: OpenLineageSettings
    ) -> StatementParts:
        """The parts that all events of the statement share."""
        known = self._of(account).statements
        parts = known.get(content)
        return known.keep(content, statement(content, datasets, settings)) if parts is None else parts

    def _of(self, account: str) -> _OfAccount:
        of_account = self._accounts.get(account)
        if of_account is None:
            of_account = self._accounts[account] = _OfAccount()
        return of_account


class _OfAccount:
    """The cached statements of an account. A template is False if none can be made."""

    def __init__(self) -> None:
        self.templates: Recent[_Template | Literal[False]] = Recent(_STATEMENTS)
        self.statements: Recent[StatementParts] = Recent(_STATEMENTS)


_of_turn: Final[dict[str, Recurring]] = {}


def recurring_of(job: ExportJob, make_nodes: MakeNodes, render: Render) -> Recurring:
    """The cache of this process for a job's turn, shared by the partitions that it processes."""
    if job.turn not in _of_turn:
        _of_turn.clear()
        _of_turn[job.turn] = Recurring(make_nodes, render)
    return _of_turn[job.turn]


class _Marked:
    """A query with marks in place of its id and of all states that it used."""

    def __init__(self, query: QueryContext) -> None:
        answers = query.answers
        self.states = tuple(answers.states)
        self.columns = tuple(answers.columns)
        self.priors = tuple(answers.column_priors)
        numbers = iter(range(len(self.states) + len(self.columns) + len(self.priors)))
        self.mark = segment(_MARK)

        def state() -> str:
            return f"version/{self.mark}{next(numbers)}{self.mark}"

        marked = Answers(
            states={key: state() for key in self.states},
            columns={key: state() for key in self.columns},
            column_priors={key: state() for key in self.priors},
        )
        self.query = QueryContext(structs.replace(query.facts, query_id=f"{_MARK}id{_MARK}"), marked, query.iris)


class _Template:
    """The texts of marked nodes in pieces, with the numbers of the values between them."""

    def __init__(self, marked: _Marked, texts: Sequence[str], links: Links, nodes: int) -> None:
        self._states, self._columns, self._priors = marked.states, marked.columns, marked.priors
        self._id = f"{marked.mark}id{marked.mark}"
        find = re.compile(f"version/{marked.mark}([0-9]+){marked.mark}|{self._id}")
        self._texts = tuple([_pieces(text, find) for text in texts])
        self._links = links
        self._nodes = nodes

    def filled(self, query: QueryContext) -> Filled | None:
        """The texts of this run; None if an answer is missing, or if the query used a state that it made itself, or
        renamed a masked column.
        """
        answers = query.answers
        if len(answers.column_priors) != len(self._priors) or answers.kept_masks:
            return None
        try:
            values = [answers.states[key] for key in self._states]
            values += [answers.columns[key] for key in self._columns]
            values += [answers.column_priors[key] for key in self._priors]
        except KeyError:
            return None
        if query.version in values:
            return None
        values.append(query.version.removeprefix("version/"))
        return Filled(
            [_fill(pieces, holes, values) for pieces, holes in self._texts], self._linked(values[-1]), self._nodes
        )

    def _linked(self, query: str) -> Links:
        mark, links = self._id, self._links

        def own(iris: tuple[str, ...]) -> tuple[str, ...]:
            return tuple([iri.replace(mark, query) for iri in iris])

        derived = {key: own(iris) for key, iris in links.derivations.items()}
        return Links(own(links.usages), own(links.enforcements), own(links.joins), derived, links.patterns)


def _pieces(text: str, find: re.Pattern[str]) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The text around the marks, with empty pieces in their places, and for each place the number of its value. The
    last value is the query id.
    """
    pieces: list[str] = []
    holes: list[tuple[int, int]] = []
    at = 0
    for match in find.finditer(text):
        pieces += [text[at : match.start()], ""]
        holes.append((len(pieces) - 1, -1 if match[1] is None else int(match[1])))
        at = match.end()
    return (*pieces, text[at:]), tuple(holes)


def _fill(pieces: tuple[str, ...], holes: tuple[tuple[int, int], ...], values: list[str]) -> str:
    filled = list(pieces)
    for place, number in holes:
        filled[place] = values[number]
    return "".join(filled)
