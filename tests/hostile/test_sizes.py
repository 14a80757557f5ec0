"""Records that are too large are quarantined before they cost much; the cost of others is proportional to their
size.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.input import limits
from exporter.input.query_history import UNREADABLE, read_history
from exporter.input.reading import read_line, rows_of_document
from exporter.input.row import Row, Unreadable
from exporter.model import facts
from tests import exports
from tests.input.bad_rows import GOOD
from tests.input.plain_rows import TOO_DEEP, problems

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MIB: Final = 1 << 20
Json = dict[str, Any]


def line(**columns: Any) -> str:
    return json.dumps({**GOOD, **columns})


def thing(number: int, **more: Any) -> Json:
    return {"objectDomain": "Table", "objectId": number, "objectName": f"D.S.T{number}", **more}


# --- texts, and what takes no memory to set aside ---------------------------------------------------------------------


@pytest.mark.parametrize("size", [16 * MIB, 40 * MIB])
@pytest.mark.parametrize("column", ["query_id", "user_name", "query_start_time", "account_name"])
def test_a_text_of_many_megabytes_is_no_name(size: int, column: str) -> None:
    [why] = problems(line(**{column: "x" * size}))
    is_time = column == "query_start_time"
    of_column = f"{column} cannot be read as a time" if is_time else f"{column} has {size:,} characters"
    assert why.startswith(of_column if size < limits.LONGEST_RECORD else "the record has more than")


def test_names_inside_of_arrays_have_the_same_limit() -> None:
    longest = limits.LONGEST_NAME
    for name, wanted in (("N" * longest, None), ("N" * (longest + 1), f"objectName has {longest + 1:,} characters")):
        row = read_line(line(direct_objects_accessed=[thing(1), {"objectDomain": "Table", "objectName": name}]))
        assert isinstance(row, Row) if wanted is None else isinstance(row, Unreadable)
        assert wanted is None or row.problems[0].startswith(wanted)  # type: ignore[union-attr]  # not None here


def test_kept_json_and_the_text_of_a_statement_may_be_long() -> None:
    """A policy's body, a comment, SQL: they are no names."""
    body = {"policyBody": {"value": "x" * MIB}}
    change = {**thing(1), "operationType": "CREATE", "properties": body}
    assert isinstance(read_line(line(object_modified_by_ddl=change, additional_properties={"a": "x" * MIB})), Row)
    found = read_history(json.dumps({"query_id": "q", "query_text": "x" * MIB}))
    assert found is not None
    assert found.history.query_text == "x" * MIB


def test_a_line_of_query_history_has_a_limit_too() -> None:
    assert read_history(json.dumps({"query_id": "q", "query_text": "x" * (33 * MIB)})) == UNREADABLE


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (line(unknown="x" * (33 * MIB)), "the record has more than 33,554,432 characters"),
        (line()[:-1] + ', "x": [' + "{}," * 600_000 + "{}]}", "the record has more than 500,000 JSON objects"),
        (line()[:-1] + ', "x": [' + "1," * 2_100_000 + "1]}", "the record has more than 2,000,000 values"),
        ('{"query_id": "' + "x" * (33 * MIB), "the record has more than 33,554,432 characters"),
        ("[" * 100_000 + "]" * 100_000, TOO_DEEP),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, TOO_DEEP),
        (line()[:-1] + ', "x": ' + "[" * 100_000 + "]" * 100_000 + "}", TOO_DEEP),
    ],
    ids=["long", "objects", "values", "never closed", "deep", "deep objects", "deep where nobody looks"],
)
def test_what_is_too_much_is_not_read_at_all(text: str, why: str) -> None:
    """Deciding takes next to no memory: less than the text itself, and none per value."""
    tracemalloc.start()
    try:
        found = problems(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found[0].startswith(why)
    assert peak < max(MIB, len(text) // 4)


def test_json_in_text_that_is_too_deep_is_kept_as_text() -> None:
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    row = read_line(line(additional_properties=deep))
    assert isinstance(row, Row)
    assert row.additional_properties == deep
    change = {**thing(1), "operationType": "ALTER", "properties": deep}
    assert isinstance(read_line(line(object_modified_by_ddl=change)), Row)


def test_a_document_that_is_no_strict_json_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read it with patience takes many times its size."""
    monkeypatch.setattr(limits, "LONGEST_DOCUMENT", 1000)
    small, large = (f"[{','.join([line()] * times)},undefined]" for times in (1, 10))
    assert len(rows_of_document(small)) == 2
    assert rows_of_document(large) == [large]


def test_the_quarantine_keeps_the_beginning_of_a_long_record(tmp_path: Path) -> None:
    """40 MB in a line: the others go on, and the quarantine has its beginning."""
    path = tmp_path / "rows.ndjson"
    path.write_text(f"{line()}\n{line(query_id='x' * (40 * MIB))}\n{line(query_id='after')}\n")
    assert exports.export([path], tmp_path / "out") == 0
    report, [aside] = exports.report(tmp_path / "out"), exports.quarantine(tmp_path / "out")
    assert (report["rows_in"], report["exported"]) == (3, 2)
    assert aside["line"] == 2
    assert aside["as_it_came"] == line(query_id="x" * (40 * MIB))[: limits.SHOWN]
    assert "only its first 65,536 characters are kept" in aside["reason"]


# --- statements -------------------------------------------------------------------------------------------------------


def sourced(number: int) -> Json:
    return {"columnName": f"C{number}", "directSources": [thing(9, columnName=f"C{number}")]}


def many(size: int, name: str, **more: Any) -> list[Json]:
    return [{name: f"D.S.N{n}", **more} for n in range(size)]


def things(size: int, first: int = 1) -> list[Json]:
    return [thing(first + n) for n in range(size)]


GROWING: Final[dict[str, Callable[[int], Json]]] = {
    "columns read": lambda size: {"direct_objects_accessed": [thing(1, columns=many(size, "columnName"))]},
    "columns written": lambda size: {"objects_modified": [thing(1, columns=[sourced(n) for n in range(size)])]},
    "objects": lambda size: {"base_objects_accessed": things(size)},
    "policies": lambda size: {"policies_referenced": [thing(1, policies=many(size // 2, "policyName"))]},
    "properties": lambda size: {
        "object_modified_by_ddl": thing(1, properties={f"p{n}": {"value": n} for n in range(size)})
    },
    "names of nothing": lambda size: {"direct_objects_accessed": [{}] * size},
}  # fmt: skip


@pytest.mark.parametrize("what", GROWING)
def test_the_cost_of_a_row_is_proportional_to_its_size(what: str, tmp_path: Path) -> None:
    """Calls of functions, which other work on the machine does not change: twice the row, about twice the calls."""
    first, second = (_calls(GROWING[what](size), tmp_path / str(size)) for size in (400, 800))
    assert second < 2.3 * first


def _calls(columns: Json, folder: Path) -> int:
    """The calls that an export of one row makes; one before has made what is made once."""
    folder.mkdir()
    paths = [exports.ndjson([{**GOOD, "query_id": name, **columns}], folder / f"{name}.ndjson") for name in ("a", "b")]
    exports.export([paths[0]], folder / "before")
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        assert exports.export([paths[1]], folder / "out") == 0
    finally:
        sys.setprofile(None)
    return calls


def test_a_table_of_very_many_columns(tmp_path: Path) -> None:
    columns = [{"columnId": number, "columnName": f"C{number}"} for number in range(30_000)]
    wide = {**GOOD, "query_id": "wide", "direct_objects_accessed": [thing(1, columns=columns)]}
    others = [
        {**GOOD, "query_id": f"q{n}", "direct_objects_accessed": [thing(1, columns=columns[:1])]} for n in range(20)
    ]
    rows = exports.ndjson([wide, *others], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--strict", "--no-validate") == 0
    events = exports.events(tmp_path / "out")
    assert sum(map(len, events)) < 4_000_000, "its columns stand in the dataset's event, and not in each query's"
    assert exports.report(tmp_path / "out")["exported"] == 21


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (
            {"objects_modified": things(1100), "base_objects_accessed": things(1100, 5000)},
            "the query reads 1,101 objects and writes 1,100, more than 1,000,000 pairs of them",
        ),
        ({"base_objects_accessed": things(20_001)}, "the query names 20,001 objects, more than 20,000"),
        (
            {"objects_modified": [thing(1, columns=[{"columnName": "A", "baseSources": things(20_000, 2)}])]},
            "the query names 20,001 objects, more than 20,000",
        ),
    ],
    ids=["pairs", "objects", "sources"],
)  # fmt: skip
def test_a_query_that_does_too_much_is_quarantined(columns: Json, why: str, tmp_path: Path) -> None:
    rows = exports.ndjson([{**GOOD, **columns}, {**GOOD, "query_id": "other"}], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out") == 0
    assert [one["reason"] for one in exports.quarantine(tmp_path / "out")] == [why]


def test_it_counts_what_its_rows_do_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "PAIRS", 99)
    rows = [{**GOOD, "objects_modified": [thing(n + 1) for n in range(10)]}]
    rows += [{**GOOD, "base_objects_accessed": [thing(n + 100)]} for n in range(10)]
    assert exports.export([exports.ndjson(rows, tmp_path / "r.ndjson")], tmp_path / "out", "--allow-empty") == 0
    assert len(exports.quarantine(tmp_path / "out")) == len(rows)
