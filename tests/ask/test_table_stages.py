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


def test_the_page_of_a_name_is_of_the_table(tmp_path: Path) -> None:
    with sited(exported(tmp_path, changed(3, A, {}, "DROP"))) as site:
        thing, _ = site.by_name("D.S.A")
    assert thing is not None
    assert thing.kind == "Table"


def test_the_nearest_of_a_location_is_its_url(tmp_path: Path) -> None:
    answer = ask(graph_of(tmp_path), find("writers"), {"object_name": "file:///a"})
    assert answer.notes[0] == "There is no object file:///a in the graph. The nearest: file:///a.csv."
