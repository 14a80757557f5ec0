"""Files -> records in their order, without Spark: the same lines and records as Spark's readers give."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exporter.engines.records import records as of_spark
from exporter.errors import UsageError
from exporter.input.files import records
from exporter.input.find import ACCESS_HISTORY, QUERY_HISTORY, find
from exporter.input.parquet import parquet_records as of_parquet
from exporter.input.reading import Record, read_line
from exporter.input.row import Row
from tests import exports
from tests.histories import FORMS, random_history, write_form
from tests.input.bad_rows import GOOD
from tests.input.plain_rows import plain

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

HEADER = "query_id,query_start_time,user_name,x"


def _records(path: Path, view: str = ACCESS_HISTORY) -> list[Record]:
    return [record for source in find([str(path)], view=view).sources for record in records(source, view)]


def _csv(path: Path, text: str) -> list[tuple[str, ...] | str]:
    """The values of each record; of one that is none its text."""
    (path / "a.csv").write_bytes(text.encode())
    found = _records(path / "a.csv")
    return [_values(record) if record.text.startswith("{") else record.text for record in found]


def _values(record: Record) -> tuple[str, ...]:
    assert record.is_record
    given = json.loads(record.text)
    return tuple(given.get(name) for name in HEADER.split(","))


# --- every form ------------------------------------------------------------------------------------------------------

ROWS = [row for seed in range(4) for row in random_history(seed, 15)]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same_rows(form: str, tmp_path: Path) -> None:
    """A row that came out differently in any form would be no duplicate of the others."""
    path = write_form(ROWS, tmp_path, form)
    found = _records(path)
    assert {(record.file, record.unit) for record in found} == {(str(path), "line" if "ndjson" in path.name else "row")}
    for row, record in zip(ROWS, found, strict=True):
        expected, read = read_line(json.dumps(row)), read_line(record.text)
        assert isinstance(expected, Row)
        assert isinstance(read, Row), (read, record.text)
        assert plain(read) == plain(expected)


# --- lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_end_as_spark_ends_them(pack: Any, tmp_path: Path) -> None:
    path = tmp_path / ("a.ndjson.gz" if pack is gzip.compress else "a.ndjson")
    path.write_bytes(
        pack(b'{"query_id":"1"}\r\n\r{"2":2}\n\n\xef\xbb\xbf{"3":3}\r\r\n\xff\x0b\x0c\xc2\x85 x\xe2\x80\xa8y')
    )
    lines = ['{"query_id":"1"}', "", '{"2":2}', "", '{"3":3}', "", "\udcff\x0b\x0c\x85 x\u2028y"]
    assert _records(path) == [Record(str(path), 0, "line", line) for line in lines]


def test_the_place_is_the_path_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b%c+é").mkdir()
    path = tmp_path / "a b%c+é" / "a.ndjson"
    path.write_text('{"query_id":"1"}\n')
    monkeypatch.chdir(tmp_path / "a b%c+é")
    for given in ("a.ndjson", "./a.ndjson", f"../{path.parent.name}//a.ndjson", str(path), f"file://{path}"):
        [source] = find([given]).sources
        assert [record.file for record in records(source)] == [str(path)]


def test_files_are_read_one_after_the_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.ndjson").write_text(f'{{"query_id":"{name}"}}\n\n')
    [source] = find([str(tmp_path)]).sources
    assert [(record.file[-8:], record.text) for record in records(source)] == [
        *(("a.ndjson", '{"query_id":"a"}'), ("a.ndjson", ""), ("b.ndjson", '{"query_id":"b"}'), ("b.ndjson", ""))
    ]


def test_a_file_that_was_removed(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_text('{"query_id":"1"}\n')
    [source] = find([str(path)]).sources
    path.unlink()
    with pytest.raises(UsageError, match=r"a\.ndjson: cannot be read"):
        list(records(source))


def test_a_compressed_file_that_ends_early(tmp_path: Path) -> None:
    lines = "".join(f'{{"query_id":"{hash(str(number))}"}}\n' for number in range(50_000))
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(lines.encode())[:-1000])
    with pytest.raises(UsageError, match=r"a\.ndjson\.gz: cannot be read"):
        _records(tmp_path / "a.ndjson.gz")


def test_a_document_has_rows(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('\ufeff{"rows": [{"query_id": 1},\n null, {"query_id": 2.50}]}', encoding="utf-8")
    found = [(record.unit, record.text) for record in _records(tmp_path / "a.json")]
    assert found == [("row", '{"query_id": 1}'), ("row", ""), ("row", '{"query_id": 2.50}')]


# --- CSV -------------------------------------------------------------------------------------------------------------

NONE = (None, None, None, None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a,b,c,d\n", [("a", "b", "c", "d")]),
        ("a,b,c,d", [("a", "b", "c", "d")]),
        ("", []),
        ("\n\na,b,c,d\n\n1,2,3,4\n\n", [("a", "b", "c", "d"), ("1", "2", "3", "4")]),
        ('a,"b\nc","d\r\ne",f\n', [("a", "b\nc", "d\r\ne", "f")]),
        ('a,"b ""q"" c",,""\n', [("a", 'b "q" c', None, "")]),
        ('\\N,"\\N",,""\n', [(None, None, None, "")]),
        (' \\N,NULL,"null",\\n\n', [(" \\N", None, None, "\\n")]),
        ("a,b,c,NULL\r\n", [("a", "b", "c", None)]),
        (" a , b ,c,\td\n", [(" a ", " b ", "c", "\td")]),
        ("#a,b,c,d\n", [("#a", "b", "c", "d")]),
        ("é,🦖,\u2028,d\x00\n", [("é", "🦖", "\u2028", "d\x00")]),
        (",,,\n", [NONE]),
        ("a,b\nc,d,e,f\n", ["a,b", ("c", "d", "e", "f")]),
        ("a,b,c,d,e\n1,2,3,4\n", ["a,b,c,d,e", ("1", "2", "3", "4")]),
        ("a,b,c,d,\na,b,c,\n", ["a,b,c,d,", ("a", "b", "c", None)]),
        ('1,"2,3,4\n5,6,7,8\n', ['1,"2,3,4\n5,6,7,8']),
        ('a,b,c,"d\n', [("a", "b", "c", "d\n")]),
        ('a,b,c,"d""\n', [("a", "b", "c", 'd"\n')]),
        ('a,b,c,"', [("a", "b", "c", '"')]),
        ('1,"2" ,"3"\t,"4" \n', [("1", "2", "3", "4")]),
        ('5, "6",7,8\n', [("5", ' "6"', "7", "8")]),
        ('a,b"c,d,e\n', [("a", 'b"c', "d", "e")]),
        ('1,"2"x,3,4\n5,6,7,8\n', [("1", '"2"x', "3", "4"), ("5", "6", "7", "8")]),
        ('1,"2"x"y",3,4\n', [("1", '"2"x"y"', "3", "4")]),
        ('a,"b""c"d,e,f\n', [("a", '"b"c"d', "e", "f")]),
        ('a,"b"c""d,e,f\n', [("a", '"b"c""d', "e", "f")]),
        ('a,"b"  "c",e,f\n', [("a", '"b"  "c"', "e", "f")]),
        ('5,"a"b\nc",7,8\n9,9,9,9\n', ['5,"a"b', 'c",7,8', ("9", "9", "9", "9")]),
        ('a,",c,d\nx,y",c,d\n', [("a", ",c,d\nx,y", "c", "d")]),
        ('"""",b,c,d\n"""a""",b,c,d\n', [('"', "b", "c", "d"), ('"a"', "b", "c", "d")]),
        ('a,b\\,c,d\n"a\\",b,c,d\n', [("a", "b\\", "c", "d"), ("a\\", "b", "c", "d")]),
        ("a,b,c,d\r\n", [("a", "b", "c", "d")]),
        (
            "a,b,c,\r\na,b,c,\\N\r\na,\r,c,d\r\r\n",
            [("a", "b", "c", None), ("a", "b", "c", None), ("a", "\r", "c", "d\r")],
        ),
        ('a,b,c,"d"\r\n', [("a", "b", "c", "d")]),
        ("   \n", ["   "]),
    ],
)
def test_records_as_spark_has_them(body: str, expected: list[Any], tmp_path: Path) -> None:
    """The header ends with LF, so a lone CR is a character like others."""
    assert _csv(tmp_path, f"{HEADER}\n{body}") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a,b,c,d\r\n1,2,3,4\r\n", [("a", "b", "c", "d"), ("1", "2", "3", "4")]),
        ('a,"b\nc","d\r\ne",f\r\n', [("a", "b\nc", "d\ne", "f")]),
        ("a,b\nx,c,d\r\n1,2,3,4", [("a", "b\nx", "c", "d"), ("1", "2", "3", "4")]),
        ('a,b\rx,c,d\r\n1,"2\r3",3,4\r\n', [("a", "b\rx", "c", "d"), ("1", "2\r3", "3", "4")]),
        ("a,b,c,d\n1,2,3,4\r\n", ["a,b,c,d\n1,2,3,4"]),
        ("a,b,c,d\r\n1,2,3,4\n", [("a", "b", "c", "d"), ("1", "2", "3", "4")]),
        ('a,"b\r\nc"\r\n1,2,3,4\r\n', ['a,"b\r\nc"', ("1", "2", "3", "4")]),
        ('\r\n\r\na,b,c,"d" \r\n\r\n', [("a", "b", "c", "d")]),
        ('a,b,"c\r\n', ['a,b,"c']),
        ("\r\n\n\r\na,b,c,d\r\n\n\r\n", [("a", "b", "c", "d")]),
    ],
)
def test_records_that_end_with_cr_lf(body: str, expected: list[Any], tmp_path: Path) -> None:
    assert _csv(tmp_path, f"{HEADER}\r\n{body}") == expected


def test_records_that_end_with_cr(tmp_path: Path) -> None:
    assert _csv(tmp_path, f'{HEADER}\ra,b,c,d\r"1\r2",2,3,"4" \r') == [("a", "b", "c", "d"), ("1\r2", "2", "3", "4")]


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters(delimiter: str, tmp_path: Path) -> None:
    body = f'a,"b{delimiter}c",d" ,e\nx,"y" ,,"""w"\n'.replace(",", delimiter)
    text = f"\n\n{HEADER}\n".replace(",", delimiter) + body
    assert _csv(tmp_path, text) == [("a", f"b{delimiter}c", 'd" ', "e"), ("x", "y", None, '"w')]


def test_columns_are_named_as_in_the_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('Query_ID, QUERY_start_TIME ,USER_NAME,\n1,2,3,"4 \x1f\x7f/🦖"\n', encoding="utf-8")
    [record] = _records(tmp_path / "a.csv")
    assert record.text == ('{"Query_ID":"1","QUERY_start_TIME":"2","USER_NAME":"3","unnamed 4":"4 \\u001F\x7f/🦖"}')


def test_a_record_that_is_incomplete_is_flagged(tmp_path: Path) -> None:
    """Too few and too many fields; whatever it says, it is no row. One of blanks alone counts as a blank line."""
    (tmp_path / "a.csv").write_text(f"{HEADER}\n1,2,3,4\nonly,three,fields\n{json.dumps(GOOD)}\n  \n", encoding="utf-8")
    found = [(record.unit, record.is_record) for record in _records(tmp_path / "a.csv")]
    assert found == [("row", True), ("row", False), ("row", False), ("row", True)]


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_values_of_parquet_as_json(tmp_path: Path) -> None:
    moment = datetime(2026, 3, 1, 8, 0, 0, 123456, tzinfo=UTC)
    nested = pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))
    columns = {
        "QUERY_ID": pa.array(["1"]),
        "instant": pa.array([moment], pa.timestamp("us", "UTC")),
        "elsewhere": pa.array([moment], pa.timestamp("us", "America/New_York")),
        "clock": pa.array([moment.replace(tzinfo=None)], pa.timestamp("us")),
        "millis": pa.array([moment.replace(microsecond=120_000)], pa.timestamp("ms", "UTC")),
        "day": pa.array([date(2026, 3, 1)]),
        "decimal": pa.array([Decimal("1.50")]),
        "small": pa.array([Decimal("0.00000010")]),
        "large": pa.array([Decimal(10**20)], pa.decimal128(38, 0)),
        "double": pa.array([1.5]),
        "nan": pa.array([float("nan")]),
        "truth": pa.array([True]),
        "bytes": pa.array([b"abc"]),
        "nested": pa.array([[{"x": 1, "y": None}, None]], nested),
        "nothing": pa.array([None], pa.string()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    [record] = _records(tmp_path / "a.parquet", QUERY_HISTORY)
    assert record.text == (
        '{"QUERY_ID":"1","instant":"2026-03-01 08:00:00.123456+00:00","elsewhere":"2026-03-01 08:00:00.123456+00:00",'
        '"clock":"2026-03-01 08:00:00.123456","millis":"2026-03-01 08:00:00.12+00:00","day":"2026-03-01",'
        '"decimal":1.50,"small":0.00000010,"large":100000000000000000000,"double":"1.5","truth":true,"bytes":"abc",'
        '"nested":[{"x":1},null]}'
    )


def test_times_of_parquet_in_nanoseconds_and_of_older_tools(tmp_path: Path) -> None:
    moment = datetime(2026, 3, 1, 8, 0, 0, 123456)  # noqa: DTZ001 - the type says what it means
    table = pa.table({"at": pa.array([moment], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "nanos.parquet", version="2.6")
    pq.write_table(table, tmp_path / "int96.parquet", use_deprecated_int96_timestamps=True)
    assert list(of_parquet(str(tmp_path / "nanos.parquet"))) == [{"at": "2026-03-01 08:00:00.123456"}]
    assert list(of_parquet(str(tmp_path / "int96.parquet"))) == [{"at": "2026-03-01 08:00:00.123456+00:00"}]


DOUBLES = {
    1788249600.5: "1788249600.5",
    123456789.0: "123456789.0",
    1.5: "1.5",
    0.0: "0.0",
    -12345678.25: "-12345678.25",
    float("nan"): None,
    float("-inf"): "-Infinity",
    0.0005: "5.0E-4",
    9007199254740992.0: "9007199254740992.0",
    1e16: "1.0E16",
    1.25e300: "1.25E300",
}
"""Numbers in a column of doubles, and their texts: such a column may hold times or ids. NaN is pandas' null."""


def test_doubles_and_nanoseconds_of_parquet_are_the_same_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    """What is in arrays keeps Java's form, as a number: it is read as a number later. 2026-09-01T08:00:00Z is second
    1,788,249,600.
    """
    number, nanos = len(DOUBLES), 1_788_249_600_123_456_789
    columns = {
        "query_id": pa.array(list(DOUBLES), pa.float64()),
        "at": pa.array([nanos] * number, pa.timestamp("ns", "Europe/Berlin")),
        "clock": pa.array([nanos] * number, pa.timestamp("ns")),
        "many": pa.array([[{"x": 1788249600.5, "y": 0.25}]] * number),
        "small": pa.array([16777216.0] * number, pa.float32()),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")

    def id_of(text: str | None) -> str:
        return "" if text is None else f'"query_id":"{text}",'

    expected = [
        f'{{{id_of(text)}"at":"2026-09-01 08:00:00.123456+00:00","clock":"2026-09-01 08:00:00.123456",'
        '"many":[{"x":1.7882496005E9,"y":0.25}],"small":"16777216.0"}'
        for text in DOUBLES.values()
    ]
    assert [record.text for record in _records(tmp_path / "a.parquet", QUERY_HISTORY)] == expected
    [source] = find([str(tmp_path / "a.parquet")], view=QUERY_HISTORY).sources
    rows = of_spark(spark, source, QUERY_HISTORY).select("text").collect()
    assert [bytes(row["text"]).decode() for row in rows] == expected


def test_a_type_that_spark_does_not_read(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"query_id": ["1"], "x": [time(8)]}), tmp_path / "a.parquet")
    assert [record.text for record in _records(tmp_path / "a.parquet", QUERY_HISTORY)] == [
        '{"query_id":"1","x":"08:00:00"}'
    ]
    [source] = find([str(tmp_path / "a.parquet")]).sources
    with pytest.raises(UsageError, match="use --engine local, or write the column with another type"):
        of_spark(spark, source)


DDL = {
    "objectDomain": "Table",
    "objectId": 1,
    "objectName": "D.S.T",
    "operationType": "ALTER",
    "properties": {"comment": {"value": "x"}},
}
NAMES = {"query_id": "q", "query_start_time": "2026-03-01 08:00:00 +0000", "user_name": "U"}


def test_a_variant_is_read_with_spark_and_refused_without(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snowflake's connector for Spark gives VARIANT as Spark's. Its bytes are not JSON, and a struct in their place
    would be an object without the members that the documents give.
    """
    row = json.dumps({**NAMES, "object_modified_by_ddl": DDL})
    table = spark.createDataFrame([(row,)], "line string").selectExpr("parse_json(line) as row")
    texts = [f"variant_get(row, '$.{name}', 'string') as {name}" for name in NAMES]
    for form, column in {
        "plain": "variant_get(row, '$.object_modified_by_ddl') as object_modified_by_ddl",
        "nested": "named_struct('a', array(variant_get(row, '$.object_modified_by_ddl'))) as more",
    }.items():
        table.selectExpr(*texts, column).coalesce(1).write.parquet(str(tmp_path / form))
        assert exports.export([tmp_path / form], tmp_path / "out" / form) == 2
        said = capsys.readouterr().err
        assert "has the type VARIANT, which only --engine spark reads" in said
        assert "TO_JSON" in said
    [source] = find([str(tmp_path / "plain")]).sources
    [found] = of_spark(spark, source).select("text").collect()
    assert json.loads(bytes(found["text"]))["object_modified_by_ddl"] == DDL


def test_a_variant_that_the_file_does_not_declare(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark 4.0 and table formats write only two columns of bytes: the JSON ``null`` here."""
    of_bytes = {"value": b"\x00", "metadata": b"\x01\x00\x00"}
    pq.write_table(
        pa.table({**{name: [text] for name, text in NAMES.items()}, "x": [of_bytes]}), tmp_path / "a.parquet"
    )
    assert exports.export([tmp_path / "a.parquet"], tmp_path / "out", engine=engine) == 2
    said = capsys.readouterr().err
    assert "the column x" in said
    assert "VARIANT" in said


def _altered(query: str, minute: int, **properties: object) -> dict[str, object]:
    time = f"2026-03-01 08:{minute:02}:00 +0000"
    return {
        **NAMES,
        "query_id": query,
        "query_start_time": time,
        "object_modified_by_ddl": {**DDL, "properties": properties},
    }


WRAPPED_AND_BARE: Final = [
    _altered("q1", 1, objectName={"value": "D.S.N"}, tags={"G.T.X": {"subOperationType": "ADD", "tagValue": "new"}}),
    _altered("q2", 2, objectName="D.S.T", tags={"G.T.X": {"subOperationType": "ADD", "tagValue": {"value": "old"}}}),
    _altered("q3", 3, comment={"value": "x"}),
]
"""Values in both forms (behaviour change 2179): to DuckDB their type is JSON."""


def _as_json(values: list[object]) -> pa.ExtensionArray:
    """The values as the type JSON; None stays null."""
    texts = [None if value is None else json.dumps(value) for value in values]
    return pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string()))


def _typed_changes(changes: list[Any]) -> pa.StructArray:
    """The changes as DuckDB writes them: only values that have both forms are JSON."""
    properties = [change["properties"] for change in changes]
    tags = [of_one.get("tags", {}).get("G.T.X") for of_one in properties]
    has_none = pa.array([tag is None for tag in tags])
    operations = pa.array([tag and tag["subOperationType"] for tag in tags])
    tag = pa.StructArray.from_arrays(
        [operations, _as_json([tag and tag["tagValue"] for tag in tags])],
        ["subOperationType", "tagValue"],
        mask=has_none,
    )
    by_name = pa.StructArray.from_arrays([tag], ["G.T.X"], mask=has_none)
    names = ("objectName", "comment")
    atoms = [_as_json([of_one.get(name) for of_one in properties]) for name in names]
    typed = pa.StructArray.from_arrays([*atoms, by_name], [*names, "tags"])
    others = ("objectDomain", "objectId", "objectName", "operationType")
    plain = [pa.array([change[name] for change in changes]) for name in others]
    return pa.StructArray.from_arrays([*plain, typed], [*others, "properties"])


def test_the_type_json_is_what_its_json_says(spark: SparkSession, tmp_path: Path) -> None:
    """Read as texts, names would have the quotes of their JSON. Spark does not know the type, but it may read a
    structured column that is one text of JSON.
    """
    changes = [row["object_modified_by_ddl"] for row in WRAPPED_AND_BARE]
    names = {name: [row[name] for row in WRAPPED_AND_BARE] for name in NAMES}
    for form, columns in {
        "in a struct": {**names, "object_modified_by_ddl": _typed_changes(changes)},
        "whole rows": {name: _as_json([row[name] for row in WRAPPED_AND_BARE]) for name in WRAPPED_AND_BARE[0]},
        "a column": {**names, "object_modified_by_ddl": _as_json(changes)},
    }.items():
        file = tmp_path / f"{form}.parquet"
        pq.write_table(pa.table(columns), file, store_schema=False)
        assert "json" in str(pq.read_schema(file).field("object_modified_by_ddl").type)
        assert [json.loads(record.text) for record in _records(file)] == WRAPPED_AND_BARE
        [source] = find([str(file)]).sources
        if form == "a column":
            told = [json.loads(bytes(row["text"])) for row in of_spark(spark, source).select("text").collect()]
            assert [json.loads(row["object_modified_by_ddl"]) for row in told] == changes
        else:
            with pytest.raises(UsageError, match=r"has the type JSON, or has it inside.*--engine local"):
                of_spark(spark, source)


def test_what_is_no_json_stays_a_text(tmp_path: Path) -> None:
    texts = [b'"a"', b" null", b'{ "a" : 1.50 }', b"{no", b"7", b'"\xff"', b"", None]
    kind = pa.json_(pa.utf8())
    column = pa.ExtensionArray.from_storage(kind, pa.array(texts, pa.binary()).cast(pa.binary()).view(pa.utf8()))
    names = {name: [text] * len(texts) for name, text in NAMES.items()}
    pq.write_table(
        pa.table({**names, "x": column, "y": pa.array([[text] for text in ["a"] * 8])}), tmp_path / "a.parquet"
    )
    found = [json.loads(record.text).get("x", "absent") for record in _records(tmp_path / "a.parquet")]
    assert found == ["a", "absent", {"a": 1.5}, "{no", 7, "\udcff", "", "absent"]


def test_bytes_are_texts_at_any_depth(spark: SparkSession, tmp_path: Path) -> None:
    """Older tools write texts without their type."""
    nested = {"columns": [{"columnName": b"A", "columnId": 7}], "objectName": "D.S.T", "m": [(b"k", b"v")]}
    members = [("objectName", pa.string()), ("m", pa.map_(pa.binary(), pa.binary()))]
    columns = pa.list_(pa.struct([("columnName", pa.binary()), ("columnId", pa.int64())]))
    kind = pa.list_(pa.struct([("columns", columns), *members]))
    names = {name: [text.encode()] for name, text in NAMES.items()}
    table = pa.table({**names, "direct_objects_accessed": pa.array([[nested]], kind), "b": [[b"x"]]})
    pq.write_table(table, tmp_path / "a.parquet")
    [record] = _records(tmp_path / "a.parquet")
    [source] = find([str(tmp_path / "a.parquet")]).sources
    [row] = of_spark(spark, source).select("text").collect()
    assert bytes(row["text"]).decode() == record.text
    objects = [{"columns": [{"columnName": "A", "columnId": 7}], "objectName": "D.S.T", "m": {"k": "v"}}]
    assert json.loads(record.text) == {**NAMES, "direct_objects_accessed": objects, "b": ["x"]}


def test_rows_of_parquet_are_in_order_across_their_batches(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(3000)]
    table = pa.table(dict.fromkeys(("query_id", "query_start_time", "user_name"), numbers))
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    assert [json.loads(record.text)["query_id"] for record in _records(tmp_path / "a.parquet")] == numbers
