"""What a DIR has from earlier runs: settings and log (``exporter log``).

``export --update`` adds to it. A DIR made with other settings is refused, because its content would become
inconsistent. A DIR made without ``--update`` is refused, because it does not contain its rows.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from exporter.errors import UsageError
from exporter.graph.shapes.reading import digest_of
from exporter.graph.terms import SYNTAXES
from exporter.publish.manifest import refuse_incomplete
from exporter.system import files
from exporter.system.terminal import counted
from exporter.version import MODEL

if TYPE_CHECKING:
    from exporter.input.find import InputOfViews
    from exporter.publish.places import Place
    from exporter.settings import Settings

STATE: Final = "state"
FORM: Final = 8
"""The form of the state in DIR. A new one is needed for every change after which older messages mean something else or
are in other files.
"""
LOG: Final = "log.json"
ROWS: Final = ("rows_in", "exported", "duplicates", "quarantined")
"""The counts of rows in the log and the report: the first is the sum of the others."""
_Document = TypeVar("_Document", dict[str, Any], list[Any])
_DECISIVE_SETTINGS: Final = (
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
class EarlierRuns:
    """``runs``: the entries of :func:`exporter.publish.report.log`, oldest first. ``days``: all days of DIR, each with
    the later days for which it has open messages. ``bytes``: size of the state on disk. ``has_other_shapes``: whether
    DIR was made with other shapes of the user than this run has.
    """

    runs: tuple[dict[str, Any], ...] = ()
    days: dict[str, list[str]] = field(default_factory=dict)
    bytes: int = 0
    has_other_shapes: bool = False

    @property
    def run(self) -> int:
        """The number of the current run, from 1."""
        return len(self.runs) + 1


@dataclass(frozen=True)
class ExportInput:
    """The input of an export. ``inputs``: the given rows. ``earlier``: what earlier runs left. ``changes``: whether an
    update writes its changes.
    """

    inputs: InputOfViews
    earlier: EarlierRuns
    changes: bool = True


def earlier_runs(place: Place, settings: Settings) -> EarlierRuns:
    """What earlier runs left in DIR; empty if DIR does not exist. Raises UsageError if rows cannot be added to it."""
    _check_outputs(settings)
    if not place.exists() or place.names() == []:
        return EarlierRuns()
    manifest = _read(place, "manifest.json", dict)
    log = _read(place, LOG, list)
    if manifest is None:
        raise UsageError(f"{place.shown}: has no manifest.json, so it was not made by an export; give another --out")
    if not isinstance(manifest.get("settings"), dict):
        raise damaged(f"{place.shown}: manifest.json", place.shown)
    if log is None:
        raise UsageError(
            f"{place.shown}: was made without --update and does not contain its rows; make it once with all rows, "
            "--update and --replace"
        )
    _check(place.shown, manifest, settings)
    state = sum(file["bytes"] for file in manifest["files"] if file["path"].startswith(f"{STATE}/"))
    return EarlierRuns(tuple(log), log[-1]["days"], state, _has_other_shapes(place.shown, manifest, settings))


def account_of(place: Place) -> str | None:
    """The account that DIR was made with; None if DIR is no export, or does not say."""
    try:
        settings = (_read(place, "manifest.json", dict) or {}).get("settings")
    except UsageError:  # the export itself reports it
        return None
    account = settings.get("account") if isinstance(settings, dict) else None
    return account if isinstance(account, str) else None


def _check_outputs(settings: Settings) -> None:
    """Raise UsageError for outputs that need all rows at once."""
    for output in ("catalog", "facts"):
        if output in settings.outputs:
            raise UsageError(f"outputs: {output} cannot be made by an update; export it without --update")
    for name in settings.graph_format:
        if SYNTAXES[name].names_load:
            raise UsageError(
                f"graph_format: {name} needs all queries for the name of the graph; with --update use ntriples"
            )


def _read(place: Place, name: str, kind: type[_Document]) -> _Document | None:
    text = place.read(name)
    return None if text is None else document(text, kind, f"{place.shown}: {name}", place.shown)


def document(text: str, kind: type[_Document], shown: str, folder: object) -> _Document:
    """The JSON of a file of an export. Raises UsageError where it is not of the kind that an export writes."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, kind):
        raise damaged(shown, folder)
    return content


def damaged(shown: str, folder: object) -> UsageError:
    """The error for a file of an export that does not say what an export writes there."""
    return UsageError(f"{shown} is damaged; exporter validate {folder} lists all damage")


def _check(shown: str, manifest: dict[str, Any], settings: Settings) -> None:
    former, present = manifest.get("settings", {}), settings.for_manifest()
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
    for name in _DECISIVE_SETTINGS:
        if json.dumps(former.get(name), sort_keys=True) != json.dumps(present[name], sort_keys=True, default=list):
            raise UsageError(f"{shown}: {_other_setting(name, former.get(name), present[name])}")


SHAPES: Final = "shapes_sha256"
"""The key of :func:`shapes_digest` in the manifest. The paths of the shapes are among its settings."""


def shapes_digest(settings: Settings) -> str | None:
    """A digest of the content of the user's shapes, wherever their files are; None without shapes that are applied."""
    if not settings.shapes or not settings.validate:
        return None
    return digest_of(map(Path, settings.shapes))


def _has_other_shapes(shown: str, manifest: dict[str, Any], settings: Settings) -> bool:
    """Whether DIR was made with other shapes of the user. Raises UsageError if this run has none: what they refused
    would be published.
    """
    paths = manifest["settings"].get("shapes") or []
    before, now = manifest.get(SHAPES), shapes_digest(settings)
    if before is not None and now is None:
        names = " ".join(f"--shapes {shlex.quote(str(path))}" for path in paths) or "--shapes"
        advice = "leave out --no-validate" if settings.shapes else f"give {names}, or others with --shapes"
        raise UsageError(
            f"{shown}: was made with shapes of your own ({', '.join(map(str, paths))}), and this run has none: what "
            f"they refused would be published; {advice}. To do without shapes, make DIR again with all rows, --update "
            "and --replace. Nothing was changed"
        )
    return before != now


def _other_setting(name: str, former: Any, present: Any) -> str:
    """That a setting is not that of DIR, and what to do. None: the setting was not given."""
    if former is None:
        return (
            f"was made without {name}, and this run has {name}: what DIR has would stay as it is; leave that out, or "
            "export all rows to a new folder"
        )
    advice = "leave out --account, then it is that of DIR" if name == "account" else f"give the same {name}"
    now = "this run has none" if present is None else f"now it is {_setting_text(present)}"
    return (
        f"was made with {name} {_setting_text(former)}, but {now}: the new content would not fit the old; {advice}, or "
        "export all rows to a new folder"
    )


def _setting_text(value: Any) -> str:
    if isinstance(value, dict) and value.keys() == {"key", "keep"}:
        return f"of the key {value['key']}, without those of {', '.join(value['keep']) or 'nobody'}"
    return json.dumps(value, default=list) if isinstance(value, dict | list | tuple) else str(value)


def runs(folder: Path) -> list[dict[str, Any]]:
    """The runs, oldest first; one for a folder made without ``--update``. Raises UsageError if no export made it, or
    its log is lost.
    """
    for needed in (LOG, "report.json"):
        refuse_incomplete(folder, needed, "the list of runs")
    path = next((path for path in (folder / LOG, folder / "report.json") if path.is_file()), None)
    if path is None:
        raise no_export(folder)
    text, shown = path.read_text(encoding="utf-8", errors="replace"), f"{path}:"
    if path.name == LOG:
        listed = document(text, list, shown, folder)
    else:
        report = document(text, dict, shown, folder)
        listed = [{"run": 1, **{name: report.get(name) for name in ("at", "version", *ROWS)}}]
    if not listed or not all(isinstance(run, dict) and _is_counted(run) for run in listed):
        raise damaged(shown, folder)
    return listed


def _is_counted(run: dict[str, Any]) -> bool:
    return all(isinstance(run.get(name), int) for name in ("run", *ROWS))


def quarantined_rows(folder: Path) -> int:
    """The rows in the quarantine of an export. In an update they can be more than its runs quarantined: a query of an
    earlier run is quarantined too when a further row of it contradicts that run's. Raises UsageError if a file of it is
    lost.
    """
    refuse_incomplete(folder, "quarantine", "the number of rows in quarantine")
    rows = 0
    for path in files.find_files(folder / "quarantine", ".ndjson"):
        with path.open("rb") as lines:
            rows += sum(1 for _ in lines)
    return rows


def left_quarantine(listed: list[dict[str, Any]]) -> str:
    """Sentences that a forgetting run, or one with other shapes, took rows out of quarantine; empty if none did.
    ``listed``: :func:`runs`.
    """
    texts, before = list[str](), 0
    for run in listed:
        if run.get("forgotten") and before:
            texts.append(
                f"Run {run['run']} forgot a user or days: it removed from quarantine what earlier runs could not read, "
                "and what it forgot."
            )
        if back := (run.get("other_shapes") or {}).get("exported", 0):
            queries = counted(back, "query that was", "queries that were")
            texts.append(f"Run {run['run']} had other shapes, and exported {queries} refused before.")
        before += run["quarantined"]
    return " ".join(texts)


def _changed_before(run: dict[str, Any]) -> Iterator[str]:
    """What a run changed of what earlier ones did, which still count it as it was."""
    if forgotten := run.get("forgotten"):
        queries, rows = counted(forgotten["queries"], "query", "queries"), counted(forgotten["rows"], "row")
        yield f"Run {run['run']} forgot {queries} of earlier runs ({rows}), which these still count."
    if reshaped := run.get("other_shapes"):
        yield (
            f"Run {run['run']} had other shapes. Queries of earlier runs that are refused since then: "
            f"{reshaped['quarantined']:,}; that were refused, and are exported: {reshaped['exported']:,}."
        )


def no_export(folder: Path) -> UsageError:
    """The error for a folder that is not an export; it says why."""
    fault = "has no report.json, so it was not made by an export" if folder.is_dir() else "there is no such folder"
    return UsageError(f"{folder}: {fault}; give a folder that exporter export wrote")


def runs_as_text(listed: list[dict[str, Any]], in_quarantine: int) -> str:
    """The runs as a table, with the sums of all runs. ``in_quarantine``: the rows there. A line says so where this is
    another number than the runs quarantined, each when it ran.
    """
    head = ("run", "at", *(name.replace("_", " ") for name in ROWS), "days written")
    rows = [
        (str(run["run"]), str(run.get("at") or "-"), *(f"{run[name]:,}" for name in ROWS), _days(run)) for run in listed
    ]
    sums = ("all", "", *(f"{sum(run[name] for run in listed):,}" for name in ROWS), "")
    widths = [max(len(row[column]) for row in (head, *rows, sums)) for column in range(len(head))]
    lines = [_line(row, widths) for row in (head, *rows, sums)]
    lines += [text for run in listed for text in _changed_before(run)]
    if in_quarantine != sum(run["quarantined"] for run in listed):
        left = left_quarantine([{**run, "other_shapes": None} for run in listed])  # a line above says it
        explanation = f". {left}" if left else ": later rows or other shapes can change what becomes of a query."
        lines.append(f"{counted(in_quarantine, 'row is', 'rows are')} in quarantine now{explanation}")
    return "\n".join(lines)


def _days(run: dict[str, Any]) -> str:
    days = run.get("made", [])
    return "-" if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}, {len(days)}"


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    aligned = [
        text.rjust(width) if 1 < column < len(row) - 1 else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()
