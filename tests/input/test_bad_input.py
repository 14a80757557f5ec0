"""Bad input: a row is exported correctly, or quarantined with its place and reason, or there is a clear error before
anything is written.
"""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter.cli import main
from exporter.input.find import ACCESS_HISTORY, REQUIRED
from tests import exports
from tests.facts import plain_reading as plain
from tests.input.bad_rows import BAD_NESTED_ROWS, BAD_ROWS, GOOD

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONG = "L" * 10_000
NAMES = (
    '"with ""quotes"""."a.b".T', 'D."dots.in.quotes".T', 'D.S."new\nline"', 'D.S."🦖 é"', 'D.S."100%"', f"D.S.{LONG}",
    'D.S."back\\slash"', "D.S.'single'", 'D.S."\u2028"', 'D.S."\u0000"', 'D.S."."', 'D.S."<>{}|^`"',
)  # fmt: skip
IDS: tuple[Any, ...] = (7, "7", 32998411400350, 0, -1, None, "", "JSMITH")
TIMES = (
    *("2026-03-01 08:00:00 +0000", "2026-03-01 08:00:00", "2026-03-01T08:00:00Z", "2026-03-01 13:30:00 +05:30"),
    *(f"2026-03-01 08:00:00.{'123456789'[:digits]} +0000" for digits in range(1, 10)),
    *("2999-12-31 23:59:59 +0000", "1772352000", "Sun, 01 Mar 2026 08:00:00 +0000"),
)
QUERY_IDS = ("not-a-uuid", "1", "a/b", "..", "q é%", "line\nbreak", "x" * 300)


def _row(number: int, **columns: Any) -> plain.Json:
    return {**GOOD, "query_id": f"odd-{number}", "organization_name": "T", "account_name": "ODD", **columns}


def odd_rows() -> list[plain.Json]:
    """Rows that are right, each with one thing that is odd."""
    things = [{"objectDomain": "Table", "objectName": name, "columns": [{"columnName": name}]} for name in NAMES]
    things += [{"objectDomain": "Table", "objectId": ident, "objectName": "D.S.T"} for ident in IDS]
    things += [
        {"objectDomain": "Table", "objectId": 8, "objectName": "D.S.T", "columns": "TRUNCATED"},
        {"objectDomain": "Table", "objectId": 9, "objectName": "D.S.T", "locations": []},
        {"objectDomain": "Table", "objectId": 9, "objectName": "D.S.T", "columns": []},
        {"objectDomain": "AGENT", "objectId": 5, "objectName": "D.S.A"},
        {"objectDomain": "USER", "objectId": 5, "objectName": "JSMITH"},
        {"objectDomain": "QUERY", "objectId": 5, "objectName": "Q"},
    ]
    columns: list[plain.Json] = [{"direct_objects_accessed": [thing]} for thing in things]
    columns += [{"query_start_time": text} for text in TIMES]
    columns += [{"query_id": ident} for ident in QUERY_IDS]
    columns += [{"parent_query_id": "not-there", "root_query_id": "not-there-either"}]
    columns += [{"user_name": name} for name in ("O'Brien", "a/b", "..", LONG)]
    columns += [{"column_of_next_year": {"a": [1, None]}, "agents_info": None}]
    return [_row(number, **one) for number, one in enumerate(columns)]


@pytest.fixture(scope="module")
def mixed(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of odd rows with bad rows between them, blank lines too."""
    folder = tmp_path_factory.mktemp("mixed")
    lines = [json.dumps(row) for row in odd_rows()]
    for number, (line, _) in enumerate(BAD_ROWS + BAD_NESTED_ROWS):
        lines.insert(3 * number, line)
    lines[5:5] = ["", "   "]
    (folder / "rows.ndjson").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    wanted = ("--outputs", "events,graph,facts")
    assert exports.export([folder / "rows.ndjson"], folder / "out", *wanted, engine=engine) == 0
    return folder


def test_every_bad_row_is_quarantined_with_its_place_and_reason(mixed: Path) -> None:
    source = mixed / "rows.ndjson"
    lines = source.read_text(encoding="utf-8").split("\n")
    aside = exports.quarantine(mixed / "out")
    assert sorted(one["as_it_came"] for one in aside) == sorted(line for line, _ in BAD_ROWS + BAD_NESTED_ROWS)
    words = dict(BAD_ROWS + BAD_NESTED_ROWS)
    for one in aside:
        assert one["file"] == str(source)
        assert lines[one["line"] - 1] == one["as_it_came"]
        assert words[one["as_it_came"]] in one["reason"]


def test_every_odd_row_is_exported(mixed: Path) -> None:
    report = exports.report(mixed / "out")
    assert report["quarantined"] == len(BAD_ROWS + BAD_NESTED_ROWS)
    assert report["rows_in"] == len(odd_rows()) + report["quarantined"]
    assert report["exported"] + report["duplicates"] == len(odd_rows())
    assert report["violations"] == {}


def test_odd_objects_are_exported_as_in_the_rows(mixed: Path) -> None:
    found = {
        (plain.Query(fact["account"], fact["query_id"]), fact["access"], fact["object_key"]): {
            (column["column_name"], column["column_id"]) for column in fact["columns"]
        }
        for fact in exports.facts(mixed / "out", "accesses")
    }
    rows = [
        {**row, "direct_objects_accessed": [_uncut(thing) for thing in row["direct_objects_accessed"]]}
        for row in odd_rows()
    ]
    expected = plain.accesses(rows)
    reserved = {"agent/5": "agent-object/5", "user/5": "user-object/5", "query/5": "query-object/5"}
    assert found == {(one, access, reserved.get(key, key)): columns for (one, access, key), columns in expected.items()}


def _uncut(thing: plain.Json) -> plain.Json:
    return {name: value for name, value in thing.items() if value != "TRUNCATED"}


def test_odd_times_are_one_instant_each(mixed: Path) -> None:
    starts = {fact["query_id"]: fact["query_start_time"] for fact in exports.facts(mixed / "out", "queries")}
    odd = [starts[row["query_id"]] for row in odd_rows() if row["query_start_time"] != GOOD["query_start_time"]]
    assert {moment.isoformat()[:16] for moment in odd} == {"2026-03-01T08:00", "2999-12-31T23:59"}


def test_a_query_without_a_row_has_only_its_id(mixed: Path) -> None:
    said = {triple[0] for triple in exports.triples(mixed / "out") if triple[2].endswith("#UnrecordedQuery>")}
    assert said == {"<snowflake://T-ODD/query/not-there>", "<snowflake://T-ODD/query/not-there-either>"}


def _write(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def _empty_parquet(path: Path) -> None:
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in GOOD}), path)


def _history_parquet(path: Path) -> None:
    pq.write_table(pa.table({"QUERY_ID": ["1"], "QUERY_TEXT": ["SELECT 1"], "END_TIME": ["2026-01-01"]}), path)


HEADER = ",".join(GOOD)
UNUSABLE: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "an empty file": ("rows.ndjson", _write(b""), "no rows"),
    "an empty CSV": ("rows.csv", _write(b""), "empty"),
    "blank lines": ("rows.ndjson", _write(b"\n\n  \n"), "no rows"),
    "an empty array": ("rows.json", _write(b"[]"), "no rows"),
    "a header without rows": ("rows.csv", _write(f"{HEADER}\n".encode()), "no rows"),
    "Parquet without rows": ("rows.parquet", _empty_parquet, "no rows"),
    "another delimiter": ("rows.csv", _write(HEADER.replace(",", "~").encode() + b"\n1~2\n"), "line 1"),
    "a column twice": ("rows.csv", _write(f"{HEADER},Query_Id\n".encode()), "several columns named query_id"),
    "no header": ("rows.csv", _write(b"01ad,2026-03-01,JSMITH\n"), "line 1"),
    "no Parquet": ("rows.parquet", _write(b"PAR2 and so on"), "Parquet"),
    "Parquet that ends early": ("rows.parquet", _write(b"PAR1 and no more"), "cannot be read as Parquet"),
    "gzip that ends early": ("rows.ndjson.gz", _write(gzip.compress(b'{"query_id": 1}' * 99)[:20]), "cannot be read"),
    "gzip under another name": ("rows.ndjson", _write(gzip.compress(b"{}")), ".gz"),
    "no gzip under its name": ("rows.ndjson.gz", _write(b'{"query_id": 1}'), "is not gzip"),
    "UTF-16 without a mark": ("rows.ndjson", _write('{"query_id": 1}'.encode("utf-16-le")), "UTF-8"),
    "UTF-16 of the other order": ("rows.csv", _write(HEADER.encode("utf-16-be")), "UTF-8"),
    "UTF-16": ("rows.csv", _write(HEADER.encode("utf-16")), "UTF-8"),
    "QUERY_HISTORY": ("rows.parquet", _history_parquet, "--query-history"),
    "rows compressed otherwise": ("rows.json.zst", _write(b"\x28\xb5\x2f\xfd" + bytes(99)), "compressed by zstd"),
    "the same by its content": ("rows.ndjson", _write(b"BZh9" + bytes(99)), "compressed by bzip2"),
    "a workbook": ("rows.xlsx", _write(b"PK\x03\x04" + bytes(99)), "zip archive"),
    "ORC": ("rows.orc", _write(b"ORC" + bytes(99)), "is ORC, which is not read"),
    "a folder without rows": ("folder/notes.txt", _write(b"hello"), "no NDJSON"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_input_that_cannot_be_used(case: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, write, words = UNUSABLE[case]
    given = tmp_path / "in" / name
    given.parent.mkdir(parents=True)
    write(given)
    given = given.parent if given.suffix == ".txt" else given
    assert exports.export([given], tmp_path / "parent" / "out", engine=engine) == 2
    _assert_clear(capsys, words, given.name)
    assert not (tmp_path / "parent").exists() or list((tmp_path / "parent").iterdir()) == []


@pytest.mark.parametrize("name", ["b.json.zst", "b.csv.bz2", "deep/b.ndjson.raw_deflate", "b.json.br", "b.avro"])
@pytest.mark.parametrize("given", ["", "*", "**"])
def test_rows_beside_others_that_are_not_read(
    name: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What COPY INTO writes with another COMPRESSION than GZIP. Alone, the others would be all rows."""
    (tmp_path / "in" / name).parent.mkdir(parents=True)
    exports.ndjson([GOOD], tmp_path / "in" / "a.ndjson")
    (tmp_path / "in" / name).write_bytes(b"any")
    assert exports.export([tmp_path / "in" / given], tmp_path / "out") == 2
    _assert_clear(capsys, name, "which is not read", "gzip")
    (tmp_path / "in" / name).rename(tmp_path / "in" / "notes.zip")
    assert exports.export([tmp_path / "in"], tmp_path / "out") == 0
    assert exports.report(tmp_path / "out")["skipped_files"] == [str(tmp_path / "in" / "notes.zip")]


ROWS = json.dumps(GOOD).encode()
UNNAMED = {
    "access_history": ROWS + b"\n",
    "deep/data_0_0_0.gz": gzip.compress(json.dumps([GOOD], indent=1).encode()),
    "rows.ndjson.bak": b"\xef\xbb\xbf\n" + ROWS,
    "rows.txt": b'"QUERY_START_TIME";"QUERY_ID"\n1;2\n',
    "rows.1": b"INTERVAL_START_TIME\tCALLS\n",
    "z.bin": b"PAR1",
}


@pytest.mark.parametrize("name", UNNAMED)
def test_rows_in_a_folder_whose_names_do_not_say_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By itself or by a glob, such a file is read. What else is in the folder is skipped, and listed."""
    (tmp_path / "in" / name).parent.mkdir(parents=True)
    exports.ndjson([GOOD], tmp_path / "in" / "a.ndjson")
    others = {"README": b"query_id is a column", "numbers.txt": b"1,2\n", "empty": b"", "x.bin": bytes(range(256))}
    for other, content in others.items():
        (tmp_path / "in" / other).write_bytes(content)
    (tmp_path / "in" / name).write_bytes(UNNAMED[name])
    assert exports.export([tmp_path / "in"], tmp_path / "out") == 2
    _assert_clear(capsys, name, "holds rows", ".ndjson", "rename it")
    (tmp_path / "in" / name).unlink()
    assert exports.export([tmp_path / "in"], tmp_path / "out") == 0
    assert exports.report(tmp_path / "out")["skipped_files"] == [str(tmp_path / "in" / one) for one in sorted(others)]


TABLES = {
    "Delta Lake": ("_delta_log/00000000000000000000.json", "rows.parquet"),
    "Iceberg": ("metadata/v1.metadata.json", "metadata/snap-1.avro", "data/day=1/rows.parquet"),
    "Iceberg of a catalog": (
        "metadata/00003-9ae1e8b2-0f5c-4a9f-8d0e-52a4d1c0f7aa.gz.metadata.json",
        "data/rows.parquet",
    ),
    "Hudi": (".hoodie/hoodie.properties", "day=1/rows.parquet"),
}


@pytest.mark.parametrize("given", ["", "**/*.parquet", "rows"])
@pytest.mark.parametrize("kind", TABLES)
def test_the_folder_of_a_table_is_no_folder_of_rows(
    kind: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its files have removed rows, too: only the table's log says which count."""
    rows = TABLES[kind][-1]
    for name in TABLES[kind]:
        (tmp_path / "table" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "table" / name).write_text("{}")
    pq.write_table(pa.table({name: [GOOD[name]] for name in REQUIRED[ACCESS_HISTORY]}), tmp_path / "table" / rows)
    assert exports.export([tmp_path / "table" / (rows if given == "rows" else given)], tmp_path / "out") == 2
    _assert_clear(
        capsys,
        f"{tmp_path / 'table'}: is a table of {kind.removesuffix(' of a catalog')}",
        "write its rows as plain Parquet",
    )


def test_other_metadata_beside_rows_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "export.metadata.json").write_text("{}")
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out") == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere.ndjson", "no such file"),
        ("*.ndjson", "no file matches"),
        ("s3://bucket/rows.csv", "CSV is read from local files"),
        ("s3://bucket/rows", "must end in one of"),
        ("no_such_table", "table"),
    ],
)
def test_input_that_is_not_there(
    given: str,
    words: str,
    engine: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert exports.export([given], tmp_path / "out", engine=engine) == 2
    _assert_clear(capsys, words, given)
    assert list(tmp_path.iterdir()) == []


def _assert_clear(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("exporter: ")
    assert "Traceback" not in printed.err
    assert len(printed.err) < 600
    for word in words:
        assert word in printed.err


def test_an_incomplete_csv_record_is_quarantined(engine: str, tmp_path: Path) -> None:
    """Too few and too many fields, text where an array belongs, a quote that is never closed."""
    values = [json.dumps(value) if isinstance(value, list) else value for value in GOOD.values()]
    good = ",".join("\\N" if value is None else '"' + str(value).replace('"', '""') + '"' for value in values)
    lines = [HEADER, good, "only,three,fields", good + ",more", good.replace('"[]"', "all of them", 1)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert exports.export([tmp_path / "rows.csv"], tmp_path / "out", "--strict", engine=engine) == 1
    report, aside = exports.report(tmp_path / "out"), exports.quarantine(tmp_path / "out")
    assert (report["rows_in"], report["exported"], report["quarantined"]) == (4, 1, 3)
    assert [one["row"] for one in aside] == [2, 3, 4]
    assert all(one["reason"] and one["as_it_came"] for one in aside)


USER = {"query_id": "q", "query_start_time": "2026-03-01 08:00:00", "user_name": "CORP\\ann"}
NAMED = {"objectDomain": "MASKING_POLICY", "objectId": 7, "objectName": "G.P.M", "operationType": "CREATE"}
POLICY = json.dumps({**NAMED, "properties": {"policyBody": {"value": "case\n '\\d'"}}})
LINE = {**USER, "object_modified_by_ddl": POLICY, "parent_query_id": "\\N"}


def _unenclosed(row: dict[str, str], delimiter: str, escapes: str) -> str:
    """As COPY INTO <location> writes it without FIELD_OPTIONALLY_ENCLOSED_BY. NULL is ``\\N``."""
    lines = [delimiter.join(row)]
    lines.append(delimiter.join(_escaped(text, escapes) for text in row.values()))
    return "\n".join(lines) + "\n"


def _escaped(text: str, escapes: str) -> str:
    return text if text == "\\N" else "".join(f"\\{one}" if one in escapes else one for one in text)


@pytest.mark.parametrize("delimiter", [",", "\t", "|", ";"])
@pytest.mark.parametrize("row", [LINE, USER], ids=["with JSON", "of texts"])
def test_escapes_in_fields_without_quotes_are_refused(
    delimiter: str, row: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snowflake's ESCAPE_UNENCLOSED_FIELD is the backslash by default: the user would be CORP and two of them, and
    another user.
    """
    (tmp_path / "rows.csv").write_text(_unenclosed(row, delimiter, f"\\\n{delimiter}"), encoding="utf-8")
    assert exports.export([tmp_path / "rows.csv"], tmp_path / "out") == 2
    _assert_clear(capsys, "rows.csv", "FIELD_OPTIONALLY_ENCLOSED_BY")


@pytest.mark.parametrize("quotes", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, None])
def test_backslashes_that_are_none_stay(quotes: Any, tmp_path: Path) -> None:
    """In quotes, or with ESCAPE_UNENCLOSED_FIELD = NONE."""
    with (tmp_path / "rows.csv").open("w", encoding="utf-8", newline="") as file:
        if quotes is None:
            file.write(_unenclosed(LINE, "\t", ""))
        else:
            writer = csv.DictWriter(file, LINE, delimiter="\t", quoting=quotes)
            writer.writeheader()
            writer.writerow(LINE)
    assert exports.export([tmp_path / "rows.csv"], tmp_path / "out") == 0
    assert exports.report(tmp_path / "out")["quarantined"] == 0
    told = {(name.rpartition("#")[2], value) for _, name, value in exports.triples(tmp_path / "out")}
    assert ("userName>", '"CORP\\\\ann"') in told
    assert ("policyBody>", "\"case\\n '\\\\d'\"") in told


def test_the_reason_is_told_of_one_long_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document with a comma too many is one row."""
    (tmp_path / "rows.json").write_text("[" + (json.dumps(GOOD) + ",\n") * 1_000 + "]", encoding="utf-8")
    assert exports.export([tmp_path / "rows.json"], tmp_path / "out") == 2
    _assert_clear(capsys, "none of the 1 rows", "the line is not one JSON object", "rows.json, row 1")


def test_nothing_but_bad_rows(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.ndjson").write_text("\n".join(line for line, _ in BAD_ROWS[:3]), encoding="utf-8")
    given = ["export", str(tmp_path / "rows.ndjson"), "--out", str(tmp_path / "out"), "--engine", engine, "--json"]
    assert main(given) == 2
    assert "none of the 3 rows can be exported" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*given, "--allow-empty"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rows_in"], report["exported"], report["quarantined"]) == (3, 0, 3)
    assert len(exports.quarantine(tmp_path / "out")) == 3
