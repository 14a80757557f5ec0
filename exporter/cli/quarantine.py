"""``exporter quarantine``: the rows that were quarantined, by reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exporter.cli.commands import command, here

if TYPE_CHECKING:
    import argparse


def add(commands: Any) -> None:
    """Declares the command."""
    parser = command(
        commands, "quarantine", _run, "list the quarantined rows by reason, with an example of each",
        "exporter quarantine lineage",
    )  # fmt: skip
    parser.add_argument("folder", type=here, metavar="DIR", help="what export wrote")
    parser.add_argument("--json", action="store_true", help="print the reasons as JSON")


def _run(arguments: argparse.Namespace) -> int:
    from exporter.publish.earlier import reasons, reasons_as_text

    found = reasons(arguments.folder)
    print(json.dumps(found, indent=1) if arguments.json else reasons_as_text(found, str(arguments.folder)))
    return 0
