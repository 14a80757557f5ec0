"""Questions go through views and streams, in both directions, where it is certain; notes say what is only possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.cli import main
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


def thing(domain: str, number: int, name: str, *columns: str) -> Json:
    listed = {"columns": [{"columnName": one} for one in columns]} if columns else {}
    return {"objectDomain": domain, "objectId": number, "objectName": f"D.S.{name}", **listed}


RAW, TABLE, OTHER, COPY = (thing("Table", 10 + n, name) for n, name in enumerate(("RAW", "T", "X", "COPY")))
VIEW, JOINED, LONE = (thing("View", 20 + n, name) for n, name in enumerate(("V", "W", "LONE")))
SYSTEM: Final[Json] = {"objectName": "$SYS_VIEW_7"}
STREAM: Final = thing("Stream", 30, "ST")


def row(number: int, user: str, direct: list[Json], base: list[Json], **columns: Any) -> Json:
    return {"query_id": f"q{number}", "query_start_time": f"2026-03-0{number} 08:00:00Z", "user_name": user,
            "direct_objects_accessed": direct, "base_objects_accessed": base, **columns}  # fmt: skip


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


@pytest.fixture(scope="module", params=["full", "daily"])
def out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    rows = exports.ndjson(ROWS, folder / "rows.ndjson")
    assert exports.export([rows], folder / "out", "--reads", str(request.param)) == 0
    return folder / "out"


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
