"""The session is sized for all of its input: the rows and the query history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exporter.engine import session
from exporter.errors import UsageError
from exporter.pipeline import export
from exporter.progress import Progress
from exporter.rows import inputs
from exporter.rows.inputs import Inputs
from exporter.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("found", "size"),
    [((5, 7), 12), ((5, "none"), 5), ((5, None), None), ((None, 7), None), ((0, 0), 0)],
)
def test_sizes_add_up_where_they_are_known(found: tuple[int | str | None, ...], size: int | None) -> None:
    each = [None if one == "none" else Inputs((), (), one if isinstance(one, int) else None) for one in found]
    assert inputs.size(*each) == size


def test_a_query_history_counts_like_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries = tmp_path / "rows.ndjson", tmp_path / "history.ndjson"
    rows.write_text('{"query_id": "a"}\n')
    queries.write_text('{"query_id": "a"}\n' * 100)

    def started(size: int | None) -> None:
        raise UsageError(f"{size} bytes")

    monkeypatch.setattr(session, "start", started)
    with pytest.raises(UsageError, match=f"^{18 * 101} bytes$"):
        export(Settings((str(rows),), str(tmp_path / "out"), query_history=str(queries)), Progress())
