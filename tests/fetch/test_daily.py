"""The script ``deploy/daily`` with rows from Snowflake."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.fetch.snowflake import ACCESS_HISTORY
from tests.fetch.snow import Snow, month
from tests.pages import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result:UserWarning")
DAY = datetime.now(UTC).date() - timedelta(days=1)


def daily(folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OPENLINEAGE_", "EXPORTER_"))}
    environ |= {"PATH": f"{Path(sys.executable).parent}:{environ['PATH']}", "EXPORTER_ENGINE": "local", "KEEP": "4"}
    environ |= {"ROWS": f"{folder}/rows", "LINEAGE": f"{folder}/lineage", "FETCH_CONNECTION": "lineage"}
    command = ["bash", str(ROOT / "deploy" / "daily")]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


def test_rows_are_fetched_and_added_and_late_ones_the_next_time(snowflake: Snow, tmp_path: Path) -> None:
    rows = [{**row, "query_start_time": f"{DAY} 08:00:0{at}+00:00"} for at, row in enumerate(month()[:4])]
    snowflake.put(ACCESS_HISTORY, rows[:3])
    first = daily(tmp_path)
    assert (first.returncode, "  exported               3 " in first.stdout) == (0, True), first.stderr
    snowflake.put(ACCESS_HISTORY, rows[3:])
    second = daily(tmp_path)
    assert second.returncode == 0, second.stderr
    assert "  exported               1 " in second.stdout
    assert "  duplicates             3 " in second.stdout
