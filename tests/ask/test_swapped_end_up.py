"""``end-up``: of a name that two objects had in turn, of files, and of what went to an object with a view over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests import exports
from tests.ask.test_tag_reach import A, B, C, copied, row, table

if TYPE_CHECKING:
    from pathlib import Path

    from exporter.ask.answers import Answer

Json = dict[str, Any]
VIEW: Final = table(5, "D.S.V", domain="View")
STAGE: Final = {"objectDomain": "Stage", "objectId": 6, "objectName": "D.S.ST"}


def asked(rows: list[Json], folder: Path, reads: str = "full", **given: str) -> Answer:
    told = exports.ndjson(rows, folder / "rows.ndjson")
    assert exports.export([told], folder / "out", "--outputs", "graph", "--reads", reads) == 0
    return ask(load(folder / "out"), find("end-up"), given)


def swapped(number: int) -> list[Json]:
    rows = []
    for one, other in ((A, B), (B, A)):
        target = {"swapTargetDomain": "Table", "swapTargetId": other["objectId"], "swapTargetName": other["objectName"]}
        properties = {name: {"value": value} for name, value in target.items()}
        shown = {name: one[name] for name in ("objectDomain", "objectId", "objectName")}
        rows.append(row(number, object_modified_by_ddl={**shown, "operationType": "ALTER", "properties": properties}))
    return rows


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("column", [{}, {"column_name": "C"}])
def test_data_is_in_what_gets_the_name_later(column: dict[str, str], reads: str, tmp_path: Path) -> None:
    """A went to B, and to another table; then A and B were swapped."""
    rows = [copied(1, A, B), copied(2, A, C), *swapped(3)]
    found = asked(rows, tmp_path, reads, object_name="D.S.A", **column).rows
    assert {tuple(cells[:3]) for cells in found} == {("D.S.B", "Table", "C"), ("D.S.C", "Table", "C")}


def test_what_is_written_from_itself_is_not_where_it_ended_up(tmp_path: Path) -> None:
    renewed = {
        **copied(2, A, table(7, "D.S.A")),
        "object_modified_by_ddl": {
            "objectDomain": "Table",
            "objectId": 7,
            "objectName": "D.S.A",
            "operationType": "REPLACE",
            "properties": {},
        },
    }
    assert not asked([copied(1, A, A), renewed], tmp_path, object_name="D.S.A").rows


def test_views_over_what_is_known_as_a_whole_are_told(tmp_path: Path) -> None:
    loaded = row(2, direct_objects_accessed=[STAGE], base_objects_accessed=[STAGE], objects_modified=[A])
    seen = [row(n, direct_objects_accessed=[VIEW], base_objects_accessed=[A]) for n in (1, 3)]
    found = asked([loaded, *seen], tmp_path, object_name="D.S.ST", domain="Stage")
    assert [cells[0] for cells in found.rows] == ["D.S.A"]
    assert "Over what the data went to, and not in the answer: D.S.V." in "\n".join(found.notes)


@pytest.mark.parametrize("source", [STAGE, {"location": "s3://bucket/path/"}])
@pytest.mark.parametrize(
    ("given", "count"),
    [
        ({}, 1), ({"since": "2026-01-02"}, 1), ({"until": "2026-01-04"}, 1), ({"until": "2026-01-02"}, 0),
        ({"since": "2026-01-04"}, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("reads", ["full", "daily"])
def test_views_are_told_that_were_read_in_the_time_that_is_asked_for(
    reads: str, given: dict[str, str], count: int, source: Json, tmp_path: Path
) -> None:
    """Whether what the view is over got the data in this time or before it."""
    loaded = row(1, direct_objects_accessed=[source], base_objects_accessed=[source], objects_modified=[A])
    seen = row(3, direct_objects_accessed=[VIEW], base_objects_accessed=[A])
    name = source.get("objectName", source.get("location"))
    found = asked([loaded, seen], tmp_path, reads, object_name=name, **given)
    assert "\n".join(found.notes).count("and not in the answer: D.S.V.") == count


def test_views_over_columns_that_the_data_did_not_go_to_are_not_told(tmp_path: Path) -> None:
    """The view is over C, which was filled from another column of what the data went to."""
    seen = row(4, direct_objects_accessed=[VIEW], base_objects_accessed=[{**C, "columns": []}])
    rows = [copied(1, B, A), copied(2, A, C, "OTHER"), seen]
    found = asked(rows, tmp_path, object_name="D.S.B", since="2026-01-03")
    assert "not in the answer: D.S.V." not in "\n".join(found.notes)


@pytest.mark.parametrize("reads", ["full", "daily"])
@pytest.mark.parametrize("source", [STAGE, {**table(9, "D.S.ICE"), "columns": []}, {"location": "s3://bucket/path/"}])
@pytest.mark.parametrize("of_files", [[], None])
def test_files_are_loaded_though_other_columns_have_a_source(
    of_files: list[Json] | None, source: Json, reads: str, tmp_path: Path
) -> None:
    """A query fills D.S.A from files, joined with D.S.B: a stage has no columns (beyond_the_documents.md), so it is the
    source of none, but what it has is in D.S.A, and in what that fills.
    """
    joined = copied(1, B, A)
    for name in ("direct_objects_accessed", "base_objects_accessed"):
        joined[name] = [*joined[name], source]
    joined["objects_modified"][0]["columns"].append(
        {"columnId": 77, "columnName": "ID", "directSources": of_files, "baseSources": of_files}
    )
    name = source.get("objectName", source.get("location"))
    found = asked([joined, copied(2, A, C)], tmp_path, reads, object_name=name).rows
    assert {(*cells[:3], cells[4]) for cells in found} == {
        ("D.S.A", "Table", None, "OBJECT"), ("D.S.C", "Table", None, "OBJECT"),
    }  # fmt: skip


def test_a_column_may_be_from_files_where_another_has_a_source(tmp_path: Path) -> None:
    joined = copied(1, B, A)
    for name in ("direct_objects_accessed", "base_objects_accessed"):
        joined[name] = [*joined[name], STAGE]
    joined["objects_modified"][0]["columns"].append({"columnName": "ID", "directSources": [], "baseSources": []})
    told = exports.ndjson([joined], tmp_path / "rows.ndjson")
    assert exports.export([told], tmp_path / "out", "--outputs", "graph") == 0
    graph = load(tmp_path / "out")
    answer = ask(graph, find("root-cause"), {"object_name": "D.S.A", "column_name": "ID"})
    assert not answer.rows
    assert any("do not say which column came from which: query q1." in note for note in answer.notes)
