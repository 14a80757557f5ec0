"""What answers say of protection that rows tell only in part: masks that may have covered a read, policies in the place
of others, schemas of policies, and grants on all objects of a schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.answers import render
from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import MASK, SET_MASK, changed, read, thing

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
T: Final = thing("T", 1)
V: Final = thing("V", 2, "View")
OTHER: Final = {"C": {"maskingPolicies": {"D.S.OTHER": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}}
UNSET_OTHER: Final = {"C": {"maskingPolicies": {"D.S.OTHER": {"objectId": {"value": 901}, "subOperationType": "DROP"}}}}


def answered(rows: list[Json], folder: Path, question: str, **given: str) -> Answer:
    return ask(stories.told({"one": rows}, folder), find(question), given)


def protecting(place: Json, column: str = "C") -> list[Json]:
    return [{**place, "columns": [{"columnName": column, "policies": [MASK]}]}]


def through_view(masked: Json, column: str = "C") -> Json:
    row = {"user_name": "BEN", "direct_objects_accessed": [V], "base_objects_accessed": [T]}
    return {**row, "policies_referenced": protecting(masked, column)}


READS: Final[dict[str, tuple[list[Json], str]]] = {
    "without an id": (
        [changed(T, columns=SET_MASK), {**read(T, "BEN"), "policies_referenced": protecting({**T, "objectId": None})}],
        "D.S.T.C in query q2",
    ),
    "in another letter case": (
        [changed(T, columns=SET_MASK), {**read(T, "BEN"), "policies_referenced": protecting(T, "c")}],
        "D.S.T.c in query q2",
    ),
    "behind the view": ([changed(V, columns=SET_MASK), through_view(T)], "D.S.T.C in query q2"),
    "of a view over the table": ([changed(T, columns=SET_MASK), through_view(V)], "D.S.V.C in query q2"),
}


@pytest.mark.parametrize("name", READS)
def test_a_mask_that_may_have_covered_what_was_read_is_told(name: str, tmp_path: Path) -> None:
    rows, place = READS[name]
    answer = answered(rows, tmp_path, "unmasked-reads")
    assert [(row[0], row[5]) for row in answer.rows] == [("BEN", "WHILE")]
    assert [place in note for note in answer.notes if "it covered" in note] == [True]


@pytest.mark.parametrize("row", [read(T, "BEN"), {**read(T, "BEN"), "policies_referenced": protecting(thing("X", 7))}])
def test_another_mask_is_not(row: Json, tmp_path: Path) -> None:
    answer = answered([changed(T, columns=SET_MASK), row], tmp_path, "unmasked-reads")
    assert len(answer.rows) == 1
    assert not any("it covered" in note for note in answer.notes)


# --- one policy in the place of another -------------------------------------------------------------------------------

TAG: Final = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD"}}
WITH_TAG: Final = changed(T, columns={"C": {"tags": TAG, **SET_MASK["C"]}})


def test_a_policy_that_is_set_in_the_place_of_another_ends_it(tmp_path: Path) -> None:
    """ALTER TABLE … SET MASKING POLICY … FORCE; a column has one masking policy (Snowflake, "ALTER TABLE")."""
    rows = [WITH_TAG, changed(T, columns=OTHER), read(T, "BEN"), changed(T, columns=UNSET_OTHER), read(T, "CLEO")]
    for minute, policies in ((1, "D.S.MASK"), (2, "D.S.OTHER"), (4, None)):
        (folder := tmp_path / str(minute)).mkdir()
        at = f"2026-01-01T00:{minute:02}:30Z"
        covered = answered(rows, folder, "policy-coverage", at=at).rows
        assert [row[3] or None for row in covered] == [policies]
    (folder := tmp_path / "reads").mkdir()
    assert [(row[0], row[5]) for row in answered(rows, folder, "unmasked-reads").rows] == [
        ("BEN", "WHILE"), ("CLEO", "AFTER"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["rowAccessPolicies", "aggregationPolicies", "joinPolicies"])
def test_a_table_has_one_policy_of_a_kind(kind: str, tmp_path: Path) -> None:
    first, second = ({kind: {name: {"objectId": {"value": number}}}} for name, number in (("D.S.P", 1), ("D.S.Q", 2)))
    rows = [changed(T, tags=TAG, **first), changed(T, **second)]
    assert [row[3] for row in answered(rows, tmp_path, "policy-coverage").rows] == ["D.S.Q"]


def test_a_tag_has_a_masking_policy_for_each_data_type(tmp_path: Path) -> None:
    tag = {"objectDomain": "Tag", "objectName": "D.S.PII", "objectId": 80}
    policies = [changed(tag, maskingPolicies=one["C"]["maskingPolicies"]) for one in (SET_MASK, OTHER)]
    rows = [changed(T, columns={"C": {"tags": TAG}}), *policies]
    assert [row[3] for row in answered(rows, tmp_path, "policy-coverage").rows] == ["D.S.MASK, D.S.OTHER"]


# --- what happened to the schema of a policy --------------------------------------------------------------------------


def test_the_schema_of_a_policy_that_is_renamed_and_dropped_is_told_of_reads(tmp_path: Path) -> None:
    """The policy goes on to mask under its new name, until its schema is dropped."""
    schema = {"objectDomain": "Schema", "objectId": 70, "objectName": "G.P"}
    mask = {"C": {"maskingPolicies": {"G.P.M": {"objectId": {"value": 900}, "subOperationType": "ADD"}}}}
    moved = changed(schema, objectName={"value": "G.PN"})
    rows = [changed(T, columns=mask), moved, changed({**schema, "objectName": "G.PN"}, "DROP"), read(T, "BEN")]
    notes = answered(rows, tmp_path, "unmasked-reads").notes
    assert any("G.PN was dropped" in note and "G.P.M as if" in note for note in notes)
    assert not any("G.P was renamed" in note for note in notes)


# --- grants on all objects of a schema --------------------------------------------------------------------------------


def granted(kind: str, done: str = "grant") -> Json:
    scope = {"SECURABLE_OBJECT_SCOPE": "D.S", "SECURABLE_OBJECT_SCOPE_DOMAIN": "SCHEMA"}
    told = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": kind, **scope}
    return changed({"objectDomain": "Share", "objectId": 60, "objectName": "SH"}, **{done: {"value": told}})


@pytest.mark.parametrize(
    ("grants", "given", "is_told"),
    [
        ([granted("TABLE")], {}, True),
        ([granted("VIEW")], {}, False),
        ([granted("TABLE"), granted("TABLE", "revoke")], {}, False),
        ([granted("TABLE"), granted("TABLE", "revoke")], {"at": "2026-01-01T00:02:30Z"}, True),
    ],
)
def test_a_grant_on_all_tables_of_the_schema_is_told_while_it_holds(
    grants: list[Json], given: dict[str, str], *, is_told: bool, tmp_path: Path
) -> None:
    answer = answered([changed(T, "CREATE"), *grants], tmp_path, "exposure", object_name="D.S.T", **given)
    assert answer.rows == []
    assert any("SELECT ON ALL TABLE in D.S" in note for note in answer.notes) == is_told


def test_an_answer_has_none_for_a_grant_without_a_privilege_and_for_no_columns(tmp_path: Path) -> None:
    share = {"objectDomain": "Share", "objectId": 60, "objectName": "SH"}
    on_t = {"SECURABLE_OBJECT_DOMAIN": "TABLE", "SECURABLE_OBJECT_ID": 1, "SECURABLE_OBJECT_NAME": "D.S.T"}
    unloaded = {"objects_modified": [{"objectDomain": "Stage", "objectId": 7, "objectName": "D.S.ST"}]}
    rows = [
        changed(share, grant={"value": {"PRIVILEGES": ["SELECT"], **on_t}}),
        changed(share, accountsToAdd={"value": ["A.B"]}),
        {**read(T), **unloaded},
    ]
    store = stories.told({"one": rows}, tmp_path)
    assert {row["privilege"] for row in ask(store, find("exposure"), {}).dicts()} == {"SELECT", None}
    answer = ask(store, find("sensitive-data-movement"), {"object_name": "D.S.T"})
    assert [row["target_columns"] for row in answer.dicts()] == [None]
    assert '"target_columns": null' in render(answer, "json")


@pytest.mark.parametrize(
    ("kind", "until", "is_told"),
    [("TABLE", None, True), ("VIEW", None, False), ("TABLE", "2026-01-01T00:01:30Z", False)],
)
@pytest.mark.parametrize("is_revoked", [True, False])
def test_data_that_ended_up_where_all_tables_of_the_schema_were_granted_is_told(
    kind: str, until: str | None, *, is_told: bool, is_revoked: bool, tmp_path: Path
) -> None:
    source = {**T, "objectName": "D.OTHER.T"}
    column = {"columnName": "C", "directSources": [{**source, "columnName": "C"}]}
    copied = {**read(source), "objects_modified": [{**thing("B", 3), "columns": [column]}]}
    rows = [copied, granted(kind), *([granted(kind, "revoke")] if is_revoked else [])]
    given = {} if until is None else {"until": until}
    answer = answered(rows, tmp_path, "end-up", object_name="D.OTHER.T", **given)
    assert "D.S.B" in {row["target_name"] for row in answer.dicts()}
    assert any("SELECT ON ALL TABLE in D.S" in note for note in answer.notes) == is_told


PII: Final[Json] = {"objectDomain": "Tag", "objectId": 80, "objectName": "G.T.PII"}
TAGGED: Final = changed(T, columns={"C": {"tags": {"G.T.PII": {"objectId": {"value": 80}, "subOperationType": "ADD"}}}})
EXCHANGED: Final[list[Json]] = [TAGGED, changed(PII, **SET_MASK["C"]), changed(PII, **OTHER["C"])]
BY_OTHER: Final[Json] = {
    **read(T),
    "policies_referenced": [
        {**T, "columns": [{"columnName": "C", "policies": [{**MASK, "policyName": "D.S.OTHER", "policyId": 901}]}]}
    ],
}


@pytest.mark.parametrize(
    ("rows", "given", "said"),
    [
        ([*EXCHANGED, BY_OTHER], {}, ["D.S.MASK"]),
        ([*EXCHANGED, BY_OTHER, changed(PII, **UNSET_OTHER["C"])], {"object_name": "D.S.T"}, ["D.S.MASK"]),
        ([*EXCHANGED, BY_OTHER], {"at": "2026-01-01T00:02:30Z"}, []),
        # Enforced since, it is of another data type.
        ([*EXCHANGED, BY_OTHER, read(T, masked=True)], {}, []),
        # Enforced on columns that have it by their own setting, or by no row, it says nothing of the tag.
        ([changed(thing("OWN", 5), columns=SET_MASK), *EXCHANGED, BY_OTHER, read(thing("OWN", 5), masked=True)], {},
            ["D.S.MASK"]),
        ([changed(T, columns=SET_MASK), *EXCHANGED, read(T, masked=True)], {}, ["D.S.MASK"]),
        ([*EXCHANGED, BY_OTHER, read(thing("OLD", 5), masked=True)], {}, ["D.S.MASK"]),
        # Unset before, or since; or both set by one statement; or on the column, which has one at a time.
        ([TAGGED, EXCHANGED[1], changed(PII, maskingPolicies={"D.S.MASK": {"objectId": {"value": 900},
            "subOperationType": "DROP"}}), EXCHANGED[2], BY_OTHER], {}, []),
        ([*EXCHANGED, changed(PII, maskingPolicies={"D.S.MASK": {"objectId": {"value": 900},
            "subOperationType": "DROP"}}), BY_OTHER], {}, []),
        ([TAGGED, changed(PII, maskingPolicies={**SET_MASK["C"]["maskingPolicies"],
            **OTHER["C"]["maskingPolicies"]})], {}, []),
        ([TAGGED, changed(T, columns=SET_MASK), changed(T, columns=OTHER)], {}, []),
    ],
)  # fmt: skip
def test_a_mask_on_a_tag_that_another_one_may_have_replaced_is_told(
    rows: list[Json], given: dict[str, str], said: list[str], tmp_path: Path
) -> None:
    words, end = "no query enforced them by the tag since: ", " on G.T.PII"
    notes = answered([*rows, read(thing("SOURCE", 4))], tmp_path, "policy-coverage", **given).notes
    assert [note.partition(words)[2].partition(end)[0] for note in notes if words in note] == said


def test_a_mask_on_a_tag_that_may_have_been_replaced_is_told_of_reads_and_copies(tmp_path: Path) -> None:
    graph = stories.told({"one": [*EXCHANGED, BY_OTHER, changed(PII, **UNSET_OTHER["C"]), read(T, "BEN")]}, tmp_path)
    for question in ("unmasked-reads", "unmasked-copies"):
        for given in ({}, {"object_name": "D.S.T"} if question == "unmasked-reads" else {}):
            notes = ask(graph, find(question), given).notes
            assert any("these count as set, though another one may have taken their place" in note for note in notes)
    notes = ask(graph, find("unmasked-reads"), {"object_name": "D.S.T", "until": "2026-01-01T00:02:30Z"}).notes
    assert not any("these count as set" in note for note in notes)
