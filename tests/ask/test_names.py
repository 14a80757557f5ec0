"""The rule for names in whole exports, question by question, with the cases of known issues.

Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyoxigraph import RdfFormat, Store

from exporter.ask.lookups import Lookups
from exporter.ask.names import nearest
from exporter.ask.parameters import bind
from exporter.ask.questions import ask, find, select
from exporter.errors import UsageError
from tests.ask import stories

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
MASK: Final = {"policyKind": "MASKING_POLICY", "policyName": "D.S.MASK", "policyId": 900}
SET_MASK: Final = {"C": {"maskingPolicies": {"D.S.MASK": {"objectId": {"value": 900}, "subOperationType": "ADD"}}}}


def thing(name: str, number: int, domain: str = "Table", columns: tuple[str, ...] = ("C",)) -> Json:
    found: Json = {"objectDomain": domain, "objectId": number, "objectName": f"D.S.{name}"}
    return found if domain == "Stage" else {**found, "columns": [{"columnName": one} for one in columns]}


def read(source: Json, user: str = "ANA", *, masked: bool = False) -> Json:
    row: Json = {"user_name": user, "direct_objects_accessed": [source], "base_objects_accessed": [source]}
    if masked:
        row["policies_referenced"] = [{**source, "columns": [{"columnName": "C", "policies": [MASK]}]}]
    return row


def copied(source: Json, target: Json, operation: str | None = None) -> Json:
    """Column C of the source into that of the target."""
    part = {key: value for key, value in source.items() if key != "columns"}
    column = {"columnName": "C", "directSources": [{**part, "columnName": "C"}]}
    written = target if target["objectDomain"] == "Stage" else {**target, "columns": [column]}
    row = {**read(source, "ETL"), "objects_modified": [written]}
    return {**row, **changed(target, operation)} if operation else row


def changed(target: Json, operation: str = "ALTER", **properties: Json | list[Json]) -> Json:
    own = {key: value for key, value in target.items() if key != "columns"}
    return {"object_modified_by_ddl": {**own, "operationType": operation, "properties": properties}}


def renamed(target: Json, name: str) -> Json:
    return changed(target, objectName={"value": f"D.S.{name}"})


def swapped(one: Json, other: Json) -> list[Json]:
    """Two rows of one query."""
    sides = [
        changed(
            this,
            swapTargetDomain={"value": "Table"},
            swapTargetId={"value": that["objectId"]},
            swapTargetName={"value": that["objectName"]},
        )
        for this, that in ((one, other), (other, one))
    ]
    return [sides[0], {**sides[1], "again": True}]


A, B, OLD, NEW, SOURCE, STAGE = (
    thing("A", 1), thing("B", 2), thing("OLD", 3), thing("NEW", 3), thing("SOURCE", 4), thing("LOAD", 5, "Stage")
)  # fmt: skip
POLICY: Final = thing("MASK", 900, "Masking Policy", ())
STORIES: Final[dict[str, list[Json]]] = {
    # q1 fills OLD, q2 renames it NEW, q3 fills it again, q4 and q5 read it by each name
    "renamed": [copied(SOURCE, OLD), read(OLD, "BEN"), renamed(OLD, "NEW"), copied(B, NEW), read(NEW, "CLEO")],
    # A is made anew each night, with an id of its own
    "nightly": [
        copied(SOURCE, A, "CREATE"), read(A, "BEN"), changed(A, "DROP"),
        copied(SOURCE, thing("A", 11), "CREATE"), read(thing("A", 11), "CLEO"),
    ],
    # B is built as A_NEXT and swapped with A
    "swapped": [
        copied(SOURCE, A), read(A, "BEN"), copied(STAGE, thing("A_NEXT", 2)), *swapped(A, thing("A_NEXT", 2)),
        read(thing("A", 2), "CLEO"), copied(thing("A", 2), B | {"objectId": 20}),
    ],
    "replaced-and-renamed": [
        copied(SOURCE, A), copied(B, thing("A", 11), "REPLACE"), renamed(thing("A", 11), "A5"),
    ],
    "last-elsewhere": [read(B, "ANA")] * 6 + [read(NEW, "DORA")],
    # the same as the guide prints a SWAP, with 0 in place of the ids, and a RENAME and DROP of that kind
    "swapped-without-ids": [
        copied(SOURCE, A), copied(STAGE, thing("A_NEXT", 2)), *swapped(thing("A", 0), thing("A_NEXT", 0)),
        copied(SOURCE, OLD), renamed(thing("OLD", 0), "NEW"), changed(thing("NEW", 0), "DROP"),
    ],
    "given-up": [copied(SOURCE, OLD), renamed(OLD, "MIDDLE"), renamed(thing("MIDDLE", 3), "NEW"), read(NEW, "CLEO")],
    "dropped": [copied(SOURCE, A), changed(A, "DROP"), changed(A, "UNDROP"), changed(A, "DROP")],
    "column-gone": [
        copied(SOURCE, A), changed(A, columns={"C": {"subOperationType": "DROP"}}),
        changed(A, columns={"C": {"subOperationType": "ADD"}}), copied(B, A),
        changed(A, columns={"C": {"subOperationType": "ALTER", "objectName": {"value": "E"}}}),
    ],
    "kinds": [
        copied(thing("LOAD", 5, "Stage"), A), copied(A, thing("OUT", 6, "Stage")),
        copied(thing("BOTH", 7), B), copied(thing("BOTH", 7, "Stage"), B), read(thing("SEEN", 7, "View")),
    ],
    # the copy A is read bare before SOURCE is masked, and after it
    "masked": [
        copied(SOURCE, A), read(A, "EARLY"), copied(SOURCE, B), changed(SOURCE, columns=SET_MASK),
        read(B, "LATE"), renamed(B, "B2"), renamed(SOURCE, "SOURCE2"), read(thing("B2", 2), "LATER"),
    ],
    "policy-renamed": [
        changed(POLICY, "CREATE"), changed(SOURCE, columns=SET_MASK), copied(SOURCE, A), read(A),
        changed(POLICY, objectName={"value": "D.S.MASK2"}), read(SOURCE),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told(STORIES, tmp_path_factory.mktemp("names"))


def at(minute: float) -> str:
    return f"2026-01-01T00:{int(minute):02}:{round(minute % 1 * 60):02}Z"


def asked(question: str, graph: Store, **given: str | list[str]) -> Answer:
    return ask(graph, find(question), given)


def told(question: str, graph: Store, **given: str | list[str]) -> set[str | None]:
    """The first cells."""
    return {row[0] for row in asked(question, graph, **given).rows}


@pytest.fixture(scope="module")
def of_users(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Users as rows have them: as Snowflake stores them, without quotes."""
    rows = [read(A, user, masked=True) for user in USERS]
    return stories.told({"users": rows}, tmp_path_factory.mktemp("users"))


USERS: Final = ("jsmith", "TOM", "tom", "jane.doe@example.com", 'we"ird', "ÄNNE")


@pytest.mark.parametrize("question", ["user-history", "policy-access"])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("jsmith", {"jsmith"}),
        ("JSmith", {"jsmith"}),
        ('"jsmith"', {"jsmith"}),
        ('"JSMITH"', set()),
        ("tom", {"TOM", "tom"}),
        ('"tom"', {"tom"}),
        ('"TOM"', {"TOM"}),
        ('"Tom"', set()),
        ("JANE.doe@example.com", {"jane.doe@example.com"}),
        ('"jane.doe@example.com"', {"jane.doe@example.com"}),
        ('"JANE.DOE@EXAMPLE.COM"', set()),
        ('"we""ird"', {'we"ird'}),
        ("änne", {"ÄNNE"}),
        ('"tom', {"tom"}),
        ('"', set()),
        ('""', set()),
    ],
)
def test_a_user_in_quotes_is_the_one_that_snowflake_stores_so(
    question: str, name: str, found: set[str], of_users: Store
) -> None:
    """Without quotes letter case does not count. A name that nobody has is said."""
    answer = asked(question, of_users, user_name=name)
    assert {row[0] for row in answer.rows} == found
    assert any(note.startswith(f"There is no user {name} in the graph.") for note in answer.notes) == (not found)
    every = asked(question, of_users, user_name=[name, "TOM"])
    assert {row[0] for row in every.rows} == found | {"TOM", "tom"}


# --- what a name means ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "readers", "writes"),
    [
        ("D.S.NEW", {"BEN", "CLEO"}, {"q1", "q4"}),
        ("d.s.new", {"BEN", "CLEO"}, {"q1", "q4"}),
        ("D.S.OLD", {"BEN"}, {"q1"}),
    ],
)
def test_a_new_name_means_what_was_before_and_a_former_one_its_time(
    name: str, readers: set[str], writes: set[str], whole: Store
) -> None:
    graph = stories.of("renamed", whole)
    assert told("who-accessed", graph, object_name=name) == readers
    assert {row[1] for row in asked("writers", graph, object_name=name).rows} == writes


def test_the_last_name_at_a_time_is_the_one_before_until(whole: Store) -> None:
    graph = stories.of("renamed", whole)
    assert told("who-accessed", graph, object_name="D.S.OLD", until=at(3)) == {"BEN"}
    assert told("who-accessed", graph, object_name="D.S.NEW", until=at(3)) == set()


def test_a_table_that_is_created_again_each_night_is_one(whole: Store) -> None:
    graph = stories.of("nightly", whole)
    assert told("who-accessed", graph, object_name="D.S.A") == {"BEN", "CLEO"}
    assert {row[1] for row in asked("writers", graph, object_name="D.S.A").rows} == {"q1", "q4"}
    users = asked("downstream-users", graph, object_name="D.S.A").rows
    assert ("BEN", "D.S.A", at(2)) in users
    assert ("CLEO", "D.S.A", at(5)) in users


def test_a_name_of_swapped_tables_means_each_in_its_period(whole: Store) -> None:
    graph = stories.of("swapped", whole)
    assert told("who-accessed", graph, object_name="D.S.A") == {"BEN", "CLEO", "ETL"}
    assert told("who-accessed", graph, object_name="D.S.A_NEXT") == {"BEN"}, (
        "what has the name now, under its former one"
    )
    assert {row[1] for row in asked("writers", graph, object_name="D.S.A").rows} == {"q1", "q3"}


@pytest.mark.parametrize("kept", [0, 1])
def test_one_row_of_a_swap_moves_both_names(kept: int, tmp_path: Path) -> None:
    """The guide has two rows; either says who gets which name."""
    one, two = thing("T1", 1), thing("T2", 2)
    before, after = [read(one, "BOB"), read(two, "BEN")], [read(thing("T2", 1), "BOB")]
    both = swapped(one, two)
    single = {key: value for key, value in both[kept].items() if key != "again"}
    whole = stories.told({"alone": [*before, single, *after], "both": [*before, *both, *after]}, tmp_path)
    names = [asked("former-names", stories.of(story, whole), object_id=ident).rows for ident in "12" for story in
             ("alone", "both")]  # fmt: skip
    assert names[0] == names[1] != []
    assert names[2] == names[3]
    assert [row[1] for row in names[2]] == ["D.S.T2", "D.S.T1"]


def test_a_former_name_counts_for_its_period_with_a_note_on_the_present_name(whole: Store) -> None:
    graph = stories.of("given-up", whole)
    middle = asked("writers", graph, object_name="D.S.MIDDLE")
    assert middle.rows == []
    had, by_id = middle.notes
    assert had == f"Table 3 had the name D.S.MIDDLE until {at(3)}, and is called D.S.NEW now."
    assert by_id.startswith("As object_id=3 it has 1 row; its names: D.S.OLD from")
    assert len(asked("writers", graph, object_id="3").rows) == 1
    assert told("writers", graph, object_name="D.S.NEW") == {"ETL"}


def test_answers_show_the_name_at_that_time(whole: Store) -> None:
    graph = stories.of("renamed", whole)
    found = asked("downstream-users", graph, object_name="D.S.NEW").rows
    assert [(user, name) for user, name, _ in found if user != "ETL"] == [("BEN", "D.S.OLD"), ("CLEO", "D.S.NEW")]


def test_each_account_has_its_own_last(whole: Store) -> None:
    """Another account's table that got the name later takes nothing from this one's former names."""
    one, other = stories.of("renamed", whole), stories.of("last-elsewhere", whole)
    both = Store()
    both.extend([*one, *other])
    assert told("who-accessed", both, object_name="D.S.NEW") == {"BEN", "CLEO", "DORA"}
    note = "D.S.NEW is a name in 2 accounts: the answer has the objects with this name in each."
    assert note in asked("who-accessed", both, object_name="D.S.NEW").notes


# --- wrong answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("minute", "sources"), [(1.5, 1), (2.5, 0), (3.5, 1), (4.5, 0)])
def test_nothing_is_in_a_table_that_is_dropped(minute: float, sources: int, whole: Store) -> None:
    given = {"object_name": "D.S.A", "column_name": "c", "at": at(minute)}
    assert len(asked("root-cause", stories.of("dropped", whole), **given).rows) == sources


@pytest.mark.parametrize(
    ("minute", "queries"), [(2.5, {"q1"}), (3.5, {"q1"}), (4, {"q3"}), (4.5, {"q3"}), (0.5, set()), (5.5, {"q3"})]
)
def test_the_root_cause_at_a_time_is_that_of_the_table_that_had_the_name(
    minute: float, queries: set[str], whole: Store
) -> None:
    """The swap is q4, at minute 4; what was built before it under the other name is in the table from then on."""
    column = {"column_name": "C", "at": at(minute)}
    found = asked("root-cause", stories.of("swapped", whole), object_name="D.S.A", **column).rows
    assert {row[2] for row in found} == queries
    lineage = asked("lineage-as-of", stories.of("swapped", whole), object_name="D.S.A", at=at(minute)).rows
    assert {row[1] for row in lineage} == queries, "both questions tell the same state"


@pytest.mark.parametrize(
    ("minute", "sources"), [(1.5, {"D.S.SOURCE"}), (2.5, set()), (3.5, set()), (4.5, {"D.S.B"}), (5.5, set())]
)
def test_a_column_that_is_gone_holds_nothing(minute: float, sources: set[str], whole: Store) -> None:
    given = {"object_name": "D.S.A", "column_name": "C", "at": at(minute)}
    answer = asked("root-cause", stories.of("column-gone", whole), **given)
    assert {row[0] for row in answer.rows} == sources
    gone = f"The column C of D.S.A was dropped at {at(2)}: what it held before is not in the answer."
    assert (gone in answer.notes) == (minute >= 2.5 and not sources)


def test_a_replacement_is_one_end_though_what_it_made_is_gone_too(whole: Store) -> None:
    answer = asked("lineage-as-of", stories.of("replaced-and-renamed", whole), object_name="D.S.A", at=at(3.5))
    assert not answer.rows
    assert any(f"replaced at {at(2)} (query q2): what it held before" in one for one in answer.notes)


def test_a_column_under_its_new_name_has_the_sources_of_the_former(whole: Store) -> None:
    found = asked("root-cause", stories.of("column-gone", whole), object_name="D.S.A", column_name="E", at=at(5.5)).rows
    assert {(row[0], row[2]) for row in found} == {("D.S.B", "q4")}


def test_several_values_are_several(whole: Store) -> None:
    graph = stories.of("nightly", whole)
    assert told("who-accessed", graph, object_id=["1", "11"]) == {"BEN", "CLEO"}
    assert told("user-history", graph, user_name=["ben", "CLEO"]) == {"BEN", "CLEO"}
    assert len(asked("lineage-as-of", graph, object_name="D.S.A", at=[at(2), at(5)]).rows) == 2


def test_a_copy_counts_from_the_time_at_which_its_source_was_masked(whole: Store) -> None:
    """A was read before, B after; under other names once more."""
    found = asked("unmasked-copies", stories.of("masked", whole)).rows
    assert [(row[0], row[2], row[3]) for row in found] == [
        ("D.S.SOURCE", "D.S.MASK", "D.S.B"),
        ("D.S.SOURCE2", "D.S.MASK", "D.S.B2"),
    ]


def test_a_policy_has_its_name_at_the_time_of_the_read(whole: Store) -> None:
    (row,) = asked("unmasked-copies", stories.of("policy-renamed", whole)).rows
    assert row == ("D.S.SOURCE", "C", "D.S.MASK", "D.S.A", "C")


# --- which thing ------------------------------------------------------------------------------------------------------


def test_a_name_is_enough_where_it_says_which_thing_is_meant(whole: Store) -> None:
    graph = stories.of("kinds", whole)
    assert told("sensitive-data-movement", graph, object_name="D.S.A") == {"D.S.A-->D.S.OUT"}
    assert told("sensitive-data-movement", graph, object_name="D.S.LOAD") == {
        "D.S.LOAD-->D.S.A",
        "D.S.LOAD-->D.S.A-->D.S.OUT",
    }
    assert told("writers", graph, object_name="D.S.OUT") == {"ETL"}
    assert told("who-accessed", graph, object_name="D.S.LOAD") == {"ETL"}


def test_an_ambiguous_name_lists_the_choices(whole: Store) -> None:
    graph = stories.of("kinds", whole)
    with pytest.raises(
        UsageError, match=r"D\.S\.BOTH is the name of several kinds of things\. Choose one with --param domain"
    ):
        asked("who-accessed", graph, object_name="D.S.BOTH")
    assert told("who-accessed", graph, object_name="D.S.BOTH", domain="stage") == {"ETL"}
    moved = asked("sensitive-data-movement", graph, object_name="d.s.both")
    assert [row[0] for row in moved.rows] == ["D.S.BOTH-->D.S.B"]
    assert moved.notes[0].startswith(
        "d.s.both: the Stage is used. Choose another with --param domain=KIND:\n  Table 7, D.S.BOTH"
    )


def test_an_ambiguous_id_has_the_default_kind_of_the_question(whole: Store) -> None:
    graph = stories.of("kinds", whole)
    assert told("who-accessed", graph, object_id="7") == {"ETL"}
    assert told("who-accessed", graph, object_id="7", domain="View") == {"ANA"}
    with pytest.raises(UsageError, match="Several things have the id 7"):
        asked("writers", graph, object_id="7")
    assert asked("who-accessed", graph, object_id="5").notes == [
        f"There is no Table with the id 5. Give the kind with --param domain=KIND:\n  Stage 5, D.S.LOAD, from {at(1)}"
    ]


@pytest.mark.parametrize(
    ("question", "given", "note"),
    [
        ("who-accessed", {"object_name": "D.S.SORCE"}, "There is no object D.S.SORCE in the graph. The nearest: D.S."),
        ("writers", {"object_name": "source"}, "There is no object source in the graph. The nearest: D.S.SOURCE"),
        ("who-accessed", {"object_id": "4711"}, "There is no object with the id 4711 in the graph."),
        ("writers", {"object_name": "D.S.A", "domain": "Tabel"}, "There is no object of the kind Tabel in the graph"),
        ("writers", {"object_name": "D.S.A", "domain": "Stage"}, "No object that was called D.S.A has domain=Stage."),
        ("tag-history", {"object_name": "D.S.A", "column_name": "CC"}, "There is no column CC in the object."),
        ("user-history", {"user_name": "BENN"}, "There is no user BENN in the graph. The nearest: BEN."),
        ("policy-access", {"user_name": "NOBODY"}, "There is no user NOBODY in the graph."),
        ("enforced-policy", {"query_id": "q77"}, "There is no query q77 in the graph."),
        ("lineage-as-of", {"object_name": "D.S.A", "at": "2025-01-01"}, "No object was called D.S.A at 2025-01-01, as"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_reported(question: str, given: dict[str, str], note: str, whole: Store) -> None:
    answer = asked(question, stories.of("nightly", whole), **given)
    assert answer.rows == []
    assert any(told_to_person.startswith(note) for told_to_person in answer.notes), answer.notes


@pytest.mark.parametrize("question", ["tag-history", "column-copies", "root-cause"])
def test_a_known_thing_without_rows_is_an_empty_answer(question: str, whole: Store) -> None:
    answer = asked(
        question,
        stories.of("masked", whole),
        object_name="D.S.B2",
        column_name="C",
        **{"at": at(1)} if question == "root-cause" else {},
    )
    assert (answer.rows, [note for note in answer.notes if "There is no" in note]) == ([], [])


def test_a_graph_without_names_to_match_is_not_asked_by_name(whole: Store) -> None:
    older = Store()
    older.extend(quad for quad in stories.of("nightly", whole) if not quad.predicate.value.endswith("#matchName"))
    with pytest.raises(UsageError, match="no names to match, since an older version"):
        asked("who-accessed", older, object_name="D.S.A")
    assert told("who-accessed", older, object_id="1") == {"BEN"}


@pytest.mark.parametrize("name", ["D.S.T mixed", "d.s.t MIXED", 'D.S."t mixed"'])
def test_the_nearest_of_a_name_without_its_quotes_has_them(name: str) -> None:
    assert nearest(name, ["D.S.T_MIXED", 'D.S."T mixed"', 'E.S."T mixed"', "D.S.T"])[0] == 'D.S."T mixed"'


def test_names_that_differ_only_in_quotes_are_all_near() -> None:
    assert set(nearest("d.s.orders ", ['D.S."Orders"', 'D.S."orders"'])) == {'D.S."Orders"', 'D.S."orders"'}


def test_the_nearest_of_many_names_begin_or_end_alike() -> None:
    """All are compared where they are few; of a million queries only some are."""
    many = [f"{number:05}-0305-6e2c" for number in range(0, 60_000, 7)]
    assert nearest("00014-0305-6e2d", many)[0] == "00014-0305-6e2c"
    assert nearest("x0014-0305-6e2c", many)[0].endswith("014-0305-6e2c")
    assert nearest("no such", many) == []


def test_names_are_in_the_order_of_time() -> None:
    """As texts, times with fractions of different lengths have another order."""
    graph = Store()
    graph.load(
        b"""
        @prefix ah: <https://w3id.org/access-history#> .
        <x:/table/1> ah:hasName <x:a>, <x:b> .
        <x:a> ah:nameText "A" ; ah:validFrom "2026-01-01T00:00:00.9Z" ; ah:validUntil "2026-01-01T00:00:00.95Z" .
        <x:b> ah:nameText "B" ; ah:validFrom "2026-01-01T00:00:00.95Z" .
        """,
        RdfFormat.TURTLE,
    )
    assert [turn.name for turn in Lookups(graph).names_of("x:/table/1")] == ["A", "B"]


# --- changes without an id --------------------------------------------------------------------------------------------


def of_rows_without_ids(question: str, whole: Store, **given: str) -> str:
    answer = asked(question, stories.of("swapped-without-ids", whole), **given)
    return "".join(note for note in answer.notes if "no id of the object" in note)


def test_a_swap_without_ids_is_told_by_answers_about_either_table(whole: Store) -> None:
    swap = "was swapped with {} (query q3, 2026-01-01T00:03:00Z). "
    for given, this, that in (
        ({"object_name": "D.S.A"}, "D.S.A", "D.S.A_NEXT"),
        ({"object_id": "1"}, "D.S.A", "D.S.A_NEXT"),
        ({"object_name": "D.S.A_NEXT"}, "D.S.A_NEXT", "D.S.A"),
    ):
        assert f"{this} {swap.format(that)}" in of_rows_without_ids("lineage-as-of", whole, at=at(9), **given)
    assert "q3" in of_rows_without_ids("former-names", whole, object_name="D.S.A")
    assert "Table 1" in of_rows_without_ids("end-up", whole, object_name="D.S.SOURCE")
    assert not of_rows_without_ids("lineage-as-of", whole, object_name="D.S.A", at=at(2.5))


def test_a_rename_and_drop_without_an_id_are_told(whole: Store) -> None:
    gone = (
        "D.S.OLD was renamed to D.S.NEW (query q5, 2026-01-01T00:05:00Z), "
        "D.S.NEW was dropped (query q6, 2026-01-01T00:06:00Z). The answer does not count this for Table 3, "
    )
    for name in ("D.S.OLD", "D.S.NEW"):
        assert gone in of_rows_without_ids("lineage-as-of", whole, object_name=name, at=at(9))
    for question in ("changes", "unused-objects"):
        assert gone[:-10] in of_rows_without_ids(question, whole, since=at(4))


@pytest.mark.parametrize("question", ["column-copies", "column-readers", "end-up", "root-cause", "unmasked-reads"])
def test_columns_that_differ_in_letter_case_alone_are_told_to_be_asked_for_together(
    question: str, tmp_path: Path
) -> None:
    both, one = thing("X", 61, columns=("C", "c", "d")), thing("Y", 62, columns=("C", "d"))
    graph = stories.told({"both": [copied(both, A), read(both), copied(one, A), read(one)]}, tmp_path)
    for name, is_told in (("X", True), ("Y", False)):
        notes = asked(question, graph, object_name=f"D.S.{name}", column_name="c").notes
        assert any(f"C and c of D.S.{name}. Rows have no quotes" in note for note in notes) == is_told
        assert is_told or not any("letter case" in note for note in notes)


def test_the_way_of_data_has_the_names_of_its_time(tmp_path: Path) -> None:
    """The row of the copy gives the id of what it made in its change alone, and no name there."""
    made = {key: value for key, value in B.items() if key != "objectId"}
    rows = [{**copied(A, made), **changed(B, "CREATE")}, renamed(B, "LATER")]
    graph = stories.told({"made": rows}, tmp_path)
    answer = asked("sensitive-data-movement", graph, object_name="D.S.A").dicts()
    assert {row["path"] for row in answer} == {"D.S.A-->D.S.B"}
    assert {row["target_id"] for row in answer} == {None, "2"}
    question = find("sensitive-data-movement")
    of_file = select(graph, bind(question.query, question.parameters, {"object_name": "D.S.A"}), question.name)
    assert {row["path"] for row in of_file.dicts()} == {"D.S.A-->D.S.B"}


TAGGED: Final[Json] = {"tags": {"D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD"}}}


def column_changed(column: str, **said: Any) -> Json:
    return changed(thing("T", 1, columns=(column,)), columns={column: {"subOperationType": "ALTER", **said}})


def column_renamed(former: str, new: str) -> Json:
    return column_changed(former, objectName={"value": new})


def test_a_column_is_not_the_one_that_gets_its_former_name_later(tmp_path: Path) -> None:
    """The column X was Y before, and Z was X: Z never was Y. W was Z, V and U, in this order."""
    rows = [
        column_changed("X", **TAGGED), column_renamed("X", "Z"),
        column_changed("Y", **TAGGED), column_renamed("Y", "X"), column_changed("X", **TAGGED),
        column_changed("U", **TAGGED), column_renamed("U", "V"), column_renamed("V", "W"),
        column_changed("W", **TAGGED),
    ]  # fmt: skip
    graph = stories.told({"chains": rows}, tmp_path)
    wanted = {
        "Z": ({1}, []),
        "X": ({1, 3, 5}, ["Z"]),  # the name of two columns
        "Y": ({3}, ["X"]),
        "W": ({6, 9}, []),
        "V": ({6}, ["W"]),
        "U": ({6}, ["V", "W"]),
    }
    for column, (minutes, to_ask) in wanted.items():
        answer = asked("tag-history", graph, object_name="D.S.T", column_name=column)
        assert [row[0] for row in answer.rows] == [at(minute) for minute in sorted(minutes)], column
        told_names = [name for note in answer.notes for name in re.findall(r"column_name=(\w)", note)]
        assert told_names == to_ask, (column, answer.notes)
