"""``exporter report``: what a steward sends on, as one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.cli.commands import FILE, LOCAL_FOLDER, Argument, Command, option
from exporter.cli.serve import CONFIG, require_packages, say

if TYPE_CHECKING:
    from pathlib import Path


def _run(folder: Path, *, out: Path, since: str | None, config: Path | None) -> int:
    from exporter.cli.configuration import load_serve

    with require_packages("report"):
        from exporter.serve.report import write
    write(folder, out, since, load_serve(config) if config else (), say)
    print(out)
    return 0


COMMAND = Command(
    "report",
    _run,
    "write a report for stewards as one file of HTML",
    "exporter report lineage --out report.html",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote, or a folder or file of Turtle", **LOCAL_FOLDER),
            option("--out", "FILE", "the file to write", required=True, **FILE),
            option("--since", "TIME", "the first day or time (UTC); by default 30 days before the last"),
            CONFIG,
        ]
    },
)
