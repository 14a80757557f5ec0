"""Short histories written by hand: renamed and swapped tables, things named together with others, truncated records."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.model.profiles import add, attributes_of
from tests.model.told import GOOD, micros, queries_of, tables

if TYPE_CHECKING:
    from exporter.model.object_state import Profile
    from tests.model.told import Json


def row(query_id: str, clock: str, **columns: Any) -> Json:
    return {**GOOD, "query_id": query_id, "query_start_time": f"2026-03-01 {clock}:00 +0000", **columns}


def at(clock: str) -> int:
    return micros(f"2026-03-01 {clock}:00")


def table(number: int, name: str, *columns: str) -> Json:
    shown = {"objectDomain": "Table", "objectId": number, "objectName": name}
    return {**shown, "columns": [{"columnName": column} for column in columns]} if columns else shown


def change(thing: Json, operation: str, **properties: Any) -> Json:
    values = {name: value if isinstance(value, dict) else {"value": value} for name, value in properties.items()}
    return {**thing, "operationType": operation, "properties": values}


def swap(one: Json, other: Json) -> Json:
    return change(
        one, "ALTER", swapTargetDomain="Table", swapTargetId=other["objectId"], swapTargetName=other["objectName"]
    )


def profiles(rows: list[Json]) -> dict[str, Profile]:
    found: dict[tuple[str, str], Profile] = {}
    for query in queries_of(rows):
        add(found, query)
    return {key: profile for (_, key), profile in found.items()}


def names(rows: list[Json], key: str) -> dict[str, list[tuple[int, str]]]:
    """By query, the names of the object that it shows (0) and gives (1)."""
    told = {query.query_id: attributes_of(query.content).names.get(key) for query in queries_of(rows)}
    return {query_id: list(seen) for query_id, seen in told.items() if seen}


RENAME: Final = [
    row("create", "08:00", object_modified_by_ddl=change(table(5, "D.S.A"), "CREATE")),
    row("read-a", "08:10", direct_objects_accessed=[table(5, "D.S.A")]),
    row("rename", "08:20", object_modified_by_ddl=change(table(5, "D.S.A"), "ALTER", objectName="D.S.B")),
    row("read-b", "08:30", direct_objects_accessed=[table(5, "D.S.B")]),
]


def test_a_renamed_table_is_one_table_with_two_names() -> None:
    assert names(RENAME, "table/5") == {
        "create": [(0, "D.S.A")], "read-a": [(0, "D.S.A")], "rename": [(0, "D.S.A"), (1, "D.S.B")],
        "read-b": [(0, "D.S.B")],
    }  # fmt: skip
    profile = profiles(RENAME)["table/5"]
    assert profile.names == {"D.S.A": (at("08:00"), at("08:20")), "D.S.B": (at("08:30"), at("08:30"))}
    assert (profile.given, profile.old_names) == ({"D.S.B"}, {"D.S.B": {"D.S.A"}})


def test_a_table_without_an_id_is_another_under_another_name() -> None:
    """Its name is its key, so the new name is none that it is seen under."""
    nameless = {"objectDomain": "Table", "objectName": "D.S.A"}
    rename = [row("rename", "08:20", object_modified_by_ddl=change(nameless, "ALTER", objectName="D.S.B"))]
    assert names(rename, "table/name/D.S.A") == {"rename": [(0, "D.S.A")]}
    profile = profiles(rename)["table/name/D.S.A"]
    assert (profile.given, profile.old_names) == (set(), {"D.S.B": {"D.S.A"}})


SWAP: Final = [
    row("read-5", "08:00", direct_objects_accessed=[table(5, "D.S.X"), table(6, "D.S.Y")]),
    row("swap", "08:20", object_modified_by_ddl=swap(table(5, "D.S.X"), table(6, "D.S.Y"))),
    row("swap", "08:20", object_modified_by_ddl=swap(table(6, "D.S.Y"), table(5, "D.S.X"))),
    row("read-6", "08:30", direct_objects_accessed=[table(5, "D.S.Y"), table(6, "D.S.X")]),
]


def test_swapped_tables_keep_their_ids_and_change_names() -> None:
    assert names(SWAP, "table/5") == {
        "read-5": [(0, "D.S.X")], "swap": [(0, "D.S.X"), (1, "D.S.Y")], "read-6": [(0, "D.S.Y")]
    }  # fmt: skip
    assert names(SWAP, "table/6") == {
        "read-5": [(0, "D.S.Y")], "swap": [(0, "D.S.Y"), (1, "D.S.X")], "read-6": [(0, "D.S.X")]
    }  # fmt: skip
    assert set(profiles(SWAP)) == {"table/5", "table/6", "database/name/D", "schema/name/D.S"}


def test_the_rows_of_a_swap_are_both_kept_and_copies_dropped() -> None:
    queries = queries_of([*SWAP[1:3], *SWAP[1:3], SWAP[0], SWAP[0], SWAP[0]])
    assert {query.query_id: query.row_count for query in queries} == {"swap": 2, "read-5": 1}
    assert len(tables(queries)["ddl_changes"]) == 2


def _policy(name: str) -> Json:
    return {"policyName": name, "policyId": 5, "policyKind": "MASKING_POLICY"}


def _join(name: str) -> Json:
    return {**table(6, "D.S.LEFT"), "joinObjects": [{"joinType": "INNER_JOIN", "node": table(7, name)}]}


BESIDE: Final = [
    row(f"beside-{suffix}", clock, direct_objects_accessed=[_join(f"D.S.RIGHT_{suffix}")],
        policies_referenced=[{**table(8, "D.S.P"), "policies": [_policy(f"G.P_{suffix}")]}],
        object_modified_by_ddl=change(table(9, "D.S.Q"), "ALTER", tags={
            f"G.TAG_{suffix}": {"subOperationType": "ADD", "objectId": {"value": 10}, "tagValue": {"value": "x"}}
        }))
    for suffix, clock in (("OLD", "08:00"), ("NEW", "09:00"))
]  # fmt: skip


@pytest.mark.parametrize(("key", "name"), [("masking-policy/5", "G.P"), ("table/7", "D.S.RIGHT"), ("tag/10", "G.TAG")])
def test_a_thing_that_is_only_named_beside_others_keeps_all_its_names(key: str, name: str) -> None:
    """A policy that is enforced, the partner of a join, a tag that is set."""
    old, new = at("08:00"), at("09:00")
    assert profiles(BESIDE)[key].names == {f"{name}_OLD": (old, old), f"{name}_NEW": (new, new)}
    assert names(BESIDE, key) == {"beside-OLD": [(0, f"{name}_OLD")], "beside-NEW": [(0, f"{name}_NEW")]}


SOURCE: Final = {"objectDomain": "Table", "objectId": 1, "objectName": "D.S.S", "columnName": "A"}
CUT: Final = [{"columnId": -1, "columnName": "TRUNCATED"}]
GONE: Final = [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
FULL: Final = row(
    "phase-0", "08:00",
    direct_objects_accessed=[table(1, "D.S.S", "A")],
    base_objects_accessed=[table(1, "D.S.S", "A")],
    objects_modified=[{**table(2, "D.S.T"), "columns": [{"columnName": "A", "directSources": [SOURCE]}]}],
    policies_referenced=[{**table(1, "D.S.S"), "columns": [{"columnName": "A", "policies": [_policy("G.P")]}]}],
    object_modified_by_ddl=change(table(2, "D.S.T"), "CREATE", columns={"A": {"subOperationType": "ADD"}}),
    provider_base_objects_accessed=[table(3, "P.S", "A")],
    provider_policies_referenced=[{**table(3, "P.S"), "columns": [{"columnName": "A", "policies": [_policy("G.P")]}]}],
)  # fmt: skip
PHASES: Final = (
    "objects_modified", "policies_referenced", "base_objects_accessed", "direct_objects_accessed",
    "object_modified_by_ddl", "provider_base_objects_accessed", "provider_policies_referenced",
)  # fmt: skip


def truncated(phase: int) -> Json:
    """The full row after so many phases of truncation: columns first, then the properties, last whole arrays."""
    cut = {**deepcopy(FULL), "query_id": f"phase-{phase}"}
    for name in PHASES[:phase]:
        if name == "object_modified_by_ddl":
            cut[name]["properties"]["columns"] = "TRUNCATED"
        else:
            cut[name][0]["columns"] = CUT
    if phase == 8:
        cut.update({name: GONE for name in PHASES if name != "object_modified_by_ddl"})
    return cut


@pytest.mark.parametrize("phase", range(9))
def test_what_snowflake_truncated_is_on_record(phase: int) -> None:
    (query,) = queries_of([truncated(phase)])
    cut = set(PHASES) if phase == 8 else set(PHASES[:phase])
    assert query.content.incomplete == tuple(sorted(f"{name} TRUNCATED" for name in cut))


@pytest.mark.parametrize("phase", range(9))
def test_nothing_is_named_after_a_sentinel(phase: int) -> None:
    rows = [truncated(phase)]
    for name, facts in tables(queries_of(rows)).items():
        for fact in facts:
            told = {column: value for column, value in fact.items() if column not in {"properties", "incomplete"}}
            assert "TRUNCATED" not in str(told), name
            assert "'-1'" not in str(told), name
    assert "TRUNCATED" not in str(profiles(rows))


def test_a_truncated_row_keeps_what_is_left() -> None:
    """Until the last phase its objects are known, if not their columns; then only query, time and user."""
    queries = queries_of([truncated(phase) for phase in range(9)])
    reads = {(fact["query_id"], fact["access"], fact["object_key"]) for fact in tables(queries)["accesses"]}
    assert ("phase-7", "DIRECT", "table/1") in reads
    assert not [one for one in reads if one[0] == "phase-8"]
    assert {fact["query_id"] for fact in tables(queries)["derivations"]} == {"phase-0"}


LOCATION: Final = {"location": "s3://bucket/a b/ü%20.csv"}


def test_a_place_has_one_key_whatever_is_done_to_it() -> None:
    """It is one for all accounts: its path in the graph is its URL."""
    unload, load = queries_of([
        row("unload", "08:00", objects_modified=[LOCATION]), row("load", "09:00", base_objects_accessed=[LOCATION])
    ])  # fmt: skip
    assert unload.content.writes[0].thing == load.content.accesses[0].thing
    assert unload.content.writes[0].thing.key == "location/s3%3A%2F%2Fbucket%2Fa%20b%2F%C3%BC%2520.csv"
