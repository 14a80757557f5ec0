"""``exporter push``: sends events to a backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exporter.cli.commands import FILE, LOCAL_FOLDER, Argument, Command, as_json, flag, option
from exporter.errors import UsageError
from exporter.openlineage.push.profiles import LETTER_CASES, PROFILES

if TYPE_CHECKING:
    from pathlib import Path


def _run(  # noqa: PLR0913 - the options of the command
    folder: Path,
    *,
    config: Path | None,
    dry_run: bool | None,
    verify: bool | None,
    sample: str | None,
    as_json: bool | None,
    **options: Any,
) -> int:
    from exporter.cli import configuration
    from exporter.openlineage.push.command import preview, push
    from exporter.openlineage.push.verify import sample_size

    if dry_run and verify:
        raise UsageError("--dry-run connects to nothing, and --verify reads from the backend: give one of them")
    if sample is not None and not verify:
        raise UsageError("--sample says how much --verify looks at: give --verify too")
    size, choices = sample_size(sample) if verify else None, configuration.load_push(options, config)
    if dry_run:
        return preview(folder, choices, as_json=bool(as_json))
    return push(folder, choices, as_json=bool(as_json), sample=size)


COMMAND = Command(
    "push",
    _run,
    "send the events of a folder to a backend",
    "OPENLINEAGE_URL=http://localhost:5000 exporter push lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote", **LOCAL_FOLDER),
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
            flag("--verify", "after the push, read back what was sent and list what is missing"),
            option("--sample", "N|all", "how many datasets, jobs and runs --verify looks at, of each (default 1000)"),
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
