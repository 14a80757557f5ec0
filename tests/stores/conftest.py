from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests import exports
from tests.stores import servers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stores.endpoint import Endpoint


@pytest.fixture(scope="session")
def fuseki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with servers.fuseki(tmp_path_factory.mktemp("fuseki")) as started:
        yield started


@pytest.fixture(scope="session")
def oxigraph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    with servers.oxigraph(tmp_path_factory.mktemp("oxigraph")) as started:
        yield started


@pytest.fixture(params=["oxigraph", pytest.param("fuseki", marks=pytest.mark.jvm)])
def store(request: pytest.FixtureRequest) -> Endpoint:
    """Each store, empty."""
    started: Endpoint = request.getfixturevalue(request.param)
    started.change("DROP ALL")
    return started


@pytest.fixture(scope="session")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """What is there after one update, and after two: rows of the corpus, with hard names and long texts."""
    folder, rows = tmp_path_factory.mktemp("grown"), exports.all_rows()
    for at in range(2):
        given = exports.ndjson(rows[at::8], folder / f"{at}.ndjson")
        assert exports.export([given], folder / "out", "--update", "--outputs", "graph") == 0
        shutil.copytree(folder / "out", folder / f"after-{at}")
    return folder / "after-0", folder / "after-1"
