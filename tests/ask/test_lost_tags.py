"""Tags of a table that was made anew: each CREATE or REPLACE makes another object, which has none of the former one.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_lost_masks import FIRST, PII, SECOND, SOURCE, TAG
from tests.ask.test_names import asked, at, changed, copied, read, swapped, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

UNSET: Final[dict[str, Any]] = {"tags": {"G.T.PII": {"objectId": {"value": 80}, "subOperationType": "DROP"}}}
TAGGED: Final = changed(FIRST, columns={"C": TAG})
MADE: Final = copied(SOURCE, SECOND, "REPLACE")
NEXT: Final = thing("A_NEXT", 2)
STORIES: Final[dict[str, tuple[list[dict[str, Any]], str]]] = {
    "replaced": ([TAGGED, MADE, read(SECOND)], f"D.S.A.C (object_id=2 since {at(2)}; G.T.PII: object_id=1)"),
    "swapped": (
        [TAGGED, copied(SOURCE, NEXT, "CREATE"), *swapped(FIRST, NEXT), changed(thing("A_NEXT", 1), "DROP")],
        f"D.S.A.C (object_id=2 since {at(3)}; G.T.PII: object_id=1)",
    ),
    "nightly": (
        [TAGGED, *(copied(SOURCE, thing("A", number), "REPLACE") for number in (2, 3, 5))],
        f"D.S.A.C (since {at(2)}; 3 objects, the latest object_id=5; G.T.PII: object_id=1)",
    ),
    "of-the-table": ([changed(FIRST, **TAG), MADE], f"D.S.A (object_id=2 since {at(2)}; G.T.PII: object_id=1)"),
    "tagged-again": ([TAGGED, MADE, changed(SECOND, columns={"C": TAG})], ""),
    "unset-before": ([TAGGED, changed(FIRST, columns={"C": UNSET}), MADE], ""),
    "tag-dropped-before": ([changed(PII, "CREATE"), TAGGED, changed(PII, "DROP"), MADE], ""),
    "without-the-column": ([TAGGED, changed(SECOND, "REPLACE"), read(thing("A", 2, columns=("D",)))], ""),
    "unset-on-this-one": (
        [TAGGED, MADE, changed(SECOND, columns={"C": TAG}), changed(SECOND, columns={"C": UNSET})], "",
    ),
    "unset-on-the-next": (
        [TAGGED, MADE, changed(SECOND, columns={"C": TAG}), changed(SECOND, columns={"C": UNSET}),
         copied(SOURCE, thing("A", 3), "REPLACE")], "",
    ),
}  # fmt: skip
OTHER: Final = changed(thing("B", 7), columns={"C": TAG})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {name: [*rows, OTHER] for name, (rows, _) in STORIES.items()}
    return stories.told(told, tmp_path_factory.mktemp("lost-tags"))


@pytest.mark.parametrize(
    ("question", "given", "then"),
    [
        ("tag-history", {"object_name": "D.S.A", "column_name": "C"}, ""),
        ("changes", {"since": at(0)}, " in that time"),
        ("policy-coverage", {}, " at the end of the record"),
    ],
)
@pytest.mark.parametrize("story", STORIES)
def test_a_tag_that_was_lost_with_the_former_object_is_told(
    story: str, question: str, given: dict[str, str], then: str, whole: Store
) -> None:
    said = STORIES[story][1]
    if story == "nightly" and question == "policy-coverage":  # of a time, at which the name has one object
        said = f"D.S.A.C (object_id=5 since {at(4)}; G.T.PII: object_id=1)"
    notes = [note for note in asked(question, stories.of(story, whole), **given).notes if "one that had a tag" in note]
    assert [note.partition("the tag on it")[2] for note in notes] == [f"{then}: {said}."] * bool(said)


def test_it_is_told_only_of_the_time_that_is_asked_for(whole: Store) -> None:
    graph = stories.of("replaced", whole)
    for question, given in {
        "tag-history": {"object_name": "D.S.A", "column_name": "C", "until": at(1.5)},
        "changes": {"since": at(2.5)},
        "policy-coverage": {"at": at(1.5)},
    }.items():
        assert not any("one that had a tag" in note for note in asked(question, graph, **given).notes), question


def test_another_column_is_not_told_of(tmp_path: Path) -> None:
    two = thing("A", 2, columns=("C", "D"))
    graph = stories.told({"one": [TAGGED, changed(two, "REPLACE"), read(two)]}, tmp_path)
    assert not any(
        "had a tag" in note for note in asked("tag-history", graph, object_name="D.S.A", column_name="D").notes
    )


def test_a_tag_that_is_no_more_was_lost_but_lacks_nothing(tmp_path: Path) -> None:
    sens = {"tags": {"G.T.SENS": {"objectId": {"value": 81}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}}
    other = changed(thing("B", 7), columns={"C": sens})
    rows = [changed(PII, "CREATE"), other, TAGGED, MADE, changed(PII, "DROP"), read(SECOND)]
    graph = stories.told({"one": rows}, tmp_path)
    for question, given, is_told in (
        ("policy-coverage", {"at": at(4.5)}, True),
        ("policy-coverage", {}, False),
        ("tag-history", {"object_name": "D.S.A"}, True),
    ):
        answer = asked(question, graph, **given)
        assert answer.rows
        assert any("had a tag" in note for note in answer.notes) == is_told, (question, given)


def test_a_note_on_a_column_names_no_other_one(tmp_path: Path) -> None:
    both = thing("A", 2, columns=("C", "D"))
    rows = [changed(thing("A", 1), columns={"C": TAG, "D": TAG}), changed(both, "REPLACE"), read(both)]
    graph = stories.told({"one": rows}, tmp_path)
    (note,) = [one for one in asked("tag-history", graph, object_name="D.S.A", column_name="D").notes if "a tag" in one]
    assert "D.S.A.D (object_id=2" in note


def test_a_tag_that_was_dropped_is_told_to_its_history(tmp_path: Path) -> None:
    """Not of one that was brought back, nor of another one of the name that was set since."""
    again = {**PII, "objectId": 82}
    on_b = changed(thing("B", 7), columns={"C": {"tags": {"G.T.PII": {"objectId": {"value": 82}}}}})
    given = {
        "dropped": [changed(PII, "CREATE"), TAGGED, changed(PII, "DROP"), changed(again, "CREATE"), on_b],
        "undropped": [changed(PII, "CREATE"), TAGGED, changed(PII, "DROP"), changed(PII, "UNDROP")],
    }
    whole = stories.told(given, tmp_path)
    for story, name, until, is_told in (
        ("dropped", "D.S.A", {}, True),
        ("dropped", "D.S.A", {"until": at(2.5)}, False),
        ("dropped", "D.S.B", {}, False),
        ("undropped", "D.S.A", {}, False),
    ):
        answer = asked("tag-history", stories.of(story, whole), object_name=name, column_name="C", **until)
        assert len(answer.rows) == 1
        told = [note for note in answer.notes if f"G.T.PII at {at(3)}" in note]
        assert len(told) == is_told, (story, name, until)
