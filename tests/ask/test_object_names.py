"""Tables that are built under another name and take theirs by SWAP or RENAME: what answers call them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import Store

from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import at, changed, copied, read, renamed, swapped, thing

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
SOURCE: Final = thing("SOURCE", 4)
TAG: Final = {
    "C": {"tags": {"D.S.PII": {"objectId": {"value": 90}, "subOperationType": "ADD", "tagValue": {"value": "x"}}}}
}
SHARE: Final = {"objectDomain": "Share", "objectId": 60, "objectName": "SH"}


def granted(**securable: Any) -> Json:
    told = {"PRIVILEGES": ["SELECT"], "SECURABLE_OBJECT_DOMAIN": "TABLE", **securable}
    return changed(SHARE, grant={"value": told})


def build(number: int) -> list[Json]:
    """A query that fills X_NEW, and one that tags it."""
    built = thing("X_NEW", number)
    return [copied(SOURCE, built, "CREATE"), changed(built, columns=TAG)]


def night(number: int) -> list[Json]:
    """Four queries: a build, the SWAP with X, and the DROP of the former X."""
    swap = swapped(thing("X", number - 1), thing("X_NEW", number))
    return [*build(number), *swap, changed(thing("X_NEW", number - 1), "DROP")]


def within(schema: str, row: Json) -> Json:
    return json.loads(json.dumps(row).replace("D.S.", f"{schema}."))


def schema(name: str, number: int, other: str, other_number: int) -> Json:
    target = {"swapTargetName": {"value": other}, "swapTargetId": {"value": other_number}}
    own = {"objectDomain": "Schema", "objectId": number, "objectName": name}
    properties = {"swapTargetDomain": {"value": "Schema"}, **target}
    return {"object_modified_by_ddl": {**own, "operationType": "ALTER", "properties": properties}}


VIEW: Final = thing("V", 50, "View")


def read_through(base: Json) -> Json:
    return {"user_name": "ANA", "direct_objects_accessed": [VIEW], "base_objects_accessed": [base]}


FIRST_NIGHT: Final = [*build(11), renamed(thing("X_NEW", 11), "X"), copied(thing("X", 11), thing("REP", 30))]
STORIES: Final[dict[str, list[Json]]] = {
    # q2 grants DIM, q4 swaps it with DIM_NEW
    "shared": [
        copied(SOURCE, thing("DIM", 1), "CREATE"),
        granted(SECURABLE_OBJECT_ID=1, SECURABLE_OBJECT_NAME="D.S.DIM"),
        copied(SOURCE, thing("DIM_NEW", 2), "CREATE"),
        *swapped(thing("DIM", 1), thing("DIM_NEW", 2)),
        read(thing("DIM", 2)),
    ],
    "shared-by-name": [granted(SECURABLE_OBJECT_NAME="D.S.DIM"), renamed(thing("DIM", 0), "DIM_2")],
    # q1 to q4, q5 to q8, q9 to q12
    "nightly": [*FIRST_NIGHT, *night(12), *night(13), read(thing("X", 13), "BEN")],
    "nightly-too": [*FIRST_NIGHT, *night(12)],
    "not-yet-swapped": [*FIRST_NIGHT, *build(12)],
    "kept": [*FIRST_NIGHT, *night(12)[:-1]],
    "restored": [*FIRST_NIGHT, *night(12), changed(thing("X_NEW", 11), "UNDROP"), read(thing("X_NEW", 11))],
    "gone": [*FIRST_NIGHT, changed(thing("X", 11), "DROP")],
    # q6 reads the build of the second night before it is swapped
    "tested": [*FIRST_NIGHT, build(12)[0], read(thing("X_NEW", 12), "TESTER"), *night(12)[2:], *night(13)],
    "without-ids": [
        copied(SOURCE, thing("X_NEW", 0), "CREATE"), *swapped(thing("X", 0), thing("X_NEW", 0)),
        changed(thing("X_NEW", 0), "DROP"),
    ],
    "viewed": [
        row for number in (12, 13, 14) for row in (*night(number), read_through(thing("X", number)))
    ],
    # q4 shows that the table that q2 makes is called R.LIVE.K after the SWAP of q3
    "schemas": [
        within("R.LIVE", copied(SOURCE, thing("K", 700), "CREATE")),
        within("R.NEXT", copied(SOURCE, thing("K", 701), "CREATE")),
        schema("R.LIVE", 10, "R.NEXT", 11), {**schema("R.NEXT", 11, "R.LIVE", 10), "again": True},
        within("R.LIVE", read(thing("K", 701))),
        within("R.NEXT", copied(SOURCE, thing("K", 702), "REPLACE")),
        schema("R.LIVE", 11, "R.NEXT", 10), {**schema("R.NEXT", 10, "R.LIVE", 11), "again": True},
    ],
    # q2, q4, … make an ARC, and the query after each gives it the name of an archive
    "archived": [
        changed(SOURCE, columns=TAG),
        *[row for number in range(1, 9) for row in
          (copied(SOURCE, thing("ARC", 100 + number), "CREATE"), renamed(thing("ARC", 100 + number), f"ARC_{number}"))],
        copied(SOURCE, thing("ARC", 109), "CREATE"),
    ],
    "columns": [read(thing("T", 1, columns=("e mail", 'a"b', "C")))],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("built"))


def answered(whole: Store, story: str, question: str, **given: str) -> Answer:
    return ask(stories.of(story, whole), find(question), given)


def shared(answer: Answer) -> set[str | None]:
    return {row["object_name"] for row in answer.dicts() if row["domain"] == "Table"}


def test_exposure_has_the_name_that_the_object_has_at_that_time(whole: Store) -> None:
    """With ids, a grant goes with the table."""
    assert shared(answered(whole, "shared", "exposure")) == {"D.S.DIM_NEW"}
    assert shared(answered(whole, "shared", "exposure", at=at(5))) == {"D.S.DIM_NEW"}
    assert shared(answered(whole, "shared", "exposure", object_name="D.S.DIM_NEW")) == {"D.S.DIM_NEW"}
    assert shared(answered(whole, "shared", "exposure", at=at(3))) == {"D.S.DIM"}
    assert shared(answered(whole, "shared", "exposure", object_name="D.S.DIM")) == set()


def test_exposure_has_the_name_of_the_grant_for_what_has_no_id(whole: Store) -> None:
    assert shared(answered(whole, "shared-by-name", "exposure")) == {"D.S.DIM"}


# --- what is called otherwise -----------------------------------------------------------------------------------------


def note(answer: Answer, begin: str) -> str:
    return "\n".join(one for one in answer.notes if one.startswith(begin))


def called(whole: Store, story: str, question: str = "end-up", **given: str) -> str:
    given = given or {"object_name": "D.S.SOURCE"}
    return note(answered(whole, story, question, **given), "Rows have the names").partition(". ")[2]


SINCE: Final = "D.S.X_NEW (object_id=13) is called D.S.X since 2026-01-01T00:11:00Z"


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("end-up", {}),
        ("end-up", {"column_name": "C"}),
        ("column-copies", {"column_name": "C"}),
        ("sensitive-data-movement", {"domain": "Table"}),
        ("downstream-users", {}),
    ],
)
def test_a_build_is_told_by_the_name_that_it_took(question: str, given: dict[str, str], whole: Store) -> None:
    """In one entry for all nights. Who reads it does so under its own name."""
    told = called(whole, "nightly", question, object_name="D.S.SOURCE", **given)
    assert told == ("" if question == "downstream-users" else f"{SINCE}, as 2 objects were before.")


def test_what_the_note_does_not_list_has_the_question_that_it_names(whole: Store) -> None:
    told = called(whole, "archived", column_name="C", object_name="D.S.SOURCE")
    assert told.endswith(" and 3 more. Of these, former-names has all: ask it for D.S.ARC.")
    names = {row["name"] for row in answered(whole, "archived", "former-names", object_name="D.S.ARC").dicts()}
    assert names == {"D.S.ARC", *(f"D.S.ARC_{number}" for number in range(1, 9))}


def test_tag_reach_has_the_names_at_the_time_that_is_asked_for(whole: Store) -> None:
    """At the end they are present ones. The first archive was called ARC at that time."""
    answer = answered(whole, "archived", "tag-reach", tag_name="D.S.PII")
    assert {row["target_object_name"] for row in answer.dicts()} > {"D.S.ARC", "D.S.ARC_1"}
    assert note(answer, "Rows have the names") == ""
    early = answered(whole, "archived", "tag-reach", tag_name="D.S.PII", at=at(2.5))
    assert {row["target_object_name"] for row in early.dicts()} == {"D.S.ARC"}
    said = f"D.S.ARC (object_id=101) is called D.S.ARC_1 since {at(3)}."
    assert note(early, "Rows have the names").endswith(said)


def test_rows_of_one_time_mean_one_of_the_builds(whole: Store) -> None:
    assert called(whole, "nightly", "tag-history", object_name="D.S.X", column_name="C") == f"{SINCE}."
    assert called(whole, "nightly", "changes", since=at(9), until=at(10.5)) == f"{SINCE}."
    assert f"{SINCE}, as 2 objects were before." in called(whole, "nightly", "column-lineage")


def test_a_target_with_its_present_name_is_not_said_to_have_that_of_its_time(whole: Store) -> None:
    """docs/questions.md, ``column-lineage``: a helper that became the target has the name of the target."""
    answer = answered(whole, "shared", "column-lineage", helpers="bridged")
    assert {row["target_object_name"] for row in answer.dicts()} == {"D.S.DIM", "D.S.DIM_NEW"}
    assert note(answer, "Rows have the names") == ""
    said = "D.S.DIM_NEW (object_id=2) is called D.S.DIM since"
    assert note(answered(whole, "shared", "column-lineage"), "Rows have the names").count(said) == 1


NAMED: Final = thing("T", 71), thing("T", 72)
BY_TURNS: Final = [
    changed(NAMED[0], columns={"C": {"maskingPolicies": {"D.S.M": {"subOperationType": "ADD"}}}}),
    changed(NAMED[0], "DROP"), copied(SOURCE, NAMED[1], "CREATE"), copied(NAMED[1], thing("COPY", 73)),
    # T_NEW is 72 for two minutes, and no query uses it then
    renamed(NAMED[1], "T_NEW"), changed(NAMED[0], "UNDROP"),
    *swapped(NAMED[0], thing("T_NEW", 72)),
    copied(thing("T_NEW", 71), thing("E", 74)), read(thing("T_NEW", 71), "FRED"), read(thing("E", 74), "GUS"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("column-lineage", {"target_object_name": "D.S.E"}),
        ("column-lineage", {}),
        ("unmasked-copies", {}),
        ("downstream-users", {"object_name": "D.S.T"}),
        ("root-cause", {"object_name": "D.S.E", "column_name": "C"}),
    ],
)
def test_a_name_in_an_answer_is_that_of_the_object_in_its_rows(
    question: str, given: dict[str, str], tmp_path: Path
) -> None:
    """T_NEW in these rows is what is called so still, and not what had this name before."""
    answer = answered(stories.told({"turns": BY_TURNS}, tmp_path), "turns", question, **given)
    assert "D.S.T_NEW" in {cell for row in answer.rows for cell in row}
    assert "object_id=72" not in note(answer, "Rows have the names")


def test_a_build_that_took_no_name_keeps_its_own(whole: Store) -> None:
    told = called(whole, "not-yet-swapped")
    assert told == "D.S.X_NEW (object_id=11) is called D.S.X since 2026-01-01T00:03:00Z."
    assert called(whole, "without-ids") == ""
    told = called(whole, "nightly", object_name="D.S.SOURCE", until=at(6))
    assert "D.S.X_NEW (object_id=12) was called D.S.X from 2026-01-01T00:07:00Z" in told
    assert "object_id=13" not in told


def test_what_is_gone_was_called_so(whole: Store) -> None:
    period = "from 2026-01-01T00:03:00Z until 2026-01-01T00:05:00.000001Z"
    assert called(whole, "gone") == f"D.S.X_NEW (object_id=11) was called D.S.X {period}."


@pytest.mark.parametrize("story", ["kept", "restored"])
def test_what_was_set_aside_counts_under_the_name_that_it_had(story: str, whole: Store) -> None:
    """But what is in use under the name of the build again is called so."""
    more = ", as 1 object was before" if story == "kept" else ""
    assert called(whole, story) == f"D.S.X_NEW (object_id=12) is called D.S.X since 2026-01-01T00:07:00Z{more}."


def test_each_account_has_its_own_builds(whole: Store) -> None:
    both = Store()
    for story in ("nightly", "nightly-too"):
        both.extend(stories.of(story, whole))
    told = note(ask(both, find("end-up"), {"object_name": "D.S.SOURCE"}), "Rows have")
    assert "D.S.X_NEW (object_id=13) of the account STORY-nightly is called D.S.X since" in told
    assert "D.S.X_NEW (object_id=12) of the account STORY-nightly-too is called D.S.X since" in told
    lacks = note(ask(both, find("writers"), {"object_name": "D.S.X"}), "The answer does not have")
    assert lacks.endswith("to 3 objects that had this one for a time. Ask for D.S.X_NEW, too, which has 1 more row.")


# --- what was done under the name of the build ------------------------------------------------------------------------


def lacking(whole: Store, story: str, question: str, **given: str) -> str:
    return note(answered(whole, story, question, **given), "The answer does not have what was done under")


@pytest.mark.parametrize(
    ("question", "given"),
    [("writers", {}), ("tag-history", {"column_name": "C"})],
)
def test_the_name_of_the_builds_has_what_the_answer_lacks(question: str, given: dict[str, str], whole: Store) -> None:
    own = answered(whole, "nightly", question, object_name="D.S.X", **given)
    told = note(own, "The answer does not have what was done under")
    assert "the name D.S.X_NEW to 2 objects that had this one" in told
    assert told.endswith("Ask for D.S.X_NEW, too, which has 2 more rows.")
    both = ask(stories.of("nightly", whole), find(question), {"object_name": ["D.S.X", "D.S.X_NEW"], **given})
    assert (len(own.rows), len(both.rows)) == (1, 3)
    assert note(both, "The answer does not have what was done under") == ""


def test_reads_of_builds_are_told(whole: Store) -> None:
    assert "Ask for D.S.X_NEW, too, which has 1 more row." in lacking(
        whole, "tested", "who-accessed", object_name="D.S.X"
    )
    assert not lacking(whole, "nightly", "who-accessed", object_name="D.S.X")


def test_only_what_was_done_in_the_time_that_is_asked_for_is_told(whole: Store) -> None:
    assert "to an object that" in lacking(whole, "nightly", "writers", object_name="D.S.X", until=at(8))
    assert lacking(whole, "nightly", "writers", object_name="D.S.X", until=at(4)) == ""
    assert lacking(whole, "nightly", "writers", object_name="D.S.X", since=at(8.5)) == ""


def test_nothing_lacks_of_one_object_nor_by_its_id_alone(whole: Store) -> None:
    assert lacking(whole, "not-yet-swapped", "writers", object_name="D.S.X") == ""
    assert lacking(whole, "nightly", "writers", object_id="12", domain="Table") == ""
    both = lacking(whole, "nightly", "writers", object_id="12", object_name="D.S.X")
    assert both.endswith("Ask for D.S.X_NEW, too, which has 1 more row.")


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("tag-history", {"object_name": "D.S.X", "column_name": "C"}),
        ("user-history", {}),
        ("sensitive-data-movement", {"object_name": "D.S.SOURCE", "domain": "Table"}),
    ],
)
def test_pages_have_the_notes_of_the_command(question: str, given: dict[str, str], whole: Store) -> None:
    """Their answers have other columns, and lists in another form."""
    store = stories.of("tested", whole)
    notes = ask(store, find(question), given).notes
    assert any("D.S.X_NEW" in one for one in notes)
    assert ask(store, find(question), given, of_page=True).notes == notes


# --- what notes call dropped tables -----------------------------------------------------------------------------------


def test_tables_behind_a_view_are_called_by_a_name_that_has_rows(whole: Store) -> None:
    """Each was dropped under the name of a build."""
    told = note(answered(whole, "viewed", "writers", object_name="D.S.V"), "D.S.V is a view")
    assert "Behind it, as rows show: D.S.X (3 objects). Ask for these, too." in told
    assert answered(whole, "viewed", "writers", object_name="D.S.X").rows


def test_ids_are_told_that_have_rows(whole: Store) -> None:
    """Nothing came of two of the three that had the name."""
    answer = answered(whole, "nightly", "end-up", object_name="D.S.X", since=at(20))
    idents = re.findall(r"Ask by object_id=(\d+)", "\n".join(answer.notes))
    assert idents == ["11"]
    assert answered(whole, "nightly", "end-up", object_id=idents[0]).rows


@pytest.mark.parametrize(
    ("story", "given"),
    [("gone", {"object_name": "D.S.X"}), ("gone", {"object_id": "11"}), ("nightly", {"object_id": "11"})],
)
@pytest.mark.parametrize("question", ["lineage-as-of", "root-cause"])
def test_of_what_is_gone_an_earlier_time_is_advised_that_has_rows(
    question: str, story: str, given: dict[str, str], whole: Store
) -> None:
    column = {"column_name": "C"} if question == "root-cause" else {}
    answer = answered(whole, story, question, at=at(20), **column, **given)
    assert not answer.rows
    times = set(re.findall(r"(?:Ask|object_id=\d+) with at=([^ ,]+)", "\n".join(answer.notes)))
    assert times
    for time in times:
        assert answered(whole, story, question, at=time, **column, **given).rows
    assert all(" with at=" in one for one in answer.notes if one.startswith("Ask by object_id"))


# --- schemas that are swapped -----------------------------------------------------------------------------------------


def test_what_is_asked_for_by_its_id_is_no_other_table_after_a_swap_of_schemas(whole: Store) -> None:
    for ident in ("700", "701", "702"):
        answer = answered(whole, "schemas", "writers", object_id=ident)
        assert not [one for one in answer.notes if "Ask for" in one]


def test_the_name_of_a_schema_that_is_swapped_means_what_came_into_it(whole: Store) -> None:
    """No row shows it there yet."""
    told = note(answered(whole, "schemas", "writers", object_name="R.LIVE.K"), "R.LIVE was swapped")
    assert told.endswith("Ask for R.NEXT.K (object_id=702), too.")
    rows = answered(whole, "schemas", "writers", object_name="R.NEXT.K", object_id="702").rows
    assert [row[1] for row in rows] == ["q5"]


def test_unused_objects_of_one_name_are_told_apart(whole: Store) -> None:
    told = note(answered(whole, "schemas", "unused-objects", since=at(5)), "Several objects")
    assert told.endswith("R.LIVE.K, not read: object_id=700; R.LIVE.K, last read 2026-01-01T00:04:00Z: object_id=701.")
    assert not note(answered(whole, "nightly", "unused-objects", since=at(15)), "Several objects")


# --- columns in quotes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "stored"), [('"e mail"', "e mail"), ('"a""b"', 'a"b'), ('"C"', "C")])
def test_a_column_is_asked_for_without_the_quotes_of_a_statement(given: str, stored: str, whole: Store) -> None:
    answer = answered(whole, "columns", "column-readers", object_name="D.S.T", column_name=given)
    if not answer.rows:
        assert note(answer, "Rows give names of columns").endswith(f"ask for {stored}, not for {given}.")
    assert answered(whole, "columns", "column-readers", object_name="D.S.T", column_name=stored).rows


def test_a_column_in_quotes_that_nothing_has_is_no_column(whole: Store) -> None:
    answer = answered(whole, "columns", "column-readers", object_name="D.S.T", column_name='"none"')
    assert note(answer, 'There is no column "none" in the object.')


def test_what_was_dropped_is_called_as_it_was_then(whole: Store) -> None:
    """Each night ends with the DROP of the former table, which has the name of the build then."""
    answer = answered(whole, "nightly", "lineage-as-of", object_name="D.S.X_NEW", at=at(20))
    assert not answer.rows
    (note_on_drops,) = [one for one in answer.notes if "was dropped at" in one]
    assert note_on_drops == (
        f"D.S.X_NEW was dropped at {at(12)} (query q12), and 1 other object of this name before: what it held before "
        "is not in the answer. Ask with at=2026-01-01T00:11:59.999999Z for that."
    )
    assert answered(whole, "nightly", "lineage-as-of", object_name="D.S.X_NEW", at="2026-01-01T00:11:59.999999Z").rows
