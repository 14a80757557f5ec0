"""The command line: exit codes, output streams, and messages."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import click
import pytest

from exporter.ask.shipped import names
from exporter.cli import PROGRAM, main
from exporter.cli import messages as terminal
from exporter.engines import export as pipeline
from exporter.errors import ExporterError, RefusedError, UsageError
from exporter.publish import earlier
from exporter.settings import Settings
from exporter.version import MODEL, __version__
from tests import exports, golden
from tests.input.bad_rows import GOOD

EXAMPLE = golden.EXAMPLES / "01-view-example"


def test_json_prints_one_object_and_nothing_else(
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    exports.ndjson([GOOD, GOOD], tmp_path / "rows.ndjson")
    capfd.readouterr()
    given = ["export", str(tmp_path / "rows.ndjson"), "--out", str(tmp_path / "out"), "--engine", "local", "--json"]
    assert main(given) == 0
    printed = capfd.readouterr()
    assert json.loads(printed.out) == exports.report(tmp_path / "out")
    assert "no --account was given" in printed.err
    assert "\x1b" not in printed.err, "progress is for terminals"


def test_the_summary_says_where_every_row_went(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "rows.ndjson").write_text(f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}\nnonsense\n", encoding="utf-8")
    assert exports.export([tmp_path / "rows.ndjson"], tmp_path / "out") == 0
    printed = capsys.readouterr().out
    numbers = {
        line.split()[0]: line.split()[1] for line in printed.splitlines() if line.startswith("  ") and line.split()
    }
    assert numbers["exported"] == "1"
    assert numbers["duplicates"] == "1"
    assert numbers["quarantined"] == "1"
    assert f"Written to {tmp_path / 'out'}" in printed
    assert exports.export([tmp_path / "rows.ndjson"], tmp_path / "out", "--strict", "--replace") == 1


def _lines(printed: str) -> dict[str, str]:
    """The summary: what a line is about -> the number and what is said of it."""
    lines = (line for line in printed.splitlines() if line.startswith("  ") and len(line) > 14)
    return {line[2:14].strip(): " ".join(line[14:].split()) for line in lines}


def test_the_summary_names_no_output_that_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--outputs", "events") == 0
    said = _lines(capsys.readouterr().out)
    assert said["events"].endswith(f"{tmp_path / 'out'}/events")
    assert said["graph nodes"].endswith("not among --outputs, all validated with the shapes")


def test_the_summary_of_an_update_tells_new_rows_from_what_is_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = [
        [{**GOOD, "query_id": f"of day {day}, {number}", "query_start_time": f"2026-03-0{day} 08:00:00 Z"}]
        for day, number in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3))
    ]
    first = exports.ndjson([*days[0], *days[1], *days[2], *days[3]], tmp_path / "first.ndjson")
    then = exports.ndjson([*days[3], *days[4]], tmp_path / "then.ndjson")
    counted = 0
    for rows in (first, then, then):
        capsys.readouterr()
        assert exports.export([rows], tmp_path / "out", "--update") == 0
        said = _lines(capsys.readouterr().out)
        if rows == then and said["exported"] == "1 new row, of 1 new query":
            counted += 1
            assert said["duplicates"] == "1 exact copies, also of rows that DIR had, dropped"
            assert said["days written"] == "1 2026-03-02 (1 new row); 3 queries, 1 new and 2 written again"
    assert (said["exported"], said["days written"]) == ("0 new rows", "0 none, since no row is new")
    assert counted == 1
    line = {"query_id": "of day 2, 2", "start_time": "2026-03-02 08:00:00 Z", "query_type": "SELECT"}
    history = exports.ndjson([line], tmp_path / "history.ndjson")
    assert exports.export([then], tmp_path / "out", "--update", "--query-history", str(history)) == 0
    said_later = _lines(capsys.readouterr().out)
    assert said_later["days written"] == "1 3 queries, all written again"
    assert "validated" not in said["graph nodes"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no such file"), 2),
        (RefusedError("refused"), 1),
        (ExporterError("does not add up"), 4),
        (ZeroDivisionError("division by zero"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_exit_codes(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pipeline, "export", fail)
    assert main(["export", "rows.ndjson", "--out", "out", "--account", "A-B"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("exporter: ")
    assert "Traceback" not in printed.err
    assert str(error) in printed.err


@pytest.mark.parametrize("command", [["push"], ["validate"], ["query", "user-history", "--graph"]])
def test_a_remote_dir_has_to_be_copied_here(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "hdfs://host/lineage"]) == 2
    assert "hdfs://host/lineage is not on this machine: copy it" in capsys.readouterr().err


def test_a_dir_of_this_machine_may_be_given_by_its_uri(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", f"file://{tmp_path}/none"]) == 2
    assert f"{tmp_path}/none does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ["exporter", "query", "user-history", "my lineage"]),
        ({"outputs": ("events",)}, ["exporter", "push", "my lineage"]),
        ({"outputs": ("facts",)}, []),
        ({"graph_format": ("nquads",), "outputs": ("graph",)}, []),
        ({"graph_format": ("nquads", "turtle")}, ["exporter", "query", "user-history", "my lineage"]),
    ],
)
def test_commands_in_the_summary_can_be_pasted(given: dict[str, Any], said: list[str]) -> None:
    told = terminal._next(Settings(inputs=("rows",), out="my lineage", **given))
    assert [shlex.split(line) for line in told if line.startswith("  ")][:1] == ([said] if said else [])


def test_a_remote_graph_has_to_be_copied_first() -> None:
    assert "copy it to" in terminal._next(Settings(inputs=("rows",), out="s3a://b/lineage"))[0]


@pytest.mark.parametrize(
    ("started", "path", "said"),
    [
        ("/env/bin/exporter", "/env/bin", "exporter"),
        ("/env/bin/exporter", "/usr/bin", "/env/bin/exporter"),
        (".venv/bin/exporter", "/usr/bin", ".venv/bin/exporter"),
        ("/the folder/bin/exporter", "", "'/the folder/bin/exporter'"),
        ("/checkout/exporter/__main__.py", "", f"{sys.executable} -m exporter"),
        ("/env/bin/pytest", "", "exporter"),
    ],
)
def test_the_program_is_named_so_that_a_shell_finds_it(
    started: str, path: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    monkeypatch.setattr(shutil, "which", lambda name: f"{path}/{name}" if f"{path}/{name}" == started else None)
    assert terminal.program() == said


_SLOW = """
import sys, time
from exporter import cli
from exporter.engines import export as job
def slow(*_, **__):
    print("begun", flush=True)
    time.sleep(60)
job.export = slow
sys.exit(cli.main())
"""


def test_sigterm_is_an_interruption() -> None:
    """A manager of a cluster and a scheduler end a program by SIGTERM, which Python by itself dies of on the spot."""
    command = [sys.executable, "-c", _SLOW, "export", "rows.ndjson", "--out", "out", "--account", "A-B"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "exporter: interrupted; nothing was published\n")


def test_a_reader_that_is_gone_is_no_fault() -> None:
    """Also where Python would write what it held back only at its exit."""
    gone, ours = os.pipe()
    os.close(gone)
    try:
        program = [sys.executable, "-m", "exporter", "--version"]
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run(program, stdout=ours, stderr=subprocess.PIPE, check=False, env=buffered)
    finally:
        os.close(ours)
    assert (done.returncode, done.stderr) == (0, b"")


def test_where_nobody_reads_an_export_is_made(tmp_path: Path) -> None:
    """As a service that has no standard error, or as a pipe whose reader is gone."""
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    for number, ending in enumerate(("2>&-", ">&- 2>&-", "| true")):
        out = tmp_path / f"out{number}"
        words = ["export", str(rows), "--out", str(out), "--engine", "local", "--account", "A-B"]
        line = f"{shlex.join([sys.executable, '-m', 'exporter', *words])} {ending}; exit ${{PIPESTATUS[0]}}"
        assert subprocess.run(["bash", "-c", line], capture_output=True, check=False).returncode == 0
        assert exports.report(out)["exported"] == 1


def test_what_was_done_is_said_where_the_summary_cannot_be_written(tmp_path: Path) -> None:
    rows, out = exports.ndjson([GOOD], tmp_path / "rows.ndjson"), tmp_path / "out"
    words = ["export", str(rows), "--out", str(out), "--engine", "local", "--account", "A-B"]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "exporter", *words], stdout=full, stderr=subprocess.PIPE, check=False, text=True
        )
    assert done.returncode == 4
    assert f"exporter: the export was published in {out}, but standard output cannot be written: No space left" in (
        done.stderr
    )
    assert "nothing was published" not in done.stderr
    assert "Traceback" not in done.stderr
    assert exports.report(out)["exported"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["exprot"],
        ["export"],
        ["export", "rows.ndjson"],
        ["export", "rows.ndjson", "--out", "x", "--no-such-option"],
        ["query", "who-accessed"],
        ["push", "x", "--runs", "some"],
    ],
)
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Usage: exporter" in printed.err
    assert "\nexporter: " in printed.err
    assert " --help " in printed.err


@pytest.mark.parametrize("command", ["", *PROGRAM.commands, *(f"query {name}" for name in names())])
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    example = capsys.readouterr().out.partition("Example")[2]
    assert f"exporter {command}".strip() in example


def test_the_version_is_that_of_the_program_and_of_its_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"exporter {__version__} (model {MODEL})"


def test_an_unknown_name_is_reported_with_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """A program that reads the answer is not disturbed, and a person sees why it is empty."""
    asked = ["query", "who-accessed", "--graph", str(EXAMPLE / "graph.ttl"), "--format", "csv"]
    assert main([*asked, "--param", "object_name=governance.tables.t2"]) == 0
    out, err = capsys.readouterr()
    assert out == "user_name\n"
    assert err.startswith("There is no object governance.tables.t2 in the graph. The nearest: GOVERNANCE.TABLES.T1")


def test_several_values_of_a_parameter_are_all_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["query", "who-accessed", "--graph", str(EXAMPLE / "graph.ttl"), "--format", "csv"]
    assert main([*asked, "--param", "object_id=66564", "--param", "object_id=4711"]) == 0
    assert capsys.readouterr().out == "user_name\nJSMITH\n"


def test_query_formats(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["query", "who-accessed", "--graph", str(EXAMPLE / "graph.ttl"), "--param", "object_id=66564"]
    assert main([*asked, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"user_name": "JSMITH"}]
    assert main([*asked, "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines() == ["user_name", "JSMITH"]
    assert main(asked) == 0
    assert "JSMITH" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["query", "who-acessed", "--graph", str(EXAMPLE)], "who-accessed"),
        (["query", "who-accessed", "--graph", str(EXAMPLE)], "object_id"),
        (["query", "who-accessed", "--graph", "nowhere", "--param", "object_id=1"], "nowhere"),
        (["query", "who-accessed", "--graph", str(EXAMPLE), "--param", "object_id"], "name=value"),
        (["query", "who-accessed", "--graph", str(EXAMPLE), "--param", "objectid=1"], "object_id"),
        (["query", "who-accessed", "--graph", str(EXAMPLE), "--param", "object_id=T1"], "not an id"),
        (
            ["query", "joins", "--graph", str(EXAMPLE), "--param", "since=2026-02-01", "--param", "until=2026-01-01"],
            "is after",
        ),
        (["validate", "nowhere"], "nowhere"),
        (["validate", str(EXAMPLE / "events.json")], "not valid Turtle"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in printed.err


def test_validate_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(EXAMPLE / "graph.ttl"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["conforms"], told["violations"], told["results"]) == (True, 0, [])
    assert told["counted"]["files"] == 1


def test_validate_what_does_not_conform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (EXAMPLE / "graph.ttl").read_text(encoding="utf-8")
    (tmp_path / "graph.ttl").write_text(text.replace('ah:accessType "BASE"', 'ah:accessType "SIDEWAYS"'), "utf-8")
    assert main(["validate", str(tmp_path), "--json"]) == 1
    results = json.loads(capsys.readouterr().out)["results"]
    assert {one["shape"].rsplit("#")[-1] for one in results} == {"Access-accessType"}


def test_the_questions_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["queries"]) == 0
    printed = capsys.readouterr().out
    assert "who-accessed" in printed
    assert "object_id" in printed
    assert main(["queries", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) >= 21


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """An error for a script, which reads nothing from it, and what a person looks for."""
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert main(["--help"]) == 0
    assert err == capsys.readouterr().out  # the help as it is, and not as the text of an error


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    assert "exporter export rows.ndjson.gz" in capsys.readouterr().out
    assert main(["help", "push"]) == 0
    assert "Usage: exporter push" in capsys.readouterr().out
    assert main(["help", "query", "who-accessed"]) == 0
    assert "--object-name NAME" in capsys.readouterr().out
    assert main(["help", "psuh"]) == 2
    assert "No such command 'psuh'. Did you mean 'push'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "words"),
    [(KeyboardInterrupt(), "exporter: interrupted\n"), (ZeroDivisionError("x"), "fault of the program: Z")],
)
def test_a_command_that_publishes_nothing_does_not_mention_publishing(
    error: BaseException, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(earlier, "runs", fail)
    assert main(["log", "lineage"]) in {4, 130}
    said = capsys.readouterr().err
    assert words in said
    assert "published" not in said


@pytest.mark.parametrize("command", ["log", "quarantine", "push"])
def test_a_folder_that_is_not_there(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(tmp_path / "lineag")]) == 2
    assert f"{tmp_path / 'lineag'}: there is no such folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["", "--out", "out"], "INPUT: is empty"),
        (["rows.ndjson", "--out", ""], "out: is empty"),
        (["rows.ndjson", "--out", "out", "--pseudonyms", ""], "pseudonyms: is empty"),
        (["rows.ndjson", "--out", "out", "--query-history", ""], "query_history: is empty"),
        (["rows.ndjson", "--out", "out", "--shapes", ""], "shapes: is empty"),
        (["rows.ndjson", "--out", "out", "--forget-user", ""], "forget_user: is empty"),
        (["rows.ndjson", "--out", os.fsdecode(b"o\xff")], "out: has bytes that are not UTF-8"),
        (
            ["rows.ndjson", "--out", "out", "--base", os.fsdecode(b"http://x/\xff/")],
            "base: has bytes that are not UTF-8",
        ),
    ],
)
def test_an_empty_option_is_no_option(option: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell leaves it where a variable is not set: nobody wants names in clear, or the current folder, for that."""
    assert main(["export", *option, "--account", "A-B", "--engine", "local"]) == 2
    assert words in capsys.readouterr().err


ONE_VALUE: Final = [
    (name, option)
    for name, command in PROGRAM.commands.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and not option.multiple
]


@pytest.mark.parametrize(("command", "option"), ONE_VALUE, ids=lambda one: getattr(one, "name", one))
def test_a_word_says_that_the_last_of_several_values_counts(
    command: str, option: click.Option, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the others ask for is lost. A value is not shown: it may be a secret."""
    given = option.opts[0]
    main([command, given, "ACME", f"{given}=OTHER"])
    said = capsys.readouterr().err
    assert f"{given} is given 2 times: the last value counts" in said
    assert ("with commas" in said) == (option.metavar == "LIST")


def test_the_last_of_several_values_counts(tmp_path: Path) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--account", "ACME-OTHER", "--out", str(tmp_path / "other")) == 0
    assert exports.report(tmp_path / "other")["exported"] == 1
    assert not (tmp_path / "out").exists()


def test_the_same_value_twice_is_one_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--compress", "gzip", "--compress", "gzip") == 0
    assert "times" not in capsys.readouterr().err


def test_which_options_can_be_repeated_is_in_their_help() -> None:
    for command in PROGRAM.commands.values():
        for option in command.params:
            if isinstance(option, click.Option) and option.multiple:
                assert re.search(r"can be repeated|several times", option.help or ""), option.name


@pytest.mark.parametrize("command", ["validate", "push", "log", "quarantine", "query user-history --graph"])
def test_an_empty_folder_is_none(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), ""]) == 2
    assert "is empty; perhaps a shell variable" in capsys.readouterr().err


def test_pseudonyms_without_a_key_are_refused_wherever_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EXPORTER_PSEUDONYMS", "")
    assert exports.export([exports.ndjson([GOOD], tmp_path / "rows.ndjson")], tmp_path / "out") == 2
    assert "names would be exported in clear" in capsys.readouterr().err


def test_a_misspelt_name_gets_a_suggestion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([tmp_path / "rowz.ndjson"], tmp_path / "out") == 2
    assert f"did you mean {tmp_path / 'rows.ndjson'}?" in capsys.readouterr().err


def test_a_missing_file_is_reported_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without Spark, which would start for a table of that name, and leave a folder where it was started."""
    for name in ("rows.ndjson", "rows.ndjson.gz", "lake.rows.parquet"):
        started = time.monotonic()
        assert main(["export", name, "--out", str(tmp_path / "out"), "--account", "A-B"]) == 2
        assert time.monotonic() - started < 1
        assert f"{name}: there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("below", "why"),
    [
        ("file/out", "{}/file is not a folder"),
        ("file/deep/out", "{}/file is not a folder"),
        ("/proc/out", "nothing can be created in /proc"),
        ("/proc/deep/out", "nothing can be created in /proc"),
        ("/dev/null/out", "/dev/null is not a folder"),
        ("n" * 250, "{}: File name too long"),
    ],
)
def test_out_where_no_folder_can_be_made(
    below: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    out = tmp_path / below
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], out) == 2
    said = capsys.readouterr().err
    assert f"{out}: cannot be written: {why.format(tmp_path)}; nothing was changed" in said


def test_a_push_of_a_folder_without_events_says_so_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No backend is set up either; that is not what is wrong first."""
    assert main(["push", str(tmp_path / "nowhere")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
    assert main(["push", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "holds no events" in said
    assert "OPENLINEAGE_URL" not in said
