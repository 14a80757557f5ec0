from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from exporter.ask import stores
from exporter.ask.pool import Pool
from exporter.serve import forms, objects, overview, queries, server
from exporter.serve.site import PAGE_QUESTIONS, Site
from tests import exports, golden
from tests.graph.shape_graphs import VALID
from tests.hostile import payloads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flask.testing import FlaskClient

MONTH = golden.EXAMPLES / "company-month"
LONG: Final = 120.0
"""Seconds for an answer: more than any takes on a busy machine."""


@pytest.fixture(autouse=True)
def _pages_have_all_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page shows what it has after a second or two, which depends on the machine."""
    for module in (forms, objects, overview, queries):
        monkeypatch.setattr(module, "_WAIT", LONG)
    monkeypatch.setattr(overview, "_WAIT_FOR_ONE", LONG)


@contextmanager
def sited(graph: Path, seconds: float = LONG, sensitive_tags: tuple[str, ...] = ()) -> Iterator[Site]:
    """The pages of a graph, over its store; ``seconds``: the time for each answer."""
    with stores.opened_store(graph, lambda _: None) as store:
        pool = Pool(store, PAGE_QUESTIONS, 2, seconds)
        try:
            yield Site(graph, pool, pool, sensitive_tags=sensitive_tags)
        finally:
            pool.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The small company."""
    graph: Path = tmp_path_factory.mktemp("small") / "small.ttl"
    graph.write_bytes(VALID.read_bytes())
    with sited(graph) as site:
        yield site


@pytest.fixture(scope="session")
def month_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an export of the example leaves."""
    out: Path = tmp_path_factory.mktemp("month") / "company-month"
    history = str(MONTH / "query_history.csv")
    options = ("--query-history", history, "--outputs", "graph")
    assert exports.export([MONTH / "access_history.ndjson"], out, *options) == 0
    return out


@pytest.fixture(scope="module")
def month(month_graph: Path) -> Iterator[Site]:
    with sited(month_graph) as site:
        yield site


@pytest.fixture(scope="session")
def hostile_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of rows whose names are made to break out of pages."""
    folder = tmp_path_factory.mktemp("hostile")
    source = exports.ndjson(payloads.rows(), folder / "rows.ndjson")
    assert exports.export([source], folder / "out", "--outputs", "graph") == 0
    return folder / "out"


@contextmanager
def pages_of(rows: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[FlaskClient]:
    """The pages of an export of these rows. Query ``qN`` starts at minute N, by ETL if the row names no user."""
    timed = [
        {"user_name": "ETL", **row, "query_id": f"q{minute}", "query_start_time": f"2026-01-01 06:{minute:02}:00 Z"}
        for minute, row in enumerate(rows, 1)
    ]
    assert exports.export([exports.ndjson(timed, folder / "rows.ndjson")], folder / "out") == 0
    with sited(folder / "out") as site:
        yield server.make(site, "127.0.0.1").test_client()
