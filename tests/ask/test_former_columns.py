"""What answers say of columns that they have by the names of their time: a column was renamed or dropped since, or its
table made anew, and another column may have the name now.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes import former_columns
from exporter.ask.notes.index import NOT_ALL
from tests.ask import stories
from tests.ask.test_names import SET_MASK, asked, at, changed, copied, read, renamed, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
S, T, U, P = (thing(name, number) for number, name in enumerate("STUP", 1))
ANEW: Final = thing("T", 9)
TAGS: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "high"}}}
TAGGED: Final = changed(S, columns={"C": {"tags": TAGS}})
DROP, ADD = (changed(T, columns={"C": {"subOperationType": one}}) for one in ("DROP", "ADD"))
OWN_REPLACE: Final = changed(T, "REPLACE", columns={"C": {"subOperationType": "ADD"}})


def to(name: str, column: str = "C", table: Json = T) -> Json:
    return changed(table, columns={column: {"objectName": {"value": name}}})


STORIES: Final[dict[str, list[Json]]] = {
    "renamed": [TAGGED, copied(S, T), to("OLD"), read(thing("T", 2, columns=("OLD",)))],
    "renamed-twice": [TAGGED, copied(S, T), to("OLD"), to("OLDER", "OLD")],
    "renamed-and-added": [TAGGED, copied(S, T), to("OLD"), ADD, copied(P, T)],
    "renamed-and-filled-again": [TAGGED, copied(S, T), to("OLD"), ADD, copied(S, T)],
    "renamed-and-dropped": [TAGGED, copied(S, T), to("OLD"), changed(T, columns={"OLD": {"subOperationType": "DROP"}})],
    "dropped": [TAGGED, copied(S, T), DROP],
    "dropped-and-added": [TAGGED, copied(S, T), DROP, ADD],
    "replaced": [TAGGED, copied(S, T), copied(P, ANEW, "REPLACE")],
    "replaced-in-place": [TAGGED, copied(S, T), OWN_REPLACE, copied(P, T)],
    # nothing to tell: the name is that of what holds the data
    "again": [TAGGED, copied(S, T), DROP, ADD, copied(S, T)],
    "back": [TAGGED, copied(S, T), to("OLD"), to("C", "OLD")],
    "renamed-before": [TAGGED, to("C", "NEW"), copied(S, T), copied(T, U)],
    "nightly": [TAGGED, *(copied(S, thing("T", 20 + night), "REPLACE") for night in range(4))],
    "nightly-in-place": [TAGGED, *(copied(S, T, "REPLACE") for _ in range(4))],
    "nightly-built": [
        TAGGED, copied(S, T),
        *(
            row
            for night in (30, 31)
            for row in (
                copied(S, thing("T__DBT_TMP", night), "CREATE"),
                changed(T if night == 30 else thing("T", 30), "DROP"), renamed(thing("T__DBT_TMP", night), "T"),
            )
        ),
    ],
    "masked": [changed(S, columns=SET_MASK), copied(S, T), read(T), to("OLD"), ADD],
    # of the source
    "masked-source": [changed(S, columns=SET_MASK), copied(S, T), to("OLD", table=S), read(T)],
    "masked-source-and-added": [
        changed(S, columns=SET_MASK), copied(S, T), to("OLD", table=S),
        changed(S, columns={"C": {"subOperationType": "ADD"}}), read(T),
    ],
    "taken-over": [
        changed(S, columns=SET_MASK), copied(S, T), to("OLD", table=S),
        changed(S, columns={"D": {"subOperationType": "ALTER", "objectName": {"value": "C"}}}), read(T),
    ],
    "taken-over-by-many": [
        changed(S, columns=SET_MASK), copied(S, T), to("D", table=S), to("E", "D", table=S), to("OLD", "E", table=S),
        changed(S, columns={"F": {"subOperationType": "ALTER", "objectName": {"value": "C"}}}), read(T),
    ],
    "renamed-back": [
        changed(S, columns=SET_MASK), copied(S, T), to("OLD", table=S),
        changed(S, columns={"OLD": {"subOperationType": "ALTER", "objectName": {"value": "C"}}}), read(T),
    ],
    "source": [copied(S, T), to("OLD", table=S), changed(S, columns={"C": {"subOperationType": "ADD"}}), copied(P, S)],
}  # fmt: skip
DOWN: Final[Json] = {"object_name": "D.S.S", "column_name": "C"}
TOLD: Final = {
    "renamed": f"D.S.T.C is called D.S.T.OLD since {at(3)}.",
    "renamed-twice": f"D.S.T.C is called D.S.T.OLDER since {at(4)}.",
    "renamed-and-added": f"D.S.T.C is called D.S.T.OLD since {at(3)}, and another column has its name since {at(4)}.",
    "renamed-and-filled-again": (
        f"D.S.T.C is called D.S.T.OLD since {at(3)}, and another column of the answer has its name since {at(4)}."
    ),
    "renamed-and-dropped": f"D.S.T.C was dropped at {at(4)}.",
    "dropped": f"D.S.T.C was dropped at {at(3)}.",
    "dropped-and-added": f"D.S.T.C was dropped at {at(3)}, and another column has its name since {at(4)}.",
    "replaced": f"D.S.T.C is of a former table, and another one has the name D.S.T since {at(3)}.",
    "replaced-in-place": f"D.S.T.C was made anew at {at(3)}, and another column has its name since {at(3)}.",
}
FILLED_AGAIN: Final = ("renamed-and-added", "replaced-in-place")
"""Stories in which the other column is a target, too."""
CALLED: Final = "The answer has columns by the names of their time: "


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("former-columns"))


def note(question: str, story: str, whole: Store, **given: str) -> str:
    """The note of an answer with rows, without its beginning; empty if there is none."""
    answer = asked(question, stories.of(story, whole), **given)
    assert answer.rows
    return next((one.removeprefix(CALLED) for one in answer.notes if one.startswith(CALLED)), "")


@pytest.mark.parametrize("story", TOLD)
def test_columns_of_an_answer_are_told_that_have_lost_their_names(story: str, whole: Store) -> None:
    for question in ("column-copies", "end-up"):
        assert note(question, story, whole, **DOWN) == TOLD[story]
    assert note("end-up", story, whole, object_name="D.S.S") == TOLD[story], "of any column"
    if story not in FILLED_AGAIN:
        assert note("column-lineage", story, whole, object_id="2", domain="Table") == TOLD[story]


@pytest.mark.parametrize("story", ["again", "back", "renamed-before", "nightly", "nightly-in-place", "nightly-built"])
def test_nothing_is_told_where_the_name_is_that_of_the_data(story: str, whole: Store) -> None:
    assert not note("column-copies", story, whole, **DOWN)
    assert not note("end-up", story, whole, **DOWN)
    assert not note("column-lineage", story, whole)


def test_copies_without_a_tag_are_told_if_the_answer_has_the_names_of_another_time(whole: Store) -> None:
    assert note("tag-reach", "renamed-and-added", whole, at=at(2.5)) == TOLD["renamed-and-added"]
    assert not note("tag-reach", "renamed-and-added", whole), "it has the present name"
    assert not note("tag-reach", "renamed-and-filled-again", whole), "it has both"


def test_copies_that_were_read_in_clear_are_told(whole: Store) -> None:
    told = f"D.S.T.C is called D.S.T.OLD since {at(4)}, and another column has its name since {at(5)}."
    assert note("unmasked-copies", "masked", whole) == told


def test_masked_columns_that_were_copied_are_told(whole: Store) -> None:
    told = f"D.S.S.C is called D.S.S.OLD since {at(3)}"
    assert note("unmasked-copies", "masked-source", whole) == f"{told}."
    told += f", and another column has its name since {at(4)}."
    assert note("unmasked-copies", "masked-source-and-added", whole) == told


@pytest.mark.parametrize(
    ("story", "is_told"),
    [("taken-over-by-many", True), ("taken-over", False), ("renamed-back", False), ("masked-source", False)],
)
def test_masked_columns_whose_name_another_one_took_over_are_told(story: str, *, is_told: bool, whole: Store) -> None:
    answer = asked("unmasked-copies", stories.of(story, whole))
    notes = [one for one in answer.notes if one.startswith("By RENAME, columns of one table had the same name")]
    assert answer.rows
    assert [one.partition("after the other: ")[2].partition(". ")[0] for one in notes] == ["D.S.S.C"][:is_told]


def test_columns_that_data_came_from_are_told(whole: Store) -> None:
    told = f"D.S.S.C is called D.S.S.OLD since {at(2)}, and another column has its name since {at(3)}."
    assert note("root-cause", "source", whole, object_name="D.S.T", column_name="C") == told
    assert note("column-lineage", "source", whole, target_object_name="D.S.T") == told
    assert not note("column-lineage", "source", whole, target_object_name="D.S.S")


@pytest.mark.parametrize("story", ["renamed-and-filled-again", "again"])
def test_a_note_says_what_it_did_not_look_at(story: str, whole: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_columns, "_LOOKED_AT", 1)
    notes = asked("end-up", stories.of(story, whole), object_name="D.S.S").notes
    assert notes[-1] == NOT_ALL
    monkeypatch.undo()
    assert NOT_ALL not in asked("end-up", stories.of(story, whole), object_name="D.S.S").notes
