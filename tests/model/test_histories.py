"""The random histories of other tests are reproducible, contain the difficult cases, and are equal in every format."""

from __future__ import annotations

import csv
import gzip
import io
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given

from tests.histories import BAD_NESTED_ROWS, BAD_ROWS, FORMS, Json, histories, random_history, write_form

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [row for seed in range(10) for row in random_history(seed, 20)]


def test_a_seed_gives_one_history() -> None:
    assert random_history(7, 30) == random_history(7, 30)
    assert random_history(7, 30) != random_history(8, 30)


@given(histories())
def test_every_row_says_which_query_when_and_who(rows: list[Json]) -> None:
    for row in rows:
        assert row["query_id"]
        assert row["query_start_time"]
        assert row["user_name"]
        for name in ("direct_objects_accessed", "base_objects_accessed", "objects_modified", "policies_referenced"):
            assert row[name] is None or all(isinstance(element, dict) for element in row[name])


@pytest.mark.parametrize(
    "mark",
    [
        '"objectId": 0,',
        '"objectId": -1,',
        '"objectId": 329984114',
        '"columns": "TRUNCATED"',
        '"objectDomain": "TRUNCATED"',
        "swapTargetName",
        "policyBody",
        "rowAccessPolicies",
        "allowedValues",
        "irc_event_type",
        "agentName",
        '"joinObject":',
        '"node":',
        "directSourceColumns",
        "directSources",
        '"locations":',
        '"location":',
        '"DROP"',
        '"UNDROP"',
        "L" * 300,
    ],
)
def test_the_difficult_cases_occur(mark: str) -> None:
    assert mark in _many()


@cache
def _many() -> str:
    return json.dumps([random_history(seed, 20) for seed in range(60)])


def test_duplicates_and_swaps_occur() -> None:
    lines = [json.dumps(row) for row in ROWS]
    swapped = [row["query_id"] for row in ROWS if "swapTargetName" in json.dumps(row)]
    assert len(set(lines)) < len(lines)
    assert len(set(swapped)) < len(swapped)


def _plain(value: Any) -> Any:
    """Without nulls, ids as text: what all forms have in common."""
    if isinstance(value, dict):
        kept = {name: _plain(element) for name, element in value.items() if element is not None}
        return {
            name: str(v) if name in ("objectId", "columnId", "policyId", "agentId") else v for name, v in kept.items()
        }
    return [_plain(element) for element in value] if isinstance(value, list) else value


def _untext(name: str, value: Any) -> Any:
    name = name.lower()
    if isinstance(value, str) and (name.endswith(("accessed", "modified", "by_ddl", "referenced", "info", "year"))):
        return _untext(name, json.loads(value))
    if isinstance(value, list):  # as after a cast TO_ARRAY: each element is JSON text
        return [json.loads(one) if isinstance(one, str | bytes) else one for one in value]
    return json.loads(value) if isinstance(value, str) and name == "additional_properties" else value


def _read(path: Path) -> list[Json]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    text = (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode("utf-8-sig")
    if ".csv" in path.name:
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        return [{name: None if value == "\\N" else value for name, value in row.items()} for row in rows]
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.split("\n") if line]


def _lowered(row: Json) -> Json:
    plain = {name.lower(): _untext(name, value) for name, value in row.items()}
    ddl = plain.get("object_modified_by_ddl")
    if ddl and isinstance(ddl.get("properties"), str):
        plain["object_modified_by_ddl"] = {**ddl, "properties": json.loads(ddl["properties"])}
    return dict(_plain(plain))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same_rows(form: str, tmp_path: Path) -> None:
    path = write_form(ROWS, tmp_path, form)
    assert [_lowered(row) for row in _read(path)] == [_lowered(row) for row in ROWS]


def test_bad_rows_are_single_lines_with_expected_words() -> None:
    assert all("\n" not in line and words for line, words in BAD_ROWS + BAD_NESTED_ROWS)
