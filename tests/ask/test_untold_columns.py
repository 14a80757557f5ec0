"""What answers that follow columns say of data that rows do not give by column: it went through a stage or files, or
rows give no columns of what was read or written. The notes are there with rows, too, and only where they apply.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import SET_MASK, asked, at, changed, copied, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, B, C, D, E = (thing(name, number) for number, name in enumerate("ABCDE", 1))
BARE: Final = {key: value for key, value in B.items() if key != "columns"}
TWO: Final = thing("TWO", 9, columns=("C", "OTHER"))
STAGE: Final = thing("ST", 50, "Stage")
FILES: Final[Json] = {"location": "s3://bucket/in/"}
TAG: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "high"}}}
OTHER_TAG: Final[Json] = {
    "D.S.OTHER": {"objectId": {"value": 81}, "subOperationType": "ADD", "tagValue": {"value": "x"}}
}
PROTECTED: Final = changed(A, columns={"C": {"tags": TAG, **SET_MASK["C"]}})
NOT_ASKED_FOR: Final = changed(TWO, columns={"OTHER": {"tags": OTHER_TAG}})


def wrote(source: Json, target: Json) -> Json:
    """Rows that give no sources of columns."""
    return {**read(source, "ETL"), "objects_modified": [target]}


def joined(*, column: Json) -> Json:
    """A.C and the files of a stage into B: column C from A.C, and another one."""
    row = copied(A, B)
    for name in ("direct_objects_accessed", "base_objects_accessed"):
        row[name] = [*row[name], STAGE]
    row["objects_modified"][0]["columns"].append(column)
    return row


STORIES: Final[dict[str, list[Json]]] = {
    "loaded": [wrote(STAGE, B), copied(B, C), copied(A, B), copied(C, D)],
    "from-files": [wrote(FILES, B), copied(B, C), copied(A, B), copied(C, D)],
    "without-columns": [wrote(STAGE, BARE), copied(B, C), copied(A, B), copied(C, D)],
    # of one column of B the row gives the source, of the other none
    "joined": [joined(column={"columnName": "ID", "directSources": []}), copied(B, C)],
    "constant": [copied(A, B), {**read(B), "objects_modified": [{**B, "columns": [{"columnName": "C"}]}]}],
    "other-column": [copied(A, B), wrote(STAGE, thing("B", 2, columns=("K",)))],
    "later": [copied(A, B), copied(B, C), wrote(STAGE, B)],
    "unloaded": [PROTECTED, copied(A, B), wrote(A, STAGE), wrote(STAGE, E), read(E), read(B)],
    "copy-unloaded": [PROTECTED, copied(A, B), copied(B, C), wrote(C, STAGE), read(C)],
    "other-unloaded": [PROTECTED, NOT_ASKED_FOR, copied(A, B), wrote(thing("TWO", 9, columns=("OTHER",)), STAGE),
                       copied(TWO, D), read(B)],
    "without-read-columns": [PROTECTED, copied(A, C), wrote({**A, "columns": []}, B), read(C)],
    "deleted": [PROTECTED, copied(A, C), {**read(A), "objects_modified": [{**A, "columns": []}]}, read(C)],
    # DELETE FROM B WHERE …
    "emptied": [copied(A, B), {**read(B, "ETL"), "objects_modified": [BARE]}, copied(B, C)],
    "every-column": [PROTECTED, copied(A, B), copied(A, C), read(B)],
}  # fmt: skip
OF_A: Final = {"object_name": "D.S.A", "column_name": "C"}
FURTHER_UP: Final = ", or what its data came from,"
UNTOLD: Final = "do not say which column came from which"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("untold-columns"))


def note(question: str, story: str, whole: Store, **given: str) -> str:
    """The note of an answer with rows; empty if there is none."""
    answer = asked(question, stories.of(story, whole), **given)
    assert answer.rows
    return next((one for one in answer.notes if UNTOLD in one), "")


@pytest.mark.parametrize("story", ["loaded", "from-files", "without-columns"])
@pytest.mark.parametrize(("name", "further"), [("D.S.B", ""), ("D.S.C", FURTHER_UP), ("D.S.D", FURTHER_UP)])
@pytest.mark.parametrize("time", [{}, {"at": at(9)}])
def test_what_a_column_may_have_from_files_is_told_beside_its_sources(
    time: dict[str, str], name: str, further: str, story: str, whole: Store
) -> None:
    told = note("root-cause", story, whole, object_name=name, column_name="C", **time)
    assert f"{UNTOLD}: query q1. " in told
    assert f"wrote what is asked for{further} do not" in told


def test_a_single_step_is_told(whole: Store) -> None:
    assert f"wrote what is asked for {UNTOLD}: query q1. " in note(
        "column-lineage", "loaded", whole, target_object_name="D.S.B"
    )
    assert not note("column-lineage", "loaded", whole, target_object_name="D.S.C")
    assert not note("column-lineage", "loaded", whole, target_object_name="D.S.B", since=at(2))


@pytest.mark.parametrize(
    ("story", "given"),
    [
        ("joined", {"object_name": "D.S.B", "column_name": "C"}),
        ("joined", {"object_name": "D.S.C", "column_name": "C"}),
        ("constant", {"object_name": "D.S.B", "column_name": "C"}),
        ("other-column", {"object_name": "D.S.B", "column_name": "C"}),
        ("later", {"object_name": "D.S.C", "column_name": "C"}),
        ("emptied", {"object_name": "D.S.B", "column_name": "C"}),
        ("emptied", {"object_name": "D.S.C", "column_name": "C"}),
        ("loaded", {"object_name": "D.S.B", "column_name": "C", "at": at(0.5)}),
    ],
)
def test_nothing_is_told_of_what_rows_give_by_column(story: str, given: dict[str, str], whole: Store) -> None:
    answer = asked("root-cause", stories.of(story, whole), **given)
    assert not any(UNTOLD in one for one in answer.notes)


def test_what_was_loaded_later_is_told_of_what_holds_it(whole: Store) -> None:
    assert f"{UNTOLD}: query q3. " in note("root-cause", "later", whole, object_name="D.S.B", column_name="C")


FOLLOWED: Final = [("column-copies", OF_A), ("tag-reach", {}), ("tag-reach", {"tag_name": "D.S.PII"}),
                   ("unmasked-copies", {})]  # fmt: skip


@pytest.mark.parametrize(("question", "given"), FOLLOWED)
@pytest.mark.parametrize(
    ("story", "query", "further"),
    [("unloaded", "q3", ""), ("copy-unloaded", "q4", ", or copies of it,"), ("without-read-columns", "q3", "")],
)
def test_what_rows_do_not_give_by_column_is_told_beside_other_copies(
    story: str, query: str, further: str, question: str, given: dict[str, str], whole: Store
) -> None:
    told = note(question, story, whole, **given)
    assert f"{UNTOLD}: query {query}. " in told
    assert f"read what is asked for{further} and wrote" in told


@pytest.mark.parametrize(("question", "given"), [*FOLLOWED[:1], *FOLLOWED[2:]])
@pytest.mark.parametrize("story", ["other-unloaded", "deleted", "every-column"])
def test_nothing_is_told_where_all_that_is_asked_for_is_given_by_column(
    story: str, question: str, given: dict[str, str], whole: Store
) -> None:
    assert not note(question, story, whole, **given)


def test_only_tags_of_the_time_that_is_asked_for_count(whole: Store) -> None:
    assert not note("tag-reach", "unloaded", whole, at=at(2.5)), "before it was unloaded"
    assert f"{UNTOLD}: query q4. " in note("tag-reach", "other-unloaded", whole), "of the other tag"


def test_copies_before_the_reads_that_are_asked_for_are_told(whole: Store) -> None:
    assert f"{UNTOLD}: query q3. " in note("unmasked-copies", "unloaded", whole, since=at(6))
