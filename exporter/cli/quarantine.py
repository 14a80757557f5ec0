"""``exporter quarantine``: the rows that were quarantined, by reason."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from exporter.cli.commands import LOCAL_FOLDER, Argument, Command, as_json, flag
from exporter.system.terminal import bare

if TYPE_CHECKING:
    from pathlib import Path


def _run(folder: Path, *, rows: bool | None, as_json: bool | None) -> int:
    from exporter.publish.set_aside import reasons, reasons_as_text
    from exporter.system.progress import Progress

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
    from exporter.cli.messages import warn
    from exporter.publish.set_aside import RowsToMend

    rows, is_terminal = RowsToMend(folder), sys.stdout.isatty()
    for line in rows:
        if is_terminal:
            print(line)
        else:
            bare(sys.stdout).buffer.write(f"{line}\n".encode())
    sys.stdout.flush()
    warn(rows.notes())


COMMAND = Command(
    "quarantine",
    _run,
    "list the quarantined rows by reason, with an example of each",
    "exporter quarantine lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote", **LOCAL_FOLDER),
            flag("--rows", "print the rows themselves, one a line, to be corrected and exported again"),
            as_json("print the reasons as JSON"),
        ]
    },
)
