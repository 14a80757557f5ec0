"""A CLONE holds what its source held, and no row lists it: an edge from the source is then no phantom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.reconcile.small import classes, compared, ddl, filled, made, manifest, model, row, said, thing, written

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
