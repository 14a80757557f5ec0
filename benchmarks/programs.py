"""The programs that are measured, with their commands, and the histories that they read."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from benchmarks import anchors, generate
from benchmarks.measured import ROOT, Program, Result, measured, say, timed

if TYPE_CHECKING:
    from pathlib import Path

ONCE: Final = "once"
"""A history in which no statement recurs."""
_WORDS: Final = {generate.EVEN: "even", generate.HOT: "one hot table", ONCE: "no statement recurs"}
_EMPTY: Final = (
    "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate(); spark.range(10).count()"
)
_PYTHON: Final = (sys.executable, "-m")
_OUT: Final = ("--json", "--out")
_PAUSE: Final = 2.0  # seconds, in which the JVM of the start before goes away


@dataclass
class Bench:
    """Measures programs, each on each history once. ``rows``: the sizes, smallest first; ``runs``: of each program, and
    of each that only starts; ``loop_rows``: how many rows the loop reads; ``work``: a folder for histories and outputs;
    ``morph_kgc``: an interpreter that has it, None where it is not measured.
    """

    rows: list[int]
    work: Path
    runs: int = 1
    starts: int = 5
    loop_rows: int = 3_000
    loop_format: str = "nt"
    seed: int = 1
    morph_kgc: str | None = None
    _known: dict[Program, Result] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        """The output of each program, which is removed afterwards."""
        return self.work / "out"

    def history(self, rows: int, kind: str | None = None) -> Path:
        """The history of so many rows, generated if it does not exist. ``kind``: None, ONCE, or the value of
        --reads.
        """
        history = self.work / f"history-{rows}-{self.seed}{f'-{kind}' if kind else ''}.ndjson"
        if not history.exists():
            say(f"making {history.name}")
            unfinished = history.with_suffix(".part")
            sizes = generate.Sizes.of(rows, shapes=rows) if kind == ONCE else generate.Sizes.of(rows, reads=kind)
            generate.write(sizes, self.seed, unfinished)
            unfinished.rename(history)
        return history

    def copy(self, rows: int) -> Program:
        """Spark reads the text and writes it back."""
        command = (*_PYTHON, "benchmarks.copy_text", str(self.history(rows)), str(self.out))
        return Program("bare Spark copy of the text", rows, command, self.work, self.out, _own_seconds)

    def loop(self, rows: int) -> Program:
        """The loop on the first rows; it takes the same time for each row."""
        sample = min(self.loop_rows, rows)
        command = (*_PYTHON, "benchmarks.rdflib_loop", str(self.history(rows)), "--rows", str(sample))
        written = ("--out", str(self.out), "--format", self.loop_format)
        name = "rdflib loop, N-Triples" if self.loop_format == "nt" else "rdflib loop, Turtle"
        return Program(name, sample, (*command, *written), self.work, self.out, _own_seconds, rows)

    def export(
        self,
        rows: int,
        kind: str | None = None,
        *,
        is_validated: bool = True,
        is_compressed: bool = False,
        is_local: bool = False,
    ) -> Program:
        """The export with both outputs."""
        given = (("--no-validate", not is_validated), ("--compress=gzip", is_compressed), ("--engine=local", is_local))
        wanted = ("--outputs", "events,graph", *(option for option, is_given in given if is_given))
        command = (*_PYTHON, "exporter", "export", str(self.history(rows, kind)), "--account", "BENCH-ACCOUNT")
        name = "exporter export" + (f", {_WORDS[kind]}" if kind else "") + ("" if is_validated else ", not validated")
        name += (", compressed" if is_compressed else "") + (", --engine local" if is_local else "")
        return Program(name, rows, (*command, *wanted, *_OUT, str(self.out)), self.work, self.out, _net)

    def session(self) -> Program:
        """Spark with default settings, and one count."""
        return Program("an empty default session and one count", 0, (sys.executable, "-c", _EMPTY), self.work)

    def example(self) -> Program:
        """The example, without Spark."""
        folder = ROOT / "examples" / "company-month"
        rows, queries = folder / "access_history.ndjson", folder / "query_history.csv"
        given = (str(rows), "--query-history", str(queries), "--account", "ACME-RETAIL", "--engine", "local")
        command = (*_PYTHON, "exporter", "export", *given, *_OUT, str(self.out))
        lines = len(rows.read_bytes().splitlines())
        return Program("the example, --engine local", lines, command, self.work, self.out, _net)

    def graph(self, rows: int, engine: str, kind: str | None = None) -> Program:
        """The export of the graph alone."""
        command = (*_PYTHON, "exporter", "export", str(self.history(rows, kind)), "--account", "BENCH-ACCOUNT")
        given = ("--outputs", "graph", "--engine", engine, *_OUT, str(self.out))
        name = f"exporter export, graph alone, {engine}" + (f", {_WORDS[kind]}" if kind else "")
        return Program(name, rows, (*command, *given), self.work, self.out, _net)

    def written(self, program: Program) -> Path:
        """The graph that an export of the graph alone writes, as one file; it is kept."""
        kept = self.work / f"{program.name.replace(' ', '-').replace(',', '')}-{program.rows}.ttl"
        if not kept.exists():
            say(f"making {kept.name}")
            timed(program.command, self.work)
            parts = sorted((self.out / "graph").rglob("*.ttl"))
            kept.write_bytes(b"".join(part.read_bytes() for part in parts))
            shutil.rmtree(self.out)
        return kept

    def convert(self, graph: Path, rows: int, of: str) -> Program:
        """The graph in Turtle, parsed and written as N-Triples."""
        command = (*_PYTHON, "benchmarks.anchors", "convert", str(graph), str(self.out))
        return Program(f"pyoxigraph, Turtle to N-Triples, of {of}", rows, command, self.work, self.out, _own_seconds)

    def bytes_copied(self, rows: int) -> Program:
        command = (*_PYTHON, "benchmarks.anchors", "copy", str(self.history(rows)), str(self.out))
        return Program("the rows read and written as bytes", rows, command, self.work, self.out, _own_seconds)

    def flat(self, rows: int) -> Program | None:
        """morph-kgc on a flat mapping of the rows; None where it is not there."""
        if self.morph_kgc is None:
            return None
        folder = self.work / f"flat-{rows}"
        anchors.flat(self.history(rows), folder)
        return Program("morph-kgc, a flat mapping", rows, (self.morph_kgc, "-m", "morph_kgc", anchors.CONFIG), folder)

    def begin(self) -> None:
        """Run an export that is not measured. After it Java has its cache of Spark's classes, as a user's has."""
        measured([self.export(min(self.rows[0], 100))], 1)

    def measured(self, *programs: Program) -> list[Result]:
        """The results of the programs, run in turn; a program that was measured before is not measured again."""
        new = [program for program in programs if program not in self._known]
        self._known |= dict(zip(new, measured(new, self.runs), strict=True))
        return [self._known[program] for program in programs]

    def started(self, *programs: Program) -> list[Result]:
        """The same for programs that only start: run more often, with a pause before each."""
        return measured(programs, self.starts, _PAUSE)


def megabytes(history: Path) -> float:
    return history.stat().st_size / 1e6


def _own_seconds(printed: dict[str, Any]) -> float | None:
    seconds = printed.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def _net(report: dict[str, Any]) -> float | None:
    """The total of report.json, less the start of the session."""
    seconds = report.get("seconds", {})
    return seconds["total"] - seconds.get("session", 0.0) if "total" in seconds else None
