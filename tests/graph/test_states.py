"""``prov:used``: the version that each query read of each object, compared with a second reading of the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from pyoxigraph import NamedNode

from exporter.graph.store import load
from exporter.graph.terms import full
from tests import exports, golden
from tests.ask import drawn
from tests.ask.plain_history import History
from tests.facts import plain_reading as plain
from tests.histories import random_history

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tests.ask.plain_history import State

SEEDS: Final = range(1000, 1060)
USED: Final = NamedNode(full("prov:used"))
Pair = tuple[str, str]


def states_used(rows: list[plain.Json], ends: dict[str, str], base: str) -> Iterator[Pair]:
    """The IRIs of each query and of each version that it met."""
    history = History(rows, ends)
    first = first_queries(history)
    for query in history.queries.values():
        for state in query.data.values():
            yield f"{base}query/{plain.segment(query.query_id)}", f"{base}{path_of(state, first)}"


def first_queries(history: History) -> dict[str, str]:
    """By object, the first query on record that speaks of it."""
    found: dict[str, tuple[datetime, str]] = {}
    for row in history.rows:
        query = history.queries[row["query_id"]]
        for key, _ in history.names.named(row):
            found[key] = min(found.get(key, (query.start, query.query_id)), (query.start, query.query_id))
    return {key: query_id for key, (_, query_id) in found.items()}


def path_of(state: State, first: dict[str, str]) -> str:
    if state.query_id is None:
        return f"{state.key}/before/{plain.segment(first[state.key])}"
    return f"{state.key}/{'version-after-drop' if state.dropped else 'version'}/{plain.segment(state.query_id)}"


@pytest.fixture(scope="module")
def accounts() -> dict[str, list[plain.Json]]:
    """The examples and random histories, each as an account of its own."""
    told = {folder.name: golden.rows(folder) for folder in golden.folders()}
    told |= {f"random-{seed}": random_history(seed, 15) for seed in SEEDS}
    return {
        name: [{**row, "organization_name": "TEST", "account_name": name} for row in rows]
        for name, rows in told.items()
    }


@pytest.fixture(scope="module")
def used(accounts: dict[str, list[plain.Json]], tmp_path_factory: pytest.TempPathFactory) -> set[Pair]:
    folder = tmp_path_factory.mktemp("states")
    given = exports.ndjson([row for rows in accounts.values() for row in rows], folder / "rows.ndjson")
    assert exports.export([given], folder / "out", "--outputs", "graph") == 0
    quads = load(folder / "out").quads_for_pattern(None, USED, None)
    return {(quad.subject.value, quad.object.value) for quad in quads}  # type: ignore[union-attr]  # pyoxigraph types results and terms wider


def test_a_query_reads_the_last_version_before_it(accounts: dict[str, list[plain.Json]], used: set[Pair]) -> None:
    expected = {pair for name, rows in accounts.items() for pair in states_used(rows, {}, f"snowflake://TEST-{name}/")}
    assert len(expected) > 1000
    assert sorted(used - expected) == []
    assert sorted(expected - used) == []


def test_the_names_are_those_of_the_cases() -> None:
    assert tuple(drawn.named()) == drawn.NAMES


@pytest.mark.parametrize("name", drawn.NAMES)
def test_a_version_begins_at_the_end_of_its_query(name: str) -> None:
    """Where QUERY_HISTORY tells of it; else from its start."""
    case, found = drawn.named()[name], drawn.store(name).quads_for_pattern(None, USED, None)
    assert {(quad.subject.value, quad.object.value) for quad in found} == {  # type: ignore[union-attr]  # pyoxigraph types results and terms wider
        *states_used(case.rows, case.ends, case.base)
    }
