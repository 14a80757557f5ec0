"""How soon: ``python -m benchmarks.startup`` times the first result on a small file beside an empty default session.

Both from the shell, in turn, each in a process of its own: a Spark session with nothing set and one ``count``, and
``exporter export`` of 100 rows with everything validated. Prints a Markdown table; the ratio is that of the medians.
The default session needs a Java of the machine: the one among the packages lacks a module that Spark asks for there.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.run import FailedRunError, generated, timed

EMPTY: Final = "from pyspark.sql import SparkSession; print(SparkSession.builder.getOrCreate().range(100).count())"
PAUSE: Final = 2.0  # seconds, in which the JVM of the run before goes away


def table(times: dict[str, list[float]]) -> str:
    """Median, least and most of each, and how many times the first the median is."""
    unit = statistics.median(next(iter(times.values())))
    lines = ["| from the shell | median s | least | most | times the empty session |", "|---|---|---|---|---|"]
    for name, measured in times.items():
        middle = statistics.median(measured)
        lines.append(f"| {name} | {middle:.1f} | {min(measured):.1f} | {max(measured):.1f} | {middle / unit:.2f} |")
    return "\n".join(lines)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        history = generated(given.rows, given.seed, Path(folder))
        export = [sys.executable, "-m", "exporter", "export", str(history), "--account", "BENCH-ACCOUNT"]
        commands = {
            "an empty default session and one count": [sys.executable, "-c", EMPTY],
            f"exporter export, {given.rows} rows, validated": [*export, "--out", f"{folder}/out", "--replace"],
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _, name in itertools.product(range(given.runs), commands):
            time.sleep(PAUSE)
            try:
                times[name].append(timed(commands[name])[0])
            except FailedRunError as failure:
                print(f"not measured: {name} failed: {failure}", file=sys.stderr)
                return 1
    print(table(times))
    print(f"\nin turn, {given.runs} runs each, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
