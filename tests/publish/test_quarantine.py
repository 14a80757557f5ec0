"""``exporter quarantine --rows``: rows come back as they came, to be mended and exported again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from exporter.cli import main
from exporter.publish.quarantine import reasons
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

_LINES = (
    rb'{"query_id":"without a user"}',
    rb'{"query_id":"half \ud800 of a pair"}',
    b'{"query_id":"a byte \xff","comment":"\xc3\xa9 \x1b[31m"}',
    b"no JSON",
    b'{"interval_start_time":"x"}',
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """An export whose quarantine has rows of each form that texts come in."""
    (tmp_path / "rows.ndjson").write_bytes(b"\n".join(_LINES) + b"\n")
    (tmp_path / "rows.json").write_text('[{"query_id":\n  "over two lines"}]', encoding="utf-8")
    columns = "query_id,query_start_time,user_name,direct_objects_accessed,base_objects_accessed,objects_modified"
    (tmp_path / "rows.csv").write_text(f'{columns}\n"line\nend",x,U,[],[],[]\n1,2,3,4,5,6,7,"8\n9"\n', encoding="utf-8")
    files = [tmp_path / f"rows.{ending}" for ending in ("ndjson", "json", "csv")]
    assert exports.export(files, tmp_path / "out", "--allow-empty") == 0
    return tmp_path / "out"


def rows(out: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> tuple[list[bytes], str]:
    capfdbinary.readouterr()
    assert main(["quarantine", str(out), "--rows"]) == 0
    printed = capfdbinary.readouterr()
    return printed.out.splitlines(), printed.err.decode()


def test_each_row_is_a_line_as_it_came(out: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    given, said = rows(out, capfdbinary)
    lines = [*_LINES[:2], _LINES[2].replace(b"\xff", rb"\udcff"), *_LINES[3:]]
    assert set(given) >= set(lines)
    assert b'{"query_id":   "over two lines"}' in given
    csv = [json.loads(line) for line in given if b"line" in line and b"end" in line]
    assert csv[0]["query_id"] == "line\nend"
    assert json.dumps({"as_it_came": '1,2,3,4,5,6,7,"8\n9"'}).encode() in given
    assert len(given) == 8
    assert "1 row with bytes that are not UTF-8" in said
    assert "2 rows not JSON" in said
    assert "1 row of AGGREGATE_ACCESS_HISTORY" in said


def test_given_again_unchanged_they_are_quarantined_as_before(
    out: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Nothing is exported by mistake, such as an id with a replaced byte, and nothing is lost."""
    given, _ = rows(out, capfdbinary)
    (tmp_path / "again.ndjson").write_bytes(b"\n".join(given) + b"\n")
    assert exports.export([tmp_path / "again.ndjson"], tmp_path / "second", "--allow-empty") == 0
    report = exports.report(tmp_path / "second")
    assert (report["rows_in"], report["quarantined"]) == (8, 8)
    assert rows(tmp_path / "second", capfdbinary)[0] == given


def test_a_mended_row_is_exported_and_no_longer_given(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    bad = {name: value for name, value in GOOD.items() if name != "user_name"}
    first = exports.ndjson([{**GOOD, "query_id": "good"}, bad, {"query_id": "other"}], tmp_path / "first.ndjson")
    assert exports.export([first], tmp_path / "out", "--update") == 0
    given, _ = rows(tmp_path / "out", capfdbinary)
    assert [json.loads(line) for line in given] == [bad, {"query_id": "other"}]
    mended = exports.ndjson([{**json.loads(given[0]), "user_name": "JSMITH"}], tmp_path / "mended.ndjson")
    assert exports.export([mended], tmp_path / "out", "--update") == 0
    left, said = rows(tmp_path / "out", capfdbinary)
    assert left == [b'{"query_id": "other"}']
    assert "1 row not written: a later run exported the query" in said


def test_a_row_that_every_run_is_given_is_one_row_and_stays_mended(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """As by the line for every day, whose folder of inputs still has the bad file."""
    bad = {name: value for name, value in GOOD.items() if name != "user_name"}
    first = exports.ndjson([{**GOOD, "query_id": "good"}, bad], tmp_path / "first.ndjson")
    for _ in range(12):  # the tenth run is sorted before the second by name
        assert exports.export([first], tmp_path / "out", "--update") == 0
    assert [json.loads(line) for line in rows(tmp_path / "out", capfdbinary)[0]] == [bad]
    (group,) = reasons(tmp_path / "out")
    assert (group["rows"], group["given_again"]) == (1, 0)
    mended = exports.ndjson([{**bad, "user_name": "JSMITH"}], tmp_path / "mended.ndjson")
    assert exports.export([first, mended], tmp_path / "out", "--update") == 0
    assert exports.export([first], tmp_path / "out", "--update") == 0
    assert rows(tmp_path / "out", capfdbinary)[0] == []
    (group,) = reasons(tmp_path / "out")
    assert (group["rows"], group["given_again"]) == (1, 1)


def test_a_row_whose_text_is_not_kept_is_told(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "key").write_text("k" * 32)
    (tmp_path / "rows.ndjson").write_text("JSMITH was here\n")
    options = ("--pseudonyms", str(tmp_path / "key"), "--allow-empty")
    assert exports.export([tmp_path / "rows.ndjson"], tmp_path / "out", *options) == 0
    given, said = rows(tmp_path / "out", capfdbinary)
    assert given == []
    assert "the text of such a row is not kept" in said
    assert f"{tmp_path / 'rows.ndjson'}, line 1" in said


def test_rows_are_json_already(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quarantine", str(out), "--rows", "--json"]) == 2
    assert "give --rows or --json" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "no JSON", "[1]", "{}", '{"reason": "x"}', '{"reason": 1, "as_it_came": "x"}'])
def test_a_line_that_no_export_wrote_is_damage_and_no_fault_of_the_program(
    text: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = min((out / "quarantine").glob("*.ndjson"))
    path.write_text(text.ljust(path.stat().st_size - 1) + "\n", encoding="utf-8")
    for options in ([], ["--rows"], ["--json"]):
        assert main(["quarantine", str(out), *options]) == 2
        assert f"{path}, line 1: is damaged; exporter validate {out} lists" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "5", "[]", "[1]", "{}", "[{}]", '[{"run": 1, "rows_in": "1"}]', '{"version": "1"}']
)
def test_runs_of_a_damaged_log_or_report_are_not_listed(
    text: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a damaged file of the right size."""
    updated = out.parent / "updated"
    assert exports.export([out.parent / "rows.ndjson"], updated, "--update", "--allow-empty") == 0
    for path in (out / "report.json", updated / "log.json"):
        path.write_text(text.ljust(path.stat().st_size), encoding="utf-8")
        for options in ([], ["--json"]):
            capsys.readouterr()
            assert main(["log", str(path.parent), *options]) == 2
            assert f"{path.name}: is damaged; exporter validate {path.parent} lists" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[1]", "5", '{"settings": 5}', "no JSON"])
def test_an_update_of_a_folder_with_another_manifest_is_refused(
    text: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (out / "manifest.json").write_text(text, encoding="utf-8")
    assert main(["export", str(out.parent / "rows.ndjson"), "--engine", "local", "--out", str(out), "--update"]) == 2
    assert "was not made by an export" in capsys.readouterr().err
