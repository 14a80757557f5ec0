"""Asks a graph one question, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.ask.questions import Graph, check_all, find

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer
    from exporter.ask.parameters import ParameterValues


def answer(question: str, graph: Path, parameters: dict[str, Any]) -> Answer:
    """The answer of a shipped question, or of a file."""
    with Graph(graph) as opened:
        return opened.ask(question, **parameters)


def as_the_command(
    question: str, graph: Path, params: ParameterValues, seconds: float, rows: int, *, of_page: bool = False
) -> Answer:
    """What ``exporter.ask.pool.answer`` gives."""
    assert seconds > 0
    asked = find(question)
    with Graph(graph) as opened:
        check_all(asked, params)
        return opened.answer(asked, params, rows, of_page=of_page)
