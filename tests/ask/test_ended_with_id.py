"""What rows without an id wrote, and what ended later by rows with the id: docs/graph.md, "With an id and without"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, B, C, changed, table
from tests.ask.test_two_forms import NAMELESS, copied, read

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
D: Final = table(4, "D.S.D")
TOLD: Final = "Rows that give no id of the object wrote D.S.B before Table 2 "
WRITTEN: Final = [read(1, B), copied(2, A, NAMELESS)]
LOST: Final[dict[str, Json]] = {
    "dropped": changed(4, B, {}, "DROP"),
    "renamed": changed(4, B, {"objectName": {"value": "D.S.OLD"}}),
    "made anew": changed(4, {**B, "objectId": 12}, {}, "REPLACE"),
    "made anew with its id": changed(4, B, {}, "REPLACE"),
}
NO_COLUMN: Final[dict[str, Json]] = {
    "dropped": changed(4, B, {"columns": {"C": {"subOperationType": "DROP"}}}),
    "renamed": changed(4, B, {"columns": {"C": {"objectName": {"value": "E"}}}}),
}
BY_NAME: Final = {"objectDomain": "Table", "objectName": "D.S.B", "operationType": "DROP", "properties": {}}
QUESTIONS: Final[dict[str, Json]] = {"lineage-as-of": {}, "root-cause": {"column_name": "C"}}


def notes(question: str, rows: list[Json], folder: Path, at: str = "2026-01-05", name: str = "D.S.B") -> str:
    path = exports.ndjson([*rows, read(9, D)], folder / "rows.ndjson")
    assert exports.export([path], folder / "out", "--outputs", "graph") == 0
    given = {"object_name": name, **QUESTIONS[question], **({"at": at} if at else {})}
    return "\n".join(ask(load(folder / "out"), find(question), given).notes)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("how", LOST)
def test_what_was_written_without_the_id_may_have_ended_with_it(how: str, question: str, tmp_path: Path) -> None:
    assert TOLD in notes(question, [*WRITTEN, LOST[how]], tmp_path)


@pytest.mark.parametrize("how", NO_COLUMN)
def test_the_column_may_have_ended_with_the_id(how: str, tmp_path: Path) -> None:
    told = notes("root-cause", [*WRITTEN, NO_COLUMN[how]], tmp_path)
    assert f"{TOLD}lost the column C at 2026-01-04T06:00:00Z" in told


@pytest.mark.parametrize("question", QUESTIONS)
def test_data_on_its_way_may_have_ended_before_it_was_read(question: str, tmp_path: Path) -> None:
    way = [copied(5, NAMELESS, D), copied(6, D, C)]
    assert TOLD in notes(question, [*WRITTEN, LOST["dropped"], *way], tmp_path, at="2026-01-07", name="D.S.C")


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("rows", "at"),
    [
        ([*WRITTEN, LOST["dropped"]], "2026-01-03"),
        ([read(1, B), changed(2, B, {}, "DROP"), copied(3, A, NAMELESS)], "2026-01-05"),
        ([read(1, B), copied(2, A, B), LOST["dropped"], copied(5, A, NAMELESS)], "2026-01-06"),
        ([*WRITTEN, {**LOST["dropped"], "object_modified_by_ddl": BY_NAME}], "2026-01-05"),
        ([*WRITTEN, changed(4, B, {"comment": {"value": "c"}})], "2026-01-05"),
    ],
)
def test_it_is_not_told_of_what_did_not_end(rows: list[Json], at: str, question: str, tmp_path: Path) -> None:
    assert "Rows that give no id of the object wrote" not in notes(question, rows, tmp_path, at)


def test_all_that_ever_was_has_no_end(tmp_path: Path) -> None:
    assert TOLD not in notes("root-cause", [*WRITTEN, LOST["dropped"]], tmp_path, at="")
