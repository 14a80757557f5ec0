"""Measures small updates, one a day: ``python -m benchmarks.year --days 365 --rows 30``.

An update should cost what its day costs, however many days DIR has. Prints, after 10, 80 and all days, the seconds and
CPU seconds of an update (medians of three), its ratio to the tenth, and the files and bytes of DIR, as a table for
docs/benchmarks.md. On a disk that other programs write to, seconds tell little: give ``--work`` a folder in memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks import generate
from benchmarks.measured import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Sequence

_START: Final = '"query_start_time":"'
SHOWN: Final = (10, 80)
"""Numbers of days that are shown, beside the last one."""


class Update(NamedTuple):
    """One update: seconds from the process's start to its end, and CPU seconds of it."""

    seconds: float
    cpu: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.year", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--rows", type=int, default=30, help="rows of a day")
    parser.add_argument("--engine", choices=("local", "spark"), default="local")
    parser.add_argument("--work", type=Path, help="folder for rows and DIR, which are kept; else a temporary one")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        work = given.work or Path(scratch)
        out, updates = work / "out", list[Update]()
        print("| days in DIR | seconds | CPU seconds | times the 10th | files | MB |\n|---:|---:|---:|---:|---:|---:|")
        for number, rows in enumerate(_days(given.days, given.rows, work), start=1):
            updates.append(_update(rows, out, given.engine))
            if number in (*SHOWN, given.days):
                print(_line(updates, out), flush=True)
    return 0


def _days(days: int, rows: int, work: Path) -> list[Path]:
    """A file with the rows of each day."""
    folder = work / "rows"
    folder.mkdir(parents=True)
    say(f"making {days} days of {rows:,} rows")
    # The first day has few rows, which came late from the day before, and the last one may not be whole.
    sizes = replace(generate.Sizes.of((days + 2) * rows), period=timedelta(days=days + 2))
    generate.write(sizes, 1, folder / "all")
    with (folder / "all").open(encoding="utf-8") as lines:
        for line in lines:
            start = line.index(_START) + len(_START)
            with (folder / f"{line[start : start + 10]}.ndjson").open("a", encoding="utf-8") as day:
                day.write(line)
    return sorted(folder.glob("*.ndjson"))[1 : days + 1]


def _update(rows: Path, out: Path, engine: str) -> Update:
    command = [sys.executable, "-m", "exporter", "export", str(rows), "--account", "BENCH-MARK", "--update"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*command, "--engine", engine, "--out", str(out)], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Update(time.perf_counter() - start, cpu)


def _line(updates: list[Update], out: Path) -> str:
    tenth, last = (Update(*(median(one) for one in zip(*each, strict=True))) for each in (updates[7:10], updates[-3:]))
    sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
    times = f"{last.cpu / tenth.cpu:.2f}"
    return (
        f"| {len(updates)} | {last.seconds:.2f} | {last.cpu:.2f} | {times} | {len(sizes):,} | {sum(sizes) / 1e6:.0f} |"
    )


if __name__ == "__main__":
    sys.exit(main())
