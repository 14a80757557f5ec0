"""Pseudonyms: no output has a user's name, whatever the input format; one key gives one name one pseudonym."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import stores
from exporter.cli import main
from exporter.engines import on_spark
from exporter.engines.user_names import user_names
from exporter.input import find
from exporter.input.reading import Record
from exporter.pipeline.job import ExportJob
from exporter.pipeline.read import read
from exporter.privacy.filters import Filters
from exporter.privacy.key import Key
from exporter.privacy.screen import Screen
from tests import exports
from tests.input.bad_rows import GOOD
from tests.input.input_forms import FORMS, write_form
from tests.privacy import canaries, drawn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALL: Final = ("--outputs", "events,graph,catalog,facts", "--graph-format", "turtle,ntriples,nquads,jsonld")
SECRET: Final = "5b0e9fd0c0ffee00c0ffee00"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "secret.key"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return path


def run(inputs: list[Path | str], out: Path, key: Path, *options: str, engine: str = "local") -> int:
    return exports.export(inputs, out, *ALL, "--pseudonyms", str(key), *options, engine=engine)


def with_history(folder: Path) -> tuple[str, ...]:
    path = exports.ndjson(canaries.history(), folder / "history.ndjson")
    return "--query-history", str(path), "--query-text"


@pytest.mark.parametrize("form", FORMS)
def test_no_output_holds_a_name(form: str, tmp_path: Path, key: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = write_form(_plain(canaries.rows()) if "parquet" in form else canaries.rows(), tmp_path / "in", form)
    assert run([path], tmp_path / "out", key, *with_history(tmp_path)) == 1, "queries are held back"
    assert canaries.found(tmp_path / "out") == []
    assert not re.search("canary", capfd.readouterr().err, re.IGNORECASE)
    report = exports.report(tmp_path / "out")
    assert (report["rows_in"], report["quarantined"]) == (len(canaries.rows()), 3)
    assert {one["as_it_came"].count("USER_") > 0 for one in exports.quarantine(tmp_path / "out")} == {True}
    users = {triple[2] for triple in exports.triples(tmp_path / "out") if triple[1].endswith("#userName>")}
    of_key = Key(SECRET.encode())
    assert users == {f'"{of_key.pseudonym(name)}"' for name in (*canaries.USERS, "ADMIN")}


def _plain(rows: list[canaries.Json]) -> list[canaries.Json]:
    """Without what a typed column cannot hold."""
    return [{name: value for name, value in row.items() if name != "column_of_next_year"} for row in rows]


def test_the_canaries_would_be_found(tmp_path: Path) -> None:
    """The same export without pseudonyms holds every one of them."""
    path = exports.ndjson(canaries.rows(), tmp_path / "rows.ndjson")
    assert exports.export([path], tmp_path / "out", *ALL, *with_history(tmp_path)) == 1
    places = {one.partition("/")[0].partition(":")[0] for one in canaries.found(tmp_path / "out")}
    assert places >= {"events", "graph", "facts", "quarantine", "catalog.ttl"}


def test_the_text_of_rows_that_cannot_be_read(tmp_path: Path, key: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_text("".join(f"{line}\n" for line in [json.dumps(canaries.rows()[0]), *canaries.bad_lines()]))
    assert run([path], tmp_path / "out", key) == 0
    assert canaries.found(tmp_path / "out") == []
    aside = exports.quarantine(tmp_path / "out")
    assert len(aside) == len(canaries.bad_lines())
    assert [one["line"] for one in aside if one["as_it_came"]] == [4, 5], "those whose columns are where they belong"
    assert all("withheld" in one["reason"] for one in aside if not one["as_it_came"])
    assert "query_start_time cannot be read as a time; its text is withheld" in aside[0]["reason"]


@pytest.mark.parametrize("name", ["rows.csv", "history.csv"])
def test_records_that_are_no_csv(name: str, tmp_path: Path, key: Path) -> None:
    path = tmp_path / name
    path.write_text("QUERY_ID,QUERY_START_TIME,USER_NAME\nq1,2026-03-01 08:00:00,CANARY_ONE\nq2,CANARY_ONE,a,b,c\n")
    rows = exports.ndjson(canaries.rows()[:1], tmp_path / "rows.ndjson")
    given = ([path], ()) if name == "rows.csv" else ([rows], ("--query-history", str(path)))
    assert run(given[0], tmp_path / "out", key, *given[1]) == 0
    assert canaries.found(tmp_path / "out") == []


def test_no_message_of_the_first_step_holds_a_name(key: Path) -> None:
    """So that no later step, and no folder of the work, can have one."""
    texts = [json.dumps(row) for row in canaries.rows()] + canaries.bad_lines()
    records = [Record("/rows", 0, "line", text) for text in texts]
    records += [Record("/told", 0, "line", json.dumps(one), is_history=True) for one in canaries.history()]
    screen = Screen(Filters(), Key.read(str(key)), query_text=True)
    job = ExportJob("A-B", "snowflake://A-B/", query_text=True, screen=screen)
    told = replace(job, screen=screen.knowing(user_names(records, job)))
    bodies = b"\n".join(message.body for message in read(records, told)).decode("utf-8", "replace")
    assert "USER_" in bodies
    assert canaries.in_text(bodies) == []
    assert not re.search("canary|c0ffee", repr(told), re.IGNORECASE)


def test_all_forms_give_the_same(tmp_path: Path, key: Path) -> None:
    """Duplicates are found across forms, for names are replaced in what is said and not in how it is spelt."""
    rows = [row for row in canaries.rows()[:-3] if not isinstance(row.get("invoker_identity"), str)]
    inputs = [write_form(rows, tmp_path / form, form) for form in ("ndjson", "json-double", "csv", "json-array")]
    assert run(inputs, tmp_path / "out", key) == 0
    report = exports.report(tmp_path / "out")
    assert (report["exported"], report["duplicates"]) == (len(rows), 3 * len(rows))


def test_another_key_gives_other_pseudonyms(tmp_path: Path, key: Path) -> None:
    path = exports.ndjson(canaries.rows()[:3], tmp_path / "rows.ndjson")
    other = tmp_path / "other.key"
    other.write_text("another key of 24 bytes.")
    other.chmod(0o600)
    for name, one in (("first", key), ("again", key), ("other", other)):
        assert run([path], tmp_path / name, one) == 0
    assert exports.triples(tmp_path / "first") == exports.triples(tmp_path / "again")
    assert exports.events(tmp_path / "first") == exports.events(tmp_path / "again")
    assert not _users(tmp_path / "first") & _users(tmp_path / "other")
    prints = [_settings(tmp_path / name)["pseudonyms"]["key"] for name in ("first", "again", "other")]
    assert prints[0] == prints[1] != prints[2]
    assert SECRET not in (tmp_path / "first" / "manifest.json").read_text()


def test_rows_of_the_quarantine_can_be_given_again(tmp_path: Path, key: Path) -> None:
    """A pseudonym stays what it is, so a mended row is of the same user."""
    rows = [row for row in canaries.rows() if row["query_id"] in {"q0", "q110"}]
    assert run([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "first", key) == 1
    (aside,) = exports.quarantine(tmp_path / "first")
    mended = exports.ndjson([{**json.loads(aside["as_it_came"]), "parent_query_id": None}], tmp_path / "mended.ndjson")
    assert run([mended], tmp_path / "second", key) == 0
    assert _users(tmp_path / "second") == {f'"{Key(SECRET.encode()).pseudonym(canaries.USERS[0])}"'}


def test_an_id_that_is_an_object_has_no_names_and_is_the_same_everywhere(tmp_path: Path, key: Path) -> None:
    ids = {"parent_query_id": {"value": "JSMITH"}, "root_query_id": {"value": "JSMITH"}, "account_name": ["JSMITH"]}
    row = {**GOOD, **ids, "organization_name": "O"}
    assert run([exports.ndjson([row], tmp_path / "rows.ndjson")], tmp_path / "out", key) == 0
    triples = exports.triples(tmp_path / "out")
    assert not any("JSMITH" in part for one in triples for part in one)
    described = {subject for subject, _, _ in triples}
    assert {value for _, _, value in triples if value.startswith("<snowflake://")} <= described


@pytest.mark.parametrize("options", [ALL, ("--outputs", "events,graph", "--update")])
def test_a_user_name_that_is_no_text_is_replaced_as_its_json(
    options: tuple[str, ...], tmp_path: Path, key: Path
) -> None:
    """Also if only that row names the user. A row that cannot be read is kept without its text."""
    values = ["CANARY_ONE"], {"name": "CANARY_TWO"}, True, 44.5, -7, 12345
    rows = [canaries.row(number, value) for number, value in enumerate(values)]  # type: ignore[arg-type] # no texts
    bad = [{**row, "query_id": f"bad-{row['query_id']}", "direct_objects_accessed": 7} for row in rows]
    says = canaries.row(9, "ADMIN", direct_objects_accessed=[canaries.table("D.CANARY_ONE.CANARY_TWO")])
    path = exports.ndjson([*rows, *bad, says], tmp_path / "rows.ndjson")
    assert exports.export([path], tmp_path / "out", *options, "--pseudonyms", str(key)) == 0
    assert canaries.found(tmp_path / "out") == []
    key_of_names = Key(SECRET.encode())
    names = '["CANARY_ONE"]', '{"name":"CANARY_TWO"}', "true", "44.5", "-7", "12345", "ADMIN"
    assert {triple[2] for triple in exports.triples(tmp_path / "out") if triple[1].endswith("#userName>")} == {
        f'"{key_of_names.pseudonym(name)}"' for name in names
    }
    aside = exports.quarantine(tmp_path / "out")
    assert [one["as_it_came"] for one in aside] == [""] * len(bad)
    assert all("its text is withheld" in one["reason"] for one in aside)


def test_whose_names_are_kept_and_who_else_is_hidden(tmp_path: Path, key: Path) -> None:
    """Service users keep their names; names that no row tells are listed in a file."""
    listed, config = tmp_path / "users.txt", tmp_path / "exporter.toml"
    listed.write_text("\ufeffCANARY_LISTED\n\nadmin\n", encoding="utf-8")
    config.write_text(f"[privacy]\nusers = '{listed}'\nkeep = ['etl_*', 'admin', 'SYSTEM']\n")
    rows = [
        canaries.row(1, "ETL_LOADER", direct_objects_accessed=[canaries.table("D.CANARY_LISTED.ETL_LOADER")]),
        canaries.row(2, "ADMIN"),
        canaries.row(3, "ETL"),
    ]
    path = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert run([path], tmp_path / "out", key, "--config", str(config)) == 0
    assert canaries.found(tmp_path / "out") == []
    assert _users(tmp_path / "out") == {'"ETL_LOADER"', '"ADMIN"', f'"{Key(SECRET.encode()).pseudonym("ETL")}"'}
    names = {triple[2] for triple in exports.triples(tmp_path / "out") if triple[1].endswith("#qualifiedName>")}
    assert not names or any("ETL_LOADER" in name for name in names)


@pytest.mark.parametrize(("content", "is_told"), [("", True), ("\ufeff \n\n", True), ("JSMITH\n", False)])
def test_a_file_of_users_that_names_nobody_is_told(
    content: str, *, is_told: bool, tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Perhaps what made the list has failed: its users would keep their names without a word."""
    for name, text in (("others", "JSMITH\n"), ("listed", content)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    listed = str(tmp_path / "listed")
    config = tmp_path / "exporter.toml"
    config.write_text(f"[privacy]\nusers = {json.dumps([str(tmp_path / 'others'), listed])}\n")
    path = exports.ndjson([canaries.row(1, "JSMITH")], tmp_path / "rows.ndjson")
    assert run([path], tmp_path / "out", key, "--config", str(config)) == 0
    assert (f"privacy.users: {listed}: names nobody" in capsys.readouterr().err) == is_told


def test_an_update_knows_the_users_of_the_days_before(tmp_path: Path, key: Path) -> None:
    """By their pseudonyms: DIR holds no name."""
    users = [canaries.row(number, user) for number, user in enumerate(canaries.USERS)]
    admins = [{**canaries.rows()[number], "query_id": f"later-{number}", "user_name": "ADMIN"} for number in range(3)]
    for number, rows in enumerate((users, admins)):
        path = exports.ndjson(rows, tmp_path / f"{number}.ndjson")
        options = "--account", exports.ACCOUNT, "--engine", "local", "--pseudonyms", str(key), "--update"
        assert main(["export", str(path), "--out", str(tmp_path / "out"), *options]) == 0
    assert canaries.found(tmp_path / "out") == []
    key.write_text("another key of 24 bytes.")
    assert main(["export", str(path), "--out", str(tmp_path / "out"), *options]) == 2
    lines = (tmp_path / "out" / "pseudonyms.txt").read_text().splitlines()
    assert [line.split()[0] for line in lines if line.startswith("USER_")] == sorted(
        map(Key(SECRET.encode()).pseudonym, (*canaries.USERS, "ADMIN"))
    )


_OF_TABLE: Final = {"objectDomain": "Table", "objectName": "D.S.T", "operationType": "ALTER"}


def test_an_update_finds_names_whatever_is_between_their_words(tmp_path: Path, key: Path) -> None:
    names = "CANARY, Jane", "CANARY (ext)", "CANARY - Two", "Canary.", "canary  five", "Jane O'Canary"
    users = [canaries.row(number, name) for number, name in enumerate(names)]
    spelled = [*names, *(name.upper() for name in names), "Jane+O%27Canary", "CANARY,+Jane"]
    comments = [{**_OF_TABLE, "properties": {"comment": {"value": f"x={name}"}}} for name in spelled]
    says = [canaries.row(99 + at, "ADMIN", object_modified_by_ddl=one) for at, one in enumerate(comments)]
    for number, rows in enumerate((users, says)):
        path = exports.ndjson(rows, tmp_path / f"{number}.ndjson")
        assert exports.export([path], tmp_path / "out", "--update", "--pseudonyms", str(key)) == 0
    assert canaries.found(tmp_path / "out") == []


def _users(out: Path) -> set[str]:
    return {triple[2] for triple in exports.triples(out) if triple[1].endswith("#userName>")}


def _settings(out: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((out / "manifest.json").read_text())["settings"]
    return settings


def looked_at(monkeypatch: pytest.MonkeyPatch, look: Callable[[], list[str]]) -> list[str]:
    """What ``look`` finds when the outputs are in the work folder, before that is deleted; and that it looked."""
    seen, take = list[str](), on_spark._take

    def looking(*given: Any) -> None:
        seen.extend(("looked", *look()))
        take(*given)

    monkeypatch.setattr(on_spark, "_take", looking)
    return seen


def test_in_rounds_on_spark(tmp_path: Path, key: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rows of a table. Nor does the work folder hold a name."""
    given = tmp_path / "in"
    given.mkdir()
    table = write_form(_plain(canaries.rows()[::2]), tmp_path / "in-table", "parquet-text")
    spark.read.parquet(str(table)).createOrReplaceTempView("rows_with_names")
    paths = [write_form(_plain(canaries.rows()[1::2]), given, "parquet-text"), "rows_with_names"]
    monkeypatch.setattr(find, "SMALL", 0)
    monkeypatch.setattr(on_spark, "_partitions", lambda *_: 2)
    seen = looked_at(
        monkeypatch, lambda: [one for one in canaries.found(tmp_path) if not one.startswith(("in/", "in-table/"))]
    )
    assert run(paths, tmp_path / "out", key, *with_history(given), engine="spark") == 1
    assert exports.report(tmp_path / "out")["rows_in"] == len(canaries.rows())
    assert set(seen) == {"looked"}
    assert canaries.found(tmp_path / "out") == []


# --- names drawn into every text, in drawn spellings ------------------------------------------------------------------

DAYS: Final = ("--reads", "daily", "--query-text")


def _drawn(folder: Path, part: int = 3) -> list[tuple[Path, tuple[str, ...]]]:
    """Inputs of two runs: one row of so many, and options with QUERY_HISTORY and AGGREGATE_ACCESS_HISTORY. The users of
    the first are no users in the second.
    """
    said, made = drawn.Drawn(Random(7)), []
    rows = list(drawn.rows(said))
    for number in range(2):
        mine = [row for at, row in enumerate(rows) if at % part == number or row["query_id"].startswith("own")]
        who = {"user_name": "ADMIN"} if number else {}
        later = {**who, "query_start_time": "2026-01-05 03:04:05.678901 +0000"} if number else {}
        mine = [{**row, **later, "query_id": f"{number}-{row['query_id']}"} for row in mine]
        ends = {**who, "end_time": "2026-01-05 03:05:06 +0000"} if number else {}
        told = [{**one, **ends} for one in drawn.history(said, _ids(mine))]
        bad = {**mine[0], "query_id": None, "query_tag": said.json("unreadable"), "objects_modified": said.text("bad")}
        aggregated = drawn.aggregate_rows(said)
        others = {"--query-history": told, "--aggregate": [{**row, **who} for row in aggregated]}
        paths = {name: exports.ndjson(lines, folder / f"{number}{name}.ndjson") for name, lines in others.items()}
        options = tuple(str(one) for option in paths.items() for one in option)
        made.append((exports.ndjson([*mine, bad], folder / f"rows-{number}.ndjson"), options))
    return made


def _ids(rows: list[canaries.Json]) -> list[str]:
    return [row["query_id"] for row in rows]


def _left(folder: Path, clean: set[str]) -> list[str]:
    """Every name below a folder, in any spelling, with its file; also in the names of files. ``clean``: the lines that
    were searched before and have none; no name has several lines, and many lines are in several files.
    """
    left = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, lines = str(path.relative_to(folder)), {*canaries.text_of(path).split("\n")} - clean
        inside = drawn.found("\n".join(sorted(lines)))
        if not inside:
            clean |= lines
        left += [f"{name}: {one}" for one in (*drawn.found(name), *inside)]
    return left


def test_no_output_has_a_drawn_name_in_any_spelling(
    tmp_path: Path, key: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Events, graph, changes, state, quarantine, reports, the store of queries and what is printed, with an update."""
    given, out = tmp_path / "in", tmp_path / "made" / "out"
    given.mkdir()
    clean, left = set[str](), list[str]()
    for rows, others in _drawn(given):
        options = *DAYS, "--update", "--pseudonyms", str(key), *others
        assert exports.export([rows], out, *options) == 0
        assert exports.quarantine(out)
        with stores.opened_store(out, print) as store:
            assert store.is_relative_to(tmp_path / "made")
            left += _left(tmp_path / "made", clean)
        assert main(["query", "who-accessed", "--graph", str(out), "--param", "object_id=66564"]) == 0
    assert main(["validate", str(out), "--by", "compiled"]) == 0
    assert main(["log", str(out)]) == 0
    made = {path.relative_to(tmp_path / "made").parts[1] for path in (tmp_path / "made" / "out").rglob("*")}
    assert {"events", "graph", "quarantine", "state", "report.json", "manifest.json"} <= made
    assert [*left, *_left(tmp_path / "made", clean)] == []
    assert drawn.found("".join(capfd.readouterr())) == []


@pytest.mark.usefixtures("spark")
def test_no_output_on_spark_has_a_drawn_name_in_any_spelling(
    tmp_path: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one task, of few rows: their texts take the way of those of the local engine. Nor does the work folder."""
    given, clean = tmp_path / "in", set[str]()
    given.mkdir()
    rows, others = _drawn(given, 10)[0]
    options = *ALL, "--query-text", "--pseudonyms", str(key), *others
    seen = looked_at(monkeypatch, lambda: _left(tmp_path / "made", clean))
    assert exports.export([rows], tmp_path / "made" / "out", *options, engine="spark") == 0
    assert exports.facts(tmp_path / "made" / "out", "queries")
    assert set(seen) == {"looked"}
    assert _left(tmp_path / "made", clean) == []
