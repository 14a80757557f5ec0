"""What is measured: the programs with their commands, and the histories that they read."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks import generate
from benchmarks.measured import ROOT, Program, Result, measured, say

if TYPE_CHECKING:
    from pathlib import Path

COPY, LOOP, EXPORT = "bare Spark copy of the text", "rdflib loop, N-Triples", "exporter export"
NOT_VALIDATED: Final = f"{EXPORT}, not validated"
EMPTY: Final = (
    "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate(); spark.range(10).count()"
)
ONCE: Final = "once"
"""A history in which no statement recurs."""
_PYTHON: Final = (sys.executable, "-m")
_ACCOUNT: Final = ("--account", "BENCH-ACCOUNT")
_PAUSE: Final = 2.0  # seconds, in which the JVM of the start before goes away


@dataclass
class Bench:
    """Measures programs, each on each history once. ``rows``: the sizes, least first; ``runs`` of each program, and of
    each that only starts; ``loop_rows``: how many rows the loop is given; ``work``: a folder for histories and outputs.
    """

    rows: list[int]
    work: Path
    runs: int = 1
    starts: int = 5
    loop_rows: int = 3_000
    loop_format: str = "nt"
    seed: int = 1
    _known: dict[Program, Result] = field(default_factory=dict)

    def history(self, rows: int, kind: str | None = None) -> Path:
        """The history of so many rows, made if it is not there yet. ``kind``: None, ONCE, or what is read."""
        history = self.work / f"history-{rows}-{self.seed}{f'-{kind}' if kind else ''}.ndjson"
        if not history.exists():
            say(f"making {history.name}")
            unfinished = history.with_suffix(".part")
            sizes = generate.Sizes.of(rows, shapes=rows) if kind == ONCE else generate.Sizes.of(rows, reads=kind)
            generate.write(sizes, self.seed, unfinished)
            unfinished.rename(history)
        return history

    def copy(self, rows: int) -> Result:
        """Spark reads the text and writes it back."""
        out = self.work / "out"
        command = (*_PYTHON, "benchmarks.copy_text", str(self.history(rows)), str(out))
        return self._once(Program(COPY, rows, command, self.work, out, _own_seconds))

    def loop(self, rows: int) -> Result:
        """The loop on the first rows: it takes as long for each."""
        out, sample = self.work / "out", min(self.loop_rows, rows)
        command = (*_PYTHON, "benchmarks.rdflib_loop", str(self.history(rows)), "--rows", str(sample))
        written = ("--out", str(out), "--format", self.loop_format)
        name = LOOP if self.loop_format == "nt" else "rdflib loop, Turtle"
        return self._once(Program(name, sample, (*command, *written), self.work, out, _own_seconds, rows))

    def export(self, rows: int, kind: str | None = None, *, is_validated: bool = True) -> Result:
        """Both outputs, as a whole."""
        program = self._export(self.history(rows, kind), rows, *(() if is_validated else ("--no-validate",)))
        return self._once(program)

    def first_result(self, rows: int) -> list[Result]:
        """An empty session of Spark with nothing set, and the export of a few rows, in turn."""
        empty = Program("an empty default session and one count", 0, (sys.executable, "-c", EMPTY), self.work)
        return measured([empty, self._export(self.history(rows), rows)], self.starts, _PAUSE)

    def example(self) -> list[Result]:
        """The example, without Spark."""
        folder, out = ROOT / "examples" / "company-month", self.work / "out"
        rows = folder / "access_history.ndjson"
        given = (str(rows), "--query-history", str(folder / "query_history.csv"), "--account", "ACME-RETAIL")
        command = (*_PYTHON, "exporter", "export", *given, "--engine", "local", "--out", str(out), "--json")
        lines = len(rows.read_bytes().splitlines())
        return measured([Program("the example, --engine local", lines, command, self.work, out, _net)], self.starts)

    def _export(self, history: Path, rows: int, *more: str) -> Program:
        out, wanted = self.work / "out", ("--outputs", "events,graph", "--json", *more)
        command = (*_PYTHON, "exporter", "export", str(history), *_ACCOUNT, "--out", str(out), *wanted)
        kind = history.stem.removeprefix(f"history-{rows}-{self.seed}").replace("-", ", ")
        name = f"{NOT_VALIDATED if more else EXPORT}{kind}"
        return Program(name, rows, command, self.work, out, _net)

    def _once(self, program: Program) -> Result:
        if program not in self._known:
            (self._known[program],) = measured([program], self.runs)
        return self._known[program]


def megabytes(history: Path) -> float:
    return history.stat().st_size / 1e6


def _own_seconds(printed: dict[str, Any]) -> float | None:
    seconds = printed.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def _net(report: dict[str, Any]) -> float | None:
    """The total of report.json, less the start of the session."""
    seconds = report.get("seconds", {})
    return seconds["total"] - seconds.get("session", 0.0) if "total" in seconds else None
