"""What answers about one object say of its tags and policies that were renamed, dropped or unset without ids.

docs/questions.md, "Why an answer is empty, or short". Each case is a separate account of one export; query ``qN``
starts at minute N. A tag or policy whose rows give no id is known by its name alone, so the answer does not follow its
RENAME.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter import serve
from exporter.ask.lookups import Lookups
from exporter.ask.questions import ask, find
from tests.ask import stories
from tests.ask.test_names import asked, at, changed, read, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
PAGE: Final = Path(serve.__file__).parent / "page_queries" / "page-settings.rq"
A: Final = thing("A", 5, columns=("C", "F"))
OTHER: Final = thing("OTHER", 6)
SCHEMA: Final[Json] = {"objectDomain": "Schema", "objectId": 70, "objectName": "D.S"}
DATABASE: Final[Json] = {"objectDomain": "Database", "objectId": 71, "objectName": "D"}
ADD: Final[Json] = {"subOperationType": "ADD"}
DROP: Final[Json] = {"subOperationType": "DROP"}


def tag(name: str = "PII") -> Json:
    return {"objectDomain": "Tag", "objectName": f"G.T.{name}"}


def policy(name: str = "MASK", kind: str = "MASKING_POLICY") -> Json:
    return {"objectDomain": kind, "objectName": f"G.P.{name}"}


def tagged(name: str = "PII", how: Json = ADD) -> Json:
    return {"tags": {f"G.T.{name}": {**how, "tagValue": {"value": "high"}} if how == ADD else how}}


def masked(name: str = "MASK", how: Json = ADD) -> Json:
    return {"maskingPolicies": {f"G.P.{name}": how}}


def on_c(**what: Json) -> Json:
    return changed(A, columns={"C": what})


def called(element: Json, name: str) -> Json:
    return changed(element, objectName={"value": name})


MASK_ON_TAG: Final = changed(tag(), **masked())
TAG_RENAMED: Final = called(tag(), "G.T.P2")
POLICY_RENAMED: Final = called(policy(), "G.P.M2")
READ: Final = [read(A, "BEN")]
ENFORCED: Final[Json] = {**read(A), "policies_referenced": [{**A, "columns": [
    {"columnName": "C", "policies": [{"policyKind": "MASKING_POLICY", "policyName": "G.P.MASK"}]},
]}]}  # fmt: skip
"""By a mask that no row sets, as it is older than the record."""
OF_TAG: Final = "G.T.PII was renamed to G.T.P2"
OF_POLICY: Final = "G.P.MASK was renamed to G.P.M2"
BOTH: Final = frozenset({"policy-coverage", "unmasked-reads"})
COVERAGE: Final = frozenset({"policy-coverage"})
READS: Final = frozenset({"unmasked-reads"})
NO: Final = frozenset[str]()
RENAMED: Final[dict[str, tuple[list[Json], str, frozenset[str]]]] = {
    # The tag is P2 from then on, and another one is made of its former name, and dropped.
    "tag-of-column": (
        [MASK_ON_TAG, on_c(**tagged()), TAG_RENAMED, changed(tag(), "CREATE"), changed(tag(), "DROP")], OF_TAG, BOTH,
    ),
    "tag-of-table": ([MASK_ON_TAG, changed(A, **tagged()), TAG_RENAMED], OF_TAG, BOTH),
    "tag-of-schema": ([MASK_ON_TAG, changed(SCHEMA, **tagged()), TAG_RENAMED], OF_TAG, BOTH),
    "tag-of-database": ([MASK_ON_TAG, changed(DATABASE, **tagged()), TAG_RENAMED], OF_TAG, BOTH),
    "mask-of-column": ([on_c(**tagged(), **masked()), POLICY_RENAMED, changed(policy(), "DROP")], OF_POLICY, BOTH),
    "mask-of-tag": ([MASK_ON_TAG, on_c(**tagged()), POLICY_RENAMED], OF_POLICY, BOTH),
    # The mask is set on the tag under its later name.
    "masked-later": ([on_c(**tagged()), TAG_RENAMED, changed(tag("P2"), **masked())], OF_TAG, BOTH),
    # The tag with the mask gets its name from another one before it is set: by the name alone, it has no mask.
    "masked-before": (
        [changed(tag("OLD"), **masked()), called(tag("OLD"), "G.T.PII"), on_c(**tagged())],
        "G.T.OLD was renamed to G.T.PII", BOTH,
    ),
    "enforced-mask": ([ENFORCED, POLICY_RENAMED], OF_POLICY, READS),
    "enforced-mask-unset": ([ENFORCED, on_c(**masked(how=DROP)), POLICY_RENAMED], OF_POLICY, NO),
    # Only what has a tag is in policy-coverage.
    "mask-without-a-tag": ([on_c(**masked()), POLICY_RENAMED], OF_POLICY, READS),
    # Without a mask under any name, reads are no matter of the tag.
    "tag-without-a-mask": ([on_c(**tagged()), TAG_RENAMED], OF_TAG, COVERAGE),
    "row-access": (
        [changed(A, **tagged(), rowAccessPolicies={"G.P.ROWS": ADD}),
         called(policy("ROWS", "ROW_ACCESS_POLICY"), "G.P.R2")],
        "G.P.ROWS was renamed to G.P.R2", COVERAGE,
    ),
    # What the row cannot concern.
    "on-another-table": ([on_c(**tagged(), **masked()), changed(OTHER, **tagged("LOW")), called(tag("LOW"), "G.T.P2")],
                         "G.T.LOW was renamed", NO),
    "unset-before": ([on_c(**tagged()), on_c(**tagged(how=DROP)), TAG_RENAMED, MASK_ON_TAG], OF_TAG, NO),
    "set-after": ([TAG_RENAMED, changed(tag(), "CREATE"), MASK_ON_TAG, on_c(**tagged())], OF_TAG, NO),
    "unset-mask": ([on_c(**tagged(), **masked()), on_c(**masked(how=DROP)), POLICY_RENAMED], OF_POLICY, NO),
}  # fmt: skip
"""The story, its rename, and the questions about A that it can concern."""
ID: Final[Json] = {"objectId": {"value": 80}}
WITH_ID: Final[Json] = {**tag(), "objectId": 80}
MIXED: Final[dict[str, list[Json]]] = {
    name: [changed(WITH_ID, **masked()), changed(around, tags={"G.T.PII": {**ADD, **ID}}), *READ, done]
    for name, around, done in (
        ("schema-dropped", SCHEMA, changed(tag(), "DROP")),
        ("schema-renamed", SCHEMA, TAG_RENAMED),
        ("database-dropped", DATABASE, changed(tag(), "DROP")),
        ("column-dropped", A, changed(tag(), "DROP")),
    )
} | {"other-schema": [
    changed({**SCHEMA, "objectId": 72, "objectName": "D.S2"}, tags={"G.T.PII": {**ADD, **ID}}), *READ,
    changed(tag(), "DROP"),
]}  # fmt: skip
"""The tag is set with its id on what A is in, and dropped or renamed without."""

_MASK_BY_ID: Final = changed(WITH_ID, **masked())
_AWAY: Final = called(WITH_ID, "G.T.OLD")
_TAGGED_BY_ID: Final = on_c(tags={"G.T.PII": {**ADD, **ID, "tagValue": {"value": "high"}}})
IN_TWO_FORMS: Final[dict[str, tuple[list[Json], bool]]] = {
    # The mask is on another tag than the one that the column has: the answer counts it.
    "renamed-away": ([_MASK_BY_ID, _AWAY, changed(tag(), "CREATE"), on_c(**tagged())], True),
    "renamed-away-alone": ([_MASK_BY_ID, _AWAY, on_c(**tagged())], True),
    "renamed-into": ([_AWAY, changed(tag(), **masked()), called(WITH_ID, "G.T.PII"), _TAGGED_BY_ID], True),
    "masked-when-away": ([_TAGGED_BY_ID, _AWAY, changed(tag(), **masked())], True),
    "replaced-by-id": ([changed(tag(), **masked()), changed(WITH_ID, "REPLACE"), _TAGGED_BY_ID], True),
    "replaced-by-name": ([_MASK_BY_ID, changed(tag(), "REPLACE"), on_c(**tagged())], True),
    "of-the-table": ([_MASK_BY_ID, changed(tag(), "REPLACE"), changed(A, **tagged())], True),
    "of-the-schema": ([_MASK_BY_ID, changed(tag(), "REPLACE"), changed(SCHEMA, **tagged())], True),
    # As far as rows tell, it is one tag.
    "by-name-later": ([changed(WITH_ID, "CREATE"), _MASK_BY_ID, on_c(**tagged())], False),
    "by-id-later": ([changed(tag(), "CREATE"), changed(tag(), **masked()), _TAGGED_BY_ID], False),
    "renamed-later": ([_MASK_BY_ID, on_c(**tagged()), _AWAY], False),
    # Nothing counts, as the mask ended before.
    "no-mask-any-more": ([_MASK_BY_ID, changed(WITH_ID, **masked(how=DROP)), _AWAY, on_c(**tagged())], False),
    "replaced-after": ([on_c(**tagged()), changed(WITH_ID, "REPLACE"), _TAGGED_BY_ID], False),
    "never-a-mask": ([_AWAY, on_c(**tagged())], False),
}
"""A mask on a tag in one form, and a column with the tag in the other: whether these may be two tags."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    told = {name: [*rows, *READ] for name, (rows, *_) in RENAMED.items()}
    told |= {name: [*rows, *READ] for name, (rows, _) in IN_TWO_FORMS.items()}
    return stories.told({**told, **MIXED}, tmp_path_factory.mktemp("elements"))


def notes(question: str, story: str, whole: Store, **given: Any) -> str:
    return "\n".join(asked(question, stories.of(story, whole), **given).notes)


@pytest.mark.parametrize("question", sorted(BOTH))
@pytest.mark.parametrize("given", [{"object_name": "D.S.A"}, {"object_id": "5", "domain": "Table"}])
@pytest.mark.parametrize("story", RENAMED)
def test_the_rename_of_a_tag_or_policy_of_the_object_is_told(
    story: str, given: Json, question: str, whole: Store
) -> None:
    _, said, questions = RENAMED[story]
    told = notes(question, story, whole, **given)
    assert (said in told) == (question in questions)
    assert said in notes(question, story, whole)
    assert "Ask for G." not in told


def test_of_a_column_only_what_is_on_it_is_told(whole: Store) -> None:
    for column, is_told in {"C": True, "F": False}.items():
        told = notes("unmasked-reads", "mask-of-column", whole, object_name="D.S.A", column_name=column)
        assert (OF_POLICY in told) == is_told


def test_until_then_it_is_not_told(whole: Store) -> None:
    for minute, is_told in {2.5: False, 3.5: True}.items():
        told = notes("policy-coverage", "tag-of-column", whole, object_name="D.S.A", at=at(minute))
        assert (OF_TAG in told) == is_told


def test_a_tag_that_was_renamed_is_not_said_to_have_ended(whole: Store) -> None:
    """That another tag of its former name was dropped later says nothing of it."""
    for given in ({"object_name": "D.S.A"}, {}):
        assert "Earlier ones ended" not in notes("policy-coverage", "tag-of-column", whole, **given)
    assert "Earlier ones ended" in notes("policy-coverage", "unset-before", whole, object_name="D.S.A")


def test_nobody_is_said_to_read_in_clear_what_its_tag_may_mask(whole: Store) -> None:
    """With ids, it is masked through the tag under its other name."""
    for story in ("masked-later", "masked-before"):
        assert "read it unmasked" not in notes("unmasked-reads", story, whole, object_name="D.S.A")
    assert "read it unmasked" in notes("unmasked-reads", "tag-without-a-mask", whole, object_name="D.S.A")


@pytest.mark.parametrize("story", [*RENAMED, *MIXED])
def test_pages_and_the_tool_object_tell_it_of_the_tags_and_policies_that_they_list(story: str, whole: Store) -> None:
    """Whatever the policies are, and with the tags of the schema and database."""
    graph = stories.of(story, whole)
    told = "\n".join(ask(graph, find(str(PAGE)), {"object": next(Lookups(graph).with_text("ah:objectId", "5"))}).notes)
    if story in MIXED:
        assert ("Rows name a tag or policy with its id and without" in told) == (story != "other-schema")
    else:
        assert (RENAMED[story][1] in told) == (RENAMED[story][2] != NO)


@pytest.mark.parametrize("question", sorted(BOTH))
@pytest.mark.parametrize("story", MIXED)
def test_a_tag_of_its_schema_that_ends_in_the_other_form_is_told(story: str, question: str, whole: Store) -> None:
    told = notes(question, story, whole, object_name="D.S.A")
    assert ("Rows name a tag or policy with its id and without" in told) == (story != "other-schema")


def test_a_note_on_many_tags_and_policies_says_how_many_it_leaves_out(tmp_path: Path) -> None:
    """Seven tags are set by name alone, and dropped with their ids."""
    rows: list[Json] = []
    for number in range(1, 8):
        name = f"D.S.P{number}"
        tag = {"objectDomain": "TAG", "objectId": 100 + number, "objectName": name}
        rows += [changed(thing("A", 5), tags={name: {"subOperationType": "ADD"}}), changed(tag, "DROP")]
    graph = stories.told({"many": rows}, tmp_path)
    told = "\n".join(ask(graph, find("policy-coverage"), {}).notes)
    assert "Rows name a tag or policy with its id and without: D.S.P3 was dropped" in told
    assert "and 2 more before. The answer does not count" in told


@pytest.mark.parametrize("given", [{"object_name": "D.S.A"}, {}])
@pytest.mark.parametrize("question", ["policy-coverage", "unmasked-copies", "unmasked-reads"])
@pytest.mark.parametrize("story", IN_TWO_FORMS)
def test_a_mask_on_what_may_be_another_tag_of_the_name_is_told(
    story: str, question: str, given: Json, whole: Store
) -> None:
    told = notes(question, story, whole, **given)
    assert ("A tag that rows give without an id is taken for one of its name" in told) == IN_TWO_FORMS[story][1]


@pytest.mark.parametrize("minute", [0, 2, 3])
def test_changes_tell_of_what_was_replaced_by_the_id_and_set_without(minute: int, whole: Store) -> None:
    told = notes("changes", "replaced-after", whole, since=f"2026-01-01T00:{minute:02}:00Z")
    assert ("Rows name a tag or policy with its id and without: G.T.PII was replaced (query q2" in told) == (minute < 3)


def test_such_a_note_names_what_has_the_tag(whole: Store) -> None:
    assert "they give with one: G.T.PII on D.S.A, column C. But" in notes("policy-coverage", "renamed-away", whole)
    assert "they give with one: G.T.PII on D.S. But" in notes("policy-coverage", "of-the-schema", whole)
    for at_, is_told in (("2026-01-01T00:02:30Z", False), ("2026-01-01T00:04:30Z", True)):
        assert ("But the one with the id" in notes("policy-coverage", "renamed-away", whole, at=at_)) == is_told
