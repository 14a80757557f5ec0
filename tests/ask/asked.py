"""Asks a graph one question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exporter.ask.questions import Graph

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer


def answer(question: str, graph: Path, parameters: dict[str, Any]) -> Answer:
    """The answer of a shipped question, or of a file."""
    with Graph(graph) as opened:
        return opened.ask(question, **parameters)
