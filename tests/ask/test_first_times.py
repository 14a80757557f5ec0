"""New readers and copies of ``changes`` where rows give no id: docs/questions.md.

With ids, what was read or copied before under another name is not new. Without, a RENAME, a SWAP or a change that was
cut may have given the name. Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_cut_changes import ALL_CUT
from tests.ask.test_names import asked, at, changed, copied, read, renamed, swapped, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, Z, B = (thing(name, 0) for name in ("A", "Z", "B"))
WITH_ID: Final = thing("W", 7)


def by_ben(row: Json) -> Json:
    return {**row, "user_name": "BEN"}


TO_Z: Final = renamed(A, "Z")
BY_NAMES: Final[dict[str, tuple[list[Json], str]]] = {
    "reader": ([read(A, "BEN"), TO_Z, read(Z, "BEN")], "D.S.A was renamed to D.S.Z"),
    "copy": ([copied(A, B), TO_Z, by_ben(copied(Z, B))], "D.S.A was renamed to D.S.Z"),
    "copy-into-id": ([copied(A, WITH_ID), TO_Z, by_ben(copied(Z, WITH_ID))], "D.S.A was renamed to D.S.Z"),
    "target": ([copied(B, A), TO_Z, copied(B, Z)], "D.S.A was renamed to D.S.Z"),
    "twice": (
        [read(A, "BEN"), renamed(A, "M"), renamed(thing("M", 0), "Z"), read(Z, "BEN")],
        "D.S.A was renamed to D.S.M (query q2, 2026-01-01T00:02:00Z), D.S.M was renamed to D.S.Z",
    ),
    "swap": ([read(A, "BEN"), *swapped(A, Z), read(Z, "BEN")], "D.S.A was swapped with D.S.Z"),
    # What the row cannot concern.
    "nothing-new": ([read(A, "BEN"), TO_Z], ""),
    "renamed-after": ([read(A, "BEN"), read(A, "ANA"), read(Z, "BEN"), TO_Z], ""),
    "with-ids": (
        [read(WITH_ID, "BEN"), renamed(WITH_ID, "W2"), read(thing("W2", 7), "BEN"), read(B, "BEN")], "",
    ),
}  # fmt: skip
"""What was done, and the rename that decides whether the last row is new."""
CUT: Final[Json] = {"object_modified_by_ddl": ALL_CUT}
PROPERTIES_CUT: Final[Json] = {
    "object_modified_by_ddl": {**thing("A", 0), "operationType": "ALTER", "properties": "TRUNCATED"}
}
CUT_CHANGES: Final[dict[str, tuple[list[Json], bool]]] = {
    "cut-reader": ([read(A, "BEN"), CUT, read(Z, "BEN")], True),
    "cut-name": ([read(A, "BEN"), PROPERTIES_CUT, read(Z, "BEN")], True),
    "cut-copy": ([copied(A, B), CUT, by_ben(copied(Z, B))], True),
    # What the row cannot concern.
    "cut-columns": ([read(A, "BEN"), changed(A, columns="TRUNCATED"), read(Z, "BEN")], False),
    "cut-with-ids": ([read(A, "BEN"), CUT, read(WITH_ID, "BEN")], False),
    "cut-nothing-new": ([read(A, "BEN"), CUT, read(A, "BEN")], False),
}
"""What was done, and whether what was cut in q2 can decide whether the last row is new."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {name: each[0] for name, each in (*BY_NAMES.items(), *CUT_CHANGES.items())}
    return stories.told(told, tmp_path_factory.mktemp("first"))


@pytest.mark.parametrize("since", [0, 3])
@pytest.mark.parametrize("story", BY_NAMES)
def test_a_rename_that_decides_what_is_new_is_told(story: str, since: int, whole: Store) -> None:
    """Before the time that is asked for, and in it."""
    answer = asked("changes", stories.of(story, whole), since=at(since))
    told = [note for note in answer.notes if "By rows that give no id" in note]
    assert len(told) == bool(BY_NAMES[story][1])
    assert all(BY_NAMES[story][1] in note for note in told)


def test_until_before_the_new_row_nothing_is_told(whole: Store) -> None:
    answer = asked("changes", stories.of("reader", whole), since=at(0), until=at(2.5))
    assert "By rows that give no id" not in "".join(answer.notes)


@pytest.mark.parametrize("story", CUT_CHANGES)
def test_a_change_that_was_cut_before_the_time_is_told(story: str, whole: Store) -> None:
    notes = "".join(asked("changes", stories.of(story, whole), since=at(3)).notes)
    assert ("cut by Snowflake (object_modified_by_ddl)" in notes) == CUT_CHANGES[story][1]
