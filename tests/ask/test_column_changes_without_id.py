"""Columns that rows rename, drop or add without the id of their table, which others give: docs/graph.md, "With an id
and without", and docs/questions.md, "An empty or short answer comes with notes".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, B, C, changed, table, tagged
from tests.ask.test_two_forms import MASK, copied, read
from tests.serve.conftest import pages_of

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
D: Final = table(4, "D.S.D")
AT: Final = "2026-01-31"
RENAMED: Final = "the column C of D.S.B was renamed to E (query q5, 2026-01-05T06:00:00Z)"
DROPPED: Final = "the column C of D.S.B was dropped (query q5, 2026-01-05T06:00:00Z)"
MASKED: Final = {**changed(4, B, {"columns": {"C": MASK}}), "query_id": "m4"}
RENAME: Final[Json] = {"columns": {"C": {"subOperationType": "ALTER", "objectName": {"value": "E"}}}}
DROP: Final[Json] = {"columns": {"C": {"subOperationType": "DROP"}}}
ADD: Final[Json] = {"columns": {"C": {"subOperationType": "ADD"}}}


def by_name(row: Json) -> Json:
    """The row without the id of what it changes."""
    change = {key: value for key, value in row["object_modified_by_ddl"].items() if key != "objectId"}
    return {**row, "object_modified_by_ddl": change}


def renamed(change: Json, *, column: str = "E") -> list[Json]:
    """Column C of B has data of A, a tag and a mask, is renamed, and copied to D."""
    return [
        copied(1, A, B), read(2, B), tagged(3, B), MASKED, change, read(6, B, column), copied(7, B, D, column),
        read(8, D), read(9, B, column),
    ]  # fmt: skip


STORIES: Final = {
    RENAMED: renamed(changed(5, B, RENAME)),
    DROPPED: renamed(changed(5, B, DROP), column="C"),
}
OF_A: Final[dict[str, Json]] = {
    "end-up": {"object_name": "D.S.A"}, "column-copies": {"object_name": "D.S.A", "column_name": "C"},
}  # fmt: skip
OF_COLUMN: Final = {"object_name": "D.S.B", "column_name": "C"}
QUESTIONS: Final[list[tuple[str, Json]]] = [
    *OF_A.items(),
    *((name, {}) for name in ("policy-coverage", "tag-reach", "unmasked-copies", "unmasked-reads", "column-lineage")),
    *((name, {"object_name": "D.S.B"}) for name in ("policy-coverage", "unmasked-reads")),
    *((name, OF_COLUMN) for name in ("column-readers", "tag-history", "unmasked-reads", "root-cause", "end-up")),
    ("root-cause", {"object_name": "D.S.D", "column_name": "C"}),
]


def exported(rows: list[Json], folder: Path, *options: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([path], folder / "out", "--outputs", "graph", *options) == 0
    return folder / "out"


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("told", STORIES)
def test_answers_about_the_column_tell_it(told: str, reads: str, tmp_path: Path) -> None:
    rows = [by_name(row) if row["query_id"] == "q5" else row for row in STORIES[told]]
    graph = load(exported(rows, tmp_path, "--reads", reads))
    of_each = [(name, given, "\n".join(ask(graph, find(name), given).notes)) for name, given in QUESTIONS]
    assert [(name, given) for name, given, notes in of_each if told not in notes] == []
    assert all("does not count this for Table 2, which had such a name then" in notes for *_, notes in of_each)


@pytest.mark.parametrize("told", STORIES)
def test_rows_with_the_id_are_counted(told: str, tmp_path: Path) -> None:
    graph = load(exported(STORIES[told], tmp_path))
    for name, given in QUESTIONS:
        assert "By rows that give no id" not in "\n".join(ask(graph, find(name), given).notes), name


def test_a_column_with_a_name_of_the_renamed_one_is_asked_for_too(tmp_path: Path) -> None:
    graph = load(exported([by_name(row) if row["query_id"] == "q5" else row for row in STORIES[RENAMED]], tmp_path))
    for column, other in (("C", "E"), ("E", "C")):
        notes = ask(graph, find("column-readers"), {"object_name": "D.S.B", "column_name": column}).notes
        assert any(RENAMED in note and note.endswith(f"Ask for column_name={other}, too.") for note in notes)


def test_nobody_is_said_to_read_unmasked_what_may_be_masked_by_its_former_name(tmp_path: Path) -> None:
    graph = load(exported([by_name(row) if row["query_id"] == "q5" else row for row in STORIES[RENAMED]], tmp_path))
    answer = ask(graph, find("unmasked-reads"), {"object_name": "D.S.B", "column_name": "E"})
    assert not answer.rows
    assert "No row shows a masking policy on D.S.B.E (object_id=2)" not in "\n".join(answer.notes)


def test_a_column_that_is_added_without_the_id_is_another_one_than_that_dropped_with_it(tmp_path: Path) -> None:
    rows = [copied(1, A, B), changed(2, B, DROP), by_name(changed(3, B, ADD)), copied(4, B, D), read(5, D)]
    graph = load(exported(rows, tmp_path))
    added = "the column C of D.S.B was added (query q3"
    assert added in "\n".join(ask(graph, find("end-up"), OF_A["end-up"]).notes)
    graph = load(exported([*rows[:1], *rows[2:]], tmp_path / "no drop"))
    assert added not in "\n".join(ask(graph, find("end-up"), OF_A["end-up"]).notes)


UNRELATED: Final[Json] = {"columns": {"F": {"subOperationType": "ALTER", "objectName": {"value": "G"}}}}
BESIDE: Final[dict[str, list[Json]]] = {
    "another column": renamed(by_name(changed(5, B, UNRELATED)), column="C"),
    "a column that was read before": [*renamed(by_name(changed(5, B, UNRELATED)), column="C"), read(4, B, "F")],
    "added without a drop": renamed(by_name(changed(5, B, ADD)), column="C"),
    "a column of another table": [
        *renamed(changed(5, B, {"comment": {"value": "x"}}), column="C"), copied(1, C, table(6, "D.S.F")),
        by_name(changed(5, table(6, "D.S.F"), RENAME)),
    ],
    "after it had another name": [
        *renamed(changed(5, B, {"objectName": {"value": "D.S.OLD"}}), column="C")[:5],
        by_name(changed(6, B, RENAME)), copied(7, {**B, "objectName": "D.S.OLD"}, D),
    ],
}  # fmt: skip


@pytest.mark.parametrize("story", BESIDE)
def test_it_is_not_told_of_what_it_is_not_about(story: str, tmp_path: Path) -> None:
    rows = [{**row, "query_id": f"{row['query_id']}-{number}"} for number, row in enumerate(BESIDE[story])]
    graph = load(exported(rows, tmp_path))
    for name, given in QUESTIONS:
        if (name, story) != ("column-lineage", "a column of another table"):  # the answer has it, too
            notes = "\n".join(ask(graph, find(name), given).notes)
            assert "the column " not in notes, (name, given, notes)


def test_a_change_after_the_time_that_is_asked_for_is_not_told(tmp_path: Path) -> None:
    graph = load(exported([by_name(row) if row["query_id"] == "q5" else row for row in STORIES[DROPPED]], tmp_path))

    def of(name: str, **given: str) -> Answer:
        return ask(graph, find(name), given)

    assert DROPPED not in "\n".join(of("policy-coverage", at="2026-01-04T12:00:00Z").notes)
    assert DROPPED in "\n".join(of("policy-coverage", at=AT).notes)
    assert DROPPED not in "\n".join(of("end-up", object_name="D.S.A", until="2026-01-05").notes)
    assert DROPPED not in "\n".join(of("unmasked-reads", until="2026-01-05").notes)


def test_masks_that_every_later_read_enforced_lack_nothing(tmp_path: Path) -> None:
    policies = [{"policyName": "D.S.M", "policyId": 8, "policyKind": "MASKING_POLICY"}]
    enforced = {**B, "columns": [{"columnName": "E", "policies": policies}]}
    rows = [
        {**row, "policies_referenced": [enforced]} if row["query_id"] in {"q6", "q7", "q9"} else row
        for row in (by_name(row) if row["query_id"] == "q5" else row for row in STORIES[RENAMED])
    ]
    graph = load(exported(rows, tmp_path))
    assert RENAMED not in "\n".join(ask(graph, find("unmasked-reads"), {}).notes)


def test_the_page_of_the_table_tells_it(tmp_path: Path) -> None:
    change = by_name(changed(3, B, RENAME))
    for rows, is_told in (([tagged(1, B), read(2, B), change], True), ([tagged(1, B, "F"), read(2, B), change], False)):
        folder = tmp_path / str(is_told)
        folder.mkdir()
        with pages_of(rows, folder) as client:
            text = client.get("/object?id=table/2").get_data(as_text=True)
            assert ("the column C of D.S.B was renamed to E (query q3" in text) == is_told
