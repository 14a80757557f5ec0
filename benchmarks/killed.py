"""Kills a worker during an export: ``python -m benchmarks.killed``.

It starts a standalone cluster of two workers on this machine. It runs an export without faults, and then with one
worker killed (SIGKILL, with its executor and all its data) while rows are read, and while the outputs are written. It
prints how many tasks were repeated, and whether events and triples are those of ``--engine local``; exit code 1 if not.

``--folder``: the URI, reachable for Spark, where DIR is made; ``--folder hdfs://localhost:9000/tried`` uses HDFS.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pyspark
from pyspark.sql import functions as F

from benchmarks.measured import ROOT, say
from benchmarks.programs import Bench
from exporter.engines import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

STAGES: Final = {"reading rows": "numActiveTasks", "validating and writing": "shuffleReadBytes"}
"""Spark's names of the stages, and a counter that is above 0 in the middle of each."""
_SAME: Final = {"events": "events", "triples": "graph"}
_HOME: Final = Path(pyspark.__file__).parent
_CLASSES: Final = "org.apache.spark.deploy"
_DEFAULTS: Final = """\
spark.master spark://127.0.0.1:{master}
spark.ui.enabled true
spark.ui.port {ui}
spark.executor.memory 1g
spark.executor.heartbeatInterval 1s
spark.shuffle.readHostLocalDisk false
spark.eventLog.enabled true
spark.eventLog.dir file://{log}
spark.eventLog.rolling.enabled false
spark.eventLog.compress false
"""


def _port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass
class Cluster:
    """A master and two workers; each has its own folder."""

    work: Path
    master: int = field(default_factory=_port)
    ui: int = field(default_factory=_port)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        (self.work / "log").mkdir()
        text = _DEFAULTS.format(master=self.master, ui=self.ui, log=self.work / "log")
        (self.work / "spark-defaults.conf").write_text(text, encoding="utf-8")
        self._start("master", "master.Master", "--port", str(self.master))
        self.heal()
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._running):
            self.kill(name)

    def heal(self) -> None:
        """Starts the workers that do not run."""
        for name in ("one", "two"):
            if name not in self._running:
                given = ("--cores", "1", "--memory", "2g", "--work-dir", str(self.work / name))
                self._start(name, "worker.Worker", *given, f"spark://127.0.0.1:{self.master}")

    def kill(self, name: str) -> None:
        """A process, what it started, and what it kept."""
        process = self._running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(self.work / f"{name}-local", ignore_errors=True)

    def environment(self, name: str) -> dict[str, str]:
        own = {"SPARK_HOME": str(_HOME), "SPARK_CONF_DIR": str(self.work), "SPARK_LOCAL_IP": "127.0.0.1"}
        return {**os.environ, **own, "SPARK_LOCAL_DIRS": str(self.work / f"{name}-local"), "PYTHONPATH": str(ROOT)}

    def _start(self, name: str, what: str, *given: str) -> None:
        command = [str(_HOME / "bin" / "spark-class"), f"{_CLASSES}.{what}", "--host", "127.0.0.1", "--webui-port", "0"]
        with (self.work / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [*command, *given], env=self.environment(name), stdout=log, stderr=log, start_new_session=True
            )

    def is_within(self, stage: str) -> bool:
        """Whether an application is in the middle of a stage now."""
        opener, where = build_opener(ProxyHandler({})), f"http://127.0.0.1:{self.ui}/api/v1/applications"
        try:
            for application in json.load(opener.open(where, timeout=5)):
                active = json.load(opener.open(f"{where}/{application['id']}/stages?status=active", timeout=5))
                if any(one.get("description") == stage and one[STAGES[stage]] for one in active):
                    return True
        except (URLError, OSError, ValueError):  # it has not begun, or is over
            return False
        return False


@dataclass(frozen=True)
class Tried:
    """A run. ``tasks``: the number that succeeded; ``lost``: of those that failed."""

    code: int
    seconds: float
    tasks: int
    lost: int


def tried(cluster: Cluster, command: list[str], stage: str | None) -> Tried:
    """Runs the command; if a stage is given, kills a worker in the middle of it."""
    cluster.heal()
    began = time.perf_counter()
    process = subprocess.Popen(command, env=cluster.environment("driver"), cwd=cluster.work, stdout=subprocess.DEVNULL)
    while stage and process.poll() is None:
        if cluster.is_within(stage):
            cluster.kill("one")
            say(f"killed a worker after {time.perf_counter() - began:.0f} s: {stage}")
            break
        time.sleep(0.05)
    code = process.wait()
    log = max((cluster.work / "log").iterdir(), key=lambda path: path.stat().st_mtime)
    ends = list(_ends(log))
    good = ends.count("Success")
    return Tried(code, time.perf_counter() - began, good, len(ends) - good)


def _ends(log: Path) -> Iterator[str]:
    """The reasons for the ends of tasks."""
    with log.open(encoding="utf-8") as lines:
        for event in map(json.loads, lines):
            if event["Event"] == "SparkListenerTaskEnd":
                yield event["Task End Reason"]["Reason"]


def content(spark: SparkSession, out: str) -> dict[str, Any]:
    """The numbers of events and triples, and the sums of their hashes, which do not depend on order and files."""
    found = {}
    for name, folder in _SAME.items():
        lines = spark.read.text(f"{out}/{folder}")
        hashed = F.sum(F.xxhash64("value").cast("decimal(38)"))
        row = lines.agg(F.count("value").alias("lines"), hashed.alias("hashes")).first()
        found[name] = (row["lines"], str(row["hashes"])) if row else None
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.killed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000, help="how many (default: 20000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", metavar="URI", help="where DIR is made (default: a temporary folder)")
    return parser


def main() -> int:
    given = _parser().parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the cluster ends with this process
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        history = Bench([given.rows], work, seed=given.seed).history(given.rows)
        folder = (given.folder or f"file://{work}/out").rstrip("/")
        export = [sys.executable, "-m", "exporter", "export", f"file://{history}", "--account", "BENCH-ACCOUNT"]
        export += ["--graph-format", "ntriples", "--replace", "--out"]
        subprocess.run([*export, str(work / "local"), "--engine", "local"], check=True, cwd=ROOT, stdout=sys.stderr)
        runs: dict[str | None, Tried] = {}
        with Cluster(work) as cluster:
            for number, stage in enumerate((None, *STAGES)):
                runs[stage] = tried(cluster, [*export, f"{folder}/{number}"], stage)
        spark = session.start(None)
        wanted = content(spark, f"file://{work}/local")
        print("| a worker is killed while | exit code | seconds | tasks lost | tasks repeated | events | triples |")
        print("|---|---:|---:|---:|---:|---|---|")
        is_same = True
        for number, (stage, run) in enumerate(runs.items()):
            there = content(spark, f"{folder}/{number}") if run.code == 0 else {}
            same = ["the same" if there.get(name) == wanted[name] else "other" for name in _SAME]
            is_same &= set(same) == {"the same"}
            more = run.tasks - runs[None].tasks
            cells = [stage or "(none)", str(run.code), f"{run.seconds:.0f}", str(run.lost), str(more), *same]
            print(f"| {' | '.join(cells)} |")
        print(f"\n{wanted['events'][0]:,} events, {wanted['triples'][0]:,} triples")
    return 0 if is_same else 1


if __name__ == "__main__":
    sys.exit(main())
