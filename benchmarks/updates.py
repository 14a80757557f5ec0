"""Measures an update: ``python -m benchmarks.updates`` adds one day to DIRs of 1, 7 and 30 days.

Each day has the rows of a day of a large account. The last day is exported alone, as a user would do it, and then added
to each DIR; to the largest DIR, a row that is five days late is added too: one that only reads, and one that writes, at
the end of its day. Prints a table for docs/benchmarks.md. Exit code 1 if the last day costs more than allowed. A run
with 30 days of 20,000 rows needs 30 GB and most of an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import generate
from benchmarks.measured import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Sequence

ASKED: Final = 1.5
_START: Final = '"query_start_time":"'
_LATE: Final = 5


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates", description=__doc__.split("\n\n", maxsplit=1)[0]
    )
    parser.add_argument("--days", default="1,7,30", help="days that DIRs have before the last is added")
    parser.add_argument("--rows", type=int, default=20_000, help="rows of a day")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--work", type=Path, help="folder for rows and for DIRs, which are kept for the next time; else a temporary one"
    )
    parser.add_argument("--no-changes", action="store_true", help="update with --no-changes")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        return _measure(given, given.work or Path(scratch))


def _measure(given: argparse.Namespace, work: Path) -> int:
    days = _days(given, work)
    *earlier, last = sorted(days)
    alone = _seconds([days[last]], work / "alone")
    print("| what | days in DIR | days written | seconds | times the day alone |\n|---|---:|---:|---:|---:|")
    print(f"| export of the last day alone | - | - | {alone:.1f} | 1.0 |")
    holds = True
    options = ["--update", *(["--no-changes"] if given.no_changes else [])]
    added, late = work / "added", work / "late"
    for number in sorted(int(one) for one in given.days.split(",")):
        out = work / f"{number}-days-of-{given.rows}-rows"
        if not out.is_dir():
            _seconds([days[day] for day in earlier[-number:]], out, *options)
        _copy(out, added)
        took = _seconds([days[last]], added, *options)
        holds = holds and took <= ASKED * alone
        print(f"| the last day is added | {number} | 1 | {took:.1f} | {took / alone:.2f} |", flush=True)
    for what, row in _late(days[earlier[-_LATE]]).items():
        rows = work / "late.ndjson"
        rows.write_text(row, encoding="utf-8")
        _copy(added, late)
        took = _seconds([rows], late, *options)
        made = len(json.loads((late / "log.json").read_text(encoding="utf-8"))[-1]["made"])
        print(
            f"| a row that {what} comes {_LATE} days late | {number + 1} | {made} | {took:.1f} | {took / alone:.2f} |"
        )
    return 0 if holds else 1


def _copy(out: Path, to: Path) -> None:
    """An update replaces files and does not write into them, so links are a copy."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(out, to, copy_function=os.link)


def _days(given: argparse.Namespace, work: Path) -> dict[str, Path]:
    """Files with the rows of each day: as many days as requested, and the last one."""
    number = max(int(one) for one in given.days.split(",")) + 1
    folder = work / f"days-of-{given.rows}-rows-{given.seed}"
    if not folder.is_dir():
        say(f"making {number} days of {given.rows:,} rows")
        folder.mkdir(parents=True)
        whole = folder / "all.ndjson"
        generate.write(generate.Sizes.of(generate.PERIOD.days * given.rows), given.seed, whole)
        with whole.open(encoding="utf-8") as lines:
            for line in lines:
                start = line.index(_START) + len(_START)
                with (folder / f"{line[start : start + 10]}.ndjson").open("a", encoding="utf-8") as day:
                    day.write(line)
        whole.unlink()
    found = {path.stem: path for path in sorted(folder.glob("*.ndjson"))}
    # The first has the few rows that came late from the day before, and the last may not be whole.
    return dict(list(found.items())[-number:])


def _late(day: Path) -> dict[str, str]:
    """The first row of a day that only reads, and the last one that writes, as rows that no file has."""
    rows = [json.loads(line) for line in day.read_text(encoding="utf-8").splitlines()]
    reads = next(row for row in rows if not (row.get("objects_modified") or row.get("object_modified_by_ddl")))
    writes = next(row for row in reversed(rows) if row.get("objects_modified"))
    each = {"reads": reads, "writes": writes}
    return {what: json.dumps({**row, "query_id": f"late-{row['query_id']}"}) for what, row in each.items()}


def _seconds(inputs: list[Path], out: Path, *options: str) -> float:
    """From the process's start to its end."""
    if not options and out.exists():
        shutil.rmtree(out)
    command = [
        sys.executable,
        "-m",
        "exporter",
        "export",
        *map(str, inputs),
        "--account",
        "BENCH-MARK",
        "--out",
        str(out),
    ]
    start = time.perf_counter()
    subprocess.run([*command, *options], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
