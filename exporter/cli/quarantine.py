"""``exporter quarantine``: the rows that were quarantined, by reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from exporter.cli.commands import HERE, Argument, Command, as_json

if TYPE_CHECKING:
    from pathlib import Path


def _run(folder: Path, *, as_json: bool | None) -> int:
    from exporter.publish.earlier import reasons, reasons_as_text

    found = reasons(folder)
    print(json.dumps(found, indent=1) if as_json else reasons_as_text(found, str(folder)))
    return 0


COMMAND = Command(
    "quarantine",
    _run,
    "list the quarantined rows by reason, with an example of each",
    "exporter quarantine lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote", **HERE),
            as_json("print the reasons as JSON"),
        ]
    },
)
