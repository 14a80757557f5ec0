"""A mask that queries enforced and no row sets, since it is older than the record: until when it counts as set."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.lookups import Lookups
from exporter.ask.notes.made_anew import MADE_ANEW
from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import MASK, SET_MASK, asked, at, changed, copied, read, thing
from tests.ask.test_settings_without_id import PAGE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
T, COPY, OTHER = thing("T", 1), thing("COPY", 2), thing("OTHER", 3)
TAG: Final = thing("PII", 80, "Tag", ())
POLICY: Final = thing("MASK", 900, "Masking Policy", ())


def of_mask(doing: str) -> Json:
    return {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": doing}}}


def of_tag(doing: str, name: str = "PII", number: int = 80) -> Json:
    return {"tags": {f"D.S.{name}": {"objectId": {"value": number}, "subOperationType": doing}}}


def enforced(what: Json = T) -> Json:
    return {
        **read(what, "EVE"),
        "policies_referenced": [{**what, "columns": [{"columnName": "C", "policies": [MASK]}]}],
    }


def ended(*rows: Json) -> list[Json]:
    """ANA reads the column and its copy unmasked before something ends the mask, BEN after that."""
    return [enforced(), copied_under_mask(), read(T), read(COPY), *rows, read(T, "BEN"), read(COPY, "BEN")]


def copied_under_mask(what: Json = T) -> Json:
    return {**copied(what, COPY), "policies_referenced": enforced(what)["policies_referenced"]}


def remade(what: Json, *, masked: bool) -> Json:
    """CREATE OR REPLACE TABLE T AS SELECT … FROM T; with the policies that are enforced on what it reads."""
    row = {**copied(what, what, "REPLACE"), "user_name": "KIM"}
    return {**row, "policies_referenced": enforced(what)["policies_referenced"]} if masked else row


BOTH, ONE = {"ANA": "WHILE", "BEN": "WHILE"}, {"ANA": "WHILE", "BEN": "AFTER"}
STORIES: Final[Mapping[str, tuple[Sequence[Json], dict[str, str]]]] = {
    "enforced-again": (ended(enforced()), BOTH),
    "nothing": (ended(), BOTH),
    "unset": (ended(changed(T, columns={"C": of_mask("DROP")})), ONE),
    "unset-and-enforced-again": (ended(changed(T, columns={"C": of_mask("DROP")}), enforced()), BOTH),
    "unset-from-a-tag-and-enforced-again": (ended(changed(TAG, **of_mask("DROP")), enforced()), BOTH),
    "replaced-and-enforced-again": (ended(changed(T, "REPLACE"), enforced()), BOTH),
    "policy-dropped": (ended(changed(POLICY, "DROP")), ONE),
    "policy-dropped-and-back": (ended(changed(POLICY, "DROP"), changed(POLICY, "UNDROP")), BOTH),
    "policy-replaced": (ended(changed(POLICY, "REPLACE")), ONE),
    "policy-replaced-by-another": (ended(changed(thing("MASK", 901, "Masking Policy", ()), "REPLACE")), ONE),
    "another-policy-replaced": (ended(changed(thing("OTHER", 901, "Masking Policy", ()), "REPLACE")), BOTH),
    "unset-from-a-tag": (ended(changed(TAG, **of_mask("DROP"))), ONE),
    "tag-unset": ([changed(TAG, **of_mask("ADD")), *ended(changed(T, columns={"C": of_tag("DROP")}))], ONE),
    "tag-of-the-table-unset": ([changed(TAG, **of_mask("ADD")), *ended(changed(T, **of_tag("DROP")))], ONE),
    "tag-of-another-table-unset": ([changed(TAG, **of_mask("ADD")), *ended(changed(OTHER, **of_tag("DROP")))], BOTH),
    "another-tag-unset": (
        [changed(TAG, **of_mask("ADD")), *ended(changed(T, columns={"C": of_tag("DROP", "COST", 81)}))], BOTH,
    ),
    "set-on-another-table": ([changed(OTHER, columns=SET_MASK), *ended()], BOTH),
    "replaced": (ended(changed(T, "REPLACE")), ONE),
    "replaced-from-itself": (ended(remade(T, masked=True)), ONE),
    "column-dropped": (
        ended(
            changed(T, columns={"C": {"subOperationType": "DROP", "objectId": {"value": 5}}}),
            changed(T, columns={"C": {"subOperationType": "ADD", "objectId": {"value": 6}}}),
        ),
        ONE,
    ),
}  # fmt: skip
"""What happened, and what is said of reads of the table."""


def by_name(what: Json) -> Json:
    return {key: value for key, value in what.items() if key != "objectId"}


def unset_by_name(column: str = "C", name: str = "MASK", what: Json = T, doing: str = "DROP") -> Json:
    return changed(what, columns={column: {"maskingPolicies": {f"D.S.{name}": {"subOperationType": doing}}}})


SCHEMA: Final[Json] = {"objectDomain": "Schema", "objectName": "D.S"}
TAGGED: Final = {
    "column": lambda doing: changed(T, columns={"C": of_tag(doing)}),
    "table": lambda doing: changed(T, **of_tag(doing)),
    "schema": lambda doing: changed(SCHEMA, **of_tag(doing)),
}
"""What has the tag, and loses it."""


def by_tag(what: str, *ended_by: str) -> list[Json]:
    """Rows set the mask on a tag and the tag on something; a query enforces it; rows unset the ``mask`` and ``tag``."""
    unset = {"mask": changed(TAG, **of_mask("DROP")), "tag": TAGGED[what]("DROP")}
    rows = [changed(TAG, **of_mask("ADD")), TAGGED[what]("ADD"), enforced(), copied_under_mask()]
    return [*rows, *(unset[one] for one in ended_by), read(T, "BEN")]


WITH_SCHEMA_ID: Final = changed({**SCHEMA, "objectId": 70}, "CREATE")
CREATED: Final = "By rows that give no id, {} was created (query"
OTHER_FORM: Final = "Rows name a tag or policy with its id and without: D.S.MASK was"
FORCED: Final = "until then no query enforced them again: D.S.MASK on D.S.T.C (D.S.OTHER was set 2026-"
ENFORCED_BY_NAME: Final = "Some rows give D.S.MASK without an id where queries enforced it"


def ended_by_name(*rows: Json) -> list[Json]:
    """The same, where queries enforce the mask and their rows give no id of it."""
    nameless = {key: value for key, value in MASK.items() if key != "policyId"}
    policies = [{**T, "columns": [{"columnName": "C", "policies": [nameless]}]}]
    return [{**row, "policies_referenced": policies} if row.get("policies_referenced") else row for row in ended(*rows)]


OF_A_TAG: Final = (
    "Some rows give D.S.MASK without an id, and others with it, where queries enforced it and where it was"
)
ON_A_TAG: Final = {
    "enforced": (of_mask("ADD"), lambda first, *rows: [*first, *ended_by_name(*rows)]),
    "set": (
        {"maskingPolicies": {"D.S.MASK": {"subOperationType": "ADD"}}},
        lambda first, *rows: [*first, *ended(*rows)],
    ),
}
"""What rows set on a tag, and what happened then: the one with the id of the policy, the other by its name alone."""
UNSET_BY_NAME: Final = "Some rows set or unset D.S.MASK without an id"
ENDED_BY_NAME: Final[Mapping[str, tuple[Sequence[Json], str]]] = {
    "unset-by-name": (ended(unset_by_name()), UNSET_BY_NAME),
    "set-by-name": (ended(unset_by_name(doing="ADD")), UNSET_BY_NAME),
    "renamed-and-unset-by-name": (
        ended(changed(T, columns={"C": {"objectName": {"value": "F"}}}), unset_by_name("F")), UNSET_BY_NAME,
    ),
    "enforced-by-name": (
        [changed(T, columns=SET_MASK), *ended_by_name(changed(T, columns={"C": of_mask("DROP")}))], ENFORCED_BY_NAME,
    ),
    "enforced-by-name-of-a-tag": (
        [
            changed(T, columns={"C": of_tag("ADD")}), changed(TAG, **of_mask("ADD")),
            *ended_by_name(changed(TAG, **of_mask("DROP"))),
        ],
        ENFORCED_BY_NAME,
    ),
    **{
        f"{form}-by-name-and-tag-of-{what}-{how}": (
            told([changed(TAG, **set_on_tag), had("ADD")], *end),
            # The DROP of a tag ends the setting of the policy on it, which has its id.
            OF_A_TAG if form == "set" or how == "unset" else ENFORCED_BY_NAME,
        )
        for form, (set_on_tag, told) in ON_A_TAG.items()
        for what, had in TAGGED.items()
        for how, end in (
            ("unset", [had("DROP")]), ("dropped", [changed(TAG, "DROP")]),
            ("renamed", [changed(TAG, objectName={"value": "D.S.P2"}), changed(TAG, "DROP")]),
        )
    },
    **{
        f"{form}-by-name-and-column-renamed": (
            told(
                [changed(TAG, **set_on_tag), TAGGED["column"]("ADD")],
                changed(T, columns={"C": {"objectName": {"value": "F"}}}), changed(T, columns={"F": of_tag("DROP")}),
            ),
            OF_A_TAG,
        )
        for form, (set_on_tag, told) in ON_A_TAG.items()
    },
    **{
        f"{form}-by-name-{name}": (told([changed(TAG, **set_on_tag), *rows], *end), "")
        for form, (set_on_tag, told) in ON_A_TAG.items()
        for name, rows, end in (
            ("and-kept", [TAGGED["column"]("ADD")], []),
            ("and-tag-of-another-table-unset", [changed(OTHER, **of_tag("ADD"))], [changed(OTHER, **of_tag("DROP"))]),
            ("and-tag-of-another-column-unset", [changed(T, columns={"X": of_tag("ADD")})],
             [changed(T, columns={"X": of_tag("DROP")})]),
            ("and-tag-unset-before", [TAGGED["column"]("ADD"), TAGGED["column"]("DROP")], []),
        )
    },
    "set-on-a-tag-in-both-forms": (
        [
            changed(TAG, **of_mask("ADD")), TAGGED["column"]("ADD"), enforced(), TAGGED["column"]("DROP"),
            changed(by_name(TAG), **ON_A_TAG["set"][0]),
        ],
        "",
    ),
    "enforced-by-name-and-never-unset": ([changed(T, columns=SET_MASK), *ended_by_name(read(OTHER))], ""),
    "policy-dropped-by-name": (ended(changed(by_name(POLICY), "DROP")), f"{OTHER_FORM} dropped"),
    "policy-created-by-name": (ended(changed(by_name(POLICY), "CREATE")), f"{OTHER_FORM} created"),
    "policy-replaced-by-name": (ended(changed(by_name(POLICY), "REPLACE")), f"{OTHER_FORM} replaced"),
    "schema-created": (ended(changed(SCHEMA, "CREATE")), CREATED.format("D.S")),
    "schema-created-after-its-id": (
        [WITH_SCHEMA_ID, *ended(changed(SCHEMA, "CREATE"))], CREATED.format("D.S"),
    ),
    "schema-of-a-set-mask-created": (
        [changed(T, columns=SET_MASK), *ended(changed(SCHEMA, "CREATE"))], CREATED.format("D.S"),
    ),
    "database-created": (
        ended(changed({"objectDomain": "Database", "objectName": "D"}, "CREATE")), CREATED.format("D"),
    ),
    # No matter of this mask.
    "unset-on-another-table": (ended(unset_by_name(what=OTHER)), ""),
    "another-unset-by-name": (ended(unset_by_name(name="OTHER")), ""),
    "another-dropped-by-name": (ended(changed(thing("OTHER", 901, "Masking Policy", ()), "ALTER"),
                                      changed(by_name(thing("OTHER", 901, "Masking Policy", ())), "DROP")), ""),
    "schema-created-before": ([changed(SCHEMA, "CREATE"), *ended()], ""),
    "another-schema-created": (ended(changed({**SCHEMA, "objectName": "D.S2"}, "CREATE")), ""),
    "unset-before-the-schema-was-created": (
        ended(changed(T, columns={"C": of_mask("DROP")}), changed(SCHEMA, "CREATE")), "",
    ),
    "dropped-before-the-schema-was-created": (ended(changed(POLICY, "DROP"), changed(SCHEMA, "CREATE")), ""),
    "replaced-before-the-schema-was-created": (ended(changed(T, "REPLACE"), changed(SCHEMA, "CREATE")), ""),
    "set-by-a-tag-and-schema-created": (
        [*by_tag("column"), changed(SCHEMA, "CREATE")], CREATED.format("D.S"),
    ),
    "unset-from-the-tag-before-the-schema-was-created": (
        [*by_tag("column", "mask", "tag"), changed(SCHEMA, "CREATE")], "",
    ),
}  # fmt: skip
"""What may have ended the mask, by rows that give no id, and what notes say of it."""


SET_OTHER, UNSET_OTHER = (unset_by_name(name="OTHER", doing=doing) for doing in ("ADD", "DROP"))
ANOTHER_SET: Final[Mapping[str, tuple[Sequence[Json], bool]]] = {
    "forced": (ended(SET_OTHER), True),
    "forced-and-unset": (ended(SET_OTHER, UNSET_OTHER), True),
    "still-enforced": (ended(SET_OTHER, UNSET_OTHER, enforced()), False),
    "unset-first": (ended(changed(T, columns={"C": of_mask("DROP")}), SET_OTHER, UNSET_OTHER), False),
    "forced-and-set-again": (ended(SET_OTHER, UNSET_OTHER, changed(T, columns=SET_MASK), enforced()), True),
    "set-again-first": (ended(changed(T, columns=SET_MASK), SET_OTHER, UNSET_OTHER), False),
    "on-another-table": (ended(unset_by_name(name="OTHER", what=OTHER, doing="ADD")), False),
    **{f"forced-after-{name}": ([*rows, SET_OTHER], words == BOTH) for name, (rows, words) in STORIES.items()},
    # Rows had set it, by a tag.
    **{
        f"set-by-a-tag-of-the-{what}-{'-'.join(ends)}": ([*by_tag(what, *ends), SET_OTHER], False)
        for what in TAGGED
        for ends in ((), ("mask",), ("tag",), ("mask", "tag"))
    },
    "enforced-before-it-was-set-by-a-tag": ([enforced(), *by_tag("column"), SET_OTHER], False),
    "unset-from-the-tag-and-enforced-again": ([*by_tag("column", "mask", "tag"), enforced(), SET_OTHER], True),
    "enforced-by-what-made-it-from-itself": ([remade(T, masked=True), read(T), SET_OTHER], False),
    "set-by-a-tag-of-another-table": (
        [changed(TAG, **of_mask("ADD")), changed(OTHER, **of_tag("ADD")), *ended(SET_OTHER)], True,
    ),
    "set-by-a-tag-that-only-another-column-has": (
        [changed(TAG, **of_mask("ADD")), changed(T, columns={"X": of_tag("ADD")}), *ended(SET_OTHER)], True,
    ),
}  # fmt: skip
"""Whether another mask may have taken the place of the older one."""

RENAMED: Final = changed(POLICY, objectName={"value": "D.S.MASK2"})
NEW_NAME: Final = {**MASK, "policyName": "D.S.MASK2"}
UNDER_NEW_NAME: Final[Json] = {
    **read(T, "EVE"),
    "policies_referenced": [{**T, "columns": [{"columnName": "C", "policies": [NEW_NAME]}]}],
}
BOTH_NAMES: Final[Mapping[str, Sequence[Json]]] = {
    "policy-renamed": ended(RENAMED, UNDER_NEW_NAME),
    "set-policy-renamed": [changed(T, columns=SET_MASK), *ended(RENAMED, UNDER_NEW_NAME)],
    "tag-renamed": [
        changed(T, columns={"C": of_tag("ADD")}), changed(TAG, objectName={"value": "D.S.PII2"}),
        changed(T, columns={"C": of_tag("DROP", "PII2")}),
    ],
}  # fmt: skip
"""One policy or tag under two names."""


def enforced_by_name(name: str) -> Json:
    mask = {"policyKind": "MASKING_POLICY", "policyName": name}
    return {**read(T, "EVE"), "policies_referenced": [{**T, "columns": [{"columnName": "C", "policies": [mask]}]}]}


RENAMED_BY_NAME: Final = changed({"objectDomain": "Masking Policy", "objectName": "D.S.Z"}, "ALTER",
                                 objectName={"value": "D.S.MASK2"})  # fmt: skip
BY_NAME: Final[Mapping[str, Sequence[Json]]] = {
    "lost": [enforced_by_name("D.S.Z"), RENAMED_BY_NAME, enforced_by_name("D.S.MASK2"), changed(T, "REPLACE")],
    "two-lost": [enforced_by_name("D.S.Z"), enforced_by_name("D.S.MASK2"), changed(T, "REPLACE")],
    "set-again": [enforced_by_name("D.S.Z"), RENAMED_BY_NAME, unset_by_name(name="MASK2", doing="ADD"), read(T)],
    "another-set": [enforced_by_name("D.S.Z"), RENAMED_BY_NAME, unset_by_name(name="OTHER", doing="ADD"), read(T)],
}
"""A policy that rows name without an id, older than the record, and renamed."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told: dict[str, Any] = {**STORIES, **ENDED_BY_NAME, **ANOTHER_SET}
    return stories.told(
        {name: rows for name, (rows, _) in told.items()} | {**BOTH_NAMES, **BY_NAME}, tmp_path_factory.mktemp("masked")
    )


@pytest.fixture(scope="module")
def daily(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {name: rows for name, (rows, _) in ANOTHER_SET.items()}
    return stories.told(told, tmp_path_factory.mktemp("daily"), "--reads", "daily")


@pytest.mark.parametrize("story", STORIES)
def test_a_mask_that_was_enforced_is_set_until_a_row_ends_it(story: str, whole: Store) -> None:
    """docs/questions.md: WHILE, one was set, but not enforced; AFTER, there was one earlier, but none at that time."""
    answer = asked("unmasked-reads", stories.of(story, whole), object_name="D.S.T")
    assert {row[0]: row[5] for row in answer.rows if row[0] in {"ANA", "BEN"}} == STORIES[story][1]


@pytest.mark.parametrize("story", STORIES)
def test_the_copies_of_such_a_column_are_read_while_it_is_masked(story: str, whole: Store) -> None:
    """The two questions agree. A table that is dropped is masked as it was at its end, until another takes its place. A
    column that is dropped stays so: copies of it are told from those of another one of the name.
    """
    graph, row = stories.of(story, whole), ("D.S.T", "C", "D.S.MASK", "D.S.COPY", "C")
    for user, word in STORIES[story][1].items():
        reads = [found for found in asked("unmasked-reads", graph, object_name="D.S.T").rows if found[0] == user]
        since = datetime.fromisoformat(str(reads[0][2]))
        until = since + timedelta(minutes=1, seconds=30)  # of the copy: a minute later
        copies = asked("unmasked-copies", graph, since=since.isoformat(), until=until.isoformat())
        assert (row in copies.rows) == (word == "WHILE" or story == "column-dropped"), user


@pytest.mark.parametrize("story", ENDED_BY_NAME)
def test_what_may_have_ended_such_a_mask_is_told(story: str, whole: Store) -> None:
    """docs/questions.md, "Why an answer is empty, or short"."""
    graph, said = stories.of(story, whole), ENDED_BY_NAME[story][1]
    page = ask(graph, find(str(PAGE)), {"object": next(Lookups(graph).with_text("ah:objectId", "1"))})
    answers = {"page": page, **{name: asked(name, graph, **given) for name, given in OF_MASKS}}
    for question, answer in answers.items():
        told = "\n".join(answer.notes)
        if said:
            assert said in told, question
        else:
            assert not any(
                text in told for text in (UNSET_BY_NAME, ENFORCED_BY_NAME, OF_A_TAG, OTHER_FORM, "though it was there")
            ), question
    before = asked("unmasked-reads", graph, until=at(3.5)).notes
    assert not any("though it was there" in note for note in before)


# Reads by day have the same rule: a few stories show it.
@pytest.mark.parametrize(
    ("story", "reads"),
    [*((story, "whole") for story in ANOTHER_SET), *((story, "daily") for story in [*ANOTHER_SET][::5])],
)
def test_another_mask_that_may_have_taken_its_place_is_told(
    story: str, reads: str, request: pytest.FixtureRequest
) -> None:
    """Snowflake, ALTER TABLE: SET MASKING POLICY … FORCE replaces the policy of the column in one statement. It takes
    no place of a mask that rows set by a tag, which holds again when the one of the column is unset, nor of one that
    has ended.
    """
    graph = stories.of(story, request.getfixturevalue(reads))
    for question, given in OF_MASKS[:3]:
        assert (FORCED in "\n".join(asked(question, graph, **given).notes)) == ANOTHER_SET[story][1], question
        assert FORCED not in "\n".join(asked(question, graph, **given, until=at(3.5)).notes), question


OF_MASKS: Final[list[tuple[str, Json]]] = [
    ("unmasked-reads", {"object_name": "D.S.T"}), ("unmasked-reads", {}), ("unmasked-copies", {}),
    ("policy-coverage", {"object_name": "D.S.T"}), ("policy-coverage", {}),
]  # fmt: skip
REPLACED: Final = {
    "without an id": ({key: value for key, value in T.items() if key != "objectId"},) * 2,
    "with the id that it had": (T, T),
    "with a new id": (T, {**T, "objectId": 4}),
}


@pytest.mark.parametrize("how", REPLACED)
def test_a_statement_that_makes_a_table_from_itself_read_the_masked_one(how: str, tmp_path: Path) -> None:
    """docs/graph.md: it can read the object that has the name, so that the name holds until a microsecond after."""
    old, new = REPLACED[how]
    rows = [changed(old, columns=SET_MASK), remade(old, masked=False), read(new, "BEN")]
    rows[1]["object_modified_by_ddl"] = changed(new, "REPLACE")["object_modified_by_ddl"]
    graph = stories.told({"one": rows}, tmp_path)
    of_kim = [row for row in asked("unmasked-reads", graph, object_name="D.S.T").rows if row[0] == "KIM"]
    assert [row[5] for row in of_kim] == ["WHILE"]


@pytest.mark.parametrize("reads", ["full", "daily"])
def test_the_former_copy_had_its_mask_when_a_statement_read_it(reads: str, tmp_path: Path) -> None:
    rows = [
        changed(T, columns=SET_MASK), copied(T, COPY), changed(COPY, columns=SET_MASK), remade(COPY, masked=False),
    ]  # fmt: skip
    graph = stories.told({"one": rows}, tmp_path, "--reads", reads)
    assert not asked("unmasked-copies", graph).rows


@pytest.mark.parametrize("story", ["policy-renamed", "set-policy-renamed"])
@pytest.mark.parametrize("question", ["masking-policies", "policy-access", "unmasked-copies"])
def test_a_policy_that_was_renamed_is_told_to_be_one(question: str, story: str, whole: Store) -> None:
    """Rows have the names of their time (view, policies_referenced)."""
    answer = asked(question, stories.of(story, whole))
    assert {row[answer.columns.index("policy_name")] for row in answer.rows} == {"D.S.MASK", "D.S.MASK2"}
    renamed = 6 + (story == "set-policy-renamed") - 1
    called = f"D.S.MASK (object_id=900) is called D.S.MASK2 since {at(renamed)}"
    assert f"Rows have the names of their time. {called}." in answer.notes


def test_a_tag_that_was_renamed_is_told_to_be_one(whole: Store) -> None:
    answer = asked("tag-history", stories.of("tag-renamed", whole), object_name="D.S.T", column_name="C")
    assert [row[5] for row in answer.rows] == ["D.S.PII", "D.S.PII2"]
    assert any(f"D.S.PII (object_id=80) is called D.S.PII2 since {at(2)}." in note for note in answer.notes)


@pytest.mark.parametrize("question", ["masking-policies", "policy-access", "unmasked-copies"])
def test_nothing_is_told_of_a_policy_that_keeps_its_name(question: str, whole: Store) -> None:
    answer = asked(question, stories.of("nothing", whole))
    assert answer.rows
    assert not any("names of their time" in note for note in answer.notes)


@pytest.mark.parametrize("question", ["policy-coverage", "changes", "unmasked-copies"])
def test_what_was_renamed_without_an_id_is_not_lost_twice(question: str, whole: Store) -> None:
    def lost(story: str) -> str:
        given = {"since": at(0)} if question == "changes" else {}
        notes = asked(question, stories.of(story, whole), **given).notes
        return next(one for one in notes if one.startswith(MADE_ANEW))

    assert f"D.S.T at {at(4)} (masking policy D.S.MASK2 on C)" in lost("lost")
    assert "(masking policy D.S.MASK2 on C, masking policy D.S.Z on C)" in lost("two-lost")


def test_a_policy_that_was_renamed_without_an_id_takes_no_place_of_itself(whole: Store) -> None:
    def is_told(story: str) -> bool:
        return any(
            "SET MASKING POLICY … FORCE" in one for one in asked("unmasked-reads", stories.of(story, whole)).notes
        )

    assert not is_told("set-again")
    assert is_told("another-set")


@pytest.mark.parametrize("question", ["masking-policies", "policy-access"])
def test_two_names_of_a_policy_without_an_id_are_told(question: str, whole: Store) -> None:
    told = f"D.S.Z was renamed to D.S.MASK2 (query q2, {at(2)}): the two names may be of one policy."
    for story, is_told in (("lost", True), ("two-lost", False)):
        notes = asked(question, stories.of(story, whole)).notes
        assert any(one.endswith(told) for one in notes) == is_told
