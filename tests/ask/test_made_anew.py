"""Tables that were made anew under their own name, which rows without an id give alone, or under the id that they had:
what was set on them before is gone (CREATE OR REPLACE makes another table), and answers say so.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.made_anew import MADE_ANEW
from tests.ask import stories
from tests.ask.test_lost_masks import OFF_TAG, ON_TAG, PII, TAG, UNSET_MASK
from tests.ask.test_lost_policies import ROWS
from tests.ask.test_names import SET_MASK, asked, at, changed, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, OF_ID = thing("A", 0), thing("A", 1)
OTHER: Final[Json] = {"C": {"maskingPolicies": {"D.S.M2": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}}
MASKED, TAGGED, FILTERED = changed(A, columns=SET_MASK), changed(A, columns={"C": TAG}), changed(A, **ROWS)
MASK, MARK, FILTER = "masking policy D.S.MASK on C", "tag G.T.PII on C", "row access policy G.P.EU"
ANEW: Final = changed(A, "REPLACE")
STORIES: Final[dict[str, tuple[list[Json], str]]] = {
    "replaced": ([MASKED, TAGGED, FILTERED, ANEW, read(A)], f"D.S.A at {at(4)} ({MASK}, {MARK}, {FILTER})"),
    "under-its-id": (
        [changed(OF_ID, columns=SET_MASK), changed(OF_ID, **ROWS), changed(OF_ID, "REPLACE"), read(OF_ID)],
        f"D.S.A at {at(3)} ({MASK}, {FILTER})",
    ),
    "dropped-and-created": ([MASKED, changed(A, "DROP"), changed(A, "CREATE")], f"D.S.A at {at(3)} ({MASK})"),
    "by-tag": ([ON_TAG, TAGGED, ANEW], f"D.S.A at {at(3)} ({MARK})"),
    "twice": ([MASKED, ANEW, MASKED, changed(A, "REPLACE")], f"D.S.A at {at(4)} ({MASK})"),
    # what is there again, was taken away before, or is no more
    "set-again": ([MASKED, FILTERED, ANEW, MASKED, FILTERED], ""),
    "set-by-the-statement": ([MASKED, changed(A, "REPLACE", columns=SET_MASK)], ""),
    "another-mask": ([MASKED, ANEW, changed(A, columns=OTHER)], ""),
    "masked-by-a-tag-since": ([MASKED, ANEW, ON_TAG, TAGGED], ""),
    "enforced-since": ([MASKED, ANEW, read(A, masked=True)], ""),
    "unset-before": ([MASKED, changed(A, columns=UNSET_MASK), ANEW, read(A)], ""),
    "tag-dropped": ([TAGGED, ANEW, changed(PII, "DROP"), read(A)], ""),
    "brought-back": ([MASKED, changed(A, "DROP"), changed(A, "UNDROP"), read(A)], ""),
    "dropped": ([MASKED, ANEW, changed(A, "DROP")], ""),
    "made-before": ([changed(A, "CREATE"), MASKED, TAGGED, changed(PII, **OFF_TAG), read(A)], ""),
}  # fmt: skip
"""What was done, and what a note says at the end."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told({name: rows for name, (rows, _) in STORIES.items()}, tmp_path_factory.mktemp("made-anew"))


def note(question: str, story: str, whole: Store, **given: str) -> str:
    answer = asked(question, stories.of(story, whole), **given)
    return next((one.removeprefix(MADE_ANEW) for one in answer.notes if one.startswith(MADE_ANEW)), "")


@pytest.mark.parametrize(("question", "given"), [("changes", {"since": at(0)}), ("policy-coverage", {})])
@pytest.mark.parametrize("story", STORIES)
def test_what_a_table_lost_when_it_was_made_anew_is_told(
    story: str, question: str, given: dict[str, str], whole: Store
) -> None:
    said = STORIES[story][1]
    assert note(question, story, whole, **given) == (f" No row sets it since: {said}." if said else "")


def test_each_question_tells_of_what_it_is_about(whole: Store) -> None:
    assert f"{at(4)} ({MARK})." in note("tag-history", "replaced", whole, object_name="D.S.A", column_name="C")
    assert f"{at(4)} ({MASK}). Copies from before are not in" in note("unmasked-copies", "replaced", whole)


def test_it_is_told_of_the_time_that_is_asked_for(whole: Store) -> None:
    assert f"{at(4)} ({MASK}" in note("policy-coverage", "replaced", whole, at=at(4.5))
    assert not note("policy-coverage", "replaced", whole, at=at(3.5))
    assert f"{at(2)} ({MASK})" in note("policy-coverage", "twice", whole, at=at(2.5))
    assert not note("policy-coverage", "twice", whole, at=at(3.5))
    assert not note("changes", "replaced", whole, since=at(4.5))
    assert not note("changes", "replaced", whole, since=at(0), until=at(3.5))
