"""The benchmark of the questions: it asks all of them, and reports what is too slow or too small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import RdfFormat, serialize

from benchmarks import questions as benchmark
from exporter.ask.questions import questions
from tests.ask import drawn

if TYPE_CHECKING:
    from pathlib import Path

TRIPLES: Final = 10_000


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of some of the random histories."""
    file = tmp_path_factory.mktemp("benchmark") / "graph.nt"
    triples = (quad.triple for case in drawn.cases()[:12] for quad in drawn.store(case.name))
    serialize(triples, output=file, format=RdfFormat.N_TRIPLES)
    return file


def test_asks_every_question(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.run(graph, limit=60, triples=TRIPLES)
    asked = [line.split(" | ")[0].removeprefix("| ") for line in capsys.readouterr().out.splitlines()]
    assert {question.name for question in questions()} <= set(asked)


@pytest.fixture
def _asks_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "asked", lambda _: [("user-history", {})])


@pytest.mark.usefixtures("_asks_little")
def test_it_fails_where_an_answer_is_slow_or_the_graph_small(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark.run(graph, limit=60, triples=TRIPLES)
    assert not benchmark.run(graph, limit=0, triples=TRIPLES)
    assert "too slow: user-history" in capsys.readouterr().err
    assert not benchmark.run(graph, limit=60, triples=10**9)
    assert "too small" in capsys.readouterr().err
