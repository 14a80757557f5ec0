"""An export leaves DIR and what docs/setup.md names, and nothing else: not in the current folder, in the user's, or in
the one for temporary files. The test of the README's export says so of Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tests import golden

if TYPE_CHECKING:
    from pathlib import Path

ROWS = golden.EXAMPLES / "company-month" / "access_history.ndjson"
DEADLINE = 180.0
"""Seconds for Java to end after the program."""


def test_an_export_leaves_nothing_behind(tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("HOME", "TMPDIR", "here", "out")}
    for place in places.values():
        place.mkdir()
    own = {name: str(places[name]) for name in ("HOME", "TMPDIR")}
    environment = {**os.environ, **own}
    command = [sys.executable, "-m", "exporter", "export", str(ROWS), "--account", "ACME-RETAIL", "--engine", "local"]
    command += ["--out", str(places["out"] / "lineage")]
    ended = subprocess.run(command, check=False, cwd=places["here"], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    wait_until_empty(places["TMPDIR"])
    assert {name: left(place) for name, place in places.items()} == {
        "HOME": [],
        "TMPDIR": [],
        "here": [],
        "out": ["lineage"],
    }


def wait_until_empty(folder: Path) -> None:
    """Waits for Java, which ends after the program and then removes its temporary files."""
    until = time.monotonic() + DEADLINE
    while left(folder):
        assert time.monotonic() < until, f"left behind: {left(folder)}"
        time.sleep(0.2)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
