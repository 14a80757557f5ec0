"""Tags with a masking policy on whole tables, schemas and databases, whose columns have them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_masked_later import MASK, UNMASK, read
from tests.ask.test_tag_reach import A, B, changed, copied, tags

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
TAG: Final = {"objectDomain": "Tag", "objectId": 9, "objectName": "D.S.PII"}
WHOLES: Final = {
    "table": A,
    "schema": {"objectDomain": "Schema", "objectId": 71, "objectName": "D.S"},
    "database": {"objectDomain": "Database", "objectId": 72, "objectName": "D"},
}
OTHER: Final = {"objectDomain": "Schema", "objectId": 73, "objectName": "D.S2"}


def enforced(number: int) -> Json:
    policy = {"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}
    return {
        **read(number, A, "C"),
        "policies_referenced": [{**A, "columns": [{"columnName": "C", "policies": [policy]}]}],
    }


def asked(rows: list[Json], folder: Path, question: str, reads: str = "full", **given: str) -> Answer:
    out = folder / "out"
    assert (
        exports.export([exports.ndjson(rows, folder / "rows.ndjson")], out, "--outputs", "graph", "--reads", reads) == 0
    )
    return ask(load(out), find(question), given)


def tagged(whole: str) -> list[Json]:
    """The policy is set on the tag on 2 January, the tag on the object on the 3rd; USER4 reads."""
    return [changed(2, TAG, MASK), changed(3, WHOLES[whole], tags()), read(4, A, "C")]


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_a_mask_through_the_tag_of_a_table_is_set_on_a_column_on_which_it_was_enforced(
    reads: str, tmp_path: Path
) -> None:
    rows = [read(1, A, "C"), *tagged("table"), enforced(5), read(6, A, "C"), read(7, A, "X"), changed(8, TAG, UNMASK)]
    answer = asked([*rows, read(9, A, "C")], tmp_path, "unmasked-reads", reads)
    words = {"USER1": "BEFORE", "USER4": "WHILE", "USER6": "WHILE", "USER9": "AFTER"}
    assert {row[0]: row[5] for row in answer.rows} == words
    assert {row[4] for row in answer.rows} == {"C"}


@pytest.mark.parametrize("question", ["unmasked-reads", "unmasked-copies"])
@pytest.mark.parametrize("whole", WHOLES)
def test_a_mask_through_the_tag_of_a_whole_that_was_never_enforced_is_told(
    whole: str, question: str, tmp_path: Path
) -> None:
    given = {"object_name": "D.S.A"} if question == "unmasked-reads" else {}
    answer = asked(tagged(whole), tmp_path, question, **given)
    assert not answer.rows
    told = " ".join(answer.notes)
    assert f"D.S.PII on {WHOLES[whole]['objectName']} ({whole.capitalize()})" in told
    assert "does not apply" not in told


@pytest.mark.parametrize("question", ["policy-coverage", "tag-history"])
def test_tags_of_the_schema_are_told(question: str, tmp_path: Path) -> None:
    given = {"object_name": "D.S.A"} | ({"column_name": "C"} if question == "tag-history" else {})
    answer = asked([*tagged("schema"), changed(5, OTHER, tags())], tmp_path, question, **given)
    assert not answer.rows
    assert any("which are not in the answer: D.S.PII of D.S." in note for note in answer.notes)


def test_tags_of_the_schema_at_another_time_are_not_told(tmp_path: Path) -> None:
    """The schema has the tag from 3 to 5 January; at noon on the 5th it has not."""
    rows = [*tagged("schema"), changed(5, WHOLES["schema"], tags(doing="DROP"))]
    answer = asked(rows, tmp_path, "policy-coverage", object_name="D.S.A")
    assert not any("has its tags" in note for note in answer.notes)
    store = load(tmp_path / "out")
    for day, is_told in ((2, False), (4, True), (5, False)):
        given = {"object_name": "D.S.A", "at": f"2026-01-0{day}T12:00:00Z"}
        notes = ask(store, find("policy-coverage"), given).notes
        assert any("has its tags" in note for note in notes) == is_told


def test_a_policy_that_was_not_on_the_tag_while_the_table_had_it_is_not_told(tmp_path: Path) -> None:
    rows = [changed(2, TAG, MASK), changed(3, TAG, UNMASK), changed(4, A, tags()), read(5, A, "C")]
    told = asked(rows, tmp_path, "unmasked-reads", object_name="D.S.A").notes
    assert not any("whole objects" in note for note in told)


def test_what_is_in_another_schema_does_not_have_them(tmp_path: Path) -> None:
    rows = [changed(1, TAG, MASK), changed(2, OTHER, tags()), read(3, A, "C")]
    told = asked(rows, tmp_path, "unmasked-reads", object_name="D.S.A").notes
    assert not any("whole objects" in note for note in told)
    assert any("does not apply" in note for note in told)


def test_a_read_of_a_copy_with_a_mask_through_the_tag_of_its_table_is_not_unmasked(tmp_path: Path) -> None:
    """The source is masked; USER5 reads the copy before its table has the tag, and USER8 while it has it."""
    copy = {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.B"}
    policy = {"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}
    masked = {"policies_referenced": [{**copy, "columns": [{"columnName": "C", "policies": [policy]}]}]}
    rows = [
        changed(1, A, {"columns": {"C": MASK}}),
        copied(2, A, copy),
        changed(3, TAG, MASK),
        read(5, copy, "C"),
        changed(6, copy, tags()),
        {**read(7, copy, "C"), **masked},
        read(8, copy, "C"),
    ]
    of_copy = ("D.S.A", "C", "D.S.MASK", "D.S.B", "C")
    assert [tuple(row) for row in asked(rows, tmp_path, "unmasked-copies").rows] == [of_copy]
    assert not ask(load(tmp_path / "out"), find("unmasked-copies"), {"since": "2026-01-06"}).rows


@pytest.mark.parametrize(("of", "told"), [("schema", ["D.S.B.C"]), ("database", ["D.S.B.C"]), ("table", [])])
def test_a_copy_whose_schema_or_database_has_the_tag_is_told(of: str, told: list[str], tmp_path: Path) -> None:
    """The copy is in another schema than that in ``OTHER``, which has the tag, too."""
    rows = [changed(1, A, {"columns": {"C": tags()}}), copied(2, A, B), changed(3, WHOLES[of], tags())]
    answer = asked([*rows, changed(4, OTHER, tags())], tmp_path, "tag-reach")
    assert [row[4:] for row in answer.rows] == [("D.S.B", "C")]
    start = "In a schema or database that has the tag, from which they have it, too: "
    assert [note for note in answer.notes if note.startswith(start)] == [f"{start}{one}." for one in told]


def test_a_name_that_two_tags_had_is_told(tmp_path: Path) -> None:
    """The first tag is renamed, and another one gets its name."""
    rename = changed(2, TAG, {"objectName": {"value": "D.S.OLD"}})
    made = changed(3, TAG | {"objectId": 10}, {}, "CREATE")
    answer = asked([changed(1, A, tags()), rename, made], tmp_path, "policy-coverage", tag_name="D.S.PII")
    told = [note for note in answer.notes if note.startswith("Several tags have or had the name D.S.PII")]
    assert len(told) == 1
    assert all(f"Tag {ident}, D.S.PII, from 2026-01-0{since}" in told[0] for ident, since in ((9, 1), (10, 3)))


def test_a_name_of_one_tag_needs_no_note(tmp_path: Path) -> None:
    assert asked([changed(1, A, tags())], tmp_path, "policy-coverage", tag_name="D.S.PII").notes == []


RENAMED: Final = {"columns": {"C": {"subOperationType": "ALTER", "objectName": {"value": "E"}}}}


@pytest.mark.parametrize("whole", WHOLES)
def test_a_renamed_column_keeps_the_mask_of_the_tag_of_its_table_schema_or_database(whole: str, tmp_path: Path) -> None:
    """It was enforced under the former name; the tag and its policy are set until the 8th."""
    rows = [*tagged(whole)[:2], enforced(4), changed(5, A, RENAMED), read(6, A, "E"), changed(8, TAG, UNMASK)]
    answer = asked([*rows, read(9, A, "E")], tmp_path, "unmasked-reads")
    assert {row[0]: row[5] for row in answer.rows} == {"USER6": "WHILE", "USER9": "AFTER"}


TAKEN_AWAY: Final = {
    "policy off the tag": (TAG, UNMASK, "ALTER"),
    "tag dropped": (TAG, {}, "DROP"),
    "tag off the object": (None, tags(doing="DROP"), "ALTER"),
    "nothing": (OTHER, tags(), "ALTER"),
}


@pytest.mark.parametrize("how", TAKEN_AWAY)
@pytest.mark.parametrize("whole", WHOLES)
def test_a_copy_that_is_read_after_the_mask_of_a_tag_was_taken_away_is_none(
    whole: str, how: str, tmp_path: Path
) -> None:
    """docs/graph.md: a read after the mask was taken away does not count."""
    thing, properties, operation = TAKEN_AWAY[how]
    taken = changed(6, thing or WHOLES[whole], properties, operation)
    rows = [copied(1, A, B), *tagged(whole)[:2], enforced(5), taken, read(7, B, "C")]
    answer = asked(rows, tmp_path, "unmasked-copies")
    assert [row[3:] for row in answer.rows] == ([("D.S.B", "C")] if how == "nothing" else [])


@pytest.mark.parametrize("whole", WHOLES)
def test_a_copy_under_the_new_name_of_a_masked_column_counts(whole: str, tmp_path: Path) -> None:
    rows = [*tagged(whole)[:2], enforced(4), changed(5, A, RENAMED), copied(6, A, B, read="E"), read(7, B, "C")]
    assert [row[:2] for row in asked(rows, tmp_path, "unmasked-copies").rows] == [("D.S.A", "E")]


def test_the_tag_of_the_table_is_told_of_a_column(tmp_path: Path) -> None:
    answer = asked([changed(1, A, tags())], tmp_path, "tag-history", object_name="D.S.A", column_name="C")
    assert any("D.S.PII of D.S.A" in note for note in answer.notes)


def test_a_tag_of_the_schema_at_that_time_is_told(tmp_path: Path) -> None:
    """The table was moved to another schema later."""
    moved = changed(4, A, {"objectName": {"value": "D.S2.A"}})
    rows = [changed(2, WHOLES["schema"], tags()), read(3, A, "C"), moved]
    asked_at = {"object_name": "D.S.A", "at": "2026-01-03T12:00:00Z"}
    assert any("D.S.PII of D.S." in note for note in asked(rows, tmp_path, "policy-coverage", **asked_at).notes)


MOVED: Final = {"objectName": {"value": "D2.S2.A"}}
OUTSIDE: Final = {**A, "objectName": "D2.S2.A"}


@pytest.mark.parametrize("whole", ["schema", "database"])
def test_a_table_that_leaves_has_the_mask_of_the_tag_no_more(whole: str, tmp_path: Path) -> None:
    """docs/questions.md: AFTER, there was one earlier, but none was set at that time."""
    rows = [*tagged(whole)[:2], enforced(4), read(5, A, "C"), changed(6, A, MOVED), read(7, OUTSIDE, "C")]
    answer = asked(rows, tmp_path, "unmasked-reads")
    assert {row[0]: row[5] for row in answer.rows} == {"USER5": "WHILE", "USER7": "AFTER"}


@pytest.mark.parametrize("whole", ["schema", "database"])
def test_a_table_that_comes_was_read_before_its_mask(whole: str, tmp_path: Path) -> None:
    moved = changed(5, OUTSIDE, {"objectName": {"value": "D.S.A"}})
    rows = [*tagged(whole)[:2], read(4, OUTSIDE, "C"), moved, enforced(6), read(7, A, "C")]
    answer = asked(rows, tmp_path, "unmasked-reads")
    assert {row[0]: row[5] for row in answer.rows} == {"USER4": "BEFORE", "USER7": "WHILE"}


@pytest.mark.parametrize("whole", ["schema", "database"])
def test_a_copy_that_left_the_tagged_schema_is_not_masked(whole: str, tmp_path: Path) -> None:
    """A is masked by itself; its copy B by the tag until it is moved."""
    policy = [{"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}]
    on_copy = {"policies_referenced": [{**B, "columns": [{"columnName": "C", "policies": policy}]}]}
    rows = [changed(1, A, {"columns": {"C": MASK}}), copied(2, A, B)]
    rows += [changed(3, TAG, MASK), changed(4, WHOLES[whole], tags()), {**read(5, B, "C"), **on_copy}]
    rows += [changed(6, B, {"objectName": {"value": "X.Y.B"}}), read(7, {**B, "objectName": "X.Y.B"}, "C")]
    assert [row[3:] for row in asked(rows, tmp_path, "unmasked-copies").rows] == [("X.Y.B", "C")]


@pytest.mark.parametrize("whole", WHOLES)
def test_a_policy_that_is_away_when_the_tag_is_set_again_masks_nothing(whole: str, tmp_path: Path) -> None:
    """It was set on the tag, dropped, and brought back after the read."""
    policy = {"objectDomain": "Masking Policy", "objectId": 40, "objectName": "D.S.MASK"}
    rows = [
        *tagged(whole)[:2],
        enforced(4),
        changed(5, WHOLES[whole], tags(doing="DROP")),
        changed(6, policy, {}, "DROP"),
    ]
    rows += [changed(7, WHOLES[whole], tags()), read(8, A, "C"), changed(9, policy, {}, "UNDROP"), read(10, A, "C")]
    answer = asked(rows, tmp_path, "unmasked-reads")
    assert {row[0]: row[5] for row in answer.rows} == {"USER8": "AFTER", "USER10": "WHILE"}


@pytest.mark.parametrize("whole", WHOLES)
def test_a_policy_on_the_tag_of_a_whole_is_set_by_a_row(whole: str, tmp_path: Path) -> None:
    """Also where the column that it was enforced on has a tag of its own."""
    other = {"tags": {"D.S.X": {"objectId": {"value": 10}, "tagValue": {"value": "x"}}}}
    rows = [*tagged(whole)[:2], changed(4, A, {"columns": {"C": other}}), enforced(5)]
    assert not any("set by no row" in note for note in asked(rows, tmp_path, "policy-coverage").notes)
