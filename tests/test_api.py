"""The functions for scripts, held against the commands."""

from __future__ import annotations

import dataclasses
import errno
import json
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import exporter
from exporter.api import SETTINGS
from exporter.backends import attempts
from exporter.cli import main
from exporter.settings import Settings
from tests import exports
from tests.backends import hostile

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


def _warned(folder: Path, capsys: pytest.CaptureFixture[str], *options: str, **settings: Any) -> list[str]:
    """The warnings that a script gets of an export to ``folder/script``. The command prints the same, and a script
    prints nothing. The options and the settings ask for the same.
    """
    capsys.readouterr()
    assert main(["export", str(EXAMPLE), "--out", str(folder / "command"), *options]) == 0
    printed, told = capsys.readouterr().err, list[str]()
    exporter.export(EXAMPLE, folder / "script", warn=told.append, **settings)
    assert capsys.readouterr().err == ""
    assert [f"exporter: {line}" for line in told] == printed.splitlines()
    return told


def test_a_script_gets_the_warnings_that_the_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (key := tmp_path / "k.key").write_text("0123456789abcdef")
    key.chmod(0o644)
    no_account, no_region, open_key = "no --account was given", "xy12345 is a locator without a region", "others can"
    local = "--engine", "local"
    told = _warned(tmp_path / "1", capsys, *local, "--pseudonyms", str(key), engine="local", pseudonyms=key)
    assert [open_key in told[0], no_account in told[1], len(told)] == [True, True, 2]
    told = _warned(tmp_path / "2", capsys, *local, "--account", "xy12345", engine="local", account="xy12345")
    assert [no_region in line for line in told] == [True]
    account = "--account", "MYORG-ACCOUNT1"
    assert _warned(tmp_path / "3", capsys, *local, *account, "--update", **ACCOUNT, update=True) == []
    later = _warned(tmp_path / "3", capsys, *local, "--update", "--allow-empty", engine="local", update=True)
    assert later == [], "the account is that of DIR"
    exporter.export(EXAMPLE, tmp_path / "3" / "quiet", engine="local", pseudonyms=key)
    assert capsys.readouterr() == ("", "")


def test_a_script_is_told_that_spark_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command: only where no engine was given."""
    monkeypatch.setattr("exporter.engines.on_spark.run", None)  # Spark would take its time
    for given, expected in (({}, ["the input is small"]), ({"engine": "spark"}, [])):
        told = list[str]()
        with pytest.raises(exporter.ExporterError):
            exporter.export(EXAMPLE, tmp_path / "out", account="A-B", warn=told.append, **given)
        assert [line[:18] for line in told] == expected


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
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(exporter.UsageError, match="a link that leads to itself"):
        exporter.Graph(tmp_path / "loop")
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


@pytest.mark.parametrize("compress", ["none", "gzip"])
def test_a_graph_of_n_quads_alone_is_not_asked(
    compress: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/interface.md, ``--graph-format``: `query` and `validate` read all but `nquads`."""
    folder = tmp_path / "out"
    exporter.export(EXAMPLE, folder, graph_format="nquads", compress=compress, **ACCOUNT)
    (file,) = (folder / "graph").iterdir()
    said = "is N-Quads, which stores load and this program does not read. Export the rows again with --graph-format"
    for given in (folder, folder / "graph", file):
        with pytest.raises(exporter.UsageError, match=said) as caught:
            exporter.Graph(given)
        assert str(caught.value).startswith(str(file))
        for command in ("query", "validate"):
            assert main([command, *(["user-history"] if command == "query" else []), str(given)]) == 2
            assert said in capsys.readouterr().err
    exporter.export(EXAMPLE, folder, graph_format="turtle,nquads", replace=True, **ACCOUNT)
    with exporter.Graph(folder) as graph:
        assert graph.ask("user-history").rows


@pytest.mark.parametrize(("reply", "code"), [(hostile.Reply(), 0), (hostile.Reply(resets=True), 3)])
def test_a_push_gives_a_script_the_messages_of_the_command(
    reply: hostile.Reply, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("command", "script", "quiet"):
        hostile.folder(tmp_path / name, hostile.history(3))
    choices = {"runs": "latest", "patience": 0, "concurrency": 1}
    options = [word for name, value in choices.items() for word in (f"--{name}", str(value))]
    with hostile.Hostile(lambda _: reply) as server:
        monkeypatch.setenv("OPENLINEAGE_URL", server.url)
        monkeypatch.setattr(attempts, "FIRST_WAIT", 0.01)
        assert main(["push", str(tmp_path / "command"), *options]) == code
        printed, told = capsys.readouterr().err, list[str]()
        assert exporter.push(tmp_path / "script", warn=told.append, **choices).is_complete is (code == 0)
        assert exporter.push(tmp_path / "quiet", **choices).is_complete is (code == 0)
    assert [f"exporter: {line}" for line in told] == printed.splitlines()
    assert "--runs latest leaves out" in printed
    assert ("does not answer" in printed) is (code == 3)
    assert capsys.readouterr() == ("", ""), "a script prints nothing"


def test_a_push_names_a_choice_that_there_is_not(out: Path) -> None:
    with pytest.raises(exporter.UsageError, match=r"dry_run: no such setting; there are concurrency.*runs"):
        exporter.push(out, dry_run=True)


def test_the_package_alone_loads_its_version_and_nothing_else() -> None:
    """Every import of a module loads the package first."""
    code = "import sys, exporter; print([name for name in sys.modules if name.startswith('exporter.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded == "['exporter.version']\n"


def test_asking_a_graph_loads_no_spark() -> None:
    code = "import sys; from exporter import Graph; print('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


FLAGS = ("allow_empty", "changes", "dry_run", "force", "query_text", "replace", "strict", "update")


def test_these_are_all_flags() -> None:
    of_settings = {field.name for field in dataclasses.fields(Settings) if field.type == "bool"}
    assert of_settings & set(SETTINGS) == set(FLAGS)


@pytest.mark.parametrize("value", ["false", "no", "0", "true", "", 0, 1, [], {}])
@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_is_true_or_false_and_nothing_that_looks_so(flag: str, value: Any, tmp_path: Path) -> None:
    """A text is true in Python: with "false", SQL text would be exported, and an export replaced."""
    with pytest.raises(exporter.UsageError, match=f"^{flag} must be true or false, but is "):
        exporter.export(EXAMPLE, tmp_path / "out", **ACCOUNT, **{flag: value})
    assert not (tmp_path / "out").exists()


def test_nothing_is_published_that_was_not_validated(tmp_path: Path) -> None:
    with pytest.raises(exporter.UsageError, match="validate: no such setting"):
        exporter.export(EXAMPLE, tmp_path / "out", **ACCOUNT, validate=False)


LONG, NUL = f"/tmp/{'n' * 300}", "a\0b"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"account": 5}, "account must be a text, but is 5"),
        ({"base": 5}, "base must be a text, but is 5"),
        ({"mode": 0o750}, "mode must be a text, but is 488"),
        ({"min_rows": "10"}, "min_rows must be a whole number, but is '10'"),
        ({"min_rows": 1.5}, "min_rows must be a whole number, but is 1.5"),
        ({"min_rows": True}, "min_rows must be a whole number, but is True"),
        ({"since": 20260901}, "since must be a day or a time, but is 20260901"),
        ({"forget_before": 5, "update": True}, "forget_before must be a day or a time, but is 5"),
        ({"query_history": 5}, "query_history must be a text or a list of texts, but is 5"),
        ({"shapes": 5}, "shapes must be a text or a list of texts, but is 5"),
        (
            {"outputs": ["graph", b"events"]},
            "outputs must be a text or a list of texts, but has an object of the type bytes",
        ),
        ({"inputs": None}, "inputs must be a text or a list of texts, but is None"),
        ({"inputs": 5}, "inputs must be a text or a list of texts, but is 5"),
        ({"inputs": b"rows"}, "inputs must be a text or a list of texts, but is an object of the type bytes"),
        ({"inputs": [None]}, "inputs must be a text or a list of texts, but has None"),
        (
            {"inputs": [{"query_id": "1"}]},
            "inputs must be a text or a list of texts, but has an object of the type dict",
        ),
        ({"inputs": LONG}, "INPUT: /tmp/nnn"),
        ({"inputs": NUL}, "INPUT: 'a\\x00b' has a character that no path can have"),
        ({"out": None}, "out must be a text, but is None"),
        ({"out": 5}, "out must be a text, but is 5"),
        ({"out": LONG}, "out: /tmp/nnn"),
        ({"out": NUL}, "out: 'a\\x00b' has a character that no path can have"),
        ({"shapes": [NUL]}, "shapes: 'a\\x00b' has a character that no path can have"),
        ({"config": 5}, "config must be a path, but is 5"),
        ({"config": NUL}, "config: 'a\\x00b' has a character that no path can have"),
        ({"warn": None}, "warn must be a function that takes a line, but is None"),
    ],
)
def test_a_value_of_a_wrong_type_is_named(settings: dict[str, Any], words: str, tmp_path: Path) -> None:
    given = {"inputs": EXAMPLE, "out": tmp_path / "out", **ACCOUNT, **settings}
    with pytest.raises(exporter.UsageError) as caught:
        exporter.export(**given)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    "out", ["s3a://k:s3cr3t@b/x", "https://u:s3cr3t@h", "https://s3cr3t@h/x", "s3a://k:s3/cr3t@b/x"]
)
@pytest.mark.parametrize("setting", ["out", "inputs", "base", "query_history", "account"])
def test_no_password_of_a_uri_is_in_a_message_or_an_output(setting: str, out: str, tmp_path: Path) -> None:
    given = {"inputs": EXAMPLE, "out": tmp_path / "out", **ACCOUNT, setting: out}
    with pytest.raises(
        exporter.UsageError, match=r"(INPUT|[a-z_]+): \w+://\*\*\*@\w+.* has a user or password"
    ) as caught:
        exporter.export(**given)
    assert "cr3t" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_container_in_a_uri_is_no_password() -> None:
    with pytest.raises(exporter.UsageError, match=r"abfss://box@account\.dfs/x: without Spark"):
        exporter.export(EXAMPLE, "abfss://box@account.dfs/x", **ACCOUNT)
    with pytest.raises(exporter.UsageError, match=r"/https:/\*\*\*@h/x does not exist"):
        exporter.Graph("https://u:s3cr3t@h/x")


def test_paths_and_times_may_be_objects(tmp_path: Path) -> None:
    history = tmp_path / "history.csv"
    history.write_text("query_id,start_time,user_name,query_text\n1,2026-01-01 00:00:00 Z,U,SELECT\n", encoding="utf-8")
    as_text = {"query_history": str(history), "since": "2000-01-01", "until": "2100-01-01T02:00:00+02:00"}
    until = datetime(2100, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    as_objects = {"query_history": history, "since": date(2000, 1, 1), "until": until}
    reports = [
        exporter.export((path for path in [EXAMPLE]), tmp_path / str(number), **ACCOUNT, **settings)
        for number, settings in enumerate((as_text, as_objects))
    ]
    assert reports[0].exported == reports[1].exported == 2
    assert reports[0].query_history == reports[1].query_history
    assert reports[0].filtered == reports[1].filtered is not None
    none = exporter.export(EXAMPLE, tmp_path / "none", **ACCOUNT, until=datetime(2000, 1, 1), allow_empty=True)  # noqa: DTZ001 - as documented, UTC
    assert none.exported == 0


def test_a_fault_is_an_error_of_the_exporter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = OSError(errno.ENOSPC, "No space left on device")

    def full(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("exporter.engines.export.export", full)
    with pytest.raises(exporter.ExporterError, match="the disk is full; nothing was published") as caught:
        exporter.export(EXAMPLE, tmp_path / "out", **ACCOUNT)
    assert caught.value.__cause__ is fault


@pytest.mark.parametrize("question", ["who-accessed", "writers"])
@pytest.mark.parametrize("empty", [[], (), set(), "", ["DB.S.T", ""]])
def test_an_empty_value_does_not_mean_everything(question: str, empty: Any, out: Path) -> None:
    with exporter.Graph(out) as graph:
        for name in ("object_name", "object_id", "since"):
            with pytest.raises(exporter.UsageError, match=f"^{name}: (is empty|an empty list)"):
                graph.ask(question, **{"object_id": 11, name: empty})


@pytest.mark.parametrize("value", [b"DB", {"a": 1}, (x for x in ["DB"]), True, [None], ["DB", b"S"], object()])
def test_a_value_that_is_no_text_or_number_is_refused(value: Any, out: Path) -> None:
    with (
        exporter.Graph(out) as graph,
        pytest.raises(exporter.UsageError, match=r"^object_name must be a text, a number"),
    ):
        graph.ask("who-accessed", object_name=value)


def test_a_time_may_be_a_date_or_a_datetime(out: Path) -> None:
    with exporter.Graph(out) as graph:
        time = graph.ask("when-accessed", object_id=11).dicts()[0]["query_start_time"]
        first = datetime.fromisoformat(str(time))
        later = first + timedelta(days=1)
        for since, found in (
            (first, True),
            (first.replace(tzinfo=None), True),
            (first.date(), True),
            (later.date(), False),
        ):
            rows = graph.ask("when-accessed", object_id=11, since=since, until=date(2100, 1, 1)).rows
            assert rows == graph.ask("when-accessed", object_id=11, since=since.isoformat()).rows
            assert any(row[-1] == time or time in row for row in rows) is found


@pytest.mark.parametrize("ident", [11.0, "11.0", "011", "11.000", Decimal(11)])
def test_an_id_in_another_form_is_the_same_id(ident: Any, out: Path) -> None:
    """The answer and its notes mean one id."""
    with exporter.Graph(out) as graph:
        plain, other = graph.ask("who-accessed", object_id=11), graph.ask("who-accessed", object_id=ident)
        assert other == plain
        assert plain.rows
        none = graph.ask("who-accessed", object_id="0770.0")
    assert "There is no object with the id 770 in the graph." in " ".join(none.notes)


@pytest.mark.parametrize("ident", ["11.5", "1e1", " 11", "-11", 0, 1.5])
def test_what_is_no_id_is_refused(ident: Any, out: Path) -> None:
    with exporter.Graph(out) as graph, pytest.raises(exporter.UsageError, match=r"^object_id=.* is not an id"):
        graph.ask("who-accessed", object_id=ident)


def test_messages_have_the_words_of_python(out: Path) -> None:
    with exporter.Graph(out) as graph:
        with pytest.raises(exporter.UsageError, match="who-accessed needs object_id=VALUE or object_name=VALUE"):
            graph.ask("who-accessed")
        with pytest.raises(exporter.UsageError, match=r"^since=x is not a time"):
            graph.ask("who-accessed", object_id=11, since="x")


def test_numbers_and_texts_that_python_cannot_write_are_refused(out: Path) -> None:
    with exporter.Graph(out) as graph:
        with pytest.raises(exporter.UsageError, match=r"^object_id is a number of too many digits"):
            graph.ask("who-accessed", object_id=10**5000)
        with pytest.raises(exporter.UsageError, match=r"^the query is not UTF-8 text"):
            graph.sparql('SELECT ("\ud800" AS ?half) {}')


def test_what_is_no_graph_and_no_question_is_refused(out: Path) -> None:
    wrong: list[Any] = [None, 5, b"graph"]
    for value in wrong:
        with pytest.raises(exporter.UsageError, match=r"^folder must be a path"):
            exporter.Graph(value)
        with pytest.raises(exporter.UsageError, match=r"^folder must be a path"):
            exporter.push(value)
        with exporter.Graph(out) as graph:
            with pytest.raises(exporter.UsageError, match=r"^question must be a path"):
                graph.ask(value)
            with pytest.raises(exporter.UsageError, match=r"^the query must be a text"):
                graph.sparql(value)
    for path in (LONG, NUL):
        with pytest.raises(exporter.UsageError, match=r"^folder: "):
            exporter.Graph(path)


def test_a_closed_graph_says_so(out: Path) -> None:
    graph = exporter.Graph(out)
    graph.close()
    graph.close()
    for ask in (lambda: graph.ask("user-history"), lambda: graph.sparql("ASK {}")):
        with pytest.raises(exporter.UsageError, match="This graph is closed"):
            ask()


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"concurrency": "8"}, "push.concurrency must be a whole number, but is '8'"),
        ({"concurrency": 1.5}, "push.concurrency must be a whole number, but is 1.5"),
        ({"rate": "x"}, "push.rate must be a number, but is 'x'"),
        ({"rate": True}, "push.rate must be a number, but is True"),
        ({"patience": "x"}, "push.patience must be a number, but is 'x'"),
        ({"profile": 5}, "push.profile must be a text, but is 5"),
        ({"runs": ["all"]}, "push.runs must be a text, but is an object of the type list"),
    ],
)
def test_a_choice_of_a_wrong_type_is_named(choice: dict[str, Any], words: str, out: Path) -> None:
    with pytest.raises(exporter.UsageError) as caught:
        exporter.push(out, **choice)
    assert str(caught.value) == words


@pytest.mark.parametrize("compress", ["none", "gzip"])
def test_files_of_another_syntax_are_the_same_graph_or_refused(compress: str, tmp_path: Path) -> None:
    """One syntax alone is read; a file that is not in it would be missing without a word."""
    out, foreign = tmp_path / "out", tmp_path / "foreign"
    exporter.export(EXAMPLE, out, graph_format="turtle,ntriples", compress=compress, **ACCOUNT)
    (foreign / "below").mkdir(parents=True)
    for path in (out / "graph").iterdir():
        (foreign / path.name).write_bytes(path.read_bytes())
    with exporter.Graph(foreign) as graph:
        assert graph.ask("user-history").rows
    other = foreign / "below" / "more.nt"
    other.write_text("<a:a> <a:b> <a:c> .\n", encoding="utf-8")
    with pytest.raises(exporter.UsageError, match=f"^{other}: would not be read"):
        exporter.Graph(foreign)
    other.unlink()
    for name in ("more.turtle", "more.rdf", "more.trig", "more.nq"):
        (foreign / name).write_text("<a:a> <a:b> <a:c> .\n", encoding="utf-8")
        with pytest.raises(exporter.UsageError, match=f"^{foreign / name}: would not be read"):
            exporter.Graph(foreign)
        (foreign / name).unlink()
    for target, words in (("gone", "is a link to nothing"), (str(out / "graph"), "is a link to a folder")):
        (foreign / "more.ttl").symlink_to(target)
        with pytest.raises(exporter.UsageError, match=f"^{foreign / 'more.ttl'}: {words}"):
            exporter.Graph(foreign)
        (foreign / "more.ttl").unlink()
