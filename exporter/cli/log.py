"""``exporter log``: the runs that wrote a DIR."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from exporter.cli.commands import HERE, Argument, Command, as_json

if TYPE_CHECKING:
    from pathlib import Path


def _run(folder: Path, *, as_json: bool | None) -> int:
    from exporter.publish.earlier import runs, runs_as_text

    found = runs(folder)
    print(json.dumps(found, indent=1) if as_json else runs_as_text(found))
    return 0


COMMAND = Command(
    "log",
    _run,
    "show the runs that wrote a folder",
    "exporter log lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote", **HERE),
            as_json("print the runs as JSON"),
        ]
    },
)
