"""Stages of tables: each table has one, ``@%T``, with its id and name (view, ``objectId``). Rows of the stage do not
say when the table is renamed, swapped or dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, C, changed, copied, row
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
STAGE: Final = {"objectDomain": "Stage", "objectId": A["objectId"], "objectName": A["objectName"], "stageKind": "Table"}
FILE: Final = {"location": "file:///a.csv"}
PUT: Final = row(1, direct_objects_accessed=[FILE], base_objects_accessed=[FILE], objects_modified=[STAGE])
LOADED: Final = row(2, direct_objects_accessed=[STAGE], base_objects_accessed=[STAGE], objects_modified=[A])


def exported(folder: Path, *rows: Json) -> Path:
    told = exports.ndjson([PUT, LOADED, *rows], folder / "rows.ndjson")
    assert exports.export([told], folder / "out", "--outputs", "graph") == 0
    return folder / "out"


def graph_of(folder: Path, *rows: Json) -> Store:
    return load(exported(folder, *rows))


@pytest.mark.parametrize(
    ("question", "given", "rows"),
    [
        ("writers", {}, [("ETL", "q2")]),
        ("end-up", {}, [("D.S.C", "Table")]),
        ("column-readers", {"column_name": "C"}, [("ETL", "1")]),
    ],
)
def test_a_name_means_the_table(question: str, given: Json, rows: list[tuple[str, ...]], tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path, copied(3, A, C)), find(question), {"object_name": "D.S.A", **given})
    assert [cells[:2] for cells in answer.rows] == rows
    assert answer.notes[0].startswith("D.S.A: the table is used, and not its stage (@%).")


def test_the_stage_is_asked_for_by_its_kind(tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path), find("writers"), {"object_name": "D.S.A", "domain": "Table Stage"})
    assert [cells[1] for cells in answer.rows] == ["q1"]


@pytest.mark.parametrize(
    ("question", "given", "count"),
    [
        ("sensitive-data-movement", {"domain": "Table Stage"}, 1),
        ("sensitive-data-movement", {}, 0),
        ("lineage-as-of", {"at": "2026-01-09"}, 1),
        ("downstream-users", {"domain": "Table Stage"}, 1),
        ("downstream-users", {}, 0),
        ("end-up", {"domain": "Table Stage"}, 0),  # it has the kinds
    ],
)
def test_an_answer_without_kinds_says_that_a_name_can_mean_the_stage(
    question: str, given: Json, count: int, tmp_path: Path
) -> None:
    answer = ask(graph_of(tmp_path, copied(3, A, C)), find(question), {"object_name": "D.S.A", **given})
    told = "Rows give the stage of a table (@%) the name of the table. In this answer, D.S.A can mean either."
    assert answer.notes.count(told) == count


def test_without_rows_of_the_table_the_name_means_its_stage(tmp_path: Path) -> None:
    told = exports.ndjson([PUT], tmp_path / "rows.ndjson")
    assert exports.export([told], tmp_path / "out", "--outputs", "graph") == 0
    answer = ask(load(tmp_path / "out"), find("writers"), {"object_name": "D.S.A"})
    assert [cells[1] for cells in answer.rows] == ["q1"]
    assert not any("the table is used" in note for note in answer.notes)


RENAMED: Final = changed(4, A, {"objectName": {"value": "D.S.A2"}})


@pytest.mark.parametrize(
    ("change", "told"),
    [(RENAMED, "is called D.S.A2"), (changed(4, A, {}, "DROP"), "has no name since 20")],
)
def test_the_stage_goes_with_its_table(change: Json, told: str, tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path, change), find("former-names"), {"object_name": "D.S.A", "domain": "Stage"})
    (note,) = [note for note in answer.notes if note.startswith("The stage of a table")]
    assert f"D.S.A, the stage of Table {A['objectId']}, which {told}" in note


def test_a_table_that_keeps_its_name_needs_no_note(tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path), find("former-names"), {"object_name": "D.S.A", "domain": "Stage"})
    assert len(answer.rows) == 1
    assert not any("stage of a table" in note for note in answer.notes)


def test_the_stage_is_found_by_the_later_name_of_its_table(tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path, RENAMED), find("writers"), {"object_name": "D.S.A2", "domain": "Stage"})
    (note,) = [note for note in answer.notes if note.startswith("Rows have the stage")]
    assert "under the name D.S.A: ask without a name, by --param object_id=" in note
    by_id = ask(load(tmp_path / "out"), find("writers"), {"object_id": str(A["objectId"]), "domain": "Table Stage"})
    assert [cells[1] for cells in by_id.rows] == ["q1"]


@pytest.mark.parametrize(("hour", "is_told"), [("05", True), ("07", False)])
def test_a_table_whose_stage_was_read_may_be_in_use(hour: str, *, is_told: bool, tmp_path: Path) -> None:
    """Who drops the table drops the files in its stage."""
    got = row(5, direct_objects_accessed=[STAGE], base_objects_accessed=[STAGE], objects_modified=[FILE])
    answer = ask(graph_of(tmp_path, got), find("unused-objects"), {"since": f"2026-01-05T{hour}:00:00Z"})
    assert ("D.S.A", "Table") in [cells[:2] for cells in answer.rows]
    assert any("D.S.A (files in its own stage" in note for note in answer.notes) == is_told


def test_a_file_and_a_stage_of_a_table_may_be_used_by_what_has_no_row(tmp_path: Path) -> None:
    store = graph_of(tmp_path)
    (note,) = ask(store, find("writers"), {"object_name": "file:///a.csv"}).notes
    assert note.startswith("file:///a.csv is outside of Snowflake: its files can be read and written by others")
    assert ask(store, find("who-accessed"), {"object_name": "file:///a.csv"}).notes == []
    got = {"object_id": str(A["objectId"]), "domain": "Table Stage", "since": "2026-01-03"}
    notes = ask(store, find("when-accessed"), got).notes
    assert any(note.startswith("D.S.A is a stage: its files can be read") for note in notes)


LATER: Final = {**STAGE, "objectName": "D.S.A2"}
GOT: Final = row(9, direct_objects_accessed=[LATER], base_objects_accessed=[LATER], objects_modified=[FILE])
OTHER: Final = {**A, "objectId": 77}
MADE: Final = changed(5, OTHER, {}, "CREATE")
"""The table is renamed, another one gets its name, and only then a row has its stage under the new name."""
TIME_OF_RENAME: Final = str(RENAMED["query_start_time"]).replace(".000", "")


def test_names_of_the_stage_are_not_told_of_the_table(tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path, RENAMED, MADE, GOT), find("writers"), {"object_name": "D.S.A"})
    assert not any("Stage" in note and "had the name" in note for note in answer.notes)
    assert [note for note in answer.notes if "had the name D.S.A" in note] == [
        f"Table {A['objectId']} had the name D.S.A until {TIME_OF_RENAME}, and is called D.S.A2 now."
    ]


@pytest.mark.parametrize(
    ("question", "given", "is_told"),
    [
        ("writers", {"object_name": "D.S.A"}, True),
        ("writers", {"object_name": "D.S.A2"}, False),
        ("former-names", {"object_name": "D.S.A2"}, True),
        ("lineage-as-of", {"object_name": "D.S.A2", "at": str(GOT["query_start_time"])}, True),
    ],
)
def test_the_stage_lost_a_name_when_its_table_did(question: str, given: Json, *, is_told: bool, tmp_path: Path) -> None:
    store = graph_of(tmp_path, RENAMED, MADE, GOT)
    answer = ask(store, find(question), {**given, "domain": "Stage"})
    told = [note for note in answer.notes if note.startswith("The stage of a table")]
    assert bool(told) == is_told
    assert all(
        f"D.S.A, the stage of Table {A['objectId']}, which is called D.S.A2 since {TIME_OF_RENAME}" in note
        for note in told
    )
    assert not any(str(GOT["query_start_time"]).replace(".000", "") in note for note in answer.notes)


def test_an_id_means_the_table(tmp_path: Path) -> None:
    store, ident = graph_of(tmp_path), str(A["objectId"])
    answer = ask(store, find("writers"), {"object_id": ident})
    assert [cells[1] for cells in answer.rows] == ["q2"]
    assert answer.notes == [
        f"{ident}: the table is used, and not its stage (@%). For that one: --param domain='Table Stage'."
    ]


def test_several_ids_mean_all_of_their_tables(tmp_path: Path) -> None:
    view = {"objectDomain": "View", "objectId": 88, "objectName": "D.S.V"}
    store = graph_of(tmp_path, changed(3, view, {}, "CREATE"))
    answer = ask(store, find("former-names"), {"object_id": [str(A["objectId"]), "88"]})
    assert {cells[1] for cells in answer.rows} == {"D.S.A", "D.S.V"}


def test_advice_to_ask_by_an_id_names_the_kind(tmp_path: Path) -> None:
    """Where the id is that of its stage, too; and only what data came to is advised."""
    store = graph_of(tmp_path, RENAMED, MADE, GOT)
    (note,) = [
        note for note in ask(store, find("lineage-as-of"), {"object_name": "D.S.A", "at": "2027-01-01"}).notes
        if note.startswith("Ask by object_id=")
    ]  # fmt: skip
    assert note.startswith(f"Ask by object_id={A['objectId']} domain=Table, too: ")


def test_the_page_of_a_name_is_of_the_table(tmp_path: Path) -> None:
    with sited(exported(tmp_path, changed(3, A, {}, "DROP"))) as site:
        thing, _ = site.by_name("D.S.A")
    assert thing is not None
    assert thing.kind == "Table"


def test_the_nearest_of_a_location_is_its_url(tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path), find("writers"), {"object_name": "file:///a"})
    assert answer.notes[0] == "There is no object file:///a in the graph. The nearest: file:///a.csv."


@pytest.mark.parametrize(("kind", "asked_by"), [("View", "object_id=88 domain=View"), ("Table", "object_id=88")])
def test_advice_on_what_was_dropped_names_its_kind(kind: str, asked_by: str, tmp_path: Path) -> None:
    """The id alone is that of a table in this question."""
    thing = {"objectDomain": kind, "objectId": 88, "objectName": "D.S.V"}
    later = {**thing, "objectName": "D.S.V2"}
    rows = [changed(3, thing, {"objectName": {"value": "D.S.V2"}}), changed(4, later, {}, "DROP")]
    answer = ask(graph_of(tmp_path, *rows), find("when-accessed"), {"object_name": "D.S.V2"})
    assert any(note.endswith(f"(D.S.V) is in the answer by {asked_by}.") for note in answer.notes)
