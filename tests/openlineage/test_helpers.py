"""Events see through helpers: drawn loads against a plain reading, single cases, and updates against one export."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from exporter.engines import local
from exporter.errors import UsageError
from exporter.input.reading import Record
from exporter.openlineage import facets
from exporter.openlineage.settings import OpenLineageSettings
from exporter.pipeline import rounds
from exporter.pipeline.job import ExportJob
from exporter.pipeline.read import read
from exporter.system.progress import NoProgress
from tests import exports, golden
from tests.openlineage import loads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.pipeline.messages import Message
    from exporter.pipeline.rounds import Step

Json = dict[str, Any]
OFF: Final = '[lineage]\nhelpers = "off"\n'


def export(rows: list[Json], lines: list[Json], out: Path, *options: str, engine: str = "local") -> Path:
    given = [exports.ndjson(rows, out.with_suffix(".rows.ndjson"))]
    history = exports.ndjson(lines, out.with_suffix(".lines.ndjson"))
    more = ["--query-history", str(history)] if lines else []
    assert exports.export(given, out, "--force", *more, *options, engine=engine) == 0
    return out


def events(out: Path) -> list[Json]:
    files = sorted(out.glob("events/**/*.ndjson"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def runs(out: Path) -> dict[str, Json]:
    """The COMPLETE events by query id."""
    found = [event for event in events(out) if event.get("eventType") == "COMPLETE"]
    return {event["run"]["facets"]["externalQuery"]["externalQueryId"]: event for event in found}


def datasets(out: Path) -> set[str]:
    return {event["dataset"]["name"] for event in events(out) if "dataset" in event}


def helpers(event: Json) -> dict[str, set[str]]:
    facet = event["run"]["facets"].get("accessHistory_helpers", {"helpers": []})
    return {one["name"]: set(one["accesses"]) for one in facet["helpers"]}


def inputs(event: Json) -> set[str]:
    return {one["name"] for one in event["inputs"]}


def outputs(event: Json) -> set[str]:
    return {one["name"] for one in event["outputs"]}


def edges(event: Json, facet: str = "columnLineage", member: str = "inputFields") -> set[tuple[str, str, str, str]]:
    return {
        (source["name"], source["field"], output["name"], column)
        for output in event["outputs"]
        for column, told in output["facets"].get(facet, {}).get("fields", {}).items()
        for source in told[member]
    }


def seen(event: Json) -> loads.Shown:
    assert edges(event) == edges(event, "lineage", "inputs")
    return loads.Shown(inputs(event), outputs(event), edges(event), helpers(event))


@pytest.mark.parametrize("seed", range(40))
def test_drawn_loads(seed: int, tmp_path: Path) -> None:
    compare(loads.drawn(Random(seed), 30), tmp_path)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("helpers", [loads.OF_SESSIONS, loads.TEMPORARY_OF_SESSIONS], ids=["names", "temporary"])
def test_sessions_with_helpers_of_one_name_at_once(helpers: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    compare(loads.drawn(Random(seed), 30, helpers), tmp_path)


def compare(load: list[loads.Statement], tmp_path: Path) -> None:
    """Events have to show what a plain reading of the statements says."""
    rows = loads.Rows(load)
    out = export(rows.rows, rows.lines, tmp_path / "out", "--outputs", "events")
    found, expected = runs(out), loads.shown(load)
    for number, (one, shown) in enumerate(zip(load, expected, strict=True)):
        shown.helpers = {name: uses for name, uses in shown.helpers.items() if uses}
        assert seen(found[f"q{number:03}"]) == shown, one
    named = {name for shown in expected for name in shown.inputs | shown.outputs}
    assert datasets(out) - named == set(), "a helper that no run shows has an event of its own"


def test_the_drawn_loads_have_every_case() -> None:
    """Reads through one helper and several, arrivals by SWAP and RENAME, and helpers that are ordinary datasets."""
    found = {"read": 0, "chained": 0, "arrived": 0, "plain": 0}
    for seed in range(40):
        load = loads.drawn(Random(seed), 30)
        for one, shown in zip(load, loads.shown(load), strict=True):
            uses = [use for each in shown.helpers.values() for use in each]
            found["read"] += "READ" in uses and bool(shown.edges)
            found["chained"] += "READ" in uses and "WRITE" in uses
            found["arrived"] += one.does in {"swap", "rename"} and bool(shown.edges)
            found["plain"] += bool(shown.inputs & set(loads.HELPERS))
    assert min(found.values()) > 10, found


def of_two_sessions(name: str, *, with_history: bool) -> tuple[list[Json], list[Json]]:
    """Sessions 1 and 2 each fill a table of their own from a source of their own, and then a target from it."""
    steps = [("create", f"{name}@{one}", loads.SOURCES[one - 1]) for one in (1, 2)]
    steps += [("insert", loads.TARGETS[one - 1], f"{name}@{one}") for one in (1, 2)]
    load = [
        loads.Statement(does, table, loads.BEGIN + timedelta(minutes=at), {"A": [(source, "A")], "B": []}, (source,))
        for at, (does, table, source) in enumerate(steps)
    ]
    lines = sessions("1", "2", "1", "2")
    for line in lines[:2]:
        line["query_text"] = "create temp table as select"
    return loads.Rows(load).rows, lines if with_history else []


@pytest.mark.parametrize("name", [loads.TEMPORARY, loads.HELPERS[0]])
def test_each_of_two_helpers_of_one_name_has_its_own_source(name: str, tmp_path: Path) -> None:
    found = runs(export(*of_two_sessions(name, with_history=name == loads.TEMPORARY), tmp_path / "out"))
    for number, query in enumerate(("q002", "q003")):
        source, target = loads.SOURCES[number], loads.TARGETS[number]
        assert inputs(found[query]) == {source}
        assert edges(found[query]) == edges(found[query], "lineage", "inputs") == {(source, "A", target, "A")}


def without_ids(row: Json) -> Json:
    """The row as if it gave no id of what it reads."""
    text = json.dumps({name: value for name, value in row.items() if name != "objects_modified"})
    read = json.loads(text, object_hook=lambda one: {key: one[key] for key in one if key != "objectId"})
    (output,) = row["objects_modified"]
    columns = json.loads(
        json.dumps(output["columns"]), object_hook=lambda one: {key: one[key] for key in one if key != "objectId"}
    )
    return {**read, "objects_modified": [{**output, "columns": columns}]}


def test_without_an_id_the_name_decides_if_it_is_one_object(tmp_path: Path) -> None:
    rows, _ = of_two_sessions(loads.HELPERS[0], with_history=False)
    found = runs(export([rows[0], without_ids(rows[2])], [], tmp_path / "one"))
    assert edges(found["q002"]) == {(loads.SOURCES[0], "A", loads.TARGETS[0], "A")}
    found = runs(export([*rows[:2], without_ids(rows[2]), rows[3]], [], tmp_path / "several"))
    helper = loads.HELPERS[0]
    assert [inputs(found[query]) for query in ("q002", "q003")] == [{helper}, {helper}]
    assert [outputs(found[query]) for query in ("q000", "q001")] == [{helper}, {helper}]
    assert not any(map(helpers, found.values()))


def without_id_of(name: str, row: Json) -> Json:
    def of_others(one: Json) -> Json:
        return {key: value for key, value in one.items() if key != "objectId" or one["objectName"] != name}

    return json.loads(json.dumps(row), object_hook=of_others)


@pytest.mark.parametrize(("name", "with_history"), [(loads.TEMPORARY, True), (loads.HELPERS[0], False)])
def test_helpers_of_one_name_without_ids_are_not_bridged_into_each_other(
    name: str, *, with_history: bool, tmp_path: Path
) -> None:
    rows, lines = of_two_sessions(name, with_history=with_history)
    rows = [without_id_of(name, row) for row in rows]
    found = runs(export(rows, lines, tmp_path / "at-once"))
    assert [inputs(found[query]) for query in ("q002", "q003")] == [{name}, {name}]
    assert [outputs(found[query]) for query in ("q000", "q001")] == [{name}, {name}]
    # one after the other
    gone = {**rows[2], "query_id": "q009", "query_start_time": rows[2]["query_start_time"].replace(":02:00", ":02:30")}
    gone = {key: value for key, value in gone.items() if "objects" not in key}
    gone["object_modified_by_ddl"] = {"objectDomain": "Table", "objectName": name, "operationType": "DROP"}
    times = [rows[0], rows[2], gone, rows[1], rows[3]]
    starts = sorted(one["query_start_time"] for one in times)
    times = [{**row, "query_start_time": start} for row, start in zip(times, starts, strict=True)]
    found = runs(export(times, lines, tmp_path / "one-by-one"))
    assert [inputs(found[query]) for query in ("q002", "q003")] == [{loads.SOURCES[0]}, {loads.SOURCES[1]}]


def test_a_helper_that_was_not_created_on_record_is_a_dataset_beside_one_of_its_name(tmp_path: Path) -> None:
    rows, _ = of_two_sessions(loads.HELPERS[0], with_history=False)
    rows[1]["object_modified_by_ddl"] = None
    found = runs(export(rows, [], tmp_path / "out"))
    assert [inputs(found[query]) for query in ("q002", "q003")] == [{loads.SOURCES[0]}, {loads.HELPERS[0]}]
    assert [outputs(found[query]) for query in ("q000", "q001")] == [set(), {loads.HELPERS[0]}]


def test_a_truncate_of_a_helper_is_named_for_what_it_does(tmp_path: Path) -> None:
    rows = loads.Rows(night(loads.HELPERS[0])).rows
    rows[1].update(direct_objects_accessed=[], base_objects_accessed=[])
    rows[1]["objects_modified"][0]["columns"] = []
    out = export(rows, [{"query_id": "q001", "query_type": "TRUNCATE_TABLE"}], tmp_path / "out")
    assert runs(out)["q001"]["job"]["name"].startswith("truncate helper")


def test_a_helper_that_is_swapped_with_what_is_no_object_stays_what_it_is(tmp_path: Path) -> None:
    """``$SYS_VIEW_7`` is a view through which a row reads a stream, and no name. The row gives the helper no id."""
    name, rows = loads.HELPERS[0], loads.Rows(night(loads.HELPERS[0])).rows
    properties = {"swapTargetDomain": {"value": "Table"}, "swapTargetName": {"value": "$SYS_VIEW_7"}}
    change = {"objectDomain": "Table", "objectName": name, "operationType": "ALTER", "properties": properties}
    rows[3]["object_modified_by_ddl"] = change
    found = runs(export(rows, [], tmp_path / "out"))
    assert (edges(found["q002"]), helpers(found["q003"])) == (BRIDGED, {name: {"DDL"}})


# --- updates ----------------------------------------------------------------------------------------------------------


def shown_by(out: Path) -> Json:
    """What a backend shows of runs and datasets."""
    found = {query: (seen(event), event["job"]["name"], event["eventTime"]) for query, event in runs(out).items()}
    return {"runs": found, "datasets": datasets(out)}


@pytest.mark.parametrize("seed", range(14))
def test_after_any_updates_events_are_those_of_one_export(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    load = loads.drawn(rng, 25, (loads.HELPERS, loads.TEMPORARY_OF_SESSIONS)[seed % 2])
    drawn = loads.Rows(load)
    ended = {one["query_id"] for one in drawn.lines}
    for row in drawn.rows:  # some queries end later, also on the next day
        if row["query_id"] not in ended and rng.random() < 0.2:
            drawn.lines.append(lasting(row, rng.choice((1, 600, 90_000))))
            ended.add(row["query_id"])
    days = sorted({row["query_start_time"][:10] for row in drawn.rows})
    parts = [[row for row in drawn.rows if row["query_start_time"].startswith(day)] for day in days]
    late = [rng.choice(part) for part in parts if rng.random() < 0.3]
    parts = [[row for row in part if row not in late] for part in parts] + [late]
    given = [part for part in parts if part]
    for part in given:
        ids = {row["query_id"] for row in part}
        lines = [one for one in drawn.lines if one["query_id"] in ids]
        history = lines or [{"query_id": "nobody", "query_text": "select 1"}]
        export(part, history, tmp_path / "updated", "--update", "--no-changes")
    export(drawn.rows, drawn.lines, tmp_path / "once")
    assert shown_by(tmp_path / "updated") == shown_by(tmp_path / "once")
    graphs = [golden.triples((tmp_path / name / "graph").rglob("*.ttl")) for name in ("updated", "once")]
    assert graphs[0] == graphs[1]


def test_children_of_other_days_name_the_job_of_a_parent_that_has_helpers(tmp_path: Path) -> None:
    """Of later days, and of earlier ones if rows say so; also of the days on which a parent starts and ends."""
    rows = loads.Rows(night(loads.HELPERS[0])).rows[:2]
    parent, begin = rows[1], loads.BEGIN.replace(hour=23)
    parent["query_start_time"] = begin.isoformat()
    child = {**parent, "objects_modified": [], "parent_query_id": "q001", "root_query_id": "q001"}
    children = [
        {**child, "query_id": f"c{days}", "query_start_time": (begin + timedelta(days=days)).isoformat()}
        for days in (-1, 0, 1, 2)
    ]
    for lines in ([{"query_id": "nobody"}], [lasting(parent, 7_200)]):
        out = tmp_path / lines[0]["query_id"]
        for part in (children[:3], rows, children[3:]):
            export(part, lines, out, "--update")
        found = runs(out)
        assert not outputs(found["q001"])
        for one in children:
            facet = found[one["query_id"]]["run"]["facets"]["parent"]
            assert {facet["job"]["name"], facet["root"]["job"]["name"]} == {found["q001"]["job"]["name"]}


def test_a_query_over_midnight_has_the_helpers_of_the_day_on_which_it_started(tmp_path: Path) -> None:
    """Not what older queries know, which end on the same day: they read the table before it was created."""
    create, insert = loads.Rows(night()).rows[:2]
    made = {**insert, "object_modified_by_ddl": create["object_modified_by_ddl"]}
    made["query_start_time"] = (loads.BEGIN + timedelta(days=1)).isoformat()
    text = "create or replace temporary table PLAIN as select 1"
    lines = [{**lasting(made, 90_000), "query_text": text}]
    table = {name: made["objects_modified"][0][name] for name in ("objectDomain", "objectId", "objectName")}
    readers = [
        {
            **insert,
            "query_id": f"r{number}",
            "base_objects_accessed": [{**table, "columns": [{"columnName": f"C{number}"}]}],
        }
        for number in range(8)
    ]
    lines += [lasting(row, 180_000) for row in readers]
    for part in (readers, [made]):
        export(part, lines, tmp_path / "out", "--update")
    assert outputs(runs(tmp_path / "out")["q001"]) == set()


def lasting(row: Json, seconds: int) -> Json:
    end = datetime.fromisoformat(row["query_start_time"]) + timedelta(seconds=seconds)
    return {"query_id": row["query_id"], "end_time": end.isoformat()}


# --- signs ------------------------------------------------------------------------------------------------------------

PLAIN: Final = "D.M.PLAIN"
"""A helper whose name says nothing."""


def night(helper: str = PLAIN, **more: Any) -> list[loads.Statement]:
    """Create a table, fill it from a source, fill the target from it, drop it; queries q000 to q003, in a minute."""
    made_of: loads.Mapping = {"A": [(loads.SOURCES[0], "B")], "B": []}
    copied: loads.Mapping = {"A": [(helper, "A")], "B": [(helper, "B")]}
    steps = (
        ("create", helper, {}, ()),
        ("insert", helper, made_of, loads.SOURCES[:1]),
        ("insert", loads.TARGETS[0], copied, (helper,)),
        ("drop", helper, {}, ()),
    )
    return [
        loads.Statement(does, table, loads.BEGIN + timedelta(seconds=10 * number), sources, tuple(reads), **more)
        for number, (does, table, sources, reads) in enumerate(steps)
    ]


def of_night(tmp_path: Path, lines: list[Json], load: list[loads.Statement], *options: str, **row: Any) -> Path:
    rows = [{**one, **row} for one in loads.Rows(load).rows]
    return export(rows, lines, tmp_path / "out", *options)


def sessions(*each: str) -> list[Json]:
    return [{"query_id": f"q{number:03}", "session_id": one} for number, one in enumerate(each)]


BRIDGED: Final = {(loads.SOURCES[0], "B", loads.TARGETS[0], "A")}
"""Column B of the helper is a constant: it has no source."""


def is_bridged(out: Path, helper: str = PLAIN) -> bool:
    """Whether events show the target made from the source; else they have to show both steps of the chain."""
    found = runs(out)
    if edges(found["q002"]) == BRIDGED:
        assert (inputs(found["q002"]), outputs(found["q001"])) == ({loads.SOURCES[0]}, set())
        assert inputs(found["q001"]) == {loads.SOURCES[0]}
        assert [helpers(found[f"q00{number}"]) for number in range(4)] == [
            {helper: {"DDL"}}, {helper: {"WRITE"}}, {helper: {"READ"}}, {helper: {"DDL"}}
        ]  # fmt: skip
        assert helper not in datasets(out) | {one for event in found.values() for one in inputs(event) | outputs(event)}
        return True
    assert (inputs(found["q002"]), outputs(found["q001"])) == ({helper}, {helper})
    assert (helper, "A", loads.TARGETS[0], "A") in edges(found["q002"])
    assert (loads.SOURCES[0], "B", helper, "A") in edges(found["q001"])
    assert helper in datasets(out)
    assert not any(map(helpers, found.values()))
    return False


def test_a_table_without_any_sign_is_no_helper(tmp_path: Path) -> None:
    assert not is_bridged(of_night(tmp_path, [], night()))


@pytest.mark.parametrize("kind", ["TRANSIENT TABLE", "Table"])
def test_a_transient_table_is_no_helper(kind: str, tmp_path: Path) -> None:
    rows = json.loads(json.dumps(loads.Rows(night()).rows).replace('"Table"', json.dumps(kind)))
    text = {"query_id": "q000", "query_text": "create or replace transient table PLAIN (A int)"}
    assert not is_bridged(export(rows, [text], tmp_path / "out"))


@pytest.mark.parametrize("word", ["TEMPORARY", "temp", "or replace\n local temp", "volatile"])
def test_a_temporary_table_is_a_helper_though_its_text_is_not_exported(word: str, tmp_path: Path) -> None:
    text = {"query_id": "q000", "query_text": f"-- of a load\n/* model.x */ CREATE {word} TABLE PLAIN (A int)"}
    out = of_night(tmp_path, [text], night())
    assert is_bridged(out)
    assert "model.x" not in "".join(file.read_text(encoding="utf-8") for file in out.rglob("*.*") if file.is_file())


def test_a_table_of_one_session_is_a_helper(tmp_path: Path) -> None:
    assert is_bridged(of_night(tmp_path, sessions("7", "7", "7", "7"), night()))


def test_a_table_of_one_request_is_a_helper(tmp_path: Path) -> None:
    assert is_bridged(of_night(tmp_path, [], night(), parent_query_id="root", root_query_id="root"))


@pytest.mark.parametrize("used", [("7", "7", "8", "7"), ("7", "8", "7", "7"), ("7", "7", "7", "8")])
def test_a_table_that_another_session_uses_is_no_helper(used: tuple[str, ...], tmp_path: Path) -> None:
    found = runs(of_night(tmp_path, sessions(*used), night()))
    assert inputs(found["q002"]) == outputs(found["q001"]) == {PLAIN}
    assert not any(map(helpers, found.values()))


def test_a_table_of_one_session_that_nobody_reads_is_no_helper(tmp_path: Path) -> None:
    load = night()
    load[2].reads, load[2].made_of = (loads.SOURCES[1],), {"A": [], "B": []}
    assert outputs(runs(of_night(tmp_path, sessions("7", "7", "7", "7"), load))["q001"]) == {PLAIN}


def test_a_table_of_one_session_that_is_dropped_on_the_next_day_is_no_helper(tmp_path: Path) -> None:
    load = night()
    load[3].at += timedelta(days=1)
    assert not is_bridged(of_night(tmp_path, sessions("7", "7", "7", "7"), load))


# --- names and settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "D.M.T__DBT_TMP",
        'D.M."t__dbt_tmp"',
        "D.M.T__DBT_TMP123456",
        "D.FIVETRAN_EASY_LOG_STAGING.X1",
        "D.M._AIRBYTE_TMP_QEK_T",
        "D.M.T_AIRBYTE_TMP",
        "D.M.T_AB_SOFT_RESET",
    ],
)
def test_names_of_dbt_fivetran_and_airbyte(name: str, tmp_path: Path) -> None:
    assert is_bridged(of_night(tmp_path, [], night(name)), name)


@pytest.mark.parametrize(("toml", "holds"), [("off", False), ("PL*N", True), ("M.PLAIN", True), ("X.PLAIN", False)])
def test_the_setting(toml: str, *, holds: bool, tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[lineage]\nhelpers = "{toml}"\n', encoding="utf-8")
    assert is_bridged(of_night(tmp_path, [], night(), "--config", str(settings))) == holds


def test_off_is_for_all_signs(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(OFF, encoding="utf-8")
    text = {"query_id": "q000", "query_text": "create temporary table PLAIN (A int)"}
    assert not is_bridged(of_night(tmp_path, [text], night(), "--config", str(settings)))


@pytest.mark.parametrize("wrong", ["A.B.C.D", "A..B", " "])
def test_a_pattern_that_fits_no_name_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"lineage\.helpers"):
        OpenLineageSettings(helpers=(wrong,))


class Counting(local.LocalEngine):
    """Notes the steps of the rounds that exchange messages."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def shuffle(self, messages: Sequence[list[Message]], step: Step, job: ExportJob) -> list[Message]:
        self.steps.append(step.__name__)
        return super().shuffle(messages, step, job)


def test_without_helpers_there_are_no_further_rounds() -> None:
    found = []
    for name in (PLAIN, "D.M.T__DBT_TMP"):
        texts = [json.dumps(row) for row in loads.Rows(night(name)).rows]
        engine, job = Counting(), ExportJob(exports.ACCOUNT, "urn:tests/")
        rounds.export(engine, [list(read([Record("rows", 0, "line", text) for text in texts], job))], job, NoProgress())
        found.append(engine.steps)
    assert [one for one in found[1] if one not in found[0]] == ["trace_helpers", "bridge_helpers"]
    assert len(found[1]) == len(found[0]) + 2


# --- what a helper held -----------------------------------------------------------------------------------------------


def test_a_helper_that_is_not_created_on_record_is_an_ordinary_dataset(tmp_path: Path) -> None:
    name = "D.M.T__DBT_TMP"
    rows = loads.Rows(night(name)).rows[1:]
    found = runs(export(rows, [], tmp_path / "out"))
    assert inputs(found["q002"]) == outputs(found["q001"]) == outputs(found["q003"]) == {name}


def test_a_create_table_as_select_is_a_creation_by_its_query_type(tmp_path: Path) -> None:
    name = "D.M.T__DBT_TMP"
    rows = loads.Rows(night(name)).rows[1:]
    line = {"query_id": "q001", "query_type": "CREATE_TABLE_AS_SELECT"}
    found = runs(export(rows, [line], tmp_path / "out"))
    assert (edges(found["q002"]), outputs(found["q001"])) == (BRIDGED, set())


@pytest.mark.parametrize("column", ["objects_modified", "direct_objects_accessed", "base_objects_accessed"])
def test_a_truncated_row_keeps_the_helper_as_a_dataset(column: str, tmp_path: Path) -> None:
    name = "D.M.T__DBT_TMP"
    rows = loads.Rows(night(name)).rows
    if column == "objects_modified":
        for one in rows[1][column][0]["columns"]:
            one["directSources"] = [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
    else:
        rows[1][column] = [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
    found = runs(export(rows, [], tmp_path / "out"))
    assert inputs(found["q002"]) == outputs(found["q001"]) == {name}
    assert not any(map(helpers, found.values()))


def test_a_fill_that_is_cut_on_a_later_day_keeps_what_was_there(tmp_path: Path) -> None:
    """The chain of the first day goes through, and that of the second day has the helper as a dataset."""
    name = "D.M.T__DBT_TMP"
    create, insert, read, drop = night(name)
    cut = loads.Statement("cut", name, loads.BEGIN + timedelta(days=1), reads=loads.SOURCES[1:])
    read.at, drop.at = cut.at + timedelta(hours=1), cut.at + timedelta(hours=2)
    found = runs(of_night(tmp_path, [], [create, insert, cut, read, drop]))
    assert (outputs(found["q001"]), outputs(found["q002"])) == (set(), {name})
    assert inputs(found["q003"]) == {name, loads.SOURCES[0]}
    assert edges(found["q003"]) >= BRIDGED | {(name, "A", loads.TARGETS[0], "A")}


@pytest.mark.parametrize("is_filled", [True, False])
def test_a_helper_made_by_clone_is_shown(*, is_filled: bool, tmp_path: Path) -> None:
    """Its row lists the table that was cloned as read, and no write into the clone; a LIKE's looks the same."""
    name = loads.HELPERS[0]
    create, insert, read, drop = night(name)
    create.reads = loads.SOURCES[1:2]
    found = runs(of_night(tmp_path, [], [create, *([insert] if is_filled else []), read, drop]))
    reader = found["q002" if is_filled else "q001"]
    if is_filled:
        assert (inputs(found["q001"]), outputs(found["q001"])) == ({loads.SOURCES[0]}, {name})
    assert (inputs(found["q000"]), outputs(found["q000"])) == ({loads.SOURCES[1]}, {name})
    assert inputs(reader) == {name}
    assert edges(reader) >= {(name, "A", loads.TARGETS[0], "A")}


SENTINEL: Final = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}


@pytest.mark.parametrize("cut", ["source of a clone", "properties", "fill", "nothing"])
def test_a_helper_is_shown_if_no_row_says_what_filled_it(cut: str, tmp_path: Path) -> None:
    """Snowflake cut the source of the CLONE, or the name of the table that a query filled; or no query filled it."""
    name = loads.HELPERS[0]
    create, insert, read, drop = night(name)
    rows = loads.Rows([create, *([insert] if cut == "fill" else []), read, drop]).rows
    if cut == "fill":
        rows[1]["objects_modified"] = [SENTINEL]
    elif cut != "nothing":
        source = {"cloneSourceName": {"value": "TRUNCATED"}, "cloneSourceId": {"value": -1}}
        rows[0]["object_modified_by_ddl"]["properties"] = "TRUNCATED" if cut == "properties" else source
    found = runs(export(rows, [], tmp_path / "once"))
    reader = found[rows[-2]["query_id"]]
    assert (inputs(reader), edges(reader)) == ({name}, {(name, one, loads.TARGETS[0], one) for one in ("A", "B")})
    for row in rows:
        export([row], [], tmp_path / "updated", "--update", "--no-changes")
    assert shown_by(tmp_path / "updated") == shown_by(tmp_path / "once")


IN_CODE: Final = {"subOperationType": "ALTER", "objectId": {"value": 9}}
RENAMES: Final[dict[str, Any]] = {
    "value": {"columns": {"A": {"objectName": {"value": "X"}, **IN_CODE}}},
    "text": {"columns": {"A": {"objectName": "X", **IN_CODE}}},
    "array": {"columns": [{"objectName": "A", "newName": "X", **IN_CODE}]},
    "properties in an array": [{"columns": [{"objectName": "A", "newColumnName": {"value": "X"}, **IN_CODE}]}],
    "cut name": {"columns": {"A": {"objectName": "TRUNCATED", **IN_CODE}}},
    "cut array": {"columns": [{"objectName": "A", "newName": "TRUNCATED", **IN_CODE}]},
    "cut": "TRUNCATED",
    "cut columns": {"columns": "TRUNCATED"},
    "cut list": {"columns": ["TRUNCATED"]},
    "not understood": {"columns": {"A": {"objectName": {"value": "X"}, **IN_CODE}}, "swapTargetName": [7]},
}
"""The forms in which rows give ALTER TABLE … RENAME COLUMN A TO X; of the last six nobody knows what they did."""


@pytest.mark.parametrize(("form", "has_ids"), [*((form, True) for form in RENAMES), ("value", False), ("cut", False)])
def test_a_renamed_column_of_a_helper_keeps_its_sources(form: str, *, has_ids: bool, tmp_path: Path) -> None:
    """Each statement on a day of its own: updates have to know what was filled, and renamed, on days before."""
    name, is_told = loads.HELPERS[0], form in {"value", "text", "array", "properties in an array"}
    create, insert, read, _ = night(name)
    read.made_of = {"A": [(name, "X")], "B": [(name, "B")]}
    load = [create, insert, *loads.changes(name, insert.at, {"A": "X"}), read]
    for day, one in enumerate(load):
        one.at = loads.BEGIN + timedelta(days=day)
    rows = [row if has_ids else without_id_of(name, row) for row in loads.Rows(load).rows]
    rows[2]["object_modified_by_ddl"]["properties"] = RENAMES[form]
    out = export(rows, [], tmp_path / "once")
    if not has_ids:
        for row in rows:
            export([row], [], tmp_path / "updated", "--update", "--no-changes")
        assert shown_by(tmp_path / "updated") == shown_by(out)
    renamed, found = runs(out)["q002"], runs(out)["q003"]
    if is_told:
        assert (edges(found), inputs(found), outputs(renamed)) == (BRIDGED, {loads.SOURCES[0]}, set())
    else:
        assert (inputs(found), outputs(renamed)) == ({name, loads.SOURCES[0]}, {name})
        assert edges(found) == {(name, "X", loads.TARGETS[0], "A"), (name, "B", loads.TARGETS[0], "B")}
        assert "accessHistory_incompleteness" in renamed["run"]["facets"]


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("end", ["swap", "rename"])
def test_a_helper_arrives_with_the_present_names_of_its_columns(end: str, *, has_ids: bool, tmp_path: Path) -> None:
    """Its columns are renamed before and after the helper itself is."""
    first, then, target = (*loads.HELPERS[:2], loads.TARGETS[0])
    load = [*night(first)[:2], *loads.changes(first, loads.BEGIN + timedelta(seconds=20), {"A": "X"})]
    for second, (does, table, to, columns) in enumerate(
        [("rename", first, then, {}), ("columns", then, "", {"X": "Y"}), (end, then, target, {})]
    ):
        load.append(loads.Statement(does, table, loads.BEGIN + timedelta(seconds=30 + second), to=to, columns=columns))
    rows = loads.Rows(load).rows
    if not has_ids:
        rows = [without_id_of(target, without_id_of(then, without_id_of(first, row))) for row in rows]
        for row in rows:
            properties = (row.get("object_modified_by_ddl") or {}).get("properties", {})
            properties.pop("swapTargetId", None)
    found = runs(export(rows, [], tmp_path / "out"))
    assert edges(found["q005"]) == {(loads.SOURCES[0], "B", target, "Y")}


def test_the_job_of_a_night_does_not_have_the_helpers_name(tmp_path: Path) -> None:
    out = [export(loads.Rows(night(f"D.M.T__DBT_TMP{number}")).rows, [], tmp_path / str(number)) for number in (1, 2)]
    named = [{query: event["job"]["name"] for query, event in runs(one).items()} for one in out]
    assert named[0] == named[1]
    assert not [name for name in named[0].values() if "DBT_TMP" in name]


def test_the_facet_fits_its_schema_and_the_graph_has_every_step(tmp_path: Path) -> None:
    name = "D.M.T__DBT_TMP"
    settings = tmp_path / "settings.toml"
    settings.write_text(OFF, encoding="utf-8")
    rows = loads.Rows(night(name)).rows
    out, other = export(rows, [], tmp_path / "on"), export(rows, [], tmp_path / "off", "--config", str(settings))
    assert {one for one in exports.triples(out) if not one[1].endswith("#isHelper>")} == exports.triples(other)
    schemas = Path(facets.__file__).parent / "schemas" / "1-0-0" / "AccessHistoryHelpersRunFacet.json"
    schema = json.loads(schemas.read_text(encoding="utf-8"))
    properties = schema["$defs"]["AccessHistoryHelpersRunFacet"]["allOf"][1]["properties"]["helpers"]["items"]
    facet = runs(out)["q002"]["run"]["facets"]["accessHistory_helpers"]
    assert facet["helpers"] == [{"namespace": f"snowflake://{exports.ACCOUNT}", "name": name, "accesses": ["READ"]}]
    assert set(facet["helpers"][0]) == set(properties["required"])


# --- the graph --------------------------------------------------------------------------------------------------------


def lineage(out: Path, capsys: pytest.CaptureFixture[str], *given: str) -> set[tuple[str, ...]]:
    """The direct sources of the columns of the target, by the question ``column-lineage``."""
    capsys.readouterr()
    target = f"target_object_name={loads.TARGETS[0]}"
    asked = ["--param", target, *(word for one in given for word in ("--param", one))]
    assert main(["query", "column-lineage", "--graph", str(out), "--format", "json", *asked]) == 0
    rows = json.loads(capsys.readouterr().out)
    names = ("source_object_name", "source_column_name", "target_object_name", "target_column_name")
    return {tuple(row[name] for name in names) for row in rows if row["source_column_type"] == "DIRECT"}


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_question_goes_through_helpers(
    depth: int, reads: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through three helpers, one after the other; a fourth is shown, and so is one whose column is a constant."""
    names = [f"D.M.T{number}__DBT_TMP" for number in range(1, depth + 1)]
    load, source = list[loads.Statement](), loads.SOURCES[0]
    for number, name in enumerate([*names, loads.TARGETS[0]]):
        at = loads.BEGIN + timedelta(minutes=number)
        made_of: loads.Mapping = {"A": [(source, "A")], "B": [(source, "B")] if number else []}
        does = "create" if name in names else "insert"
        load.append(loads.Statement(does, name, at, made_of, (source,)))
        source = name
    out = of_night(tmp_path, [], load, "--reads", reads)
    target = loads.TARGETS[0]
    assert lineage(out, capsys) == {(names[-1], "A", target, "A"), (names[-1], "B", target, "B")}
    behind = loads.SOURCES[0] if depth <= 3 else names[0]
    assert lineage(out, capsys, "helpers=bridged") == {(behind, "A", target, "A"), (names[0], "B", target, "B")}
    assert edges(runs(out)[f"q{depth:03}"]) == {(loads.SOURCES[0], "A", target, "A")}


@pytest.mark.usefixtures("answers_in_this_process")
@pytest.mark.parametrize(
    ("reads", "changes"), [("full", loads.SWAPPED), ("daily", loads.SWAPPED), ("full", ({"A": "C"}, {"C": "A"}))]
)
def test_the_question_goes_through_renamed_columns_as_events_do(
    reads: str, changes: Sequence[dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two helpers, one filled from the other; columns of both are renamed."""
    first, second, source, target = (*loads.HELPERS[:2], loads.SOURCES[0], loads.TARGETS[0])
    load = list[loads.Statement]()
    for number, (made, of) in enumerate(((first, source), (second, first), (target, second))):
        at = loads.BEGIN + timedelta(minutes=number)
        made_of: loads.Mapping = {"A": [(of, "A")], "B": [(of, "B")]}
        load.append(loads.Statement("insert" if made == target else "create", made, at, made_of, (of,)))
        load += loads.changes(made, at + timedelta(seconds=9), *changes) if made == first else ()
        load += loads.changes(made, at + timedelta(seconds=9), {"B": "C"}, {"C": "B"}) if made == second else ()
    out = of_night(tmp_path, [], load, "--reads", reads)
    (found,) = [edges(event) for event in runs(out).values() if target in outputs(event)]
    assert {one[0] for one in found} == {source}
    assert lineage(out, capsys, "helpers=bridged") == found


def test_a_value_that_the_question_does_not_have_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = of_night(tmp_path, [], night())
    assert main(["query", "column-lineage", "--graph", str(out), "--param", "helpers=hidden"]) == 2
    assert "write shown or bridged" in capsys.readouterr().err


def test_what_is_a_helper_in_the_graph(tmp_path: Path) -> None:
    """The table of the night, also without events; not the one that is swapped into its target."""
    helper, other = "D.M.T__DBT_TMP", "D.M.T2__DBT_TMP"
    at = loads.BEGIN + timedelta(hours=1)
    swapped = [loads.Statement(does, other, at + timedelta(minutes=number), to=loads.TARGETS[1])
               for number, does in enumerate(("create", "swap"))]  # fmt: skip
    for number, options in enumerate(((), ("--outputs", "graph"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        out = of_night(folder, [], [*night(helper), *swapped], *options)
        marked = {subject for subject, term, _ in exports.triples(out) if term.endswith("#isHelper>")}
        labels = {
            name for subject, term, name in exports.triples(out) if subject in marked and term.endswith("#label>")
        }
        assert labels == {f'"{helper}"'}


def of_a_helper() -> list[Json]:
    """A query fills a helper from two columns and a function, one reads it, and one fills a target from it."""

    def told(number: int, **columns: Any) -> Json:
        time = f"2026-03-01T08:0{number}:00Z"
        return {"query_id": f"q{number}", "query_start_time": time, "user_name": "U", **columns}

    def table(ident: int, name: str, *columns: str) -> Json:
        named = {"objectDomain": "Table", "objectId": ident, "objectName": name}
        return named | ({"columns": [{"columnName": column} for column in columns]} if columns else {})

    def made(column: str, *sources: Json) -> Json:
        return {"columnName": column, "directSources": list(sources)}

    source, stage = table(4, "D.S.SRC"), {"objectDomain": "Stage", "objectId": 5, "objectName": "D.S.STAGE"}
    function = {"objectDomain": "FUNCTION", "objectId": 7, "objectName": "D.S.F", "argumentSignature": "(X NUMBER)"}
    helper, read = table(50, "D.S.T__DBT_TMP"), table(50, "D.S.T__DBT_TMP", "A")
    filled = [made("A", {**source, "columnName": "X"}, function), made("B", {**source, "columnName": "Y"}, stage)]
    change = {**helper, "operationType": "CREATE", "properties": {}}
    return [
        told(1, objects_modified=[{**helper, "columns": filled}], object_modified_by_ddl=change),
        told(2, direct_objects_accessed=[read], base_objects_accessed=[read]),
        told(
            3,
            direct_objects_accessed=[table(50, "D.S.T__DBT_TMP", "A", "B")],
            objects_modified=[
                {**table(51, "D.S.T"), "columns": [made("Z", {**helper, "columnName": "B"})]},
                {**table(52, "D.S.ALL"), "columns": [made("Z", helper)]},
            ],
        ),
    ]


def test_the_routines_that_made_a_helpers_columns_are_in_the_event_of_its_fill(tmp_path: Path) -> None:
    """docs/openlineage.md, "Helpers": "The functions are named in the event of the query that filled the helper"."""
    found = runs(export(of_a_helper(), [], tmp_path / "out", "--outputs", "events"))
    routines = {query: event["run"]["facets"].get("accessHistory_routines") for query, event in found.items()}
    assert [(one["name"], one["objectId"], one["accesses"]) for one in routines["q1"]["routines"]] == [
        ("D.S.F", "7", ["SOURCE"])
    ]
    assert routines["q2"] is routines["q3"] is None


def test_a_query_that_only_reads_a_helper_read_the_columns_behind_it(tmp_path: Path) -> None:
    found = runs(export(of_a_helper(), [], tmp_path / "out", "--outputs", "events"))
    columns = {
        query: {one["name"]: one["inputFacets"]["accessHistory_access"]["columns"] for one in event["inputs"]}
        for query, event in found.items()
    }
    assert columns["q2"] == {"D.S.SRC": ["X"], "D.S.STAGE": []}
    assert columns["q3"] == {"D.S.SRC": ["X", "Y"], "D.S.STAGE": []}
    described = [found[query]["job"]["facets"]["documentation"]["description"] for query in ("q1", "q2")]
    assert described == ["create helper from D.S.SRC, D.S.STAGE", "read D.S.SRC, D.S.STAGE"]


def test_a_source_without_a_column_is_followed_through_a_helper(tmp_path: Path) -> None:
    found = runs(export(of_a_helper(), [], tmp_path / "out", "--outputs", "events"))
    made_from = {
        one["name"]: [source["name"] for source in one["facets"]["lineage"]["inputs"]] for one in found["q3"]["outputs"]
    }
    assert made_from == {"D.S.T": ["D.S.SRC", "D.S.STAGE"], "D.S.ALL": ["D.S.SRC", "D.S.STAGE"]}
    assert edges(found["q3"]) == {("D.S.SRC", "Y", "D.S.T", "Z")}
