"""Reads in clear of a table that was made anew, if rows give no id of it: docs/questions.md, unmasked-reads.

With ids, each CREATE or REPLACE makes another table: the masks of the former one say nothing of reads of the new one,
and the other way round. Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import SET_MASK, asked, changed, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A: Final = thing("A", 0)
MASKED: Final = changed(A, columns=SET_MASK)
UNSET: Final = changed(A, columns={"C": {"maskingPolicies": {"D.S.MASK": {"subOperationType": "DROP"}}}})
REPLACED: Final = changed(A, "REPLACE")
PII: Final[Json] = {"objectDomain": "Tag", "objectId": 80, "objectName": "G.T.PII"}
ON_TAG: Final = changed(PII, **SET_MASK["C"])
TAG: Final[Json] = {"tags": {"G.T.PII": {"objectId": {"value": 80}, "subOperationType": "ADD"}}}
STORIES: Final[dict[str, tuple[list[Json], str]]] = {
    "replaced": ([MASKED, REPLACED, read(A, "BEN")], "D.S.A was replaced (query q2, 2026-01-01T00:02:00Z)"),
    "dropped-and-created": (
        [MASKED, changed(A, "DROP"), changed(A, "CREATE"), read(A, "BEN")], "D.S.A was created (query q3",
    ),
    "enforced-before": ([read(A, "ANA", masked=True), REPLACED, read(A, "BEN")], "D.S.A was replaced (query q2"),
    "tag-of-column": (
        [ON_TAG, changed(A, columns={"C": TAG}), REPLACED, read(A, "BEN")], "D.S.A was replaced (query q3",
    ),
    "masked-since": ([read(A, "BEN"), REPLACED, MASKED], "D.S.A was replaced (query q2"),
    "twice": (
        [MASKED, REPLACED, REPLACED, read(A, "BEN")],
        "D.S.A was replaced (query q2, 2026-01-01T00:02:00Z), D.S.A was replaced (query q3",
    ),
    # Masks of the table that was read.
    "made-once": ([changed(A, "CREATE"), MASKED, UNSET, read(A, "BEN")], ""),
    "unset": ([MASKED, UNSET, read(A, "BEN")], ""),
    "with-ids": ([changed(thing("A", 1), columns=SET_MASK), changed(thing("A", 9), "REPLACE"),
                  read(thing("A", 9), "BEN")], ""),
}  # fmt: skip
"""What was done, and how the table was made anew."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told({name: rows for name, (rows, _) in STORIES.items()}, tmp_path_factory.mktemp("anew"))


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.A"}, {"object_name": "D.S.A", "column_name": "C"}])
@pytest.mark.parametrize("story", STORIES)
def test_a_table_made_anew_is_told(story: str, given: dict[str, str], whole: Store) -> None:
    said = STORIES[story][1]
    answer = asked("unmasked-reads", stories.of(story, whole), **given)
    assert len(answer.rows) == (story != "with-ids")
    told = [note for note in answer.notes if "never had the mask" in note]
    assert len(told) == bool(said)
    assert all(said in note for note in told)
    assert all("D.S.A was" not in note.replace(said, "") for note in told)
