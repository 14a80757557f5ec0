"""The Spark session: the one that is there already, or a local one tuned to the size of the input.

A small input is over before a JVM is warm, so what counts is start-up: quick compilation, interpreted expressions,
classes mapped from an archive that the set-up recorded. A large one earns the full compiler, memory and partitions.
``python -m benchmarks.startup`` measures the first against an empty default session.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from exporter.errors import UsageError

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

SMALL: Final = 16 * 2**20
"""Bytes of input below which the session is made to start quickly."""

RECORD: Final = "EXPORTER_RECORD_CLASSES"
"""The environment variable with which the set-up has a run record the classes it loads, see :func:`class_archive`."""

_MEANING: Final = {
    # What the results depend on, so it is set in a session that others started, too.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # Python functions get and give plain values; through Arrow they would need pandas as well, and warn without it.
    "spark.sql.execution.pythonUDF.arrow.enabled": "false",
}
_LOCAL: Final = {
    # Loopback only: nothing listens to the network, and no warning about the name of the machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Every call of a PySpark function would ask the JVM five times where in our code it stands.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # upper() and lower() through ICU take more than a second for their tables and give the same for every character.
    "spark.sql.icu.caseMappings.enabled": "false",
    # No .crc files beside the output, no process started for each to set its mode, and no stale .crc refuses an input.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # Output becomes visible as a whole folder later, so the second renaming and the marks of success are for nothing.
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_SMALL: Final = {
    "spark.sql.adaptive.enabled": "false",
    # What follows a union is planned once and not once for each of its parts.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# In one partition a join needs nobody else's rows, and a broadcast would be a job of its own.
_ONE_PARTITION: Final = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
# upper() and lower() follow the JVM's language: in a Turkish one the letter i has other capitals.
_JAVA: Final = ("-XX:MetaspaceSize=256m", "-Duser.language=en", "-Duser.country=US")
# The quick compiler's code has little room by default, and the JVM would sweep it over and over.
_JAVA_SMALL: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m")
_JAVA_LARGE: Final = ("-XX:+UseParallelGC",)

_engine_log: IO[bytes] | None = None


def start(
    input_bytes: int | None, *, app_name: str = "access-history-exporter", master: str | None = None
) -> SparkSession:
    """The session to work in: one that is there already is used as it is, else a local one is started.

    ``input_bytes`` is the size of the input as it will be read; None means unknown, and is taken for large.
    ``master`` is Spark's own notation, by default every core of this machine. What ``PYSPARK_SUBMIT_ARGS`` says goes
    before the choices made here. Raises UsageError where no JVM starts.
    """
    spark = SparkSession.builder.getOrCreate() if _is_given() else _local(input_bytes, app_name, master)
    for key, value in _MEANING.items():
        spark.conf.set(key, value)
    return spark


def warm_worker(spark: SparkSession, *modules: str) -> threading.Thread:
    """Have a Python worker of Spark start and import ``modules`` while the session does other work.

    The worker stays, and the first job that needs one finds it; waiting for the thread is not needed.
    """

    def touch(_: object) -> str:
        for name in modules:
            __import__(name)
        return ""

    def run() -> None:
        # Written, if to nowhere: a column that nobody reads would be dropped, and the worker with it.
        touched = spark.range(0, 1, numPartitions=1).select(F.udf(touch, "string", useArrow=False)("id"))
        touched.write.format("noop").mode("overwrite").save()

    thread = threading.Thread(target=run, name="warm-worker", daemon=True)
    thread.start()
    return thread


def engine_log(lines: int = 20) -> str:
    """The last lines of what Spark and its workers print, which no terminal shows: for the report of a fault."""
    if _engine_log is None:
        return ""
    # The JVM writes at the position that it shares with us: read without moving it.
    number = _engine_log.fileno()
    end = os.fstat(number).st_size
    text = os.pread(number, 2**16, max(0, end - 2**16)).decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def class_archive() -> Path:
    """Where the set-up keeps the classes of a run, mapped ready for use; a JVM that they do not fit goes on without."""
    return Path(sys.prefix, "share", "access-history-exporter", "classes.jsa")


def _is_given() -> bool:
    """Whether a session, or a driver that waits for one (spark-submit, Spark Connect), is there."""
    outside = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
    has_session = SparkSession.getActiveSession() is not None or SparkContext._active_spark_context is not None  # noqa: SLF001 - PySpark has no public look that does not create one
    return has_session or any(name in os.environ for name in outside)


def _local(input_bytes: int | None, app_name: str, master: str | None) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.app.name": app_name,
        "spark.master": master or "local[*]",
        **_MEANING,
        **_LOCAL,
        **_sized(input_bytes),
    }
    gateway = _gateway(settings)
    SparkContext(gateway=gateway)
    spark = SparkSession.builder.getOrCreate()
    if spark.version != pyspark.__version__:
        raise UsageError(
            f"Spark {spark.version} was found in {os.environ.get('SPARK_HOME')}, "
            f"this program needs {pyspark.__version__}: unset SPARK_HOME to use the one that came with it"
        )
    return spark


def _sized(input_bytes: int | None) -> dict[str, str]:
    """Settings by the size of the input in bytes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if input_bytes is not None and input_bytes < SMALL:
        partitions = max(1, min(cores, input_bytes // 2**20))
        return {
            **_SMALL,
            **(_ONE_PARTITION if partitions == 1 else {}),
            "spark.sql.shuffle.partitions": str(partitions),
            "spark.driver.extraJavaOptions": _java_options(_JAVA_SMALL),
        }
    return {
        "spark.driver.memory": f"{_memory() // 2 >> 20}m",
        "spark.sql.shuffle.partitions": str(4 * cores),
        "spark.driver.extraJavaOptions": _java_options(_JAVA_LARGE),
    }


def _java_options(by_size: tuple[str, ...]) -> str:
    archive = class_archive()
    shared: tuple[str, ...] = ()
    if os.environ.get(RECORD):
        shared = (f'-XX:ArchiveClassesAtExit="{archive}.new"',)
    elif archive.is_file():
        shared = (f'-XX:SharedArchiveFile="{archive}"', "-Xshare:auto")
    return " ".join((*_JAVA, *by_size, *shared))


def _memory() -> int:
    """Bytes of memory that this machine, or the container's limit, lets us use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = Path(limit).read_text().strip() if Path(limit).is_file() else ""
        if text.isdigit():
            total = min(total, int(text))
    return total


def _gateway(settings: dict[str, str]) -> JavaGateway:
    """A JVM whose words go to a file without a name: Spark greets on standard error before any log setting counts."""
    global _engine_log  # noqa: PLW0603 - one JVM a process, and its log with it
    if not _has_java():
        raise UsageError(
            "no Java was found: install Java 17 (on Debian: apt-get install openjdk-17-jre-headless), "
            "or set JAVA_HOME to one that is there"
        )
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # what it logs is raised as well
    _engine_log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the JVM writes to it
    atexit.register(_engine_log.close)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    try:
        gateway: JavaGateway = launch_gateway(conf, {"stdout": _engine_log, "stderr": _engine_log})
    except PySparkRuntimeError as error:
        raise UsageError(f"Java did not start; Spark needs Java 17 or later. It said:\n{engine_log()}") from error
    if os.environ.get(RECORD):
        atexit.register(_finish_recording, gateway)
    return gateway


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return bool(shutil.which(str(Path(home, "bin", "java")) if home else "java"))


def _finish_recording(gateway: JavaGateway) -> None:
    """Wait for the JVM, which writes the archive as its last act, and put the archive into its place."""
    SparkContext.getOrCreate().stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    archive = class_archive()
    Path(f"{archive}.new").replace(archive)
