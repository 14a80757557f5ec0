"""What answers say of objects whose rows give no id: renamed, swapped, or given with an id by other rows.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.ask import stories
from tests.ask.test_names import SET_MASK, asked, at, changed, copied, read, renamed, swapped, thing

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
A, Z, B, C, SOURCE = (thing(name, 0) for name in ("A", "Z", "B", "C", "SOURCE"))
SCHEMA: Final[Json] = {"objectDomain": "Schema", "objectName": "D.S"}
NAMED: Final[Json] = {"objectName": "D.S.T", "columns": [{"columnName": "C"}]}
TAG: Final[Json] = {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "high"}}}
STORIES: Final[dict[str, list[Json]]] = {
    "renamed": [
        copied(SOURCE, A), changed(A, columns={"C": {"tags": TAG, **SET_MASK["C"]}}), renamed(A, "Z"), copied(Z, C),
        read(Z, "BEN"),
    ],
    "swapped": [copied(SOURCE, A), copied(B, C), *swapped(A, B), copied(B, thing("D", 0))],
    # A is made in A_NEW each night and takes its place
    "rebuilt": [
        copied(SOURCE, A), renamed(A, "A_OLD"), copied(B, thing("A_NEW", 0)), renamed(thing("A_NEW", 0), "A"),
        read(A, "BEN"),
    ],
    "schema": [copied(SOURCE, A), changed(SCHEMA, objectName={"value": "D.S2"}), read(A, "BEN")],
    # the mask is set by a row that gives no id of the table; others give it
    "set-by-name": [
        read(thing("T", 5), "BEN"), changed(thing("T", 0), columns={"C": {"tags": TAG, **SET_MASK["C"]}}),
        read(thing("T", 5), "CLEO"),
    ],
    # the other way round: the mask is set with the id, and the object is read without
    "read-by-name": [
        changed(thing("T", 5), columns={"C": {"tags": TAG, **SET_MASK["C"]}}), read(thing("T", 0), "BEN"),
    ],
    # what a copy went to is read without its id
    "copied-and-read": [changed(SOURCE, columns=SET_MASK), copied(SOURCE, thing("T", 5)), read(thing("T", 0), "BEN")],
    # the row gives neither id nor kind of what was copied
    "without-kind": [read(thing("T", 5), masked=True), copied(NAMED, B), read(B, "BEN")],
    # A is replaced each night
    "nightly": [
        changed(A, "CREATE"), changed(A, columns={"C": {"tags": TAG, **SET_MASK["C"]}}), copied(SOURCE, A),
        copied(SOURCE, A, "REPLACE"), read(A, "BEN"),
    ],
    "unmasked": [copied(SOURCE, A), read(A, "BEN")],
    # C is called F, and then G
    "columns": [
        copied(thing("A", 1), thing("B", 2)),
        changed(thing("A", 1), columns={"C": {"subOperationType": "ALTER", "objectName": {"value": "F"}}}),
        changed(thing("A", 1), columns={"F": {"subOperationType": "ALTER", "objectName": {"value": "G"}}}),
        read(thing("A", 1, columns=("G",)), "BEN"),
    ],
}  # fmt: skip
RENAMED: Final = "D.S.A was renamed to D.S.Z (query q3, 2026-01-01T00:03:00Z)"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("nameless"))


def notes(question: str, story: str, whole: Store, **given: Any) -> str:
    return "\n".join(asked(question, stories.of(story, whole), **given).notes)


@pytest.mark.parametrize("name", ["D.S.A", "D.S.Z"])
@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("column-copies", {"column_name": "C"}),
        ("column-readers", {"column_name": "C"}),
        ("downstream-users", {}),
        ("end-up", {}),
        ("end-up", {"column_name": "C"}),
        ("former-names", {}),
        ("lineage-as-of", {"at": at(9)}),
        ("policy-coverage", {}),
        ("root-cause", {"column_name": "C"}),
        ("sensitive-data-movement", {"domain": "Table"}),
        ("tag-history", {"column_name": "C"}),
        ("unmasked-reads", {}),
        ("when-accessed", {}),
        ("who-accessed", {}),
        ("writers", {}),
    ],
)
def test_a_rename_without_an_id_is_told_by_answers_about_either_name(
    question: str, given: dict[str, str], name: str, whole: Store
) -> None:
    told = notes(question, "renamed", whole, object_name=name, **given)
    other = {"D.S.A": "D.S.Z", "D.S.Z": "D.S.A"}[name]
    assert RENAMED in told
    assert f"Ask for {other}, too." in told


@pytest.mark.parametrize("question", ["policy-coverage", "tag-reach", "unmasked-copies", "unmasked-reads", "exposure"])
def test_answers_about_all_objects_tell_it_too(question: str, whole: Store) -> None:
    assert RENAMED in notes(question, "renamed", whole)


def test_what_is_answered_counts_as_what_is_asked(whole: Store) -> None:
    """The data of SOURCE is in A, which is called Z since."""
    assert RENAMED in notes("end-up", "renamed", whole, object_name="D.S.SOURCE")
    assert RENAMED not in notes("end-up", "renamed", whole, object_name="D.S.SOURCE", until=at(2))


@pytest.mark.parametrize("name", ["D.S.A", "D.S.Z"])
def test_nobody_is_said_to_read_unmasked_what_may_be_masked_by_its_other_name(name: str, whole: Store) -> None:
    told = notes("unmasked-reads", "renamed", whole, object_name=name)
    assert "read it unmasked" not in told
    assert "No row sets a tag" not in notes("policy-coverage", "renamed", whole, object_name=name)
    assert "read it unmasked" in notes("unmasked-reads", "unmasked", whole, object_name="D.S.A")


def test_a_swap_without_ids_is_told_once(whole: Store) -> None:
    told = notes("end-up", "swapped", whole, object_name="D.S.A")
    assert told.count("was swapped with") == 1
    assert "(query q3" in told


def test_all_names_of_a_chain_are_told(whole: Store) -> None:
    told = notes("column-readers", "rebuilt", whole, object_name="D.S.A", column_name="C")
    assert "D.S.A was renamed to D.S.A_OLD (query q2" in told
    assert "D.S.A_NEW was renamed to D.S.A (query q4" in told


def test_the_rename_of_a_schema_is_told(whole: Store) -> None:
    rows = asked("changes", stories.of("schema", whole), since=at(0)).rows
    assert [row[1] for row in rows if row[0] == "object renamed"] == ["D.S2"]
    for name in ("D.S.A", "D.S"):
        kind = {} if name == "D.S.A" else {"domain": "Schema"}
        assert "D.S was renamed to D.S2" in notes("writers", "schema", whole, object_name=name, **kind)


@pytest.mark.parametrize("story", ["set-by-name", "read-by-name"])
@pytest.mark.parametrize("question", ["policy-coverage", "unmasked-reads"])
def test_what_is_set_with_the_id_and_used_without_is_told(question: str, story: str, whole: Store) -> None:
    for given in ({"object_name": "D.S.T"}, {}):
        told = notes(question, story, whole, **given)
        assert "Some rows give no id of D.S.T" in told
        assert "read it unmasked" not in told
        assert "No row sets a tag" not in told


def test_a_copy_that_is_read_without_its_id_is_told(whole: Store) -> None:
    told = notes("unmasked-copies", "copied-and-read", whole)
    assert "Rows give D.S.T with an id and without" in told
    assert "with an id and without" not in notes("unmasked-copies", "unmasked", whole)


@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("column-copies", {"object_id": "5", "column_name": "C"}),
        ("end-up", {"object_id": "5"}),
        ("unmasked-copies", {}),
        ("unmasked-reads", {"object_name": "D.S.T"}),
    ],
)
def test_what_a_row_gives_by_the_name_alone_may_be_of_any_kind(
    question: str, given: dict[str, str], whole: Store
) -> None:
    told = notes(question, "without-kind", whole, **given)
    assert "Rows give D.S.T with an id and without" in told
    assert "the question does not apply" not in told
    if question == "unmasked-reads":
        assert "if that is the same, and masked, whoever read it in this form read it unmasked" in told


def test_a_tag_that_a_row_without_the_id_sets_is_told_of_its_reach(whole: Store) -> None:
    assert "Some rows give no id of D.S.T" in notes("tag-reach", "set-by-name", whole)


@pytest.mark.parametrize(
    "question", ["column-copies", "column-readers", "end-up", "root-cause", "tag-history", "unmasked-reads"]
)
def test_all_names_of_a_renamed_column_are_told(question: str, whole: Store) -> None:
    """The column C is renamed to F, and F to G. The tags of former names are in the answer of tag-history already."""
    for name, later in {"C": "FG", "F": "G", "G": ""}.items():
        told = notes(question, "columns", whole, object_name="D.S.A", column_name=name)
        others = later if question == "tag-history" else set("CFG") - {name}
        for other in "CFG":
            assert (f"column_name={other}" in told) == (other in others)


def test_what_is_renamed_without_an_id_ends(whole: Store) -> None:
    graph = stories.of("renamed", whole)
    names = {(row[1], row[3] is None) for row in asked("former-names", graph, object_name="D.S.A").rows}
    assert names == {("D.S.A", False)}
    names = {(row[1], row[3] is None) for row in asked("former-names", graph, object_name="D.S.Z").rows}
    assert names == {("D.S.Z", True)}
    assert {row[0] for row in asked("unused-objects", graph, since=at(0)).rows} == {"D.S.C"}
    assert asked("lineage-as-of", graph, object_name="D.S.A", at=at(2)).rows
    assert not asked("lineage-as-of", graph, object_name="D.S.A", at=at(4)).rows
    assert asked("policy-coverage", graph, at=at(2)).rows == [("D.S.A", "C", "D.S.PII=high", "D.S.MASK")]
    assert not asked("policy-coverage", graph).rows
    assert not asked("writers", graph, object_name="D.S.Z").rows


def test_what_takes_a_name_by_a_rename_has_nothing_of_what_had_it(whole: Store) -> None:
    graph = stories.of("rebuilt", whole)
    assert not asked("lineage-as-of", graph, object_name="D.S.A", at=at(9)).rows
    assert [row[1] for row in asked("writers", graph, object_name="D.S.A").rows] == ["q1"]


def test_what_is_replaced_without_an_id_ends_with_its_tags_and_policies(whole: Store) -> None:
    graph = stories.of("nightly", whole)
    assert asked("policy-coverage", graph, at=at(3)).rows == [("D.S.A", "C", "D.S.PII=high", "D.S.MASK")]
    assert not asked("policy-coverage", graph).rows
    assert [row[5] for row in asked("unmasked-reads", graph, object_name="D.S.A").rows] == ["AFTER"]


# --- made anew by name, and policies on tags --------------------------------------------------------------------------

T: Final = thing("T", 5)
TAGGED: Final = changed(T, columns={"C": {"tags": TAG, **SET_MASK["C"]}})
PII: Final[Json] = {"objectDomain": "Tag", "objectId": 80, "objectName": "D.S.PII"}
POLICY: Final[Json] = {"objectDomain": "MASKING_POLICY", "objectId": 900, "objectName": "D.S.MASK"}
SCHEMA_OF_T: Final[Json] = {**SCHEMA, "objectId": 70}
BY_NAME_ALONE: Final[Json] = {"maskingPolicies": {"D.S.MASK": {"subOperationType": "ADD"}}}
UNSET: Final[Json] = {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "DROP"}}}
UNSET_BY_NAME: Final[Json] = {"maskingPolicies": {"D.S.MASK": {"subOperationType": "DROP"}}}
ON_COLUMN: Final = changed(T, columns={"C": {"tags": TAG}})
MADE_ANEW: Final[dict[str, tuple[list[Json], str]]] = {
    "create": ([TAGGED, changed(thing("T", 0), "CREATE"), read(T, "BEN")], "D.S.T was created (query q2"),
    "replace": ([TAGGED, changed(thing("T", 0), "REPLACE"), read(T, "BEN")], "D.S.T was replaced (query q2"),
    "other-name": ([TAGGED, changed(thing("U", 0), "CREATE"), read(T, "BEN")], ""),
    "before": ([changed(thing("T", 0), "CREATE"), TAGGED, read(T, "BEN")], ""),
    "itself": ([{**copied(SOURCE, T), **changed(thing("T", 0), "CREATE")}, TAGGED, read(T, "BEN")], ""),
}
ON_TAGS: Final[dict[str, tuple[list[Json], str]]] = {
    "dropped": (
        [changed(POLICY, "CREATE"), changed(PII, **BY_NAME_ALONE), ON_COLUMN, changed(POLICY, "DROP")],
        "D.S.MASK was dropped (query q4",
    ),
    "dropped-of-schema": (
        [changed(POLICY, "CREATE"), changed(PII, **BY_NAME_ALONE), changed(SCHEMA_OF_T, tags=TAG),
         changed(POLICY, "DROP")],
        "D.S.MASK was dropped (query q4",
    ),
    "unset": (
        [changed(PII, **SET_MASK["C"]), ON_COLUMN, changed(PII, **UNSET_BY_NAME)], "set or unset D.S.MASK without",
    ),
    "unset-on-nameless": (
        [changed(PII, **SET_MASK["C"]), ON_COLUMN, changed({**PII, "objectId": None}, **UNSET)],
        "set or unset D.S.MASK on D.S.PII without",
    ),
    "unset-with-ids": ([changed(PII, **SET_MASK["C"]), ON_COLUMN, changed(PII, **UNSET)], ""),
    "set-after": (
        [ON_COLUMN, changed({**PII, "objectId": None}, **UNSET), changed(PII, **SET_MASK["C"])], "",
    ),
    "other-tag": (
        [changed({**PII, "objectId": 81, "objectName": "D.S.LOW"}, **SET_MASK["C"]), ON_COLUMN,
         changed({**PII, "objectId": None, "objectName": "D.S.LOW"}, **UNSET)], "",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Store:
    on_tags = {f"tag-{name}": [*rows, read(T, "BEN")] for name, (rows, _) in ON_TAGS.items()}
    told = {name: rows for name, (rows, _) in MADE_ANEW.items()} | on_tags
    return stories.told(told, tmp_path_factory.mktemp("later"))


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.T"}])
@pytest.mark.parametrize("story", MADE_ANEW)
def test_a_table_that_a_row_without_id_makes_anew_is_told(story: str, given: Json, later: Store) -> None:
    """docs/questions.md: the answer does not count what a row without an id did for an object that has the name."""
    graph, said = stories.of(story, later), MADE_ANEW[story][1]
    coverage = asked("policy-coverage", graph, **given)
    assert coverage.rows == [("D.S.T", "C", "D.S.PII=high", "D.S.MASK")]
    of_column = {"object_name": "D.S.T", "column_name": "C"}
    for notes in (
        coverage.notes,
        asked("unmasked-reads", graph, **given).notes,
        asked("tag-history", graph, **of_column).notes,
    ):
        told = [note for note in notes if "By rows that give no id of the object" in note]
        assert len(told) == bool(said)
        assert all(said in note for note in told)


@pytest.mark.parametrize("given", [{}, {"object_name": "D.S.T"}, {"object_id": "5"}])
@pytest.mark.parametrize("question", ["policy-coverage", "unmasked-reads"])
@pytest.mark.parametrize("story", ON_TAGS)
def test_a_policy_on_a_tag_that_ends_in_the_other_form_is_told(
    story: str, question: str, given: Json, later: Store
) -> None:
    """Of the table whose column, or whose schema, has the tag, too; if one is asked for, of no other tag."""
    said = ON_TAGS[story][1]
    told = "".join(asked(question, stories.of(f"tag-{story}", later), **given).notes)
    assert ("with its id and without: " in told or "rows set or unset" in told) == bool(
        said or (story == "other-tag" and not given)
    )
    assert said in told
