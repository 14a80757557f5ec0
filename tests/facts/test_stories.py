"""Short histories made by hand, each in an account of its own, in one export below a base of its own."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from tests import exports
from tests.bad_rows import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BASE: Final = "https://data.example.org/snowflake/"
Json = dict[str, Any]


def row(query_id: str, clock: str, **columns: Any) -> Json:
    empty = {**GOOD, "direct_objects_accessed": []}
    return {**empty, "query_id": query_id, "query_start_time": f"2026-03-01 {clock}:00 +0000", **columns}


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


RENAME: Final = [
    row("create", "08:00", object_modified_by_ddl=change(table(5, "D.S.A"), "CREATE")),
    row("read-a", "08:10", direct_objects_accessed=[table(5, "D.S.A")]),
    row("rename", "08:20", object_modified_by_ddl=change(table(5, "D.S.A"), "ALTER", objectName="D.S.B")),
    row("read-b", "08:30", direct_objects_accessed=[table(5, "D.S.B")]),
]
SWAP: Final = [
    row("read-5", "08:00", direct_objects_accessed=[table(5, "D.S.X"), table(6, "D.S.Y")]),
    row("swap", "08:20", object_modified_by_ddl=swap(table(5, "D.S.X"), table(6, "D.S.Y"))),
    row("swap", "08:20", object_modified_by_ddl=swap(table(6, "D.S.Y"), table(5, "D.S.X"))),
    row("read-6", "08:30", direct_objects_accessed=[table(5, "D.S.Y"), table(6, "D.S.X")]),
]
TWICE: Final = [*SWAP[1:3], *SWAP[1:3], SWAP[0], SWAP[0], SWAP[0]]


def _policy(name: str) -> Json:
    return {"policyName": name, "policyId": 5, "policyKind": "MASKING_POLICY"}


def _join(name: str) -> Json:
    return {**table(6, "D.S.LEFT"), "joinObjects": [{"joinType": "INNER_JOIN", "node": table(7, name)}]}


NAMED_BESIDE: Final = [
    row(f"beside-{suffix}", clock, direct_objects_accessed=[_join(f"D.S.RIGHT_{suffix}")],
        policies_referenced=[{**table(8, "D.S.P"), "policies": [_policy(f"G.P_{suffix}")]}],
        object_modified_by_ddl=change(table(9, "D.S.Q"), "ALTER", tags={
            f"G.TAG_{suffix}": {"subOperationType": "ADD", "objectId": {"value": 10}, "tagValue": {"value": "x"}}
        }))
    for suffix, clock in (("OLD", "08:00"), ("NEW", "09:00"))
]  # fmt: skip

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


LOCATION: Final = {"location": "s3://bucket/a b/ü%20.csv"}
PLACE: Final = [
    row("unload", "08:00", objects_modified=[LOCATION]),
    row("load", "09:00", base_objects_accessed=[LOCATION]),
]
STORIES: Final = {
    "RENAME": RENAME,
    "SWAP": SWAP,
    "TWICE": TWICE,
    "BESIDE": NAMED_BESIDE,
    "CUT": [truncated(phase) for phase in range(9)],
    "ONE": PLACE,
    "OTHER": PLACE,
}


@pytest.fixture(scope="module")
def out(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001 - the session to work in
    folder = tmp_path_factory.mktemp("stories")
    rows = [
        {**one, "organization_name": "STORY", "account_name": name} for name, rows in STORIES.items() for one in rows
    ]
    source = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([source], folder / "out", "--base", BASE) == 0
    return folder / "out"


def of(story: str, name: str, out: Path) -> list[Json]:
    return [fact for fact in exports.facts(out, name) if fact["account"] == f"STORY-{story}"]


def names(story: str, key: str, out: Path) -> list[tuple[str, str, str | None]]:
    """Name, and from when to when an object had it."""
    found = [fact for fact in of(story, "names", out) if fact["object_key"] == key]
    return sorted((one["name"], _clock(one["valid_from"]), _clock(one["valid_until"])) for one in found)  # type: ignore[misc]


def _clock(moment: Any) -> str | None:
    return moment and f"{moment:%H:%M}"


def test_a_renamed_table_is_one_table_with_two_names(out: Path) -> None:
    assert names("RENAME", "table/5", out) == [("D.S.A", "08:00", "08:20"), ("D.S.B", "08:20", None)]
    assert [fact["object_key"] for fact in of("RENAME", "objects", out)] == ["table/5"]


def test_swapped_tables_keep_their_ids_and_change_names(out: Path) -> None:
    assert names("SWAP", "table/5", out) == [("D.S.X", "08:00", "08:20"), ("D.S.Y", "08:20", None)]
    assert names("SWAP", "table/6", out) == [("D.S.X", "08:20", None), ("D.S.Y", "08:00", "08:20")]


def test_the_rows_of_a_swap_are_both_kept_and_copies_dropped(out: Path) -> None:
    counted = {fact["query_id"]: fact["row_count"] for fact in of("TWICE", "queries", out)}
    assert counted == {"swap": 2, "read-5": 1}
    assert len(of("TWICE", "ddl_changes", out)) == 2
    assert exports.report(out)["duplicates"] == 4


@pytest.mark.parametrize("key", ["masking-policy/5", "table/7", "tag/10"])
def test_a_thing_that_is_only_named_beside_others_keeps_all_its_names(key: str, out: Path) -> None:
    """A policy that is enforced, the partner of a join, a tag that is set."""
    assert [(since, until) for _, since, until in names("BESIDE", key, out)] in (
        [("09:00", None), ("08:00", "09:00")],
        [("08:00", "09:00"), ("09:00", None)],
    )


@pytest.mark.parametrize("phase", range(9))
def test_what_snowflake_cut_away_is_on_record(phase: int, out: Path) -> None:
    fact = next(fact for fact in of("CUT", "queries", out) if fact["query_id"] == f"phase-{phase}")
    cut = set(PHASES) if phase == 8 else set(PHASES[:phase])
    assert {one.split(" ")[0] for one in fact["incomplete"] if one.endswith(" TRUNCATED")} == cut
    assert exports.report(out)["truncated"] == 8


def test_nothing_is_named_after_a_sentinel(out: Path) -> None:
    kept_raw = "<https://w3id.org/access-history#properties>"
    on_record = "<https://w3id.org/access-history#incomplete>"
    told = [triple for triple in exports.triples(out) if triple[1] not in (kept_raw, on_record)]
    assert [triple for triple in told if "TRUNCATED" in str(triple) or '"-1"' in str(triple)] == []
    for event in map(json.loads, exports.events(out)):
        every = [event.get("dataset"), *event.get("inputs", []), *event.get("outputs", [])]
        assert not [one for one in every if one and "TRUNCATED" in one["name"]]
        assert not [one for one in every if one and '"name": "TRUNCATED"' in json.dumps(one)]


def test_a_cut_row_keeps_what_is_left(out: Path) -> None:
    """Until the last phase its objects are known, if not their columns; then only query, time and user."""
    reads = {(fact["query_id"], fact["access"], fact["object_key"]) for fact in of("CUT", "accesses", out)}
    assert ("phase-7", "DIRECT", "table/1") in reads
    assert not [one for one in reads if one[0] == "phase-8"]
    assert {fact["query_id"] for fact in of("CUT", "derivations", out)} == {"phase-0"}


def test_a_place_is_one_for_all_accounts_and_its_versions_are_not(out: Path) -> None:
    triples = exports.triples(out)
    place = "<s3://bucket/a%20b/%C3%BC%2520.csv>"
    assert {triple[2] for triple in triples if triple[0] == place and triple[1].endswith("#locationUrl>")} == {
        '"s3://bucket/a b/ü%20.csv"'
    }
    versions = {t[0] for t in triples if t[2] == place and t[1].endswith("#specializationOf>")}
    assert {one.removeprefix(f"<{BASE}account/").split("/")[0] for one in versions} == {"STORY-ONE", "STORY-OTHER"}


def test_every_iri_is_below_the_base_and_the_graph_conforms(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All but what is the same whoever exports it: places outside of Snowflake, accounts and organizations."""
    subjects = {triple[0] for triple in exports.triples(out)}
    elsewhere = {one for one in subjects if not one.startswith(f"<{BASE}account/STORY-")}
    named = {one for one in elsewhere if re.fullmatch(r"<snowflake://(STORY-[A-Z]+/account|STORY/organization)>", one)}
    assert elsewhere - named == {"<s3://bucket/a%20b/%C3%BC%2520.csv>"}
    assert "<snowflake://STORY/organization>" in named
    assert main(["validate", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conforms"] is True
