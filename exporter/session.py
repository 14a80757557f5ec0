"""The Spark session: the one that is there already, or a local one tuned to the size of the input.

A small input is over before a JVM is warm, so what counts is start-up: quick compilation, interpreted expressions,
classes linked in a cache that the set-up recorded (``jvm.py``), and what comes later begun early (``warming.py``). A
large one earns the full compiler, memory and partitions.
``python -m benchmarks.startup`` measures the first against an empty default session.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from exporter import jvm
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

SMALL: Final = 16 * 2**20
"""Bytes of input below which the session is made to start quickly."""

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
    # The workers' Python functions are those that hold nodes against the shapes.
    "spark.python.daemon.module": "exporter.rdf.daemon",
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
_OF_HADOOP: Final = "spark.hadoop."
_SMALL: Final = {
    "spark.sql.adaptive.enabled": "false",
    # For the place in the code that an error message could name, each expression would look at the JVM's stack.
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # Blocks stay in this process: to press them is only work.
    "spark.broadcast.compress": "false",
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
_JAVA_SMALL: Final = (
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=256m",
    # Room for what planning leaves behind, and a short way to where what stays is not copied again.
    "-XX:+UseSerialGC",
    "-XX:NewSize=600m",
    "-XX:MaxTenuringThreshold=1",
)
_JAVA_LARGE: Final = ("-XX:+UseParallelGC",)


def start(
    input_bytes: int | None, *, app_name: str = "access-history-exporter", master: str | None = None
) -> SparkSession:
    """The session to work in: one that is there already is used as it is, else a local one is started.

    ``input_bytes`` is the size of all that will be read; None means unknown, and is taken for large.
    ``master`` is Spark's own notation, by default every core of this machine. What ``PYSPARK_SUBMIT_ARGS`` says goes
    before the choices made here. Raises UsageError where no JVM starts.
    """
    spark = SparkSession.builder.getOrCreate() if _is_given() else _local(input_bytes, app_name, master)
    for key, value in _MEANING.items():
        spark.conf.set(key, value)
    return spark


def is_small(input_bytes: int | None) -> TypeGuard[int]:
    """Whether an input of so many bytes, None for unknown, is over before a JVM is warm."""
    return input_bytes is not None and input_bytes < SMALL


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
    context = SparkContext(gateway=jvm.start(settings))
    if is_small(input_bytes) and not jvm.is_told():
        _forget_defaults(context, settings)
    spark = SparkSession.builder.getOrCreate()
    if spark.version != pyspark.__version__:
        raise UsageError(
            f"Spark {spark.version} was found in {os.environ.get('SPARK_HOME')}, "
            f"this program needs {pyspark.__version__}: unset SPARK_HOME to use the one that came with it"
        )
    return spark


def _forget_defaults(context: SparkContext, settings: Mapping[str, str]) -> None:
    """Leave in Hadoop's configuration only what ``settings`` say.

    It goes with each broadcast and task, and its thousand entries from files are pressed one by one. For files on this
    machine, and a small input is nothing else, they repeat what Hadoop's code takes where nothing is said.
    """
    java: Any = context._jvm  # noqa: SLF001 - PySpark has no public way to the JVM
    configuration: Any = context._jsc.hadoopConfiguration()  # noqa: SLF001 - nor to this, which a local session carries
    java.org.apache.hadoop.fs.FileSystem.get(configuration)  # what adds defaults when it is first used is used here
    java.java.lang.Class.forName("org.apache.hadoop.mapred.JobConf")
    configuration.clear()
    for name, value in settings.items():
        if name.startswith(_OF_HADOOP):
            configuration.set(name.removeprefix(_OF_HADOOP), value)


def _sized(input_bytes: int | None) -> dict[str, str]:
    """Settings by the size of the input in bytes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if is_small(input_bytes):
        partitions = max(1, min(cores, input_bytes // 2**20))
        return {
            **_SMALL,
            **(_ONE_PARTITION if partitions == 1 else {}),
            "spark.sql.shuffle.partitions": str(partitions),
            jvm.OPTIONS: " ".join(_JAVA + _JAVA_SMALL),
        }
    return {
        jvm.MEMORY: f"{_memory() // 2 >> 20}m",
        "spark.sql.shuffle.partitions": str(4 * cores),
        jvm.OPTIONS: " ".join(_JAVA + _JAVA_LARGE),
    }


def _memory() -> int:
    """Bytes of memory that this machine, or the container's limit, lets us use."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = Path(limit).read_text().strip() if Path(limit).is_file() else ""
        if text.isdigit():
            total = min(total, int(text))
    return total
