"""What a DELETE moves: nothing, though it reads the columns of its conditions.

It is one of the "DML operations that read data (e.g. … certain columns in WHERE or JOIN)" (view, "Read query notes").
Its row names the table in objects_modified, as that of any write does. QUERY_HISTORY alone says that it was a DELETE.
Without it, a query that read one table and wrote another may have filled it; what reads and writes one table alone, and
gives no sources of its columns, moves nothing from one of them to another. Query ``qN`` runs on day N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.ask.stories import days, exported, exported_once, flat
from tests.ask.test_names import changed, copied, read, thing
from tests.engines.test_updates import UPDATE, triples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]
Rows = set[tuple[str | None, ...]]
A, B, Q, Y, Z = (thing(name, number, columns=("C", "K")) for number, name in enumerate("ABQYZ", 1))
STAGE: Final = thing("ST", 50, "Stage")
OWN_K: Final = {**A, "columns": [{"columnName": "K"}]}


def bare(table: Json) -> Json:
    return {name: value for name, value in table.items() if name != "columns"}


FORMS: Final[dict[str, Callable[[Json], Json]]] = {
    "bare": bare,
    "no columns": lambda table: {**table, "columns": []},
    "columns": lambda table: table,
    "empty sources": lambda table: {
        **table,
        "columns": [{**one, "directSources": [], "baseSources": []} for one in table["columns"]],
    },
}
"""What the row says of the table that was deleted from."""


def reads(*sources: Json) -> Json:
    return {"direct_objects_accessed": list(sources), "base_objects_accessed": list(sources)}


def on_c(table: Json) -> Json:
    return {**table, "columns": [{"columnName": "C"}]}


def deleted(table: Json, *conditions: Json, form: str = "bare", told: bool) -> Json:
    """DELETE FROM the table, with conditions on these columns. ``told``: by QUERY_HISTORY, too."""
    row = {**reads(*conditions), "objects_modified": [FORMS[form](table)]}
    return {**row, "line": {"query_type": "DELETE"}} if told else row


def filled(source: Json, target: Json) -> Json:
    """Column K of the source into that of the target."""
    column = {"columnName": "K", "directSources": [{**bare(source), "columnName": "K"}]}
    part = {**source, "columns": [{"columnName": "K"}]}
    return {**reads(part), "objects_modified": [{**target, "columns": [column]}]}


def wrote(source: Json, *targets: Json) -> Json:
    """Rows that give no sources of columns."""
    return {**reads(source), "objects_modified": [bare(one) for one in targets]}


TOLD: Final = {"told": True, "untold": False}
OWN: Final = {
    f"own, {form}, {how}": [{"objects_modified": [A]}, deleted(A, on_c(A), form=form, told=told), filled(A, Z)]
    for form in FORMS
    for how, told in TOLD.items()
}
OF_COPY: Final = {
    f"copy, {form}, {how}": [copied(B, A), deleted(A, on_c(A), form=form, told=told), filled(A, Z)]
    for form in FORMS
    for how, told in TOLD.items()
}
OTHER: Final = {
    f"other, {how}": [
        {"objects_modified": [A]}, deleted(Z, on_c(A), told=told), filled(Z, Y), {**read(Z), "user_name": "BEN"},
    ]
    for how, told in TOLD.items()
}  # fmt: skip
WITH_OWN: Final = {
    f"with own, {how}": [{"objects_modified": [A]}, deleted(Z, on_c(A), on_c(Z), told=told), filled(Z, Y)]
    for how, told in TOLD.items()
}
ON_THE_WAY: Final = {
    f"on the way, {how}": [
        wrote(on_c(A), STAGE), wrote(STAGE, Z), deleted(Q, on_c(Z), told=told), filled(Q, Y),
    ]
    for how, told in TOLD.items()
}  # fmt: skip
GOES_ON: Final = {
    f"goes on, {how}": [wrote(on_c(A), Z), deleted(Z, on_c(Z), told=told), filled(Z, Y)] for how, told in TOLD.items()
}
STORIES: Final[dict[str, list[Json]]] = {
    **OWN,
    **OF_COPY,
    **OTHER,
    **WITH_OWN,
    **ON_THE_WAY,
    **GOES_ON,
    "two targets": [{"objects_modified": [A]}, wrote(on_c(A), A, Q), filled(A, Z)],
    "made anew": [{"objects_modified": [A]}, {**wrote(on_c(A), A), **changed(A, "REPLACE")}, filled(A, Z)],
    "anew, other id": [
        {"objects_modified": [A]},
        {**wrote(on_c(A), {**A, "objectId": 11}), **changed({**A, "objectId": 11}, "REPLACE")},
    ],
    "first": [deleted(A, on_c(A), told=False), filled(A, Z)],
    **{
        kind: [{"objects_modified": [A]}, {**wrote(on_c(A), A), "line": {"query_type": kind}}, filled(A, Z)]
        for kind in ("INSERT", "UPDATE", "MERGE")
    },
    **{
        f"{kind}, columns": [filled(B, A), {**deleted(A, on_c(A), form="columns", told=False), **line}, filled(A, Z)]
        for kind, line in {"UPDATE": {"line": {"query_type": "UPDATE"}}, "untold": {}}.items()
    },
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The export of a story."""
    return exported_once(STORIES, tmp_path_factory)


def end_up(out: Path, name: str, column: str | None = None) -> Rows:
    """Names, columns and how they are known."""
    given = {"object_name": f"D.S.{name}", **({"column_name": column} if column else {})}
    return {(row[0], row[2], row[4]) for row in ask(load(out), find("end-up"), given).rows}


def of(name: str, column: str | None = None) -> tuple[str, str | None, str]:
    return f"D.S.{name}", column, "COLUMN" if column else "OBJECT"


# --- end-up -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("story", [*OWN, "first"])
def test_a_delete_moves_nothing_between_the_columns_of_its_table(story: str, told: Callable[[str], Path]) -> None:
    out = told(story)
    assert end_up(out, "A", "C") == set()
    assert end_up(out, "A", "K") == end_up(out, "A") == {of("Z", "K")}


@pytest.mark.parametrize("story", OF_COPY)
def test_nor_between_those_of_a_copy(story: str, told: Callable[[str], Path]) -> None:
    out = told(story)
    assert end_up(out, "B", "C") == end_up(out, "B") == {of("A", "C")}


@pytest.mark.parametrize("kind", ["other", "with own"])
@pytest.mark.parametrize("column", ["C", None])
def test_a_delete_brings_nothing_from_its_conditions(
    column: str | None, kind: str, told: Callable[[str], Path]
) -> None:
    assert end_up(told(f"{kind}, told"), "A", column) == set()
    assert end_up(told(f"{kind}, untold"), "A", column) == {of("Z"), of("Y")}, "it may have filled the table"


@pytest.mark.parametrize("column", ["C", None])
def test_nor_on_the_way(column: str | None, told: Callable[[str], Path]) -> None:
    there = {of("ST"), of("Z")}
    assert end_up(told("on the way, told"), "A", column) == there
    assert end_up(told("on the way, untold"), "A", column) == {*there, of("Q"), of("Y")}


@pytest.mark.parametrize("how", TOLD)
def test_what_is_in_a_table_as_a_whole_goes_on_after_a_delete(how: str, told: Callable[[str], Path]) -> None:
    assert end_up(told(f"goes on, {how}"), "A", "C") == {of("Z"), of("Y")}


def test_what_is_written_beside_the_own_table_may_have_the_data(told: Callable[[str], Path]) -> None:
    out = told("two targets")
    assert end_up(out, "A", "C") == {of("Q")}
    assert end_up(out, "A") == {of("Q"), of("Z", "K")}


def test_what_is_made_anew_from_itself_may_have_the_data_in_any_column(told: Callable[[str], Path]) -> None:
    assert of("Z") in end_up(told("made anew"), "A", "C")


@pytest.mark.parametrize("kind", ["INSERT", "UPDATE", "MERGE"])
def test_what_is_known_to_be_no_delete_may_have_moved_data(kind: str, told: Callable[[str], Path]) -> None:
    """From column to column of its table: its row gives no sources, and QUERY_HISTORY says what it is."""
    assert of("Z") in end_up(told(kind), "A", "C")


# --- other questions --------------------------------------------------------------------------------------------------


def rows(out: Path, question: str, **given: str) -> Rows:
    return set(ask(load(out), find(question), given).rows)


def test_a_delete_is_no_source(told: Callable[[str], Path]) -> None:
    def sources(story: str) -> set[str | None]:
        return {row[0] for row in rows(told(story), "lineage-as-of", object_name="D.S.Y", at="2026-02-01")}

    assert sources("other, told") == {"D.S.Z"}
    assert sources("other, untold") == {"D.S.Z", "D.S.A"}


def test_who_reads_what_was_deleted_from_reads_no_data_of_the_conditions(told: Callable[[str], Path]) -> None:
    def users(story: str) -> set[str | None]:
        return {row[0] for row in rows(told(story), "downstream-users", object_name="D.S.A")}

    assert "BEN" not in users("other, told")
    assert "BEN" in users("other, untold")


@pytest.mark.parametrize(
    ("question", "name", "column"), [("root-cause", "D.S.Y", "K"), ("column-copies", "D.S.A", "C")]
)
def test_no_column_is_missing_where_it_was_a_delete(
    question: str, name: str, column: str, told: Callable[[str], Path]
) -> None:
    def is_missing(story: str) -> bool:
        answer = ask(load(told(story)), find(question), {"object_name": name, "column_name": column})
        return any("do not say which column came from which: query q2" in note for note in answer.notes)

    assert not is_missing("other, told")
    assert is_missing("other, untold")


@pytest.mark.parametrize("story", ["INSERT", "UPDATE, columns"])
def test_what_a_table_got_from_itself_is_missing_where_it_was_no_delete(
    story: str, told: Callable[[str], Path]
) -> None:
    """Also where the answer has something else that came to the table."""

    def is_missing(story: str, question: str, **given: str) -> bool:
        notes = ask(load(told(story)), find(question), given).notes
        return any("do not say which column came from which: query q2" in note for note in notes)

    asked_for: list[tuple[str, dict[str, str]]] = [
        ("root-cause", {"object_name": "D.S.Z", "column_name": "K"}),
        ("root-cause", {"object_name": "D.S.A", "column_name": "K"}),
        ("column-lineage", {"target_object_name": "D.S.A"}),
        ("column-copies", {"object_name": "D.S.A", "column_name": "C"}),
    ]
    for question, given in asked_for:
        assert is_missing(story, question, **given), (question, given)
        for other in ("own, bare, told", "own, columns, untold", "untold, columns"):
            assert not is_missing(other, question, **given), (question, given, other)


@pytest.mark.parametrize("story", ["INSERT", "anew, other id", "own, bare, told"])
def test_advice_to_ask_end_up_says_what_that_cannot_have(story: str, told: Callable[[str], Path]) -> None:
    """What is asked for is no place where its own data ended up, also if another column of it has the data."""

    def notes(question: str, column: str) -> str:
        given = {"object_name": "D.S.A", "column_name": column}
        return " ".join(ask(load(told(story)), find(question), given).notes)

    is_told = not story.startswith("own")
    assert ("(query q2) may be in any column of it" in notes("column-copies", "C")) == is_told
    assert ("query q2. The data may be in any other column of it since" in notes("end-up", "C")) == is_told
    assert "any other column" not in notes("end-up", "K"), "no query read it"


# --- the graph --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["other, told", "on the way, told"])
def test_an_export_of_updates_and_one_with_late_history_are_the_same(
    name: str, told: Callable[[str], Path], tmp_path: Path
) -> None:
    own, lines = days(name, STORIES[name])
    for number, part in enumerate(own):
        out = exported(part, lines[number], tmp_path / "days", *UPDATE)
    assert triples(out) == triples(told(name))
    exported(flat(own), [], tmp_path / "late", *UPDATE)
    assert triples(exported(flat(own), flat(lines), tmp_path / "late", *UPDATE)) == triples(told(name))
