"""What ends data and objects, and what the answers say before and after: TRUNCATE.

Query ``qN`` of a story runs on day N; each story is one export, and one update a day must give the same graph.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.cli import main
from exporter.graph.store import load
from tests import exports
from tests.ask import dense_histories
from tests.ask.stories import days, exported, exported_once, flat
from tests.ask.test_clones import place
from tests.ask.test_names import SET_MASK, changed, copied, read, renamed, thing
from tests.ask.updated_stories import assert_updates_give_the_same
from tests.engines.test_updates import UPDATE, triples

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
SOURCE, OTHER, A, B = thing("SOURCE", 1), thing("OTHER", 2), thing("A", 3), thing("B", 4)
TRUNCATED: Final[Json] = {"objects_modified": [A], "line": {"query_type": "TRUNCATE_TABLE"}}
"""A row of TRUNCATE names the table in objects_modified, as any write does (view, "Write operation notes")."""
A2, A3 = thing("A", 13), thing("A", 23)
TAG: Final[Json] = {"objectDomain": "TAG", "objectId": 80, "objectName": "D.S.PII"}
SET_TAG: Final[Json] = {
    "D.S.PII": {"objectId": {"value": 80}, "subOperationType": "ADD", "tagValue": {"value": "high"}}
}
SET_OWNER: Final[Json] = {
    "D.S.OWNER": {"objectId": {"value": 81}, "subOperationType": "ADD", "tagValue": {"value": "ops"}}
}
SET_ROWS: Final[Json] = {"D.S.ROWS": {"objectId": {"value": 901}, "subOperationType": "ADD"}}


ID_900: Final[Json] = {"objectId": {"value": 900}}
SET_BOTH: Final[Json] = {"tags": SET_TAG, **SET_MASK["C"]}
E_OF_A, B_E, B_F = thing("A", 3, columns=("E",)), thing("B", 4, columns=("E",)), thing("B", 4, columns=("F",))

E_F_OF_A, B_E_F = thing("A", 3, columns=("E", "F")), thing("B", 4, columns=("E", "F"))
OWN_MASK: Final[Json] = {"objectDomain": "MASKING_POLICY", "objectId": 902, "objectName": "D.S.OWN"}
SET_OWN_MASK: Final[Json] = {"maskingPolicies": {"D.S.OWN": {"objectId": {"value": 902}, "subOperationType": "ADD"}}}


def of_schema(part: Json) -> Json:
    """The same tag or policies, in the schema G.P."""
    parsed: Json = json.loads(json.dumps(part).replace("D.S.", "G.P."))
    return parsed


G_TAG, G_OWN, SET_G_TAG, SET_G_OWN = of_schema(TAG), of_schema(OWN_MASK), of_schema(SET_TAG), of_schema(SET_OWN_MASK)
G_MASK: Final[Json] = {"objectDomain": "MASKING_POLICY", "objectId": 900, "objectName": "G.P.MASK"}
SET_G_MASK: Final[Json] = of_schema(SET_MASK["C"])


def reads(*sources: Json, user: str) -> Json:
    return {
        **read(sources[0], user),
        **{array: list(sources) for array in ("direct_objects_accessed", "base_objects_accessed")},
    }


def to(name: str) -> Json:
    return {"subOperationType": "ALTER", "objectName": {"value": name}}


def copied_column(source: Json, target: Json) -> Json:
    """The column of the source into that of the target."""
    (column,), (filled,) = source["columns"], target["columns"]
    part = {key: value for key, value in source.items() if key != "columns"}
    return {
        **read(source, "ETL"),
        "objects_modified": [{**target, "columns": [{**filled, "directSources": [part | column]}]}],
    }


def granted(table: Json) -> Json:
    share = {"objectDomain": "SHARE", "objectId": 90, "objectName": "PARTNERS"}
    securable = {"DOMAIN": "TABLE", "ID": table["objectId"], "NAME": table["objectName"]}
    grant = {f"SECURABLE_OBJECT_{part}": value for part, value in securable.items()}
    return changed(share, grant={"value": {"PRIVILEGES": ["SELECT"], **grant}})


def renamed_to(table: Json, name: str) -> Json:
    return changed(table, objectName={"value": name})


END_OF_4: Final = "2026-01-04T20:00:00Z"
S, IN_E = place("D.S", 71), thing("A", 93) | {"objectName": "E.S.A"}
IN_SCHEMA: Final = [copied(IN_E, A, "CREATE"), changed(A, tags=SET_TAG), granted(A)]
STORIES: Final[dict[str, list[Json]]] = {
    "truncated": [copied(SOURCE, A), TRUNCATED, copied(OTHER, A), copied(A, B)],
    "without-query-history": [copied(SOURCE, A), {"objects_modified": [A]}, copied(OTHER, A), copied(A, B)],
    "truncated-last": [copied(SOURCE, A), {**TRUNCATED, **read(A)}],
    # A is replaced each night: a new id, no DROP
    "nightly": [
        copied(SOURCE, A, "CREATE"), {**read(A, "BEN"), **changed(A, columns=SET_MASK, tags=SET_TAG)}, granted(A),
        copied(A, A2, "REPLACE"), copied(OTHER, A2), copied(OTHER, A3, "CREATE"), read(A3, "CLEO"),
    ],
    # the first row that names the two is the one that swaps them
    "swapped-at-once": [
        changed(B, swapTargetDomain={"value": "Table"}, swapTargetId={"value": 3}, swapTargetName={"value": "D.S.A"}),
    ],
    "unrecorded": [read(A), copied(OTHER, A2, "CREATE"), read(A2)],
    "shadowed": [
        copied(SOURCE, A), changed(A, tags=SET_TAG), copied(OTHER, A2, "CREATE"), read(A2), read(A), read(A2),
    ],
    # A is called B since, so who takes its former name takes nothing from it
    "elsewhere": [copied(SOURCE, A), changed(A, tags=SET_TAG), renamed(A, "B"), copied(OTHER, A2, "CREATE"), read(A2)],
    # A is called B on the day on which another B is made: who took its former name does not count any more
    "renamed-and-taken": [
        copied(SOURCE, A), changed(A, tags=SET_TAG), copied(OTHER, A2, "CREATE"),
        renamed(A, "B"), {**changed(thing("B", 14), "REPLACE"), "again": True}, read(thing("B", 14)),
    ],
    # B is called A; while a query of two days fills it, it is called B again, and then another B is made
    "renamed-while-filled": [
        changed(B, tags=SET_TAG), renamed(B, "A"), copied(SOURCE, thing("A", 4)) | {"line": {"end_time": END_OF_4}},
        renamed(thing("A", 4), "B"), copied(OTHER, thing("B", 14), "CREATE"), read(thing("B", 14)),
    ],
    "tag-replaced": [
        changed(TAG, "CREATE"), changed(A, tags=SET_TAG), changed(TAG | {"objectId": 81}, "REPLACE"), read(A),
    ],
    "spelled": [read(A), read(A | {"objectName": 'd.s."A"'}), read(A), renamed(A, "B"), read(thing("B", 3))],
    # E is tagged and masked, copied, called F, read, called G
    "renamed-column": [
        changed(E_OF_A, columns={"E": SET_BOTH}), copied_column(E_OF_A, B_E), changed(E_OF_A, columns={"E": to("F")}),
        copied_column(thing("A", 3, columns=("F",)), B_F), read(thing("A", 3, columns=("F",)), "ANA"),
        read(B_F, "BEN"), changed(E_OF_A, columns={"F": to("G")}), read(thing("A", 3, columns=("G",)), "CLEO"),
        changed(E_OF_A, columns={"G": {"maskingPolicies": {"D.S.MASK": {"subOperationType": "DROP", **ID_900}}}}),
        changed(E_OF_A, columns={"E": {"subOperationType": "ADD", "tags": SET_TAG}}),
    ],
    # A is replaced, and the row gives the id that A had; what else it has is set later, or goes on
    "same-id": [
        changed(A, columns={"C": SET_BOTH}), granted(A), changed(A, "REPLACE", tags=SET_OWNER), read(A, "BEN"),
        changed(A, columns={"C": SET_MASK["C"]}), read(A, "CLEO"),
    ],
    # A is replaced and covered again; then another table is dropped
    "covered-again": [
        changed(A, columns={"C": SET_BOTH}), changed(A2, "REPLACE"), changed(A2, columns={"C": SET_BOTH}),
        changed(B, "DROP"), read(A2),
    ],
    # the mask is set on the tag, the row access policy on the table
    "tag-dropped": [
        changed(TAG, **SET_MASK["C"]), changed(A, tags=SET_TAG, rowAccessPolicies=SET_ROWS), changed(B, tags=SET_OWNER),
        changed(A, tags=SET_OWNER), changed(TAG, "DROP"), read(A),
    ],
    "dropped": [copied(SOURCE, A), renamed(A, "B"), changed(thing("B", 3), "DROP"), read(OTHER)],
    # A, once called OLD, is hidden by another A until that one is dropped
    "hidden": [
        read(thing("OLD", 3), "ANA"), renamed(thing("OLD", 3), "A"), copied(A, B), read(A, "BEN"),
        copied(OTHER, A2, "CREATE"), read(A2, "CLEO"), changed(A2, "DROP"), read(A, "DORA"),
    ],
    # A is called Z when another A is made, read and dropped; then that one is brought back
    "dropped-under-a-former-name": [
        copied(SOURCE, A), read(A, "BEN"), renamed(A, "Z"), copied(OTHER, A2, "CREATE"), read(A2, "CLEO"),
        changed(A2, "DROP"), read(thing("Z", 3), "DORA"),
    ],
    "brought-back": [
        read(A, "BEN"), renamed(A, "Z"), read(thing("OLD", 13), "ANA"), renamed(thing("OLD", 13), "A"),
        read(A2, "CLEO"), changed(A2, "DROP"), read(thing("Z", 3), "DORA"), changed(A2, "UNDROP"),
    ],
    "shown-after-drop": [copied(SOURCE, A), changed(A, "DROP"), read(A)],
    "undropped": [
        changed(A, tags=SET_TAG), granted(A), changed(A, "DROP"), read(B), changed(A, "UNDROP"), read(B),
    ],
    # E is masked through a tag, F by its own policy; tag and policy are dropped while ANA reads, and brought back
    "mask-undropped": [
        changed(TAG, **SET_MASK["C"]), changed(E_F_OF_A, columns={"E": {"tags": SET_TAG}, "F": SET_OWN_MASK}),
        copied_column(E_OF_A, B_E), copied_column(thing("A", 3, columns=("F",)), B_F),
        changed(TAG, "DROP"), changed(OWN_MASK, "DROP"), reads(E_F_OF_A, B_E_F, user="ANA"),
        changed(TAG, "UNDROP"), changed(OWN_MASK, "UNDROP"), reads(E_F_OF_A, B_E_F, user="BEN"),
    ],
    # the same, but tag and policies are in a schema of their own, which is dropped with them
    "schema-of-masks-undropped": [
        changed(place("G.P", 74), "CREATE"), *(changed(one, "CREATE") for one in (G_TAG, G_MASK, G_OWN)),
        changed(G_TAG, **SET_G_MASK), changed(E_F_OF_A, columns={"E": {"tags": SET_G_TAG}, "F": SET_G_OWN}),
        copied_column(E_OF_A, B_E), copied_column(thing("A", 3, columns=("F",)), B_F),
        changed(place("G.P", 74), "DROP"), reads(E_F_OF_A, B_E_F, user="ANA"),
        changed(place("G.P", 74), "UNDROP"), reads(E_F_OF_A, B_E_F, user="BEN"),
    ],
    # the same, and while it is dropped, another schema has its name until that is renamed
    "schema-of-masks-undropped-beside-another": [
        changed(place("G.P", 74), "CREATE"), *(changed(one, "CREATE") for one in (G_TAG, G_MASK, G_OWN)),
        changed(G_TAG, **SET_G_MASK), changed(E_F_OF_A, columns={"E": {"tags": SET_G_TAG}, "F": SET_G_OWN}),
        copied_column(E_OF_A, B_E), copied_column(thing("A", 3, columns=("F",)), B_F),
        changed(place("G.P", 74), "DROP"), reads(E_F_OF_A, B_E_F, user="ANA"),
        changed(place("G.P", 75), "CREATE"), changed(place("G.P", 75), objectName={"value": "G.P2"}),
        changed(place("G.P", 74), "UNDROP"), reads(E_F_OF_A, B_E_F, user="BEN"),
    ],
    # masked, copied and dropped; another A has no mask, whatever is written to it later
    "masked-and-dropped": [
        changed(A, columns=SET_MASK), copied(A, B), changed(A, "DROP"), read(B, "ANA"), changed(A, "CREATE"),
        read(B, "BEN"), copied(OTHER, A), copied(OTHER, A), read(B, "CLEO"),
    ],
    # the schema D.S is dropped with all that is in it; E.S is another one
    "schema-dropped": [*IN_SCHEMA, read(A, "BEN"), changed(S, "DROP"), read(IN_E)],
    "schema-replaced": [*IN_SCHEMA, changed(place("D.S", 72), "REPLACE"), copied(IN_E, A2, "CREATE"), read(A2, "CLEO")],
    "database-dropped": [*IN_SCHEMA, read(A, "BEN"), changed(place("D", 70), "DROP"), read(IN_E)],
    "schema-restored": [*IN_SCHEMA, changed(S, "DROP"), changed(place("D", 70), "DROP"),
                        changed(place("D", 70), "UNDROP"), changed(S, "UNDROP")],
    "schema-dropped-again": [*IN_SCHEMA, changed(S, "DROP"), changed(S, "UNDROP"), read(A), changed(S, "DROP")],
    "shown-after-drop-of-schema": [*IN_SCHEMA, changed(S, "DROP"), {**read(A, "CLEO"), **changed(A, tags=SET_TAG)}],
    "out-of-schema": [*IN_SCHEMA, renamed_to(A, "E.S.A"), changed(S, "DROP"), read(IN_E)],
    # which schema was dropped is not known: the one with A is called D.S2
    "renamed-schema": [*IN_SCHEMA, changed(S, objectName={"value": "D.S2"}), changed(place("D.S", 73), "CREATE"),
                       changed(place("D.S", 73), "DROP")],
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def asked(out: Path, question: str, **given: str) -> set[tuple[str | None, ...]]:
    return set(ask(load(out), find(question), given).rows)


def cells(out: Path, question: str, place: int = 0, **given: str) -> set[str | None]:
    return {row[place] for row in asked(out, question, **given)}


def at(day: float) -> str:
    """Noon of a day is after its query."""
    return f"2026-01-{int(day):02}T12:00:00Z"


def test_updates_in_any_split_give_the_same_graph(tmp_path: Path) -> None:
    assert_updates_give_the_same(STORIES, tmp_path)


# --- TRUNCATE ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("day", "sources"), [(1, {"D.S.SOURCE"}), (2, set()), (3, {"D.S.OTHER"})])
def test_lineage_begins_after_a_truncate(day: int, sources: set[str], told: Callable[[str], Path]) -> None:
    out = told("truncated")
    assert cells(out, "lineage-as-of", object_name="D.S.A", at=at(day)) == sources
    assert cells(out, "root-cause", object_name="D.S.A", column_name="C", at=at(day)) == sources


def test_what_was_copied_after_a_truncate_has_nothing_from_before(told: Callable[[str], Path]) -> None:
    out = told("truncated")
    assert cells(out, "root-cause", object_name="D.S.B", column_name="C") == {"D.S.A", "D.S.OTHER"}
    assert cells(out, "column-copies", object_name="D.S.SOURCE", column_name="C") == {"D.S.A"}


def test_without_query_history_a_truncate_is_a_write_like_others(told: Callable[[str], Path]) -> None:
    found = cells(told("without-query-history"), "lineage-as-of", object_name="D.S.A", at=at(3))
    assert found == {"D.S.SOURCE", "D.S.OTHER"}


def test_a_truncate_takes_nothing_from_what_its_row_shows_as_read(told: Callable[[str], Path]) -> None:
    assert cells(told("truncated-last"), "lineage-as-of", object_name="D.S.A", at=at(3)) == set()


def test_the_event_of_a_truncate_says_so(told: Callable[[str], Path]) -> None:
    outputs = [
        output
        for event in map(json.loads, exports.events(told("truncated")))
        if event.get("eventTime", "").startswith("2026-01-02") and "run" in event
        for output in event["outputs"]
    ]
    states = {one["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") for one in outputs}
    assert states == {"TRUNCATE"}


def test_an_answer_without_rows_points_to_what_is_not_recorded(
    told: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    def errors(*options: str) -> str:
        graph = str(told("truncated"))
        assert main(["query", "downstream-users", "--graph", graph, "--param", "object_name=D.S.B", *options]) == 0
        return capsys.readouterr().err

    assert "docs/not-recorded.md" in errors()
    assert "docs/not-recorded.md" not in errors("--fail-on-rows")
    assert (Path(__file__).parents[2] / "docs" / "not-recorded.md").is_file()


# --- a schema or database that is dropped -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "day"),
    [("schema-dropped", 5), ("database-dropped", 5), ("schema-replaced", 4), ("schema-restored", None),
     ("schema-dropped-again", 7), ("shown-after-drop-of-schema", None), ("renamed-schema", None)],
)  # fmt: skip
def test_tables_end_with_their_schema(name: str, day: int | None, told: Callable[[str], Path]) -> None:
    """``day``: of the statement that ends A with its data, its name, its tags and its grants."""
    out = told(name)
    (former,) = asked(out, "former-names", object_id="3", domain="Table")
    assert (former[1], former[3]) == ("D.S.A", day and f"2026-01-{day:02}T06:00:00Z")
    own = {"object_id": "3", "domain": "Table"}
    for question in ("policy-coverage", "exposure"):
        assert cells(out, question) == (set() if day else {"D.S.A"})
        assert cells(out, question, at=at(3)) == {"D.S.A"}
    unused = cells(out, "unused-objects", since="2026-02-01T00:00:00Z")
    assert ("D.S.A" in unused) == (day is None or name == "schema-replaced")
    assert cells(out, "lineage-as-of", **own, at=at(3)) == {"E.S.A"}
    assert cells(out, "lineage-as-of", **own, at=at(8)) == (set() if day else {"E.S.A"})


def test_a_table_that_left_the_schema_is_not_dropped_with_it(told: Callable[[str], Path]) -> None:
    assert {row[3] for row in asked(told("out-of-schema"), "former-names", object_name="E.S.A")} >= {None}
    assert asked(told("out-of-schema"), "exposure", object_id="3")


# --- a name that is taken ---------------------------------------------------------------------------------------------


def test_the_table_of_a_night_ends_when_the_next_one_takes_its_name(told: Callable[[str], Path]) -> None:
    out = told("nightly")
    lineage = [cells(out, "lineage-as-of", object_name="D.S.A", at=at(day)) for day in (1, 4, 5, 6)]
    assert lineage == [{"D.S.SOURCE"}, {"D.S.A", "D.S.SOURCE"}, {"D.S.A", "D.S.SOURCE", "D.S.OTHER"}, {"D.S.OTHER"}]
    assert asked(out, "former-names", object_name="D.S.A") == {
        ("3", "D.S.A", "2026-01-01T06:00:00Z", "2026-01-04T06:00:00.000001Z"),
        ("13", "D.S.A", "2026-01-04T06:00:00Z", "2026-01-06T06:00:00Z"),
        ("23", "D.S.A", "2026-01-06T06:00:00Z", None),
    }
    assert cells(out, "unused-objects", since="2026-02-01T00:00:00Z") == {"D.S.A", "D.S.SOURCE", "D.S.OTHER"}
    assert len(asked(out, "unused-objects", since="2026-02-01T00:00:00Z")) == 3
    assert cells(out, "who-accessed", object_name="D.S.A") == {"BEN", "ETL", "CLEO"}


def test_notes_give_present_names_only(told: Callable[[str], Path]) -> None:
    """A table that was replaced has no name now; of two names that begin at one time, the present one is shown."""

    def notes(name: str, table: str) -> list[str]:
        given = ask(load(told(name)), find("who-accessed"), {"object_name": table}).notes
        return [note for note in given if "had the name" in note]

    assert notes("nightly", "D.S.A") == []
    assert notes("swapped-at-once", "D.S.B") == [
        "Table 4 had the name D.S.B until 2026-01-01T06:00:00Z, and is called D.S.A now."
    ]


def test_tags_policies_and_grants_end_with_the_table(told: Callable[[str], Path]) -> None:
    out = told("nightly")
    assert cells(out, "policy-coverage", at=at(3)) == {"D.S.A"}
    assert asked(out, "policy-coverage") == asked(out, "policy-coverage", at=at(4)) == set()
    assert cells(out, "exposure", at=at(3)) == {"D.S.A"}
    assert asked(out, "exposure") == asked(out, "exposure", at=at(4)) == set()


def test_a_table_that_was_there_before_the_record_ends_too(told: Callable[[str], Path]) -> None:
    out = told("unrecorded")
    assert {row[1:] for row in asked(out, "former-names", object_id="3")} == {
        ("D.S.A", "2026-01-01T06:00:00Z", "2026-01-02T06:00:00Z")
    }
    assert len(asked(out, "unused-objects", since="2026-02-01T00:00:00Z")) == 2


def test_a_temporary_table_ends_nothing(told: Callable[[str], Path]) -> None:
    out = told("shadowed")
    assert {row[1:] for row in asked(out, "former-names", object_id="3")} == {("D.S.A", "2026-01-01T06:00:00Z", None)}
    assert cells(out, "lineage-as-of", object_id="3", at=at(6)) == {"D.S.SOURCE"}
    assert cells(out, "policy-coverage", 2) == {"D.S.PII=high"}


def test_a_former_name_is_not_taken(told: Callable[[str], Path]) -> None:
    out = told("elsewhere")
    assert cells(out, "policy-coverage") == {"D.S.B"}
    assert cells(out, "lineage-as-of", object_name="D.S.B", at=at(5)) == {"D.S.SOURCE"}


@pytest.mark.parametrize(
    ("name", "object_id", "day"), [("renamed-and-taken", "3", 4), ("renamed-while-filled", "4", 5)]
)
def test_a_name_that_was_given_just_now_can_be_taken(
    name: str, object_id: str, day: int, told: Callable[[str], Path]
) -> None:
    names = asked(told(name), "former-names", object_id=object_id, domain="Table")
    _, last, until = max((row[2] or "", row[1], row[3] or "") for row in names)
    assert (last, until[:10]) == ("D.S.B", f"2026-01-0{day}")
    assert asked(told(name), "policy-coverage") == set()


def test_a_tag_that_is_replaced_marks_nothing_any_more(told: Callable[[str], Path]) -> None:
    out = told("tag-replaced")
    assert cells(out, "policy-coverage", 2, at=at(2)) == {"D.S.PII=high"}
    assert asked(out, "policy-coverage") == set()


@pytest.mark.parametrize(
    ("day", "covered"),
    [
        (1, {("D.S.A", "C", "D.S.PII=high", "D.S.MASK")}),
        (3, {("D.S.A", None, "D.S.OWNER=ops", None)}),
        (5, {("D.S.A", None, "D.S.OWNER=ops", None)}),
    ],
)
def test_what_is_replaced_under_its_own_id_loses_tags_and_policies(
    day: int, covered: set[Any], told: Callable[[str], Path]
) -> None:
    """CREATE OR REPLACE makes another object; COPY GRANTS may keep what was granted."""
    out = told("same-id")
    assert asked(out, "policy-coverage", at=at(day)) == covered
    assert {(row[0], row[-1]) for row in asked(out, "unmasked-reads")} == {("BEN", "AFTER"), ("CLEO", "WHILE")}
    assert asked(out, "exposure", object_name="D.S.A")


def test_another_spelling_begins_no_new_period(told: Callable[[str], Path]) -> None:
    assert {row[1:] for row in asked(told("spelled"), "former-names", object_id="3")} == {
        ("D.S.A", "2026-01-01T06:00:00Z", "2026-01-04T06:00:00Z"), ("D.S.B", "2026-01-04T06:00:00Z", None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("day", "covered"),
    [
        (1, {("D.S.A", "C", "D.S.PII=high", "D.S.MASK")}),
        (2, set()),
        (3, {("D.S.A", "C", "D.S.PII=high", "D.S.MASK")}),
        (4, {("D.S.A", "C", "D.S.PII=high", "D.S.MASK")}),
    ],
)
def test_policies_of_the_new_table_hold_though_others_ended(
    day: int, covered: set[Any], told: Callable[[str], Path]
) -> None:
    assert asked(told("covered-again"), "policy-coverage", at=at(day)) == covered


def test_only_what_a_dropped_tag_brought_ends_with_it(told: Callable[[str], Path]) -> None:
    out = told("tag-dropped")
    found = [{row[2:] for row in asked(out, "policy-coverage", object_name="D.S.A", at=at(day))} for day in (4, 5)]
    assert found == [{("D.S.OWNER=ops, D.S.PII=high", "D.S.MASK, D.S.ROWS")}, {("D.S.OWNER=ops", "D.S.ROWS")}]


@pytest.mark.parametrize("question", ["policy-coverage", "exposure"])
def test_between_drop_and_undrop_nothing_is_covered_or_open(question: str, told: Callable[[str], Path]) -> None:
    found = [cells(told("undropped"), question, at=at(day)) for day in (2, 3, 4, 5, 6)]
    assert found == [{"D.S.A"}, set(), set(), {"D.S.A"}, {"D.S.A"}]


def test_a_mask_that_is_dropped_masks_nothing_until_it_is_brought_back(told: Callable[[str], Path]) -> None:
    """A policy protects what it is set on, or what has the tag that it is set on, while both exist."""
    out = told("mask-undropped")
    found = {(row[0], row[4], row[5]) for row in asked(out, "unmasked-reads", object_name="D.S.A")}
    after, again = ({(user, column, mask) for column in "EF"} for user, mask in (("ANA", "AFTER"), ("BEN", "WHILE")))
    assert found == {("ETL", "E", "WHILE"), ("ETL", "F", "WHILE")} | after | again
    copies = [asked(out, "unmasked-copies", **period) for period in ({"until": at(7)}, {"since": at(7)})]
    assert copies == [set(), {(f"D.S.{of}", column, policy, "D.S.B", column) for of, column, policy in
                              (("A", "E", "D.S.MASK"), ("A", "F", "D.S.OWN"))}]  # fmt: skip


@pytest.mark.parametrize(
    ("story", "undropped"), [("schema-of-masks-undropped", 10), ("schema-of-masks-undropped-beside-another", 12)]
)
def test_tags_and_policies_end_with_their_schema_until_it_is_brought_back(
    told: Callable[[str], Path], story: str, undropped: int
) -> None:
    out, back = told(story), at(undropped + 1)
    found = {(row[0], row[4], row[5]) for row in asked(out, "unmasked-reads", object_name="D.S.A")}
    after, again = ({(user, column, mask) for column in "EF"} for user, mask in (("ANA", "AFTER"), ("BEN", "WHILE")))
    assert found == {("ETL", "E", "WHILE"), ("ETL", "F", "WHILE")} | after | again
    copies = [asked(out, "unmasked-copies", **period) for period in ({"until": back}, {"since": back})]
    assert copies == [set(), {(f"D.S.{of}", column, policy, "D.S.B", column) for of, column, policy in
                              (("A", "E", "G.P.MASK"), ("A", "F", "G.P.OWN"))}]  # fmt: skip
    covered = [cells(out, "policy-coverage", at=at(day)) for day in (8, 9, undropped - 1, undropped + 1)]
    assert covered == [{"D.S.A"}, set(), set(), {"D.S.A"}]


def test_a_column_that_is_gone_is_masked_until_the_first_one_in_its_place(told: Callable[[str], Path]) -> None:
    out = told("masked-and-dropped")
    spans = {"ANA": (3, 4), "BEN": (5, 6), "CLEO": (8, 9)}
    found = {
        user: asked(out, "unmasked-copies", since=at(since), until=at(until)) for user, (since, until) in spans.items()
    }
    assert found == {"ANA": {("D.S.A", "C", "D.S.MASK", "D.S.B", "C")}, "BEN": set(), "CLEO": set()}


@pytest.mark.parametrize(
    ("name", "last"),
    [("dropped", {("D.S.A", "01", "02"), ("D.S.B", "02", "03")}), ("undropped", {("D.S.A", "01", None)}),
     ("shown-after-drop", {("D.S.A", "01", None)})],
)  # fmt: skip
def test_the_last_name_of_a_dropped_object_ends(name: str, last: set[Any], told: Callable[[str], Path]) -> None:
    rows = asked(told(name), "former-names", object_id="3", domain="Table")
    assert {(row[1], (row[2] or "")[8:10], row[3] and row[3][8:10]) for row in rows} == last


@pytest.mark.parametrize(
    ("name", "table", "readers", "later"),
    [
        # the first one has the name at the end, so it counts from the beginning, as OLD too
        ("hidden", "D.S.A", {"ANA", "BEN", "CLEO", "DORA"}, set()),
        ("hidden", "D.S.OLD", {"ANA"}, {"BEN", "DORA"}),
        # nobody has it: each counts in its period
        ("dropped-under-a-former-name", "D.S.A", {"BEN", "CLEO"}, {"DORA"}),
        ("dropped-under-a-former-name", "D.S.Z", {"BEN", "DORA"}, set()),
        # the second one has it, as if it had not been dropped
        ("brought-back", "D.S.A", {"BEN", "ANA", "CLEO"}, {"DORA"}),
    ],
)
def test_what_is_dropped_does_not_have_its_name(
    name: str, table: str, readers: set[str], later: set[str], told: Callable[[str], Path]
) -> None:
    """``later``: who read its data when it had another name."""
    out = told(name)
    assert cells(out, "who-accessed", object_name=table) - {"ETL"} == readers
    assert cells(out, "column-readers", object_name=table, column_name="C") - {"ETL"} == readers
    assert cells(out, "downstream-users", object_name=table) - {"ETL"} == readers | later


def test_before_the_drop_it_has_its_name(told: Callable[[str], Path]) -> None:
    """OLD was another name of the table that is hidden then."""
    assert cells(told("hidden"), "who-accessed", object_name="D.S.A", until=at(6)) == {"ETL", "BEN", "CLEO"}


def test_a_note_says_which_former_names_of_a_dropped_table_do_not_count(told: Callable[[str], Path]) -> None:
    def notes(name: str, table: str, **given: str) -> list[str]:
        found = ask(load(told(name)), find("writers"), {"object_name": table, **given}).notes
        return [note for note in found if "had the name" in note]

    assert cells(told("dropped"), "writers", 1, object_name="D.S.B") == set()
    assert cells(told("dropped"), "writers", 1, object_name="D.S.B", until=at(2)) == {"q1"}
    (note,) = notes("dropped", "D.S.B")
    assert note.startswith("Table 3 had the name D.S.B until 2026-01-03T06:00:00.000001Z, when it was dropped; ")
    assert note.endswith("what it did under former names (D.S.A) is in the answer by object_id=3.")
    assert notes("dropped", "D.S.B", until=at(2)) == []
    assert notes("hidden", "D.S.A") == notes("nightly", "D.S.A") == []


# --- columns that are renamed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "covered"),
    [
        (2, {("D.S.A", "E", "D.S.PII=high", "D.S.MASK")}),
        (3, {("D.S.A", "F", "D.S.PII=high", "D.S.MASK")}),
        (7, {("D.S.A", "G", "D.S.PII=high", "D.S.MASK")}),
        (9, {("D.S.A", "G", "D.S.PII=high", None)}),
        (10, {("D.S.A", "G", "D.S.PII=high", None), ("D.S.A", "E", "D.S.PII=high", None)}),
    ],
)
def test_tags_and_policies_follow_a_renamed_column(day: int, covered: set[Any], told: Callable[[str], Path]) -> None:
    out = told("renamed-column")
    assert asked(out, "policy-coverage", at=at(day)) == covered
    if day == 10:
        assert asked(out, "policy-coverage") == covered


def test_reads_in_clear_of_a_renamed_column_are_found(told: Callable[[str], Path]) -> None:
    out = told("renamed-column")
    found = {(row[0], row[4], row[5]) for row in asked(out, "unmasked-reads", object_name="D.S.A")}
    assert found == {("ETL", "E", "WHILE"), ("ETL", "F", "WHILE"), ("ANA", "F", "WHILE"), ("CLEO", "G", "WHILE")}
    copies = {row[:2] + row[3:] for row in asked(out, "unmasked-copies")}
    assert ("D.S.A", "F", "D.S.B", "F") in copies


def test_the_tags_of_a_column_begin_under_its_former_names(told: Callable[[str], Path]) -> None:
    out = told("renamed-column")
    for name, columns in (("G", {"E"}), ("F", {"E"}), ("E", {"E"})):
        rows = asked(out, "tag-history", object_name="D.S.A", column_name=name)
        days = {(row[0] or "")[8:10] for row in rows}
        assert ({row[3] for row in rows}, days) == (columns, {"01"} if name != "E" else {"01", "10"})


# --- a column is no copy of itself ------------------------------------------------------------------------------------


def test_a_column_of_a_table_that_is_made_anew_from_itself_is_no_copy_of_itself(told: Callable[[str], Path]) -> None:
    out = told("nightly")
    assert asked(out, "column-copies", object_name="D.S.A", column_name="C") == set()
    assert asked(out, "column-copies", object_id="3", column_name="C") == {("D.S.A", "Table", "C")}
    assert cells(out, "column-copies", object_name="D.S.SOURCE", column_name="C") == {"D.S.A"}
    copies = {row[4] for row in asked(out, "changes", since="2026-01-01T00:00:00Z") if row[0] == "new copy"}
    assert copies == {"q1", "q5"}


# --- drawn histories over days ----------------------------------------------------------------------------------------


def _over_days(seed: int) -> tuple[list[Json], list[Json]]:
    """A dense history, its moments hours apart."""
    rows, lines = dense_histories.history(seed, 25, dense_histories.ENDING * 2)

    def moved(time: str) -> str:
        at = dense_histories.START + (datetime.fromisoformat(time) - dense_histories.START) * 1800
        return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.000Z}"

    told = [{**row, "query_start_time": moved(row["query_start_time"])} for row in rows]
    return told, [{**line, "end_time": moved(line["end_time"])} for line in lines] if seed % 2 else []


@pytest.mark.parametrize("seed", range(8))
def test_drawn_ends_are_the_same_after_updates(seed: int, tmp_path: Path) -> None:
    rows, lines = _over_days(seed)
    once = exported(rows, lines, tmp_path / "once")
    rng = Random(seed)
    early = sorted(rows, key=lambda row: str(row["query_start_time"]))[: len(rows) // 2]
    parts = [early, rng.sample(rows, len(rows) // 2), rows]
    for number, part in enumerate(parts):
        own = {row["query_id"] for row in part}
        known = [line for line in lines if line["query_id"] in own] if number else lines[::2]
        out = exported(part, known, tmp_path / "updated", *UPDATE)
    assert triples(out) == triples(once)


# --- notes ------------------------------------------------------------------------------------------------------------


def test_an_empty_answer_says_what_took_the_data_away(tmp_path: Path) -> None:
    rows, lines = days("NOTES", [copied(SOURCE, A), TRUNCATED, read(A), copied(SOURCE, B), changed(B, "DROP")])
    graph = load(exported(flat(rows), flat(lines), tmp_path / "out"))

    def notes(question: str, **given: str) -> str:
        answer = ask(graph, find(question), given)
        return "" if answer.rows else "".join(answer.notes)

    gone = "D.S.A was truncated at 2026-01-02T06:00:00Z (query q2): what it held before is not in the answer."
    assert gone in notes("lineage-as-of", object_name="D.S.A", at="2026-01-03")
    assert gone in notes("root-cause", object_name="D.S.A", column_name="C", at="2026-01-03")
    assert "D.S.B was dropped at 2026-01-05T06:00:00Z (query q5)" in notes(
        "lineage-as-of", object_name="D.S.B", at="2026-01-06"
    )
    assert "was truncated" not in notes("lineage-as-of", object_name="D.S.A", at="2026-01-01")
