"""Tables that were made anew under their own name, which rows without an id give alone, or under the id that they had:
what was set on them before is gone (CREATE OR REPLACE makes another table), and answers say so.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.lost_protection import LOST
from exporter.ask.notes.made_anew import MADE_ANEW, PERHAPS_ANEW, READ_IN_BETWEEN
from tests.ask import stories
from tests.ask.test_clones import place
from tests.ask.test_lost_masks import OFF_TAG, ON_TAG, PII, TAG, UNSET_MASK, UNTAG
from tests.ask.test_lost_policies import ROWS, filtered
from tests.ask.test_names import SET_MASK, asked, at, changed, copied, read, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
A, OF_ID = thing("A", 0), thing("A", 1)
OTHER: Final[Json] = {"C": {"maskingPolicies": {"D.S.M2": {"objectId": {"value": 901}, "subOperationType": "ADD"}}}}
MASKED, TAGGED, FILTERED = changed(A, columns=SET_MASK), changed(A, columns={"C": TAG}), changed(A, **ROWS)
MASK, MARK, FILTER = "masking policy D.S.MASK on C", "tag G.T.PII on C", "row access policy G.P.EU"
ANEW: Final = changed(A, "REPLACE")
SCHEMA, NAMED_PII = place("D.S", 0), {**PII, "objectId": 0}
ON_SCHEMA: Final = changed(SCHEMA, **TAG)
STORIES: Final[dict[str, tuple[list[Json], str]]] = {
    "replaced": ([MASKED, TAGGED, FILTERED, ANEW, read(A)], f"D.S.A at {at(4)} ({MASK}, {MARK}, {FILTER})"),
    "under-its-id": (
        [changed(OF_ID, columns=SET_MASK), changed(OF_ID, **ROWS), changed(OF_ID, "REPLACE"), read(OF_ID)],
        f"D.S.A at {at(3)} ({MASK}, {FILTER})",
    ),
    "dropped-and-created": ([MASKED, changed(A, "DROP"), changed(A, "CREATE")], f"D.S.A at {at(3)} ({MASK})"),
    "by-tag": ([ON_TAG, TAGGED, ANEW], f"D.S.A at {at(3)} ({MARK})"),
    "twice": ([MASKED, ANEW, MASKED, changed(A, "REPLACE")], f"D.S.A at {at(4)} ({MASK})"),
    # set before the record: rows show them enforced alone
    "enforced-alone": (
        [{**read(A, masked=True)}, filtered(A), ANEW, read(A)], f"D.S.A at {at(3)} ({MASK}, {FILTER})",
    ),
    "enforced-under-its-id": (
        [read(OF_ID, masked=True), filtered(OF_ID), changed(OF_ID, "REPLACE"), read(OF_ID)],
        f"D.S.A at {at(3)} ({MASK}, {FILTER})",
    ),
    "enforced-by-the-statement": ([read(A), {**read(A, masked=True), **ANEW}, read(A)], f"D.S.A at {at(2)} ({MASK})"),
    "enforced-then-set": ([read(A, masked=True), MASKED, ANEW], f"D.S.A at {at(3)} ({MASK})"),
    "enforced-by-tag": ([ON_TAG, TAGGED, read(A, masked=True), ANEW], f"D.S.A at {at(4)} ({MARK})"),
    "enforced-twice": (
        [read(A, masked=True), ANEW, read(A, masked=True), changed(A, "REPLACE")], f"D.S.A at {at(4)} ({MASK})",
    ),
    "schema": ([ON_SCHEMA, changed(SCHEMA, "REPLACE"), changed(A, "CREATE")], f"D.S at {at(2)} (tag G.T.PII)"),
    "tag-with-a-mask": (
        [changed(NAMED_PII, **SET_MASK["C"]), changed(NAMED_PII, "REPLACE"), changed(A, "CREATE")],
        f"G.T.PII at {at(2)} (masking policy D.S.MASK)",
    ),
    # what is there again, was taken away before, or is no more
    "set-again": ([MASKED, FILTERED, ANEW, MASKED, FILTERED], ""),
    "set-by-the-statement": ([MASKED, changed(A, "REPLACE", columns=SET_MASK)], ""),
    "another-mask": ([MASKED, ANEW, changed(A, columns=OTHER)], ""),
    "masked-by-a-tag-since": ([MASKED, ANEW, ON_TAG, TAGGED], ""),
    "enforced-since": ([MASKED, ANEW, read(A, masked=True)], ""),
    "enforced-before-and-since": (
        [read(A, masked=True), filtered(A), ANEW, read(A, masked=True), filtered(A)], "",
    ),
    "enforced-and-unset": ([read(A, masked=True), changed(A, columns=UNSET_MASK), ANEW, read(A)], ""),
    "enforced-by-the-schema": (
        [changed(PII, **SET_MASK["C"]), changed(A, "CREATE"), ON_SCHEMA, read(A, masked=True), ANEW], "",
    ),
    "schema-if-not-there": ([ON_SCHEMA, changed(SCHEMA, "CREATE"), changed(A, "CREATE")], ""),
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


# --- a CREATE that is no REPLACE --------------------------------------------------------------------------------------

CREATED, CREATED_WITH_ID = changed(A, "CREATE"), changed(OF_ID, "CREATE")
AGAIN: Final[dict[str, tuple[list[Json], str]]] = {
    "without-id": ([MASKED, CREATED, read(A)], f"D.S.A at {at(2)} ({MASK})"),
    "with-its-id": ([changed(OF_ID, columns=SET_MASK), CREATED_WITH_ID, read(OF_ID)], f"D.S.A at {at(2)} ({MASK})"),
    "only-enforced": ([read(A, masked=True), CREATED, read(A)], f"D.S.A at {at(2)} ({MASK})"),
    "dropped-before": ([MASKED, changed(A, "DROP"), CREATED, read(A)], ""),
    "replaced": ([MASKED, ANEW, read(A)], ""),
    "created-first": ([CREATED, MASKED, read(A)], ""),
    "set-again": ([MASKED, CREATED, MASKED, read(A)], ""),
}


@pytest.mark.parametrize("story", AGAIN)
def test_what_a_create_of_what_was_there_ended_may_hold_still(story: str, tmp_path: Path) -> None:
    """It can be a CREATE IF NOT EXISTS, which does nothing: no property of its row says so (view)."""
    rows, said = AGAIN[story]
    graph = stories.told({story: rows}, tmp_path)
    for question, given in (
        ("changes", {"since": at(0)}), ("policy-coverage", {}), ("unmasked-reads", {}), ("unmasked-copies", {}),
        ("unmasked-reads", {"object_name": "D.S.A"}),
    ):  # fmt: skip
        (told, *_) = *(one for one in asked(question, graph, **given).notes if one.startswith(PERHAPS_ANEW)), ""
        assert said in told, question
        assert bool(told) == bool(said), question
        if said:
            assert not any(one.startswith(MADE_ANEW) for one in asked(question, graph, **given).notes), question


# --- masks by tags ----------------------------------------------------------------------------------------------------

B: Final = thing("B", 2)
BY_TAG: Final = [ON_TAG, TAGGED, copied(A, B)]
OF_COPIES: Final[dict[str, tuple[list[Json], str]]] = {
    "made-anew": ([*BY_TAG, ANEW, read(B)], f"D.S.A at {at(4)} ({MARK})"),
    "made-anew-with-its-id": (
        [ON_TAG, changed(OF_ID, columns={"C": TAG}), copied(OF_ID, B), changed(OF_ID, "REPLACE"), read(B)],
        f"D.S.A at {at(4)} ({MARK})",
    ),
    "table-tagged": ([ON_TAG, changed(A, **TAG), copied(A, B), ANEW, read(B)], f"D.S.A at {at(4)} (tag G.T.PII)"),
    "tag-without-a-mask": ([TAGGED, copied(A, B), ANEW, read(B)], ""),
    "mask-unset-before": ([*BY_TAG, changed(PII, **OFF_TAG), ANEW, read(B)], ""),
    "tag-unset-before": ([*BY_TAG, changed(A, columns={"C": UNTAG}), ANEW, read(B)], ""),
    "masked-since": ([*BY_TAG, ANEW, MASKED, read(B)], ""),
    "tagged-since": ([*BY_TAG, ANEW, TAGGED, read(B)], ""),
}


@pytest.mark.parametrize("story", OF_COPIES)
def test_copies_of_what_a_tag_masked_before_are_told(story: str, tmp_path: Path) -> None:
    rows, said = OF_COPIES[story]
    told = note("unmasked-copies", story, stories.told({story: rows}, tmp_path))
    assert told.partition(" Copies from before")[0] == (f" No row sets it since: {said}." if said else "")


IN_BETWEEN: Final[dict[str, tuple[list[Json], str]]] = {
    "masked-again": ([MASKED, copied(A, B), ANEW, read(B), MASKED], f"D.S.A from {at(3)} to {at(5)} ({MASK})"),
    "another-mask": (
        [MASKED, copied(A, B), ANEW, read(B), changed(A, columns=OTHER)], f"D.S.A from {at(3)} to {at(5)} ({MASK})",
    ),
    "with-its-id": (
        [changed(OF_ID, columns=SET_MASK), copied(OF_ID, B), changed(OF_ID, "REPLACE"), read(B),
         changed(OF_ID, columns=SET_MASK)],
        f"D.S.A from {at(3)} to {at(5)} ({MASK})",
    ),
    "tagged-again": ([*BY_TAG, ANEW, read(B), TAGGED], f"D.S.A from {at(4)} to {at(6)} ({MARK})"),
    "unset-again": (
        [MASKED, copied(A, B), ANEW, read(B), MASKED, changed(A, columns=UNSET_MASK)],
        f"D.S.A from {at(3)} to {at(5)} ({MASK})",
    ),
    "copied-on": (
        [MASKED, copied(A, B), copied(B, thing("E", 5)), ANEW, read(thing("E", 5)), MASKED],
        f"D.S.A from {at(4)} to {at(6)} ({MASK})",
    ),
    # the answer has these reads, or no copy was read
    "read-before": ([MASKED, copied(A, B), read(B), ANEW, MASKED], ""),
    "read-later": ([MASKED, copied(A, B), ANEW, MASKED, read(B)], ""),
    "copied-later": ([MASKED, ANEW, copied(A, B), read(B), MASKED], ""),
    "not-copied": ([MASKED, ANEW, read(B), read(A), MASKED], ""),
}  # fmt: skip


def test_reads_of_copies_before_the_table_was_masked_again_are_told(tmp_path: Path) -> None:
    whole = stories.told({name: rows for name, (rows, _) in IN_BETWEEN.items()}, tmp_path)
    for story, (_, said) in IN_BETWEEN.items():
        answer = asked("unmasked-copies", stories.of(story, whole))
        notes = [one.removeprefix(READ_IN_BETWEEN) for one in answer.notes if one.startswith(READ_IN_BETWEEN)]
        assert notes == [f"{said}. The answer does not have these reads: column-copies has the copies."][: len(said)], (
            story
        )


# --- other objects of the name ----------------------------------------------------------------------------------------

VIEW: Final = thing("A", 0, "View")
BEFORE: Final = [MASKED, TAGGED, FILTERED, changed(A, "DROP"), changed(VIEW, "CREATE"), read(VIEW)]


def lost(question: str, graph: Store, **given: str) -> list[str]:
    return [one.removeprefix(LOST) for one in asked(question, graph, **given).notes if one.startswith(LOST)]


def test_a_view_without_an_id_in_the_place_of_a_table_is_told(tmp_path: Path) -> None:
    whole = stories.told({"view": BEFORE, "same": [*BEFORE[:4], changed(A, "CREATE"), read(A)]}, tmp_path)
    graph, same = (stories.of(story, whole) for story in ("view", "same"))
    mask, tag, filtering = (f"(View since {at(5)}; {had}: Table)" for had in ("masked", "G.T.PII", "G.P.EU"))
    for question, given, every in (
        ("unmasked-reads", {"object_name": "D.S.A"}, [mask]),
        ("unmasked-reads", {}, [mask]),
        ("unmasked-copies", {}, [mask]),
        ("changes", {"since": at(4.5)}, [mask, tag, filtering]),
        ("tag-history", {"object_name": "D.S.A", "column_name": "C"}, [tag]),
        ("policy-coverage", {"object_name": "D.S.A"}, [mask, filtering]),
    ):
        notes = lost(question, graph, **given)
        assert [words in one for words, one in zip(every, notes, strict=True)] == [True] * len(every), question
        assert not lost(question, same, **given), question
    assert not lost("changes", graph, since=at(5.5))
    assert not lost("policy-coverage", graph, at=at(3.5))


@pytest.mark.parametrize("operation", ["REPLACE", "CREATE"])
def test_the_tag_of_a_schema_is_lost_with_it(operation: str, tmp_path: Path) -> None:
    """The row gives another id."""
    rows = [changed(place("D.S", 71), **TAG), changed(place("D.S", 72), operation), changed(thing("A", 9), "CREATE")]
    graph = stories.told({"one": rows}, tmp_path)
    told = f"D.S (object_id=72 since {at(2)}; G.T.PII: object_id=71)"
    for question, given in (("changes", {"since": at(1.5)}), ("tag-history", {"object_name": "D.S.A"})):
        (one,) = lost(question, graph, **given)
        assert one.startswith("had a tag")
        assert told in one


@pytest.mark.parametrize("number", [0, 80])
def test_a_tag_that_is_replaced_ends_on_all_that_has_it(number: int, tmp_path: Path) -> None:
    pii = {**PII, "objectId": number}
    tag = {"tags": {"G.T.PII": {"objectId": {"value": number}, "subOperationType": "ADD"}}}
    tagged = changed(thing("A", 9), columns={"C": tag})
    graph = stories.told({"one": [changed(pii, "CREATE"), tagged, changed(pii, "REPLACE"), read(A)]}, tmp_path)
    assert not asked("policy-coverage", graph).rows
    assert asked("policy-coverage", graph, at=at(2.5)).rows
    given = {"object_name": "D.S.A", "column_name": "C"}
    assert any(f"without a row here: G.T.PII at {at(3)}" in one for one in asked("tag-history", graph, **given).notes)
    before = asked("tag-history", graph, **given, until=at(2.5)).notes
    assert not any("without a row here" in one for one in before)


def test_a_tag_or_policy_that_is_created_again_may_have_ended(tmp_path: Path) -> None:
    """docs/graph.md: a CREATE of these can be one IF NOT EXISTS, which ends nothing."""

    named, own = {"objectDomain": "TAG", "objectName": "G.T.PII"}, {"objectId": 80}
    mask = {"objectDomain": "MASKING_POLICY", "objectName": "D.S.MASK"}

    def story(ident: Json, made: Json, done: str = "CREATE") -> list[Json]:
        tag = {"tags": {"G.T.PII": {"objectId": {"value": ident.get("objectId")}, "subOperationType": "ADD"}}}
        on_tag = changed({**named, **ident}, maskingPolicies={"D.S.MASK": {"subOperationType": "ADD"}})
        table = thing("A", 9)
        return [on_tag, changed(table, columns={"C": tag}), copied(table, B), changed(made, done), read(table)]

    told_by = {
        "by-name": story({}, named),
        "policy": story({}, mask),
        "other-form": story(own, named),
        "with-ids": story(own, {**named, **own}),
        "replaced": story({}, named, "REPLACE"),
    }
    graph = stories.told(told_by, tmp_path)
    of_column = {"object_name": "D.S.A", "column_name": "C"}
    asked_for: dict[str, Json] = {
        "policy-coverage": {}, "changes": {"since": at(3.5)}, "unmasked-reads": {"object_name": "D.S.A"},
        "tag-history": of_column, "tag-reach": of_column,
    }  # fmt: skip
    may, other = "which ends nothing; if not", "Rows name a tag or policy with its id and without: G.T.PII was created"
    for question, given in asked_for.items():
        told = {name: "\n".join(asked(question, stories.of(name, graph), **given).notes) for name in told_by}
        assert f"no id, G.T.PII was created (query q4, {at(4)}), though it was there" in told["by-name"], question
        is_of_policies = question in {"policy-coverage", "changes", "unmasked-reads"}
        assert (f"no id, D.S.MASK was created (query q4, {at(4)})" in told["policy"]) == is_of_policies, question
        assert (other in told["other-form"]) == (question != "changes"), question
        assert may not in told["with-ids"] + told["replaced"] + told["other-form"], question
        until = {"at" if question in {"policy-coverage", "tag-reach"} else "until": at(3.8)}
        assert may not in "\n".join(asked(question, stories.of("by-name", graph), **{**given, **until}).notes), question


def test_the_mask_of_a_tag_is_lost_with_it(tmp_path: Path) -> None:
    """The row gives another id."""
    rows = [ON_TAG, TAGGED, copied(A, B), changed({**PII, "objectId": 81}, "REPLACE"), read(B)]
    graph = stories.told({"one": rows}, tmp_path)
    told = f"G.T.PII (object_id=81 since {at(4)}; D.S.MASK: object_id=80)"
    for question, given in (("changes", {"since": at(3.5)}), ("policy-coverage", {}), ("unmasked-copies", {})):
        (one,) = lost(question, graph, **given)
        assert one.startswith("had a masking policy")
        assert told in one
    assert not lost("changes", graph, since=at(4.5))


# --- set without an id, made anew with one ----------------------------------------------------------------------------


def test_changes_say_what_was_set_without_the_id_of_what_is_made_anew(tmp_path: Path) -> None:
    graph = stories.told({"one": [MASKED, read(A), changed(thing("A", 5), "REPLACE"), read(thing("A", 5))]}, tmp_path)

    def told(**given: str) -> bool:
        notes = asked("changes", graph, **given).notes
        return any(one.startswith("Some rows give no id of D.S.A, and others do") for one in notes)

    assert told(since=at(2.5))
    assert not told(since=at(3.5))
    assert not told(since=at(0), until=at(2.5))


# --- grants -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "again"), [(0, "REPLACE"), (1, "REPLACE"), (0, "CREATE")])
def test_grants_on_what_was_made_anew_may_have_ended(number: int, again: str, tmp_path: Path) -> None:
    table, share = thing("A", number), {"objectDomain": "SHARE", "objectId": 90, "objectName": "PARTNERS"}
    on_table = {"DOMAIN": "TABLE", "NAME": "D.S.A", **({"ID": number} if number else {})}
    granted = {f"SECURABLE_OBJECT_{part}": value for part, value in on_table.items()}
    grant = changed(share, "GRANT", grant={"value": {"PRIVILEGES": ["SELECT"], **granted}})
    rows = [changed(table, "CREATE"), grant, changed(table, again), read(table), changed(share, "REPLACE")]
    graph = stories.told({"one": rows}, tmp_path)

    def told(**given: str) -> list[str]:
        answer = asked("exposure", graph, **given)
        assert answer.rows
        return [one for one in answer.notes if "COPY GRANTS" in one]

    (one,) = told()
    done = "made anew" if again == "REPLACE" else "created again"
    assert f"SELECT on D.S.A to PARTNERS from {at(2)} (D.S.A was {done} at {at(3)}" in one
    assert ("IF NOT EXISTS" in one) == (again == "CREATE")
    assert f"PARTNERS was made anew at {at(5)}" in one
    (one,) = told(object_name="D.S.A", at=at(4))
    assert f"PARTNERS was made anew at {at(5)}" not in one
    assert not told(at=at(2.5))
