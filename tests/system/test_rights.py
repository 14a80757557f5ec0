"""Files and folders that may not be read: named with exit code 2, and never left out without a word."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

LOCAL = ("--account", "ACME-PROD", "--engine", "local")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A folder of rows with a subfolder that has further rows."""
    folder = tmp_path / "rows"
    (folder / "more").mkdir(parents=True)
    exports.ndjson([GOOD], folder / "a.ndjson")
    exports.ndjson([{**GOOD, "query_id": "other"}], folder / "more" / "b.ndjson")
    return folder


def run(*words: object) -> CompletedProcess[str]:
    """A command by somebody whom the modes of files bind."""
    done = exports.without_rights([sys.executable, "-m", "exporter", *map(str, words)])
    assert "Traceback" not in done.stderr
    assert "a fault of the program" not in done.stderr
    return done


@pytest.mark.parametrize("pattern", ["", "/*/*.ndjson", "/**/*.ndjson", "/*/b.ndjson"])
def test_rows_in_a_folder_that_may_not_be_read_are_not_left_out(pattern: str, rows: Path, tmp_path: Path) -> None:
    (rows / "more").chmod(0)
    done = run("export", f"{rows}{pattern}", "--out", tmp_path / "out", *LOCAL)
    (rows / "more").chmod(0o755)
    assert done.returncode == 2, done.stderr
    assert f"{rows / 'more'}: cannot be read: Permission denied" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_pattern_that_does_not_mean_the_folder_needs_no_right_to_it(rows: Path, tmp_path: Path) -> None:
    (rows / "more").chmod(0)
    done = run("export", rows / "*.ndjson", "--out", tmp_path / "out", *LOCAL)
    (rows / "more").chmod(0o755)
    assert done.returncode == 0, done.stderr


def test_a_file_in_a_folder_that_may_not_be_entered_is_named_as_it_was_given(rows: Path, tmp_path: Path) -> None:
    (rows / "more").chmod(0)
    done = run("export", rows / "more" / "b.ndjson", "--out", tmp_path / "out", *LOCAL)
    (rows / "more").chmod(0o755)
    assert done.returncode == 2
    assert f"{rows / 'more' / 'b.ndjson'}: permission denied" in done.stderr


@pytest.mark.parametrize("hidden", [".snapshot", "_tmp"])
def test_a_hidden_folder_is_not_read_whether_it_may_be_or_not(hidden: str, rows: Path, tmp_path: Path) -> None:
    (rows / hidden).mkdir(mode=0)
    done = run("export", rows, "--out", tmp_path / "out", *LOCAL)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export, only to be copied."""
    folder = tmp_path_factory.mktemp("once")
    assert exports.export([exports.ndjson([GOOD], folder / "rows.ndjson")], folder / "out") == 0
    return folder / "out"


@pytest.fixture
def out(once: Path, tmp_path: Path) -> Path:
    """An export whose modes a test may change."""
    return shutil.copytree(once, tmp_path / "out")


def test_triples_in_a_folder_that_may_not_be_read_are_not_left_out(out: Path, tmp_path: Path) -> None:
    graph = tmp_path / "graph"
    for number in (1, 2):
        (graph / str(number)).mkdir(parents=True)
        (graph / str(number) / "a.ttl").write_bytes((out / "graph" / "part-00000.ttl").read_bytes())
    (graph / "2").chmod(0)
    done = run("query", "user-history", graph)
    (graph / "2").chmod(0o755)
    assert done.returncode == 2, done.stderr
    assert f"{graph / '2'}: cannot be read: Permission denied" in done.stderr


@pytest.mark.parametrize(
    "words", [("query", "user-history"), ("push", "--dry-run"), ("validate",), ("log",), ("quarantine",)]
)
@pytest.mark.parametrize("closed", ["", "graph", "events", "report.json"])
def test_the_export_of_somebody_else_is_no_fault_of_the_program(
    words: tuple[str, ...], closed: str, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DIR has the mode 0700, so this is what colleagues meet first."""
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    mode = (out / closed).stat().st_mode
    (out / closed).chmod(0)
    done = run(*words, out)
    (out / closed).chmod(mode)
    assert done.returncode in ({0, 1, 2} if words == ("validate",) else {0, 2}), done.stderr
    if done.returncode or not closed:
        assert "ermission denied" in done.stderr
        assert str(out / closed) in done.stderr
