"""Objects that rows give in two forms, on the way of the data: docs/questions.md, "An empty or short answer comes with
notes". With an id and without, it may be one object (docs/graph.md, ``ah:sameNameAs``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, B, C, changed, row, table, tagged

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
NAMELESS: Final = {"objectDomain": "Table", "objectName": "D.S.B"}
"""B, of which a row gives no id."""
D: Final = table(4, "D.S.D")
TOLD: Final = "Rows give D.S.B with an id and without"
MASK: Final = {"maskingPolicies": {"D.S.M": {"subOperationType": "ADD", "objectId": {"value": 8}}}}
AT: Final = "2026-01-31"


def copied(number: int, source: Json, target: Json, read: str = "C", written: str = "C") -> Json:
    shown = {key: value for key, value in source.items() if key != "columns"}
    sources = [{**shown, "columnName": read}]
    columns = [{"columnName": written, "directSources": sources, "baseSources": sources}]
    reads = [{**shown, "columns": [{"columnName": read}]}]
    return row(
        number,
        direct_objects_accessed=reads,
        base_objects_accessed=reads,
        objects_modified=[{**target, "columns": columns}],
    )


def read(number: int, thing: Json, column: str = "C") -> Json:
    reads = [{**thing, "columns": [{"columnName": column}]}]
    return row(number, direct_objects_accessed=reads, base_objects_accessed=reads, user_name="ANA")


SET: Final = [tagged(1, A), {**changed(1, A, {"columns": {"C": MASK}}), "query_id": "m1"}]
"""A tag and a mask on the column that is copied."""
OF_A: Final[dict[str, Json]] = {
    "end-up": {"object_name": "D.S.A"},
    "column-copies": {"object_name": "D.S.A", "column_name": "C"},
    "sensitive-data-movement": {"object_name": "D.S.A"},
    "downstream-users": {"object_name": "D.S.A"},
    "tag-reach": {},
    "unmasked-copies": {},
}
OF_D: Final[dict[str, Json]] = {
    "lineage-as-of": {"object_name": "D.S.D", "at": AT},
    "root-cause": {"object_name": "D.S.D", "column_name": "C"},
}


def notes(question: str, rows: list[Json], folder: Path, reads: str = "full", **given: str) -> str:
    """The notes on an answer that has rows."""
    path = exports.ndjson([*SET, *rows], folder / "rows.ndjson")
    assert exports.export([path], folder / "out", "--outputs", "graph", "--reads", reads) == 0
    answer = ask(load(folder / "out"), find(question), given)
    assert answer.rows
    return "\n".join(answer.notes)


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("is_filled_by_name", [True, False])
@pytest.mark.parametrize("question", [*OF_A, *OF_D])
def test_an_object_in_two_forms_on_the_way_is_told(
    question: str, *, is_filled_by_name: bool, reads: str, tmp_path: Path
) -> None:
    filled, left = (NAMELESS, B) if is_filled_by_name else (B, NAMELESS)
    rows = [copied(2, A, filled), copied(3, left, D), read(4, D), read(5, filled)]
    assert TOLD in notes(question, rows, tmp_path, reads, **{**OF_A, **OF_D}[question])


ANEW: Final = {**B, "objectId": 12}
DECIDED: Final[dict[str, list[Json]]] = {
    "in one form alone": [copied(2, A, B), copied(3, B, D)],
    "in two forms, beside the way": [copied(2, A, D), copied(3, table(5, "D.S.E"), NAMELESS), read(4, B)],
    "read before the data came": [copied(2, B, D), read(2, B), copied(3, A, NAMELESS), copied(4, A, D)],
    "read after it was made anew": [copied(2, A, NAMELESS), changed(3, ANEW, {}, "REPLACE"), copied(4, ANEW, D)],
    "read under another name": [
        copied(1, C, B),
        changed(2, B, {"objectName": {"value": "D.S.OLD"}}),
        copied(3, A, NAMELESS),
        copied(4, {**B, "objectName": "D.S.OLD"}, D),
    ],
}


@pytest.mark.parametrize("question", [*OF_A, *OF_D])
@pytest.mark.parametrize("story", DECIDED)
def test_it_is_not_told_where_rows_decide(story: str, question: str, tmp_path: Path) -> None:
    rows = [*DECIDED[story], copied(6, A, C), read(9, C)]
    assert "with an id and without" not in notes(question, rows, tmp_path, **{**OF_A, **OF_D}[question])


@pytest.mark.parametrize(("question", "is_told"), [("column-copies", False), ("root-cause", False), ("end-up", True)])
def test_another_column_is_no_way_for_questions_on_columns(question: str, *, is_told: bool, tmp_path: Path) -> None:
    rows = [copied(2, A, NAMELESS), copied(3, B, D, "E", "E"), copied(4, A, D)]
    assert (TOLD in notes(question, rows, tmp_path, **{**OF_A, **OF_D}[question])) == is_told


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("column-readers", {"column_name": "C"}),
        ("columns-accessed", {}),
        ("when-accessed", {}),
        ("who-accessed", {}),
    ],
)
def test_readers_by_id_of_what_was_also_read_without_it(question: str, given: Json, tmp_path: Path) -> None:
    """The name means both forms, the id one alone."""
    rows = [read(3, B), read(4, NAMELESS)]
    by_id = {"object_id": "2", "domain": "Table", **given}
    assert TOLD in notes(question, rows, tmp_path, **by_id)
    store = load(tmp_path / "out")
    for decided in ({**given, "object_name": "D.S.B"}, {**by_id, "until": "2026-01-04"} if question != "who-accessed"
                    else {**given, "object_name": "D.S.B"}):  # fmt: skip
        answer = ask(store, find(question), decided)
        assert answer.rows
        assert TOLD not in "\n".join(answer.notes)


# --- ways that are not by column --------------------------------------------------------------------------------------

OUT: Final = {"objectDomain": "Stage", "objectId": 7, "objectName": "D.S.OUT", "stageKind": "Internal Named"}
VIEW: Final = table(8, "D.S.V", domain="View")


def unloaded(number: int, source: Json, column: str = "C") -> Json:
    return {**read(number, source, column), "objects_modified": [OUT]}


def loaded(number: int, target: Json) -> Json:
    """Its row names the stage as the source of a column."""
    stage = {key: value for key, value in OUT.items() if key != "stageKind"}
    columns = [{"columnName": "C", "directSources": [stage], "baseSources": [stage]}]
    return row(
        number,
        direct_objects_accessed=[OUT],
        base_objects_accessed=[OUT],
        objects_modified=[{**target, "columns": columns}],
    )


def seen(number: int, source: Json, column: str = "C") -> Json:
    """The column is read through a view."""
    return {**read(number, source, column), "direct_objects_accessed": [{**VIEW, "columns": [{"columnName": column}]}]}


COLUMN: Final = {"column_name": "C"}


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize(
    ("question", "given", "rows"),
    [
        ("end-up", {**OF_A["end-up"], **COLUMN}, [copied(2, A, NAMELESS), unloaded(3, B)]),
        ("end-up", {**OF_A["end-up"], **COLUMN}, [copied(2, A, B), unloaded(3, NAMELESS)]),
        ("root-cause", OF_D["root-cause"], [loaded(2, NAMELESS), copied(3, B, D)]),
        ("root-cause", OF_D["root-cause"], [loaded(2, B), copied(3, NAMELESS, D)]),
        ("end-up", OF_A["end-up"], [copied(2, A, NAMELESS), seen(3, B)]),
        ("end-up", {**OF_A["end-up"], **COLUMN}, [copied(2, A, NAMELESS), seen(3, B)]),
        (
            "column-copies",
            OF_A["column-copies"],
            [copied(2, A, NAMELESS), changed(3, B, {"columns": {"C": {"objectName": {"value": "E"}}}}),
             copied(4, B, D, "E")],
        ),
    ],
)  # fmt: skip
def test_a_way_through_the_other_form_is_told(
    question: str, given: Json, rows: list[Json], reads: str, tmp_path: Path
) -> None:
    assert TOLD in notes(question, rows, tmp_path, reads, **given)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("end-up", [copied(2, A, B), unloaded(3, B), unloaded(4, NAMELESS, "E")]),
        ("end-up", [copied(2, A, NAMELESS), seen(3, B, "E")]),
        ("end-up", [unloaded(2, B), seen(3, B), copied(4, A, NAMELESS)]),
        ("root-cause", [copied(2, B, D), loaded(3, NAMELESS)]),
        ("root-cause", [copied(1, A, B), copied(2, B, D), changed(3, B, {}, "DROP"), loaded(4, NAMELESS)]),
    ],
)
def test_no_way_through_the_other_form_is_not_told(question: str, rows: list[Json], tmp_path: Path) -> None:
    given = {**OF_A, **OF_D}[question]
    assert TOLD not in notes(question, rows, tmp_path, **{**given, **COLUMN})


# --- stages of tables that rows also give as stages of their own ------------------------------------------------------

STAGE: Final = {"objectDomain": "Stage", "objectId": 2, "objectName": "D.S.B"}
OF_TABLE: Final = {**STAGE, "stageKind": "Table"}
FILE: Final = {"location": "file:///a.csv"}
PUT: Final = row(2, direct_objects_accessed=[FILE], base_objects_accessed=[FILE], objects_modified=[OF_TABLE])
LOADED: Final = row(3, objects_modified=[{**D, "columns": [{"columnName": "C", "directSources": [STAGE]}]}])
"""Its row has the stage as the source of a column alone, and gives no ``stageKind``."""
BY_TURNS: Final = "Rows give the stage of a table (@%) also as a stage of its own"


@pytest.mark.parametrize(
    ("question", "given", "ask_for"),
    [
        ("end-up", {"object_id": "2", "domain": "Table Stage"}, "Stage"),
        ("downstream-users", {"object_id": "2", "domain": "Table Stage"}, "Stage"),
        ("sensitive-data-movement", {"object_id": "2", "domain": "Table Stage"}, "Stage"),
        ("who-accessed", {"object_id": "2", "domain": "Table Stage"}, "Stage"),
        ("end-up", {"object_name": "file:///a.csv"}, "Stage"),
        ("lineage-as-of", {"object_name": "D.S.D", "at": AT}, "Table Stage"),
    ],
)
def test_a_stage_in_two_forms_is_told(question: str, given: Json, ask_for: str, tmp_path: Path) -> None:
    """docs/input.md: a source is the stage of a table if the same row gives the table; this row does not."""
    path = exports.ndjson([PUT, LOADED], tmp_path / "rows.ndjson")
    assert exports.export([path], tmp_path / "out", "--outputs", "graph") == 0
    (note,) = [one for one in ask(load(tmp_path / "out"), find(question), given).notes if one.startswith(BY_TURNS)]
    assert f"D.S.B (object_id=2 domain={ask_for})" in note


def test_a_stage_in_two_forms_is_not_simply_unused(tmp_path: Path) -> None:
    path = exports.ndjson([PUT, LOADED], tmp_path / "rows.ndjson")
    assert exports.export([path], tmp_path / "out", "--outputs", "graph") == 0
    answer = ask(load(tmp_path / "out"), find("unused-objects"), {"since": "2026-01-01"})
    assert {("D.S.B", "Stage"), ("D.S.B", "Table Stage")} <= {cells[:2] for cells in answer.rows}
    assert "D.S.B (files were read in Stage 2 of its name)" in "\n".join(answer.notes)


@pytest.mark.parametrize(
    "loaded",
    [
        row(3, direct_objects_accessed=[OF_TABLE], objects_modified=LOADED["objects_modified"]),
        {**LOADED, "direct_objects_accessed": [{**STAGE, "objectId": 7}],
         "objects_modified": [{**D, "columns": [{"columnName": "C", "directSources": [{**STAGE, "objectId": 7}]}]}]},
        {**LOADED, "query_start_time": "2026-01-01T06:00:00Z"},
    ],
    ids=["listed", "another id", "before the files came"],
)  # fmt: skip
def test_a_stage_in_one_form_is_not_told(loaded: Json, tmp_path: Path) -> None:
    path = exports.ndjson([PUT, loaded], tmp_path / "rows.ndjson")
    assert exports.export([path], tmp_path / "out", "--outputs", "graph") == 0
    for name in ("file:///a.csv", "D.S.D"):
        answer = ask(load(tmp_path / "out"), find("end-up"), {"object_name": name})
        assert BY_TURNS not in "\n".join(answer.notes)


OF_READS: Final[dict[str, Json]] = {
    "who-accessed": {}, "when-accessed": {}, "columns-accessed": {}, "column-readers": {"column_name": "C"},
    "writers": {},
}  # fmt: skip


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_what_was_read_without_an_id_under_a_former_name_is_told_by_the_present_one(reads: str, tmp_path: Path) -> None:
    """docs/graph.md, "Names in questions": a name means the object that has it last, also under its former names."""
    renamed, now = changed(4, B, {"objectName": {"value": "D.S.NEW"}}), {**B, "objectName": "D.S.NEW"}
    used = [read(3, NAMELESS), copied(3, A, NAMELESS)]
    told = {"of it": [*used, renamed, read(5, now), copied(6, A, now)], "of another": [renamed, *used, read(5, now)]}
    for number, (name, rows) in enumerate(told.items()):
        story = [
            {**one, "query_id": f"q{at}", "query_start_time": f"2026-01-{at:02}T06:00:00Z"}
            for at, one in enumerate([changed(1, B, {"comment": {"value": "c"}}), *rows], 1)
        ]
        path = exports.ndjson(story, tmp_path / f"{number}.ndjson")
        assert exports.export([path], tmp_path / name, "--outputs", "graph", "--reads", reads) == 0
        graph = load(tmp_path / name)
        for question, given in OF_READS.items():
            notes_ = "\n".join(ask(graph, find(question), {"object_name": "D.S.NEW", **given}).notes)
            assert (TOLD in notes_) == (name == "of it"), (name, question)
