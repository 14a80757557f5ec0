"""What is behind views and streams: compared with what is really behind them, and with a plain reading of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pytest

from tests import exports
from tests.graph.view_histories import Account

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
AH: Final = "https://w3id.org/access-history#"
BASE: Final = f"snowflake://{exports.ACCOUNT}/"
VIEW: Final[Json] = {"objectDomain": "View", "objectId": 12, "objectName": "D.S.V"}
OTHER: Final[Json] = {"objectDomain": "View", "objectId": 14, "objectName": "D.S.W"}
TABLE: Final[Json] = {"objectDomain": "Table", "objectId": 11, "objectName": "D.S.T"}
SECOND: Final[Json] = {"objectDomain": "Table", "objectId": 15, "objectName": "D.S.T2"}
TARGET: Final[Json] = {"objectDomain": "Table", "objectId": 13, "objectName": "D.S.COPY"}
SENTINEL: Final[Json] = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
STREAM: Final[Json] = {"objectDomain": "Stream", "objectId": 31, "objectName": "D.S.ST"}
FUNCTION: Final[Json] = {"objectDomain": "Function", "objectId": 2, "objectName": "D.S.F", "argumentSignature": "()"}


def sources(out: Path) -> dict[str, Json]:
    """The sources of views by IRI, with the local names of their properties."""
    triples, found = exports.triples(out), dict[str, Json]()
    for subject, term, value in triples:
        if term.endswith("type>") and value == f"<{AH}ViewSource>":
            found[subject] = {}
    for subject, term, value in triples:
        if subject in found and not term.endswith("type>"):
            text = value.partition("^^")[0].strip('<>"')
            found[subject][term.strip("<>").partition("#")[2]] = text.removeprefix(BASE)
    return found


def pairs(out: Path, evidence: str) -> set[tuple[str, str | None, str, str | None]]:
    """View, its column, source, its column."""
    return {
        (one["view"], _column(one.get("viewColumn")), one["sourceObject"], _column(one.get("sourceColumn")))
        for one in sources(out).values()
        if one["evidence"] == evidence
    }


def _column(iri: str | None) -> str | None:
    return None if iri is None else unquote(iri.rpartition("/")[2])


def row(number: int, *direct: Json | None, **columns: Any) -> Json:
    start = f"2026-03-0{1 + number // 20} 08:{number % 20:02}:00Z"
    return {"query_id": f"q{number:02}", "query_start_time": start, "user_name": "A",
            "direct_objects_accessed": list(direct), **columns}  # fmt: skip


def ddl(number: int, operation: str, thing: Json) -> Json:
    return row(number, object_modified_by_ddl={**thing, "operationType": operation, "properties": {}})


def exported(tmp_path: Path, rows: list[Json], *options: str) -> Path:
    out = tmp_path / "out"
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], out, *options) == 0
    return out


@pytest.mark.parametrize(
    ("direct", "certain", "possible"),
    [
        ((VIEW,), {"table/11"}, set()),
        ((VIEW, VIEW), {"table/11"}, set()),
        ((VIEW, OTHER), set(), {"table/11"}),
        ((VIEW, TABLE), set(), {"table/11"}),
        ((VIEW, FUNCTION), set(), {"table/11"}),
        ((VIEW, {"objectDomain": "Stage", "objectName": "D.S.G"}), set(), {"table/11"}),
        ((VIEW, {"locations": ["s3://a/b"]}), set(), {"table/11"}),
        ((VIEW, SENTINEL), set(), {"table/11"}),
        ((VIEW, None), set(), {"table/11"}),
        (({**VIEW, "joinObjects": [{"joinType": "INNER_JOIN", "node": SECOND}]},), set(), {"table/11"}),
        ((TABLE,), set(), set()),
    ],
)  # fmt: skip
def test_a_source_is_certain_where_a_query_read_nothing_else(
    direct: tuple[Json | None, ...], certain: set[str], possible: set[str], tmp_path: Path
) -> None:
    out = exported(tmp_path, [row(1, *direct, base_objects_accessed=[TABLE, FUNCTION, VIEW])])
    assert {source for view, _, source, _ in pairs(out, "CERTAIN") if view == "view/12"} == certain
    assert {source for view, _, source, _ in pairs(out, "POSSIBLE") if view == "view/12"} == possible


def written(direct: list[Json], base: list[Json]) -> list[Json]:
    return [{**TARGET, "columns": [{"columnName": "A", "directSources": direct, "baseSources": base}]}]


@pytest.mark.parametrize(
    ("direct", "is_certain"),
    [
        ([{**VIEW, "columnName": "C"}], True),
        ([{**VIEW, "columnName": "C"}, {**TABLE, "columnName": "X"}], False),
        ([{**VIEW, "columnName": "C"}, {**VIEW, "columnName": "D"}], False),
        ([{**VIEW, "columnName": "C"}, FUNCTION], False),
    ],
)
def test_a_column_is_certain_where_it_is_the_only_direct_source(
    direct: list[Json],
    *,
    is_certain: bool,
    tmp_path: Path,
) -> None:
    base = [{**TABLE, "columnName": "X"}, FUNCTION]
    out = exported(tmp_path, [row(1, VIEW, SECOND, base_objects_accessed=[TABLE, SECOND],
                                  objects_modified=written(direct, base))])  # fmt: skip
    of_columns = {one[1:] for one in pairs(out, "CERTAIN" if is_certain else "POSSIBLE") if one[1] == "C"}
    assert of_columns == {("C", "table/11", "X")}
    assert (("view/12", None, "table/11", None) in pairs(out, "CERTAIN")) is is_certain
    assert ("view/12", None, "table/15", None) in pairs(out, "POSSIBLE")


def test_a_truncated_record_makes_no_column_certain(tmp_path: Path) -> None:
    modified = [*written([{**VIEW, "columnName": "C"}], [{**TABLE, "columnName": "X"}]), SENTINEL]
    out = exported(tmp_path, [row(1, VIEW, SECOND, objects_modified=modified)])
    assert pairs(out, "CERTAIN") == set()
    assert ("view/12", "C", "table/11", "X") in pairs(out, "POSSIBLE")


def test_evidence_and_times(tmp_path: Path) -> None:
    """Possible sources of before a query that read the view alone are none: that query has all that is behind it."""
    rows = [
        row(1, VIEW, OTHER, base_objects_accessed=[TABLE, SECOND]),
        row(2, VIEW, base_objects_accessed=[TABLE]),
        row(3, VIEW, base_objects_accessed=[{**TABLE, "objectName": "D.S.RENAMED"}]),
        row(4, VIEW, OTHER, base_objects_accessed=[TABLE]),
    ]
    found = [one for one in sources(exported(tmp_path, rows)).values() if one["view"] == "view/12"]
    assert found == [
        {"view": "view/12", "sourceObject": "table/11", "sourceName": "D.S.T", "evidence": "CERTAIN",
         "evidenceQueryId": "q02", "firstSeen": "2026-03-01T08:02:00Z", "lastSeen": "2026-03-01T08:03:00Z"}
    ]  # fmt: skip
    later = [*rows, row(5, VIEW, OTHER, base_objects_accessed=[TABLE, SECOND])]
    out = exported(tmp_path, later, "--replace")
    assert ("view/12", None, "table/15", None) in pairs(out, "POSSIBLE")


def test_a_definition_ends_with_a_drop_or_a_new_one_of_the_same_key(tmp_path: Path) -> None:
    bare = {"objectDomain": "View", "objectName": "D.S.V"}
    rows = [
        row(1, bare, base_objects_accessed=[TABLE]),
        ddl(2, "CREATE", bare),
        row(3, bare, base_objects_accessed=[SECOND]),
        ddl(4, "DROP", bare),
        row(5, bare, base_objects_accessed=[TABLE]),  # it was created again without a row
        row(6, VIEW, base_objects_accessed=[TABLE]),
        ddl(7, "DROP", VIEW),
        ddl(8, "UNDROP", VIEW),
        row(9, VIEW, base_objects_accessed=[TABLE]),
        row(10, STREAM, base_objects_accessed=[TABLE]),
        ddl(11, "DROP", STREAM),
        row(12, OTHER, base_objects_accessed=[TABLE]),
        ddl(13, "REPLACE", OTHER),
        ddl(14, "DROP", OTHER),  # no row says what it showed when it was dropped
        ddl(15, "UNDROP", OTHER),
        row(16, OTHER, base_objects_accessed=[SECOND]),
        ddl(17, "CREATE", OTHER | {"objectId": 16}),  # CREATE OR REPLACE with a new id: it takes the name
    ]
    found = sources(exported(tmp_path, rows))
    periods = {iri.strip("<>").removeprefix(BASE): (one.get("validFrom"), one.get("validUntil"))
               for iri, one in found.items()}  # fmt: skip
    assert periods == {
        "view/name/D.S.V/before/q01/shows/object/table/11": (None, minute(2)),
        "view/name/D.S.V/version/q02/shows/object/table/15": (minute(2), minute(4)),
        "view/name/D.S.V/version-after-drop/q04/shows/object/table/11": (minute(4), None),
        "view/12/before/q06/shows/object/table/11": (None, None),
        "stream/31/before/q10/shows/object/table/11": (None, minute(11)),
        "view/14/before/q12/shows/object/table/11": (None, minute(13)),
        "view/14/version/q15/shows/object/table/15": (minute(13), minute(17)),
    }


def minute(number: int) -> str:
    return f"2026-03-01T08:{number:02}:00Z"


# --- drawn histories --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_what_is_certain_is_true_and_what_is_true_is_at_least_possible(seed: int, tmp_path: Path) -> None:
    account = Account(seed)
    rows = account.draw(70)
    out = exported(tmp_path, rows)
    certain, possible = pairs(out, "CERTAIN"), pairs(out, "POSSIBLE")
    ever: dict[str, set[tuple[str, str, str]]] = {}
    for (_, view), columns in account.truth.items():
        ever.setdefault(view, set()).update((name, *pair) for name, behind in columns.items() for pair in behind)
    for view, name, source, column in certain:
        if name is None:
            assert source in {key for _, key, _ in ever[view]}, (view, source)
        else:
            assert (name, source, column) in ever[view]
    for (_, view), columns in account.truth.items():
        for key in {key for behind in columns.values() for key, _ in behind}:
            assert (view, None, key, None) in certain | possible
    assert certain
    assert possible


@pytest.mark.parametrize("seed", range(4))
def test_all_ways_to_export_give_the_same(seed: int, tmp_path: Path) -> None:
    """Any order of rows, reads by day, day by day with an update, and with the queries of the first day late."""
    rows = Account(seed).draw(60)
    expected = sources(exported(tmp_path, rows))
    shuffled = [rows[number] for number in sorted(range(len(rows)), key=lambda number: hash((number * 7919) % 101))]
    ways: list[tuple[str, list[list[Json]], tuple[str, ...]]] = [
        ("shuffled", [shuffled], ()), ("daily", [rows], ("--reads", "daily")),
        ("updates", [rows[:20], rows[20:45], rows[45:]], ("--update",)),
        ("late", [rows[10:], rows[:10]], ("--update",)),
        ("daily-updates", [rows[:30], rows[30:]], ("--update", "--reads", "daily")),
    ]  # fmt: skip
    for name, parts, options in ways:
        out = tmp_path / name
        for number, part in enumerate(parts):
            assert exports.export([exports.ndjson(part, tmp_path / f"{name}{number}.ndjson")], out, *options) == 0
        assert sources(out) == expected, name
