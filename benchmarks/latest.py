"""Tests that ``push --runs latest`` loses no edges, and counts what it leaves out: ``python -m benchmarks.latest``
prints JSON.

A history of so many rows with so many shapes of a job is exported and pushed twice, all runs and the latest of each
job, to two small fake servers that behave like Marquez. Then the graphs and columns of both are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from exporter.cli import main as exporter
from tests.marquez import api, shapes, standin

ACCOUNT = "SHAPES-ACCOUNT"
SPACE = f"snowflake://{ACCOUNT}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--shapes", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = exported(Path(scratch), given.rows, given.shapes)
        every, latest = (pushed(folder, runs) for runs in ("all", "latest"))
    same = {what: every.pop(what) == latest.pop(what) for what in ("edges", "columns", "fields")}
    print(
        json.dumps({"rows": given.rows, "shapes": given.shapes, "all": every, "latest": latest, "same": same}, indent=1)
    )


def exported(scratch: Path, rows: int, kinds: int) -> Path:
    history, out = scratch / "rows.ndjson", scratch / "out"
    with history.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in shapes.history(ACCOUNT, rows, kinds))
    with contextlib.redirect_stdout(io.StringIO()):
        wanted = ("--outputs", "events", "--no-validate")  # the push is measured here, not the shapes
        code = exporter(["export", str(history), "--account", ACCOUNT, *wanted, "--out", str(out)])
    assert code == 0, f"the export ended with {code}"
    return out


def pushed(folder: Path, runs: str) -> dict[str, Any]:
    """The numbers of one push, and what its server shows afterwards."""
    with standin.started() as server:
        os.environ["OPENLINEAGE_URL"] = server.url
        begun, said = time.monotonic(), io.StringIO()
        with contextlib.redirect_stdout(said):
            code = exporter(["push", str(folder), "--profile", "marquez", "--runs", runs, "--json"])
        seconds = time.monotonic() - begun
        assert code == 0, f"the push ended with {code}"
        marquez = api.Marquez(server.url)
        datasets = list(marquez.listed(SPACE, "datasets"))
        shown = {"edges": graph(marquez), "columns": api.column_edges(datasets)}
        counts = {"events": json.loads(said.getvalue())["delivered"], "seconds": round(seconds, 1)}
        found = {"edges found": len(shown["edges"]), "column edges found": len(shown["columns"])}
        return {**counts, **found, **shown, "fields": {one["name"]: api.fields(one) for one in datasets}}


def graph(marquez: api.Marquez) -> set[tuple[str, str]]:
    """The edges of every job."""
    found: set[tuple[str, str]] = set()
    for job in marquez.listed(SPACE, "jobs"):
        own = f"job:{job['namespace']}:{job['name']}"
        found |= {(f"dataset:{one['namespace']}:{one['name']}", own) for one in job["inputs"]}
        found |= {(own, f"dataset:{one['namespace']}:{one['name']}") for one in job["outputs"]}
    return found


if __name__ == "__main__":
    main()
