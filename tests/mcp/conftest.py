from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp import session
from tests.mcp.asked import Asked, asked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def month_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the export of the README leaves of the example."""
    out: Path = tmp_path_factory.mktemp("month") / "company-month"
    session.export(out)
    return out


@pytest.fixture(scope="session")
def month(month_graph: Path) -> Iterator[Asked]:
    with asked(month_graph) as server:
        yield server
