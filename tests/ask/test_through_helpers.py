"""Rows that were cut, where ``column-lineage`` goes past helpers: docs/questions.md and docs/openlineage.md, "Helpers".

What is behind a helper was filled into it before it was read, also before ``since``; and a table is no helper without
the row that created it. Each case is a separate account of one export; query ``qN`` starts at minute N.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import pool
from tests import exports
from tests.ask import stories
from tests.ask.test_cut_changes import ALL_CUT
from tests.ask.test_names import asked, at, changed, copied, thing

if TYPE_CHECKING:
    from pathlib import Path

    from pyoxigraph import Store

Json = dict[str, Any]
A, B, C, D = (thing(name, number) for number, name in enumerate("ABCD", 1))
HELPER, SECOND = thing("B__DBT_TMP", 70), thing("B__DBT_TMP_2", 71)
CREATED: Final = changed(HELPER, "CREATE")
DROPPED: Final = changed(HELPER, "DROP")
INTO_B: Final = copied(HELPER, B)
CREATE_CUT: Final[Json] = {"object_modified_by_ddl": ALL_CUT}
CUT: Final = "cut by Snowflake"


def without(row: Json, *columns: str) -> Json:
    """The row with these columns cut."""
    return {**row, **{column: [{"objectDomain": "TRUNCATED", "objectId": -1, "objectName": "TRUNCATED"}]
                      for column in columns}}  # fmt: skip


FILL_CUT: Final = without(copied(A, HELPER), "objects_modified")
STORIES: Final[dict[str, tuple[list[Json], bool]]] = {
    "fill": ([CREATED, FILL_CUT, INTO_B, DROPPED], True),
    "second-fill": (
        [CREATED, copied(A, HELPER), without(copied(C, HELPER), "objects_modified"), INTO_B, DROPPED], True,
    ),
    "fill-of-the-one-before": (
        [changed(SECOND, "CREATE"), without(copied(A, SECOND), "objects_modified"), CREATED, copied(SECOND, HELPER),
         INTO_B, DROPPED], True,
    ),
    "create": ([CREATE_CUT, copied(A, HELPER), INTO_B, DROPPED], True),
    "columns": ([CREATED, copied(A, HELPER), changed(HELPER, columns="TRUNCATED"), INTO_B, DROPPED], True),
    # What the row cannot concern.
    "columns-of-another": ([CREATED, copied(A, HELPER), changed(D, columns="TRUNCATED"), INTO_B, DROPPED], False),
    "whole": ([CREATED, copied(A, HELPER), INTO_B, DROPPED], False),
}  # fmt: skip
"""What a load did, and whether the row that was cut can decide what is behind the helper. The helper is read last."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stories.told({name: rows for name, (rows, _) in STORIES.items()}, tmp_path_factory.mktemp("helpers"))


def notes(story: str, whole: Store, **given: str) -> str:
    return "".join(asked("column-lineage", stories.of(story, whole), **given).notes)


@pytest.mark.parametrize("given", [{}, {"target_object_name": "D.S.B"}])
@pytest.mark.parametrize("story", STORIES)
def test_what_decides_before_the_time_is_told(story: str, given: dict[str, str], whole: Store) -> None:
    rows, is_told = STORIES[story]
    read = 1 + next(
        number for number, row in enumerate(rows) if row.get("objects_modified", [{}])[0].get("objectId") == 2
    )
    since = at(read - 0.5)
    assert (CUT in notes(story, whole, helpers="bridged", since=since, **given)) == is_told
    assert CUT not in notes(story, whole, since=since, **given)


@pytest.mark.parametrize(("helpers", "is_told"), [("shown", False), ("bridged", True)])
def test_a_clone_at_which_the_answer_ends_is_told(helpers: str, *, is_told: bool, tmp_path: Path) -> None:
    """A helper that a CLONE made is an ordinary dataset (docs/openlineage.md), so nothing is in its place."""
    source = {"cloneSourceName": {"value": "D.S.A"}, "cloneSourceId": {"value": 1}}
    other = changed(SECOND, "CREATE", **source)
    rows = [copied(C, A), changed(HELPER, "CREATE", **source), INTO_B, DROPPED, other, copied(SECOND, D)]
    graph = stories.told({"one": rows}, tmp_path)
    told = asked("column-lineage", graph, helpers=helpers, target_object_name="D.S.B").notes
    assert any(f"D.S.B__DBT_TMP was made from D.S.A at {at(2)}." in note for note in told) == is_told


def test_without_a_time_a_create_is_told(whole: Store) -> None:
    assert CUT in notes("create", whole, helpers="bridged")


@pytest.mark.parametrize("helpers", ["shown", "bridged"])
def test_helpers_of_many_days_take_little_memory(helpers: str, tmp_path: Path) -> None:
    """A source that is filled again each day, and a new helper each day."""
    days = [thing("B__DBT_TMP", 100 + day) for day in range(28)]
    loads = [[copied(C, A), copied(A, each, "CREATE"), copied(each, B), changed(each, "DROP")] for each in days]
    rows = [
        {
            "user_name": "ETL",
            **row,
            "query_id": f"q{day}-{hour}",
            "query_start_time": f"2026-01-{day:02}T0{hour}:00:00Z",
        }
        for day, load in enumerate(loads, 1)
        for hour, row in enumerate(load)
    ]
    given = exports.ndjson(rows, tmp_path / "rows.ndjson")
    assert exports.export([given], tmp_path / "out", "--outputs", "graph") == 0
    answer = pool.answer(
        "column-lineage", tmp_path / "out", {"helpers": helpers, "target_object_name": "D.S.B"}, 60, 100, 128 << 20
    )
    found = {str(each["objectId"]) for each in days} if helpers == "shown" else {"1"}
    assert {row[0] for row in answer.rows} == found
