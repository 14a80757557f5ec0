"""Measures the data that an export moves: ``python -m benchmarks.shuffle --rows 20000``.

It runs an export on this machine and prints, for each stage, the bytes for each row that are exchanged between tasks,
spilled and written; then the content of DIR, and the memory. docs/cluster.md has these numbers.

Bytes are those of Spark's event log. ``--most-partitions 1`` puts all rows into one partition of each exchange, to
measure large partitions. ``--log FILE --rows N`` reads the event log of another run, for example on a cluster.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measured import timed
from benchmarks.programs import ONCE, Bench

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from benchmarks.measured import Run

_REST: Final = "before, between and after"
_DESCRIPTION: Final = "spark.job.description"
_DEFAULTS: Final = """\
spark.eventLog.enabled true
spark.eventLog.dir file://{folder}
spark.eventLog.rolling.enabled false
spark.eventLog.compress false
"""
_EXPORT: Final = (
    "import sys; from exporter.cli import main; from exporter.engines import on_spark; "
    "on_spark._PARTITIONS = {most}; sys.exit(main())"
)
_NO_LIMIT: Final = 10_000


@dataclass
class Moved:
    """The bytes that the tasks of a stage moved."""

    tasks: int = 0
    exchanged: int = 0
    spilled: int = 0
    written: int = 0

    def add(self, metrics: dict[str, Any]) -> None:
        """One task's."""
        self.tasks += 1
        self.exchanged += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        self.spilled += metrics["Disk Bytes Spilled"]
        self.written += metrics["Output Metrics"]["Bytes Written"]


def moved(log: Iterable[str]) -> dict[str, Moved]:
    """The stages of an export by the names that it gives them, from the lines of an event log."""
    found: defaultdict[str, Moved] = defaultdict(Moved)
    names: dict[int, str] = {}
    for event in map(json.loads, log):
        if event["Event"] == "SparkListenerStageSubmitted":
            names[event["Stage Info"]["Stage ID"]] = event.get("Properties", {}).get(_DESCRIPTION, _REST)
        elif event["Event"] == "SparkListenerTaskEnd" and event.get("Task Metrics"):
            found[names[event["Stage ID"]]].add(event["Task Metrics"])
    return dict(found)


def table(stages: dict[str, Moved], rows: int) -> Iterator[str]:
    """In Markdown; the number of tasks, and bytes a row."""
    yield "| | tasks | exchanged | spilled | written |"
    yield "|---|---:|---:|---:|---:|"
    for name, stage in stages.items():
        tasks, *sizes = astuple(stage)
        yield f"| {name} | {tasks:,} | {' | '.join(f'{size / rows:,.0f}' for size in sizes)} |"


def left(out: Path, rows: int) -> Iterator[str]:
    """The content of DIR, by folder."""
    files: defaultdict[str, list[int]] = defaultdict(list)
    for one in json.loads((out / "manifest.json").read_text(encoding="utf-8"))["files"]:
        files[one["path"].rpartition("/")[0] or "beside them"].append(one["bytes"])
    for folder, sizes in files.items():
        yield f"- {folder}: {sum(sizes) / rows:,.0f} bytes a row in {len(sizes):,} files"


def _memory(run: Run) -> Iterator[str]:
    each = ", ".join(f"{kind} {size / 1e6:,.0f} MB" for kind, size in run.peak.items())
    yield f"- memory when it was most, on {len(os.sched_getaffinity(0))} cores: {each or 'too short to tell'}"


def _ran(given: argparse.Namespace, work: Path) -> Iterator[str]:
    bench = Bench([given.rows], work, seed=given.seed)
    history, logs, out = bench.history(given.rows, ONCE if given.once else None), work / "log", work / "lineage"
    logs.mkdir()
    (work / "spark-defaults.conf").write_text(_DEFAULTS.format(folder=logs), encoding="utf-8")
    os.environ["SPARK_CONF_DIR"] = str(work)
    code = _EXPORT.format(most=given.most_partitions)
    words = ("export", str(history), "--account", "BENCH-ACCOUNT", "--out", str(out))
    run, _ = timed((sys.executable, "-c", code, *words), work)
    size = history.stat().st_size
    yield f"{given.rows:,} rows, {size / 1e6:,.1f} MB, {size / given.rows:,.0f} bytes a row; {run.whole:,.0f} s\n"
    (log,) = logs.iterdir()
    with log.open(encoding="utf-8") as lines:
        yield from table(moved(lines), given.rows)
    yield ""
    yield from left(out, given.rows)
    yield from _memory(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.shuffle", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000, help="how many (default: 20000; 10000 or more are a round)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-partitions", type=int, default=_NO_LIMIT, metavar="N", help="of an exchange, at most")
    parser.add_argument("--once", action="store_true", help="rows of which no statement recurs")
    parser.add_argument("--log", type=Path, metavar="FILE", help="read this event log in place of a run")
    return parser


def main() -> int:
    given = _parser().parse_args()
    if given.log:
        with given.log.open(encoding="utf-8") as lines:
            print(*table(moved(lines), given.rows), sep="\n")
        return 0
    with tempfile.TemporaryDirectory() as work:
        print(*_ran(given, Path(work).resolve()), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
