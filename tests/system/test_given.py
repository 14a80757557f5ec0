"""Files that a person names are read or refused in words: none of them hangs, and no row stops the list of the
quarantine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from exporter.cli import main
from exporter.system import files
from tests import exports
from tests.input.bad_rows import GOOD

KEY: Final = "k" * 32
EVENTS: Final = Path(__file__).parents[2] / "examples" / "reconcile" / "events.ndjson"
CONTENT: Final = {"--config": 'account = "A-B"\n', "--pseudonyms": KEY, "users": "JSMITH\n"}


def options(what: str, path: str, folder: Path) -> list[str]:
    """The options by which an export reads the file."""
    if what != "users":
        return [what, path]
    (folder / "key").write_text(KEY)
    (folder / "settings.toml").write_text(f"[privacy]\nusers = {json.dumps(path)}\n")
    return ["--pseudonyms", str(folder / "key"), "--config", str(folder / "settings.toml")]


def export(what: str, path: str, folder: Path) -> int:
    rows = exports.ndjson([GOOD], folder / "rows.ndjson")
    return main(["export", str(rows), "--engine", "local", "--out", str(folder / "out"), *options(what, path, folder)])


@pytest.mark.parametrize("what", CONTENT)
def test_a_pipe_that_nobody_writes_is_refused(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    os.mkfifo(tmp_path / "pipe")
    assert export(what, str(tmp_path / "pipe"), tmp_path) == 2
    assert "it is a pipe, which nobody wrote and closed within" in capsys.readouterr().err


def test_a_pipe_that_is_never_closed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    read, write = os.pipe()
    os.write(write, b"some")
    with pytest.raises(OSError, match="nobody wrote and closed"):
        files.read(f"/dev/fd/{read}", 100)
    os.close(write)
    os.close(read)


@pytest.mark.parametrize("what", CONTENT)
def test_a_pipe_of_the_shell_is_read(what: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    threading.Thread(target=lambda: (os.write(write, CONTENT[what].encode()), os.close(write))).start()
    assert export(what, f"/dev/fd/{read}", tmp_path) == 0
    os.close(read)


@pytest.mark.parametrize("what", CONTENT)
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/full", "/dev/random", "/dev/tty", "/dev"])
def test_a_device_or_folder_is_refused(
    what: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(what, path, tmp_path) == 2
    assert f"{path}: " in capsys.readouterr().err


def test_the_null_device_is_an_empty_file(tmp_path: Path) -> None:
    assert export("--config", os.devnull, tmp_path) == 0
    assert export("users", os.devnull, tmp_path / ".") == 2, "it exists already"


def test_no_more_is_read_than_is_needed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 1_000_000)
    assert files.read(tmp_path / "file", 100_000) == b"x" * 100_000
    assert files.read(tmp_path / "file", 2_000_000) == b"x" * 1_000_000


# --- the quarantine ---


@pytest.mark.parametrize(
    "text",
    [
        r'{"query_id": "a\ud800b", "user_name": "U"}',
        r'{"query_id": "\udfff"}',
        r'{"QUERY_ID": "\ud83d", "user_name": "\udc00"}',
        r'{"query_id": ["\ud800"]}',
        '{"query_id": "a\x00b"}',
        '{"query_id": "x", "\ud800": 1}',
    ],
)
@pytest.mark.parametrize("is_json", [True, False])
def test_halves_of_characters_do_not_stop_the_list(
    text: str, *, is_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.ndjson"
    rows.write_bytes(text.encode("utf-8", "surrogatepass") + b"\n" + json.dumps(GOOD).encode() + b"\n")
    assert exports.export([rows], tmp_path / "out", "--update") == 0
    assert main(["quarantine", str(tmp_path / "out"), *(["--json"] if is_json else [])]) == 0
    assert "rows.ndjson" in capsys.readouterr().out


def test_the_list_is_printed_whatever_the_encoding_of_the_terminal(tmp_path: Path) -> None:
    rows = tmp_path / "rows.ndjson"
    rows.write_text(r'{"query_id": "a\ud800b"}' + "\n" + json.dumps(GOOD) + "\n")
    assert exports.export([rows], tmp_path / "out", "--update") == 0
    command = [sys.executable, "-m", "exporter", "quarantine", str(tmp_path / "out")]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("pipe", "words"),
    [
        ("graph/more.ttl", ["validate", "query user-history", "report --out r.html", f"reconcile {EVENTS}", "serve"]),
        ("events/more.ndjson", ["push"]),
        ("quarantine/more.ndjson", ["quarantine", "quarantine --rows"]),
        ("manifest.json", ["validate", "log", "query user-history", "export --update"]),
    ],
)
def test_a_pipe_in_the_folder_of_an_export_is_not_waited_for(pipe: str, words: list[str], tmp_path: Path) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    out = tmp_path / "out"
    assert main(["export", str(rows), "--engine", "local", "--account", "A-B", "--out", str(out), "--update"]) == 0
    (out / pipe).parent.mkdir(exist_ok=True)
    (out / pipe).unlink(missing_ok=True)
    os.mkfifo(out / pipe)
    for command, *rest in map(str.split, words):
        question = [rest.pop(0)] if command == "query" else []
        where = [str(rows), "--engine", "local", "--out", str(out)] if command == "export" else [str(out)]
        port = ["--port", "0"] if command == "serve" else []
        done = subprocess.run(
            [sys.executable, "-m", "exporter", command, *question, *where, *rest, *port],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=tmp_path,
            env={**os.environ, "OPENLINEAGE_URL": "http://127.0.0.1:9"},
        )
        assert done.returncode in (0, 1, 2), done.stderr
        if pipe != "manifest.json":
            said = "is a pipe or a device" if command == "validate" else "is not in manifest.json"
            assert (done.returncode, f"{pipe}: {said}" in done.stderr) == (2, True), done.stderr
