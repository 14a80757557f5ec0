"""The program's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter import cli
from exporter.ask import shipped
from exporter.engines import session
from exporter.system.terminal import counted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("number", "expected"), [(0, "0 queries"), (1, "1 query"), (1200, "1,200 queries")])
def test_one_query_and_several_queries(number: int, expected: str) -> None:
    assert counted(number, "query", "queries") == expected


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program one of whose commands fails."""

    def fail(*_: object) -> int:
        raise ValueError("no such thing\nand more lines")

    monkeypatch.delenv("EXPORTER_DEBUG", raising=False)
    monkeypatch.setattr(shipped, "questions", fail)


@pytest.mark.usefixtures("broken")
def test_a_fault_is_a_message_that_names_sparks_log(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spark.log").write_text("user JSMITH, 078-05-1120", encoding="utf-8")
    monkeypatch.setattr(session, "_log", [str(tmp_path / "spark.log")])
    assert cli.main(["queries"]) == 4
    told = capsys.readouterr()
    assert "a fault of the program" in told.err
    assert "ValueError: no such thing\n" in told.err
    assert "more lines" not in told.err
    assert f"Spark's own messages are in {tmp_path / 'spark.log'}" in told.err
    assert "JSMITH" not in told.err + told.out


@pytest.mark.usefixtures("broken")
def test_where_spark_was_not_started_no_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(session, "_log", [])
    assert cli.main(["queries"]) == 4
    assert "Spark's own messages" not in capsys.readouterr().err


@pytest.mark.usefixtures("broken")
def test_the_traceback_is_shown_on_request(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("EXPORTER_DEBUG", "1")
    assert cli.main(["queries"]) == 4, "the exit code stays that of a fault: after 1, schedules go on"
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert "no such thing" in told


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://ana:s3cr3t@host/x", "***@host"),
        ("s3a://ana:s3cr3t@host/x", "***@host"),
        ("s3a://ana:p@w/s3cr3t@host/x", "***@host"),
        ("abfss://box@account/x?sv=1&sig=s3cr3t", "sig=***"),
        ("jdbc:snowflake://host/?user=ana&password=s3cr3t", "password=***"),
    ],
)
@pytest.mark.parametrize(
    "words", [("export", "rows", "--out"), ("query", "user-history"), ("validate",), ("push",), ("log",)]
)
def test_no_password_of_a_uri_is_shown(
    address: str,
    shown: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").write_text("{}\n", encoding="utf-8")
    assert cli.main([*words, address]) == 2
    printed = capsys.readouterr()
    assert "s3cr3t" not in printed.out + printed.err
    assert shown in printed.err
