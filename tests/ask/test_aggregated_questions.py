"""Every shipped question of histories in which some queries are rows of AGGREGATE_ACCESS_HISTORY, compared with a plain
reading: such calls are a query without an id, from the start to the end of their interval (docs/questions.md).
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections import defaultdict
from datetime import datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import movement
from exporter.ask.lookups import Lookups
from exporter.ask.parameters import bind
from exporter.ask.questions import ask, find, select
from exporter.graph.store import load
from exporter.input.reading import read_row
from exporter.input.row import Row as ReadRow
from tests.aggregates import COLUMNS, calls, thing
from tests.ask import dense_histories
from tests.ask.drawn import together
from tests.ask.drawn_parameters import ASKED_TOGETHER, PLANNED_LONG, found, given_of, values_of, whose
from tests.ask.plain_answers import ANSWERS, answers
from tests.ask.plain_history import History
from tests.ask.test_questions_random import TIMES
from tests.exports import export, ndjson
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyoxigraph import Store

    from tests.ask.drawn_parameters import Given
    from tests.ask.plain_asking import Row
    from tests.histories import Json

MORE: Final = os.environ.get("EXPORTER_TEST_SEEDS")
SEEDS: Final = range(int(MORE)) if MORE else (0, 5, 6, 9, 10, 11, 15, 18, 19, 20, 21, 22)
"""Those of the first 24 in which tags, policies and requests, which few histories have, are asked for and found."""
IN_A_GROUP: Final = 6
CALLS: Final = "calls-"


class Case:
    """A history of which some queries are told as calls. ``own``: the account in its rows."""

    def __init__(self, seed: int) -> None:
        rng = Random(seed)
        rows, lines = dense_histories.history(seed, 24)
        lines = lines if seed % 2 else []
        self.own = {"organization_name": "CALLED", "account_name": f"S{seed}"}
        numbers: dict[str, int] = defaultdict(int)
        for row in rows:
            numbers[row["query_id"]] += 1
        related = {row.get(name) for row in rows for name in ("parent_query_id", "root_query_id")}
        is_alone = {one for one, number in numbers.items() if number == 1 and one not in related}
        self.rows, self.calls = [], []
        self.plain: list[Json] = []
        self.ends = {line["query_id"]: line["end_time"] for line in lines}
        self.truncated: set[str] = set()
        self.numbers: dict[str, int] = {}
        for row in rows:
            is_called = row["query_id"] in is_alone and not row.get("parent_query_id") and rng.random() < 0.4
            whole = {**row, **self.own}
            if is_called:
                self._call(rng, whole)
            else:
                self.rows.append(whole)
                self.plain.append(whole)
        self.lines = [line for line in lines if line["query_id"] in {row["query_id"] for row in self.rows}]

    def _call(self, rng: Random, row: Json) -> None:
        start = datetime.fromisoformat(row["query_start_time"])
        end = start + timedelta(seconds=rng.choice((0, 1, 3, 60)))
        one = {
            "interval_start_time": start.isoformat(),
            "interval_end_time": end.isoformat(),
            "query_parameterized_hash": rng.choice((None, "h1", row["query_id"])),
            "calls": rng.choice((1, 2, 5)),
            **{name: row.get(name) for name in (*COLUMNS, *self.own)},
        }
        read = read_row(json.dumps(one), is_aggregate=True)
        assert isinstance(read, ReadRow)
        if read.query_id in self.numbers:  # the same calls again
            return
        self.calls.append(one)
        self.numbers[read.query_id] = one["calls"]
        self.plain.append({**row, "query_id": read.query_id})
        self.ends[read.query_id] = end.isoformat()

    @cached_property
    def history(self) -> History:
        return History(self.plain, self.ends, self.truncated)

    @cached_property
    def values(self) -> dict[str, list[str]]:
        return values_of(self.history)

    @cached_property
    def one_by_one(self) -> History:
        """The same history in which each call is a query of its own."""
        rows, ends = [], dict(self.ends)
        for row in self.plain:
            for number in range(self.numbers.get(row["query_id"], 1)):
                query_id = f"{row['query_id']}{f'-{number}' if number else ''}"
                rows.append({**row, "query_id": query_id})
                if row["query_id"] in ends:
                    ends[query_id] = ends[row["query_id"]]
        return History(rows, ends, self.truncated)


@cache
def cases() -> dict[int, Case]:
    return {seed: Case(seed) for seed in SEEDS}


@cache
def store_of(seed: int) -> Store:
    """The graph of a case, from an export of its own: files outside of Snowflake belong to no account."""
    case, folder = cases()[seed], Path(tempfile.mkdtemp(prefix="exporter-called-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    given = ["--query-history", str(ndjson(case.lines, folder / "lines.ndjson"))] if case.lines else []
    if case.calls:
        given += ["--aggregate", str(ndjson(case.calls, folder / "calls.ndjson"))]
    rows = ndjson(case.rows, folder / "rows.ndjson")
    assert export([rows], folder / "out", *given, "--outputs", "graph") == 0
    return load(folder / "out")


@cache
def store_of_several(seeds: tuple[int, ...]) -> Store:
    return together(map(store_of, seeds))


def told(question: str, store: Store, given: dict[str, list[str]], *, accounts: int = 1) -> set[Row]:
    """Rows look alike only where calls have no id, and in a graph of several accounts."""
    asked = found(question)
    if question == movement.QUESTION:
        return {tuple(row) for row in movement.rows(Lookups(store), asked, given, limit=10**6)[0]}
    answer = select(store, bind(asked.query, asked.parameters, given), question)
    rows = [tuple(map(_typed, answer.columns, row)) for row in answer.rows]
    alike = len(rows) - len(set(rows))
    is_of_calls = question == "when-accessed" and all(row[0] is None for row in rows if rows.count(row) > 1)
    assert not alike or is_of_calls or accounts > 1
    return set(rows)


def _typed(column: str, cell: str | None) -> Any:
    return plain.time(cell) if column in TIMES and cell else cell


def expected(question: str, seed: int, given: dict[str, list[str]]) -> set[Row]:
    case = cases()[seed]
    if find(question).aggregated_queries == "counted":
        return answers(question, case.one_by_one, given)
    rows = answers(question, case.history, given)
    if find(question).aggregated_queries == "left out":
        return {row for row in rows if not any(_is_of_calls(cell) for cell in row)}
    hidden = {tuple(None if _is_of_calls(cell) else cell for cell in row) for row in rows}
    return _together(hidden) if question == "user-history" else hidden


def _is_of_calls(cell: Any) -> bool:
    return isinstance(cell, str) and cell.startswith(CALLS)


def _together(rows: set[Row]) -> set[Row]:
    """Calls of one user in intervals that begin together are one row, with the objects of all."""
    merged: dict[Row, list[set[str]]] = {}
    for *key, direct, base in rows:
        lists = merged.setdefault(tuple(key), [set(), set()])
        for objects, named in zip(lists, (direct, base), strict=True):
            objects.update(one for one in named.split(", ") if one)
    return {(*key, *(", ".join(sorted(one)) for one in lists)) for key, lists in merged.items()}


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_has_the_answer_of_a_plain_reading(question: str) -> None:
    """What is planned long is asked of several accounts at once."""
    full, is_together = 0, question in ASKED_TOGETHER
    number = max(1, len(SEEDS) // IN_A_GROUP) if is_together else len(SEEDS)
    for seeds in (SEEDS[at::number] for at in range(number)):
        store = store_of_several(tuple(seeds))
        for given in parameters(question, whose(question, seeds)):
            answer, each = (
                told(question, store, given, accounts=len(seeds)),
                [expected(question, seed, given) for seed in seeds],
            )
            wanted = set().union(*each)
            words = f"{question} {given} of {[*seeds]}"
            assert sorted(answer - wanted, key=str) == [], f"too much: {words}"
            assert sorted(wanted - answer, key=str) == [], f"missing: {words}"
            full += sum(map(bool, each))
    assert full >= (0 if question in {"exposure", "agent-reads"} else 5), "hardly any history has an answer"


def parameters(question: str, seeds: Sequence[int]) -> list[Given]:
    asked = 1 if len(seeds) > 1 or question in PLANNED_LONG else 3
    every: list[Given] = []
    for seed in seeds:
        drawn = given_of(question, f"called-{seed}", cases()[seed].values, asked)
        every += (given for given in drawn if given not in every)
    return every


# --- notes ------------------------------------------------------------------------------------------------------------

ORDERS: Final = thing(1, "SHOP.PUBLIC.ORDERS", "ID", domain="Hybrid table")
PLAIN: Final = thing(2, "SHOP.PUBLIC.ITEMS", "ID")
MISSING: Final = "short queries on hybrid tables are not on record here"


def graph_of(folder: Path, rows: list[Json], aggregates: list[Json], *options: str) -> Store:
    more = ["--aggregate", str(ndjson(aggregates, folder / "calls.ndjson"))] if aggregates else []
    assert export([ndjson(rows, folder / "rows.ndjson")] if rows else [], folder / "out", *more, *options) == 0
    return load(folder / "out")


def notes(store: Store, question: str, **given: str) -> str:
    return "\n".join(ask(store, find(question), given).notes)


def row(query_id: str, *read: Json) -> Json:
    start = "2026-09-01T08:00:00Z"
    both = {name: list(read) for name in ("direct_objects_accessed", "base_objects_accessed")}
    return {"query_id": query_id, "query_start_time": start, "user_name": "ANN", **both}


def test_without_such_rows_an_answer_about_a_hybrid_table_says_what_it_lacks(tmp_path: Path) -> None:
    store = graph_of(tmp_path, [row("q", ORDERS, PLAIN)], [])
    for by in ({"object_name": "SHOP.PUBLIC.ORDERS"}, {"object_id": "1"}):
        assert MISSING in notes(store, "who-accessed", **by)
    assert MISSING not in notes(store, "who-accessed", object_name="SHOP.PUBLIC.ITEMS")
    assert "SHOP.PUBLIC.ORDERS is a hybrid table" in notes(store, "user-history")
    assert MISSING not in notes(store, "former-names", object_name="SHOP.PUBLIC.ORDERS")


def test_without_a_hybrid_table_there_is_no_such_note(tmp_path: Path) -> None:
    store = graph_of(tmp_path, [row("q", PLAIN)], [])
    assert "hybrid" not in notes(store, "user-history") + notes(store, "unused-objects", since="2026-01-01")


def test_by_day_nobody_can_tell_whether_they_are_there(tmp_path: Path) -> None:
    store = graph_of(tmp_path, [row("q", ORDERS)], [], "--reads", "daily")
    assert "only in this answer if rows of AGGREGATE_ACCESS_HISTORY" in notes(store, "user-history")


def test_with_such_rows_an_answer_says_how_they_are_in_it(tmp_path: Path) -> None:
    store = graph_of(tmp_path, [row("q", ORDERS)], [calls("2026-09-01T08:00", "APP", "h", 9, [ORDERS])])
    assert "without query_id" in notes(store, "when-accessed", object_name="SHOP.PUBLIC.ORDERS")
    assert "leaves them out" in notes(store, "ancestors")
    assert "All their calls count" in notes(store, "column-readers", object_name="SHOP.PUBLIC.ORDERS", column_name="ID")
    assert MISSING not in notes(store, "who-accessed", object_name="SHOP.PUBLIC.ORDERS")


def test_the_calls_of_two_users_in_one_minute_are_two_reads(tmp_path: Path) -> None:
    """The documents' query has a row for each."""
    told = [calls("2026-09-01T08:00", user, "h", 9, [ORDERS]) for user in ("ANN", "BEN")]
    store = graph_of(tmp_path, [row("q", ORDERS)], told)
    answer = ask(store, find("when-accessed"), {"object_name": "SHOP.PUBLIC.ORDERS"})
    assert sorted(row[0] or "" for row in answer.rows) == ["", "", "q"]
