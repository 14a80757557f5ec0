"""SQL text and values of bind variables are in no output, whatever columns rows of ACCESS_HISTORY have."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
import pytest

from exporter.engines import records
from exporter.input import formats
from exporter.system import files
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SQL: Final[dict[str, Any]] = {
    "query_text": "select 'ZQSECRET' from t",
    "BIND_VALUES": '{"1": "ZQSECRET"}',
    "bind_variables": ["ZQSECRET"],
    "sql_text_2": "ZQSECRET",
}
TABLE: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "OK.S.T"}
INSIDE: Final = [{**TABLE, "queryText": "ZQSECRET", "newKey": "kept"}]


def row(number: int, **columns: Any) -> dict[str, Any]:
    return {**GOOD, "query_id": f"q{number}", "direct_objects_accessed": [TABLE], **columns}


def written(out: Path) -> Iterator[tuple[str, str]]:
    """Each file of an export with all that is in it."""
    for path in sorted(one for one in out.rglob("*") if one.is_file()):
        if path.suffix == ".parquet":
            yield str(path), repr(pq.read_table(path).to_pylist())
        else:
            yield str(path), files.text(path)


def found(out: Path) -> list[str]:
    """The files that have a part of it; the name of the folder, which is drawn, can have these letters, too."""
    return [path for path, text in written(out) if "ZQ" in text.replace(str(out.parent), "").upper()]


READABLE: Final = (row(1, **SQL), row(2), row(3, direct_objects_accessed=INSIDE), row(4, other="kept"))
UNREADABLE: Final = (
    row(5, query_start_time="soon", **SQL),
    row(6, query_start_time="soon", direct_objects_accessed=INSIDE),
    row(7, query_start_time="soon", direct_objects_accessed=json.dumps(INSIDE)),
    {**row(8, **SQL), "user_name": None},
    {"RECORD": row(11, **SQL)},
    {"rows": [row(12, **SQL)]},
)


@pytest.mark.parametrize("lists", ["", "[filter]\ndeny_databases = ['SECDB']\n", "[filter]\ndeny_users = ['X']\n"])
@pytest.mark.parametrize("outputs", ["events,graph,catalog,facts", "events,graph --update"])
def test_it_is_in_no_file(outputs: str, lists: str, tmp_path: Path) -> None:
    rows = exports.ndjson([*READABLE, *UNREADABLE], tmp_path / "rows.ndjson")
    with rows.open("a") as file:
        file.write(json.dumps(row(9, **SQL))[:-1] + "\n")
        file.write(json.dumps([row(10, **SQL)]) + "\n")
        file.write('{"query_id": "q13", query_text: "ZQSECRET"}\n')
    (tmp_path / "exporter.toml").write_text(lists)
    options = ("--config", str(tmp_path / "exporter.toml"), "--outputs", *outputs.split())
    assert exports.export([rows], tmp_path / "out", *options) == 0
    assert found(tmp_path / "out") == []
    report = exports.report(tmp_path / "out")
    assert (report["exported"], report["quarantined"]) == (4, 9)
    assert {f"column {name.lower()}" for name in SQL} <= set(report["not_understood"]), "the names stay"


def test_rows_of_a_query_that_is_quarantined(tmp_path: Path) -> None:
    """They could be read, and contradict each other."""
    rows = exports.ndjson([row(1, **SQL), row(1, user_name="OTHER", **SQL), row(2)], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--update") == 0
    aside = exports.quarantine(tmp_path / "out")
    assert [json.loads(one["as_it_came"])["query_id"] for one in aside] == ["q1", "q1"]
    assert found(tmp_path / "out") == []


def test_a_row_that_cannot_be_read_keeps_the_rest(tmp_path: Path) -> None:
    rows = exports.ndjson([*UNREADABLE[:1], row(2), row(3, query_start_time="soon")], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out") == 0
    first, second = exports.quarantine(tmp_path / "out")
    assert json.loads(first["as_it_came"]) == {**UNREADABLE[0], **dict.fromkeys(SQL, "withheld")}
    assert second["as_it_came"] == json.dumps(row(3, query_start_time="soon"))


def test_a_table_with_columns_of_such_names(tmp_path: Path) -> None:
    """They are names of users, not columns of the view."""
    change = {**TABLE, "operationType": "ALTER", "properties": {"columns": {"QUERY_TEXT": {"subOperationType": "ADD"}}}}
    given = row(5, query_start_time="soon", object_modified_by_ddl=change)
    rows = exports.ndjson([given, row(2)], tmp_path / "rows.ndjson")
    with rows.open("a") as file:
        file.write(broken := json.dumps(row(6, name="QUERY_TEXT"))[:-1])
    assert exports.export([rows], tmp_path / "out") == 0
    assert [one["as_it_came"] for one in exports.quarantine(tmp_path / "out")] == [json.dumps(given), broken]


def in_csv(folder: Path) -> Path:
    """Two records: the second has a field more than the header."""
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["query_id", "query_start_time", "user_name", "query_text"])
        lines.writerow(["q1", "2026-03-01 08:00:00", "U", "select ZQSECRET"])
        lines.writerow(["q2", "2026-03-01 08:00:00", "U", "select ZQSECRET", "more"])
    return path


def test_a_record_of_csv_with_too_many_fields(tmp_path: Path) -> None:
    assert exports.export([in_csv(tmp_path)], tmp_path / "out", "--update") == 0
    assert exports.report(tmp_path / "out")["quarantined"] == 1
    assert found(tmp_path / "out") == []


def test_the_same_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    names = ("query_id", "query_start_time", "user_name", "query_text")
    source = formats.InputFiles(formats.CSV, (str(in_csv(tmp_path)),), names)
    given = [(bytes(one.text).decode(), one.is_record) for one in records.records(spark, source).collect()]
    assert [is_record for _, is_record in given] == [True, False]
    assert "ZQSECRET" in given[0][0], "its column is known"
    assert not given[1][0]


def test_an_update_goes_on(tmp_path: Path) -> None:
    """What comes again is known, and a state is the same whatever SQL its rows came with."""
    first = exports.ndjson(READABLE, tmp_path / "1.ndjson")
    again = exports.ndjson([*READABLE[1:], row(1, **dict.fromkeys(SQL, "another")), row(11)], tmp_path / "2.ndjson")
    assert exports.export([first], tmp_path / "out", "--update") == 0
    assert exports.export([again], tmp_path / "out", "--update") == 0
    report = exports.report(tmp_path / "out")
    assert (report["exported"], report["duplicates"]) == (1, 4)
    assert found(tmp_path / "out") == []
    assert len(report["not_understood"]) > 0


def test_pseudonyms_and_filters_hold_for_such_rows_too(tmp_path: Path) -> None:
    """Also for a row in the quarantine, and where the same user has rows without them."""
    (tmp_path / "key").write_text("a key of 24 bytes, ASCII", encoding="utf-8")
    (tmp_path / "filter.toml").write_text('[filter]\ndeny_schemas = ["zqschema"]\n', encoding="utf-8")
    hidden = [TABLE, {**TABLE, "objectId": 2, "objectName": "OK.ZQSCHEMA.T"}]
    who = {"user_name": "ZQUSER", "direct_objects_accessed": hidden}
    rows = [row(1, **who, **SQL), row(2, **who), row(3, **who, **SQL), {**row(3), "user_name": "SOMEBODY ELSE"}]
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    options = "--config", str(tmp_path / "filter.toml"), "--pseudonyms", str(tmp_path / "key")
    for number, more in enumerate(((), ("--update",), ("--reads", "daily"))):
        out = tmp_path / f"out-{number}"
        assert exports.export([given], out, *options, *more) == 0
        assert found(out) == []
        assert exports.report(out)["exported"] == 2
        assert sum("a ah:User" in text for _, text in written(out)) == 1
