"""Which files are read and in which format, and the errors for files that cannot be read."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter.errors import UsageError
from exporter.input import formats
from exporter.input.files import check_columns, records
from exporter.input.find import ACCESS_HISTORY, QUERY_HISTORY, find
from tests.histories import FORMS, random_history, write_form
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


KINDS = {
    **dict.fromkeys(("ndjson", "ndjson-gz", "ndjson-upper", "ndjson-crlf-bom", "ndjson-sparse"), formats.NDJSON),
    **dict.fromkeys(("json-text", "json-double", "json-elements"), formats.NDJSON),
    "json-array": formats.JSON_DOCUMENT,
    **dict.fromkeys(("csv", "csv-gz"), formats.CSV),
    **dict.fromkeys(("parquet-text", "parquet-native", "parquet-lists"), formats.PARQUET),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_format_is_detected_from_the_content(form: str, tmp_path: Path) -> None:
    path = write_form(random_history(1, 5), tmp_path, form)
    found = find([str(path)])
    assert [(source.form, source.paths) for source in found.sources] == [(KINDS[form], (str(path),))]
    packed = form.endswith("-gz") or form.startswith("parquet")
    assert found.size == path.stat().st_size * (10 if packed else 1)  # what a packed file holds, about
    assert found.skipped == ()


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("a.json", '{"query_id": "1"}\n{"query_id": "2"}', formats.NDJSON),
        ("a.json", '{"query_id": "1"}', formats.NDJSON),
        ("a.json", '{\n "query_id": "1"\n}', formats.JSON_DOCUMENT),
        ("a.json", '[{"query_id": "1"}]', formats.JSON_DOCUMENT),
        ("a.json", '\ufeff \n[{"query_id": "1"}]', formats.JSON_DOCUMENT),
        ("a.txt", '{"status": "ok", "rows": [{"query_id": "1"}]}', formats.JSON_DOCUMENT),
        ("a.json", '{"query_id": "1", "rows": []}', formats.NDJSON),
        ("a.jsonl", "no JSON", formats.NDJSON),
        ("a.csv", '{"query_id": "1"}', formats.NDJSON),
        ("a.txt", "QUERY_ID;b\n1;2\n", formats.CSV),
        ("a.csv", "", formats.CSV),
    ],
)
def test_first_bytes_decide_before_the_ending(name: str, text: str, form: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert find([str(tmp_path / name)]).sources[0].form == form


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_of_a_csv(delimiter: str, end: str, tmp_path: Path) -> None:
    header = delimiter.join(['"QUERY_ID"', " b ", "", '"with ""quotes"""'])
    (tmp_path / "a.csv").write_bytes(f"\ufeff{end}{header}{end}1{end}".encode())
    found = find([str(tmp_path / "a.csv")]).sources[0]
    assert (found.columns, found.delimiter) == (("QUERY_ID", "b", "unnamed 3", 'with "quotes"'), delimiter)


def test_files_of_one_form_are_one_source(tmp_path: Path) -> None:
    for name in ("b/2.ndjson", "a/1.ndjson", "a/_SUCCESS", "a/.hidden.ndjson", "_temporary/3.ndjson", "a/notes.txt"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("any" if name.endswith(".txt") else '{"query_id": "1"}', encoding="utf-8")
    (tmp_path / "in" / "c.csv").write_text("query_id\n1\n", encoding="utf-8")
    found = find([str(tmp_path / "in"), str(tmp_path / "in" / "*" / "*.ndjson")])
    lines = tuple(str(tmp_path / "in" / name) for name in ("a/1.ndjson", "b/2.ndjson"))
    assert [(source.form, source.paths) for source in found.sources] == [
        (formats.NDJSON, (*lines, str(tmp_path / "in" / "_temporary" / "3.ndjson"))),
        (formats.CSV, (str(tmp_path / "in" / "c.csv"),)),
    ]
    assert found.skipped == (str(tmp_path / "in" / "a" / "notes.txt"),)


def test_remote_files_and_tables_have_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = find(["s3://bucket/rows/*.ndjson.gz", "db.access_history", "gs://b/p.parquet"])
    assert [(one.form, one.paths) for one in found.sources] == [
        (formats.NDJSON, ("s3://bucket/rows/*.ndjson.gz",)),
        (formats.TABLE, ("db.access_history",)),
        (formats.PARQUET, ("gs://b/p.parquet",)),
    ]
    assert found.size is None


def test_each_table_is_read_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several, only the first was read."""
    monkeypatch.chdir(tmp_path)
    found = find(["db.one", "db.other", "db.one"])
    assert [(one.form, one.paths) for one in found.sources] == [
        (formats.TABLE, ("db.one",)),
        (formats.TABLE, ("db.other",)),
    ]


def _write(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def _history_parquet(path: Path) -> None:
    pq.write_table(pa.table({"QUERY_ID": ["1"], "QUERY_TEXT": ["SELECT 1"], "END_TIME": ["2026-01-01"]}), path)


def _twice_parquet(path: Path) -> None:
    pq.write_table(pa.table({"query_id": ["1"], "QUERY_ID": ["1"]}), path)


HEADER = ",".join(GOOD)
UNUSABLE: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "an empty CSV": ("rows.csv", _write(b""), "the file is empty"),
    "another delimiter": ("rows.csv", _write(HEADER.replace(",", "~").encode() + b"\n1~2\n"), "line 1 is not a header"),
    "a column twice": ("rows.csv", _write(f"{HEADER},Query_Id\n".encode()), "several columns named query_id"),
    "a column twice in Parquet": ("rows.parquet", _twice_parquet, "several columns named query_id"),
    "no header": ("rows.csv", _write(b"01ad,2026-03-01,JSMITH\n"), "line 1 is not a header with a column query_id"),
    "a required column missing": ("rows.csv", _write(b"query_id,user_name\n1,2\n"), "no column query_start_time"),
    "no Parquet": ("rows.parquet", _write(b"PAR2 and so on"), "does not begin with PAR1"),
    "Parquet that ends early": ("rows.parquet", _write(b"PAR1 and no more"), "cannot be read as Parquet"),
    "gzip that ends early": ("rows.ndjson.gz", _write(gzip.compress(b'{"query_id": 1}' * 99)[:20]), "cannot be read"),
    "gzip under another name": ("rows.ndjson", _write(gzip.compress(b"{}")), "does not end in .gz"),
    "UTF-16": ("rows.csv", _write(HEADER.encode("utf-16")), "UTF-8"),
    "QUERY_HISTORY": ("rows.parquet", _history_parquet, "--query-history"),
    "a folder without rows": ("folder/notes.txt", _write(b"hello"), "has no NDJSON"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_input_that_cannot_be_used(case: str, tmp_path: Path) -> None:
    name, write, words = UNUSABLE[case]
    given = tmp_path / "in" / name
    given.parent.mkdir(parents=True)
    write(given)
    given = given.parent if given.suffix == ".txt" else given
    with pytest.raises(UsageError) as raised:
        [list(records(source)) for source in find([str(given)]).sources]
    assert words in str(raised.value)
    assert given.name in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("no where.ndjson", "no such file"),
        ("*.ndjson", "no file matches"),
        ("s3://bucket/rows.csv", "CSV is read from local files"),
        ("s3://bucket/rows", "must end in one of"),
    ],
)
def test_input_that_is_not_there(given: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as raised:
        find([given])
    assert words in str(raised.value)
    assert given in str(raised.value)


def test_nothing_given() -> None:
    with pytest.raises(UsageError, match="no input was given"):
        find([])


def test_a_document_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "DOCUMENT_LIMIT", 10)
    (tmp_path / "a.json").write_text(json.dumps([GOOD]), encoding="utf-8")
    with pytest.raises(UsageError, match="write one object on each line"):
        find([str(tmp_path / "a.json")])


@pytest.mark.parametrize("given", ["db.access_history", "s3://bucket/rows.ndjson"])
def test_what_only_spark_reads(given: str) -> None:
    [source] = find([given]).sources
    with pytest.raises(UsageError, match="--engine spark"):
        list(records(source))


def test_required_columns_in_any_case() -> None:
    paths = ("a", "b", "c", "d")
    check_columns([" Query_ID "], paths, QUERY_HISTORY)
    required = [" Query_ID ", "QUERY_start_time", "User_Name"]
    check_columns(required, paths, ACCESS_HISTORY)
    with pytest.raises(UsageError, match=r"^a, b, c: there is no column query_id \(there are: query_text, x\)$"):
        check_columns(["X", "QUERY_TEXT"], paths, QUERY_HISTORY)
    with pytest.raises(
        UsageError,
        match=r"^a, b, c: there is no column user_name \(there are: objects_modified, query_id, query_start_time\)$",
    ):
        check_columns([*required[:2], "objects_modified"], paths, ACCESS_HISTORY)
