"""Rows of one view that are given as those of the other are refused, in every format."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from exporter.input import find
from exporter.input.query_history import UNREADABLE, read_history
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.histories import Json

HISTORY = {"QUERY_ID": "q", "START_TIME": "2026-03-01 08:00:00 Z", "QUERY_TEXT": "SELECT '\"query_start_time\": 1'"}


def write(form: str, row: Json, folder: Path) -> Path:
    path = folder / f"{form}.{form}"
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()}
    if form == "parquet":
        parquet.write_table(pa.Table.from_pylist([texts]), path)
    elif form == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(texts))
            writer.writeheader()
            writer.writerow(texts)
    elif form == "json":
        path.write_text(json.dumps([row, row], indent=1), encoding="utf-8")
    else:
        path = folder / "rows.ndjson.gz"
        path.write_bytes(gzip.compress(json.dumps(row).encode()))
    return path


@pytest.mark.parametrize("form", ["ndjson.gz", "json", "csv", "parquet"])
def test_rows_of_access_history_are_no_query_history(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "good.ndjson")
    given = write(form, {name.upper(): value for name, value in GOOD.items()}, tmp_path)
    assert exports.export([rows], tmp_path / "out", "--query-history", str(given)) == 2
    assert f"{given}: these are rows of ACCESS_HISTORY" in capsys.readouterr().err
    assert exports.export([given], tmp_path / "out") == 0


@pytest.mark.parametrize("form", ["ndjson.gz", "json", "csv", "parquet"])
def test_query_history_is_no_input(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, given = exports.ndjson([GOOD], tmp_path / "good.ndjson"), write(form, HISTORY, tmp_path)
    assert exports.export([rows, given], tmp_path / "out") == 2
    assert f"{given}: these are rows of QUERY_HISTORY" in capsys.readouterr().err
    assert exports.export([rows], tmp_path / "out", "--query-history", str(given)) == 0


def test_wrong_rows_that_are_not_detected_at_once_are_reported_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with files of another file system, whose first bytes are not looked at."""
    monkeypatch.setattr(find, "check_files", lambda *_, **__: None)
    rows = exports.ndjson([GOOD, {**GOOD, "query_id": "other"}], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--query-history", str(rows)) == 2
    assert f"none of the 2 rows of {rows} is a row of QUERY_HISTORY" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("line", "is_read"),
    [
        ({"query_id": "q"}, True),
        ({"query_id": "q", "query_text": '{"objects_modified": []}'}, True),
        ({"query_id": "q", "objects_modified": []}, False),
        ({"QUERY_ID": "q", "OBJECTS_MODIFIED": None}, False),
        ({"Query_Id": "q", "Objects_Modified": None}, False),
    ],
)
def test_a_line_of_the_other_view_is_not_read(line: dict[str, Any], *, is_read: bool) -> None:
    """Neither as strict JSON nor as what only the tolerant reader reads."""
    text = json.dumps(line)
    assert (read_history(text) != UNREADABLE) == is_read
    assert (read_history(text.removesuffix("}") + ', "comment": undefined}') != UNREADABLE) == is_read
