"""What a name's data is and where it goes, masks that come through tags, readers of views, and names of several kinds.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.errors import UsageError
from tests.ask import stories
from tests.ask.test_names import SET_MASK, STAGE, asked, at, changed, copied, read, renamed, swapped, thing, told

if TYPE_CHECKING:
    from pyoxigraph import Store

Json = dict[str, Any]
SOURCE, A, Z, B, C, D = (
    thing("SOURCE", 1), thing("A", 2), thing("Z", 2), thing("B", 3), thing("C", 4), thing("D", 5)
)  # fmt: skip
TAG: Final[Json] = {"objectDomain": "TAG", "objectId": 80, "objectName": "D.S.PII"}
ON: Final[Json] = SET_MASK["C"]["maskingPolicies"]
OFF: Final[Json] = {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "DROP"}}
SET_TAG, UNSET_TAG = (
    {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": doing, **value}}
    for doing, value in (("ADD", {"tagValue": {"value": "high"}}), ("DROP", {}))
)
TO_H: Final[Json] = {"C": {"subOperationType": "ALTER", "objectName": {"value": "H"}}}
TAG_BY_NAME: Final[Json] = {"D.S.PII": {"subOperationType": "ADD", "tagValue": {"value": "high"}}}
SHARE: Final[Json] = {"objectDomain": "Share", "objectId": 70, "objectName": "PARTNERS"}


def named(name: str) -> Json:
    """A table of which the row gives no id; 0 stands for none, as in the guide's SWAP."""
    return thing(name, 0)


def _shared(operation: str, *things: Json) -> Json:
    """A grant of SELECT on things to the share, or its revoke."""
    each = [
        {"PRIVILEGES": ["SELECT"], **{f"SECURABLE_OBJECT_{name[6:].upper()}": told for name, told in one.items()}}
        for one in ({name: one[name] for name in ("objectDomain", "objectId", "objectName")} for one in things)
    ]
    return changed(SHARE, operation, **{operation.lower(): {"value": each if len(each) > 1 else each[0]}})


STORIES: Final[dict[str, list[Json]]] = {
    # A is filled, called Z, and then copied
    "renamed": [copied(SOURCE, A), renamed(A, "Z"), copied(Z, C), read(C, "BEN"), read(Z, "CLEO")],
    # A is called Z, and another table is made from it that takes the name A
    "made-anew": [copied(SOURCE, A), renamed(A, "Z"), copied(Z, thing("A", 12), "CREATE")],
    # with a copy from before
    "copied-before": [copied(SOURCE, A), copied(A, B), renamed(A, "Z"), copied(Z, C), copied(Z, STAGE)],
    # what is written after the rename was never in A; but a table keeps what it has
    "emptied": [copied(SOURCE, A), renamed(A, "Z"), copied(D, Z, "REPLACE"), copied(Z, C), read(Z, "CLEO")],
    # nothing of it is on record while it is called M
    "in-passing": [copied(SOURCE, A), read(A, "ANA"), renamed(A, "M"), renamed(thing("M", 2), "Z"), copied(Z, C)],
    # Z is read and copied as A, and has the name M for a time, in which it is written or not
    "written-in-passing": [
        copied(SOURCE, A), read(A, "ANA"), copied(A, B), renamed(A, "M"), copied(D, thing("M", 2)),
        renamed(thing("M", 2), "Z"), read(Z, "CLEO"), copied(Z, C),
    ],
    "column-renamed": [
        copied(SOURCE, A), changed(A, columns={"C": {"subOperationType": "ALTER", "objectName": {"value": "F"}}}),
        renamed(A, "Z"), copied(thing("Z", 2, columns=("F",)), C) | {
            "objects_modified": [{**C, "columns": [{"columnName": "C", "directSources": [
                {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.Z", "columnName": "F"}]}]}],
        },
    ],
    # N is built, and has the name A for a time
    "swapped-twice": [
        copied(SOURCE, A), copied(D, thing("N", 6)), *swapped(A, thing("N", 6)), read(thing("A", 6), "BEN"),
        *swapped(thing("A", 6), thing("N", 2)), read(thing("N", 6), "CLEO"),
    ],
    # the mask is on a tag, the tag on A, before A is copied to B, which is read; then the tag is taken away
    "mask-on-tag": [
        changed(TAG, maskingPolicies=ON), changed(A, columns={"C": {"tags": SET_TAG}}), copied(A, B), read(B, "BEN"),
        changed(A, columns={"C": {"tags": UNSET_TAG}}), copied(A, D), read(D, "CLEO"),
    ],
    # copied while masked; read before, while and after that
    "mask-taken-away": [
        copied(A, B), read(B, "EARLY"), changed(A, columns=SET_MASK), read(A, "BEN", masked=True), renamed(B, "B2"),
        read(thing("B2", 3), "BEN"), changed(A, columns={"C": {"maskingPolicies": OFF}}), renamed(thing("B2", 3), "B3"),
        read(thing("B3", 3), "LATE"),
    ],
    # the same, the source being dropped while it is masked
    "masked-and-dropped": [
        changed(A, columns=SET_MASK), copied(A, B), changed(A, "DROP"), read(B, "LATE"),
    ],
    "unmasked-and-dropped": [
        changed(A, columns=SET_MASK), copied(A, B), changed(A, columns={"C": {"maskingPolicies": OFF}}),
        changed(A, "DROP"), read(B, "LATE"),
    ],
    "masked-column-dropped": [
        changed(A, columns=SET_MASK), copied(A, B),
        changed(A, columns={"C": {"subOperationType": "DROP"}}), read(B, "LATE"),
        changed(A, columns={"C": {"subOperationType": "ADD"}}), renamed(B, "B2"), read(thing("B2", 3), "LATER"),
    ],
    # set before the record: only queries that enforced it tell of it, until it is unset
    "enforced": [
        copied(A, B), read(A, "ANA", masked=True), read(B, "BEN"), renamed(B, "B2"),
        changed(A, columns={"C": {"maskingPolicies": OFF}}), read(thing("B2", 3), "LATE"),
    ],
    "kinds": [
        copied(SOURCE, A), {**read(SOURCE), "direct_objects_accessed": [thing("V", 60, "View")]}, read(STAGE, "BEN"),
        {**read(SOURCE, "CLEO"), "direct_objects_accessed": [thing("CHANGES", 61, "Stream")]},
        copied(thing("BOTH", 7), B), copied(thing("BOTH", 7, "Stage"), B),
    ],
    # granted and revoked; revoked, but granted before the record; accounts taken away, set again, set to others; two
    "shared": [
        copied(A, B), _shared("GRANT", A), _shared("REVOKE", A), _shared("REVOKE", C),
        changed(SHARE, accountsToAdd={"value": ["NORTH", "SOUTH"]}),
        changed(SHARE, accountsToRemove={"value": ["NORTH"]}), changed(SHARE, accountsToSet={"value": ["SOUTH"]}),
        changed(SHARE, accountsToSet={"value": ["WEST"]}),
        _shared("GRANT", A, B), _shared("REVOKE", A, B),
    ],
    # the column is called F since, and its mask goes on, until it is unset
    "masked-column-renamed": [
        changed(A, columns=SET_MASK), copied(A, B),
        changed(A, columns={"C": {"subOperationType": "ALTER", "objectName": {"value": "F"}}}), read(B, "BEN"),
        renamed(B, "B2"), changed(A, columns={"F": {"maskingPolicies": OFF}}), read(thing("B2", 3), "LATE"),
    ],
    # the column of the copy is called H before it is read
    "copy-renamed": [
        changed(A, columns=SET_MASK), copied(A, B), changed(B, columns=TO_H),
        read(thing("B", 3, columns=("H",)), "BEN"),
    ],
    # the masked column itself is called H: that is no copy of it
    "only-renamed": [
        changed(A, columns=SET_MASK), copied(A, B), changed(A, columns=TO_H),
        read(thing("A", 2, columns=("H",)), "BEN"),
    ],
    # the copy has a mask of its own, set on it or on its tag, until that is unset; its reads enforce none
    "copy-masked": [
        changed(A, columns=SET_MASK), copied(A, B), changed(B, columns=SET_MASK), read(B, "BEN"),
        changed(TAG, maskingPolicies=ON), changed(B, columns={"C": {"tags": SET_TAG}}),
        changed(B, columns={"C": {"maskingPolicies": OFF}}), read(B, "CLEO"),
    ],
    # the row that sets the tag on A gives no id of it, and that which sets the mask on the tag does
    "tag-without-id": [
        changed(TAG, maskingPolicies=ON), changed(A, columns={"C": {"tags": TAG_BY_NAME}}), copied(A, B),
        read(B, "BEN"),
    ],
    "mask-on-tag-without-id": [
        changed({**TAG, "objectId": 0}, maskingPolicies=ON), changed(A, columns={"C": {"tags": SET_TAG}}),
        copied(A, B), read(B, "BEN"),
    ],
    "copy-unmasked": [
        changed(A, columns=SET_MASK), copied(A, B), changed(B, columns=SET_MASK),
        changed(B, columns={"C": {"maskingPolicies": OFF}}), read(B, "CLEO"),
    ],
    # from a column into another one of the same table, and into itself
    "within": [
        copied(SOURCE, A), copied(A, A),
        read(A, "ETL") | {"objects_modified": [{**A, "columns": [{"columnName": "F", "directSources": [
            {"objectDomain": "Table", "objectId": 2, "objectName": "D.S.A", "columnName": "C"}]}]}]},
    ],
    "chain": [copied(A, B), copied(B, C)],
    # rows without ids: A is called Z, and Z swapped with B
    "renamed-without-id": [
        copied(named("A"), named("D")), renamed(named("A"), "Z"), *swapped(named("Z"), named("B")),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("followed"))


def copies(graph: Store, name: str) -> set[str | None]:
    return told("column-copies", graph, object_name=name, column_name="C")


# --- a name's data is what was in the object while it had the name ---------------------------------------------------


@pytest.mark.parametrize(
    ("story", "name", "targets"),
    [
        ("renamed", "D.S.A", {"D.S.C"}),
        ("renamed", "D.S.Z", {"D.S.C"}),
        ("renamed", "D.S.SOURCE", {"D.S.A", "D.S.C"}),
        ("copied-before", "D.S.A", {"D.S.B", "D.S.C"}),
        ("emptied", "D.S.A", set()),
        ("emptied", "D.S.SOURCE", {"D.S.A"}),
        ("emptied", "D.S.Z", {"D.S.C"}),
        ("in-passing", "D.S.M", {"D.S.C"}),
        ("written-in-passing", "D.S.M", {"D.S.C"}),
        ("written-in-passing", "D.S.A", {"D.S.B", "D.S.C"}),
        ("column-renamed", "D.S.A", {"D.S.C"}),
    ],
)
def test_data_is_followed_after_a_rename(story: str, name: str, targets: set[str], whole: Store) -> None:
    graph = stories.of(story, whole)
    assert copies(graph, name) == targets
    for column in ({}, {"column_name": "C"}):
        rows = asked("end-up", graph, object_name=name, **column).rows
        assert {row[0] for row in rows if row[4] == "COLUMN"} == targets


@pytest.mark.parametrize(
    ("names", "targets"), [("A", {"B", "C"}), ("B", {"C"}), ("A B", {"B", "C"}), ("B C", {"C"}), ("A C", {"B", "C"})]
)
@pytest.mark.parametrize("column", [{}, {"column_name": "C"}])
def test_of_several_names_data_ends_up_in_the_others_too(
    names: str, targets: set[str], column: dict[str, str], whole: Store
) -> None:
    graph = stories.of("chain", whole)
    for given in (
        {"object_name": [f"D.S.{name}" for name in names.split()]},
        {"object_id": [str({"A": A, "B": B, "C": C}[name]["objectId"]) for name in names.split()], "domain": "Table"},
    ):
        assert told("end-up", graph, **given, **column) == {f"D.S.{name}" for name in targets}


@pytest.mark.parametrize(("names", "targets"), [("A", set()), ("Z", {"D.S.A"}), ("A Z", {"D.S.A"})])
def test_a_column_is_itself_under_the_name_that_leads_to_it(names: str, targets: set[str], whole: Store) -> None:
    """Of several names one is enough by which the filled column is another."""
    asked_for = [f"D.S.{name}" for name in names.split()]
    graph = stories.of("made-anew", whole)
    assert told("column-copies", graph, object_name=asked_for, column_name="C") == targets


def test_what_has_no_columns_is_followed_too(whole: Store) -> None:
    """A stage: a query read the table under its new name."""
    graph = stories.of("copied-before", whole)
    assert told("end-up", graph, object_name="D.S.A", column_name="C") == {"D.S.B", "D.S.C", "D.S.LOAD"}
    moved = asked("sensitive-data-movement", graph, object_name="D.S.A", domain="Table").rows
    assert {row[0] for row in moved} == {"D.S.A-->D.S.B", "D.S.Z-->D.S.C", "D.S.Z-->D.S.LOAD"}


@pytest.mark.parametrize(
    ("story", "name", "users"),
    [
        ("renamed", "D.S.A", {("BEN", "D.S.C"), ("CLEO", "D.S.Z"), ("ETL", "D.S.Z")}),
        ("emptied", "D.S.A", set()),
        ("in-passing", "D.S.M", {("ETL", "D.S.Z")}),
        ("in-passing", "D.S.Z", {("ANA", "D.S.A"), ("ETL", "D.S.Z")}),
        ("written-in-passing", "D.S.M", {("CLEO", "D.S.Z"), ("ETL", "D.S.Z")}),
    ],
)
def test_downstream_users_read_it_since_it_has_the_name(
    story: str, name: str, users: set[tuple[str, str]], whole: Store
) -> None:
    """Whether it was written while it had the name or not; what has the name last, from the beginning."""
    rows = asked("downstream-users", stories.of(story, whole), object_name=name).rows
    assert {row[:2] for row in rows} == users


def test_the_root_cause_is_of_what_was_in_it_while_it_had_the_name(whole: Store) -> None:
    """Also what was built under another name before."""
    graph = stories.of("in-passing", whole)
    assert told("root-cause", graph, object_name="D.S.M", column_name="C") == {"D.S.SOURCE"}
    graph = stories.of("swapped-twice", whole)
    assert told("root-cause", graph, object_name="D.S.A", column_name="C") == {"D.S.SOURCE", "D.S.D"}
    assert told("root-cause", graph, object_name="D.S.A", column_name="C", at=at(3.5)) == {"D.S.D"}
    assert told("root-cause", stories.of("emptied", whole), object_name="D.S.A", column_name="C") == {"D.S.SOURCE"}


# --- names of several kinds -------------------------------------------------------------------------------------------


def test_names_of_different_kinds_combine(whole: Store) -> None:
    """Each means one thing alone; only a name that is ambiguous itself is refused."""
    graph = stories.of("kinds", whole)
    assert told("who-accessed", graph, object_name=["D.S.LOAD", "D.S.V"]) == {"BEN", "ANA"}
    assert told("who-accessed", graph, object_name=["D.S.LOAD", "D.S.V", "D.S.SOURCE"]) == {"ETL", "ANA", "BEN", "CLEO"}
    with pytest.raises(UsageError, match=r"^D.S.BOTH is the name of several kinds of things"):
        asked("who-accessed", graph, object_name=["D.S.SOURCE", "D.S.BOTH"])


def test_direct_readers_of_views_and_streams(whole: Store) -> None:
    graph = stories.of("kinds", whole)
    assert told("who-accessed", graph, object_name="D.S.V") == {"ANA"}
    assert told("columns-accessed", graph, object_name="D.S.V") == {"C"}
    assert told("when-accessed", graph, object_id="60", domain="View") == {"q2"}
    assert told("who-accessed", graph, object_name="D.S.CHANGES") == {"CLEO"}
    assert told("who-accessed", graph, object_name="D.S.SOURCE") == {"ETL", "ANA", "CLEO"}


def test_changes_tell_renames_and_swaps(whole: Store) -> None:
    rows = asked("changes", stories.of("renamed", whole), since=at(0)).rows
    assert [row[1] for row in rows if row[0] == "object renamed"] == ["D.S.Z"]
    rows = asked("changes", stories.of("swapped-twice", whole), since=at(0), until=at(4)).rows
    assert {row[1] for row in rows if row[0] == "object swapped"} == {"D.S.A", "D.S.N"}


def _changed(story: str, whole: Store, *kinds: str) -> set[tuple[str | None, ...]]:
    """What changed, the object, the column and the query, of some kinds of changes."""
    rows = asked("changes", stories.of(story, whole), since=at(0)).rows
    return {(*row[:3], row[4]) for row in rows if row[0] in kinds}


def test_changes_tell_the_new_name_where_rows_give_no_id(whole: Store) -> None:
    rows = asked("changes", stories.of("renamed-without-id", whole), since=at(0)).rows
    named_anew = [row[:2] for row in rows if row[0] in {"object renamed", "object swapped"}]
    assert named_anew == [("object renamed", "D.S.Z"), ("object swapped", "D.S.B"), ("object swapped", "D.S.Z")]


def test_a_copy_within_a_table_is_new(whole: Store) -> None:
    """From a column into another one; a column is no copy of itself."""
    assert _changed("within", whole, "new copy") == {
        ("new copy", "D.S.A", "C", "q1"), ("new copy", "D.S.A", "F", "q3"),
    }  # fmt: skip


def test_changes_tell_what_a_statement_does_to_columns(whole: Store) -> None:
    kinds = ("column added", "column renamed", "column dropped")
    assert _changed("column-renamed", whole, *kinds) == {("column renamed", "D.S.A", "F", "q2")}
    assert _changed("masked-column-dropped", whole, *kinds) == {
        ("column dropped", "D.S.A", "C", "q3"), ("column added", "D.S.A", "C", "q5"),
    }  # fmt: skip


def test_changes_tell_revokes(whole: Store) -> None:
    """What had been granted; the share, if that is not on record. Who keeps a share did not lose it."""
    assert _changed("shared", whole, "grant revoked") == {
        ("grant revoked", "D.S.A", None, "q3"), ("grant revoked", "PARTNERS", None, "q4"),
        ("grant revoked", "PARTNERS", None, "q6"), ("grant revoked", "PARTNERS", None, "q8"),
        ("grant revoked", "D.S.A", None, "q10"), ("grant revoked", "D.S.B", None, "q10"),
    }  # fmt: skip


# --- masks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "copies_read"),
    [
        ("mask-on-tag", {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}),
        ("mask-taken-away", {("D.S.A", "C", "D.S.MASK", "D.S.B2", "C")}),
        ("masked-and-dropped", {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}),
        ("unmasked-and-dropped", set()),
        # gone, and masked at its end, also while another one has its name and the copy is called B2
        (
            "masked-column-dropped",
            {("D.S.A", "C", "D.S.MASK", "D.S.B", "C"), ("D.S.A", "C", "D.S.MASK", "D.S.B2", "C")},
        ),
        ("enforced", {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}),
        # as C, which is gone and was masked at its end; and as F, which the masked column is called when B is read
        (
            "masked-column-renamed",
            {("D.S.A", "C", "D.S.MASK", "D.S.B", "C"), ("D.S.A", "F", "D.S.MASK", "D.S.B", "C")},
        ),
        ("copy-renamed", {("D.S.A", "C", "D.S.MASK", "D.S.B", "H")}),
        ("only-renamed", set()),
        ("copy-masked", set()),
        ("tag-without-id", {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}),
        ("mask-on-tag-without-id", {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}),
        ("copy-unmasked", {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}),
    ],
)
def test_a_copy_is_read_in_clear_while_its_source_is_masked(
    story: str, copies_read: set[tuple[str, ...]], whole: Store
) -> None:
    assert set(asked("unmasked-copies", stories.of(story, whole)).rows) == copies_read


@pytest.mark.parametrize("story", ["tag-without-id", "mask-on-tag-without-id"])
def test_a_tag_with_an_id_and_without_is_one(story: str, whole: Store) -> None:
    """The mask on it is on the column, in all three questions, and no note says that there is none."""
    graph = stories.of(story, whole)
    assert asked("policy-coverage", graph).rows == [("D.S.A", "C", "D.S.PII=high", "D.S.MASK")]
    answer = asked("unmasked-reads", graph, object_name="D.S.A")
    assert [(row[0], *row[3:]) for row in answer.rows] == [("ETL", "D.S.A", "C", "WHILE")]
    before = asked("unmasked-reads", graph, object_name="D.S.A", until=at(2)).notes
    assert not [note for note in before if "masking policy" in note]
