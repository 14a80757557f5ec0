"""A graph to be asked: of an export, or of a folder or file of Turtle."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pyoxigraph import Store

from exporter.ask import missing, questions
from exporter.ask.left_out import left_out
from exporter.ask.parameters import refuse
from exporter.ask.stores import fresh
from exporter.graph.store import load

if TYPE_CHECKING:
    from exporter.ask.answers import Answer
    from exporter.ask.parameters import ParameterValues
    from exporter.ask.questions import Question


class Graph:
    """The graph of an export, or of a folder or file of Turtle, to be asked any number of times.

    It is loaded once, into memory or from the store beside the export, and stays as it was when it was opened, also if
    an export replaces it meanwhile. Close it, or use it as a context. Raises UsageError where there is no graph.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._stack = ExitStack()
        self._notes = left_out(Path(folder))
        self.on_disk = self._stack.enter_context(fresh(Path(folder)))
        """The folder of the store beside the export; None where the graph is in memory."""
        self.store: Store = load(Path(folder)) if self.on_disk is None else Store.read_only(str(self.on_disk))
        """The store of pyoxigraph, for what SPARQL alone cannot do."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the store; a closed graph cannot be asked."""
        del self.store
        self._stack.close()

    def ask(self, question: str | os.PathLike[str], **parameters: Any) -> Answer:
        """The answer of a shipped question (docs/questions.md), or of the question in a ``.rq`` file. ``parameters``: a
        text, a number, or several of them. ``answer.notes`` say what the answer may lack, and why it is empty.
        """
        asked_question = questions.find(os.fspath(question))
        params = {name: _texts(value) for name, value in parameters.items() if value is not None}
        questions.check_all(asked_question, params)
        return self.answer(asked_question, params)

    def answer(
        self, question: Question, params: ParameterValues, most: int | None = None, *, of_page: bool = False
    ) -> Answer:
        """The answer with at most ``most`` rows. :func:`exporter.ask.questions.check_all` has to be called before."""
        answer = questions.ask(self.store, question, params, most, of_page=of_page)
        is_unexplained = questions.is_shipped(question) and not answer.rows and not answer.notes
        empty = [missing.no_row(self.store, params)] if is_unexplained else []
        return replace(answer, notes=[*answer.notes, *empty, *self._notes])

    def sparql(self, query: str) -> Answer:
        """The answer of a SPARQL query of any form: of SELECT the rows, of ASK ``true`` or ``false``, of CONSTRUCT and
        DESCRIBE the triples, each cell as text. UsageError says where the query is wrong. SERVICE is refused.
        """
        refuse(query, "the query")
        return questions.select(self.store, query, "the query")


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple | set | frozenset) else [str(value)]
