"""What an UNDROP brings back, after a REPLACE too: of a table, and of what is in a schema or database.

Query ``qN`` of a story runs on day N. Names: docs/graph.md, "Names" and "DROP of schemas and databases".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.ask.stories import days, exported, flat
from tests.ask.test_clones import place
from tests.ask.test_names import changed, copied, read, thing
from tests.engines.test_updates import UPDATE, applied, triples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
T1, T2, SOURCE, OTHER = thing("T", 1), thing("T", 2), thing("SOURCE", 5), thing("OTHER", 6)
S, D = place("D.S", 50), place("D", 60)
STORIES: Final[dict[str, list[Json]]] = {
    # T is replaced, and the schema of the new one is dropped and brought back
    "replaced": [copied(SOURCE, T1), copied(OTHER, T2, "REPLACE"), changed(S, "DROP"), changed(S, "UNDROP"), read(T2)],
    "created-in-a-database": [
        copied(SOURCE, T1), changed(T2, "CREATE"), changed(D, "DROP"), changed(D, "UNDROP"), read(OTHER),
    ],
    # a temporary table hides T, which is dropped with its schema, brought back, and read
    "hidden": [
        copied(SOURCE, T1), copied(OTHER, T2, "CREATE"), changed(S, "DROP"), changed(S, "UNDROP"), read(T1),
        read(OTHER),
    ],
    # a T of another schema, which has the name until it is renamed
    "beside": [
        copied(SOURCE, T1), changed(S, "DROP"), changed(place("D.S", 51), "CREATE"), copied(OTHER, T2, "CREATE"),
        changed(place("D.S", 51), objectName={"value": "D.S2"}), changed(S, "UNDROP"), read(OTHER),
    ],
    # the same, and T is replaced after all that
    "beside-and-replaced": [
        copied(SOURCE, T1), changed(S, "DROP"), changed(place("D.S", 51), "CREATE"), copied(OTHER, T2, "CREATE"),
        changed(place("D.S", 51), objectName={"value": "D.S2"}), changed(S, "UNDROP"),
        copied(OTHER, thing("T", 3), "REPLACE"), read(OTHER),
    ],
    # the other schema is dropped and brought back before it is renamed
    "one-in-the-other": [
        copied(SOURCE, T1), changed(S, "DROP"), changed(place("D.S", 51), "CREATE"), copied(OTHER, T2, "CREATE"),
        changed(place("D.S", 51), "DROP"), changed(place("D.S", 51), "UNDROP"),
        changed(place("D.S", 51), objectName={"value": "D.S2"}), changed(S, "UNDROP"), read(OTHER),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    known: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in known:
            rows, lines = days(name, STORIES[name])
            known[name] = exported(flat(rows), flat(lines), tmp_path_factory.mktemp(name) / "once")
        return known[name]

    return of


def asked(out: Path, question: str, **given: str) -> set[tuple[str | None, ...]]:
    return set(ask(load(out), find(question), given).rows)


def at(day: int) -> str:
    """Noon of a day is after its query."""
    return f"2026-01-{day:02}T12:00:00Z"


def held(out: Path, table: Json, length: int) -> list[str]:
    """What the data of the table came from, after each day of a story."""
    found = []
    for day in range(1, length + 1):
        given = {"object_id": str(table["objectId"]), "domain": "Table", "at": at(day)}
        found.append(
            "".join(sorted((row[0] or "").removeprefix("D.S.")[0] for row in asked(out, "lineage-as-of", **given)))
        )
    return found


def splits(length: int) -> list[list[range]]:
    """Days in runs: one by one; up to a day and from it on; every other one. Each in both orders."""
    whole = range(length)
    every = [[whole[day : day + 1] for day in whole], [whole[::2], whole[1::2]]]
    every += [[whole[:day], whole[day:]] for day in whole[1:]]
    return [*every, *(runs[::-1] for runs in every)]


@pytest.mark.parametrize("name", STORIES)
def test_updates_in_any_split_give_the_same_graph(name: str, told: Callable[[str], Path], tmp_path: Path) -> None:
    rows, lines = days(name, STORIES[name])
    for number, runs in enumerate(splits(len(rows))):
        for run in runs:
            part = flat([rows[day] for day in run]), flat([lines[day] for day in run])
            out = exported(*part, tmp_path / f"{number}", *UPDATE)
        assert triples(out) == triples(told(name)), runs
        assert applied(out) == triples(out), runs


@pytest.mark.parametrize(
    ("name", "table", "after"),
    [
        ("replaced", T1, "S...."),
        ("replaced", T2, ".O.OO"),
        ("created-in-a-database", T1, "S...."),
        ("hidden", T1, "SSSSSS"),
        ("beside", T1, "S....SS"),
        ("beside-and-replaced", T1, "S....S.."),
        ("one-in-the-other", T1, "S......SS"),
        ("one-in-the-other", T2, "...O.OOOO"),
    ],
)
def test_what_a_table_holds_after_each_day(name: str, table: Json, after: str, told: Callable[[str], Path]) -> None:
    """``S``, ``O``: data of SOURCE or OTHER; a dot: none, since the table is not there."""
    assert held(told(name), table, len(after)) == [letter.strip(".") for letter in after]
