"""What the program says to a person."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exporter import cli, jvm, terminal

SECRET = "user JSMITH, 078-05-1120"


@pytest.mark.parametrize(("number", "expected"), [(0, "0 queries"), (1, "1 query"), (1200, "1,200 queries")])
def test_one_query_and_several_queries(number: int, expected: str) -> None:
    assert terminal.counted(number, "query", "queries") == expected


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program whose every command fails, with a temporary folder of its own."""

    def fail(*_: object) -> int:
        raise ValueError("no such thing\nand more lines")

    monkeypatch.delenv("EXPORTER_DEBUG", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(cli, "_queries", fail)


@pytest.mark.usefixtures("broken")
def test_a_fault_is_told_in_words_and_what_the_engine_said_stays_on_the_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jvm, "said", lambda: f"ERROR {SECRET}")
    assert cli.main(["queries"]) == 4
    told = capsys.readouterr()
    assert "a fault of the program" in told.err
    assert "ValueError: no such thing\n" in told.err
    assert SECRET not in told.err + told.out
    (path,) = (Path(one) for one in re.findall(r"\S+exporter-fault-\S+\.log", told.err))
    assert SECRET in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("broken")
def test_where_the_engine_said_nothing_there_is_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jvm, "said", lambda: "")
    assert cli.main(["queries"]) == 4
    assert "exporter-fault" not in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
