"""To look after a folder: ``exporter validate``, ``quarantine`` and ``log``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

import click

from exporter.cli.commands import EXPORTED, FILE, LOCAL_FOLDER, Argument, Command, as_json, choice, flag, option
from exporter.cli.messages import say, warn
from exporter.errors import UsageError
from exporter.system.progress import Progress
from exporter.system.terminal import bare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NOTHING: Final = '{"conforms": false, "violations": 0, "counted": null, "results": []}'


def _validate(path: Path, *, shapes: Sequence[Path], by: str, as_json: bool | None) -> int:
    from exporter.graph.validate import validate
    from exporter.publish import manifest

    progress = Progress()
    with progress.stage("comparing the files with the manifest"):
        damaged = manifest.problems(path)
    warn(damaged)
    try:
        with progress.stage("validating"):
            is_valid, text = validate(path, by=by, shapes_dirs=tuple(shapes), as_json=bool(as_json))
    except UsageError as error:
        if not damaged:
            raise
        # The files differ from what the export wrote: that is the result, and it explains why the graph cannot be read.
        say(str(error))
        is_valid, text = False, _NOTHING if as_json else "The graph cannot be validated"
    print(text)
    return 0 if is_valid and not damaged else 1


VALIDATE = Command(
    "validate",
    _validate,
    "validate Turtle with the SHACL shapes, and the files of an export with its manifest",
    "exporter validate lineage",
)
VALIDATE.group(
    "Options",
    Argument("path", "DIR|FILE", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER),
    option("--shapes", "DIR", "your own shapes in addition to ours", multiple=True, **FILE),
    choice(["--by"], ("pyshacl", "compiled"), "the reference engine (default), or ours", default="pyshacl"),
    as_json("print the results as JSON"),
)


def _quarantine(folder: Path, *, rows: bool | None, as_json: bool | None) -> int:
    from exporter.publish.set_aside import reasons, reasons_as_text

    if rows and as_json:
        raise click.UsageError("--rows already writes JSON, one row a line; give --rows or --json")
    if rows:
        _write_rows(folder)
        return 0
    with Progress().stage("reading the quarantined rows"):
        groups = reasons(folder)
    print(json.dumps(groups, indent=1) if as_json else reasons_as_text(groups, str(folder)))
    return 0


def _write_rows(folder: Path) -> None:
    """Rows are data, in UTF-8 wherever they go; control characters are replaced only where a terminal shows them."""
    from exporter.publish.set_aside import RowsToMend

    rows, is_terminal = RowsToMend(folder), sys.stdout.isatty()
    for line in rows:
        if is_terminal:
            print(line)
        else:
            bare(sys.stdout).buffer.write(f"{line}\n".encode())
    sys.stdout.flush()
    warn(rows.notes())


QUARANTINE = Command(
    "quarantine",
    _quarantine,
    "list the quarantined rows by reason, with an example of each",
    "exporter quarantine lineage",
)
QUARANTINE.group(
    "Options",
    EXPORTED,
    flag("--rows", "print the rows themselves, one a line, to be corrected and exported again"),
    as_json("print the reasons as JSON"),
)


def _log(folder: Path, *, as_json: bool | None) -> int:
    from exporter.publish.earlier import quarantined_rows, runs, runs_as_text

    log = runs(folder)
    print(json.dumps(log, indent=1) if as_json else runs_as_text(log, quarantined_rows(folder)))
    return 0


LOG = Command("log", _log, "show the runs that wrote a folder", "exporter log lineage")
LOG.group("Options", EXPORTED, as_json("print the runs as JSON"))
