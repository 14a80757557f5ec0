"""QUERY_HISTORY, line by line: what is joined to a query, and which values cannot be read."""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from exporter.input.query_history import NO_HISTORY, UNREADABLE, History, HistoryLine, joined, latest, read_history
from tests import exports
from tests.input.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

AT = 1_772_352_000_000_000
FULL = {
    "QUERY_ID": "q", "QUERY_TEXT": "SELECT '🦖'\n--", "QUERY_TYPE": "SELECT", "QUERY_TAG": "t",
    "QUERY_PARAMETERIZED_HASH": "h", "SESSION_ID": 123456789012345678, "ROLE_NAME": "R", "ROLE_TYPE": "ROLE",
    "WAREHOUSE_NAME": "W", "WAREHOUSE_SIZE": "X-Small", "DATABASE_NAME": "D", "SCHEMA_NAME": "S",
    "START_TIME": "2026-03-01", "END_TIME": "2026-03-01 08:00:00.123 +0000", "TOTAL_ELAPSED_TIME": 12,
    "EXECUTION_STATUS": "SUCCESS", "BYTES_SCANNED": "1000", "ROWS_PRODUCED": 1, "ROWS_INSERTED": "2",
    "ROWS_UPDATED": 3, "ROWS_DELETED": None, "COLUMN_OF_NEXT_YEAR": {"a": [1]},
}  # fmt: skip
READ = HistoryLine(
    "q",
    History(
        query_text="SELECT '🦖'\n--", query_type="SELECT", query_tag="t", query_parameterized_hash="h",
        session_id="123456789012345678", role_name="R", role_type="ROLE", warehouse_name="W",
        warehouse_size="X-Small", database_name="D", schema_name="S", end_time=AT + 123_000, total_elapsed_time=12,
        execution_status="SUCCESS", bytes_scanned=1000, rows_produced=1, rows_inserted=2, rows_updated=3,
        start_time=AT - 8 * 3_600_000_000,
    ),
    is_unreadable=False,
)  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(FULL),
        json.dumps({name.lower(): value for name, value in FULL.items()}, indent=1),
        json.dumps({f" {name.title()} ": value for name, value in FULL.items()}, ensure_ascii=False),
        json.dumps({name: "\\N" if value is None else value for name, value in FULL.items()}),
        json.dumps({name: str(value) for name, value in FULL.items() if value is not None}),
        "\ufeff" + json.dumps(FULL) + ",",
        json.dumps(FULL).replace("null", "undefined"),
        json.dumps(FULL).replace("\\n", "\n"),
    ],
)
def test_a_line_in_every_spelling(text: str) -> None:
    assert read_history(text) == READ


@pytest.mark.parametrize("text", ["", "  ", "\t", "\ufeff"])
def test_blank_lines_are_none(text: str) -> None:
    assert read_history(text) is None


@pytest.mark.parametrize("text", ["x", "[]", "{", '{"query_id":"q"}{"query_id":"r"}', "null", "[" * 100_000])
def test_a_line_that_is_no_object_is_unreadable(text: str) -> None:
    assert read_history(text) == UNREADABLE


def test_a_column_in_two_letter_cases_is_unreadable_unless_they_say_the_same() -> None:
    assert read_history('{"query_id": "q", "ROLE_NAME": "R", "role_name": "S"}') == UNREADABLE
    for other in ('"R"', "null"):
        line = read_history(f'{{"query_id": "q", "ROLE_NAME": "R", "role_name": {other}}}')
        assert line == HistoryLine("q", History(role_name="R"), is_unreadable=False)


@pytest.mark.parametrize("given", [12, 12.0, "12", "12.0", "1.2E1"])
def test_a_session_is_a_number_in_any_writing(given: Any) -> None:
    line = read_history(json.dumps({"query_id": "q", "session_id": given}))
    assert line == HistoryLine("q", History(session_id="12"), is_unreadable=False)


def test_the_text_null_is_no_value() -> None:
    line = read_history('{"query_id": "q", "role_name": "NULL", "rows_produced": "NULL", "warehouse_name": "null"}')
    assert line == HistoryLine("q", NO_HISTORY, is_unreadable=False)


def test_a_column_that_is_not_read_may_have_two_values() -> None:
    assert read_history(json.dumps({**FULL, "x": 1, "X": 2, "ERROR_CODE": "1", "error_code": "2"})) == READ


@pytest.mark.parametrize("ident", [None, "", "\\N", "null", "TRUNCATED"])
def test_a_line_without_query_id_is_unreadable(ident: str | None) -> None:
    line = read_history(json.dumps({"query_id": ident, "query_type": "SELECT"}))
    assert line == HistoryLine(None, History(query_type="SELECT"), is_unreadable=True)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("12", 12), ("+5", 5), (" 7 ", 7), ("\t5\n", 5), ("12.7", 12), ("-0.9", 0), (".5", 0), ("5.", 5),
        ("1e3", 1000), ("1e-3", 0), ("1d", 1), ("1.5f", 1), (12, 12), (12.7, 12), (1e3, 1000),
        ("9007199254740993", 9007199254740993), (2**63 - 1, 2**63 - 1), ("9.007199254740993E15", 9007199254740993),
    ],
)  # fmt: skip
def test_numbers(value: Any, number: int) -> None:
    line = read_history(json.dumps({"query_id": "q", "rows_produced": value}))
    assert line == HistoryLine("q", History(rows_produced=number), is_unreadable=False)


@pytest.mark.parametrize(
    "value",
    ["x", "NaN", "Infinity", "inf", "1e19", "-1e19", str(2**63), "1_000", "0x10", "1,000", "1 2", "\uff11", " ", True,
     {"a": 1}, "1e400", "1e9999999999999999999", "9" * 5000, -2, "-3.0", str(-(2**63))],
)  # fmt: skip
def test_a_number_that_cannot_be_read_is_left_out_and_reported(value: Any) -> None:
    line = read_history(json.dumps({"query_id": "q", "rows_produced": value, "query_type": "SELECT"}))
    assert line == HistoryLine("q", History(query_type="SELECT"), is_unreadable=True)


@pytest.mark.parametrize("value", ["yesterday", " ", "undefined", 12, -5])
def test_a_time_that_cannot_be_read_is_left_out_and_reported(value: Any) -> None:
    line = read_history(json.dumps({"query_id": "q", "end_time": value, "query_type": "SELECT"}))
    assert line == HistoryLine("q", History(query_type="SELECT"), is_unreadable=True)


@pytest.mark.parametrize("cut", [-1, "-1", "-1.0", " -1 "])
def test_what_snowflake_writes_for_truncated_values_counts_as_missing(cut: Any) -> None:
    """The view, "Truncated records". No number of rows, bytes or milliseconds is negative; a role can be -1."""
    numbers = dict.fromkeys(("rows_produced", "rows_inserted", "total_elapsed_time", "bytes_scanned"), cut)
    texts = dict.fromkeys(("role_name", "warehouse_name", "query_text", "end_time"), "TRUNCATED")
    line = read_history(json.dumps({"query_id": "q", **numbers, **texts, "session_id": -1, "schema_name": "-1"}))
    assert line == HistoryLine("q", History(schema_name="-1"), is_unreadable=False)


def test_texts_and_what_stands_for_none() -> None:
    columns = {"query_text": "null", "query_tag": {"a": 1.10, "b": []}, "role_name": True, "schema_name": ""}
    line = read_history(
        json.dumps({"query_id": 123, **columns, "end_time": "null", "rows_deleted": "", "role_type": " "})
    )
    history = History(query_tag='{"a":1.1,"b":[]}', role_name="true", role_type=" ")
    assert line == HistoryLine("123", history, is_unreadable=False)


def test_the_line_that_ended_last_is_kept() -> None:
    """Of those that ended together the one with the larger columns, in their order; none is before any."""
    in_order = [
        History(query_text="z"),
        History(query_text="z", rows_deleted=1),
        History(end_time=1),
        History(end_time=1, rows_deleted=9),
        History(end_time=1, query_text="a", query_type="z"),
        History(end_time=1, query_text="b"),
        History(end_time=1, query_text="b", total_elapsed_time=9),
        History(end_time=1, query_text="b", total_elapsed_time=10),
        History(end_time=1, query_text="é"),
        History(end_time=1, query_text="\uffff"),
        History(end_time=1, query_text="🦖"),
        History(end_time=2, query_text=None),
    ]
    for number in range(1, len(in_order) + 1):
        assert latest(reversed(in_order[:number])) == in_order[number - 1]
    for some in permutations(in_order[2:6]):
        assert latest(some) == in_order[5]


@pytest.mark.parametrize(
    ("text", "is_temporary"),
    [
        ("create temporary table t (a int)", True),
        ('/* {"app": "dbt"} */\n-- load\n  CREATE OR REPLACE LOCAL TEMP TABLE t AS SELECT 1', True),
        ("create volatile table t (a int)", True),
        ("create table temporary (a int)", False),
        ("insert into t select 'create temporary table x '", False),
        ("/* create temporary table t ", False),
        ("-- create temporary table t ", False),
    ],
)
def test_a_statement_shows_whether_it_creates_a_temporary_table(text: str, *, is_temporary: bool) -> None:
    line = read_history(json.dumps({"query_id": "q", "query_text": text}))
    assert line is not None
    assert line.history.is_temporary is is_temporary


# --- lines that contradict the rows of the query


def test_the_end_of_a_line_with_another_start_is_not_used() -> None:
    """A second is allowed, and each row's start is one."""
    assert joined([], [AT]) == (NO_HISTORY, 0)
    ended = History(end_time=AT + 5_000_000, role_name="R")
    for moved in (0, 1_000_000, -1_000_000, None):
        start = None if moved is None else AT + moved
        assert joined([structs.replace(ended, start_time=start)], [AT]) == (ended, 0)
        assert joined([structs.replace(ended, start_time=start)], [AT - 7_200_000_000, AT]) == (ended, 0)
    late = History(end_time=AT + 9_000_000_000, role_name="LATE", start_time=AT + 7_200_000_000)
    assert joined([late], [AT]) == (History(role_name="LATE"), 1)
    assert joined([late, structs.replace(ended, start_time=AT)], [AT]) == (ended, 1)


def test_an_end_before_the_start_is_not_used() -> None:
    """INFORMATION_SCHEMA gives a query that still runs an end in 1970. The earliest row has the start of the query."""
    for end in (AT - 1, 0):
        line = History(end_time=end, role_name="R")
        assert joined([line], [AT + 1, AT]) == (History(role_name="R"), 1)
    assert joined([History(end_time=AT)], [AT + 1, AT]) == (History(end_time=AT), 0)
    assert joined([History(end_time=0)], []) == (History(end_time=0), 0)


def test_lines_in_another_zone_are_counted_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As of an unload in a zone two hours east of UTC, without offsets; ``GOOD`` starts at 08:00 UTC."""
    rows = exports.ndjson([{**GOOD, "query_id": f"q{number}"} for number in range(3)], tmp_path / "rows.ndjson")
    hours = {"q0": (8, 9), "q1": (10, 11), "q2": (10, 11), "none": (10, 11)}
    lines = [
        {"query_id": query_id, "start_time": f"2026-03-01 {start:02}:00:00", "end_time": f"2026-03-01 {end:02}:00:00"}
        for query_id, (start, end) in hours.items()
    ]
    history = exports.ndjson(lines, tmp_path / "history.ndjson")
    assert exports.export([rows], tmp_path / "out", "--query-history", str(history)) == 0
    assert exports.report(tmp_path / "out")["query_history"] == {
        "rows_in": 4,
        "doubled": 0,
        "unreadable": 0,
        "unusable": 0,
        "contradicting": 2,
    }
    assert (
        "2 rows of QUERY_HISTORY have another start than the rows of the query, or an end before it"
        in capsys.readouterr().out
    )
    ends = {value for _, name, value in exports.triples(tmp_path / "out") if name.endswith("#endedAtTime>")}
    assert {end[:21] for end in ends} == {'"2026-03-01T09:00:00Z'}


# --- records that are none


@pytest.mark.parametrize("sql", ["", ",query_text"], ids=["without SQL", "with SQL"])
def test_records_of_another_number_of_fields_are_counted_and_told(
    sql: str, tmp_path: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As lines of NDJSON that are cut off. A record of blanks alone is a blank line, as in NDJSON."""
    rows = exports.ndjson([{**GOOD, "query_id": f"q{number}"} for number in range(4)], tmp_path / "rows.ndjson")
    more = ",select 1" if sql else ""
    records = [f"q0,W0{more}", f"q1,W1{more},more", "   ", "q2", f"q3,W3{more}"]
    (tmp_path / "history.csv").write_text("\n".join([f"query_id,warehouse_name{sql}", *records, ""]), encoding="utf-8")
    options = ("--query-history", str(tmp_path / "history.csv"), "--strict")
    assert exports.export([rows], tmp_path / "out", *options, engine=engine) == 1
    counts = exports.report(tmp_path / "out")["query_history"]
    assert counts == {"rows_in": 4, "doubled": 0, "unreadable": 2, "unusable": 2, "contradicting": 0}
    assert "2 rows of QUERY_HISTORY have no query id that can be read" in capsys.readouterr().out
    assert warehouses(tmp_path / "out") == {'"W0"', '"W3"'}


def test_a_value_that_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    history = exports.ndjson([{"query_id": GOOD["query_id"], "rows_produced": "many"}], tmp_path / "history.ndjson")
    assert exports.export([rows], tmp_path / "out", "--query-history", str(history)) == 0
    assert "1 row of QUERY_HISTORY has a value that cannot be read, which is left out" in capsys.readouterr().out
    assert exports.export([rows], tmp_path / "strict", "--query-history", str(history), "--strict") == 1


# --- several files


def warehouses(out: Path) -> set[str]:
    return {value for _, name, value in exports.triples(out) if name.endswith("#warehouseName>")}


def test_all_files_that_are_given_are_read(tmp_path: Path, engine: str) -> None:
    """In several options, folders, globs and forms; the manifest names all, and what is given twice is read once."""
    rows = exports.ndjson([{**GOOD, "query_id": f"q{number}"} for number in range(4)], tmp_path / "rows.ndjson")
    (tmp_path / "a,b.csv").write_text("query_id,warehouse_name\nq0,W0\n", encoding="utf-8")
    (tmp_path / "two.csv").write_text("warehouse_name,query_id\nW1,q1\n", encoding="utf-8")
    exports.ndjson([{"query_id": "q2", "warehouse_name": "W2"}], tmp_path / "three.ndjson")
    (tmp_path / "folder").mkdir()
    exports.ndjson([{"query_id": "q3", "warehouse_name": "W3"}], tmp_path / "folder" / "four.ndjson")
    given = [str(tmp_path / name) for name in ("a,b.csv", "tw?.csv", "three.ndjson", "folder", "two.csv")]
    options = [word for path in given for word in ("--query-history", path)]
    assert exports.export([rows], tmp_path / "out", *options, engine=engine) == 0
    assert warehouses(tmp_path / "out") == {f'"W{number}"' for number in range(4)}
    assert exports.report(tmp_path / "out")["query_history"]["rows_in"] == 4
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["settings"]["query_history"] == given
    assert manifest["settings"]["aggregate"] is None


def test_an_update_reads_all_files_too(tmp_path: Path) -> None:
    rows = exports.ndjson([{**GOOD, "query_id": f"q{number}"} for number in range(3)], tmp_path / "rows.ndjson")
    for number in range(3):
        exports.ndjson([{"query_id": f"q{number}", "warehouse_name": f"W{number}"}], tmp_path / f"{number}.ndjson")
    first, *later = (("--query-history", str(tmp_path / f"{number}.ndjson")) for number in range(3))
    assert exports.export([rows], tmp_path / "out", "--update", *first) == 0
    assert exports.export([rows], tmp_path / "out", "--update", *later[0], *later[1]) == 0
    assert warehouses(tmp_path / "out") == {'"W0"', '"W1"', '"W2"'}


@pytest.mark.parametrize("option", ["--query-history", "--aggregate"])
@pytest.mark.parametrize("is_first", [True, False])
def test_one_of_several_files_that_is_not_there_is_named(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_first: bool
) -> None:
    rows = exports.ndjson([GOOD], tmp_path / "rows.ndjson")
    calls = {"interval_start_time": "2026-03-01", "interval_end_time": "2026-03-02", "user_name": "APP", "calls": 1}
    there = exports.ndjson([calls if option == "--aggregate" else {"query_id": "q"}], tmp_path / "there.ndjson")
    names = [str(there), str(tmp_path / "nowhere.csv")][:: -1 if is_first else 1]
    assert exports.export([rows], tmp_path / "out", option, names[0], option, names[1]) == 2
    assert f"{tmp_path / 'nowhere.csv'}: there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_files_of_which_none_is_of_the_view_are_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, *others = (exports.ndjson([{"x": 1}], tmp_path / f"{name}.ndjson") for name in ("rows", "one", "two"))
    exports.ndjson([GOOD], rows)
    options = [word for path in others for word in ("--query-history", str(path))]
    assert exports.export([rows], tmp_path / "out", *options) == 2
    assert f"none of the 2 rows of {others[0]}, {others[1]} is a row of QUERY_HISTORY" in capsys.readouterr().err
