"""What a TRUNCATE ends, if QUERY_HISTORY tells of it: the data in the table, and nothing else.

Neither its columns and what is set on them, nor copies that were made before (docs/not-recorded.md, "A TRUNCATE and a
write"). Query ``qN`` runs on day N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import tag_sql
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.ask.stories import days, exported, flat
from tests.ask.test_names import SET_MASK, changed, copied, read, thing

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
RAW, SOURCE, DIM, OTHER = thing("RAW", 1), thing("SOURCE", 9), thing("DIM", 2), thing("OTHER", 8)
COPIES: Final = [thing(f"SNAP_{number}", 10 + number) for number in range(1, 4)]
VIEW: Final = thing("V", 3, "View")
SET_TAG: Final = {"C": {"tags": {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD",
                                                  "tagValue": {"value": "high"}}}}}  # fmt: skip


def emptied(table: Json, *, columns: bool = True) -> Json:
    shown = table if columns else {key: value for key, value in table.items() if key != "columns"}
    return {"objects_modified": [shown], "line": {"query_type": "TRUNCATE_TABLE"}}


def column_renamed(table: Json, former: str, new: str) -> Json:
    return changed(table, columns={former: {"objectName": {"value": new}}})


def behind_view() -> Json:
    return {**read(VIEW, "DAN"), "base_objects_accessed": [DIM]}


def setting(what: Json, column: str) -> Json:
    return changed(RAW, columns={column: what["C"]})


def nightly(*, columns: bool) -> list[Json]:
    """Each night the table is emptied and filled, and copied to another one."""
    nights = [[emptied(RAW, columns=columns), copied(SOURCE, RAW), copied(RAW, copy)] for copy in COPIES]
    return [setting(SET_TAG, "C"), *flat(nights)]


def of_former_name(what: Json) -> list[Json]:
    """Emptied after the copy, under the name of that time and under the next one."""
    return [
        copied(RAW, COPIES[0]), emptied(RAW), column_renamed(RAW, "C", "E"), emptied(RAW, columns=False),
        setting(what, "E"), read(COPIES[0]),
    ]  # fmt: skip


STORIES: Final[dict[str, tuple[list[Json], set[str]]]] = {
    "once": ([setting(SET_TAG, "C"), copied(RAW, COPIES[0]), emptied(RAW)], {"SNAP_1"}),
    "nightly": (nightly(columns=True), {"SNAP_1", "SNAP_2", "SNAP_3"}),
    "nightly, without columns": (nightly(columns=False), {"SNAP_1", "SNAP_2", "SNAP_3"}),
    "under a former name": (of_former_name(SET_TAG), {"SNAP_1"}),
    "tagged later": ([copied(RAW, COPIES[0]), emptied(RAW), setting(SET_TAG, "C")], {"SNAP_1"}),
    "the copy is emptied": (
        [setting(SET_TAG, "C"), copied(RAW, COPIES[0]), emptied(COPIES[0]), emptied(RAW)], set(),
    ),
    "made anew and emptied": (
        [copied(RAW, COPIES[0]), changed(RAW, "REPLACE"), setting(SET_TAG, "C"), copied(RAW, COPIES[1]), emptied(RAW)],
        {"SNAP_2"},
    ),
    "another column of the name": (
        [
            copied(RAW, COPIES[0]), changed(RAW, columns={"C": {"subOperationType": "DROP"}}),
            changed(RAW, columns={"C": {"subOperationType": "ADD"}}), setting(SET_TAG, "C"), copied(RAW, COPIES[1]),
            emptied(RAW),
        ],
        {"SNAP_2"},
    ),
    "restored and emptied": (
        [
            setting(SET_TAG, "C"), copied(RAW, COPIES[0]), changed(RAW, "DROP"), changed(RAW, "UNDROP"),
            copied(RAW, COPIES[1]), emptied(RAW),
        ],
        {"SNAP_1", "SNAP_2"},
    ),
}  # fmt: skip
"""What happened, and which copies lack the tag."""


def asked(story: list[Json], folder: Path, question: str, **given: str) -> Answer:
    rows, lines = days("x", story)
    return ask(load(exported(flat(rows), flat(lines), folder / "out")), find(question), given)


@pytest.mark.parametrize("name", STORIES)
def test_copies_of_a_tagged_column_that_was_emptied_lack_the_tag(name: str, tmp_path: Path) -> None:
    story, copies = STORIES[name]
    answer = asked(story, tmp_path, "tag-reach")
    assert {row[4] for row in answer.rows} == {f"D.S.{copy}" for copy in copies}
    assert any("Rows show no copy" in note for note in answer.notes) == (not copies)


def test_copies_of_a_tagged_column_that_was_emptied_get_statements(tmp_path: Path) -> None:
    rows, lines = days("x", STORIES["once"][0])
    graph = load(exported(flat(rows), flat(lines), tmp_path / "out"))
    answer = ask(graph, find("tag-reach"), {}, of_page=True)
    assert "ALTER TABLE D.S.SNAP_1 MODIFY COLUMN C SET TAG D.S.PII = 'high';" in tag_sql.statements(answer)


@pytest.mark.parametrize("story", [[setting(SET_MASK, "C"), copied(RAW, COPIES[0]), emptied(RAW), read(COPIES[0])],
                                   of_former_name(SET_MASK)])  # fmt: skip
def test_copies_of_a_masked_column_that_was_emptied_count(story: list[Json], tmp_path: Path) -> None:
    assert {row[3] for row in asked(story, tmp_path, "unmasked-copies").rows} == {"D.S.SNAP_1"}


VIEWS: Final[dict[str, tuple[list[Json], set[str]]]] = {
    "before": ([copied(RAW, DIM), behind_view(), emptied(DIM)], {"D.S.DIM", "D.S.V"}),
    "after": ([copied(RAW, DIM), emptied(DIM), behind_view()], set()),
    "after other data": ([copied(RAW, DIM), emptied(DIM), copied(OTHER, DIM), behind_view()], set()),
    "filled again": ([copied(RAW, DIM), emptied(DIM), copied(RAW, DIM), behind_view()], {"D.S.DIM", "D.S.V"}),
    "made anew with the same id": ([copied(RAW, DIM), changed(DIM, "REPLACE"), behind_view()], set()),
}
"""What happened, and what DAN reads of the data."""


@pytest.mark.parametrize("name", VIEWS)
def test_who_reads_a_view_over_what_was_emptied_reads_no_data_of_before(name: str, tmp_path: Path) -> None:
    story, expected = VIEWS[name]
    answer = asked(story, tmp_path, "downstream-users", object_name="D.S.RAW")
    assert {row[1] for row in answer.rows if row[0] == "DAN"} == expected


def test_a_tag_that_is_set_again_each_night_is_told(tmp_path: Path) -> None:
    """Each night CREATE OR REPLACE makes another table of the name, which gets the tag again."""
    nights = [
        [changed(raw, "REPLACE"), changed(raw, columns=SET_TAG), copied(raw, copy)]
        for raw, copy in zip((thing("RAW", 101), thing("RAW", 102), thing("RAW", 103)), COPIES, strict=True)
    ]
    answer = asked(flat(nights), tmp_path, "tag-reach")
    assert {row[4] for row in answer.rows} == {"D.S.SNAP_3"}
    (note,) = [note for note in answer.notes if "A tag ends with its table" in note]
    assert "D.S.PII on D.S.RAW.C until 2026-01-07T06:00:00Z, D.S.PII on D.S.RAW.C until 2026-01-04T06:00:00Z" in note


def test_a_tag_that_is_set_again_on_the_same_table_is_not_told(tmp_path: Path) -> None:
    unset = {"C": {"tags": {"D.S.PII": {**SET_TAG["C"]["tags"]["D.S.PII"], "subOperationType": "DROP"}}}}
    story = [
        setting(SET_TAG, "C"), copied(RAW, COPIES[0]), setting(unset, "C"), setting(SET_TAG, "C"),
    ]  # fmt: skip
    answer = asked(story, tmp_path, "tag-reach")
    assert {row[4] for row in answer.rows} == {"D.S.SNAP_1"}
    assert not [note for note in answer.notes if "A tag ends with its table" in note]
