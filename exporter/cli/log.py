"""``exporter log``: the runs that wrote a DIR."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from exporter.cli.commands import LOCAL_FOLDER, Argument, Command, as_json

if TYPE_CHECKING:
    from pathlib import Path


def _run(folder: Path, *, as_json: bool | None) -> int:
    from exporter.publish.earlier import runs, runs_as_text

    log = runs(folder)
    print(json.dumps(log, indent=1) if as_json else runs_as_text(log))
    return 0


COMMAND = Command(
    "log",
    _run,
    "show the runs that wrote a folder",
    "exporter log lineage",
    {
        "Options": [
            Argument("folder", "DIR", "what export wrote", **LOCAL_FOLDER),
            as_json("print the runs as JSON"),
        ]
    },
)
