"""The progress that a terminal shows."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from exporter.engines.export import export
from exporter.input import find
from exporter.settings import Settings
from exporter.system import progress as module
from exporter.system.progress import Progress
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """What the one line that is painted over and over said."""
        return self.getvalue().split("\r\x1b[K")

    def now(self) -> str:
        return self.lines()[-1]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_stages_that_run_together_are_both_named_until_each_is_over() -> None:
    terminal = Terminal()
    shown = Progress(terminal)
    with shown.stage("read"):
        with shown.stage("write"), shown.stage("read"):
            assert "reading rows, validating and writing …" in terminal.now()
        assert "reading rows …" in terminal.now()
        assert "writing" not in terminal.now()
    assert terminal.now() == ""
    assert set(shown.seconds) == {"read", "write"}


def test_what_is_no_terminal_gets_a_line_now_and_then() -> None:
    """By the time since the start, so also where each stage is short."""
    log = io.StringIO()
    shown = Progress(log, every=0.3)
    for _ in range(4):
        with shown.stage("read"):
            shown.counted("rows", 1338)
            time.sleep(0.2)
    lines = log.getvalue().splitlines()
    assert 1 <= len(lines) <= 2
    assert all(re.fullmatch(r"exporter: 0\.\d s  reading rows … 1,338 rows", line) for line in lines)


def test_a_short_run_writes_nothing_to_a_log() -> None:
    log = io.StringIO()
    with Progress(log).stage("read"):
        pass
    assert log.getvalue() == ""


def test_a_terminal_shows_the_time_of_one_long_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.05)
    terminal = Terminal()
    with Progress(terminal).stage("read"):
        time.sleep(0.5)
    shown = terminal.getvalue()
    time.sleep(0.1)
    assert len({line for line in terminal.lines() if "reading rows" in line}) > 2
    assert (terminal.now(), terminal.getvalue()) == ("", shown), "nothing more after its end"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["validate", "out"], ["comparing the files with the manifest …", "validating …"]),
        (["query", "user-history", "out"], ["answering user-history …"]),
        (["quarantine", "out"], ["reading the quarantined rows …"]),
        (["report", "out", "--out", "report.html"], ["making the store …", "writing the report …"]),
        (["reconcile", "out", "declared.ndjson"], ["comparing …"]),
    ],
)
def test_commands_that_can_take_minutes_say_what_they_do(command: list[str], words: list[str], tmp_path: Path) -> None:
    """On a terminal at once, so that it can be seen here; elsewhere by the same stages, a line a minute."""
    rows = exports.ndjson(list(exports.all_rows())[:3], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out") == 0
    (tmp_path / "declared.ndjson").write_text("\n".join(exports.events(tmp_path / "out")), encoding="utf-8")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        subprocess.run(
            [sys.executable, "-m", "exporter", *command],
            cwd=tmp_path,
            stderr=theirs,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        os.close(theirs)
        shown = terminal.read(65536).decode()
    assert [one for one in words if one not in shown] == []
    assert shown.rpartition("…")[2].startswith("\r\x1b[K"), "the line is cleared before what follows"


def test_counts_stay_and_what_is_made_again_counts_once() -> None:
    terminal = Terminal()
    shown = Progress(terminal)
    with shown.stage("write"):
        shown.counted("rows", 1338)
        for number in (1005, 1007):
            shown.counted("nodes", number)
        assert terminal.now().endswith("validating and writing … 1,338 rows, 1,007 nodes")


def test_a_line_is_never_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    with Progress(terminal).stage("answer"):
        assert len(terminal.now()) == 29


@dataclass
class Info:
    numTasks: int  # noqa: N815 - Spark's name
    numCompletedTasks: int  # noqa: N815 - Spark's name


class Tracker:
    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        return [1, 2, 3]

    def getStageInfo(self, number: int) -> Info | None:  # noqa: N802 - Spark's name
        return {1: Info(400, 37), 2: Info(1200, 5)}.get(number)  # the third is over by the time that it is asked for


class Gone(Tracker):
    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        raise ConnectionError("the JVM is gone")


def test_tasks_of_all_stages_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    shown = Progress(terminal)
    monkeypatch.setattr(shown, "_tracker", Tracker())
    with shown.stage("read"):
        assert terminal.now().endswith("reading rows … 42 of 1,600 tasks")
        monkeypatch.setattr(shown, "_tracker", Gone())
        shown.counted("rows", 3)
        assert terminal.now().endswith("reading rows … 3 rows")


def test_nothing_is_shown_where_there_is_no_terminal(spark: SparkSession) -> None:
    stream = io.StringIO()
    shown = Progress(stream)
    shown.watch(spark)
    with shown.stage("read"):
        shown.counted("rows", 3)
    assert stream.getvalue() == ""


def test_sparks_own_pages_call_jobs_by_the_stage(spark: SparkSession) -> None:
    context, name = spark.sparkContext, "spark.job.description"
    context.setJobDescription("of the notebook")
    shown = Progress(io.StringIO())
    shown.watch(spark)
    with shown.stage("read"):
        assert context.getLocalProperty(name) == "reading rows"
    assert context.getLocalProperty(name) == "of the notebook"
    context.setLocalProperty(name, None)
    with shown.stage("write"):
        assert context.getLocalProperty(name) == "validating and writing"
    assert context.getLocalProperty(name) is None


@pytest.mark.usefixtures("spark")
def test_an_export_in_rounds_shows_stages_and_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.01)
    monkeypatch.setattr(find, "SMALL", 0)
    rows = exports.ndjson(list(exports.all_rows())[:20], tmp_path / "rows.ndjson")
    terminal = Terminal()
    report = export(Settings((os.fspath(rows),), str(tmp_path / "out")), Progress(terminal))
    said = terminal.getvalue()
    for words in ("starting Spark", "reading rows", "computing version histories", "validating and writing"):
        assert words in said
    assert " tasks" in said
    assert terminal.now() == ""
    assert report.seconds.keys() >= {"session", "read", "answer", "write", "total"}


def test_an_export_without_spark_is_one_stage(tmp_path: Path) -> None:
    rows = exports.ndjson(list(exports.all_rows())[:3], tmp_path / "rows.ndjson")
    terminal = Terminal()
    report = export(Settings((os.fspath(rows),), str(tmp_path / "out"), engine="local"), Progress(terminal))
    assert "exporting …" in terminal.getvalue()
    assert terminal.now() == ""
    assert report.seconds.keys() == {"export", "total"}


def test_stages_that_run_side_by_side_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    shown = Progress(io.StringIO())
    with shown.stage("read"):
        now += 2
        with shown.stage("answer"), shown.stage("write"):
            now += 3
        now += 1
    now += 1
    assert shown.seconds == {"read": 4.0, "answer": 1.0, "write": 1.0}
    assert shown.total() == 7.0
