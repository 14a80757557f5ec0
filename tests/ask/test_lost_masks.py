"""Unmasked reads of a table that was made anew, if rows give no id of it: docs/questions.md, unmasked-reads.

With ids, each CREATE or REPLACE makes another table: the masks of the former one say nothing of reads of the new one,
and the other way round; that it took the place of a masked one is told.
Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import MASK, SET_MASK, asked, at, changed, copied, read, swapped, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
A: Final = thing("A", 0)
MASKED: Final = changed(A, columns=SET_MASK)
UNSET_MASK: Final[Json] = {"C": {"maskingPolicies": {"D.S.MASK": {"subOperationType": "DROP"}}}}
UNSET: Final = changed(A, columns=UNSET_MASK)
REPLACED: Final = changed(A, "REPLACE")
PII: Final[Json] = {"objectDomain": "Tag", "objectId": 80, "objectName": "G.T.PII"}
ON_TAG: Final = changed(PII, **SET_MASK["C"])
TAG: Final[Json] = {"tags": {"G.T.PII": {"objectId": {"value": 80}, "subOperationType": "ADD"}}}
UNTAG: Final[Json] = {"tags": {"G.T.PII": {"objectId": {"value": 80}, "subOperationType": "DROP"}}}
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


# --- with ids ---------------------------------------------------------------------------------------------------------

SOURCE: Final = thing("SOURCE", 4)
FIRST, SECOND, NEXT = thing("A", 1), thing("A", 2), thing("A_NEXT", 2)
BUILT: Final = [copied(SOURCE, NEXT, "CREATE"), *swapped(FIRST, NEXT)]
OTHER: Final = [changed(thing("B", 7), columns=SET_MASK), read(thing("B", 7), "BEN")]
WITH_IDS: Final[dict[str, tuple[list[Json], str]]] = {
    "created-or-replaced": (
        [changed(FIRST, columns=SET_MASK), copied(SOURCE, SECOND, "REPLACE"), read(SECOND, "BEN")],
        f"D.S.A.C (object_id=2 since {at(2)}; masked: object_id=1)",
    ),
    "built-and-swapped": (
        [read(FIRST, masked=True), *BUILT, changed(thing("A_NEXT", 1), "DROP"), read(SECOND, "BEN"), *OTHER],
        f"D.S.A.C (object_id=2 since {at(3)}; masked: object_id=1)",
    ),
    "by-tag": (
        [ON_TAG, changed(FIRST, columns={"C": TAG}), copied(SOURCE, SECOND, "REPLACE"), read(SECOND, "BEN")],
        f"D.S.A.C (object_id=2 since {at(3)}; masked: object_id=1)",
    ),
    "of-itself": (
        [changed(FIRST, columns=SET_MASK), copied(FIRST, SECOND, "REPLACE"), read(SECOND, "BEN")],
        f"D.S.A.C (object_id=2 since {at(2)}; masked: object_id=1)",
    ),
    "masked-again": (
        [changed(FIRST, columns=SET_MASK), copied(SOURCE, SECOND, "REPLACE"), changed(SECOND, columns=SET_MASK)], "",
    ),
    # what was put aside has the name of the new one, which was not masked then
    "masked-afterwards": ([read(FIRST), *BUILT, changed(SECOND, columns=SET_MASK), read(thing("A_NEXT", 1))], ""),
    "without-the-column": (
        [changed(FIRST, columns=SET_MASK), changed(SECOND, "REPLACE"), read(thing("A", 2, columns=("D",)), "BEN")], "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def with_ids(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told({name: rows for name, (rows, _) in WITH_IDS.items()}, tmp_path_factory.mktemp("with-ids"))


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("unmasked-reads", {}),
        ("unmasked-reads", {"object_name": "D.S.A"}),
        ("unmasked-reads", {"object_id": "2", "domain": "Table", "column_name": "C"}),
        ("unmasked-copies", {}),
        ("policy-coverage", {}),
        ("changes", {"since": at(0)}),
    ],
)
@pytest.mark.parametrize("story", WITH_IDS)
def test_what_took_the_place_of_a_masked_table_is_told(
    story: str, question: str, given: dict[str, str], with_ids: Store
) -> None:
    said = WITH_IDS[story][1]
    answer = asked(question, stories.of(story, with_ids), **given)
    told = [note for note in answer.notes if "got the name of one that was masked" in note]
    then = {"policy-coverage": " at the end of the record", "changes": " in that time"}.get(question, "")
    assert [f"shows a masking policy on it{then}: {said}." in note for note in told] == [True] * bool(said)
    if said:
        assert not any("does not apply" in note for note in answer.notes)
        early = {"at" if question == "policy-coverage" else "until": at(1.5)}
        before = asked(question, stories.of(story, with_ids), **given, **early)
        assert not any("got the name" in note for note in before.notes)


@pytest.mark.parametrize(
    "unset",
    [
        [changed(FIRST, columns=SET_MASK), changed(FIRST, columns=UNSET_MASK)],
        [ON_TAG, changed(FIRST, columns={"C": TAG}), changed(FIRST, columns={"C": UNTAG})],
    ],
    ids=["mask", "tag"],
)
def test_a_mask_that_was_unset_before_is_not_lost(unset: list[Json], tmp_path: Path) -> None:
    """Of unmasked reads it is told, as those before and after a mask are in the answer."""
    graph = stories.told({"unset": [*unset, copied(SOURCE, SECOND, "REPLACE"), read(SECOND, "BEN")]}, tmp_path)
    for question in ("policy-coverage", "unmasked-copies", "changes", "unmasked-reads"):
        given = {"since": at(0)} if question == "changes" else {}
        notes = asked(question, graph, **given).notes
        assert any("got the name of one that was masked" in note for note in notes) == (question == "unmasked-reads")


def test_changes_tell_it_only_of_the_time_in_which_it_took_the_place(with_ids: Store) -> None:
    notes = asked("changes", stories.of("created-or-replaced", with_ids), since=at(2.5)).notes
    assert not any("got the name" in note for note in notes)


AROUND: Final[Json] = {"objectDomain": "Schema", "objectId": 70, "objectName": "D.S"}
TAGGED: Final = [ON_TAG, changed(AROUND, **TAG)]
ASIDE: Final[Json] = {**thing("A", 2), "objectName": "D.N.A"}
MOVED: Final = {"objectDomain": "Schema", "objectId": 71, "objectName": "D.N"}
NO_ROW_OF_A_CHANGE: Final[dict[str, tuple[list[Json], str]]] = {
    "seen-alone": (
        [read(FIRST, masked=True), read(SECOND, "BEN")], f"(object_id=2 since {at(2)}; masked: object_id=1)"
    ),
    "with-its-schema": (
        [read(FIRST, masked=True), copied(SOURCE, ASIDE, "CREATE"), *swapped(AROUND, MOVED), read(SECOND, "BEN")],
        f"(object_id=2 since {at(3)}; masked: object_id=1)",
    ),
    "restored": (
        [read(FIRST, masked=True), changed(FIRST, "DROP"), changed(SECOND, "CREATE"), read(SECOND, "BEN"),
         changed(SECOND, objectName={"value": "D.S.B"}), changed(FIRST, "UNDROP")],
        f"(object_id=2 since {at(3)} until {at(5)}; masked: object_id=1)",
    ),
    # the tag of the schema went with it, or may mask the new table
    "with-its-tagged-schema": (
        [*TAGGED, read(FIRST, masked=True), copied(SOURCE, ASIDE, "CREATE"), *swapped(AROUND, MOVED),
         read(SECOND, "BEN")],
        f"(object_id=2 since {at(5)}; masked: object_id=1)",
    ),
    "in-a-tagged-schema": ([*TAGGED, read(FIRST, masked=True), changed(SECOND, "REPLACE"), read(SECOND, "BEN")], ""),
    "of-another-account": ([read(FIRST, masked=True), read({**SECOND, "accountName": "PROV"}, "BEN")], ""),
    "masked-later": ([read(FIRST), read(SECOND), read(FIRST, masked=True)], ""),
}  # fmt: skip


@pytest.mark.parametrize("story", NO_ROW_OF_A_CHANGE)
def test_a_former_object_need_not_lose_its_name_in_a_row(story: str, tmp_path: Path) -> None:
    rows, said = NO_ROW_OF_A_CHANGE[story]
    graph = stories.told({story: rows}, tmp_path)
    for question, given in (("unmasked-reads", {}), ("unmasked-copies", {}), ("changes", {"since": at(0)})):
        notes = asked(question, graph, **given).notes
        assert [said in note for note in notes if "name of one that was masked" in note] == [True] * bool(said)
    told = "\n".join(asked("unmasked-reads", graph, object_name="D.S.A").notes)
    assert ("not apply" in told) == (story == "of-another-account"), "no other one of that account is masked"


DIM: Final = [thing("DIM", number) for number in range(1, 5)]
BEFORE: Final[dict[str, tuple[list[Json], str]]] = {
    "once": (
        [changed(DIM[0], "CREATE"), read(DIM[0], "MIA"), changed(DIM[1], "REPLACE"), changed(DIM[1], columns=SET_MASK)],
        f"D.S.DIM.C (object_id=1 until {at(3)}; masked: object_id=2)",
    ),
    "nightly": (
        [*(row for one in DIM[:3] for row in (changed(one, "REPLACE"), read(one, "MIA"))), changed(DIM[3], "REPLACE"),
         read(DIM[3], masked=True)],
        f"D.S.DIM.C (object_id=3, 2, 1; the last, 3, until {at(7)}; masked: object_id=4)",
    ),
    "unread": ([changed(DIM[0], "CREATE"), changed(DIM[1], "REPLACE"), read(DIM[1], masked=True)], ""),
    "another-column": (
        [changed(DIM[0], "CREATE"), read(thing("DIM", 1, columns=("D",))), changed(DIM[1], "REPLACE"),
         read(DIM[1], masked=True)],
        "",
    ),
    "in-a-tagged-schema": ([*TAGGED, read(DIM[0]), changed(DIM[1], "REPLACE"), read(DIM[1], masked=True)], ""),
}  # fmt: skip


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.DIM"}, {"object_name": "D.S.DIM", "column_name": "C"}])
@pytest.mark.parametrize("story", BEFORE)
def test_reads_before_a_mask_that_a_later_object_of_the_name_got(
    story: str, given: dict[str, str], tmp_path: Path
) -> None:
    rows, said = BEFORE[story]
    graph = stories.told({story: rows}, tmp_path)
    notes = asked("unmasked-reads", graph, **given).notes
    assert [f"shows a masking policy on it: {said}." in one for one in notes if "had later" in one] == [True] * bool(
        said
    )
    assert not any("does not apply" in note for note in notes), "another object of the name is masked"
    assert not any("had later" in note for note in asked("unmasked-reads", graph, **given, until=at(1)).notes)


def test_one_entry_says_since_when_many_objects_of_a_name_are_unmasked(tmp_path: Path) -> None:
    """Three nights after a mask; and again a mask, and two nights."""
    nights = [row for one in DIM[1:] for row in (changed(one, "REPLACE"), read(one, "MIA"))]
    again = [changed(DIM[3], columns=SET_MASK), *(changed(thing("DIM", number), "REPLACE") for number in (5, 6)),
             *(read(thing("DIM", number)) for number in (5, 6))]  # fmt: skip
    first = [changed(DIM[0], columns=SET_MASK), *nights]
    graph = stories.told({"once": first, "again": [*first, *again]}, tmp_path)
    for story, said in (
        ("once", f": D.S.DIM.C (since {at(2)}; 3 objects, the latest object_id=4; masked: object_id=1)."),
        (
            "again",
            (
                f": D.S.DIM.C (since {at(9)}; 2 objects, the latest object_id=6; masked: object_id=4); "
                f"D.S.DIM.C (since {at(2)}; 2 objects, the latest object_id=3 until {at(6)}; masked: object_id=1)."
            ),
        ),
    ):
        for given in ({}, {"object_name": "D.S.DIM"}):
            notes = asked("unmasked-reads", stories.of(story, graph), **given).notes
            assert [said in note for note in notes if "got the name" in note] == [True]


def turns(number: int) -> list[Json]:
    """A masked table (21) and one without a mask (22) have the name A by turns, from the second one's turn on."""
    return [
        row
        for _ in range(number)
        for row in (
            *swapped(thing("A", 21), thing("A_NEW", 22)), read(thing("A", 22), "BEN"),
            *swapped(thing("A", 22), thing("A_NEW", 21)), read(thing("A", 21), masked=True),
        )
    ]  # fmt: skip


TURNS: Final = {
    # q3, q7, … give A to the second one, and q5, q9, … take it away
    2: f"(object_id=22 since {at(3)} until {at(5)} and since {at(7)} until {at(9)}; masked: object_id=21)",
    3: f"(object_id=22 since {at(3)} until {at(5)} and since {at(7)} until {at(9)} and since {at(11)} until {at(13)}; "
    "masked: object_id=21)",
    5: f"(object_id=22 for 5 times since {at(3)}, the last of them since {at(19)} until {at(21)}; masked: "
    "object_id=21)",
}


@pytest.mark.parametrize("number", TURNS)
def test_an_object_that_got_the_name_several_times_is_told_with_all_of_them(number: int, tmp_path: Path) -> None:
    """Who asks for the times of the note alone finds each read."""
    rows = [changed(thing("A", 21), columns=SET_MASK), changed(thing("A_NEW", 22), "CREATE"), *turns(number)]
    graph = stories.told({"turns": rows}, tmp_path)
    ways = ("unmasked-reads", {}), ("unmasked-reads", {"object_id": "22", "domain": "Table"}), ("unmasked-copies", {})
    for question, given in (*ways, ("unmasked-reads", {"object_name": "D.S.A"})):
        assert f": D.S.A.C {TURNS[number]}." in entries(question, graph, **given)
    until = entries("unmasked-reads", graph, until=at(4.5))
    assert f": D.S.A.C (object_id=22 since {at(3)} until {at(5)}; masked: object_id=21)." in until


def in_schema(name: str, number: int) -> Json:
    return {"objectDomain": "Table", "objectId": number, "objectName": name, "columns": [{"columnName": "C"}]}


def swapped_schemas() -> list[Json]:
    """Two rows of one query, with the names alone."""
    sides = [
        changed(
            {"objectDomain": "Schema", "objectName": one},
            swapTargetDomain={"value": "Schema"},
            swapTargetName={"value": other},
        )
        for one, other in (("D.LIVE", "D.STAGE"), ("D.STAGE", "D.LIVE"))
    ]
    return [sides[0], {**sides[1], "again": True}]


@pytest.mark.parametrize("nights", [1, 2])
def test_the_readers_of_what_came_with_its_schema_are_found_by_the_times_in_the_note(
    nights: int, tmp_path: Path
) -> None:
    """It has the name since the SWAP, though the first query that names it so comes later."""
    rows = [
        changed(in_schema("D.LIVE.T", 1), columns=SET_MASK), read(in_schema("D.LIVE.T", 1), "MIA", masked=True),
        *[row for number in range(2, nights + 2) for row in (
            changed(in_schema("D.STAGE.T", number), "CREATE"), *swapped_schemas(),
            read(in_schema("D.LIVE.T", number), f"BEN_{number}"),
        )],
    ]  # fmt: skip
    graph = stories.told({"one": rows}, tmp_path)
    (note,) = [one for one in asked("unmasked-reads", graph).notes if "got the name" in one]
    several = f"D.LIVE.T.C (since {at(4)}; 2 objects, the latest object_id=3;"
    assert (several if nights == 2 else f"D.LIVE.T.C (object_id=2 since {at(4)};") in note
    given = {"object_name": "D.LIVE.T", "since": at(4)} if nights == 2 else {"object_id": "2", "domain": "Table"}
    readers = {row["user_name"] for row in asked("column-readers", graph, column_name="C", **given).dicts()}
    assert readers == {f"BEN_{number}" for number in range(2, nights + 2)}
    assert "by the id, or of several objects by the name with since" in note


NAMED_PII: Final = {key: value for key, value in PII.items() if key != "objectId"}
OFF_TAG: Final[Json] = {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "DROP"}}}
TAG_FIRST: Final = changed(FIRST, columns={"C": TAG})
ANEW: Final = [changed(SECOND, "REPLACE"), read(SECOND, "BEN")]
BY_TAGS: Final[dict[str, tuple[list[Json], bool, bool]]] = {
    "mask-after-the-table": ([TAG_FIRST, *ANEW, ON_TAG], False, True),
    "mask-before-the-tag": ([ON_TAG, changed(PII, **OFF_TAG), TAG_FIRST, *ANEW], False, True),
    "mask-after-the-tag": ([TAG_FIRST, changed(FIRST, columns={"C": UNTAG}), ON_TAG, *ANEW], False, True),
    "read-before": (
        [read(FIRST), changed(SECOND, "REPLACE"), changed(SECOND, columns={"C": TAG}),
         changed(thing("A", 3), "REPLACE"), ON_TAG],
        False, True,
    ),
    "no-row-of-the-change": ([TAG_FIRST, read(SECOND), ON_TAG, changed(thing("A", 3), "REPLACE")], False, False),
    # it may have been unset, and may not
    "unset-without-an-id": ([ON_TAG, changed(NAMED_PII, **OFF_TAG), TAG_FIRST, *ANEW], False, False),
    "cut": (
        [ON_TAG, {"object_modified_by_ddl": {**PII, "operationType": "ALTER", "properties": "TRUNCATED"}}, TAG_FIRST,
         *ANEW],
        False, False,
    ),
    "together": ([TAG_FIRST, ON_TAG, changed(PII, **OFF_TAG), *ANEW], True, False),
    "together-without-an-id": ([TAG_FIRST, changed(NAMED_PII, **SET_MASK["C"]), *ANEW], True, False),
}  # fmt: skip
"""Tags that mask while the column has the tag, and the tag the mask; whether it is told, and not to apply."""


@pytest.mark.parametrize("story", BY_TAGS)
def test_a_tag_masks_while_it_has_the_mask(story: str, tmp_path: Path) -> None:
    rows, is_told, is_of_none = BY_TAGS[story]
    graph = stories.told({story: rows}, tmp_path)
    for given in ({}, {"object_name": "D.S.A"}):
        notes = asked("unmasked-reads", graph, **given).notes
        assert any("got the name of one" in note or "had later" in note for note in notes) == is_told
    assert any("does not apply" in note for note in notes) == is_of_none
    assert not (is_of_none and any("than the masked one" in note for note in notes))


def test_notes_on_one_of_several_objects_name_its_id(tmp_path: Path) -> None:
    """No row sets a tag on object 2; one does on object 1, which had the same name."""
    rows = [changed(FIRST, columns={"C": TAG}), changed(SECOND, "REPLACE"), read({**SECOND, "accountName": "PROV"})]
    graph = stories.told({"own": rows}, tmp_path)
    notes = asked("policy-coverage", graph, object_id="2", domain="Table").notes
    for account in ("STORY-own", "PROV"):
        assert any(f"No row sets a tag on D.S.A (object_id=2 of the account {account}):" in note for note in notes)


def test_it_is_told_of_an_answer_with_rows(with_ids: Store) -> None:
    assert asked("unmasked-reads", stories.of("built-and-swapped", with_ids)).rows


def test_many_objects_of_one_name_have_one_note(tmp_path: Path) -> None:
    """A table that is made anew seven times, and never masked."""
    tables = [thing("A", number) for number in range(1, 8)]
    nights = [row for table in tables for row in (changed(table, "CREATE"), read(table, "BEN"))]
    notes = asked("unmasked-reads", stories.told({"nightly": nights}, tmp_path), object_name="D.S.A").notes
    said = (
        "No row shows a masking policy on a column of D.S.A (7 objects that had the name), so the question does not "
        "apply: whoever read it read it unmasked (column-readers lists the readers)."
    )
    assert [note for note in notes if note.startswith("No row shows")] == [said]


# --- built beside it each night, and swapped --------------------------------------------------------------------------


def night(number: int, name: str = "X") -> list[Json]:
    """Three queries: object ``number`` takes the name from the one before, which is dropped."""
    new, aside = thing(f"{name}__NEW", number), thing(f"{name}__NEW", number - 1)
    return [copied(SOURCE, new, "CREATE"), *swapped(thing(name, number - 1), new), changed(aside, "DROP")]


def masked_twice(first: list[Json], again: list[Json]) -> list[Json]:
    """The mask is set on object 101, not on 102, again on 103 two minutes after it has the name, and not on 104."""
    reads = [read(thing("X", number), "MIA") for number in (102, 104)]
    return [*first, *night(102), reads[0], *night(103), *again, *night(104), reads[1]]


X101, X103 = thing("X", 101), thing("X", 103)
GAP: Final = f"D.S.X.C (object_id=102 since {at(4)} until {at(8)}; masked: object_id=101)"
BUILD: Final = f"D.S.X.C (object_id=103 since {at(8)} until {at(12)}; masked: object_id=101)"
TWICE: Final = {
    "set": masked_twice(
        [changed(X101, "CREATE"), changed(X101, columns=SET_MASK)], [changed(X103, columns=SET_MASK)]
    ),
    "by-tag": masked_twice([ON_TAG, changed(X101, columns={"C": TAG})], [changed(X103, columns={"C": TAG})]),
    "enforced": masked_twice([read(X101), read(X101, masked=True)], [read(X103, masked=True)]),
}  # fmt: skip


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(TWICE, tmp_path_factory.mktemp("twice"))


def entries(question: str, graph: Store, **given: str | list[str]) -> str:
    """What the note lists."""
    notes = [note for note in asked(question, graph, **given).notes if "got the name of one that was masked" in note]
    assert len(notes) <= 1
    return notes[0].partition("masking policy on it")[2] if notes else ""


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.X"}])
@pytest.mark.parametrize("story", TWICE)
def test_a_mask_counts_at_the_time_that_is_asked_for(story: str, given: dict[str, str], twice: Store) -> None:
    graph = stories.of(story, twice)
    for minute, said in ((2.5, ""), (6.5, f" at that time: {GAP}."), (9.5, f" at that time: {BUILD}."), (10.5, "")):
        assert entries("policy-coverage", graph, **given, at=at(minute)) == said
    assert entries("policy-coverage", graph, **given, at=[at(10.5), at(6.5)]) == f" at that time: {GAP}."
    assert entries("policy-coverage", graph, object_id="103", domain="Table", at=at(10.5)) == ""
    assert "(object_id=104 since" in entries("policy-coverage", graph, **given)
    assert entries("changes", graph, since=at(7.5), until=at(9.5)).startswith(f" in that time: {BUILD}")
    assert BUILD not in entries("changes", graph, since=at(7.5), until=at(10.5))
    assert entries("unmasked-copies", graph, since=at(4.5), until=at(6.5)) == f" in that time: {GAP}."
    # reads before the mask and after it are in the answer
    assert entries("unmasked-reads", graph, until=at(9.5)).startswith(f": {GAP}. Reads")


def test_a_mask_that_was_unset_counts_no_longer_though_queries_enforced_it(tmp_path: Path) -> None:
    second = thing("X", 102)
    rows = [*TWICE["set"][:2], changed(second, "REPLACE"), changed(second, columns=SET_MASK), read(second, masked=True),
            changed(second, columns={"C": OFF_TAG}), read(second),
            read(second, masked=True)]  # fmt: skip
    graph = stories.told({"unset": rows}, tmp_path)
    said = f" at that time: D.S.X.C (object_id=102 since {at(3)}; masked: object_id=101)."
    for minute, is_masked in ((3.5, False), (4.5, True), (5.5, True), (6.5, False), (7.5, False), (8.5, True)):
        assert entries("policy-coverage", graph, at=at(minute)) == ("" if is_masked else said)


def test_what_was_dropped_at_that_time_is_not_told(tmp_path: Path) -> None:
    second = thing("X", 102)
    rows = [*TWICE["set"][:2], changed(second, "REPLACE"), read(second), changed(second, "DROP"), read(SOURCE),
            changed(second, "UNDROP")]  # fmt: skip
    graph = stories.told({"restored": rows}, tmp_path)
    assert [bool(entries("policy-coverage", graph, at=at(minute))) for minute in (4.5, 5.5, 7.5)] == [True, False, True]


def test_what_was_read_comes_first_and_an_object_once(tmp_path: Path) -> None:
    """Six tables that lost their mask, one after the other; only the last one was read. Each former one had the name
    of its build for a minute.
    """
    names = [f"T{number}" for number in range(1, 7)]
    rows = [row for place, name in enumerate(names) for row in (
        changed(thing(name, 201 + 10 * place), "CREATE"), changed(thing(name, 201 + 10 * place), columns=SET_MASK),
        *night(202 + 10 * place, name),
    )]  # fmt: skip
    graph = stories.told({"all": [*rows, read(thing("T6", 252), "BEN")]}, tmp_path)
    listed = entries("unmasked-reads", graph).split("; D.")
    assert listed[0].startswith(": D.S.T6.C (object_id=252 ")
    assert [one.partition(".C")[0] for one in listed[1:]] == ["S.T1", "S.T2", "S.T3", "S.T4"]
    assert " and 1 more (ask for one object (object_name) or for less of the time (since, until)). Reads" in listed[-1]
    assert " and 1 more (ask for one object (object_name))." in entries("policy-coverage", graph)
    assert " and 1 more (ask for less of the time (since, until))." in entries("changes", graph, since=at(0))
    assert "T2.C" in entries("unmasked-reads", graph, object_name="D.S.T2")
    since = entries("unmasked-reads", graph, since=at(8), until=at(12))
    assert "T2.C" in since
    assert "more" not in since


def test_a_name_with_many_entries_hides_no_other(tmp_path: Path) -> None:
    """A table has its mask every other night; another one lost it, and was read before."""
    other = [changed(thing("T", 301), columns=SET_MASK), changed(thing("T", 302), "REPLACE"), read(thing("T", 302))]
    nights = [row for number in range(101, 114, 2) for row in (
        changed(thing("X", number), "REPLACE"), changed(thing("X", number), columns=SET_MASK),
        changed(thing("X", number + 1), "REPLACE"), read(thing("X", number + 1)),
    )]  # fmt: skip
    graph = stories.told({"every-other": [*other, *nights]}, tmp_path)
    for question, given in (("unmasked-reads", {}), ("unmasked-copies", {}), ("changes", {"since": at(0)})):
        names = [one.strip(": ").partition(" (")[0] for one in entries(question, graph, **given).split("; D.S")]
        assert names[1] == ".T.C"
        assert "X.C" in names[0]


def test_an_unknown_name_is_not_all(twice: Store) -> None:
    assert entries("policy-coverage", stories.of("set", twice), object_name="D.S.NOTHING") == ""


# --- what has no tag --------------------------------------------------------------------------------------------------

UNTAGGED: Final = "masked and without a tag of its own, and so not in the answer: "


def test_policy_coverage_tells_masks_without_a_tag(twice: Store) -> None:
    graph = stories.of("set", twice)
    for given in ({}, {"object_name": "D.S.X"}, {"object_id": "101", "domain": "Table"}):
        notes = asked("policy-coverage", graph, **given, at=at(2.5)).notes
        assert any(f"{UNTAGGED}D.S.X.C." in note for note in notes)
        assert any("policy-coverage lists only what has a tag" in note for note in notes)
        assert not any(UNTAGGED in note for note in asked("policy-coverage", graph, **given, at=at(6.5)).notes)
    assert "No row sets a tag: policy-coverage lists only what has a tag." in asked("policy-coverage", graph).notes
    assert not any(UNTAGGED in note for note in asked("policy-coverage", graph, object_name="D.S.NO", at=at(2.5)).notes)
    tagged = asked("policy-coverage", stories.of("by-tag", twice), at=at(2.5))
    assert tagged.rows
    assert not any(UNTAGGED in note for note in tagged.notes)


def test_a_mask_without_a_tag_is_told_of_each_account_and_of_rows_without_an_id(twice: Store, tmp_path: Path) -> None:
    notes = asked("policy-coverage", twice, at=at(2.5)).notes
    said = ", ".join(f"D.S.X.C of the account STORY-{story}" for story in ("enforced", "set"))
    assert any(f"{UNTAGGED}{said}." in note for note in notes)
    nameless = {key: value for key, value in X101.items() if key != "objectId"}
    graph = stories.told({"without": [changed(nameless, columns=SET_MASK), read(X101)]}, tmp_path)
    assert any(f"{UNTAGGED}D.S.X.C." in note for note in asked("policy-coverage", graph).notes)


def test_a_mask_without_a_tag_is_told_beside_rows_and_while_the_object_is_there(tmp_path: Path) -> None:
    other = thing("T", 5)
    rows = [changed(X101, columns={"C": TAG}), changed(X101, **TAG), changed(other, columns=SET_MASK),
            changed(other, **TAG), changed(other, objectName={"value": "D.S.U"}), changed(thing("U", 5), "DROP"),
            read(SOURCE), changed(thing("U", 5), "UNDROP"), changed(thing("U", 5), "DROP"), read(SOURCE)]  # fmt: skip
    graph = stories.told({"beside": rows}, tmp_path)
    for minute, said in ((2.5, ""), (4.5, "D.S.T.C"), (5.5, "D.S.U.C"), (6.5, ""), (8.5, "D.S.U.C"), (9.5, "")):
        answer = asked("policy-coverage", graph, at=at(minute))
        assert answer.rows
        assert [note.partition(UNTAGGED)[2] for note in answer.notes if UNTAGGED in note] == (
            [f"{said}."] if said else []
        )
    assert not any(UNTAGGED in note for note in asked("policy-coverage", graph, at=at(4.5), tag_name="G.T.PII").notes)


ON_SCHEMA: Final[Json] = {"objectDomain": "Schema", "objectId": 30, "objectName": "D.S"}
TAGGED_SCHEMA: Final = (ON_TAG, changed(ON_SCHEMA, **TAG), read(X101, masked=True))
UNSET_BY_ID: Final[Json] = {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "DROP"}}}
OF_POLICY: Final[Json] = {"objectDomain": "Masking Policy", "objectId": 900, "objectName": "D.S.MASK"}
OTHER_ON_TAG: Final[Json] = {"maskingPolicies": {"D.S.M2": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}


@pytest.mark.parametrize(
    ("rows", "is_masked"),
    [
        ([*TAGGED_SCHEMA], True),
        ([*TAGGED_SCHEMA, changed(ON_SCHEMA, **UNTAG)], False),
        ([*TAGGED_SCHEMA, changed(PII, **UNSET_BY_ID)], False),
        ([*TAGGED_SCHEMA, changed(PII, "DROP")], False),
        ([*TAGGED_SCHEMA, changed(ON_SCHEMA, **UNTAG), changed(ON_SCHEMA, **TAG), read(X101, masked=True)], True),
        ([read(X101, masked=True), changed(OF_POLICY, "DROP")], False),
        ([read(X101, masked=True), changed(OF_POLICY, "DROP"), changed(OF_POLICY, "UNDROP")], True),
        ([read(X101, masked=True), read(X101)], False),
        ([read(X101), read(X101, masked=True)], True),
        ([read(X101, masked=True), {**read(X101), "policies_referenced": [{**X101, "columns": [
            {"columnName": "D", "policies": [MASK]}]}]}], False),
        # Not known: it may be on the column; or the policies were cut; or the column was not read.
        ([read(X101, masked=True), {**read(X101), "policies_referenced": [{**thing("X", 101), "columns": [],
          "policies": [MASK]}]}], True),
        ([read(X101, masked=True), {**read(X101), "policies_referenced": [{"objectName": "TRUNCATED"}]}], True),
        ([read(X101, masked=True), read(thing("X", 101, columns=("D",)))], True),
        # The tag of the schema has another mask: this one is set on the column itself, before the record.
        ([changed(PII, **OTHER_ON_TAG), *TAGGED_SCHEMA[1:], changed(ON_SCHEMA, **UNTAG)], True),
        # A row sets it: that it was not enforced is told by unmasked-reads (WHILE).
        ([changed(X101, columns=SET_MASK), read(X101)], True),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["full", "daily"])
def test_what_is_masked_no_more_is_not_called_so(
    rows: list[Json],
    is_masked: bool,  # noqa: FBT001 - what is expected
    mode: str,
    tmp_path: Path,
) -> None:
    graph = stories.told({"over": [*rows, read(SOURCE)]}, tmp_path, "--reads", mode)
    for given in ({}, {"object_name": "D.S.X"}):
        said = " ".join(asked("policy-coverage", graph, **given).notes)
        assert ("D.S.X.C." in said.partition(UNTAGGED)[2]) == is_masked


def test_what_was_masked_then_is_told_as_of_then(tmp_path: Path) -> None:
    rows = [*TAGGED_SCHEMA, changed(ON_SCHEMA, **UNTAG), read(X101), read(X101, masked=True), read(X101)]
    graph = stories.told({"then": rows}, tmp_path)
    told = [any(UNTAGGED in one for one in asked("policy-coverage", graph, at=at(n + 0.5)).notes) for n in range(2, 8)]
    assert told == [False, True, False, False, True, False]


# --- as it was called -------------------------------------------------------------------------------------------------


def test_notes_name_what_was_dropped_as_it_was_called_then(twice: Store) -> None:
    """A SWAP gave the former table the name of the build for a minute, before its DROP."""
    for story, question in (("set", "policy-coverage"), ("set", "unmasked-reads"), ("by-tag", "policy-coverage")):
        for given in ({}, {"object_name": "D.S.X"}, {"object_name": "D.S.X", "at": at(6.5)}):
            if question == "policy-coverage" or "at" not in given:
                told = "\n".join(asked(question, stories.of(story, twice), **given).notes)
                assert told
                assert "X__NEW" not in told
    tags = "\n".join(asked("policy-coverage", stories.of("by-tag", twice)).notes)
    assert f"G.T.PII on D.S.X.C until {at(5)[:-1]}" in tags
    named = asked("policy-coverage", stories.of("by-tag", twice), object_name="D.S.X__NEW").notes
    assert any("No row sets a tag on D.S.X__NEW (object_id=102)" in note for note in named)


def test_a_mask_on_another_form_is_told_under_the_name_of_the_query(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Queries read a view over the table, and enforced the mask on the table; others, a mask without a column."""
    view = thing("V", 7, "View")
    over = {"user_name": "ANA", "direct_objects_accessed": [view], "base_objects_accessed": [X101],
            "policies_referenced": [{**X101, "columns": [{"columnName": "C", "policies": [MASK]}]}]}  # fmt: skip
    whole = {**read(X101), "policies_referenced": [{**thing("X", 101), "columns": [], "policies": [MASK]}]}
    rows = [changed(view, columns=SET_MASK), over, whole, *night(102)]
    graph = stories.told({"view": rows}, tmp_path)
    notes = "\n".join(asked("unmasked-reads", graph).notes)
    assert "D.S.X.C in query q2" in notes
    assert "without naming a column: on D.S.X." in notes
    assert "X__NEW" not in notes
    coverage = [*rows[:1], changed(X101, columns={"C": TAG}), {**read(X101, masked=True)}, *night(102)]
    folder = tmp_path_factory.mktemp("tag")
    notes = "\n".join(asked("policy-coverage", stories.told({"tag": coverage}, folder)).notes)
    assert "therefore not among the policies: D.S.MASK on D.S.X.C" in notes
    assert "X__NEW" not in notes


def test_notes_spell_columns_as_rows_do(tmp_path: Path) -> None:
    """A name of quotes: of rows, it is ``c d``."""
    first, second = (thing("A", number, columns=("c d",)) for number in (1, 2))
    rows = [changed(first, columns={"c d": SET_MASK["C"]}), changed(second, "REPLACE"), read(second, "BEN")]
    graph = stories.told({"quoted": rows}, tmp_path)
    for question, given in (("unmasked-reads", {}), ("unmasked-copies", {}), ("changes", {"since": at(0)})):
        assert ": D.S.A.c d (object_id=2 " in entries(question, graph, **given)
