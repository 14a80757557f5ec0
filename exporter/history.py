"""The runs that made a DIR (``exporter log``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_COUNTS: Final = ("rows_in", "exported", "duplicates", "quarantined")


def runs(folder: Path) -> list[dict[str, Any]]:
    """The runs, oldest first; one for a folder made without ``--update``. Raises UsageError if no export made it."""
    log, report = folder / "log.json", folder / "report.json"
    if log.is_file():
        return list(_json(log))
    if report.is_file():
        told = _json(report)
        return [{"run": 1, "version": told["version"], **{name: told[name] for name in _COUNTS}}]
    raise UsageError(f"{folder}: {no_export(folder)}")


def no_export(folder: Path) -> str:
    """Why a folder is not an export, for a message."""
    why = "has no report.json, so it was not made by an export" if folder.is_dir() else "there is no such folder"
    return f"{why}; give a folder that exporter export wrote"


def shown(found: list[dict[str, Any]]) -> str:
    """The runs as a table, with the sums of all runs."""
    head = ("run", "at", *(name.replace("_", " ") for name in _COUNTS), "days made")
    rows = [(str(one["run"]), one.get("at", "-"), *(f"{one[name]:,}" for name in _COUNTS), _days(one)) for one in found]
    sums = ("all", "", *(f"{sum(one[name] for one in found):,}" for name in _COUNTS), "")
    widths = [max(len(row[place]) for row in (head, *rows, sums)) for place in range(len(head))]
    return "\n".join(_line(row, widths) for row in (head, *rows, sums))


def _days(run: dict[str, Any]) -> str:
    made = run.get("made", [])
    return "-" if not made else made[0] if len(made) == 1 else f"{made[0]} to {made[-1]}, {len(made)}"


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    aligned = [
        text.rjust(width) if 1 < place < len(row) - 1 else text.ljust(width)
        for place, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UsageError(f"{path}: is damaged; exporter validate {path.parent} lists all damage") from None
