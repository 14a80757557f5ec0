"""Refuse to publish an export without rows, or with far fewer rows than the one that it would replace. This is usually
a mistake; options allow it.
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
"""An export with fewer rows than the old one divided by this needs --force."""
_REASONS: Final = 3
"""Most reasons in a message, the most frequent first."""


def check(settings: Settings, report: Report, new: Publication, came: str) -> None:
    """Raise UsageError if the export must not be published. ``came``: the input, for messages."""
    if report.rows_in == 0 and report.filtered is not None and not settings.allow_empty:
        left_out = sum(report.filtered["rows"].values())
        raise UsageError(
            f"the filters leave out all {left_out:,} rows of {came}; {_unchanged(settings)}. Give --allow-empty if "
            "this is intended"
        )
    history = report.query_history
    if history and history["rows_in"] and history["unusable"] == history["rows_in"]:
        raise UsageError(
            f"none of the {history['rows_in']:,} rows of {settings.query_history} is a row of QUERY_HISTORY; "
            f"{_unchanged(settings)}. Give rows of the view QUERY_HISTORY, or leave out --query-history"
        )
    if not settings.inputs and not settings.aggregate:  # rows are only removed, so no rows are expected
        return
    if report.rows_in == 0 and not settings.allow_empty:
        raise UsageError(f"there are no rows in {came}; {_unchanged(settings)}. Give --allow-empty if this is intended")
    # An update in which all rows are known already is not a mistake: there is nothing new.
    told = report.exported + (report.duplicates if settings.update else 0)
    if not told and not settings.allow_empty:
        raise UsageError(
            f"none of the {report.rows_in:,} rows can be exported; {_unchanged(settings)}. {_reasons(new)}"
            "Give --allow-empty to publish anyway, with the quarantined rows"
        )
    if not settings.force:
        _check_size(settings, report, new)


def _check_size(settings: Settings, report: Report, new: Publication) -> None:
    if settings.min_rows is not None:
        if report.exported < settings.min_rows:
            raise UsageError(
                f"{report.exported:,} rows were exported, but --min-rows requires {settings.min_rows:,}; "
                f"{_unchanged(settings)}. Give --force to publish anyway"
            )
    elif settings.replace and report.exported:  # an export without rows was allowed above
        before = _before(new)
        if report.exported * _SHARE < before:
            raise UsageError(
                f"{report.exported:,} rows were exported, fewer than half of the {before:,} in {settings.out}; "
                f"{_unchanged(settings)}. Give --force to replace it anyway, or --min-rows N for another limit"
            )


def _unchanged(settings: Settings) -> str:
    return f"{settings.out} is unchanged"


def _before(new: Publication) -> int:
    """The exported rows of all runs of the old DIR; 0 if it does not say."""
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
    """The most frequent reasons why rows were quarantined, each with the place of one row, without values of rows."""
    counts, places = Counter[str](), dict[str, str]()
    for one in _set_aside(new):
        # The text after a colon is quoted from the row.
        reason = str(one.get("reason")).partition(": ")[0]
        counts[reason] += 1
        unit = "line" if "line" in one else "row"
        places.setdefault(reason, f"{one.get('file')}, {unit} {one.get(unit)}")
    told = [f"{reason} ({places[reason]})" for reason, _ in counts.most_common(_REASONS)]
    return f"The most frequent reasons: {'; '.join(told)}. " if told else ""


def _set_aside(new: Publication) -> Iterator[dict[str, Any]]:
    """The first quarantined rows."""
    for line in new.beginning("quarantine").splitlines():
        told = _json(line)  # the last line may be incomplete
        if isinstance(told, dict):
            yield told
