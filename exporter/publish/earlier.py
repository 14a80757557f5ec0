"""What a DIR has from earlier runs: settings, log (``exporter log``), quarantine (``exporter quarantine``).

``export --update`` adds to it. A DIR made with other settings is refused, because its content would become
inconsistent. A DIR made without ``--update`` is refused, because it does not contain its rows.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import MODEL
from exporter.errors import UsageError
from exporter.graph.terms import SYNTAXES
from exporter.pipeline.messages import time_and_query
from exporter.system.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exporter.engines.places import Place
    from exporter.input.find import InputOfViews
    from exporter.settings import Settings

STATE: Final = "state"
FORM: Final = 2
"""The form of the state in DIR. A new one is needed for every change after which older messages mean something else or
are in other files.
"""
LOG: Final = "log.json"
_MEANING: Final = (
    "account",
    "base",
    "outputs",
    "graph_format",
    "reads",
    "query_text",
    "openlineage",
    "pseudonyms",
    "filter",
)
"""Settings that determine DIR's content."""


@dataclass(frozen=True)
class Earlier:
    """``runs``: the entries of :func:`exporter.accounting.log`, oldest first. ``days``: all days of DIR, each with the
    later days for which it has open messages. ``bytes``: size of the state on disk.
    """

    runs: tuple[dict[str, Any], ...] = ()
    days: dict[str, list[str]] = field(default_factory=dict)
    bytes: int = 0

    @property
    def run(self) -> int:
        """The number of the current run, from 1."""
        return len(self.runs) + 1


@dataclass(frozen=True)
class ExportInput:
    """The input of an export. ``came``: the given rows. ``left``: what earlier runs left. ``changes``: whether an
    update writes its changes.
    """

    came: InputOfViews
    left: Earlier
    changes: bool = True


def earlier(place: Place, settings: Settings) -> Earlier:
    """What earlier runs left in DIR; empty if DIR does not exist. Raises UsageError if rows cannot be added to it."""
    _can_be_by_day(settings)
    if not place.exists() or place.names() == []:
        return Earlier()
    manifest = _read(place, "manifest.json")
    log = _read(place, LOG)
    if manifest is None:
        raise UsageError(f"{place.shown}: has no manifest.json, so it was not made by an export; give another --out")
    if log is None:
        raise UsageError(
            f"{place.shown}: was made without --update and does not contain its rows; make it once with all rows, "
            "--update and --replace"
        )
    _check(place.shown, manifest, settings)
    state = sum(one["bytes"] for one in manifest["files"] if one["path"].startswith(f"{STATE}/"))
    return Earlier(tuple(log), log[-1]["days"], state)


def _can_be_by_day(settings: Settings) -> None:
    """Raise UsageError for outputs that need all rows at once."""
    for output in ("catalog", "facts"):
        if output in settings.outputs:
            raise UsageError(f"outputs: {output} cannot be made by an update; export it without --update")
    for name in settings.graph_format:
        if SYNTAXES[name].names_load:
            raise UsageError(
                f"graph_format: {name} needs all queries for the name of the graph; with --update use ntriples"
            )


def _read(place: Place, name: str) -> Any:
    text = place.read(name)
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(
            f"{place.shown}: {name} is damaged; exporter validate {place.shown} lists all damage"
        ) from None


def _check(shown: str, manifest: dict[str, Any], settings: Settings) -> None:
    had, has = manifest.get("settings", {}), settings.shown()
    if manifest.get("model") != MODEL:
        raise UsageError(
            f"{shown}: was made with version {manifest.get('model')} of the model, but this program has {MODEL}; make "
            "it again with all rows, --update and --replace"
        )
    if manifest.get(STATE) != FORM:
        raise UsageError(
            f"{shown}: was made by another version of the program, which keeps its state in another form; make it "
            "again with all rows, --update and --replace"
        )
    for name in _MEANING:
        if json.dumps(had.get(name), sort_keys=True) != json.dumps(has[name], sort_keys=True, default=list):
            raise UsageError(
                f"{shown}: was made with {name} {_shown(had.get(name))}, but now it is {_shown(has[name])}: the new "
                f"content would not fit the old; give the same {name}, or another --out"
            )


def _shown(value: Any) -> str:
    return json.dumps(value, default=list) if isinstance(value, dict | list | tuple) else str(value)


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


def runs_as_text(found: list[dict[str, Any]]) -> str:
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


_SHOWN: Final = 300
"""Most characters of a row that are shown."""
_of_run: Final = re.compile(r"run=(\d+)-").match
"""Matches files with the unreadable rows of one run; the other files belong to the present state."""
_HALF: Final = re.compile("[\ud800-\udfff]")
_DAYS: Final = "^[0-9]+-[0-9]+-[0-9]+$"
"""Matches the receivers of rows in the state of an update: days."""


class QuarantinedRow(NamedTuple):
    """A quarantined row. ``run``: the run of an update, 0 if it belongs to the present state. ``query_id``: None if it
    cannot be read.
    """

    told: dict[str, Any]
    run: int
    query_id: str | None


def reasons(folder: Path) -> list[dict[str, Any]]:
    """The quarantined rows by reason, the most frequent first. ``rows``: their number. ``given_again``: how many of
    their queries had a row that a later run accepted. ``example``: the first row, if possible one not given again.

    Raises UsageError if the folder was not made by an export.
    """
    if not (folder / "report.json").is_file():
        raise UsageError(f"{folder}: {no_export(folder)}")
    taken = _taken(folder)
    found: dict[str, dict[str, Any]] = {}
    for told, run, query_id in _set_aside(folder):
        is_again = run > 0 and query_id is not None and taken.get(query_id, 0) > run
        new = {"reason": told["reason"], "rows": 0, "given_again": 0, "example": told}
        one = found.setdefault(told["reason"], new)
        if one["rows"] == one["given_again"] and not is_again:
            one["example"] = told
        one["rows"] += 1
        one["given_again"] += is_again
    return sorted(found.values(), key=lambda one: (-one["rows"], one["reason"]))


def _set_aside(folder: Path) -> Iterator[QuarantinedRow]:
    for path in sorted((folder / "quarantine").glob("*.ndjson")):
        of_run = _of_run(path.name)
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                told = json.loads(line)
                yield QuarantinedRow(
                    told, int(of_run[1]) if of_run else 0, _query_id(told["as_it_came"]) if of_run else None
                )


def _query_id(text: str) -> str | None:
    """The query id in a row; None if the text is not a JSON object or has no query id."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    names = given if isinstance(given, dict) else {}
    found = next((value for name, value in names.items() if name.lower() == "query_id"), None)
    # A row whose id has half of a surrogate pair is never accepted, so no later run has it.
    return found if isinstance(found, str) and _HALF.search(found) is None else None


def _taken(folder: Path) -> dict[str, int]:
    """Query id -> the last run that accepted a row of the query, for the queries of quarantined rows."""
    wanted = {
        quarantined_row.query_id for quarantined_row in _set_aside(folder) if quarantined_row.query_id is not None
    }
    files = sorted((folder / STATE / "rows").glob("*/*.parquet")) if wanted else []
    found: dict[str, int] = {}
    for path in files:
        for query_id, order in _rows_of(path, wanted):
            found[query_id] = max(found.get(query_id, 0), time_and_query(order)[0])
    return found


def _rows_of(path: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """The rows of these queries in a file of the state: query id, and order (which contains the run)."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and seldom needed
    import pyarrow.compute as pc  # noqa: PLC0415 - as above
    from pyarrow import parquet  # noqa: PLC0415 - as above

    ids = pa.array(sorted(wanted), pa.string())
    for batch in parquet.ParquetFile(path).iter_batches(columns=["to", "key", "order"]):
        is_row = pc.match_substring_regex(batch.column("to"), _DAYS)
        kept = batch.filter(pc.and_(is_row, pc.is_in(batch.column("key"), value_set=ids)))
        yield from zip(kept.column("key").to_pylist(), kept.column("order").to_pylist(), strict=True)


# --- for people -------------------------------------------------------------------------------------------------------


def reasons_as_text(found: list[dict[str, Any]], folder: str) -> str:
    """The reasons as text for people, and what to do."""
    if not found:
        return "Nothing was quarantined."
    texts = [_reason(one) for one in found]
    is_done = all(one["rows"] == one["given_again"] for one in found)
    todo = (
        f"The original rows are in {visible(folder)}/quarantine. Correct them and export them again: with --update "
        "they are added to the existing output."
    )
    done = "Rows of all these queries were exported again since; nothing is left to correct."
    return "\n\n".join([*texts, done if is_done else todo])


def _reason(one: dict[str, Any]) -> str:
    example = one["example"]
    unit = "line" if "line" in example else "row"
    text = example["as_it_came"]
    cut = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    rows = "1 row" if one["rows"] == 1 else f"{one['rows']:,} rows"
    again = one["given_again"]
    since = (
        f" ({'given again since' if again == one['rows'] else f'{again:,} of them given again since'})" if again else ""
    )
    place = f"such as {example['file']}, {unit} {example.get(unit, '?')}:"
    return f"{rows}: {visible(one['reason'])}{since}\n  {visible(place)}\n  {visible(cut)}"
