"""Columns of one table that have the same name one after the other: copies of the one are no copies of the other, and
what masked the one does not cover the other (docs/graph.md, "Questions": a source that was dropped is masked as it was
at its end).

Query ``qN`` of each story starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_former_columns import CALLED
from tests.ask.test_masked_before_the_record import TAG, of_mask, of_tag
from tests.ask.test_masks_of_renamed_columns import enforced, of, without_ids
from tests.ask.test_names import MASK, asked, at, changed, read, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
T, COPY, LATER = thing("T", 1), thing("COPY", 2), thing("LATER", 3)
MADE: Final = changed(T, "CREATE", columns={name: {"subOperationType": "ADD"} for name in "EF"})
OTHER_MASK: Final = {"maskingPolicies": {"D.S.OTHER": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}
SET: Final = changed(T, columns={"E": of_mask("ADD")})


def on(column: str, **properties: Any) -> Json:
    return changed(T, columns={column: properties})


def to(**names: str) -> Json:
    return changed(T, columns={old: {"objectName": {"value": new}} for old, new in names.items()})


def copied(column: str, target: Json = COPY, *, masked: bool = False) -> Json:
    source = {key: value for key, value in T.items() if key != "columns"}
    filled = {"columnName": "C", "directSources": [{**source, "columnName": column}]}
    row = {**read(thing("T", 1, columns=(column,)), "ETL"), "objects_modified": [{**target, "columns": [filled]}]}
    policies = [{**T, "columns": [{"columnName": column, "policies": [MASK]}]}]
    return {**row, "policies_referenced": policies} if masked else row


DROPPED, ADDED = on("E", subOperationType="DROP"), on("E", subOperationType="ADD")
E_OF_MASK, E_OF_OTHER, F_OF_MASK = ("E", "MASK"), ("E", "OTHER"), ("F", "MASK")
STORIES: Final[dict[str, tuple[list[Json], set[tuple[str, str]]]]] = {
    # the masked column is gone, and another one has its name
    "added": ([SET, copied("E"), DROPPED, ADDED, read(COPY)], {E_OF_MASK}),
    "added-while-enforced": ([copied("E", masked=True), DROPPED, ADDED, read(COPY)], {E_OF_MASK}),
    "added-by-tag": (
        [changed(TAG, **of_mask("ADD")), on("E", **of_tag("ADD")), copied("E"), DROPPED, ADDED, read(COPY)],
        {E_OF_MASK},
    ),
    "renamed": ([SET, copied("E"), DROPPED, to(F="E"), read(COPY)], {E_OF_MASK}),
    "added-twice": ([SET, copied("E"), DROPPED, ADDED, DROPPED, ADDED, read(COPY)], {E_OF_MASK}),
    "filled": ([SET, copied("E"), DROPPED, ADDED, copied("E", LATER), read(LATER), read(COPY)], {E_OF_MASK}),
    "carried": (
        [SET, to(E="G"), to(G="H"), copied("H"), on("H", subOperationType="DROP"), to(F="H"), read(COPY)],
        {("H", "MASK")},
    ),
    # it was masked when it was dropped, or not any more
    "unset": ([SET, copied("E"), on("E", **of_mask("DROP")), DROPPED, ADDED, read(COPY)], set()),
    # the other one has another mask, which never covered what the first one held
    "other-mask": (
        [SET, copied("E"), DROPPED, ADDED, on("E", **OTHER_MASK), read(COPY)], {E_OF_MASK},
    ),
    "both": (
        [SET, copied("E"), DROPPED, ADDED, on("E", **OTHER_MASK), copied("E", LATER), read(COPY), read(LATER)],
        {E_OF_MASK, E_OF_OTHER},
    ),
    # the first one was never masked
    "masked-later": ([copied("E"), DROPPED, ADDED, SET, read(COPY)], set()),
    "masked-renamed": ([copied("E"), DROPPED, on("F", **of_mask("ADD")), to(F="E"), read(COPY)], set()),
    "masked-in-its-place": (
        [copied("E"), to(E="G"), on("F", **of_mask("ADD")), to(F="E"), copied("E", LATER, masked=True), read(COPY)],
        set(),
    ),
    # one column under several names, beside others
    "back": ([copied("E"), to(E="G"), to(G="E"), SET, read(COPY)], {E_OF_MASK}),
    "swapped": ([copied("E"), to(E="X"), to(F="E"), to(X="F"), on("F", **of_mask("ADD")), read(COPY)], {F_OF_MASK}),
    "not-swapped": ([copied("E"), to(E="X"), to(F="E"), to(X="F"), SET, read(COPY)], set()),
    "often": (
        [copied("E"), to(E="G"), to(G="H"), to(H="I"), to(I="K"), on("K", **of_mask("ADD")), read(COPY)],
        {("K", "MASK")},
    ),
    "never-that": (
        [copied("E"), to(E="G"), on("G", subOperationType="DROP"), to(F="G"), to(G="H"), to(H="I"), to(I="K"),
         on("K", **of_mask("ADD")), read(COPY)],
        set(),
    ),
    # a tag on the table masks each of them
    "table-tag": (
        [changed(TAG, **of_mask("ADD")), changed(T, **of_tag("ADD")), enforced("E"), copied("E"), DROPPED, ADDED,
         copied("E", LATER), read(LATER)],
        {E_OF_MASK},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reads", "ids"), [("full", True), ("daily", True), ("full", False)])
def test_copies_are_of_the_column_that_had_the_name_then(reads: str, *, ids: bool, tmp_path: Path) -> None:
    told = {name: [MADE, *rows] for name, (rows, _) in STORIES.items()}
    told = told if ids else {name: without_ids(rows) for name, rows in told.items()}
    whole = stories.told(told, tmp_path, "--reads", reads)
    for name, (_, expected) in STORIES.items():
        rows = asked("unmasked-copies", stories.of(name, whole)).rows
        assert {(row[1], str(row[2]).removeprefix("D.S.")) for row in rows} == expected, name


READ: Final[dict[str, tuple[list[Json], str]]] = {
    "read-added": (
        [SET, DROPPED, ADDED, read(of("E"))],
        f"D.S.T.E (another one until {at(3)}, this one since {at(4)})",
    ),
    "read-renamed": (
        [read(of("E")), to(E="G"), on("F", **of_mask("ADD")), to(F="E")],
        f"D.S.T.E (another one until {at(3)}, this one since {at(5)})",
    ),
    "read-back": ([read(of("E")), to(E="G"), to(G="E"), SET], ""),
    # what was read under a former name of the one that has the name now, and was masked under no name
    "read-former": (
        [SET, DROPPED, read(of("F")), to(F="E")],
        f"D.S.T.E (another one until {at(3)}, this one since {at(5)})",
    ),
    "read-former-left": (
        [to(E="G"), on("G", **of_mask("ADD")), read(of("F")), to(F="E")],
        f"D.S.T.E (another one until {at(2)}, this one since {at(5)})",
    ),
    "read-dropped": ([SET, DROPPED, read(of("E"))], ""),
    "read-masked": ([read(of("E")), SET], ""),
}
"""What was read of columns that have one name one after the other, and what answers say of it."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {name: [MADE, *rows] for name, (rows, _) in STORIES.items()}
    told |= {name: [MADE, *rows] for name, (rows, _) in READ.items()}
    return stories.told(told, tmp_path_factory.mktemp("columns-of-one-name"))


@pytest.mark.parametrize(
    ("story", "said"),
    [
        ("added", f"D.S.T.E was dropped at {at(4)}, and another column has its name since {at(5)}."),
        ("filled", f"D.S.T.E was dropped at {at(4)}, and another column has its name since {at(5)}."),
        ("both", f"D.S.T.E was dropped at {at(4)}, and another column of the answer has its name since {at(5)}."),
        ("back", ""),
    ],
)
def test_a_source_whose_name_another_one_has_is_told(story: str, said: str, whole: Store) -> None:
    notes = asked("unmasked-copies", stories.of(story, whole)).notes
    found = [note.removeprefix(CALLED) for note in notes if note.startswith(CALLED)]
    assert found == [said][: len(said)]


@pytest.mark.parametrize("story", READ)
def test_reads_of_columns_that_have_one_name_are_told(story: str, whole: Store) -> None:
    column = "F" if "former" in story else "E"
    for given in ({}, {"object_name": "D.S.T"}, {"object_name": "D.S.T", "column_name": column}):
        answer = asked("unmasked-reads", stories.of(story, whole), **given)
        notes = [note for note in answer.notes if note.startswith("Columns had the same name")]
        assert answer.rows
        assert [note.partition("the other: ")[2].partition(". The")[0] for note in notes] == [READ[story][1]][
            : len(notes)
        ]
        assert bool(notes) == bool(READ[story][1])
