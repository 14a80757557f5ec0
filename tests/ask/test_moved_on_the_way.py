"""Answers say where they end because a schema or database was renamed or swapped, of all that the data went through.

The row of such a statement names the two schemas or databases alone (view, "object_modified_by_ddl"), and here rows
give no ids of the tables in them: nothing but their names says which is which. Query ``qN`` of a story runs on day N.
The expectations are read from the rows: after D is renamed to D2, what was D.S.A is D2.S.A.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.notes.container_changes import UNLISTED
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from exporter.serve.lineage.flows import read_lineage
from tests.ask.stories import days, exported, exported_once, flat
from tests.ask.test_clone_gaps import rename, swap
from tests.ask.test_clones import at, place, table
from tests.ask.test_names import SET_MASK, changed, copied, read
from tests.engines.test_updates import UPDATE
from tests.serve.conftest import sited

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
SOURCE, OUT = table("E.S.SOURCE", 1), table("O.S.OUT", 9)
D, S, NEW_S = place("D", 70), place("D.S", 71), place("D.S", 75)


def named(name: str) -> Json:
    """A table of which rows give no id."""
    return table(name, None)


A, IN_D2, IN_T, OLD = (named(name) for name in ("D.S.A", "D2.S.A", "D.T.A", "D.OLD.A"))
FILL: Final = copied(SOURCE, A)
STORIES: Final[dict[str, list[Json]]] = {
    "renamed": [FILL, rename(D, "D2"), copied(IN_D2, OUT), read(OUT)],
    "written-again": [FILL, rename(D, "D2"), copied(table("X.S.Y", 8), IN_D2), copied(IN_D2, OUT)],
    "swapped": [FILL, *swap(S, place("D.T", 72)), copied(IN_T, OUT), read(OUT)],
    "twice": [FILL, rename(D, "D2"), rename(place("D2.S", 71), "D2.S2"), copied(named("D2.S2.A"), OUT), read(OUT)],
    "id-later": [FILL, rename(D, "D2"), copied(table("D2.S.A", 3), OUT), read(OUT)],
    "table-renamed": [FILL, rename(A, "D.S.Z"), copied(named("D.S.Z"), OUT), read(OUT, "BEN")],
    "masked": [FILL, changed(SOURCE, columns=SET_MASK), rename(D, "D2"), read(IN_D2, "BEN")],
    # with ids, the answer goes on
    "ids": [copied(SOURCE, table("D.S.A", 3)), rename(D, "D2"), copied(table("D2.S.A", 3), OUT), read(OUT)],
    # rows make the table after the rename, or its schema: it is another one
    "made": [FILL, rename(D, "D2"), changed(IN_D2, "CREATE"), copied(IN_D2, OUT), read(OUT)],
    "namesake": [copied(SOURCE, table("D.S.A", 3)), rename(S, "D.OLD"), changed(NEW_S, "CREATE"),
                 copied(SOURCE, table("D.S.A", 30), "CREATE"), copied(table("D.S.A", 30), OUT)],
    "namesake-by-name": [FILL, rename(S, "D.OLD"), changed(NEW_S, "CREATE"), copied(SOURCE, A, "CREATE"),
                         copied(A, OUT)],
    "dropped-since": [copied(SOURCE, IN_T), rename(place("D.T", 71), "D.S"), changed(S, "DROP"),
                      changed(NEW_S, "CREATE"), copied(SOURCE, A), copied(A, OUT)],
    # another table has the name today
    "name-taken": [FILL, rename(S, "D.OLD"), copied(OLD, OUT), changed(NEW_S, "CREATE"),
                   copied(SOURCE, table("D.S.A", 30), "CREATE")],
    "name-taken-of-table": [FILL, rename(A, "D.S.Z"), copied(named("D.S.Z"), OUT),
                            copied(SOURCE, table("D.S.A", 30), "CREATE")],
    "name-taken-of-clone": [FILL, changed(table("D.S.B", 4), "CREATE", cloneSourceName={"value": "D.S.A"}),
                            changed(A, "DROP"),
                            copied(SOURCE, table("D.S.A", 30), "CREATE"), copied(table("D.S.B", 4), OUT)],
}  # fmt: skip
UP: Final = (("lineage-as-of", {"object_id": "9", "at": at(9)}), ("root-cause", {"object_id": "9", "column_name": "C"}))
DOWN: Final = (
    ("end-up", {"object_id": "1"}), ("end-up", {"object_id": "1", "column_name": "C"}),
    ("downstream-users", {"object_id": "1"}), ("column-copies", {"object_id": "1", "column_name": "C"}),
)  # fmt: skip
TO_D2: Final = "D was renamed to D2 at 2026-01-02T06:00:00Z (query q2)"
TO_S2: Final = "D2.S was renamed to D2.S2 at 2026-01-03T06:00:00Z (query q3)"
TO_T: Final = "D.S was swapped with D.T at 2026-01-02T06:00:00Z (query q2)"
CASES: Final[dict[str, tuple[list[str], str, str]]] = {
    "renamed": ([TO_D2], "D.S.A", "D2.S.A"),
    "written-again": ([TO_D2], "D.S.A", "D2.S.A"),
    "swapped": ([TO_T], "D.S.A", "D.T.A"),
    "twice": ([TO_D2, TO_S2], "D.S.A", "D2.S2.A"),
    "id-later": ([TO_D2], "D.S.A", "D2.S.A"),
}
"""Story -> the statements, and what to ask for: up and down."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def notes(out: Path, question: str, given: Json) -> list[str]:
    return [note for note in ask(load(out), find(question), given).notes if UNLISTED in note or "no id of" in note]


@pytest.mark.parametrize("story", CASES)
def test_answers_say_where_they_end_at_a_rename(story: str, told: Callable[[str], Path]) -> None:
    statements, former, later = CASES[story]
    for questions, other in ((UP, former), (DOWN, later)):
        for question, given in questions:
            found = [note for note in notes(told(story), question, given) if UNLISTED in note]
            assert [note.partition(". ")[0] for note in found] == statements, question
            asked_for = [name for note in found for name in re.findall(r"Ask for (.+), too[.]$", note)]
            assert asked_for == [other], question


@pytest.mark.parametrize("story", ["ids", "made", "namesake", "namesake-by-name", "dropped-since"])
@pytest.mark.parametrize(("question", "given"), UP)
def test_they_say_nothing_of_what_it_did_not_move(
    question: str, given: Json, story: str, told: Callable[[str], Path]
) -> None:
    assert notes(told(story), question, given) == []


@pytest.mark.parametrize("question", ["unused-objects", "changes"])
def test_nor_of_an_earlier_object_of_the_name(question: str, told: Callable[[str], Path]) -> None:
    assert notes(told("namesake"), question, {"since": at(4)}) == []


def test_before_it_they_say_nothing(told: Callable[[str], Path]) -> None:
    assert notes(told("swapped"), "end-up", {"object_id": "1", "until": at(1)}) == []


def test_what_is_reached_but_not_in_the_answer_counts(told: Callable[[str], Path]) -> None:
    """Nobody reads A by its own name: downstream-users has no row of it."""
    (note,) = notes(told("table-renamed"), "downstream-users", {"object_id": "1"})
    assert "D.S.A was renamed to D.S.Z (query q2" in note


@pytest.mark.parametrize("question", ["unmasked-copies", "unmasked-reads", "tag-reach"])
def test_answers_about_all_objects_say_it_too(question: str, told: Callable[[str], Path]) -> None:
    (note,) = notes(told("masked"), question, {})
    assert note.startswith("D was renamed to D2 at 2026-01-03")
    assert "D.S.A, D2.S.A" in note


@pytest.mark.parametrize("story", ["name-taken", "name-taken-of-table", "name-taken-of-clone"])
def test_the_hint_says_that_the_name_is_another_objects(story: str, told: Callable[[str], Path]) -> None:
    day = 5 if story == "name-taken" else 4
    for question, given in UP:
        said = " ".join(ask(load(told(story)), find(question), given).notes)
        assert f"Ask for D.S.A (which is the name of another object since 2026-01-0{day}T06:00:00Z)" in said, question


def test_updates_and_reads_by_day_say_the_same(told: Callable[[str], Path], tmp_path: Path) -> None:
    once = [notes(told("twice"), question, given) for question, given in (*UP, *DOWN)]
    for rows, lines in zip(*days("twice", STORIES["twice"]), strict=True):
        updated = exported(rows, lines, tmp_path / "days", *UPDATE)
    assert [notes(updated, question, given) for question, given in (*UP, *DOWN)] == once
    rows, lines = map(flat, days("twice", STORIES["twice"]))
    daily = exported(rows, lines, tmp_path / "daily", "--reads", "daily")
    assert [notes(daily, question, given) for question, given in UP] == once[: len(UP)]


def test_pictures_say_it_too(told: Callable[[str], Path]) -> None:
    with sited(told("renamed")) as site:
        for name in ("O.S.OUT", "E.S.SOURCE"):
            thing, _ = site.by_name(name)
            if thing is not None:
                assert any(note.startswith(TO_D2) for note in read_lineage(site, thing, "", None).notes), name
