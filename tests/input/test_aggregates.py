"""Rows of AGGREGATE_ACCESS_HISTORY: one activity with a count for the calls in an interval (docs/input.md)."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.input.reading import read_line, read_row
from exporter.input.row import Row, Unreadable
from tests import exports
from tests.aggregates import added_up, calls, thing
from tests.engines.test_updates import over_days
from tests.histories import random_history
from tests.input.input_forms import FORMS, write_form
from tests.model.ddl_forms import FORMS as FORMS_OF_DDL
from tests.model.ddl_forms import rows_in
from tests.model.test_ddl_forms import drawn

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
ORDERS: Final = thing(1, "SHOP.PUBLIC.ORDERS", "ID", "STATE", domain="Hybrid table")
CUSTOMERS: Final = thing(2, "SHOP.PUBLIC.CUSTOMERS", "ID")
READ: Final = calls("2026-09-01T08:00", "APP", "h1", 120, [ORDERS])
WRITE: Final = calls("2026-09-01T08:00", "APP", "h2", 5, [CUSTOMERS], [thing(1, "SHOP.PUBLIC.ORDERS", "ID")])
LATER: Final = calls("2026-09-01T08:01", "ANN", "h1", 7, [ORDERS])
AH: Final = "https://w3id.org/access-history#"


def ident(row: Json) -> str:
    read = read_row(json.dumps(row), is_aggregate=True)
    assert isinstance(read, Row), read
    return read.query_id


def without(row: Json, *names: str) -> Json:
    return {name: value for name, value in row.items() if name not in names}


# --- reading ----------------------------------------------------------------------------------------------------------


def test_all_forms_at_once_are_one_form_and_its_duplicates(engine: str, tmp_path: Path) -> None:
    """A row that came out differently in any form would be no duplicate of the others."""
    rows = [{**row, "calls": str(row["calls"])} for row in (READ, WRITE, LATER)]
    plain = exports.ndjson(rows, tmp_path / "plain.ndjson")
    assert exports.export([], tmp_path / "expected", "--aggregate", str(plain)) == 0
    for form in FORMS:
        write_form(rows, tmp_path / "given" / form, form)
    assert exports.export([], tmp_path / "out", "--aggregate", str(tmp_path / "given"), engine=engine) == 0
    counts = exports.report(tmp_path / "out")["aggregate"]
    assert (counts["exported"], counts["duplicates"]) == (len(rows), len(rows) * (len(FORMS) - 1))
    assert exports.triples(tmp_path / "out") == exports.triples(tmp_path / "expected")
    assert exports.events(tmp_path / "out") == exports.events(tmp_path / "expected")


def test_all_files_that_are_given_are_read(tmp_path: Path) -> None:
    one, two = (exports.ndjson([row], tmp_path / f"{row['user_name']}.ndjson") for row in (READ, LATER))
    assert exports.export([], tmp_path / "out", "--aggregate", str(one), "--aggregate", str(two)) == 0
    assert exports.report(tmp_path / "out")["aggregate"]["calls"] == 127


def test_the_key_is_interval_hash_user_and_objects() -> None:
    others = [
        {**READ, "interval_start_time": "2026-09-01T07:59:00Z"},
        {**READ, "interval_end_time": "2026-09-01T08:02:00Z"},
        {**READ, "query_parameterized_hash": "h9"},
        {**READ, "query_parameterized_hash": None},
        {**READ, "user_name": "ANN"},
        {**READ, "base_objects_accessed": []},
        {**READ, "direct_objects_accessed": [thing(1, "SHOP.PUBLIC.ORDERS", "ID", domain="Hybrid table")]},
    ]
    assert len({ident(one) for one in (READ, *others)}) == 1 + len(others)
    assert ident({**READ, "calls": 121}) == ident(READ)


def test_the_same_row_written_otherwise_has_the_same_key() -> None:
    two = {**READ, "base_objects_accessed": [ORDERS, CUSTOMERS]}
    turned = [dict(reversed(one.items())) for one in (CUSTOMERS, {**ORDERS, "objectId": "1", "location": None})]
    again = {
        **two,
        "interval_start_time": "2026-09-01 10:00:00.000 +0200",
        "base_objects_accessed": json.dumps(turned),
        "objects_modified": None,
    }
    assert ident(again) == ident(two)
    of_doubles = {**two, "base_objects_accessed": [{**ORDERS, "objectId": 1.0}, CUSTOMERS]}
    assert ident(of_doubles) == ident(two)


def test_every_form_of_ddl_properties_is_the_same_calls(tmp_path: Path) -> None:
    """The page of the view gives object_modified_by_ddl the form that it has in ACCESS_HISTORY."""
    changes = [row["object_modified_by_ddl"] for row in drawn(3, 20)]
    rows = [calls("2026-09-01T08:00", "APP", f"h{at}", 3, object_modified_by_ddl=one) for at, one in enumerate(changes)]
    first, *others = [exported_in(form, rows, tmp_path / form.replace(" ", "-")) for form in FORMS_OF_DDL]
    assert len(first[1]) > 4 * len(rows)
    for other in others:
        assert other == first


def exported_in(form: str, rows: list[Json], folder: Path) -> tuple[list[Json], set[exports.Triple]]:
    """Events and triples of an export of the rows in a form of DDL properties, without the JSON of these."""
    folder.mkdir()
    out = exported(rows_in(form, rows), folder)
    events = [json.loads(event) for event in exports.events(out)]
    for event in events:
        for change in event.get("run", {}).get("facets", {}).get("accessHistory_ddl", {}).get("changes", ()):
            del change["properties"]
    return sorted(events, key=json.dumps), {one for one in exports.triples(out) if one[1] != f"<{AH}properties>"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (without(READ, "interval_start_time"), "interval_start_time is missing"),
        ({**READ, "interval_end_time": None}, "interval_end_time is missing"),
        ({**READ, "interval_end_time": "soon"}, "interval_end_time cannot be read as a time: soon"),
        ({**READ, "interval_end_time": "2026-09-01T07:00:00Z"}, "interval_end_time is before interval_start_time"),
        ({**READ, "user_name": " "}, "user_name is missing"),
        (without(READ, "calls"), "calls is missing"),
        ({**READ, "calls": 0}, "calls must be a whole number, 1 or more: 0"),
        ({**READ, "calls": -3}, "calls must be a whole number, 1 or more: -3"),
        ({**READ, "calls": "many"}, "calls must be a whole number, 1 or more: many"),
        ({**READ, "calls": 10**30}, f"calls must be a whole number, 1 or more: {10**30}"),
        ({"user_name": "ANN"}, "interval_start_time, interval_end_time and calls are missing"),
        ({**READ, "query_id": "q", "query_start_time": "2026-09-01"}, "this is a row of ACCESS_HISTORY"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(row: Json, reason: str) -> None:
    read = read_row(json.dumps(row), is_aggregate=True)
    assert isinstance(read, Unreadable)
    assert len(read.problems) == 1
    assert read.problems[0].startswith(reason)


@pytest.mark.parametrize("column", ["query_id", "parent_query_id", "root_query_id"])
def test_no_row_of_the_other_view_takes_an_id_that_is_made_here(column: str) -> None:
    row = {"query_id": "q", "query_start_time": "2026-09-01", "user_name": "ANN"}
    assert isinstance(read_line(json.dumps(row)), Row)
    read = read_line(json.dumps({**row, column: ident(READ)}))
    assert read == Unreadable((f"{column} cannot be an id of Snowflake's",))


@pytest.mark.parametrize("form", ["ndjson", "json-array", "csv", "parquet-native"])
def test_a_file_of_the_wrong_view_is_refused(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = random_history(1, 3)
    rows, aggregates = write_form(history, tmp_path / "rows", form), write_form([READ], tmp_path / "calls", form)
    assert exports.export([aggregates], tmp_path / "out") == 2
    assert "--aggregate" in capsys.readouterr().err
    assert exports.export([], tmp_path / "out", "--aggregate", str(rows)) == 2
    assert "as INPUT" in capsys.readouterr().err
    queries = write_form([{**without(READ, *READ.keys() - {"calls"}), "interval_start_time": "x", "query_text": "y"}],
                         tmp_path / "queries", "ndjson")  # fmt: skip
    assert exports.export([], tmp_path / "out", "--aggregate", str(queries)) == 2
    assert "AGGREGATE_QUERY_HISTORY" in capsys.readouterr().err


# --- the account ------------------------------------------------------------------------------------------------------


def test_the_account_adds_up_over_both_views(tmp_path: Path, engine: str) -> None:
    row = {"query_id": "q", "query_start_time": "2026-09-01", "user_name": "ANN", "direct_objects_accessed": [ORDERS]}
    rows = exports.ndjson([row, row, {"query_id": "bad"}, READ], tmp_path / "rows.ndjson")
    twice = {**LATER, "calls": 8}
    given = [READ, READ, WRITE, LATER, twice, {**READ, "calls": 0}, row]
    aggregates = exports.ndjson(given, tmp_path / "calls.ndjson")
    assert exports.export([rows], tmp_path / "out", "--aggregate", str(aggregates), engine=engine) == 0
    report = exports.report(tmp_path / "out")
    names = ("rows_in", "exported", "duplicates", "quarantined")
    assert [report[name] for name in names] == [11, 3, 2, 6]
    assert report["aggregate"] == {"rows_in": 7, "exported": 2, "duplicates": 1, "quarantined": 4, "calls": 125}
    files = (tmp_path / "out" / "quarantine").glob("*")
    lines = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    of_calls = [one["line"] for one in lines if "different numbers of calls" in one["reason"]]
    assert sorted(of_calls) == [4, 5]


# --- what becomes of them ---------------------------------------------------------------------------------------------


def exported(rows: list[Json], folder: Path, *options: str) -> Path:
    given = exports.ndjson(rows, folder / "calls.ndjson")
    assert exports.export([], folder / "out", "--aggregate", str(given), "--force", *options) == 0
    return folder / "out"


def values(out: Path, subject: str, term: str) -> set[str]:
    whole = f"<snowflake://{exports.ACCOUNT}/{subject}>"
    return {value for one, name, value in exports.triples(out) if one == whole and name == f"<{AH}{term}>"}


def test_an_interval_is_one_activity_with_a_count(tmp_path: Path) -> None:
    out = exported([READ], tmp_path)
    query = f"query/{ident(READ)}"
    assert values(out, query, "queryCount") == {'"120"^^<http://www.w3.org/2001/XMLSchema#integer>'}
    assert values(out, query, "queryParameterizedHash") == {'"h1"'}
    assert values(out, query, "queryId") == set()
    kinds = {value for one, name, value in exports.triples(out) if query in one and name.endswith("#type>")}
    assert f"<{AH}AggregatedQueries>" in kinds
    assert f"<{AH}Query>" not in kinds


def test_what_was_written_is_there_when_the_interval_ends(tmp_path: Path) -> None:
    """A read of the same interval does not see it, one of the next interval does."""
    out, version = exported([READ, WRITE, LATER], tmp_path), f"table/1/version/{ident(WRITE)}"
    used = {
        name: {value for one, term, value in exports.triples(out) if f"query/{ident(row)}>" in one and "#used>" in term}
        for name, row in (("same", READ), ("next", LATER))
    }
    assert f"<snowflake://{exports.ACCOUNT}/{version}>" in used["next"]
    assert not any(version in one for one in used["same"])


def test_the_run_of_an_interval(tmp_path: Path) -> None:
    out = exported([WRITE], tmp_path)
    runs = [json.loads(line) for line in exports.events(out) if '"run"' in line]
    times = {run["eventType"]: run["eventTime"] for run in runs}
    assert times == {"START": "2026-09-01T08:00:00.000000Z", "COMPLETE": "2026-09-01T08:01:00.000000Z"}
    for run in runs:
        facets = run["run"]["facets"]
        assert facets["accessHistory_calls"]["calls"] == 5
        assert facets["accessHistory_calls"]["intervalEnd"] == "2026-09-01T08:01:00.000000Z"
        assert "externalQuery" not in facets
    assert [one["name"] for run in runs for one in run["outputs"]] == ["SHOP.PUBLIC.ORDERS"]


def test_by_day_the_calls_are_added_up(tmp_path: Path) -> None:
    out = exported([READ, {**LATER, "user_name": "APP"}], tmp_path, "--reads", "daily")
    counts = {value for _, name, value in exports.triples(out) if name == f"<{AH}queryCount>"}
    assert counts == {'"127"^^<http://www.w3.org/2001/XMLSchema#integer>'}


# --- privacy and filters ----------------------------------------------------------------------------------------------


def test_a_pseudonym_takes_the_place_of_the_user_also_in_the_key(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    key.chmod(0o600)
    rows = [{**READ, "user_name": "JSMITH"}, {**WRITE, "user_name": "JSMITH"}]
    out = exported(rows, tmp_path, "--pseudonyms", str(key))
    texts = "".join(file.read_text("utf-8") for file in out.rglob("*") if file.is_file())
    assert "JSMITH" not in texts
    assert all(ident(row) not in texts for row in rows), "the id would confirm a guess of the name"
    again = exported(rows, tmp_path, "--pseudonyms", str(key), "--replace")
    assert exports.triples(again) == exports.triples(out)


def test_filters_hold(tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('[filter]\ndeny_users = ["ANN"]\ndeny_schemas = ["SHOP.SECRET"]\n', "utf-8")
    secret = thing(9, "SHOP.SECRET.T", "ID")
    rows = [READ, LATER, calls("2026-09-01T09:00", "APP", "h1", 3, [ORDERS, secret])]
    out = exported(rows, tmp_path, "--config", str(config), "--since", "2026-09-01T08:00")
    report = exports.report(out)
    assert report["aggregate"]["calls"] == 123
    assert report["filtered"]["rows"]["users"] == 1
    assert "SECRET" not in "".join(map(str, exports.triples(out)))


# --- updates ----------------------------------------------------------------------------------------------------------

UPDATE: Final = ("--update", "--force")


@pytest.mark.parametrize("seed", range(24))
def test_after_any_updates_the_graph_is_that_of_one_export(seed: int, tmp_path: Path) -> None:
    """Late rows, overlapping windows, intervals over midnight, rows of both views."""
    rng, reads = Random(seed), ("full", "daily")[seed % 2]
    rows = over_days(rng, random_history(seed, rng.randint(2, 20)))
    aggregates = added_up(rng, rng.sample(rows, rng.randint(1, len(rows))))
    whole = [(row, False) for row in rows] + [(row, True) for row in aggregates]
    rng.shuffle(whole)
    cut = rng.randint(0, len(whole))
    for number, part in enumerate((whole[:cut] or whole[:1], whole[max(0, cut - 2) :])):
        given = [[row for row, is_aggregate in part if is_aggregate == view] for view in (False, True)]
        both(given[0], given[1], tmp_path / f"part-{number}", tmp_path / "updated", "--reads", reads, *UPDATE)
    both(rows, aggregates, tmp_path / "whole", tmp_path / "once", "--reads", reads)
    assert exports.triples(tmp_path / "updated") == exports.triples(tmp_path / "once")


def both(rows: list[Json], aggregates: list[Json], files: Path, out: Path, *options: str) -> None:
    files.mkdir()
    inputs = [exports.ndjson(rows, files / "rows.ndjson")] if rows else []
    more = ["--aggregate", str(exports.ndjson(aggregates, files / "calls.ndjson"))] if aggregates else []
    assert exports.export(inputs, out, *more, *options) == 0


def test_forgetting_a_user_and_a_time(tmp_path: Path) -> None:
    rows = [READ, LATER, calls("2026-09-03T08:00", "APP", "h1", 4, [ORDERS])]
    out = exported(rows, tmp_path, *UPDATE)
    assert exports.export([], out, "--forget-user", "ANN", *UPDATE) == 0
    expected = exported([rows[0], rows[2]], tmp_path / "expected") if (tmp_path / "expected").mkdir() is None else None
    assert expected is not None
    assert exports.triples(out) == exports.triples(expected)
    assert exports.export([], out, "--forget-before", "2026-09-02", *UPDATE) == 0
    assert values(out, f"query/{ident(rows[2])}", "queryCount")
    assert not values(out, f"query/{ident(READ)}", "queryCount")


def test_columns_of_the_other_view_are_kept_as_unknown_ones(tmp_path: Path) -> None:
    """AGGREGATE_ACCESS_HISTORY has no agents, parents or identities: with content they are told, and lose nothing."""
    foreign: Json = {
        "agents_info": [{"agentType": "CORTEX_AGENT", "agentId": "7", "agentName": "D.S.A"}],
        "parent_query_id": "p",
        "root_query_id": "r",
        "additional_properties": {"irc_event_type": "LoadTable"},
        "invoker_identity": {"x": 1},
    }
    out = exported([{**READ, **foreign}], tmp_path)
    report = exports.report(out)
    assert (report["exported"], report["quarantined"]) == (1, 0)
    assert report["not_understood"].keys() == {f"column {name}" for name in foreign}
    (kept,) = (json.loads(value) for _, name, value in exports.triples(out) if name == f"<{AH}unknownColumns>")
    assert json.loads(kept) == foreign
