"""What an export left out of its graph, by the files beside it: filters, rows in quarantine, single reads."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from exporter.publish import manifest
from exporter.publish.earlier import LOG

if TYPE_CHECKING:
    from pathlib import Path

_of_run: Final = re.compile(r"run=(\d+)-").match
"""Matches files of the quarantine with the rows of one run of an update."""


def left_out(graph: Path) -> list[str]:
    """What the settings of the export in the folder ``graph`` left out, from its manifest, and rows that are in
    quarantine, from its report. None for a graph without them.
    """
    settings, report = _json_of(graph / manifest.NAME).get("settings"), _json_of(graph / "report.json")
    notes = []
    if isinstance(settings, dict):
        texts = [f"{name} {settings[name]}" for name in ("since", "until") if settings.get(name)]
        if settings.get("filter"):
            texts.append("[filter]")
        if settings.get("forget_before"):
            texts.append(f"forget_before {settings['forget_before']}")
        if texts:
            what = " and ".join(texts)
            notes.append(f"The settings of this export leave out rows or objects: {what}. Answers lack them.")
    if of_runs := _filtered_before(graph):
        notes.append(
            f"Settings of earlier runs left out rows or objects: {' and '.join(of_runs)}. Answers lack those that no "
            "later run exported."
        )
    rows, former = report.get("quarantined"), _quarantined_before(graph)
    if former:
        rows = former + (rows if isinstance(rows, int) else 0)
        notes.append(
            f"{'1 row' if rows == 1 else f'{rows:,} rows'} of all runs {'is' if rows == 1 else 'are'} in quarantine; "
            f"answers lack {'it if no later run exported it' if rows == 1 else 'those that no later run exported'} "
            "(exporter quarantine shows which, and why)."
        )
    elif isinstance(rows, int) and rows:
        notes.append(
            f"{'1 row' if rows == 1 else f'{rows:,} rows'} of the last run {'is' if rows == 1 else 'are'} in "
            f"quarantine; answers lack {'it' if rows == 1 else 'them'} (exporter quarantine shows why)."
        )
    return notes


SINGLE_READS: Final = (
    "This graph has reads by day (export --reads daily): queries that only read are not among the queries, and cannot "
    "be found by their ids."
)


def has_no_single_reads(graph: Path) -> bool:
    """Whether the export in the folder ``graph`` has reads by day, by its manifest."""
    settings = _json_of(graph / manifest.NAME).get("settings")
    return isinstance(settings, dict) and settings.get("reads") == "daily"


def _filtered_before(graph: Path) -> list[str]:
    """The filters by which runs of an update before the last one left out anything, each once: ``since``, ``until``,
    and ``[filter]`` for lists of names.
    """
    texts = []
    for run in _earlier_runs(graph):
        counts = run.get("filtered")
        if isinstance(counts, dict):
            rows = counts.get("rows")
            left = [text for text, number in rows.items() if number] if isinstance(rows, dict) else []
            left += ["[filter]"] if counts.get("reduced") or counts.get("objects") else []
            texts += [text if text in {"since", "until"} else "[filter]" for text in left]
    return list(dict.fromkeys(texts))


def _earlier_runs(graph: Path) -> list[dict[str, Any]]:
    runs = _read_json(graph / LOG)
    return [run for run in runs[:-1] if isinstance(run, dict)] if isinstance(runs, list) else []


def _quarantined_before(graph: Path) -> int:
    """How many rows the runs of an update before the last one quarantined, of those whose files are still there."""
    numbers = {int(match[1]) for path in (graph / "quarantine").glob("run=*") if (match := _of_run(path.name))}
    rows = (run.get("quarantined") for run in _earlier_runs(graph) if run.get("run") in numbers)
    return sum(count for count in rows if isinstance(count, int))


def _json_of(path: Path) -> dict[str, Any]:
    document = _read_json(path)
    return document if isinstance(document, dict) else {}


def _read_json(path: Path) -> Any:
    """What is in a file of JSON; None where there is no such file, or it cannot be read."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return None
