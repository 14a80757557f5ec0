"""The same rows in every format, order and number of files: the same triples and the same events."""

from __future__ import annotations

import os
import re
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests import exports
from tests.histories import FORMS, write_form

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

PARTS = int(os.environ.get("EXPORTER_TEST_PARTS", "8"))
"""Parts of the input. Fifty give the same, and take minutes: EXPORTER_TEST_PARTS=50."""


def assert_same(out: Path) -> None:
    """As the export of one file of NDJSON."""
    expected = exports.everything()
    found, wanted = exports.triples(out), exports.triples(expected)
    assert sorted(found - wanted) == []
    assert sorted(wanted - found) == []
    assert exports.events(out) == exports.events(expected)


def test_all_forms_at_once_are_one_form_and_its_duplicates(engine: str, tmp_path: Path) -> None:
    """A row that came out differently in any form would be no duplicate of the others."""
    rows = list(exports.all_rows())
    for form in FORMS:
        write_form(rows, tmp_path / "in" / form, form)
    assert exports.export([tmp_path / "in"], tmp_path / "out", engine=engine) == 0
    once, report = exports.report(exports.everything()), exports.report(tmp_path / "out")
    assert report["rows_in"] == len(rows) * len(FORMS)
    assert report["exported"] == once["exported"]
    assert report["quarantined"] == 0
    assert_same(tmp_path / "out")


@pytest.mark.jvm
@pytest.mark.usefixtures("spark")
def test_csv_of_many_headers_and_separators_in_one_task_of_spark(tmp_path: Path) -> None:
    """Each header and separator is a reader of its own, and all of them are in memory together: 20 that took room for
    the longest field would need 2.7 GB, of which Java has 1.
    """
    (tmp_path / "in").mkdir()
    forms = [(separator, number) for separator in ",;\t|" for number in range(5)]
    for at, (separator, number) in enumerate(forms):
        header = ["query_id", "query_start_time", "user_name", *(f"more_{one}" for one in range(number))]
        row = [f"q{at}", "2026-09-01 08:00:00 +0000", "U", *["\\N"] * number]
        text = "".join(separator.join(line) + "\n" for line in (header, row))
        (tmp_path / "in" / f"rows-{at}.csv").write_text(text, encoding="utf-8")
    assert exports.export([tmp_path / "in"], tmp_path / "out", engine="spark") == 0
    assert exports.report(tmp_path / "out")["exported"] == len(forms)


def test_any_order_and_any_number_of_parts(tmp_path: Path) -> None:
    """Spark's several files are those of ``tests/engines/test_engines.py``."""
    rows = list(exports.all_rows())
    Random(7).shuffle(rows)
    (tmp_path / "in").mkdir()
    for part in range(PARTS):
        exports.ndjson(rows[part::PARTS], tmp_path / "in" / f"part-{part:02}.jsonl")
    assert exports.export([tmp_path / "in" / "*.jsonl"], tmp_path / "out") == 0
    assert_same(tmp_path / "out")


@pytest.mark.parametrize("form", ["json-elements", "parquet-lists"])
def test_arrays_that_were_cast_are_those_of_the_view(form: str, tmp_path: Path) -> None:
    """COPY INTO <location>: "Casting the values to an array (using the TO_ARRAY function) results in an array of JSON
    strings".
    """
    path = write_form(list(exports.all_rows()), tmp_path, form)
    assert exports.export([path], tmp_path / "out") == 0
    assert exports.report(tmp_path / "out")["quarantined"] == 0
    assert_same(tmp_path / "out")


def test_tables_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """By their names; the arrays are text, as Snowflake's connector for Spark gives them, or lists of text. An unknown
    column is kept and counted, of whatever type it is.
    """
    rows = list(exports.all_rows())
    views = {"rows_with_text": ("parquet-text", rows[::2]), "rows_with_lists": ("parquet-lists", rows[1::2])}
    made = "case when query_id = '{}' then array(named_struct('a', 1, 'b', cast(null as int))) end as NEW"
    for view, (form, part) in views.items():
        path = write_form(part, tmp_path / view, form)
        table = spark.read.parquet(str(path)).selectExpr("*", made.format(part[0]["query_id"]))
        table.createOrReplaceTempView(view)
    try:
        assert exports.export([*views], tmp_path / "out", engine="spark") == 0
    finally:
        for view in views:
            spark.catalog.dropTempView(view)
    told, before = (exports.report(out)["not_understood"] for out in (tmp_path / "out", exports.everything()))
    assert told.keys() - before.keys() == {"column new"}
    assert re.match("rows_with_(text|lists), row ", told["column new"]["example"])
    kept = {one for one in exports.triples(tmp_path / "out") if one[1].endswith("#unknownColumns>")}
    assert {value for _, _, value in kept} == {'"{\\"new\\":[{\\"a\\":1}]}"'}
    assert len(kept) >= len(views)
    assert exports.triples(tmp_path / "out") - kept == exports.triples(exports.everything())
    assert exports.events(tmp_path / "out") == exports.events(exports.everything())
