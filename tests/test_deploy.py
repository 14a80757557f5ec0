"""The daily script adds a day's rows once, and fails for a day without rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
EXAMPLE: Final = ROOT / "examples" / "01-view-example" / "access_history.json"


def daily(folder: Path, *day: str) -> subprocess.CompletedProcess[str]:
    """The script, with the rows and the lineage in a folder."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE_", "EXPORTER_"))}
    environ |= {"PATH": f"{Path(sys.executable).parent}:{environ['PATH']}", "EXPORTER_ENGINE": "local"}
    environ |= {"ROWS": f"{folder}/rows", "LINEAGE": f"{folder}/lineage", "EXPORTER_ACCOUNT": "A-B"}
    command = ["bash", str(ROOT / "deploy" / "daily"), *day]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_a_day_is_added_once_however_often_it_is_given(tmp_path: Path) -> None:
    day = tmp_path / "rows" / "2026-11-21"
    day.mkdir(parents=True)
    (day / "access_history_0.json").write_bytes(EXAMPLE.read_bytes())
    (day / "access_history_1.json").write_bytes(EXAMPLE.read_bytes())
    done = [daily(tmp_path, "2026-11-21") for _ in range(2)]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 2
    assert "  exported               0 " in done[1].stdout
    assert list((tmp_path / "lineage" / "graph").rglob("*.ttl"))


@pytest.mark.parametrize("day", [["2026-11-20"], []])
def test_a_day_without_rows_fails(tmp_path: Path, day: list[str]) -> None:
    done = daily(tmp_path, *day)
    assert done.returncode == 2
    assert "access_history*: no file matches it" in done.stderr
