"""An export with no rows, or far fewer than the output that it would replace, replaces nothing unless it is forced."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests import exports
from tests.input.bad_rows import BAD_ROWS, GOOD
from tests.publish.test_publication import files

if TYPE_CHECKING:
    from pathlib import Path

BAD: Final = next(line for line, reason in BAD_ROWS if "yesterday" in line)


def rows(path: Path, count: int) -> Path:
    return exports.ndjson([{**GOOD, "query_id": f"q{number}"} for number in range(count)], path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An export of ten rows."""
    assert exports.export([rows(tmp_path / "ten.ndjson", 10)], tmp_path / "out") == 0
    return tmp_path / "out"


def export(out: Path, given: Path, *options: str) -> int:
    return exports.export([given], out, "--replace", *options)


def test_unreadable_rows_replace_nothing(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As it was when it was tried: a file of other rows, exit code 0, and the good output gone."""
    given = out.parent / "other.ndjson"
    given.write_text(f"{BAD}\n" * 3 + '{"name": "Ada", "city": "London"}\n', encoding="utf-8")
    before = files(out)
    assert export(out, given) == 2
    said = capsys.readouterr().err
    assert f"none of the 4 rows can be exported; {out} is unchanged" in said
    assert f"query_start_time cannot be read as a time ({given}, line 1)" in said
    assert "query_id is missing" in said
    assert "yesterday" not in said, "what a row had is not told"
    assert "--allow-empty" in said
    assert files(out) == before
    assert export(out, given, "--allow-empty") == 0
    assert (exports.report(out)["exported"], len(exports.quarantine(out))) == (0, 4)


def test_an_input_without_rows_replaces_nothing(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (out.parent / "none.ndjson").write_text("\n")
    before = files(out)
    assert export(out, out.parent / "none.ndjson") == 2
    assert f"there are no rows in {out.parent / 'none.ndjson'}; {out} is unchanged" in capsys.readouterr().err
    assert files(out) == before
    assert export(out, out.parent / "none.ndjson", "--allow-empty") == 0
    assert exports.report(out)["rows_in"] == 0


@pytest.mark.parametrize(
    ("count", "options", "code"),
    [
        (5, [], 0),
        (4, [], 2),
        (4, ["--force"], 0),
        (4, ["--min-rows", "4"], 0),
        (4, ["--min-rows", "0"], 0),
        (9, ["--min-rows", "10"], 2),
        (9, ["--min-rows", "10", "--force"], 0),
    ],
)
def test_an_export_much_smaller_than_the_old_one_asks_for_force(
    count: int, options: list[str], code: int, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(out)
    assert export(out, rows(out.parent / "fewer.ndjson", count), *options) == code
    said = capsys.readouterr().err
    if code:
        assert ("fewer than half of the 10" in said) == (not options)
        assert "--force" in said
        assert files(out) == before
    else:
        assert exports.report(out)["exported"] == count


def test_a_first_export_is_measured_by_min_rows_alone(tmp_path: Path) -> None:
    given = rows(tmp_path / "rows.ndjson", 3)
    assert exports.export([given], tmp_path / "out", "--min-rows", "4") == 2
    assert not (tmp_path / "out").exists()
    assert exports.export([given], tmp_path / "out", "--min-rows", "3") == 0


def test_an_old_report_that_was_changed_is_replaced_with_force(out: Path) -> None:
    (out / "report.json").write_text("{")
    fewer = rows(out.parent / "fewer.ndjson", 1)
    assert export(out, fewer) == 2
    assert export(out, fewer, "--force") == 0


def test_settings_and_environment(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given, settings = rows(out.parent / "fewer.ndjson", 1), out.parent / "settings.toml"
    settings.write_text("min_rows = 2\n")
    assert export(out, given, "--config", str(settings)) == 2
    monkeypatch.setenv("EXPORTER_MIN_ROWS", "1")
    assert export(out, given, "--config", str(settings)) == 0
    monkeypatch.setenv("EXPORTER_MIN_ROWS", "few")
    assert export(out, given) == 2
    assert "EXPORTER_MIN_ROWS must be a whole number" in capsys.readouterr().err
    settings.write_text('min_rows = "2"\n')
    monkeypatch.delenv("EXPORTER_MIN_ROWS")
    assert export(out, given, "--config", str(settings)) == 2
    assert "min_rows must be a whole number" in capsys.readouterr().err
    assert export(out, given, "--min-rows=-1") == 2
    assert json.loads((out / "manifest.json").read_text())["settings"]["min_rows"] == 1
