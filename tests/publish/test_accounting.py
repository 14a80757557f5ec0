"""The program checks its own counts: an export whose counts do not add up is not published."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from exporter.engines import export as pipeline
from exporter.errors import ExporterError
from exporter.publish.report import Report, check_row_counts, summarise
from exporter.settings import Settings
from exporter.system.progress import Progress
from tests import exports
from tests.input.bad_rows import GOOD

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
    check_row_counts(RIGHT)


@pytest.mark.parametrize("part", ["rows_in", "exported", "duplicates", "quarantined"])
@pytest.mark.parametrize("by", [-1, 1])
def test_one_row_too_many_or_too_few_is_reported_with_all_numbers(part: str, by: int) -> None:
    wrong = replace(RIGHT, **{part: getattr(RIGHT, part) + by})
    with pytest.raises(ExporterError, match="nothing was written") as told:
        check_row_counts(wrong)
    for number in (wrong.rows_in, wrong.exported, wrong.duplicates, wrong.quarantined):
        assert str(number) in str(told.value)


def test_an_export_whose_account_does_not_add_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "summarise", lambda *given: replace(summarise(*given), duplicates=1))
    rows = exports.ndjson(list(exports.all_rows())[:3], tmp_path / "rows.ndjson")
    with pytest.raises(ExporterError, match="please report this"):
        pipeline.export(Settings((str(rows),), str(tmp_path / "out"), engine="local"), Progress())
    assert [path.name for path in tmp_path.iterdir()] == ["rows.ndjson"]


def test_the_period_is_that_of_dir(tmp_path: Path) -> None:
    """Also where an update makes some of its days alone, or none."""

    def period(days: list[int], *options: str) -> dict[str, str]:
        rows = [{**GOOD, "query_id": f"q{day}", "query_start_time": f"2026-03-{day:02} 08:00:00.5 Z"} for day in days]
        given = [exports.ndjson(rows, tmp_path / "rows.ndjson")] if rows else []
        assert exports.export(given, tmp_path / "out", *options) == 0
        report = exports.report(tmp_path / "out")
        assert datetime.fromisoformat(report["at"]).tzinfo is not None
        return {
            name: time.removeprefix("2026-03-").removesuffix("T08:00:00.5Z") for name, time in report["period"].items()
        }

    assert period([4, 2]) == {"first": "02", "last": "04"}
    assert period([4, 2], "--update", "--replace") == {"first": "02", "last": "04"}
    assert period([7], "--update") == {"first": "02", "last": "07"}
    assert period([7], "--update") == {"first": "02", "last": "07"}
    assert period([1], "--update") == {"first": "01", "last": "07"}
    assert period([5], "--update") == {"first": "01", "last": "07"}
    assert period([], "--update", "--forget-before", "2026-03-04") == {"first": "04", "last": "07"}


def test_an_export_of_nothing_has_no_period(tmp_path: Path) -> None:
    rows = exports.ndjson([{"query_id": "bad"}], tmp_path / "rows.ndjson")
    assert exports.export([rows], tmp_path / "out", "--allow-empty") == 0
    assert exports.report(tmp_path / "out")["period"] is None
