"""Filters in whole exports: excluded rows and objects are counted, and are in no output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from tests import exports
from tests.input.bad_rows import GOOD
from tests.privacy.canaries import found, row, table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.privacy.canaries import Json

ALL: Final = ("--outputs", "events,graph,catalog,facts")
SECRET: Final = table("CANARY.PAY.SALARIES", objectId=1)
OPEN: Final = table("SALES.S.T", objectId=2)


def at(number: int, day: str, **columns: Any) -> Json:
    return {**row(number, "JSMITH", **columns), "query_start_time": f"{day} 08:00:00 +0000"}


def rows() -> list[Json]:
    """Of three days: what reads the open table, what also reads the secret one, what reads nothing else."""
    from_secret = {"objectDomain": "Table", "objectId": 1, "objectName": "CANARY.PAY.SALARIES", "columnName": "A"}
    copied = {**OPEN, "columns": [{"columnName": "A", "directSources": [from_secret], "baseSources": [from_secret]}]}
    return [
        at(1, "2026-03-01", direct_objects_accessed=[OPEN]),
        at(
            2, "2026-03-02", direct_objects_accessed=[SECRET], base_objects_accessed=[SECRET], objects_modified=[copied]
        ),
        at(3, "2026-03-02", direct_objects_accessed=[SECRET], parent_query_id="q1", root_query_id="q1"),
        at(4, "2026-03-03", direct_objects_accessed=[OPEN], parent_query_id="q3", root_query_id="q1"),
        at(4, "2026-03-03", direct_objects_accessed=[OPEN], parent_query_id="q3", root_query_id="q1"),
    ]


def run(folder: Path, given: list[Json], config: str = "", *options: str, code: int = 0) -> Json:
    """The report of an export with these settings."""
    path = exports.ndjson(given, folder / "rows.ndjson")
    (folder / "exporter.toml").write_text(config)
    settings = ("--config", str(folder / "exporter.toml"))
    assert exports.export([path], folder / "out", *ALL, *settings, *options) == code
    return exports.report(folder / "out") if code == 0 else {}


def adds_up(report: Json, rows_in: int) -> None:
    assert report["rows_in"] == rows_in
    assert rows_in == report["exported"] + report["duplicates"] + report["quarantined"]


@pytest.mark.parametrize("form", ["deny_databases = 'canary'", "allow_schemas = ['SALES.*']", "deny_schemas = ['pay']"])
def test_objects_that_are_left_out(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(tmp_path, rows(), f"[filter]\n{form}\n")
    assert found(tmp_path / "out") == [] or all("manifest.json" in one for one in found(tmp_path / "out"))
    adds_up(report, 4)
    kind = form.partition(" ")[0].partition("_")[2]
    assert report["filtered"] == {"rows": {kind: 1}, "reduced": 1, "objects": 4, "query_history": 0}
    assert f"filtered               1   {kind} 1, objects removed from 1 more row" in capsys.readouterr().out
    queries = {one["query_id"]: one for one in exports.facts(tmp_path / "out", "queries")}
    assert set(queries) == {"q1", "q2", "q4"}
    places = ["base_objects_accessed UNNAMED", "direct_objects_accessed UNNAMED", "objects_modified UNNAMED"]
    assert queries["q2"]["incomplete"] == places
    assert not queries["q1"]["incomplete"]


def test_users_and_the_period(tmp_path: Path) -> None:
    given = [*rows(), at(5, "2026-03-03", user_name="CANARY_USER"), at(6, "2026-03-04")]
    options = ("--since", "2026-03-02", "--until", "2026-03-04T08:00:00Z")
    report = run(tmp_path, given, "[filter]\ndeny_users = ['canary_*']\n", *options)
    adds_up(report, 4)
    assert report["filtered"]["rows"] == {"since": 1, "until": 1, "users": 1}
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    times = {"since": "2026-03-02T00:00:00Z", "until": "2026-03-04T08:00:00Z"}
    assert settings["filter"] == {"deny_users": ["canary_*"]}
    assert {name: settings[name] for name in times} == times
    assert "CANARY_USER" not in "".join(exports.events(tmp_path / "out"))


def test_the_command_line_has_priority_over_the_file_and_toml_has_days(tmp_path: Path) -> None:
    report = run(tmp_path, rows(), "since = 2026-03-02\nuntil = '2026-03-03'\n", "--since", "2026-03-01")
    adds_up(report, 3)
    assert report["filtered"]["rows"] == {"since": 0, "until": 2}


def test_lines_of_query_history(tmp_path: Path) -> None:
    """Of users that are left out they are left out; a session's database goes as other objects do."""
    lines = [
        {"query_id": "q1", "user_name": "JSMITH", "database_name": "CANARY", "schema_name": "S", "role_name": "R1"},
        {"query_id": "q4", "user_name": "JSMITH", "database_name": "SALES", "schema_name": "PAY", "role_name": "R4"},
        {"query_id": "q2", "user_name": "CANARY_USER", "query_tag": "canary", "role_name": "R2"},
    ]
    history = exports.ndjson(lines, tmp_path / "history.ndjson")
    config = "[filter]\ndeny_users = ['CANARY_USER']\ndeny_databases = ['CANARY']\ndeny_schemas = ['SALES.PAY']\n"
    report = run(tmp_path, rows(), config, "--query-history", str(history))
    assert report["filtered"]["query_history"] == 1
    queries = {one["query_id"]: one for one in exports.facts(tmp_path / "out", "queries")}
    told = [(queries[one]["database_name"], queries[one]["schema_name"], queries[one]["role_name"]) for one in queries]
    assert sorted(told, key=str) == [("SALES", None, "R4"), (None, None, "R1"), (None, None, None)]
    assert [one for one in found(tmp_path / "out") if "manifest.json" not in one] == []
    options = ("--update", "--out", str(tmp_path / "updated"), "--outputs", "events,graph")
    run(tmp_path, rows(), config, "--query-history", str(history), *options)
    assert [one for one in found(tmp_path / "updated") if "manifest.json" not in one] == []


_BY: Final = ("objectDomain", "objectId", "objectName")


def filled(number: int, target: Json, source: Json) -> Json:
    sources = [{**{name: source[name] for name in _BY}, "columnName": "A"}]
    written = {**target, "columns": [{"columnName": "A", "directSources": sources, "baseSources": sources}]}
    return at(number, f"2026-03-0{number}", direct_objects_accessed=[source], objects_modified=[written])


def changed(number: int, thing: Json, **properties: str) -> Json:
    values = {name: {"value": value} for name, value in properties.items()}
    change = {**{name: thing[name] for name in _BY}, "operationType": "ALTER", "properties": values}
    return at(number, f"2026-03-0{number}", object_modified_by_ddl=change)


@pytest.mark.parametrize("question", ["lineage-as-of", "former-names"])
@pytest.mark.parametrize("asked", ["--object-name=SALES.S.LIVE", "--object-id=3"])
@pytest.mark.parametrize("kind", ["swap", "rename out", "rename in"])
def test_answers_after_a_change_that_was_removed(
    kind: str, asked: str, question: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the name means since a SWAP with, or a RENAME from or to a schema that is left out, is not known."""
    live, hidden = table("SALES.S.LIVE", objectId=3), table("SALES.PAY.BUILT", objectId=4)
    target = {"swapTargetDomain": "Table", "swapTargetId": "4", "swapTargetName": "SALES.PAY.BUILT"}
    back = {"swapTargetDomain": "Table", "swapTargetId": "3", "swapTargetName": "SALES.S.LIVE"}
    changes = {
        "swap": [changed(2, live, **target), changed(2, hidden, **back)],
        "rename out": [changed(2, live, objectName="SALES.PAY.OLD")],
        "rename in": [changed(2, hidden, objectName="SALES.S.LIVE")],
    }
    report = run(tmp_path, [filled(1, live, OPEN), *changes[kind]], "[filter]\ndeny_schemas = ['pay']\n", "--strict")
    assert report["queries"] == 2
    queries = {one["query_id"]: one for one in exports.facts(tmp_path / "out", "queries")}
    assert queries["q2"]["incomplete"] == ["object_modified_by_ddl UNNAMED"]
    capsys.readouterr()
    at_time = ["--at", "2026-03-09"] if question == "lineage-as-of" else []
    assert main(["query", question, str(tmp_path / "out"), asked, *at_time]) == 0
    printed = capsys.readouterr()
    assert "1 query was not understood in full (object_modified_by_ddl" in printed.err
    assert "the first is q2" in printed.err
    if question == "lineage-as-of":
        assert main(["query", question, str(tmp_path / "out"), asked, "--at", "2026-03-01T12:00:00Z"]) == 0
        assert "not understood" not in capsys.readouterr().err, "it was not yet"


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    """Of a user that is left out they are, too; where that cannot be told, they are set aside without their text."""
    lines = [
        {**GOOD, "user_name": "CANARY_USER", "direct_objects_accessed": 7},
        {**GOOD, "user_name": "JSMITH", "direct_objects_accessed": 7},
        {**GOOD, "user_name": None, "user": "CANARY_USER"},
        {**GOOD, "query_start_time": "CANARY_USER"},
    ]
    report = run(tmp_path, [*rows(), *lines], "[filter]\ndeny_users = ['CANARY_USER']\ndeny_schemas = ['PAY']\n")
    adds_up(report, 4 + 3)
    assert report["filtered"]["rows"] == {"users": 1, "schemas": 1}
    aside = exports.quarantine(tmp_path / "out")
    assert [one["as_it_came"] for one in aside] == ["", "", ""], "and their objects cannot be told"
    assert [one["line"] for one in aside] == [7, 8, 9], "lines are counted as they are in the file"
    assert [one for one in found(tmp_path / "out") if "manifest.json" not in one] == []


def test_with_pseudonyms(tmp_path: Path) -> None:
    """Lists are of names; what the manifest shows of them is not."""
    key = tmp_path / "key"
    key.write_text("a key of 24 bytes, ASCII")
    key.chmod(0o600)
    given = [*rows()[:1], at(5, "2026-03-03", user_name="CANARY_USER"), at(6, "2026-03-03", user_name="canary")]
    config = "[filter]\ndeny_users = ['canary_user', '\"cana\"*']\n"
    report = run(tmp_path, given, config, "--pseudonyms", str(key))
    assert report["filtered"]["rows"] == {"users": 2}
    assert found(tmp_path / "out") == []


def test_settings_with_names_in_them_are_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Patterns of databases, schemas and helpers can have a user's name in them: an update compares them unseen."""
    key = tmp_path / "key"
    key.write_text("a key of 24 bytes, ASCII")
    key.chmod(0o600)
    given = [*rows()[:1], at(5, "2026-03-03", user_name="CANARY_USER", direct_objects_accessed=[OPEN])]
    config = (
        "[filter]\ndeny_schemas = ['dbt_canary', 'D.cana*']\nallow_databases = ['SALES', 'canary_user']\n"
        "[lineage]\nhelpers = ['CANARY_USER_*', 'FIVETRAN_*_STAGING.*']\n"
        "[openlineage]\nnamespaces = { 's3://canary-user' = 's3://raw' }\n"
    )
    options = ("--update", "--outputs", "events,graph", "--pseudonyms", str(key))
    run(tmp_path, given, config, *options)
    run(tmp_path, given, config, *options)
    assert found(tmp_path / "out") == []
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    assert "FIVETRAN_*_STAGING.*" in settings["openlineage"]["helpers"], "no helper of the program's own is hidden"
    for name, other in (("dbt_canary", "dbt_Canary"), ("CANARY_USER_*", "CANARY_*"), ("s3://canary-user", "s3://c")):
        run(tmp_path, given, config.replace(name, other), *options, code=2)
        error = capsys.readouterr().err
        assert "was made with" in error
        assert "canary" not in error.lower()


def test_an_update_has_the_same_lists_and_any_period(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs, lists = ("--update", "--outputs", "events,graph"), "[filter]\ndeny_users = ['A']\n"
    run(tmp_path, rows()[:2], lists, *outputs, "--until", "2026-03-03")
    run(tmp_path, rows()[3:], lists, *outputs, "--since", "2026-03-03")
    run(tmp_path, rows(), "[filter]\ndeny_users = ['B']\n", *outputs, code=2)
    assert "was made with filter" in capsys.readouterr().err


def test_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, rows(), "", "--until", "2000-01-01", code=2)
    assert "the filters leave out all 5 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "options", "words"),
    [
        ("", ("--since", "2026-03-02", "--until", "2026-03-01"), "no query is left"),
        ("", ("--since", "soon"), "since: 'soon' is not a day or a time"),
        ("[filter]\ndeny_user = ['A']", (), "did you mean filter.deny_users?"),
        ("[filter]\ndeny_users = 7", (), "filter.deny_users must be a text or a list of texts"),
        ("[filter]\nallow_users = []", (), "filter.allow_users is empty, so nothing says what is allowed"),
        ("[filter]\nallow_databases = []\nallow_schemas = ['S']", (), "filter.allow_databases is empty"),
        ("filter = 7", (), "filter must be a table of settings"),
        ("[filter]\ndeny_databases = ['A.B']", (), "filter.deny_databases: 'A.B' has 2 parts"),
        ("[filter]\ndeny_databases = ['A']", ("--query-text",), "SQL text can name objects"),
        ("[privacy]\nkeep = ['A']", (), "privacy.keep: has no effect without pseudonyms"),
        ("[privacy]\nkept = ['A']", (), "did you mean privacy.keep?"),
        ("since = 7", (), "since must be a day or a time"),
    ],
)
def test_settings_that_cannot_be(
    config: str, options: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, rows(), config, *options, code=2)
    assert words in capsys.readouterr().err
