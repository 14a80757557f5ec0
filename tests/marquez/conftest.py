from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.marquez import standin
from tests.marquez.api import Marquez

if TYPE_CHECKING:
    from collections.abc import Iterator

BACKENDS = ("stand-in", "Marquez")


@pytest.fixture(scope="module", params=BACKENDS)
def marquez(request: pytest.FixtureRequest) -> Iterator[Marquez]:
    """The stand-in, and the real one that MARQUEZ_URL names, one to throw away: the tests leave namespaces in it
    that it cannot list.
    """
    if request.param == "stand-in":
        with standin.started() as server:
            yield Marquez(server.url)
    elif url := os.environ.get("MARQUEZ_URL"):
        yield Marquez(url.rstrip("/"))
    else:
        pytest.skip("MARQUEZ_URL names no Marquez: only the stand-in was asked")
