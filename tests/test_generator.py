"""The benchmark's generator: deterministic, the mix of a real account, and well within its size and time."""

from __future__ import annotations

import csv
import io
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest

from benchmarks import rdflib_loop
from benchmarks.generate import HISTORY, Generator, Sizes, write
from benchmarks.run import Result, table

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 20_000


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return [row.line for row in Generator(Sizes.of(ROWS), 1).rows()]


@pytest.fixture(scope="module")
def rows(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(Sizes.of(300), 5, tmp_path / name, tmp_path / f"{name}.csv")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()
    write(Sizes.of(300), 6, tmp_path / "seed 6")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "seed 6").read_bytes()


def test_it_writes_as_many_rows_as_asked_for(lines: list[str]) -> None:
    assert len(lines) == ROWS
    assert 1_500 < sum(map(len, lines)) / ROWS < 2_500


def test_two_thousand_rows_take_less_than_five_seconds() -> None:
    started = time.monotonic()
    assert sum(1 for _ in Generator(Sizes.of(2_000), 1).rows()) == 2_000
    assert time.monotonic() - started < 5


def test_a_query_id_is_used_once_but_for_duplicates_and_swaps(rows: list[dict[str, Any]]) -> None:
    ids = Counter(row["query_id"] for row in rows)
    repeated = [[r for r in rows if r["query_id"] == query_id] for query_id, count in ids.items() if count > 1]
    assert repeated
    for several in repeated:
        swap = all("swapTargetId" in json.dumps(row["object_modified_by_ddl"]) for row in several)
        assert swap or all(row == several[0] for row in several)


def test_the_mix_is_that_of_a_working_account(rows: list[dict[str, Any]]) -> None:
    reads = sum(bool(row["direct_objects_accessed"]) and not row["objects_modified"] for row in rows)
    ddl = sum(bool(row["object_modified_by_ddl"]) and not row["direct_objects_accessed"] for row in rows)
    assert 0.55 < reads / ROWS < 0.75
    assert 0.03 < ddl / ROWS < 0.06


@pytest.mark.parametrize(
    "mark",
    [
        "Stage",
        "location",
        "policies",
        "policyBody",
        "swapTargetName",
        "UNDROP",
        "maskingPolicies",
        "rowAccessPolicies",
        "tagValue",
        "comment",
        "joinType",
        "PROCEDURE",
        "FUNCTION",
        "TRUNCATED",
        "agentName",
        "horizon_irc",
        "directSources",
    ],
)
def test_everything_that_an_account_does_occurs(mark: str, lines: list[str]) -> None:
    assert any(mark in line for line in lines)


def test_several_targets_and_children_occur(rows: list[dict[str, Any]]) -> None:
    assert any(len(row["objects_modified"]) > 1 for row in rows)
    known = {row["query_id"] for row in rows}
    children = [row for row in rows if row["parent_query_id"]]
    assert children
    assert all(row["root_query_id"] in known for row in children)
    assert any(row["parent_query_id"] != row["root_query_id"] for row in children)


def test_an_object_keeps_its_id_and_a_column_its_own(rows: list[dict[str, Any]]) -> None:
    columns: dict[int, set[tuple[int, str]]] = {}
    for row in rows:
        for element in row["direct_objects_accessed"] + row["base_objects_accessed"]:
            for column in element.get("columns", ()):
                columns.setdefault(column["columnId"], set()).add((element["objectId"], column["columnName"]))
    columns.pop(-1)
    assert all(len(owners) == 1 for owners in columns.values())


def test_job_shapes_grow_more_slowly_than_rows() -> None:
    assert Sizes.of(400_000).shapes < 3 * Sizes.of(100_000).shapes
    assert Sizes.of(100_000, tables=50, users=7, shapes=500) == Sizes(100_000, 50, 7, 500)


def test_few_shapes_give_few_sets_of_inputs_and_outputs() -> None:
    def ends(line: str) -> str:
        row = json.loads(line)
        return json.dumps(
            [[e.get("objectId") for e in row[n]] for n in ("direct_objects_accessed", "objects_modified")]
        )

    rows = Generator(Sizes.of(5_000, tables=200, shapes=100), 1).rows()
    assert len({ends(row.line) for row in rows}) <= 110


def test_every_query_has_a_line_of_query_history(tmp_path: Path) -> None:
    write(Sizes.of(2_000), 1, tmp_path / "rows", tmp_path / "queries.csv")
    ids = {json.loads(line)["query_id"] for line in (tmp_path / "rows").read_text().splitlines()}
    queries = list(csv.DictReader((tmp_path / "queries.csv").read_text().splitlines()))
    assert [name.lower() for name in queries[0]] == list(HISTORY)
    assert sorted(query["QUERY_ID"] for query in queries) == sorted(ids)
    assert all(query["START_TIME"] < query["END_TIME"] for query in queries)


@pytest.mark.parametrize("form", ["turtle", "nt"])
def test_the_baseline_writes_a_graph_that_others_read(form: str, lines: list[str]) -> None:
    out = io.BytesIO()
    rows, triples = rdflib_loop.run(lines[:200], out, form)
    read = list(pyoxigraph.parse(out.getvalue(), pyoxigraph.RdfFormat.TURTLE))
    kinds = {str(triple.object.value).rpartition("#")[2] for triple in read if "type" in triple.predicate.value}
    assert (rows, triples) == (200, len(read))
    assert {"Query", "User", "Version", "Access", "Column", "ColumnDerivation", "PolicyEnforcement", "Change"} <= kinds


def test_the_table_compares_with_the_loop_and_with_the_copy() -> None:
    results = [Result("copy", 100, 2.0, 1.0), Result("loop", 10, 1.0, 1.0), Result("export", 100, 4.0, None, "why")]
    export = table(results).splitlines()[-1]
    assert export == "| export | 100 | 4.0 | - | 25.0 | - | 2.5 / - | 2.0 / - | why |"
