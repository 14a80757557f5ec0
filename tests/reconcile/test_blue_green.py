"""Two schemas that are swapped with each other: the next release is built in D.NEXT, and becomes D.LIVE.

The rows of the SWAP name the schemas alone. Rows after it give the tables under their new names, with their ids: the
same name is of another table from then on. What a declaration means by it depends on its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.reconcile.small import (
    classes,
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
)

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


def table(number: int, name: str) -> Json:
    return thing(number, "") | {"objectName": f"D.{name}"}


A, B, X = (table(90 + number, f"RAW.{name}") for number, name in enumerate("ABX"))
SCHEMAS: Final = [
    {"objectDomain": "Schema", "objectId": 800 + number, "objectName": f"D.{name}"}
    for number, name in enumerate(("LIVE", "NEXT"))
]


def swapped(query_id: str, day: int) -> list[Json]:
    """The two rows of ``ALTER SCHEMA LIVE SWAP WITH NEXT``."""
    return [
        ddl(query_id, day, one, "ALTER", **{f"swapTarget{part}": {"value": other[f"object{part}"]} for part in PARTS})
        for one, other in (SCHEMAS, SCHEMAS[::-1])
    ]


PARTS: Final = ("Domain", "Id", "Name")


def copied(query_id: str, day: int, source: Json, target: Json) -> Json:
    return filled(query_id, day, target, source, C=[(source, "C")])


ROWS: Final = [
    copied("a1", 1, A, table(1, "LIVE.FACT")),
    copied("a2", 2, A, table(1, "LIVE.FACT")),
    copied("a3", 3, A, table(2, "NEXT.FACT")),
    copied("b3", 3, B, table(2, "NEXT.FACT")),
    *swapped("s4", 4),
    copied("b6", 6, B, table(2, "LIVE.FACT")),
    row("r9", 9, [X]),
]
"""Table 1 is filled from A alone, and table 2 from A once, and from B."""
USED_LATER: Final = copied("a7", 7, A, table(1, "NEXT.FACT"))
"""The former table, under the name that it has since the SWAP."""


def _shown(found: Json) -> dict[str, tuple[str, list[str | None]]]:
    """Of each source, the class of the edge, and the first and the last query that show it."""
    return {
        source: (told, [edge.get("first_query_id"), edge.get("last_query_id")])
        for ((source, _), told), edge in zip(classes(found).items(), found["edges"], strict=True)
    }


@pytest.mark.parametrize("later", [[], [USED_LATER]], ids=["set aside", "used later"])
def test_a_name_is_of_another_table_after_the_swap(
    later: list[Json], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = made([*ROWS, *later], tmp_path)
    last = "a7" if later else "a2"
    before = {"D.RAW.A": ("verified", ["a1", last]), "D.RAW.B": ("phantom", [None, None])}
    after = {"D.RAW.A": ("verified", ["a3", "a3"]), "D.RAW.B": ("verified", ["b3", "b6"])}
    # Between the SWAP and the first row that shows which table has the name, it cannot be known.
    between = dict.fromkeys(before, ("unknown moved", [None, None]))
    for day, right in ((2, before), (3, before), (5, between), (6, after), (8, after)):
        inputs = [dataset(f"d.raw.{name}") for name in "ab"]
        declared = said(event(inputs, [dataset("d.live.fact")], day=day), tmp_path / f"{day}.json")
        assert _shown(compared(graph, capsys, declared)) == right, day
    nodes = {"fact": model("fact", "source.p.s.a", "source.p.s.b", relation_name="d.live.fact")}
    told = manifest(nodes, ("a", "b"), generated_at="2026-03-08T08:00:00Z")
    for name in "ab":
        told["sources"][f"source.p.s.{name}"]["relation_name"] = f"d.raw.{name}"
    assert _shown(compared(graph, capsys, said(told, tmp_path / "m.json"))) == after


def test_a_table_that_is_made_anew_in_each_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each night, NEXT.FACT is replaced and the schemas are swapped: LIVE.FACT is the table of the last night."""
    rows: list[Json] = [copied("q1", 1, A, table(1, "LIVE.FACT"))]
    for night, number in enumerate((2, 3, 4)):
        new = table(number, "NEXT.FACT")
        build = copied(f"b{number}", 3 * night + 2, B if number == 4 else A, new)
        build["object_modified_by_ddl"] = {**new, "operationType": "REPLACE", "properties": {}}
        rows += [
            build,
            *swapped(f"s{number}", 3 * night + 3),
            row(f"r{number}", 3 * night + 4, [table(number, "LIVE.FACT")]),
        ]
    graph = made([*rows, row("r20", 20, [X])], tmp_path)
    inputs = [dataset(f"d.raw.{name}") for name in "ab"]
    found = {
        day: _shown(
            compared(graph, capsys, said(event(inputs, [dataset("d.live.fact")], day=day), tmp_path / "d.json"))
        )
        for day in (4, 7, 12)
    }
    only_a = {"D.RAW.B": ("phantom", [None, None])}
    assert found[4] == {"D.RAW.A": ("verified", ["b2", "b2"]), **only_a}
    assert found[7] == {"D.RAW.A": ("verified", ["b3", "b3"]), **only_a}
    assert found[12] == {"D.RAW.A": ("phantom", [None, None]), "D.RAW.B": ("verified", ["b4", "b4"])}
