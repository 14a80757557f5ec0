from __future__ import annotations

import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.fetch import snow

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server() -> Iterator[snow.Snow]:
    """A fake Snowflake for all tests of a run."""
    with ExitStack() as stack:
        with warnings.catch_warnings():  # what fakesnow's own libraries warn of is not this project's
            warnings.simplefilter("ignore")
            started = stack.enter_context(snow.started())
        yield started


@pytest.fixture
def snowflake(server: snow.Snow, monkeypatch: pytest.MonkeyPatch) -> snow.Snow:
    """The fake Snowflake with both views, empty, and a connection ``lineage`` to it."""
    server.connections(monkeypatch)
    return snow.remade(server)
