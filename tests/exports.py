"""Whole exports for the tests: from rows to the output folder; and one export of everything, made once in a run."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
from pyoxigraph import RdfFormat, parse

from exporter.cli import main
from exporter.system import files as compressed
from tests import golden
from tests.histories import Json, random_history

if TYPE_CHECKING:
    from collections.abc import Iterable

ACCOUNT: Final = "ACME-PROD"
SEEDS: Final = range(8)
Triple = tuple[str, str, str]


@cache
def all_rows() -> tuple[Json, ...]:
    """The rows of the examples and of random histories, each in an account of its own: their ids must not meet."""
    examples = [(folder.name, golden.rows(folder)) for folder in golden.folders()]
    random = [(f"random-{seed}", random_history(seed, 15)) for seed in SEEDS]
    return tuple(
        {**row, "organization_name": "TEST", "account_name": name} for name, rows in examples + random for row in rows
    )


@cache
def everything() -> Path:
    """What an export of :func:`all_rows` leaves; the same folder for all tests of a run, so only to be read."""
    folder = Path(tempfile.mkdtemp(prefix="exporter-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    rows = ndjson(all_rows(), folder / "rows.ndjson")
    assert export([rows], folder / "out", "--outputs", "events,graph,facts") == 0
    return folder / "out"


def ndjson(rows: Iterable[Json], path: Path) -> Path:
    """The rows in a file, one a line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def without_progress(said: str) -> str:
    """What a program says, without the lines that tell once a minute, on a slow machine, what is being done."""
    return "".join(line for line in said.splitlines(keepends=True) if not re.match(r"exporter: [\d.]+ s  ", line))


def export(inputs: Iterable[Path | str], out: Path, *options: str, engine: str = "local") -> int:
    """``exporter export`` in this process; returns its exit code."""
    given = ["--account", ACCOUNT, "--out", str(out), "--engine", engine]
    return main(["export", *map(str, inputs), *given, *options])


def triples(out: Path) -> set[Triple]:
    """The triples of all files of the graph, as N-Triples terms."""
    texts = [compressed.text(file) for file in compressed.find_files(out / "graph", ".ttl")]
    quads = [quad for text in texts for quad in parse(text, RdfFormat.TURTLE)]
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads}


def events(out: Path) -> list[str]:
    """The events as sorted lines with sorted keys."""
    texts = [compressed.text(file) for file in compressed.find_files(out / "events", ".ndjson")]
    lines = [line for text in texts for line in text.split("\n") if line]
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in lines)


def facts(out: Path, name: str) -> list[dict[str, Any]]:
    """A table of facts as plain rows."""
    return list(pq.read_table(out / "facts" / name).to_pylist())


def report(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "report.json").read_text(encoding="utf-8")))


def quarantine(out: Path) -> list[dict[str, Any]]:
    """What was set aside."""
    files = sorted((out / "quarantine").glob("*.ndjson"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").split("\n") if line]


def without_rights(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run it in a process that has to keep to the modes of files, which root has not."""

    def drop() -> None:
        for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP

    environ = {**os.environ, "PYTHONPATH": str(golden.ROOT)}
    before = drop if os.geteuid() == 0 and sys.platform == "linux" else None
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, preexec_fn=before)
