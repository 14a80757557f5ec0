"""A CLONE holds what its source held, and no row lists it: an edge from the source is then no phantom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.reconcile.small import (
    classes,
    column_lineage,
    compared,
    dataset,
    ddl,
    event,
    filled,
    made,
    manifest,
    model,
    row,
    said,
    thing,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]
A, B, T = (thing(10 + n, name) for n, name in enumerate("ABT"))
HELPER, WORK, SECOND = thing(70, "T__DBT_TMP"), thing(71, "WORK"), thing(72, "SECOND__DBT_TMP")
SENTINEL: Final = {"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}
UNKNOWN, PHANTOM = "unknown incomplete-rows", "phantom"


def _made_of(one: Json, source: Json, kind: str = "clone", day: int = 2) -> Json:
    """CREATE TABLE … CLONE, or LIKE."""
    named = {"Domain": "Table", "Id": source["objectId"], "Name": source["objectName"]}
    properties = {f"{kind}Source{name}": {"value": value} for name, value in named.items()}
    return ddl(f"c{one['objectId']}", day, one, "CREATE", **properties)


def _read(one: Json) -> Json:
    return filled("q5", 5, T, one, C=[(one, "C")])


def _cut_fill(one: Json) -> Json:
    return row("q3", 3, [A], objects_modified=[written(one, {}), SENTINEL])


@pytest.mark.parametrize(
    ("rows", "of_a", "of_b"),
    [
        ([_made_of(HELPER, A), _read(HELPER)], UNKNOWN, UNKNOWN),
        ([_made_of(HELPER, SENTINEL), _read(HELPER)], UNKNOWN, UNKNOWN),
        ([_made_of(HELPER, A, "like"), filled("q3", 3, HELPER, B), _read(HELPER)], PHANTOM, "verified"),
        ([_made_of(SECOND, A), filled("q3", 3, HELPER, SECOND), _read(HELPER)], UNKNOWN, UNKNOWN),
        ([ddl("q2", 2, HELPER, "CREATE"), _cut_fill(HELPER), _read(HELPER)], "verified", UNKNOWN),
        ([ddl("q2", 2, HELPER, "CREATE"), _read(HELPER)], UNKNOWN, UNKNOWN),
        ([_made_of(WORK, A), _read(WORK)], UNKNOWN, PHANTOM),
        ([_made_of(WORK, SENTINEL), _read(WORK)], UNKNOWN, UNKNOWN),
        ([_made_of(SECOND, A), _made_of(WORK, SECOND, day=3), _read(WORK)], UNKNOWN, PHANTOM),
        ([_made_of(WORK, A, "like"), _read(WORK)], PHANTOM, PHANTOM),
        ([ddl("q2", 2, WORK, "CREATE", columns="TRUNCATED"), _read(WORK)], PHANTOM, PHANTOM),
        ([filled("q2", 2, WORK, A), _read(WORK)], PHANTOM, PHANTOM),
        ([_made_of(T, SENTINEL)], UNKNOWN, UNKNOWN),
    ],
    ids=[
        *("helper", "helper, cut", "helper made like", "helper of a helper", "helper of a cut row", "empty helper"),
        *("clone", "clone, cut", "clone of a clone", "made like", "no clone", "table", "target"),
    ],
)
def test_what_was_filled_from_a_clone(
    rows: list[Json], of_a: str, of_b: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = made([row("q1", 1, [A, B]), *rows, ddl("q9", 9, HELPER, "DROP")], tmp_path)
    declared = said(manifest({"t": model("t", "source.p.s.a", "source.p.s.b")}, ("a", "b")), tmp_path / "m.json")
    found = compared(graph, capsys, declared)
    assert {key: said for key, said in classes(found).items() if key[0] in {"A", "B"}} == {
        ("A", "T"): of_a,
        ("B", "T"): of_b,
    }


def _elsewhere(number: int, name: str, place: str = "DEV.S") -> Json:
    return {**thing(number, name), "objectName": f"{place}.{name}"}


def _cloned(query_id: str, day: int, kind: str, source: str, target: str, number: int = 900) -> Json:
    """CREATE DATABASE … CLONE, or CREATE SCHEMA."""
    one = {"objectDomain": kind, "objectId": number, "objectName": target}
    named = {"Domain": kind, "Id": number - 500, "Name": source}
    return ddl(query_id, day, one, "CREATE", **{f"source{name}": {"value": value} for name, value in named.items()})


OF_DATABASE, OF_SCHEMA = _cloned("q2", 2, "Database", "D", "DEV"), _cloned("q2", 2, "Schema", "D.S", "DEV.S")
DEV_A, DEV_B, DEV_HELPER = _elsewhere(80, "A"), _elsewhere(81, "B"), _elsewhere(82, "T__DBT_TMP")
SECOND_A = _elsewhere(83, "A", "DEV2.S")
OF_TARGET: Final = _cloned("q2", 2, "Schema", "W.S", "D.S")


@pytest.mark.parametrize(
    ("rows", "of_a", "of_b"),
    [
        ([OF_DATABASE, _read(DEV_A)], UNKNOWN, PHANTOM),
        ([OF_SCHEMA, _read(DEV_A)], UNKNOWN, PHANTOM),
        ([OF_DATABASE, _cloned("q3", 3, "Database", "DEV", "DEV2", 901), _read(SECOND_A)], UNKNOWN, PHANTOM),
        ([OF_DATABASE, filled("q3", 3, HELPER, DEV_A), _read(HELPER)], UNKNOWN, PHANTOM),
        ([OF_DATABASE, filled("q3", 3, DEV_HELPER, B), _read(DEV_HELPER)], UNKNOWN, "verified"),
        ([OF_DATABASE, ddl("q3", 3, DEV_A, "CREATE"), _read(DEV_A)], PHANTOM, PHANTOM),
        ([_read(DEV_A)], PHANTOM, PHANTOM),
        ([_cloned("q6", 6, "Database", "D", "DEV"), _read(DEV_A)], PHANTOM, PHANTOM),
        ([_cloned("q2", 2, "Database", "E", "DEV"), _read(DEV_A)], PHANTOM, PHANTOM),
        ([ddl("q2", 2, A, "DROP"), _cloned("q3", 3, "Database", "D", "DEV"), _read(DEV_A)],
         PHANTOM, PHANTOM),
        ([OF_TARGET, filled("q5", 5, T, B, C=[(B, "C")])], UNKNOWN, "verified"),
    ],
    ids=[
        *("database", "schema", "clone of a clone", "through a helper", "helper that came", "made in the clone"),
        *("no clone", "before the clone", "another database", "dropped before", "target that came"),
    ],
)  # fmt: skip
def test_what_was_filled_from_a_clone_of_a_schema_or_database(
    rows: list[Json], of_a: str, of_b: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row of such a CLONE names no table: what holds what a table held follows from the names."""
    graph = made([row("q1", 1, [A, B]), *rows, ddl("q9", 9, HELPER, "DROP")], tmp_path)
    lineage = said(manifest({"t": model("t", "source.p.s.a", "source.p.s.b")}, ("a", "b")), tmp_path / "m.json")
    told = classes(compared(graph, capsys, lineage))
    assert (told["A", "T"], told["B", "T"]) == (of_a, of_b)
    one = event([dataset("D.S.A")], [dataset("D.S.T", **column_lineage({"C": [("D.S.A", "C", "DIRECT")]}))], day=9)
    assert classes(compared(graph, capsys, said([one], tmp_path / "e.json")))["A:C", "T:C"] == of_a
