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


def masked(number: int, thing: Json) -> Json:
    policy = {"policyName": "D.S.MASK", "policyId": 40, "policyKind": "MASKING_POLICY"}
    return {
        **read(number, thing, "C"),
        "policies_referenced": [{**thing, "columns": [{"columnName": "C", "policies": [policy]}]}],
    }


def enforced(number: int) -> Json:
    return masked(number, A)


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


# --- names of schemas and databases that others had, or get -----------------------------------------------------------

D_S, D = WHOLES["schema"], WHOLES["database"]
SAME: Final = {"schema": {**D_S, "objectId": 81}, "database": {**D, "objectId": 82}}
"""Others, which have the names of those with the tag at another time."""
ELSEWHERE: Final = {"schema": "D.S8", "database": "E"}
HERE: Final = {"schema": "D.S8.A", "database": "E.S.A"}
"""The name that a table in the one with the tag has when that has the name in ``ELSEWHERE``."""
N: Final = {"objectDomain": "Table", "objectId": 5, "objectName": "D.S.N"}
CONTAINERS: Final = ("schema", "database")


def given(number: int, whole: str, name: str) -> Json:
    return changed(number, WHOLES[whole], {"objectName": {"value": name}})


def swapped(number: int, one: Json, other: Json) -> Json:
    """A row of a SWAP for each of the two has the other one."""
    domain, ident, name = (other[key] for key in ("objectDomain", "objectId", "objectName"))
    target = {"swapTargetDomain": domain, "swapTargetId": ident, "swapTargetName": name}
    return changed(number, one, {key: {"value": value} for key, value in target.items()})


LEFT: Final = {
    "renamed": lambda whole: [given(5, whole, ELSEWHERE[whole]), changed(6, SAME[whole], {}, "CREATE")],
    "swapped": lambda whole: [
        changed(1, {**SAME[whole], "objectName": ELSEWHERE[whole]}, {}, "CREATE"),
        swapped(5, WHOLES[whole], {**SAME[whole], "objectName": ELSEWHERE[whole]}),
        swapped(5, {**SAME[whole], "objectName": ELSEWHERE[whole]}, WHOLES[whole]),
    ],
}


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("how", LEFT)
@pytest.mark.parametrize("whole", CONTAINERS)
def test_a_table_in_another_schema_of_a_former_name_has_no_mask_through_its_tag(
    whole: str, how: str, reads: str, tmp_path: Path
) -> None:
    """The one with the tag has another name since the 5th; the table is made on the 7th, and masked by itself on the
    9th. What is in it had its mask before, and has it under its new name.
    """
    there = {**A, "objectName": HERE[whole]}
    rows = [*tagged(whole)[:2], masked(4, A), *LEFT[how](whole), changed(7, N, {}, "CREATE"), read(8, N, "C")]
    rows += [changed(9, N, {"columns": {"C": MASK}}), masked(10, N), read(11, there, "C")]
    answer = asked(rows, tmp_path, "unmasked-reads", reads)
    assert {row[0]: row[5] for row in answer.rows} == {"USER8": "BEFORE", "USER11": "WHILE"}
    told = ask(load(tmp_path / "out"), find("unmasked-reads"), {"object_name": "D.S.N"}).notes
    assert not any("whole objects" in note for note in told)


@pytest.mark.parametrize("how", ["renamed", "swapped"])
@pytest.mark.parametrize("whole", CONTAINERS)
def test_a_name_that_the_tagged_one_gets_later_masks_nothing_before(whole: str, how: str, tmp_path: Path) -> None:
    """The table is in the other one, which had the name first, until the 7th; USER4 reads it before its own mask."""
    own, there = SAME[whole], {**WHOLES[whole], "objectName": ELSEWHERE[whole]}
    takes = {
        "renamed": [changed(7, own, {}, "DROP"), changed(8, there, {"objectName": {"value": own["objectName"]}})],
        "swapped": [swapped(7, own, there), swapped(7, there, own)],
    }
    rows = [changed(1, own, {}, "CREATE"), changed(2, TAG, MASK), changed(3, there, tags()), read(4, A, "C")]
    rows += [changed(5, A, {"columns": {"C": MASK}}), masked(6, A), *takes[how]]
    answer = asked(rows, tmp_path, "unmasked-reads")
    assert {row[0]: row[5] for row in answer.rows} == {"USER4": "BEFORE"}


@pytest.mark.parametrize("whole", CONTAINERS)
def test_a_table_that_moves_into_another_one_of_the_former_name(whole: str, tmp_path: Path) -> None:
    """It was masked while it was in the one with the tag, and moves on the 8th into the one that has the name now."""
    moved = {**A, "objectName": "X.Y.A"}
    rows = [*tagged(whole)[:2], masked(4, A), changed(5, A, {"objectName": {"value": "X.Y.A"}})]
    rows += [given(6, whole, ELSEWHERE[whole]), changed(7, SAME[whole], {}, "CREATE")]
    rows += [changed(8, moved, {"objectName": {"value": "D.S.A"}}), read(9, A, "C")]
    answer = asked(rows, tmp_path, "unmasked-reads")
    assert {row[0]: row[5] for row in answer.rows} == {"USER9": "AFTER"}


@pytest.mark.parametrize("whole", CONTAINERS)
def test_a_copy_of_what_is_in_another_one_of_the_former_name(whole: str, tmp_path: Path) -> None:
    """USER8 reads the copy before the source is masked; the other one has the tag, too, since the 9th."""
    copy = {"objectDomain": "Table", "objectId": 6, "objectName": "X.Y.B"}
    rows = [*tagged(whole)[:2], masked(4, A), given(5, whole, ELSEWHERE[whole]), changed(6, SAME[whole], {}, "CREATE")]
    rows += [copied(7, N, copy), read(8, copy, "C"), changed(9, SAME[whole], tags()), masked(10, N)]
    assert not asked(rows, tmp_path, "unmasked-copies").rows


@pytest.mark.parametrize("whole", CONTAINERS)
def test_a_copy_is_unmasked_once_the_other_one_has_the_tag(whole: str, tmp_path: Path) -> None:
    copy = {"objectDomain": "Table", "objectId": 6, "objectName": "X.Y.B"}
    rows = [*tagged(whole)[:2], masked(4, A), given(5, whole, ELSEWHERE[whole]), changed(6, SAME[whole], {}, "CREATE")]
    rows += [copied(7, N, copy), changed(8, SAME[whole], tags()), masked(9, N), read(10, copy, "C")]
    assert [row[0] for row in asked(rows, tmp_path, "unmasked-copies").rows] == ["D.S.N"]


@pytest.mark.parametrize("whole", CONTAINERS)
def test_what_is_in_one_that_is_renamed_is_masked_as_before(whole: str, tmp_path: Path) -> None:
    """docs/graph.md: what is in it has its former name until a row shows the new one. USER6 reads the copy before."""
    there, copy = {**A, "objectName": HERE[whole]}, {**B, "objectName": "X.Y.B"}
    rows = [copied(1, A, copy), *tagged(whole)[:2], masked(4, A), given(5, whole, ELSEWHERE[whole])]
    rows += [read(6, copy, "C"), masked(7, there)]
    assert [row[3] for row in asked(rows, tmp_path, "unmasked-copies").rows] == ["X.Y.B"]
