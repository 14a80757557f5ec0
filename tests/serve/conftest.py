from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.graph.ask import disk
from exporter.graph.ask.pool import Pool
from exporter.serve.app import OWN_QUESTIONS
from tests.graph.shape_graphs import VALID

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def small_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Over the store of the small company."""
    graph: Path = tmp_path_factory.mktemp("small") / "small.ttl"
    graph.write_text(VALID.read_text("utf-8"), "utf-8")
    with disk.kept(graph, lambda _: None) as store:
        pool = Pool(store, OWN_QUESTIONS, 2, 5.0)
        yield pool
        pool.close()
