"""What the columns of a target came from, through a helper whose columns were renamed, dropped or added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.reconcile.small import (
    classes,
    column_lineage,
    compared,
    dataset,
    ddl,
    event,
    filled,
    made,
    said,
    thing,
)

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
A, B, T = (thing(10 + n, name) for n, name in enumerate("ABT"))
HELPER: Final = thing(70, "T__DBT_TMP")


def _columns(query_id: str, day: int, **done: str) -> Json:
    """ALTER TABLE … RENAME, DROP and ADD COLUMN of the helper: a new name, or what is done."""
    renamed = {"subOperationType": "ALTER"}
    told = {
        name: {"subOperationType": one} if one in {"ADD", "DROP"} else {**renamed, "objectName": {"value": one}}
        for name, one in done.items()
    }
    return ddl(query_id, day, HELPER, "ALTER", columns=told)


FROM_A_AND_B: Final = filled("q1", 1, HELPER, A, B, C=[(A, "C")], K=[(B, "K")])
FROM_B: Final = filled("q4", 4, HELPER, B, C=[(B, "C")])


@pytest.mark.parametrize(
    ("changes", "column", "sources"),
    [
        ([], "C", {"A:C"}),
        ([_columns("q2", 2, C="F")], "F", {"A:C"}),
        ([_columns("q2", 2, C="F"), _columns("q3", 3, F="G")], "G", {"A:C"}),
        ([_columns("q2", 2, C="F"), _columns("q3", 3, F="C")], "C", {"A:C"}),
        ([_columns("q2", 2, C="OLD"), _columns("q3", 3, K="C")], "C", {"B:K"}),
        ([_columns("q2", 2, C="OLD"), _columns("q3", 3, C="ADD")], "C", set()),
        ([_columns("q2", 2, C="DROP"), _columns("q3", 3, C="ADD")], "C", set()),
        ([_columns("q2", 2, C="DROP"), _columns("q3", 3, C="ADD")], "K", {"B:K"}),
        ([_columns("q2", 2, C="DROP"), _columns("q3", 3, C="ADD"), FROM_B], "C", {"B:C"}),
        ([_columns("q2", 2, C="F"), filled("q4", 4, HELPER, B, F=[(B, "C")])], "F", {"A:C", "B:C"}),
    ],
)  # fmt: skip
def test_columns_of_helpers_are_followed_when_they_are_renamed_or_added_again(
    changes: list[Json], column: str, sources: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A RENAME keeps what a column holds; what is dropped and added again is another column (docs/openlineage.md)."""
    rows = [FROM_A_AND_B, *changes, filled("q8", 8, T, HELPER, C=[(HELPER, column)]), ddl("q9", 9, HELPER, "DROP")]
    every = ("A:C", "B:C", "B:K")
    lineage = column_lineage({"C": [(f"d.s.{one[0].lower()}", one[2], "DIRECT") for one in every]})
    events = said(
        event([dataset("d.s.a"), dataset("d.s.b")], [dataset("d.s.t", **lineage)], day=8), tmp_path / "e.json"
    )
    found = classes(compared(made(rows, tmp_path), capsys, events))
    assert {one for one in every if found[one, "T:C"] == "verified"} == sources
