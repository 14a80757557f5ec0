"""The example of a company's month: its script makes the same data, the data is consistent, and its README is true."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "company-month"
FILES = ("access_history.ndjson", "query_history.csv")
ARRAYS = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / FILES[0]).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def queries() -> list[dict[str, str]]:
    return list(csv.DictReader((FOLDER / FILES[1]).read_text(encoding="utf-8").splitlines()))


def test_the_script_makes_the_committed_files(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-B", str(FOLDER / "make.py"), str(tmp_path)], check=True, capture_output=True)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), (
            f"run make.py: {name} is not what it makes"
        )


def test_it_is_small_enough_to_read(rows: list[dict[str, Any]]) -> None:
    assert 300 <= len(rows) <= 450
    assert (FOLDER / FILES[0]).stat().st_size < 1_000_000


def test_the_readme_counts_right(rows: list[dict[str, Any]], queries: list[dict[str, str]]) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    recorded = {row["query_id"] for row in rows}
    assert f"{len(rows)} rows" in readme
    assert f"{len(queries)} lines" in readme
    assert len(queries) - len({query["QUERY_ID"] for query in queries}) == 2
    assert len({query["QUERY_ID"] for query in queries} - recorded) == 5
    assert {query["QUERY_ID"] for query in queries if query["EXECUTION_STATUS"] == "FAIL"}.isdisjoint(recorded)
    unlisted = recorded - {query["QUERY_ID"] for query in queries}
    assert unlisted == {row["query_id"] for row in rows if row["event_source"] == "horizon_irc"}


def test_every_query_id_of_the_readme_is_a_read_under_a_policy(rows: list[dict[str, Any]]) -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    named = [part.split("`")[0] for part in readme.split("--query-id ")[1:]]
    enforced = {row["query_id"]: row["policies_referenced"] for row in rows}
    assert len(named) == 3
    assert all(enforced[query_id] for query_id in named)


def test_one_row_is_delivered_twice_and_one_swap_has_two(rows: list[dict[str, Any]]) -> None:
    repeated = [query_id for query_id, count in Counter(row["query_id"] for row in rows).items() if count > 1]
    pairs = [[row for row in rows if row["query_id"] == query_id] for query_id in repeated]
    alike = [pair[0] == pair[1] for pair in pairs]
    assert sorted(alike) == [False, True]
    assert "swapTargetId" in json.dumps(pairs[alike.index(False)])


def test_a_column_id_stays_with_its_object(rows: list[dict[str, Any]]) -> None:
    owners = defaultdict(set)
    for element in (element for row in rows for name in ARRAYS for element in row[name]):
        for column in element.get("columns", ()):
            owners[column["columnId"]].add(element.get("objectId"))
    truncated = owners.pop(-1)
    assert len(truncated) > 1
    assert all(len(objects) == 1 for objects in owners.values())


def test_names_change_only_by_rename_and_swap(rows: list[dict[str, Any]]) -> None:
    names = defaultdict(set)
    for element in (element for row in rows for name in ARRAYS for element in row[name]):
        if "objectId" in element:
            names[element["objectDomain"], element["objectId"]].add(element["objectName"])
    assert {key for key, known in names.items() if len(known) > 1} == {("Table", 2055)}


def test_rows_come_in_the_order_of_their_times(rows: list[dict[str, Any]]) -> None:
    times = [row["query_start_time"] for row in rows if not row["parent_query_id"]]
    assert times == sorted(times)
    assert all(time.startswith("2026-09-") and time.endswith(" +0000") for time in times)
