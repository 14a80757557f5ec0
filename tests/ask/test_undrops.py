"""What an UNDROP brings back, after a REPLACE too: of a table, and of what is in a schema or database.

Query ``qN`` of a story runs on day N. Names: docs/graph.md, "Names" and "DROP of schemas and databases".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.ask.stories import days, exported, exported_once, flat
from tests.ask.test_clones import place
from tests.ask.test_names import changed, copied, read, renamed, thing
from tests.ask.updated_stories import assert_updates_give_the_same

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
T1, T2, SOURCE, OTHER = thing("T", 1), thing("T", 2), thing("SOURCE", 5), thing("OTHER", 6)
S, D = place("D.S", 50), place("D", 60)
NO_ID: Final[Json] = {"objectDomain": "Schema", "objectName": "D.S"}
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
    # T is replaced, the new one is called BAD, and the old one is brought back: a usual way to recover
    "recovered": [
        copied(SOURCE, T1), copied(OTHER, T2, "REPLACE"), read(T2), renamed(T2, "BAD"), changed(T1, "UNDROP"),
        read(OTHER),
    ],
    # the same by a statement that reads the old one; it takes an hour, as does the UNDROP
    "recovered-from-itself": [
        copied(SOURCE, T1), {**copied(T1, T2, "REPLACE"), "line": {"end_time": "2026-01-02T07:00:00Z"}},
        renamed(T2, "BAD"), {**changed(T1, "UNDROP"), "line": {"end_time": "2026-01-04T07:00:00Z"}}, read(OTHER),
    ],
    # twice, with two more DROPs that have rows
    "recovered-again": [
        copied(SOURCE, T1), copied(OTHER, T2, "REPLACE"), renamed(T2, "BAD"), changed(T1, "UNDROP"),
        changed(T1, "DROP"), changed(T1, "UNDROP"), copied(OTHER, thing("T", 3), "REPLACE"),
        changed(thing("T", 3), "DROP"), changed(T1, "UNDROP"),
    ],
    # the schema is dropped and brought back while the new one has the name
    "recovered-with-its-schema": [
        copied(SOURCE, T1), copied(OTHER, T2, "REPLACE"), changed(S, "DROP"), changed(S, "UNDROP"), renamed(T2, "BAD"),
        changed(T1, "UNDROP"), read(OTHER),
    ],
    # another T took the name before T1 had it, and so ended nothing of it
    "named-later": [
        copied(SOURCE, thing("Z", 1)), copied(OTHER, T2, "CREATE"), renamed(T2, "Y"), renamed(thing("Z", 1), "T"),
        changed(T1, "DROP"), changed(T1, "UNDROP"), read(OTHER),
    ],
    # the database is renamed before its schema is brought back
    "in-a-renamed-database": [
        copied(SOURCE, T1), changed(S, "DROP"), changed(D, objectName={"value": "E"}),
        changed(place("E.S", 50), "UNDROP"), changed(place("Q.Z", 99), "CREATE"),
    ],
    # the database is swapped with another one before
    "in-a-swapped-database": [
        copied(SOURCE, T1), changed(S, "DROP"),
        changed(D, swapTargetDomain={"value": "Database"}, swapTargetId={"value": 61}, swapTargetName={"value": "E"}),
        {**changed(place("E", 61), swapTargetDomain={"value": "Database"}, swapTargetId={"value": 60},
                   swapTargetName={"value": "D"}), "again": True},
        changed(place("E.S", 50), "UNDROP"), changed(place("Q.Z", 99), "CREATE"),
    ],
    # a schema of the other database has its name in between, and is dropped later
    "beside-in-a-swapped-database": [
        copied(SOURCE, T1), changed(S, "DROP"), changed(D, objectName={"value": "E"}),
        changed(place("D.S", 55), "CREATE"), changed(place("E.S", 50), "UNDROP"), changed(place("D.S", 55), "DROP"),
        changed(place("Q.Z", 99), "CREATE"),
    ],
    # the schema is replaced, the new one renamed, and the old one brought back
    "schema-recovered": [
        copied(SOURCE, T1), changed(place("D.S", 72), "REPLACE"), copied(OTHER, T2, "CREATE"),
        changed(place("D.S", 72), objectName={"value": "D.BAD"}), changed(S, "UNDROP"), read(thing("Z", 9)),
    ],
    # of two that were replaced, the first is brought back; then the other one
    "first-schema-recovered": [
        copied(SOURCE, T1), changed(place("D.S", 72), "REPLACE"), copied(OTHER, T2, "CREATE"),
        changed(place("D.S", 73), "REPLACE"), changed(place("D.S", 73), objectName={"value": "D.BAD"}),
        changed(S, "UNDROP"), changed(S, objectName={"value": "D.GOOD"}), changed(place("D.S", 72), "UNDROP"),
        read(thing("Z", 9)),
    ],
    # another schema is brought back, of which no row says that it was dropped
    "another-id": [copied(SOURCE, T1), changed(S, "DROP"), changed(place("D.S", 51), "UNDROP"), read(thing("Z", 9))],
    # the UNDROP, or the DROP, gives no id: the name decides
    "undrop-without-an-id": [copied(SOURCE, T1), changed(S, "DROP"), changed(NO_ID, "UNDROP"), read(thing("Z", 9))],
    "drop-without-an-id": [copied(SOURCE, T1), changed(NO_ID, "DROP"), changed(S, "UNDROP"), read(thing("Z", 9))],
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def asked(out: Path, question: str, **given: str) -> set[tuple[str | None, ...]]:
    return set(ask(load(out), find(question), given).rows)


def test_a_table_that_another_replaced_has_no_name_until_it_is_brought_back(told: Callable[[str], Path]) -> None:
    out = told("recovered")
    periods = {row[2:4] for row in asked(out, "former-names", object_id="1", domain="Table")}
    assert {row[0] for row in asked(out, "lineage-as-of", object_name="D.S.T", at=at(3))} == {"D.S.OTHER"}
    assert {row[0] for row in asked(out, "lineage-as-of", object_name="D.S.T", at=at(5))} == {"D.S.SOURCE"}
    assert periods == {("2026-01-01T06:00:00Z", "2026-01-02T06:00:00Z"), ("2026-01-05T06:00:00Z", None)}


GOES_ON: Final[dict[str, tuple[list[Json], str]]] = {
    "dropped": ([copied(SOURCE, T1), changed(T1, "DROP"), changed(T1, "UNDROP"), read(T1)], "2 3"),
    "with-its-schema": ([copied(SOURCE, T1), changed(S, "DROP"), changed(S, "UNDROP"), read(T1)], "2 3"),
    "another-between": (
        [copied(SOURCE, T1), changed(T1, "DROP"), copied(OTHER, T2, "CREATE"), renamed(T2, "BAD"),
         changed(T1, "UNDROP"), read(T1)], "2 5",
    ),
    "for-good": ([copied(SOURCE, T1), changed(T1, "DROP"), read(OTHER)], ""),
    "replaced": (STORIES["recovered"], ""),
    # a temporary table hid it, so it had its name all the time
    "shown-again": ([copied(SOURCE, T1), changed(T1, "DROP"), copied(SOURCE, T1), read(OTHER)], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", GOES_ON)
def test_a_name_that_goes_on_while_its_object_is_dropped_is_told(name: str, tmp_path: Path) -> None:
    """docs/graph.md, "Names and settings in time": of two objects that had the name, one was dropped then."""
    story, days_of = GOES_ON[name]
    out = exported(*map(flat, days(name, story)), tmp_path / "out")
    found = ask(load(out), find("former-names"), {"object_id": "1", "domain": "Table"})
    told = [note for note in found.notes if note.startswith("A name goes on over a DROP and its UNDROP")]
    times = [f"2026-01-{int(day):02}T06:00:00Z" for day in days_of.split()]
    assert len(told) == bool(times)
    assert all(note.endswith(f": D.S.T (object_id=1) from {times[0]} until {times[1]}.") for note in told)
    assert (len({row[1:3] for row in found.rows if row[1] == "D.S.T"}) == 1) == (name != "replaced")


@pytest.mark.parametrize(
    ("name", "day", "note"),
    [
        ("replaced", 5, "D.S.T was replaced at 2026-01-02T06:00:00Z (query q2): what it held"),
        ("created-in-a-database", 3, "D.S.T was replaced at 2026-01-02T06:00:00Z (query q2): what it held"),
        ("recovered", 3, "D.S.T was replaced at 2026-01-02T06:00:00Z (query q2): what it held"),
    ],
)
def test_an_empty_answer_says_that_another_table_took_the_name(
    name: str, day: int, note: str, told: Callable[[str], Path]
) -> None:
    for question, more in (("lineage-as-of", {}), ("root-cause", {"column_name": "C"})):
        given = {"object_id": "1", "domain": "Table", "at": at(day), **more}
        answer = ask(load(told(name)), find(question), given)
        assert not answer.rows
        assert any(note in one for one in answer.notes), answer.notes


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


def test_updates_in_any_split_give_the_same_graph(tmp_path: Path) -> None:
    assert_updates_give_the_same(STORIES, tmp_path)


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
        ("recovered", T1, "S...SS"),
        ("recovered", T2, ".OOOOO"),
        ("recovered-from-itself", T1, "S..SS"),
        ("recovered-again", T1, "S..S.S..S"),
        ("recovered-with-its-schema", T1, "S....SS"),
        ("in-a-renamed-database", T1, "S..SS"),
        ("in-a-swapped-database", T1, "S..SS"),
        ("beside-in-a-swapped-database", T1, "S...SSS"),
        ("schema-recovered", T1, "S...SS"),
        ("first-schema-recovered", T1, "S....SSSS"),
        ("first-schema-recovered", T2, "..O....OO"),
        ("another-id", T1, "S..."),
        ("undrop-without-an-id", T1, "S.SS"),
        ("drop-without-an-id", T1, "S.SS"),
        ("named-later", T1, "SSSS.SS"),
    ],
)
def test_what_a_table_holds_after_each_day(name: str, table: Json, after: str, told: Callable[[str], Path]) -> None:
    """``S``, ``O``: data of SOURCE or OTHER; a dot: none, since the table is not there."""
    assert held(told(name), table, len(after)) == [letter.strip(".") for letter in after]
