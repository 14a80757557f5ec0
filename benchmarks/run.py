"""How fast: ``python -m benchmarks.run --rows 200000`` prints a Markdown table of rows a second, all from one run.

A bare Spark copy of the input's text, the rdflib loop (on a sample; as Turtle like the export, and as N-Triples), and
``exporter export`` without and with validation, each in a process of its own. Whole: the process from its start to its
end, the session's start included. Net: the seconds inside of it that the program itself reports. The input is generated
once and kept in ``--work``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks import generate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PYTHON: Final = (sys.executable, "-m")


class FailedRunError(Exception):
    """A measured program did not end well; its last words."""


@dataclass(frozen=True)
class Result:
    """One line of the table: medians over the runs, or why there are none."""

    name: str
    rows: int
    whole: float | None
    net: float | None
    note: str = ""

    def rate(self, seconds: float | None) -> float | None:
        return self.rows / seconds if seconds else None


@dataclass(frozen=True)
class Measured:
    """A program to measure: its command, and how to find its own seconds in its output."""

    name: str
    rows: int
    command: tuple[str, ...]
    net: Callable[[dict[str, Any]], float | None]
    note: str = ""

    def run(self, runs: int) -> Result:
        """Medians of so many runs; a program that fails is reported and not measured."""
        try:
            timed = [self._once() for _ in range(runs)]
        except FailedRunError as failure:
            return Result(self.name, self.rows, None, None, str(failure))
        nets = [net for _, net in timed if net is not None]
        whole = statistics.median(whole for whole, _ in timed)
        return Result(self.name, self.rows, whole, statistics.median(nets) if nets else None, self.note)

    def _once(self) -> tuple[float, float | None]:
        whole, printed = timed(self.command)
        return whole, self.net(_last_json(printed))


def timed(command: Sequence[str]) -> tuple[float, str]:
    """The seconds of a command from its start to its end, and what it printed; raises FailedRunError."""
    started = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    whole = time.perf_counter() - started
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise FailedRunError(f"exit code {done.returncode}: {words[-1][:120]}")
    return whole, done.stdout


def _last_json(output: str) -> dict[str, Any]:
    """The JSON object that ends the output: the whole of it, or its last line."""
    for text in (output, *output.strip().splitlines()[-1:]):
        try:
            return dict(json.loads(text))
        except ValueError:
            continue
    return {}


def _own_seconds(report: dict[str, Any]) -> float | None:
    seconds = report.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def _stage_seconds(report: dict[str, Any]) -> float | None:
    """The total of report.json's seconds by stage, less the start of the session where it is a stage."""
    stages = report.get("seconds", {})
    if not isinstance(stages, dict):
        return _own_seconds(report)
    named = {name: float(value) for name, value in stages.items() if isinstance(value, int | float)}
    return sum(value for name, value in named.items() if name not in ("total", "session")) or named.get("total")


def programs(given: argparse.Namespace, history: Path, work: Path) -> list[Measured]:
    """What is measured, in the order of the table."""
    sample, out = given.loop_rows, str(work / "out")
    copy = (*PYTHON, "benchmarks.copy_text", str(history), out)
    first = f"the first {sample:,} rows"
    loop = (*PYTHON, "benchmarks.rdflib_loop", str(history), "--rows", str(sample), "--out", out)
    whole = given.validated_rows == given.rows
    validated = history if whole else first_rows(history, given.validated_rows, work)
    return [
        Measured("bare Spark copy of the text", given.rows, copy, _own_seconds),
        Measured("rdflib loop, Turtle", sample, loop, _own_seconds, first),
        Measured("rdflib loop, N-Triples", sample, (*loop, "--format", "nt"), _own_seconds, first),
        Measured("exporter export, not validated", given.rows, _export(history, out, "--no-validate"), _stage_seconds),
        Measured(
            "exporter export, validated",
            given.validated_rows,
            _export(validated, out),
            _stage_seconds,
            "" if whole else f"the first {given.validated_rows:,} rows",
        ),
    ]


def _export(history: Path, out: str, *more: str) -> tuple[str, ...]:
    account = ("--account", "BENCH-ACCOUNT")
    return (*PYTHON, "exporter", "export", str(history), "--out", out, "--replace", "--json", *account, *more)


def first_rows(history: Path, rows: int, work: Path) -> Path:
    """The first rows of the history as a file of its own, kept in ``work``."""
    part = work / f"{history.stem}-first-{rows}.ndjson"
    with history.open(encoding="utf-8") as lines, part.open("w", encoding="utf-8", newline="\n") as head:
        head.writelines(itertools.islice(lines, rows))
    return part


def generated(rows: int, seed: int, work: Path) -> Path:
    """The history of so many rows, made if it is not there yet."""
    history = work / f"history-{rows}-{seed}.ndjson"
    if not history.exists():
        unfinished = history.with_suffix(".part")
        generate.write(generate.Sizes.of(rows), seed, unfinished)
        unfinished.rename(history)
    return history


def clear(out: Path) -> None:
    """Remove what a program wrote, so that the next one starts alike."""
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)


def table(results: list[Result]) -> str:
    """The results as Markdown; times the Turtle loop's rate and the copy's time are per row, whole / net."""
    copy, loop = results[0], results[1]
    lines = [
        "| what | rows | whole, s | net, s | rows/s whole | rows/s net | times the loop | times the copy's time | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for result in results:
        rates = (result.rate(result.whole), result.rate(result.net))
        faster = _pair(
            [_ratio(own, base) for own, base in zip(rates, (loop.rate(loop.whole), loop.rate(loop.net)), strict=True)]
        )
        slower = _pair(
            [_ratio(base, own) for own, base in zip(rates, (copy.rate(copy.whole), copy.rate(copy.net)), strict=True)]
        )
        numbers = (f"{result.rows:,}", _number(result.whole), _number(result.net), *(_number(rate) for rate in rates))
        lines.append(f"| {' | '.join((result.name, *numbers, faster, slower, result.note))} |")
    return "\n".join(lines)


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one and other else None


def _pair(values: list[float | None]) -> str:
    return " / ".join(_number(value) for value in values)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def machine() -> str:
    """Where this was measured, for the line above the table."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    usable = len(os.sched_getaffinity(0))
    return f"{usable} cores, {memory:.0f} GiB, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--validated-rows", type=int, help="rows for the run with validation; by default all")
    parser.add_argument("--loop-rows", type=int, default=3_000, help="rows for the rdflib loop (default: 3000)")
    parser.add_argument("--runs", type=int, default=1, help="runs of each program; the table shows medians")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder for the input and the outputs; by default a temporary one")
    given = parser.parse_args()
    given.validated_rows = min(given.validated_rows or given.rows, given.rows)
    given.loop_rows = min(given.loop_rows, given.rows)
    return given


def main() -> None:
    given = arguments()
    with ExitStack() as stack:
        work = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        history = generated(given.rows, given.seed, work)
        results: list[Result] = []
        for program in programs(given, history, work):
            print(f"{program.name}: {program.rows:,} rows", file=sys.stderr, flush=True)
            results.append(program.run(given.runs))
            clear(work / "out")
    size = f"{history.name}, {given.rows:,} rows" if given.work else f"{given.rows:,} rows"
    print(f"{size}, seed {given.seed}, {given.runs} run(s); {machine()}\n\n{table(results)}")


if __name__ == "__main__":
    main()
