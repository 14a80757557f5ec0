"""The functions for scripts, held against the commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.cli import main
from tests import exports

EXAMPLE = Path(__file__).parents[1] / "examples" / "02-read-view" / "access_history.json"
ACCOUNT: dict[str, Any] = {"account": "MYORG-ACCOUNT1", "engine": "local"}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("api") / "out"
    exporter.export(EXAMPLE, folder, **ACCOUNT)
    return folder


def test_an_export_is_the_same_as_the_commands(out: Path, tmp_path: Path) -> None:
    assert (
        main(
            ["export", str(EXAMPLE), "--out", str(tmp_path / "out"), "--account", "MYORG-ACCOUNT1", "--engine", "local"]
        )
        == 0
    )
    assert exports.triples(out) == exports.triples(tmp_path / "out")
    assert exports.events(out) == exports.events(tmp_path / "out")


def test_the_report_is_the_one_that_is_written(tmp_path: Path) -> None:
    report = exporter.export([EXAMPLE], tmp_path / "out", outputs="graph", **ACCOUNT)
    assert json.loads(report.json()) == exports.report(tmp_path / "out")


@pytest.mark.parametrize("question", ["who-accessed", "columns-accessed", "user-history"])
def test_answers_are_those_of_the_command(question: str, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"user_name": "ANALYST"} if question == "user-history" else {"object_id": 11}
    name, value = next(iter(given.items()))
    assert main(["query", question, "--graph", str(out), "--param", f"{name}={value}", "--format", "json"]) == 0
    with exporter.Graph(out) as graph:
        answer = graph.ask(question, **given)
    assert answer.rows
    assert answer.dicts() == json.loads(capsys.readouterr().out)
    assert answer.arrow().to_pylist() == answer.dicts()
    assert answer.pandas().to_dict("records") == answer.dicts()


def test_an_empty_answer_says_why(out: Path) -> None:
    with exporter.Graph(out) as graph:
        answer = graph.ask("who-accessed", object_name="DB.S.NONE")
    assert answer.rows == []
    assert answer.arrow().column_names == list(answer.columns)
    assert any("DB.S.NONE" in note for note in answer.notes)


def test_sparql(out: Path) -> None:
    with exporter.Graph(out) as graph:
        assert graph.sparql("ASK { ?s ?p ?o }").rows == [("true",)]
        for query in (
            "SELECT * {",
            "DELETE WHERE { ?s ?p ?o }",
            "SELECT * { SERVICE <http://localhost/> { ?s ?p ?o } }",
        ):
            with pytest.raises(exporter.UsageError):
                graph.sparql(query)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"acount": "A-B"}, "acount"),
        ({"engine": "dask"}, "dask"),
        ({"outputs": ["graf"]}, "graf"),
        ({"account": ""}, "account"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], word: str, tmp_path: Path) -> None:
    with pytest.raises(exporter.UsageError, match=word):
        exporter.export(EXAMPLE, tmp_path / "out", **{**ACCOUNT, **settings})
    assert not (tmp_path / "out").exists()


def test_what_is_not_there_is_named(out: Path, tmp_path: Path) -> None:
    with pytest.raises(exporter.UsageError, match=r"nothing\.ndjson"):
        exporter.export(tmp_path / "nothing.ndjson", tmp_path / "out", **ACCOUNT)
    with pytest.raises(exporter.UsageError, match="nothing"):
        exporter.Graph(tmp_path / "nothing")
    with exporter.Graph(out) as graph, pytest.raises(exporter.UsageError, match="who-acessed"):
        graph.ask("who-acessed")


def test_an_export_without_a_graph_is_not_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its other Turtle says nothing of rows, so every answer would be empty."""
    folder = tmp_path / "events"
    exporter.export(EXAMPLE, folder, outputs="events", **ACCOUNT)
    with pytest.raises(exporter.UsageError, match="has no graph: it was exported with other outputs"):
        exporter.Graph(folder)
    assert main(["query", "user-history", str(folder)]) == 2
    assert "Export it again with graph among --outputs" in capsys.readouterr().err


def test_a_push_names_a_choice_that_there_is_not(out: Path) -> None:
    with pytest.raises(exporter.UsageError, match=r"dry_run: no such setting; there are concurrency.*runs"):
        exporter.push(out, dry_run=True)


def test_the_version_alone_loads_nothing_else() -> None:
    """Every module imports it."""
    code = "import sys, exporter; print([name for name in sys.modules if name.startswith('exporter.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_asking_a_graph_loads_no_spark() -> None:
    code = "import sys; from exporter import Graph; print('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
