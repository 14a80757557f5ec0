"""Columns in the names of folders: ``account_name=EU/part-0.parquet``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter.input.partitions import columns_in, with_columns
from tests import exports
from tests.histories import FORMS, write_form
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

OF = {"organization_name": "ACME"}


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        ("/x/account_name=EU/p.parquet", {"account_name": "EU"}),
        ("/x/ACCOUNT_NAME=EU/day=2026-09-01/event_source=%2Fa b/p", {"account_name": "EU", "event_source": "/a b"}),
        ("/x/account_name=a=b/p", {"account_name": "a=b"}),
        ("/x/account_name=__HIVE_DEFAULT_PARTITION__/p", {}),
        ("/x/day=1/warehouse_name=W/p", {}),
        ("/x/account_name=EU.parquet", {}),
        ("/x/my account_name=EU/p", {}),
        ("account_name", {}),
    ],
)
def test_columns_in_a_path(path: str, columns: dict[str, str]) -> None:
    """Of QUERY_HISTORY other columns are read."""
    assert columns_in(path, is_history=False) == columns
    assert columns_in("/x/WAREHOUSE_NAME=W/account_name=EU/p", is_history=True) == {"warehouse_name": "W"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"x": 1.50}', {"x": 1.5, "account_name": "EU"}),
        ("{}", ""),
        ('{"ACCOUNT_NAME": "US"}', {"ACCOUNT_NAME": "US"}),
        ('{"ACCOUNT_NAME": null, "account_name": null}', {"account_name": "EU"}),
        ("\ufeff{'x': undefined},", {"x": None, "account_name": "EU"}),
        ("[1]", ""),
        ("", ""),
        ('{"x": "\udcff"}', {"x": "\udcff", "account_name": "EU"}),
        ('{"\udcff": 1}', ""),
    ],
)
def test_a_record_with_the_columns_that_it_lacks(text: str, expected: Any) -> None:
    """What a row says itself counts. A record that is no object stays as it is, for the quarantine."""
    found = with_columns(text, {"account_name": "EU"})
    assert (json.loads(found) == expected) if expected else (found == text)


@pytest.mark.parametrize("form", FORMS)
def test_rows_belong_to_the_account_of_their_folder(form: str, engine: str, tmp_path: Path) -> None:
    """Without their column, as Hive and Spark leave it out, the rows of two accounts would be those of one."""
    for name in ("EU", "US"):
        row = {**GOOD, **OF, "query_id": name}
        write_form([row], tmp_path / "in" / f"account_name={name}" / "day=2026-03-01", form)
    assert exports.export([tmp_path / "in"], tmp_path / "out", "--strict", engine=engine) == 0
    queries = {triple[0] for triple in exports.triples(tmp_path / "out") if triple[2].endswith("#Query>")}
    assert queries == {f"<snowflake://ACME-{name}/query/{name}>" for name in ("EU", "US")}


def test_folders_that_other_tools_make(engine: str, tmp_path: Path) -> None:
    """Also by a column that a row must have, and one with characters that names of folders cannot have."""
    row = {name: GOOD[name] for name in ("query_id", "query_start_time")} | {"user_name": "CORP/ann 50%"}
    pq.write_to_dataset(pa.table({name: [text] for name, text in row.items()}), tmp_path / "in", ["user_name"])
    assert exports.export([tmp_path / "in"], tmp_path / "out", engine=engine) == 0
    names = {value for _, name, value in exports.triples(tmp_path / "out") if name.endswith("#userName>")}
    assert names == {'"CORP/ann 50%"'}


def test_query_history_in_folders(engine: str, tmp_path: Path) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    (tmp_path / "history" / "warehouse_name=W").mkdir(parents=True)
    exports.ndjson([{"query_id": GOOD["query_id"]}], tmp_path / "history" / "warehouse_name=W" / "a.ndjson")
    given = ("--query-history", str(tmp_path / "history"))
    assert exports.export([rows], tmp_path / "out", *given, engine=engine) == 0
    found = {value for _, name, value in exports.triples(tmp_path / "out") if name.endswith("#warehouseName>")}
    assert found == {'"W"'}
