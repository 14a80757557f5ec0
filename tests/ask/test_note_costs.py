"""What an answer and its notes ask of a graph grows with the graph, and not with its square.

Counted is what the program itself looks up. What the engine does within a query is not seen here: ``python -m
benchmarks.questions --rebuilds`` times it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from benchmarks import questions as benchmark
from benchmarks import rebuilds
from exporter.ask.questions import ask, find
from exporter.graph.store import load
from tests.exports import export

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyoxigraph import Store

ROWS: Final = 600
"""Of the smaller graph: of 27 nights of two tables."""
MOST: Final = 2.5
_FEW: Final = 2_000
"""Look-ups that are not worth comparing."""


class _Counting:
    """A store that counts the triples and solutions that it is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.count = 0

    def quads_for_pattern(self, *terms: Any) -> Iterator[Any]:
        self.count += 1
        for quad in self._store.quads_for_pattern(*terms):
            self.count += 1
            yield quad

    def query(self, text: str) -> Any:
        self.count += 1
        return self._store.query(text)


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> list[Store]:
    """Of so many nights, and of twice as many."""
    return [_graph(tmp_path_factory.mktemp(f"of-{rows}"), rows) for rows in (ROWS, 2 * ROWS)]


def _graph(folder: Path, rows: int) -> Store:
    rebuilds.write(rows, folder / "rows.ndjson", tables=2)
    assert export([folder / "rows.ndjson"], folder / "out", "--outputs", "graph") == 0
    return load(folder / "out")


def test_look_ups_grow_with_the_graph(graphs: list[Store]) -> None:
    small, large = map(_look_ups, graphs)
    assert {name for name in small if small[name] > 0} == set(small)
    assert [
        f"{name}: {small[name]:,} look-ups, and of twice the rows {large[name]:,}"
        for name in small
        if large[name] > _FEW and large[name] > MOST * small[name]
    ] == []


def _look_ups(store: Store) -> dict[str, int]:
    """By question and the names of what it is asked with."""
    found = dict[str, int]()
    for name, given in benchmark.asked(store):
        counting = _Counting(store)
        ask(cast("Store", counting), find(name), given)
        found[f"{name} ({', '.join(given)})"] = counting.count
    return found
