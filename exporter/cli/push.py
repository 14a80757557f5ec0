"""``exporter push``: sends events to a backend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command, here

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declares the command."""
    from exporter.openlineage.push.command import LETTER_CASES
    from exporter.openlineage.push.profiles import PROFILES

    parser = command(
        commands, "push", _run, "send the events of a folder to a backend",
        "OPENLINEAGE_URL=http://localhost:5000 exporter push lineage",
    )  # fmt: skip
    parser.set_defaults(is_watched=True)
    parser.add_argument("folder", type=here, metavar="DIR", help="what export wrote")
    parser.add_argument("--runs", choices=("all", "latest"), help="every run (default), or the latest of each job")
    parser.add_argument(
        "--profile", choices=tuple(PROFILES), help="adapt the events to this backend (default: by its address)"
    )
    parser.add_argument(
        "--letter-case",
        choices=LETTER_CASES,
        help="send names in lower case, or as they were exported (default: by the profile)",
    )
    parser.add_argument("--concurrency", type=int, metavar="N", help="the most events at once (default 8)")
    parser.add_argument("--rate", type=float, metavar="N", help="the most events a second (default: no limit)")
    parser.add_argument(
        "--patience",
        type=float,
        metavar="S",
        help="seconds to try again while the backend does not answer (default 60)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in TOML; its table [push] is read")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON on standard output")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.cli import configuration
    from exporter.openlineage.push.command import push

    given = {
        name: getattr(arguments, name) for name in ("runs", "profile", "letter_case", "concurrency", "rate", "patience")
    }
    return push(arguments.folder, configuration.load_push(given, arguments.config), as_json=arguments.json)
