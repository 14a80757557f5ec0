"""Faults of the system end in a message, and the next run continues with the DIR that they leave.

The faults are those of ``python -m benchmarks.faults``, which causes more of each.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from benchmarks import faults as made
from benchmarks import kills
from benchmarks.victims import DAEMON, JAVA
from exporter.cli import main
from exporter.system import faults
from exporter.system import faults as watch
from tests import exports, golden
from tests.input.bad_rows import GOOD

KILLS = 4


@pytest.fixture
def rows(tmp_path: Path) -> tuple[Path, Path]:
    return kills.rows(tmp_path, 120)


# --- killed -----------------------------------------------------------------------------------------------------------


def test_exports_that_are_killed(rows: tuple[Path, Path], tmp_path: Path) -> None:
    first, rest = rows
    given = kills.export(rest, tmp_path / "out", "--replace", "--force")
    seen = kills.writing(tmp_path, [kills.export(first, tmp_path / "out")], given, KILLS, Random(1))
    assert seen.found["old"] + seen.found["new"] == seen.kills == KILLS


def test_first_exports_that_are_killed(rows: tuple[Path, Path], tmp_path: Path) -> None:
    seen = kills.writing(tmp_path, [], kills.export(rows[0], tmp_path / "out"), KILLS, Random(2))
    assert seen.found["no output yet"] + seen.found["new"] == seen.kills == KILLS


def test_updates_that_are_killed(rows: tuple[Path, Path], tmp_path: Path) -> None:
    """The last day of the first file and the first days of the other, which begins with the same day."""
    keep_days(rows[0], slice(-1, None))
    keep_days(rows[1], slice(2))
    first, rest = (kills.export(one, tmp_path / "out", "--update") for one in rows)
    seen = kills.writing(tmp_path, [first], rest, KILLS, Random(4))
    assert seen.found["old"] + seen.found["new"] == seen.kills == KILLS


def keep_days(file: Path, which: slice) -> None:
    """Leaves only the rows of these days: an update makes each of its days by itself."""
    lines = file.read_text("utf-8").splitlines(keepends=True)
    days = [json.loads(line)["query_start_time"][:10] for line in lines]
    kept = sorted(set(days))[which]
    file.write_text("".join(line for line, day in zip(lines, days, strict=True) if day in kept), "utf-8")


def test_pushes_that_are_killed(tmp_path: Path) -> None:
    assert kills.pushing(tmp_path, KILLS, Random(3)).kills == KILLS


@pytest.mark.jvm
@pytest.mark.parametrize("victim", [DAEMON, JAVA])
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_process_of_spark_that_is_killed(victim: str, rows: tuple[Path, Path], tmp_path: Path) -> None:
    assert "killed, or out of memory" in made.spark(rows[0], tmp_path / "out", victim)


# --- without room -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a disk for one process")
@pytest.mark.parametrize("fault", [made.disk_full, made.read_only])
def test_disks(fault: object, rows: tuple[Path, Path], tmp_path: Path) -> None:
    told = fault(rows[0], tmp_path)
    if told.startswith("not tried"):
        pytest.skip(told)


@pytest.mark.parametrize("limit", [20_000, 5])
def test_a_file_that_may_not_grow(limit: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The limit of a user, and much like a full disk; in this process. Nothing is left, wherever it was met."""
    import resource  # noqa: PLC0415 - of Unix alone

    given = exports.ndjson([{**GOOD, "query_id": f"q{n}"} for n in range(50)], tmp_path / "rows.ndjson")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        code = exports.export([given], tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    said = capsys.readouterr().err
    assert code == 4
    assert "a file has become larger than the system allows; nothing was published" in said
    assert "report it" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["rows.ndjson"]


def test_memory(rows: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "MEMORY", (30, 60, 90))
    assert made.memory(rows[0], tmp_path / "out")


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space", "/disk/file"), "/disk/file: the disk is full; so far. To go on, free space"),
        (PermissionError(errno.EACCES, "denied", "/file"), "/file: permission denied; so far"),
        (MemoryError(), "memory has run out; so far"),
        (RuntimeError("x: java.io.IOException: No space left on device\n\tat org"), "the disk is full; so far"),
        (RuntimeError("SparkException: Python worker exited unexpectedly (crashed)"), "a worker of Spark was lost"),
        (RuntimeError("java.lang.OutOfMemoryError: Java heap space 'a row'"), "Spark's memory has run out"),
    ],
)
def test_a_fault_of_the_system_is_reported_with_what_helps(error: Exception, words: str) -> None:
    told = faults.words(error, "so far") or ""
    assert told.startswith(words)
    assert told.endswith("start it again")
    assert "a row" not in told


@pytest.mark.parametrize("error", [KeyError("a"), ValueError("disk"), FileNotFoundError(errno.ENOENT, "no", "/a")])
def test_a_fault_of_the_program_has_no_such_advice(error: Exception) -> None:
    assert faults.words(error, "so far") is None


WATCHED = "import os, signal, sys\nfrom exporter.system import faults\nwith faults.report_when_killed():\n    "


@pytest.mark.parametrize(
    ("ends", "code", "is_told"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, True),
        ("os.abort()", -signal.SIGABRT, True),
        ("pass", 0, False),
        ("sys.exit(3)", 3, False),
        ("raise KeyError", 1, False),
    ],
)
def test_a_silent_end_is_reported_by_another_process(ends: str, code: int, *, is_told: bool) -> None:
    env = {**os.environ, "PYTHONPATH": str(golden.ROOT)}
    done = subprocess.run([sys.executable, "-c", WATCHED + ends], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert (watch._WORDS in done.stderr) == is_told


class AskedOfJava(Exception):  # noqa: N818 - it stands for py4j's
    """Like py4j's: its words are in another process, which has ended."""

    def __str__(self) -> str:
        raise ConnectionRefusedError(111, "Connection refused")


def test_an_exception_whose_message_is_lost_with_java_is_reported() -> None:
    told = faults.words(AskedOfJava(), "DIR is as it was")
    assert told is not None
    assert told.startswith("Spark's process has ended")


def test_only_the_program_itself_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise AssertionError

    monkeypatch.setattr(os, "fork", fork)
    assert main(["queries"]) == 0


def test_a_folder_that_is_gone_is_told_from_a_file_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Python's errors for the two are the same, except that the first names no file."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    with pytest.raises(FileNotFoundError) as other:
        (tmp_path / "other").read_text("utf-8")
    gone.rmdir()
    with pytest.raises(FileNotFoundError) as lost:
        Path.cwd()
    assert "was removed or replaced; DIR is as it was" in (faults.words(lost.value, "DIR is as it was") or "")
    assert faults.words(other.value, "DIR is as it was") is None
