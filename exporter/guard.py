"""An export that says nothing, or much less than the one that it would replace, is a mistake more often than not: it is
published only where somebody asks for that.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.accounting import Report
    from exporter.publication import Publication
    from exporter.settings import Settings

_SHARE: Final = 2
"""An export of under one in so many of the old one's rows asks for --force."""
_REASONS: Final = 3
"""Reasons that a refusal tells, the commonest first."""


def check(settings: Settings, report: Report, new: Publication, came: str) -> None:
    """Raise UsageError where the export is not to be published. ``came``: what was read, for people."""
    if report.rows_in == 0 and report.filtered is not None and not settings.allow_empty:
        left_out = sum(report.filtered["rows"].values())
        raise UsageError(
            f"the filters leave out all {left_out:,} rows of {came}; {_unchanged(settings)}. Give --allow-empty where "
            "that is as it should be"
        )
    history = report.query_history
    if history and history["rows_in"] and history["unusable"] == history["rows_in"]:
        raise UsageError(
            f"none of the {history['rows_in']:,} rows of {settings.query_history} is of QUERY_HISTORY; "
            f"{_unchanged(settings)}. Give those of the view QUERY_HISTORY, or leave --query-history out"
        )
    if not settings.inputs:  # rows are taken out, and none were to come
        return
    if report.rows_in == 0 and not settings.allow_empty:
        raise UsageError(
            f"there are no rows in {came}; {_unchanged(settings)}. Give --allow-empty where that is as it should be"
        )
    # An update of rows that are all known says what it should: that there is nothing new.
    told = report.exported + (report.duplicates if settings.update else 0)
    if not told and not settings.allow_empty:
        raise UsageError(
            f"none of the {report.rows_in:,} rows can be exported; {_unchanged(settings)}. {_reasons(new)}"
            "Give --allow-empty to publish all the same, with what was quarantined"
        )
    if not settings.force:
        _check_size(settings, report, new)


def _check_size(settings: Settings, report: Report, new: Publication) -> None:
    if settings.min_rows is not None:
        if report.exported < settings.min_rows:
            raise UsageError(
                f"{report.exported:,} rows were exported, and --min-rows asks for {settings.min_rows:,}; "
                f"{_unchanged(settings)}. Give --force to publish all the same"
            )
    elif settings.replace and report.exported:  # without a row it is published on demand alone: see above
        before = _before(new)
        if report.exported * _SHARE < before:
            raise UsageError(
                f"{report.exported:,} rows were exported, under half of the {before:,} in {settings.out}; "
                f"{_unchanged(settings)}. Give --force to replace it all the same, or --min-rows N for another limit"
            )


def _unchanged(settings: Settings) -> str:
    return f"{settings.out} is as it was"


def _before(new: Publication) -> int:
    """The rows that the DIR before has, of all its runs; 0 where it does not say."""
    runs = _json(new.text_before("log.json"))
    report = _json(new.text_before("report.json"))
    told = runs if isinstance(runs, list) else [report]
    counts = [one.get("exported") for one in told if isinstance(one, dict)]
    return sum(count for count in counts if isinstance(count, int))


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _reasons(new: Publication) -> str:
    """Why rows were quarantined, the commonest reasons first, with the place of one row each; no value of a row."""
    counts, places = Counter[str](), dict[str, str]()
    for one in _set_aside(new):
        # What follows a colon is what the row had.
        reason = str(one.get("reason")).partition(": ")[0]
        counts[reason] += 1
        unit = "line" if "line" in one else "row"
        places.setdefault(reason, f"{one.get('file')}, {unit} {one.get(unit)}")
    told = [f"{reason} ({places[reason]})" for reason, _ in counts.most_common(_REASONS)]
    return f"The commonest reasons: {'; '.join(told)}. " if told else ""


def _set_aside(new: Publication) -> Iterator[dict[str, Any]]:
    """The first of what was quarantined."""
    for line in new.beginning("quarantine").splitlines():
        told = _json(line)  # the last line may be cut
        if isinstance(told, dict):
            yield told
