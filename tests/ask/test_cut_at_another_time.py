"""Rows that were cut, or are not understood, outside of the time that is asked for.

docs/not-recorded.md, "What was cut": the answers that can lack it say so. Which these are follows from what
docs/questions.md and docs/graph.md say that counts at another time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_masked_later import MASK, read
from tests.ask.test_tag_reach import A, B, changed, copied, row

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
CUT: Final = [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
NOT_UNDERSTOOD: Final = {"columns": {"C": {"maskingPolicies": [{"objectId": {"value": 40}}]}}}
LACKING: Final[dict[str, Json]] = {
    "reads": {"direct_objects_accessed": CUT, "base_objects_accessed": CUT},
    "writes": {"objects_modified": CUT},
    "policies": {"policies_referenced": CUT},
    "DDL": {"object_modified_by_ddl": CUT[0]},
    "not understood": changed(1, A, NOT_UNDERSTOOD),
}
EARLY: Final = {"since": "2026-01-05"}
LATE: Final = {"until": "2026-01-05"}
IN_THE_MIDDLE: Final = [changed(4, A, {"columns": {"C": MASK}}), copied(5, A, B), read(6, B, "C"), read(7, A, "C")]


def notes(lacking: str, day: int, question: str, folder: Path, **given: str) -> str:
    """On the answer, where a row of a day lacks something."""
    told = {key: value for key, value in LACKING[lacking].items() if not key.startswith("query_")}
    rows = [*IN_THE_MIDDLE, row(day, **told)]
    options = ("--outputs", "graph")
    assert exports.export([exports.ndjson(rows, folder / "rows.ndjson")], folder / "out", *options) == 0
    return " ".join(ask(load(folder / "out"), find(question), given).notes)


def is_told(text: str) -> bool:
    return "so the answer may lack what it did" in text


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        # A mask that was taken away, or put on a tag, before.
        *((question, lacking) for question in ("unmasked-reads", "unmasked-copies") for lacking in ("policies", "DDL")),
        *((question, "not understood") for question in ("unmasked-reads", "unmasked-copies")),
        # The copy that is read later.
        *((question, "writes") for question in ("unmasked-copies", "downstream-users", "end-up")),
        # Who read it before is no new reader, what was copied before no new copy; what nobody reads any more was
        # perhaps read later than it seems.
        *((question, "reads") for question in ("changes", "unused-objects")),
        ("changes", "writes"),
        # What was written then, and never read, is unused.
        ("unused-objects", "writes"),
        # A view that was replaced shows something else.
        ("agent-reads", "DDL"),
    ],
)
def test_what_counts_before_the_time(question: str, lacking: str, tmp_path: Path) -> None:
    of_object = {"object_name": "D.S.A"} if question in {"downstream-users", "end-up"} else {}
    assert is_told(notes(lacking, 3, question, tmp_path, **of_object, **EARLY))


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        # A read is one BEFORE by the mask that was set, or enforced first, later.
        *(("unmasked-reads", lacking) for lacking in ("policies", "DDL", "not understood")),
        # A tag of a schema masks the columns on which its policy was ever enforced.
        ("unmasked-copies", "policies"),
        # A name that the column gets later means it under its former name, too.
        ("tag-history", "DDL"),
    ],
)
def test_what_counts_after_the_time(question: str, lacking: str, tmp_path: Path) -> None:
    of_column = {"object_name": "D.S.A", "column_name": "C"} if question == "tag-history" else {}
    assert is_told(notes(lacking, 8, question, tmp_path, **of_column, **LATE))


@pytest.mark.parametrize(
    ("question", "lacking", "day", "given"),
    [
        ("unmasked-reads", "reads", 3, EARLY),
        ("unmasked-reads", "reads", 8, LATE),
        ("unmasked-copies", "writes", 8, LATE),
        ("changes", "reads", 8, {"since": "2026-01-01", **LATE}),
        ("changes", "DDL", 3, EARLY),
        ("policy-access", "policies", 3, EARLY),
        ("masking-policies", "policies", 8, LATE),
        ("user-history", "reads", 3, EARLY),
        ("policy-coverage", "DDL", 8, {"at": "2026-01-05"}),
    ],
)
def test_what_does_not_count(question: str, lacking: str, day: int, given: dict[str, str], tmp_path: Path) -> None:
    assert not is_told(notes(lacking, day, question, tmp_path, **given))


@pytest.mark.parametrize("lacking", ["policies", "DDL", "not understood", "reads"])
def test_an_empty_answer_does_not_say_more_than_the_rows(lacking: str, tmp_path: Path) -> None:
    """B is masked by no row that is there."""
    told = notes(lacking, 8, "unmasked-reads", tmp_path, object_name="D.S.B", **LATE)
    assert "No row shows a masking policy on a column of D.S.B" in told
    assert ("does not apply" in told) == (lacking == "reads")


@pytest.mark.parametrize(("question", "lacking"), [("user-history", "reads"), ("policy-access", "policies")])
@pytest.mark.parametrize(("user", "is_of_user"), [("eva", True), ('"EVA"', True), ('"eva"', False), ("BOB", False)])
def test_a_user_is_never_cut_so_others_have_no_part_in_the_answer(
    question: str, lacking: str, user: str, *, is_of_user: bool, tmp_path: Path
) -> None:
    """docs/input.md: Snowflake always keeps the id, the time and the user."""
    rows = [row(1, **LACKING[lacking], user_name="EVA"), read(2, A, "C") | {"user_name": "BOB"}]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out", "--outputs", "graph") == 0
    graph = load(tmp_path / "out")
    assert is_told(" ".join(ask(graph, find(question), {}).notes))
    assert is_told(" ".join(ask(graph, find(question), {"user_name": user}).notes)) == is_of_user
