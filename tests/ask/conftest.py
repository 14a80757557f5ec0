"""What all tests of questions share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.ask import pool
from exporter.ask.questions import Graph, check_all, find

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer
    from exporter.ask.parameters import ParameterValues


@pytest.fixture(autouse=True)
def in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """``exporter query`` answers in a process of its own, which takes longer to start than to answer. These tests are
    about the answer, which is the same; tests/cli, tests/hostile and tests/serve are about the process.
    """
    if "pool" not in vars(request.module):
        monkeypatch.setattr(pool, "answer", _answer)


def _answer(
    question: str, graph: Path, params: ParameterValues, seconds: float, rows: int, *, of_page: bool = False
) -> Answer:
    assert seconds > 0
    asked = find(question)
    with Graph(graph) as opened:
        check_all(asked, params)
        return opened.answer(asked, params, rows, of_page=of_page)
