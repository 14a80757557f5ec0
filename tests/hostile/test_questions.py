"""Questions from unknown sources: they can read only the graph, and always end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Final

import pytest

from exporter.ask import pool
from exporter.ask.parameters import LONGEST, refuse
from exporter.cli import main
from exporter.errors import UsageError
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANY: Final = "?s ?p ?o"
CROSS: Final = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l"


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET  # noqa: N815 - the name that it is looked for under

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", asked
    server.shutdown()
    server.server_close()


def ask(query: str, folder: Path, *options: str) -> int:
    (folder / "q.rq").write_text(query, encoding="utf-8")
    return main(["query", str(folder / "q.rq"), "--graph", str(VALID), *options])


REFUSED: Final = {
    "SELECT * {{ SERVICE <{0}> {{ ?s ?p ?o }} }}": "q has a SERVICE",
    "SELECT * {{ service silent<{0}>{{ ?s ?p ?o }} }}": "q has a SERVICE",
    "PREFIX : <{0}> SELECT * {{ SERVICE:x {{ ?s ?p ?o }} }}": "q has a SERVICE",
    "PREFIX : <{0}> SELECT * {{ ?s ?p 1SERVICE : {{ ?s ?p ?o }} }}": "q has a SERVICE",
    "SELECT * {{ ?s ?p ?o FILTER EXISTS {{ SERVICE <{0}> {{ ?s ?p ?o }} }} }}": "q has a SERVICE",
    "SELECT * {{ BIND(<{0}> AS ?e) SERVICE ?e {{ ?s ?p ?o }} }}": "q has a SERVICE",
    "SELECT * FROM <file:///etc/passwd> {{ ?s ?p ?o }}": "q reads FROM somewhere",
    "SELECT * FROM NAMED <{0}> {{ GRAPH ?g {{ ?s ?p ?o }} }}": "q reads FROM somewhere",
    "ASK FROM<{0}>{{ ?s ?p ?o }}": "q reads FROM somewhere",
    "LOAD <file:///etc/passwd>": "q is an update (LOAD)",
    "BASE <{0}> PREFIX a: <x> # a comment\nINSERT DATA {{ a:b a:c 1 }}": "q is an update (INSERT)",
    "DROP ALL": "q is an update (DROP)",
    "WITH <{0}> DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}": "q is an update (WITH)",
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_question_that_reads_more_than_the_graph_is_refused_with_a_message(
    query: str, address: tuple[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, asked = address
    assert ask(query.format(url), tmp_path) == 2
    assert REFUSED[query] in capsys.readouterr().err
    assert asked == []


@pytest.mark.parametrize(
    "query",
    [
        'SELECT ?from { ?from ?service "SERVICE FROM LOAD" } # SERVICE <x>',
        "SELECT * { ?s <urn:SERVICE> <http://x/FROM> ; <urn:a>\t'''\nSERVICE <x>''' }",
        "PREFIX service: <urn:s> PREFIX from: <urn:f> SELECT * { ?s service:x from:y }",
        "SELECT * { ?a ?b ?c FILTER(?a < ?b && ?c > 1) }",
        'SELECT ("it\'s \\" SERVICE" AS ?load) {}',
    ],
)
def test_keywords_in_texts_and_names_are_allowed(query: str, tmp_path: Path) -> None:
    assert ask(query, tmp_path) == 0


def test_a_keyword_that_looks_like_a_prefix_reaches_nothing(
    address: tuple[str, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The words let it pass; the process that answers can open no connection."""
    url, asked = address
    prefixes = f"PREFIX : <{url}> PREFIX SERVICE: <{url}>"
    assert ask(f"{prefixes} SELECT * {{ SERVICE:x {{ ?s ?p ?o }} }}", tmp_path) == 2
    assert "q reads something outside of the graph" in capsys.readouterr().err
    ask(f"{prefixes} SELECT * {{ ?s ?p ?o FILTER EXISTS {{ SERVICE:x {{ ?s ?p ?o }} }} }}", tmp_path)
    assert asked == []


def test_the_process_that_answers_can_open_nothing(address: tuple[str, list[str]]) -> None:
    url, asked = address
    code = f"""
from pyoxigraph import Store
from exporter.ask import worker
store, silent = Store(), "SELECT * {{ SERVICE SILENT <{url}> {{ ?s ?p ?o }} }}"
worker.confine(1 << 30)
list(store.query(silent))
for reach in (lambda: open("/etc/passwd"), lambda: list(store.query(silent.replace("SILENT", "")))):
    try:
        reach()
    except OSError as error:
        assert error.errno == 24 or "os error 24" in str(error), error
    else:
        raise AssertionError("it was reached")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert asked == []


def test_a_question_ends_when_its_time_is_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    assert ask(f"SELECT (COUNT(*) AS ?n) {{ {CROSS} }}", tmp_path, "--timeout", "0.3") == 2
    assert time.monotonic() - begun < 10
    error = capsys.readouterr().err
    assert "q.rq: There is no answer after 0.3 s; ask for less" in error
    assert error.endswith("--timeout gives it more time.\n")


def test_of_a_shipped_question_one_can_ask_for_less_without_writing_sparql(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "exposure", str(VALID), "--timeout", "0.001"]) == 2
    error = capsys.readouterr().err
    assert "There is no answer after 0.001 s; ask for one object, or a shorter time" in error


@pytest.mark.parametrize(
    "query",
    [f"SELECT * {{ {CROSS} }} ORDER BY ?a", "SELECT (" + "(" * 50_000 + "1" + ")" * 50_000 + " AS ?x) {}"],
    ids=["memory", "depth"],
)
def test_a_question_that_takes_too_much_memory_ends(query: str, tmp_path: Path) -> None:
    """The engine ends its own process where it gets no memory, and where its stack is at its end."""
    (tmp_path / "q.rq").write_text(query)
    with pytest.raises(UsageError, match=r"it takes more than 0.25 GiB of memory, or is nested too deep"):
        pool.answer(str(tmp_path / "q.rq"), VALID, {}, 60, 100, memory=256 << 20)


BY_DAY = "This graph has reads by day (export --reads daily): q may leave out results that follow from reads alone.\n"


def test_rows_are_limited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("table", "csv", "json"):
        assert ask(f"SELECT * {{ {ANY} }}", tmp_path, "--max-rows", "3", "--format", form) == 0
        told = capsys.readouterr()
        assert told.err == f"{BY_DAY}There are more rows than 3; these are the first ones. --max-rows N gives more.\n"
        assert {"table": 6, "csv": 4}.get(form, 17) == told.out.count("\n")
    assert ask(f"CONSTRUCT {{ {ANY} }} WHERE {{ {ANY} }}", tmp_path, "--max-rows", "2", "--format", "json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 2
    assert ask(f"SELECT * {{ {ANY} }} LIMIT 3", tmp_path, "--max-rows", "3") == 0
    assert capsys.readouterr().err == BY_DAY


@pytest.mark.parametrize(
    "options",
    [("--timeout", "0"), ("--timeout", "nan"), ("--timeout", "x"), ("--max-rows", "0"), ("--max-rows", "1.5")],
)
def test_limits_are_numbers(options: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("ASK {}", tmp_path, *options) == 2
    assert f"{options[1]} is not a " in capsys.readouterr().err


def test_a_question_is_a_short_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"q has 1,048,577 characters, more than 1,048,576"):
        refuse("#" * (LONGEST + 1), "q")
    assert ask("#" * (5 * LONGEST), tmp_path) == 2
    assert "too large for a question" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe.rq")
    assert main(["query", str(tmp_path / "pipe.rq"), "--graph", str(VALID)]) == 2
    assert "it is not a file" in capsys.readouterr().err


def test_reading_it_takes_time_in_proportion() -> None:
    """Texts that are never closed, on which a bad pattern would start anew at every letter."""
    for text in (
        '"' * LONGEST,
        "'''" + "'" * (LONGEST - 3),
        "<" * LONGEST,
        "a:" * (LONGEST // 2),
        "\\" * LONGEST,
        '"\\' * (LONGEST // 2),
    ):
        begun = time.process_time()
        refuse(text, "q")
        assert time.process_time() - begun < 3


@pytest.mark.parametrize(
    "value", ['" } # ', "\\", '\\"', "\\u0022 } #", "\n", "'''", "}", "UNDEF", "> <urn:a>", "\0", "\u202e", "🦖"]
)
def test_a_parameter_cannot_change_the_question(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = '# param name: what\nSELECT ?name {\n  VALUES ?name { "x" }  # param name\n}'
    assert ask(query, tmp_path, "--param", f"name={value}", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == [{"name": value}]


def test_a_parameter_that_is_no_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask("ASK {}", tmp_path, "--param", "a=\udcff") == 2
    assert "not UTF-8 text" in capsys.readouterr().err


def test_modules_are_not_imported_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write into the folder that a question is asked in does not run code."""
    for name in ("exporter", "json", "pyoxigraph", "msgspec", "signal"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    assert ask("ASK {}", tmp_path) == 0
    assert not (tmp_path / "ran").exists()


def test_a_fault_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool._Worker, "reply_to", lambda *_: pool.Refusal("KeyError: 'x'", "fault"))
    assert ask("ASK {}", tmp_path) == 4
    assert "a fault of the program: KeyError" in capsys.readouterr().err


def test_a_folder_whose_name_is_not_utf_8_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also in an answer that another process gives."""
    assert main(["query", "user-history", str(tmp_path / os.fsdecode(b"gone\xff"))]) == 2
    assert "gone\\udcff does not exist" in capsys.readouterr().err
