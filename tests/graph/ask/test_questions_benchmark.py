"""The benchmark of the questions: it asks all of them, and says what is too slow or too small."""

from __future__ import annotations

import pytest

from benchmarks import questions as benchmark
from exporter.graph.ask.questions import questions
from tests.graph.ask import drawn


def test_it_asks_every_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.run(drawn.exported(), limit=60, triples=10_000)
    asked = [line.split(" | ")[0].removeprefix("| ") for line in capsys.readouterr().out.splitlines()]
    assert {question.name for question in questions()} <= set(asked)


@pytest.fixture
def _asks_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "asked", lambda _: [("user-history", {})])


@pytest.mark.usefixtures("_asks_little")
def test_it_fails_where_an_answer_is_slow_or_the_graph_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.run(drawn.exported(), limit=60, triples=10_000)
    assert not benchmark.run(drawn.exported(), limit=0, triples=10_000)
    assert "too slow: user-history" in capsys.readouterr().err
    assert not benchmark.run(drawn.exported(), limit=60, triples=10**9)
    assert "too small" in capsys.readouterr().err
