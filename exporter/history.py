"""The life of a DIR: the runs that made it, and what they set aside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COUNTS: Final = ("rows_in", "exported", "duplicates", "quarantined")
_SHOWN: Final = 300
"""Characters of a row that a person is shown."""


def runs(folder: Path) -> list[dict[str, Any]]:
    """The runs, the first one first: of a folder that was not added to, one. Raises UsageError where none made it."""
    log, report = folder / "log.json", folder / "report.json"
    if log.is_file():
        return list(_json(log))
    if report.is_file():
        told = _json(report)
        return [{"run": 1, "version": told["version"], **{name: told[name] for name in _COUNTS}}]
    raise UsageError(f"{folder}: has neither log.json nor report.json, so no export left it")


def shown(found: list[dict[str, Any]]) -> str:
    """The runs as a table, with the sums of the whole life of the folder."""
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


def reasons(folder: Path) -> list[dict[str, Any]]:
    """What was set aside, by reason, the commonest first: how many rows, and the first of them as an example."""
    if not (folder / "report.json").is_file():
        raise UsageError(f"{folder}: has no report.json, so no export left it")
    found: dict[str, dict[str, Any]] = {}
    for line in _set_aside(folder):
        known = found.setdefault(line["reason"], {"reason": line["reason"], "rows": 0, "example": line})
        known["rows"] += 1
    return sorted(found.values(), key=lambda one: (-one["rows"], one["reason"]))


def _set_aside(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((folder / "quarantine").glob("*.ndjson")):
        with path.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines)


def shown_reasons(found: list[dict[str, Any]], folder: str) -> str:
    """The reasons for a person, and what to do."""
    if not found:
        return "Nothing was set aside."
    told = [_reason(one) for one in found]
    todo = (
        f"All rows are in {folder}/quarantine as they came. Mend them, and give them again: with --update they are "
        "added to what is there."
    )
    return "\n\n".join([*told, todo])


def _reason(one: dict[str, Any]) -> str:
    example = one["example"]
    unit = "line" if "line" in example else "row"
    text = example["as_it_came"]
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    rows = "1 row" if one["rows"] == 1 else f"{one['rows']:,} rows"
    return f"{rows}: {one['reason']}\n  such as {example['file']}, {unit} {example.get(unit, '?')}:\n  {cut}"


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UsageError(f"{path}: is damaged; exporter validate {path.parent} says what is") from None
