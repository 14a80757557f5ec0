"""Questions go through views and streams, in both directions, where it is certain; notes say what is only possible."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from exporter.cli import main
from tests import exports, golden

Json = dict[str, Any]
MONTH: Final = Path(__file__).parents[2] / "examples" / "company-month"


def thing(domain: str, number: int, name: str, *columns: str) -> Json:
    listed = {"columns": [{"columnName": one} for one in columns]} if columns else {}
    return {"objectDomain": domain, "objectId": number, "objectName": f"D.S.{name}", **listed}


RAW, TABLE, OTHER, COPY = (thing("Table", 10 + n, name) for n, name in enumerate(("RAW", "T", "X", "COPY")))
VIEW, JOINED, LONE = (thing("View", 20 + n, name) for n, name in enumerate(("V", "W", "LONE")))
SYSTEM: Final[Json] = {"objectName": "$SYS_VIEW_7"}
STREAM: Final = thing("Stream", 30, "ST")


def row(number: int, user: str, direct: list[Json], base: list[Json], **columns: Any) -> Json:
    return {"query_id": f"q{number}", "query_start_time": f"2026-03-{number:02} 08:00:00Z", "user_name": user,
            "direct_objects_accessed": direct, "base_objects_accessed": base, **columns}  # fmt: skip


def created(number: int, view: Json) -> Json:
    return row(number, "DBA", [], [], object_modified_by_ddl={**view, "operationType": "CREATE", "properties": {}})


def written(target: Json, direct: list[Json], base: list[Json]) -> list[Json]:
    return [{**target, "columns": [{"columnName": "C", "directSources": direct, "baseSources": base}]}]


ROWS: Final = [
    row(1, "ETL", [RAW], [RAW],
        objects_modified=written(TABLE, [{**RAW, "columnName": "R"}], [{**RAW, "columnName": "R"}])),
    row(2, "ANA", [VIEW], [TABLE]),
    row(3, "BOB", [VIEW, JOINED], [TABLE, OTHER]),
    row(4, "ETL", [STREAM], [TABLE],
        objects_modified=written(COPY, [{**SYSTEM, "columnName": "C"}], [{**TABLE, "columnName": "C"}])),
    row(5, "ETL", [VIEW], [TABLE],
        objects_modified=written(COPY, [{**VIEW, "columnName": "VC"}], [{**TABLE, "columnName": "C"}])),
    row(6, "ANA", [LONE], []),
]  # fmt: skip


REPLACED, LATER, SHY = thing("View", 25, "R"), thing("View", 26, "R"), thing("View", 27, "SHY")
XC: Final = thing("Table", 12, "X", "XC")
REPLACEMENTS: Final = [
    created(1, VIEW),
    row(2, "ANA", [VIEW], [TABLE]),
    row(3, "BOB", [VIEW, JOINED], [TABLE, OTHER]),
    created(4, VIEW),  # CREATE OR REPLACE under the same id: now over X
    row(5, "CLEO", [VIEW], [XC]),
    row(6, "DAN", [VIEW, JOINED], [OTHER, TABLE]),
    row(7, "ETL", [VIEW], [XC],
        objects_modified=written(COPY, [{**VIEW, "columnName": "VC"}], [{**OTHER, "columnName": "XC"}])),
    row(8, "ANA", [REPLACED], [TABLE]),
    created(9, LATER),  # under another id
    row(10, "BOB", [LATER], [OTHER]),
    row(11, "ANA", [SHY, JOINED], [OTHER, TABLE]),
    row(12, "BOB", [SHY], [TABLE]),
]  # fmt: skip


def _exported(rows: list[Json], request: pytest.FixtureRequest, folder: Path) -> Path:
    given = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--reads", str(request.param)) == 0
    return folder / "out"


@pytest.fixture(scope="module", params=["full", "daily"])
def out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _exported(ROWS, request, tmp_path_factory.mktemp("views"))


@pytest.fixture(scope="module", params=["full", "daily"])
def replaced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _exported(REPLACEMENTS, request, tmp_path_factory.mktemp("replaced"))


def ask(out: Path, capsys: pytest.CaptureFixture[str], question: str, **given: str) -> tuple[set[tuple[str, ...]], str]:
    """The rows of the answer, and the notes."""
    params = [text for name, value in given.items() for text in ("--param", f"{name}={value}")]
    capsys.readouterr()
    assert main(["query", question, "--graph", str(out), "--format", "csv", *params]) == 0
    found = capsys.readouterr()
    return {tuple(line.split(",")) for line in found.out.splitlines()[1:]}, found.err


AT: Final = {"at": "2026-03-07T00:00:00Z"}


def test_the_data_of_a_view_is_that_of_the_tables_behind_it(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.V", **AT)
    assert found == {("D.S.T", "q2", "2026-03-02T08:00:00Z"), ("D.S.RAW", "q1", "2026-03-01T08:00:00Z")}
    assert notes == ""
    found, _ = ask(out, capsys, "lineage-as-of", object_name="D.S.ST", **AT)
    assert found == {("D.S.T", "q4", "2026-03-04T08:00:00Z"), ("D.S.RAW", "q1", "2026-03-01T08:00:00Z")}


def test_the_root_of_a_column_of_a_view(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for at in ({}, AT):
        found, _ = ask(out, capsys, "root-cause", object_name="D.S.V", column_name="VC", **at)
        assert found == {("D.S.T", "C", "q5", "2026-03-05T08:00:00Z"), ("D.S.RAW", "R", "q1", "2026-03-01T08:00:00Z")}
        found, _ = ask(out, capsys, "root-cause", object_name="D.S.ST", column_name="C", **at)
        assert found == {("D.S.T", "C", "q4", "2026-03-04T08:00:00Z"), ("D.S.RAW", "R", "q1", "2026-03-01T08:00:00Z")}


def test_a_view_that_is_only_possible_is_a_note(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.W", **AT)
    assert found == set()
    assert "Possibly also behind D.S.W, and not in the answer: D.S.T, D.S.X." in notes
    _, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.LONE", **AT)
    assert "D.S.LONE: no row shows what is behind this view." in notes


def test_a_note_has_the_name_of_several_objects_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anew = thing("View", 28, "W")
    rows = [row(number, "BOB", [VIEW, one], [TABLE, OTHER]) for number, one in enumerate((JOINED, anew), 1)]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    _, notes = ask(tmp_path / "out", capsys, "end-up", object_name="D.S.T")
    assert "Possibly over D.S.T, and followed only where it is certain: D.S.V, D.S.W (2 objects)." in notes


def test_where_data_ends_up_and_who_reads_it(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, notes = ask(out, capsys, "end-up", object_name="D.S.T")
    assert {one[:2] for one in found} == {("D.S.V", "View"), ("D.S.ST", "Stream"), ("D.S.COPY", "Table")}
    assert "Possibly over D.S.T, and followed only where it is certain: D.S.W." in notes
    found, notes = ask(out, capsys, "end-up", object_name="D.S.X")
    assert "D.S.V" not in str(found)
    assert "D.S.V, D.S.W" not in notes
    found, notes = ask(out, capsys, "downstream-users", object_name="D.S.RAW")
    assert ("ANA", "D.S.V", "2026-03-02T08:00:00Z") in found
    assert ("BOB", "D.S.V", "2026-03-03T08:00:00Z") in found
    assert ("ETL", "D.S.ST", "2026-03-04T08:00:00Z") in found
    assert not any(one[1] == "D.S.W" for one in found)
    _, notes = ask(out, capsys, "downstream-users", object_name="D.S.T")
    assert "D.S.W" in notes


def test_a_copy_through_a_view_is_a_copy_of_the_table(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that names a view has the tables behind it as well, so these questions need no step through views."""
    found, _ = ask(out, capsys, "column-copies", object_name="D.S.RAW", column_name="R")
    assert found == {("D.S.T", "Table", "C"), ("D.S.COPY", "Table", "C")}
    found, _ = ask(out, capsys, "sensitive-data-movement", object_name="D.S.T", domain="Table")
    assert {one[0] for one in found} == {"D.S.T-->D.S.COPY"}


@pytest.mark.parametrize("question", ["sensitive-data-movement", "writers"])
def test_an_empty_answer_about_a_view_names_what_rows_show_behind_it(
    question: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = {"domain": "View"} if question == "sensitive-data-movement" else {}
    for name, said in (
        ("D.S.V", "Behind it, as rows show: D.S.T. Ask for these, too."),
        ("D.S.W", "Possibly behind it: D.S.T, D.S.X. Ask for these, too."),
        ("D.S.LONE", "Rows do not say what it is made of: ask for the tables behind it, too."),
    ):
        found, notes = ask(out, capsys, question, object_name=name, **kind)
        assert found == set()
        assert f"{name} is a view: it holds no data of its own. {said}" in notes
        assert ("is in the answer of end-up" in notes) == (question == "sensitive-data-movement")


def test_rows_name_the_tables_behind_views_and_streams() -> None:
    """In the examples, most of which are the documents' own rows."""
    month = (MONTH / "access_history.ndjson").read_text(encoding="utf-8").splitlines()
    seen = 0
    for line in [*map(json.loads, month), *chain.from_iterable(golden.rows(one) for one in golden.folders())]:
        for thing_ in line.get("objects_modified") or []:
            for column in thing_.get("columns") or []:
                if any(one.get("objectDomain") in {"View", "Stream"} for one in column.get("directSources") or []):
                    assert column["baseSources"], column
                    seen += 1
    assert seen > 10


# --- views that are replaced ------------------------------------------------------------------------------------------


def day(number: int, hour: int = 8) -> str:
    return f"2026-03-{number:02}T{hour:02}:00:00Z"


def test_notes_are_about_the_view_that_had_the_name(replaced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two views are called R, one after the other; rows name no column of either."""
    for number, behind in ((8, "D.S.T"), (10, "D.S.X")):
        given = {"object_name": "D.S.R", "at": day(number, 12)}
        found, notes = ask(replaced, capsys, "lineage-as-of", **given)
        assert ({source for source, *_ in found}, notes) == ({behind}, "")
        found, notes = ask(replaced, capsys, "root-cause", column_name="RC", **given)
        assert found == set()
        assert f"Rows show what is behind D.S.R ({behind}), but not what is behind its column RC" in notes
        assert "no row shows" not in notes
    _, notes = ask(replaced, capsys, "root-cause", object_name="D.S.R", column_name="RC")
    assert all(f"Rows show what is behind D.S.R ({one})" in notes for one in ("D.S.T", "D.S.X"))


def test_a_column_of_a_view_that_rows_give_with_an_id_and_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The source of the column is known of the one form: the answer is not about what is behind the other."""
    nameless = {name: value for name, value in VIEW.items() if name != "objectId"}
    other = {name: value for name, value in TABLE.items() if name != "objectId"}
    rows = [
        row(1, "ETL", [nameless], [TABLE],
            objects_modified=written(COPY, [{**nameless, "columnName": "C"}], [{**TABLE, "columnName": "C"}])),
        row(2, "ANA", [VIEW], [other]),
    ]  # fmt: skip
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    found, notes = ask(tmp_path / "out", capsys, "root-cause", object_name="D.S.V", column_name="C")
    assert [source for source, *_ in found] == ["D.S.T"]
    assert "Rows give D.S.V with an id and without, and show of one of them alone what is behind its column C" in notes
    assert "what is behind the other: D.S.T" in notes
    assert "not what is behind its column" not in notes


def test_a_read_counts_for_the_definition_that_was_in_force(replaced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def readers(table: str, view: str) -> set[str]:
        found, _ = ask(replaced, capsys, "downstream-users", object_name=table)
        return {user for user, name, _ in found if name == view}

    assert readers("D.S.T", "D.S.V") == {"ANA", "BOB"}
    assert readers("D.S.X", "D.S.V") == {"CLEO", "DAN", "ETL"}
    assert readers("D.S.T", "D.S.R") == {"ANA"}
    assert readers("D.S.X", "D.S.R") == {"BOB"}


@pytest.mark.parametrize("replaced", ["full"], indirect=True)
def test_data_ends_up_in_a_view_while_the_view_shows_it(replaced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def views(table: str, **given: str) -> set[tuple[str, ...]]:
        found, _ = ask(replaced, capsys, "end-up", object_name=table, **given)
        return {(name, *rest) for name, domain, *rest in found if domain == "View"}

    of_table = {("D.S.V", "", day(2), "OBJECT"), ("D.S.R", "", day(8), "OBJECT"), ("D.S.SHY", "", day(12), "OBJECT")}
    assert views("D.S.T") == of_table
    assert views("D.S.T", since=day(5)) == of_table - {("D.S.V", "", day(2), "OBJECT")}
    of_column = {("D.S.V", "VC", day(5), "COLUMN")}
    assert views("D.S.X", column_name="XC") == of_column
    assert views("D.S.X") == {*of_column, ("D.S.R", "", day(10), "OBJECT"), ("D.S.V", "", day(6), "OBJECT")}


def test_what_is_behind_a_view_depends_on_the_time(replaced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def behind(number: int, **given: str) -> set[str]:
        found, _ = ask(replaced, capsys, "lineage-as-of", at=day(number, 12), **given)
        return {source for source, *_ in found}

    before, between, after = (behind(number, object_name="D.S.V") for number in (3, 4, 6))
    assert (before, between, after) == ({"D.S.T"}, {"D.S.X"}, {"D.S.X"})
    assert behind(8, object_id="25") == {"D.S.T"}
    assert behind(10, object_id="25") == set()
    assert behind(10, object_id="26") == {"D.S.X"}
    for number, sources in ((3, set()), (6, {"D.S.X"})):
        found, _ = ask(replaced, capsys, "root-cause", object_name="D.S.V", column_name="VC", at=day(number, 12))
        assert {source for source, *_ in found} == sources


def anew(number: int, object_id: int | None, source: Json) -> list[Json]:
    """In a night, T is made anew from another table; then the view over T is read."""
    table = {"objectDomain": "Table", "objectName": "D.S.T", **({"objectId": object_id} if object_id else {})}
    ddl = {**table, "operationType": "REPLACE", "properties": {}}
    made = row(number, "ETL", [source], [source], objects_modified=[table], object_modified_by_ddl=ddl)
    read = row(number, f"U{number}", [VIEW], [table])
    return [made, {**read, "query_id": f"r{number}", "query_start_time": f"2026-03-{number:02} 10:00:00Z"}]


@pytest.mark.parametrize("ids", [(11, 12, 13), (11, 12, 11), (None, None, None), (11, None, 13)])
def test_a_view_shows_the_tables_of_a_name_in_turn(
    ids: tuple[int | None, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table that comes back, or has no id in some rows, is behind the view all the time: no reader is left out."""
    sources = [thing("Table", 50 + n, f"S{n}") for n in range(3)]
    nights = [anew(2 * n + 2, one, source) for n, (one, source) in enumerate(zip(ids, sources, strict=True))]
    given = exports.ndjson([created(1, VIEW), *(one for night in nights for one in night)], tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out") == 0
    readers = []
    for source in sources:
        found, _ = ask(tmp_path / "out", capsys, "downstream-users", object_name=source["objectName"])
        readers.append({user for user, name, _ in found if name == "D.S.V"})
    assert all(one >= {f"U{2 * n + 2}"} for n, one in enumerate(readers))
    if ids == (11, 12, 11):  # rows have ids: nobody else read table 12
        assert readers[1] == {"U4"}
    if ids == (11, 12, 13):
        assert readers == [{"U2"}, {"U4"}, {"U6"}]
        at_noon = [("2026-03-02T12:00:00Z", "S0"), ("2026-03-03T12:00:00Z", "S0"), ("2026-03-04T12:00:00Z", "S1")]
        for at, source in at_noon:
            found, _ = ask(tmp_path / "out", capsys, "lineage-as-of", object_name="D.S.V", at=at)
            assert {name for name, *_ in found} == {"D.S.T", f"D.S.{source}"}, at


def test_what_had_the_name_of_the_source_before_stays_possible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """docs/graph.md, "Views and streams": V was read with X while 11 was T, and alone when 15 was T, which it is
    certainly over. That says nothing against 11, and all against X.
    """
    read = row(3, "ANA", [VIEW, OTHER], [TABLE, OTHER])
    out = of_nights(tmp_path, [created(1, VIEW), read], anew(5, 15, RAW))
    for question in ("downstream-users", "end-up"):
        _, notes = ask(out, capsys, question, object_id="11", domain="Table")
        assert "Possibly over D.S.T, and followed only where it is certain: D.S.V." in notes
        _, notes = ask(out, capsys, question, object_id="15", domain="Table")
        assert "Possibly over" not in notes
    _, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.V", at=day(4))
    assert "Possibly also behind D.S.V, and not in the answer: D.S.T." in notes
    _, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.V", at=day(6))
    assert "Possibly also" not in notes


BACK: Final[dict[str, list[tuple[int, str, Json]]]] = {
    "renamed": [(11, "ALTER", {"objectName": {"value": "D.S.A"}}), (12, "ALTER", {"objectName": {"value": "D.S.B"}}),
                (11, "ALTER", {"objectName": {"value": "D.S.T"}})],
    "undropped": [(11, "DROP", {}), (12, "DROP", {}), (11, "UNDROP", {})],
    "undropped-after-rename": [(11, "DROP", {}), (12, "ALTER", {"objectName": {"value": "D.S.B"}}),
                               (11, "UNDROP", {})],
}  # fmt: skip
"""How table 11 loses its name to table 12, and gets it back."""


@pytest.mark.parametrize("how", BACK)
def test_a_table_that_gets_its_name_back_has_its_own_readers(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """V is read on days 2 and 7 over table 11, and on day 4 over table 12."""

    def change(number: int, object_id: int, operation: str, properties: Json) -> Json:
        name = "D.S.A" if properties.get("objectName", {}).get("value") == "D.S.T" else "D.S.T"
        table = {"objectDomain": "Table", "objectName": name, "objectId": object_id}
        return row(number, "DBA", [], [], object_modified_by_ddl={
            **table, "operationType": operation, "properties": properties,
        })  # fmt: skip

    lost, taken, back = (change(number, *one) for number, one in zip((3, 5, 6), BACK[how], strict=True))
    nights = [anew(2, 11, thing("Table", 40, "R0")), [lost], anew(4, 12, thing("Table", 41, "R1")), [taken], [back]]
    out = of_nights(
        tmp_path, [created(1, VIEW)], *nights, [row(7, "U7", [VIEW], anew(2, 11, RAW)[1]["base_objects_accessed"])]
    )
    for number, users in ((0, {"U2", "U7"}), (1, {"U4"})):
        found, notes = ask(out, capsys, "downstream-users", object_name=f"D.S.R{number}")
        assert {user for user, name, _ in found if name == "D.S.V"} == users
        assert BY_TURNS not in notes
        _, notes = ask(out, capsys, "end-up", object_name=f"D.S.R{number}")
        assert f"{BY_TURNS} The answer may have these views" in notes
    for number in (4, 7):
        _, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.V", at=day(number, 12))
        assert f"{BY_TURNS} The answer has what came to each of them: D.S.V over D.S." in notes


# --- streams that a row does not name ---------------------------------------------------------------------------------


UNREAD, ALL_NIGHTS = "No query on record read D.S.V since", "at times when a query wrote what it read"
NOT_IN_ANSWER, WHICH_READ = "no query on record read them after", "Rows do not say which of the objects that had a name"


BY_TURNS = "Objects that had one name by turns, as with a swap and back, count as behind the view over it all the time."


def of_nights(tmp_path: Path, *nights: list[Json]) -> Path:
    rows = [*chain.from_iterable(nights), row(28, "ETL", [RAW], [RAW])]
    assert exports.export([exports.ndjson(rows, tmp_path / "in.ndjson")], tmp_path / "out") == 0
    return tmp_path / "out"


def test_a_table_made_anew_since_the_last_read_of_the_view_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody read the view after the second night: it reads by name, and so the table of that night."""
    sources = [thing("Table", 40 + n, f"R{n}") for n in range(2)]
    first, second = anew(2, 11, sources[0]), anew(3, 12, sources[1])[:1]
    out = of_nights(tmp_path, [created(1, VIEW)], first, second)
    for number, is_told in ((2, False), (3, True)):
        _, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.V", at=day(number, 12))
        assert (UNREAD in notes) is is_told, notes
        for question in ("end-up", "downstream-users"):
            _, notes = ask(out, capsys, question, object_name=f"D.S.R{number - 2}")
            assert (NOT_IN_ANSWER in notes) is is_told, notes


def test_a_view_that_was_read_since_has_no_such_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [thing("Table", 40 + n, f"R{n}") for n in range(2)]
    out = of_nights(tmp_path, [created(1, VIEW)], anew(2, 11, sources[0]), anew(3, 12, sources[1]))
    for hour in (9, 12):  # before and after the read of that night
        found, notes = ask(out, capsys, "lineage-as-of", object_name="D.S.V", at=day(3, hour))
        assert "D.S.R1" in {source for source, *_ in found}
        assert UNREAD not in notes
    for number in (0, 1):
        for question in ("end-up", "downstream-users"):
            _, notes = ask(out, capsys, question, object_name=f"D.S.R{number}")
            assert NOT_IN_ANSWER not in notes
            assert WHICH_READ not in notes


def test_nights_of_which_no_query_wrote_the_column_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A query copied from the view on the second of three nights: rows show what is behind its column only then."""
    nights = [anew(2 + n, 11 + n, thing("Table", 40 + n, f"R{n}")) for n in range(3)]
    table, of_view = thing("Table", 12, "T"), {**VIEW, "columnName": "VC"}
    target = written(COPY, [of_view], [{**table, "columnName": "TC"}])
    copied = {**row(3, "ETL", [VIEW], [table], objects_modified=target), "query_id": "c3"}
    copied["query_start_time"] = day(3, 11).replace("T", " ")
    out = of_nights(tmp_path, [created(1, VIEW)], *nights, [copied])
    _, notes = ask(out, capsys, "root-cause", object_name="D.S.V", column_name="VC")
    assert ALL_NIGHTS in notes
    assert "D.S.T (2 objects)" in notes
    _, notes = ask(out, capsys, "root-cause", object_name="D.S.V", column_name="VC", at=day(3, 12))
    assert ALL_NIGHTS not in notes


def test_views_over_tables_made_anew_without_an_id_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = [anew(2 + n, None, thing("Table", 40 + n, f"R{n}")) for n in range(2)]
    out = of_nights(tmp_path, [created(1, VIEW)], *nights)
    for number, is_told in ((0, True), (1, False)):
        _, notes = ask(out, capsys, "downstream-users", object_name=f"D.S.R{number}")
        assert (WHICH_READ in notes) is is_told, notes


def test_an_unknown_stream_is_told_in_both_directions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row reads two streams, and does not say which of them its column comes from."""
    streams = [thing("Stream", 30 + n, name, "C") for n, name in enumerate(("ST", "ST2"))]
    through = written(COPY, [{**SYSTEM, "columnName": "C"}], [{**TABLE, "columnName": "C"}])
    rows = [row(1, "ETL", streams, [TABLE, OTHER], objects_modified=through), row(2, "ANA", [LONE], [LONE])]
    assert exports.export([exports.ndjson(rows, tmp_path / "rows.ndjson")], tmp_path / "out") == 0
    unknown, day_2 = "Rows name a stream by $SYS_VIEW_<number> alone", {"at": day(2)}
    of_column = {"column_name": "C"}
    for question, name, more in (
        ("end-up", "D.S.ST2", {}),
        ("column-copies", "D.S.ST", of_column),
        ("sensitive-data-movement", "D.S.ST", {"domain": "Stream"}),
        ("downstream-users", "D.S.ST", {}),
        ("root-cause", "D.S.COPY", of_column),
        ("lineage-as-of", "D.S.COPY", day_2),
    ):
        _, notes = ask(tmp_path / "out", capsys, question, object_name=name, **more)
        assert unknown in notes, question
        assert "lack what went through it: q1." in notes, question
    _, notes = ask(tmp_path / "out", capsys, "lineage-as-of", object_name="D.S.LONE", **day_2)
    assert unknown not in notes
    _, notes = ask(tmp_path / "out", capsys, "end-up", object_name="D.S.ST", since=day(2))
    assert unknown not in notes


# --- what is only possible, in any number of steps --------------------------------------------------------------------

OUTER, FAR = thing("View", 28, "OUTER"), thing("View", 29, "FAR")
CHAIN: Final = [
    row(1, "BOB", [VIEW, JOINED], [TABLE, OTHER]),
    row(2, "BOB", [OUTER, LONE], [VIEW, RAW]),  # a view that other accounts share is its own base object
    row(3, "ETL", [TABLE], [TABLE],
        objects_modified=written(COPY, [{**TABLE, "columnName": "C"}], [{**TABLE, "columnName": "C"}])),
    row(4, "BOB", [FAR, LONE], [COPY, RAW]),
    created(5, VIEW),
    row(6, "ANA", [VIEW], [RAW]),
]  # fmt: skip


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chained")
    assert exports.export([exports.ndjson(CHAIN, folder / "rows.ndjson")], folder / "out") == 0
    return folder / "out"


def test_notes_go_through_views_over_views(chained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = {"at": day(4, 12)}
    _, notes = ask(chained, capsys, "lineage-as-of", object_name="D.S.OUTER", **at)
    assert "Possibly also behind D.S.OUTER, and not in the answer: D.S.RAW, D.S.T, D.S.V, D.S.X. " in notes
    _, notes = ask(chained, capsys, "end-up", object_name="D.S.T", until=day(4, 12))
    assert "Possibly over D.S.T, and followed only where it is certain: D.S.LONE, D.S.OUTER, D.S.V, D.S.W. " in notes
    assert "Possibly over what the data went to, and followed only where it is certain: D.S.FAR. " in notes


def test_notes_are_about_the_definitions_of_that_time(chained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, notes = ask(chained, capsys, "lineage-as-of", object_name="D.S.V", at=day(4, 12))
    assert "Possibly also behind D.S.V, and not in the answer: D.S.T, D.S.X. " in notes
    found, notes = ask(chained, capsys, "lineage-as-of", object_name="D.S.V", at=day(6, 12))
    assert ({source for source, *_ in found}, notes) == ({"D.S.RAW"}, "")
    _, notes = ask(chained, capsys, "end-up", object_name="D.S.T", since=day(6))
    assert "D.S.V" not in notes
