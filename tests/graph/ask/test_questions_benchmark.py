"""The benchmark of the questions: it asks all of them, and says what is too slow or too small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.questions import run
from exporter.graph.ask.questions import questions
from tests.graph.ask import drawn

if TYPE_CHECKING:
    import pytest


def test_it_asks_every_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(drawn.exported(), limit=60, triples=10_000)
    asked = [line.split(" | ")[0].removeprefix("| ") for line in capsys.readouterr().out.splitlines()]
    assert {question.name for question in questions()} <= set(asked)


def test_it_fails_where_an_answer_is_slow_or_the_graph_small(
    capsys: pytest.CaptureFixture[str]
) -> None:
    assert not run(drawn.exported(), limit=0, triples=10_000)
    assert "too slow: user-history" in capsys.readouterr().err
    assert not run(drawn.exported(), limit=60, triples=10**9)
    assert "too small" in capsys.readouterr().err
