"""Every command, option and exit code is tried: ``tests/cli/tries.py`` has the command lines, which are run here."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Final

import pytest

from exporter import cli
from exporter.cli import PROGRAM, configuration
from tests import exports, pages
from tests.backends.hostile import Hostile, Reply
from tests.cli.tries import CHOICES, TRIES, Elsewhere, Tried, Try, visible_params
from tests.cli.tries_of_settings import OPTIONS, PUSH, SERVE, TABLES
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HERE: Final = {key: one for key, one in TRIES.items() if isinstance(one, Try)}


def test_every_option_is_tried_and_no_other() -> None:
    there = {(name, option) for name in PROGRAM.commands for option in visible_params(name)}
    there |= {("", "--help"), ("", "--version")}
    assert there - TRIES.keys() == set(), "add a small try of these to tests/cli/tries.py"
    assert TRIES.keys() - there == set(), "these options are no more: take them out of tests/cli/tries.py"


def test_every_choice_is_tried() -> None:
    made = {
        (shlex.split(line)[0], word)
        for one in HERE.values()
        for line in one.line.split("&&")
        for text in shlex.split(line)
        for word in text.split(",")
    }
    there = {
        (name, option, str(choice))
        for name in PROGRAM.commands
        for option, param in visible_params(name).items()
        for choice in getattr(param.type, "choices", ())
    }
    untried = {one for one in there if (one[0], one[2]) not in made}
    assert untried - CHOICES.keys() == set(), "add a try with these values to tests/cli/tries.py"
    assert CHOICES.keys() - untried == set(), "these are tried, or are no more: take them out of tests/cli/tries.py"


@pytest.mark.parametrize("key", CHOICES, ids=" ".join)
def test_a_choice_that_is_tried_elsewhere_is(key: tuple[str, str, str]) -> None:
    file = CHOICES[key].file
    assert f'"{key[2]}"' in pages.text(file), f'add a test to {file} that has {" ".join(key)} as "{key[2]}"'


@pytest.mark.parametrize("key", [key for key, one in TRIES.items() if isinstance(one, Elsewhere)], ids=" ".join)
def test_what_is_tried_elsewhere_is(key: tuple[str, str]) -> None:
    name, option = key
    said = TRIES[key]
    assert isinstance(said, Elsewhere)
    text = pages.text(said.file)
    assert f'"{name}"' in text
    assert not option.startswith("--") or f'"{option}"' in text, f"{said.file} does not try {name} {option}"


# --- the folder of a try ----------------------------------------------------------------------------------------------

SHAPES: Final = """
@prefix ah: <https://w3id.org/access-history#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
<https://example.org/rules#Own> a sh:NodeShape ; sh:targetClass ah:Query ;
    sh:property <https://example.org/rules#Own-tag> .
<https://example.org/rules#Own-tag> sh:path ah:queryTag ; sh:minCount 1 ; sh:severity sh:Warning ;
    sh:message "my own rule" .
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tries")
    read = [{**GOOD["direct_objects_accessed"][0], "columns": [{"columnName": "C", "columnId": 1}]}]
    good = {**GOOD, "direct_objects_accessed": read, "base_objects_accessed": read}
    other = {**good, "query_id": "other", "query_start_time": "2026-03-02 08:00:00 +0000"}
    exports.ndjson([good, good, other, {"query_id": "bad"}], folder / "rows.ndjson")
    exports.ndjson([{"query_id": "bad"}], folder / "bad.ndjson")
    exports.ndjson(
        [{**good, "query_id": "later", "query_start_time": "2026-03-07 08:00:00 Z"}], folder / "later.ndjson"
    )
    history = f"query_id,warehouse_name,query_text\n{GOOD['query_id']},WH,SELECT 7\n"
    (folder / "history.csv").write_text(history, encoding="utf-8")
    calls = dict.fromkeys(("direct_objects_accessed", "base_objects_accessed"), read)
    times = {f"interval_{name}_time": f"2026-03-01T08:0{minute}:00Z" for minute, name in enumerate(("start", "end"))}
    exports.ndjson([{**times, "user_name": "APP", "calls": 120, **calls}], folder / "calls.ndjson")
    (folder / "own").mkdir()
    (folder / "own" / "shapes.ttl").write_text(SHAPES, encoding="utf-8")
    (folder / "own.rq").write_text(
        "SELECT DISTINCT ?name { ?q <https://w3id.org/access-history#userName> ?name }", "utf-8"
    )
    (folder / "key").write_bytes(b"0123456789abcdef")
    chosen = 'account = "of-settings"\nengine = "local"\n[push]\nprofile = "openmetadata"\n'
    (folder / "settings.toml").write_text(chosen, encoding="utf-8")
    nodes = {"model.p.t": {"resource_type": "model", "relation_name": "d.s.t", "depends_on": {"nodes": ["source.p.t"]}}}
    sources = {"source.p.t": {"resource_type": "source", "relation_name": "d.s.t"}}
    declared = {"metadata": {"adapter_type": "snowflake"}, "nodes": nodes, "sources": sources}
    (folder / "manifest.json").write_text(json.dumps(declared), encoding="utf-8")
    client = "transport:\n  type: file\n  log_file_path: events.ndjson\n  append: true\n"
    (folder / "openlineage.yml").write_text(client, encoding="utf-8")
    for out, option in (("made", "--strict"), ("updated", "--update")):
        exports.export([folder / "rows.ndjson"], folder / out, option)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith("OPENLINEAGE")]:
        monkeypatch.delenv(name)
    return tmp_path / "here"


@pytest.mark.parametrize("key", HERE, ids=lambda key: f"{key[0]} {key[1]}".strip())
def test_tries(key: tuple[str, str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = HERE[key]
    *before, last = one.line.split(" && ")
    for line in before:
        assert cli.main(shlex.split(line)) == 0
    capsys.readouterr()
    code = cli.main(shlex.split(last))
    tried = Tried(code, *capsys.readouterr(), folder)
    assert code == one.code, tried
    assert one.holds(tried), tried
    assert not re.search(r"Traceback|[A-Z]\w+(Error|Exception)\b|object at 0x|\bNone\b", tried.out + tried.err), tried


# --- exit codes -------------------------------------------------------------------------------------------------------


def run(folder: Path, *words: str, most: int | None = None, **environ: str) -> tuple[int, str]:
    """How a program of its own ends, and what it says on standard error. ``most``: bytes that a file may have."""

    def limit() -> None:
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    command = [sys.executable, "-m", "exporter", *words]
    env = {**os.environ, **environ}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, preexec_fn=limit, check=False)
    return done.returncode, done.stderr


EXPORT: Final = ("export", "rows.ndjson", "--engine", "local", "--account", "A-B", "--out", "out")


def refused(folder: Path) -> tuple[int, str]:
    return run(folder, *EXPORT, "--strict")


def wrong(folder: Path) -> tuple[int, str]:
    return run(folder, "export", "nowhere.ndjson", "--out", "out", "--account", "A-B")


def not_delivered(folder: Path) -> tuple[int, str]:
    (folder / "openlineage.yml").unlink()
    with Hostile(lambda _: Reply(401)) as server:
        return run(folder, "push", "made", OPENLINEAGE_URL=server.url)


def broken(folder: Path) -> tuple[int, str]:
    return run(folder, *EXPORT, most=500)


def interrupted(folder: Path) -> tuple[int, str]:
    """A push that nobody answers, which a person ends."""
    (folder / "openlineage.yml").unlink()
    with Hostile(lambda _: Reply(hang=1)) as server:
        command = [sys.executable, "-m", "exporter", "push", "made"]
        env = {**os.environ, "OPENLINEAGE_URL": server.url}
        with subprocess.Popen(command, cwd=folder, env=env, stderr=subprocess.PIPE, text=True) as process:
            while not server.asked and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        return process.returncode, said


CODES: Final[dict[int, tuple[Callable[[Path], tuple[int, str]], str]]] = {
    0: (lambda folder: run(folder, *EXPORT), ""),
    1: (refused, ""),
    2: (wrong, "nowhere.ndjson: there is no such file"),
    3: (not_delivered, "did not accept all events: 401"),
    4: (broken, "a file has become larger than the system allows"),
    130: (interrupted, "interrupted; what was delivered is recorded"),
}
"""Exit code -> what ends with it, and what is said."""


@pytest.mark.parametrize("code", CODES)
def test_exit_codes(code: int, folder: Path) -> None:
    ended, words = CODES[code]
    found, said = ended(folder)
    assert (found, words in said, "Traceback" in said) == (code, True, False), said


def test_every_exit_code_is_tried() -> None:
    documented = pages.named(pages.sections(pages.text("docs/interface.md"))["Exit codes"])
    assert {int(code) for code in documented} == CODES.keys()


# --- settings ---------------------------------------------------------------------------------------------------------


def test_every_setting_is_tried_and_no_other() -> None:
    documented = pages.named(pages.sections(pages.text("docs/interface.md"))["Settings"])
    tried = OPTIONS.keys() | TABLES.keys() | {f"push.{name}" for name in PUSH}
    tried |= {f"serve.{name}" for name in SERVE}
    assert documented - tried == set(), "add a small try of these to tests/cli/tries_of_settings.py"
    assert tried - documented == set(), "these are no more: take them out of tests/cli/tries_of_settings.py"


def _toml(folder: Path, table: str, name: str, value: str) -> Path:
    file = folder / "one.toml"
    file.write_text(f"{f'[{table}]' if table else ''}\n{name} = {value}\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("name", SERVE)
def test_settings_of_pages_are_read_and_an_export_does_not_mind_them(name: str, folder: Path) -> None:
    value, given = SERVE[name]
    file = _toml(folder, "serve", name, value)
    assert configuration.load_serve(file, {}) == given
    assert configuration.load({"inputs": ("rows.ndjson",), "out": "out"}, file, {}).out == "out"


@pytest.mark.parametrize("name", OPTIONS)
def test_file_environment_and_command_line_mean_the_same(name: str, folder: Path) -> None:
    value, given = OPTIONS[name]
    base = {"inputs": ("rows.ndjson",), "out": "out"}
    text = ",".join(given) if isinstance(given, list) else str(given).lower() if isinstance(given, bool) else str(given)
    by_line = configuration.load({**base, name: given}, None, {})
    assert configuration.load(base, _toml(folder, "", name, value), {}) == by_line
    assert configuration.load(base, None, {f"EXPORTER_{name.upper()}": text}) == by_line
    assert configuration.load(base, None, {}) != by_line or name == "changes"


@pytest.mark.parametrize("key", TABLES)
def test_settings_of_tables(key: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, _, name = key.partition(".")
    (folder / "users.txt").write_text("WH\n", encoding="utf-8")
    _toml(folder, table, name, TABLES[key].toml)
    line = (
        "export rows.ndjson --engine local --account ACME-PROD --out out --query-history history.csv --config one.toml"
    )
    code = cli.main([*shlex.split(line), "--allow-empty", *shlex.split(TABLES[key].options)])
    tried = Tried(code, *capsys.readouterr(), folder)
    assert code == 0, tried
    assert TABLES[key].holds(tried), tried


@pytest.mark.parametrize("name", PUSH)
def test_settings_of_a_push(name: str, folder: Path) -> None:
    value, given = PUSH[name]
    by_file = configuration.load_push({}, _toml(folder, "push", name, value), {})
    assert by_file == configuration.load_push({name: given}, None, {})
    assert by_file != configuration.load_push({}, None, {})
