"""``exporter log``: the runs that wrote a DIR."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exporter.commands import command, here

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(commands, "log", _run, "show the runs that wrote a folder", "exporter log lineage")
    parser.add_argument("folder", type=here, metavar="DIR", help="what export wrote")
    parser.add_argument("--json", action="store_true", help="print the runs as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.history import runs, shown

    found = runs(arguments.folder)
    print(json.dumps(found, indent=1) if arguments.json else shown(found))
    return 0
