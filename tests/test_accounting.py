"""The program holds itself to its account: what does not add up is not published."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from exporter import pipeline
from exporter.accounting import Report, check
from exporter.errors import ExporterError
from exporter.progress import Progress
from exporter.settings import Settings
from tests import exports

if TYPE_CHECKING:
    from pathlib import Path

RIGHT = Report(
    **dict(zip(("rows_in", "exported", "duplicates", "quarantined"), (10, 6, 3, 1), strict=True)),
    **dict.fromkeys(("truncated", "queries", "events", "nodes", "nodes_checked"), 0),
    violations={},
    warnings={},
    seconds={},
    account="A",
    out="out",
    at="2026-11-22T08:00:00+00:00",
    period=None,
)


def test_an_account_that_adds_up_is_taken() -> None:
    check(RIGHT)


@pytest.mark.parametrize("part", ["rows_in", "exported", "duplicates", "quarantined"])
@pytest.mark.parametrize("by", [-1, 1])
def test_one_row_too_many_or_too_few_is_told_with_all_numbers(part: str, by: int) -> None:
    wrong = replace(RIGHT, **{part: getattr(RIGHT, part) + by})
    with pytest.raises(ExporterError, match="nothing was written") as told:
        check(wrong)
    for number in (wrong.rows_in, wrong.exported, wrong.duplicates, wrong.quarantined):
        assert str(number) in str(told.value)


def test_an_export_whose_account_does_not_add_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = pipeline.summarise
    monkeypatch.setattr(pipeline, "summarise", lambda *given: replace(true(*given), duplicates=1))
    rows = exports.ndjson(list(exports.all_rows())[:3], tmp_path / "rows.ndjson")
    with pytest.raises(ExporterError, match="please report this"):
        pipeline.export(Settings((str(rows),), str(tmp_path / "out"), engine="local"), Progress())
    assert [path.name for path in tmp_path.iterdir()] == ["rows.ndjson"]
