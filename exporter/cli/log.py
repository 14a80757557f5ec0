"""``exporter log``: the runs that wrote a DIR."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command, here

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(commands, "log", _run, "show the runs that wrote a folder", "exporter log lineage")
    parser.add_argument("folder", type=here, metavar="DIR", help="what export wrote")
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.publish.earlier import runs, runs_as_text

    found = runs(arguments.folder)
    print(json.dumps(found, indent=1) if arguments.json else runs_as_text(found))
    return 0
