"""``exporter push``: sends events to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exporter.cli.commands import FILE, HERE, Argument, Command, as_json, flag, option
from exporter.openlineage.push.profiles import LETTER_CASES, PROFILES

if TYPE_CHECKING:
    from pathlib import Path


def _run(folder: Path, *, config: Path | None, dry_run: bool | None, as_json: bool | None, **given: Any) -> int:
    from exporter.cli import configuration
    from exporter.openlineage.push.command import preview, push

    choices = configuration.load_push(given, config)
    return (preview if dry_run else push)(folder, choices, as_json=bool(as_json))


COMMAND = Command(
    "push",
    _run,
    "send the events of a folder to a backend",
    "OPENLINEAGE_URL=http://localhost:5000 exporter push lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote", **HERE),
            click.Option(
                ["--runs"],
                type=click.Choice(("all", "latest")),
                help="every run (default), or the latest of each job",
            ),
            click.Option(
                ["--profile"],
                type=click.Choice(tuple(PROFILES)),
                help="adapt the events to this backend (default: by its address)",
            ),
            option("--config", "FILE", "settings in TOML; its table [push] is read", **FILE),
            flag("--dry-run", "print what would be sent, and to which backend; connect to nothing"),
            as_json("print the counts as JSON on standard output"),
        ],
        "How it is sent": [
            click.Option(
                ["--letter-case"],
                type=click.Choice(LETTER_CASES),
                help="send names in lower case, or as they were exported (default: by the profile)",
            ),
            option("--concurrency", "N", "the most events at once (default 8)", type=int),
            option("--rate", "N", "the most events a second (default: no limit)", type=float),
            option(
                "--patience",
                "S",
                "seconds to try again while the backend does not answer (default 60)",
                type=float,
            ),
        ],
    },
    is_watched=True,
)
