"""Answers that end at a CLONE of a schema or database say so: of all that the data went through, by the names of then.

The row of a CLONE names the two schemas or databases alone (view, "object_modified_by_ddl"). Query ``qN`` of a story
runs on day N. The expected steps are read from the rows: a table that is first named after the CLONE and that no row
made came from the table of the same name in the source, under whatever name its schema and database have since. A step
that is inferred, and so in the answer, is not among them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.clones import NO_STEP
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from exporter.serve.lineage.flows import read_lineage
from tests.ask.stories import days, exported, exported_once
from tests.ask.test_clones import CLONE, FILL, SOURCE, A, X, at, cloned, of_place, place, table
from tests.ask.test_names import changed, copied, read
from tests.ask.test_names import swapped as swap_of_tables
from tests.ask.updated_stories import assert_updates_give_the_same
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
OUT = table("O.S.OUT", 9)


def swap(one: Json, other: Json) -> list[Json]:
    """The two rows of a SWAP of schemas or databases."""
    return [
        {**changed(a, swapTargetDomain={"value": a["objectDomain"]}, swapTargetId={"value": b["objectId"]},
                   swapTargetName={"value": b["objectName"]}), "again": again}
        for a, b, again in ((one, other, False), (other, one, True))
    ]  # fmt: skip


def rename(one: Json, name: str) -> Json:
    return changed(one, objectName={"value": name})


S, N, NEW = place("D.S", 50), place("D.N", 71), table("D.S.A", 53)
CLONE_N = cloned("D.S", "D.N", 71)
TO_OUT = copied(NEW, OUT)
T, F_T = table("D.S.T", 20), table("F.S.T", 55)
INTO_F = cloned("D", "F", 70)
WRITTEN: Final[Json] = {**read(S), "objects_modified": [place("D2.S", 71)]}
"""A CLONE that is among what was written (view, "Write operation notes"), without a change."""
STORIES: Final[dict[str, list[Json]]] = {
    # the clone takes the production name before any row names its tables
    "swapped": [FILL, CLONE_N, *swap(S, N), read(NEW), TO_OUT],
    "renamed": [FILL, CLONE_N, rename(S, "D.OLD"), rename(N, "D.S"), read(NEW), TO_OUT],
    "database-swapped": [FILL, cloned("D", "N", 81), *swap(place("D", 80), place("N", 81)), read(NEW), TO_OUT],
    "dropped-and-renamed": [FILL, CLONE_N, changed(S, "DROP"), rename(N, "D.S"), read(NEW), TO_OUT],
    "swapped-back": [FILL, CLONE_N, *swap(S, N), *swap(S, N), read(table("D.N.A", 53))],
    "restored": [FILL, CLONE, of_place("DROP"), of_place("UNDROP"), rename(place("D2", 72), "E"),
                 read(table("E.S.A", 53))],
    "restored-elsewhere": [FILL, CLONE, of_place("DROP"), rename(place("D2", 72), "E"), of_place("UNDROP", "E.S"),
                           read(table("E.S.A", 53))],
    # a row of the clone makes the table, before or after the SWAP
    "made": [FILL, CLONE_N, changed(table("D.N.A", 53), "CREATE"), *swap(S, N), read(NEW), TO_OUT],
    "made-anew": [FILL, CLONE_N, *swap(S, N), changed(place("D.S", 73), "REPLACE"), read(NEW)],
    # the way of the data goes through a clone
    "middle": [copied(table("X.S.Y", 8), OUT), INTO_F, copied(F_T, OUT), read(OUT)],
    "middle-inferred": [copied(SOURCE, T), INTO_F, copied(F_T, OUT), read(OUT)],
    "middle-on-record-later": [INTO_F, copied(F_T, OUT), copied(SOURCE, T), read(OUT)],
    "middle-down": [copied(table("X.S.Y", 8), T), INTO_F, copied(SOURCE, T), cloned("D", "G", 75)],
    "chain": [FILL, cloned("D", "E", 80), cloned("E", "F", 81), read(table("F.S.A", 90))],
    # the names of the objects are others today
    "tables-swapped": [FILL, CLONE, read(X), *swap_of_tables(X, A), copied(table("D.S.OTHER", 2), table("D.S.A", 53))],
    "columns": [copied(SOURCE, A), CLONE, read(table("D2.S.A", 53, ("C", "F")))],
    "written": [FILL, WRITTEN, read(X)],
    "truncated": [FILL, CLONE_N, *swap(S, N), {"objects_modified": [NEW], "line": {"query_type": "TRUNCATE_TABLE"}}],
}  # fmt: skip
CASES: Final[list[tuple[str, str, Json, list[str]]]] = [
    *[
        (story, question, {"object_id": "53", **given}, [f"from D.S.A to {name} (object_id=53)"])
        for story, name in (
            ("swapped", "D.N.A"), ("renamed", "D.N.A"), ("database-swapped", "N.S.A"),
            ("dropped-and-renamed", "D.N.A"), ("restored", "D2.S.A"), ("restored-elsewhere", "D2.S.A"),
        )
        for question, given in (("lineage-as-of", {"at": at(9)}), ("root-cause", {"column_name": "C"}),
                                ("root-cause", {"column_name": "C", "at": at(9)}))
    ],
    *[
        (story, question, {"object_id": "9", **given}, ["from D.S.A to D.N.A (object_id=53)"])
        for story in ("swapped", "renamed", "dropped-and-renamed")
        for question, given in (("lineage-as-of", {"at": at(9)}), ("root-cause", {"column_name": "C"}))
    ],
    *[
        ("swapped", question, {"object_id": "3", **given}, ["from D.S.A to D.N.A (object_id=53)"])
        for question, given in (("end-up", {}), ("end-up", {"column_name": "C"}), ("downstream-users", {}),
                                ("column-copies", {"column_name": "C"}),
                                ("sensitive-data-movement", {"domain": "Table"}))
    ],
    ("swapped", "tag-reach", {}, ["from D.S.A to D.N.A (object_id=53)"]),
    ("swapped", "unmasked-copies", {}, ["from D.S.A to D.N.A (object_id=53)"]),
    ("swapped", "lineage-as-of", {"object_name": "D.S.A", "at": at(9)}, ["from D.S.A to D.N.A (object_id=53)"]),
    ("swapped", "lineage-as-of", {"object_name": "D.S.A", "at": "2026-01-02T01:00:00Z"}, []),
    ("swapped", "end-up", {"object_id": "3", "until": "2026-01-02T01:00:00Z"}, []),
    ("swapped-back", "lineage-as-of", {"object_id": "53", "at": at(9)}, ["from D.S.A to D.N.A"]),
    ("made", "lineage-as-of", {"object_id": "53", "at": at(9)}, []),
    ("made", "root-cause", {"object_id": "9", "column_name": "C"}, []),
    ("made-anew", "lineage-as-of", {"object_id": "53", "at": at(9)}, []),
    ("middle", "lineage-as-of", {"object_id": "9", "at": at(9)}, ["from D.S.T to F.S.T"]),
    ("middle", "root-cause", {"object_id": "9", "column_name": "C"}, ["from D.S.T to F.S.T"]),
    ("middle", "lineage-as-of", {"object_id": "9", "at": at(1)}, []),
    ("middle", "end-up", {"object_name": "D.S.T"}, ["from D.S.T to F.S.T"]),
    ("middle", "lineage-as-of", {"object_name": "F.S.OTHER", "at": at(9)}, ["from D.S.OTHER to F.S.OTHER"]),
    ("middle-inferred", "lineage-as-of", {"object_id": "9", "at": at(9)}, []),
    ("middle-inferred", "root-cause", {"object_id": "9", "column_name": "C"}, []),
    ("middle-inferred", "end-up", {"object_id": "20"}, []),
    ("middle-inferred", "column-copies", {"object_id": "20", "column_name": "C"}, []),
    ("middle-on-record-later", "lineage-as-of", {"object_id": "9", "at": at(9)}, ["from D.S.T to F.S.T"]),
    # what came into T after the first CLONE is in the second one alone
    ("middle-down", "end-up", {"object_name": "X.S.Y"}, ["from D.S.T to F.S.T", "from D.S.T to G.S.T"]),
    ("middle-down", "column-copies", {"object_name": "X.S.Y", "column_name": "C"},
     ["from D.S.T to F.S.T", "from D.S.T to G.S.T"]),
    ("middle-down", "downstream-users", {"object_name": "D.S.SOURCE"},
     ["from D.S.SOURCE to G.S.SOURCE", "from D.S.T to G.S.T"]),
    ("chain", "lineage-as-of", {"object_id": "90", "at": at(9)}, ["from D.S.A to E.S.A", "from E.S.A to F.S.A"]),
    ("chain", "end-up", {"object_id": "3"}, ["from D.S.A to E.S.A", "from E.S.A to F.S.A"]),
    ("tables-swapped", "lineage-as-of", {"object_id": "53", "at": at(9)}, []),
    ("tables-swapped", "end-up", {"object_id": "3"}, []),
    ("columns", "root-cause", {"object_id": "53", "column_name": "C"}, []),
    ("columns", "root-cause", {"object_id": "53", "column_name": "F"}, ["from D.S.A to D2.S.A (column F)"]),
    ("columns", "lineage-as-of", {"object_id": "53", "at": at(9)}, []),
    *[
        ("written", question, {"object_id": number, **given}, ["from D.S.A to D2.S.A"])
        for question, number, given in (
            ("lineage-as-of", "53", {"at": at(9)}), ("root-cause", "53", {"column_name": "C"}), ("end-up", "3", {}),
        )
    ],
    ("truncated", "lineage-as-of", {"object_id": "53", "at": at(9)}, []),
    ("truncated", "root-cause", {"object_id": "53", "column_name": "C", "at": at(9)}, []),
]  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def steps(notes: Sequence[str]) -> list[str]:
    """The steps that notes say are missing."""
    parts = [note.partition(NO_STEP)[2].partition(". ")[0] for note in notes if NO_STEP in note]
    return sorted(step for part in parts for step in re.findall(r"from .+? to [^,]+?(?=, from|[.]?$)", part))


@pytest.mark.parametrize(("story", "question", "given", "expected"), CASES)
def test_answers_say_where_they_end_at_a_clone(
    story: str, question: str, given: Json, expected: list[str], told: Callable[[str], Path]
) -> None:
    assert steps(ask(load(told(story)), find(question), given).notes) == expected


def test_updates_in_any_split_give_the_same_graph(tmp_path: Path) -> None:
    assert_updates_give_the_same(STORIES, tmp_path)


def test_the_note_says_what_to_ask_for(told: Callable[[str], Path]) -> None:
    graph = load(told("swapped"))
    (up,) = (
        note for note in ask(graph, find("root-cause"), {"object_id": "9", "column_name": "C"}).notes if NO_STEP in note
    )
    assert up.startswith("D.N was cloned from D.S at 2026-01-02T06:00:00Z. ")
    assert up.endswith("Ask for D.S.A (object_id=3), too.")
    (down,) = (note for note in ask(graph, find("end-up"), {"object_id": "3"}).notes if NO_STEP in note)
    assert down.endswith("Ask for D.N.A (object_id=53), too.")


def test_an_inferred_step_has_the_names_at_the_time_of_the_clone(told: Callable[[str], Path]) -> None:
    for given in ({"object_id": "53", "at": at(9)}, {"object_id": "3", "at": at(9)}):
        notes = ask(load(told("tables-swapped")), find("lineage-as-of"), given).notes
        found = [note for note in notes if "Inferred from names" in note]
        assert ["D2.S.A from D.S.A at 2026-01-02" in note for note in found] == [True] * (given["object_id"] == "53")
    (brought,) = (
        note for note in ask(load(told("tables-swapped")), find("exposure"), {}).notes if "came with a CLONE" in note
    )
    assert "D2.S.A from D.S.A at" in brought


@pytest.mark.parametrize(
    ("story", "name", "column", "expected"),
    [
        ("middle", "O.S.OUT", "", ["from D.S.T to F.S.T"]),
        ("middle", "O.S.OUT", "C", ["from D.S.T to F.S.T"]),
        ("swapped", "O.S.OUT", "", ["from D.S.A to D.N.A (object_id=53)"]),
        ("middle-down", "X.S.Y", "", ["from D.S.T to F.S.T", "from D.S.T to G.S.T"]),
        ("middle-inferred", "O.S.OUT", "", ["from D.S.SOURCE to F.S.SOURCE"][:0]),
    ],
)
def test_pictures_say_it_too(
    story: str, name: str, column: str, expected: list[str], told: Callable[[str], Path]
) -> None:
    with sited(told(story)) as site:
        thing, _ = site.by_name(name)
        assert thing is not None
        notes = read_lineage(site, thing, column, None).notes
    assert steps(notes) == expected
    assert any("Inferred from names" in note for note in notes) == (story == "middle-inferred")


# --- CLONE of tables --------------------------------------------------------------------------------------------------


def of_table(target: Json, operation: str = "CREATE", number: int = 3) -> Json:
    """A CLONE of D.S.A, which has the id 3, whose row names it as a property."""
    source = {"cloneSourceName": {"value": "D.S.A"}, "cloneSourceDomain": {"value": "Table"}}
    return changed(target, operation, **source, cloneSourceId={"value": number})


AGAIN, COPY = table("D.S.A", 7), table("D.S.COPY", 8)
OF_TABLES: Final = [FILL, of_table(COPY), read(COPY), of_table(AGAIN, "REPLACE"), read(AGAIN)]
MADE_COPY, MADE_AGAIN = (f"D.S.{name} was made from D.S.A by CLONE or LIKE" for name in ("COPY", "A"))


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """q2 clones D.S.A as D.S.COPY, and q4 as itself, which then has another id."""
    rows, _ = days("of-tables", OF_TABLES)
    return load(exported([row for day in rows for row in day], [], tmp_path_factory.mktemp("of-tables") / "out"))


@pytest.mark.parametrize(
    ("question", "given", "expected"),
    [
        ("end-up", {"object_id": "7"}, {}),
        ("end-up", {"object_id": "3"}, {MADE_COPY: "Ask for D.S.COPY, too.", MADE_AGAIN: "D.S.A (object_id=7), too."}),
        ("end-up", {"object_name": "D.S.A"}, {MADE_COPY: "Ask for D.S.COPY, too.", MADE_AGAIN: "step between them."}),
        ("column-copies", {"object_id": "7", "column_name": "C"}, {}),
        (
            "lineage-as-of", {"object_id": "7", "at": at(5)},
            {MADE_AGAIN: "Ask for D.S.A (object_id=3) with at=2026-01-04T05:59:59.999999Z, too."},
        ),
        (
            "lineage-as-of", {"object_name": "D.S.COPY", "at": at(5)},
            {MADE_COPY: "Ask for D.S.A (object_id=3) with at=2026-01-02T06:00:00Z, too."},
        ),
    ],
)  # fmt: skip
def test_a_clone_of_a_table_is_told_of_the_object_that_its_row_gives(
    question: str, given: dict[str, str], expected: dict[str, str], of_tables: Store
) -> None:
    """By the id of the source, and not by a name that another object got later. What is asked for is no advice."""
    notes = [note for note in ask(of_tables, find(question), given).notes if "by CLONE or LIKE" in note]
    assert len(notes) == len(expected)
    assert all(any(note.startswith(begin) and note.endswith(end) for note in notes) for begin, end in expected.items())


def test_the_advice_to_ask_for_the_source_of_a_clone_gives_its_data(of_tables: Store) -> None:
    for given in ({"object_id": "7", "at": at(5)}, {"object_name": "D.S.COPY", "at": at(5)}):
        (told,) = (note for note in ask(of_tables, find("lineage-as-of"), given).notes if "Ask for" in note)
        said = re.search(r"object_id=(\d+)\) with at=(\S+),", told)
        assert said is not None
        answer = ask(of_tables, find("lineage-as-of"), {"object_id": said[1], "at": said[2]})
        assert [row["source_object_name"] for row in answer.dicts()] == ["D.S.SOURCE"]
