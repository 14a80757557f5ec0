"""The Spark session: the one that is there already, or a local one, made by Spark's public settings alone."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import sys
import tempfile
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard

from pyspark.sql import SparkSession

from exporter.engine import connect
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SMALL: Final = 16 << 20
"""Bytes of input that one task works on by itself; the session is then made to start quickly."""
_MEANING: Final = {
    # What the results depend on, so it is set in a session that others started, too.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    # Else Parquet has them in a form that says no time zone and that its own specification has given up.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # All outputs of a task are written side by side: else their texts would be sorted, and lose their order.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # A record may have some KB: a batch of them is to be some MB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
}
_LOCAL: Final = {
    # Loopback only: nothing listens to the network, and no warning about the name of the machine.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Where tables would be, and none is made: a folder that is there, or Spark makes one in the current folder.
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # What Spark remembers of jobs that are over, for pages that nobody opens, grows with the days of an update.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    # Parts of files of this size are read by a task: small, so that all cores are busy until the last one.
    "spark.sql.files.maxPartitionBytes": "32m",
    # No .crc files beside the output, and no marks of success: it becomes visible as a whole folder later.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_FAR: Final = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
"""On a cluster its own settings are right, but what would be written between our words."""
_SMALL: Final = {
    # The quick compiler is enough for what is over before the full one has warmed up.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
_MIDDLE: Final = {
    # As above: the full compiler takes more of the first minutes than it gives back in them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseParallelGC",
    "spark.driver.memory": "1536m",
}
_LARGE: Final = {**_MIDDLE, "spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}
LARGE: Final = 1 << 30


def start(input_bytes: int | None, *, app_name: str = "access-history-exporter") -> SparkSession:
    """The session to work in: one that is there, or that the environment names (spark-submit, Spark Connect), is used
    as it is; else a local one is started, with what the user has told Spark by its own files and variables.

    ``input_bytes``: the size of all that will be read; None means unknown, and is taken for large. Raises UsageError
    where no Spark starts, or none answers.
    """
    spark = SparkSession.getActiveSession() or _started(input_bytes, app_name)
    try:
        for name, value in _MEANING.items():
            spark.conf.set(name, value)
    except Exception as error:  # noqa: BLE001 - PySpark, py4j and gRPC raise all kinds
        raise UsageError(f"Spark does not answer: {cause(error)}") from None
    return spark


def is_small(input_bytes: int | None) -> TypeGuard[int]:
    """Whether an input of so many bytes, None for unknown, is worked on by one task."""
    return input_bytes is not None and input_bytes < SMALL


def _started(input_bytes: int | None, app_name: str) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    logging.getLogger().addFilter(_is_no_trace_of_gateway)
    if _is_given():
        connect.check()
        try:
            return builder.getOrCreate()
        except Exception as error:  # noqa: BLE001 - as above
            raise UsageError(f"Spark does not answer: {cause(error)}{connect.remedy(error)}") from None
    for name, value in _wanted(input_bytes, _told_by_user()).items():
        builder = builder.config(name, value)
    try:
        with _quiet():
            return builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 - as above
        raise UsageError(
            f"Spark does not start: {cause(error)} It needs Java 17 or later: install one, or correct JAVA_HOME; "
            f"or give --engine local, which needs none. {said()}".rstrip()
        ) from None


def _wanted(input_bytes: int | None, told: Mapping[str, str]) -> dict[str, str]:
    """Our settings beside what the user told: all for a session of this machine, few for one of a cluster."""
    os.environ.setdefault("PYSPARK_PYTHON", told.get("spark.pyspark.python", sys.executable))
    if not _is_local(told.get("spark.master", "local")):
        wanted = _FAR
    else:
        # Else Java looks the machine's own name up, and there is no Spark where nobody knows it (some containers).
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        wanted = {"spark.master": "local[*]", **_LOCAL, **_for_size(input_bytes)}
    return {name: value for name, value in wanted.items() if name not in told}


def _for_size(input_bytes: int | None) -> dict[str, str]:
    if is_small(input_bytes):
        return _SMALL
    return _LARGE if input_bytes is None or input_bytes >= LARGE else _MIDDLE


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _is_no_trace_of_gateway(record: logging.LogRecord) -> bool:
    """An interrupted call of Java is no fault: its traceback, which py4j logs by the root logger, helps nobody."""
    return record.module != "java_gateway"


def has_far_workers(spark: SparkSession) -> bool:
    """Whether rows are worked on by other processes than those that we start here: they may be on other machines."""
    return is_remote(spark) or not _is_local(str(spark.sparkContext.master))


def is_remote(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect, which has no context."""
    return getattr(spark, "sparkContext", None) is None


def cores(spark: SparkSession) -> int:
    """How many tasks run at once, as far as Spark says; 2 where it does not."""
    context = getattr(spark, "sparkContext", None)
    return max(2, context.defaultParallelism) if context is not None else 2


def cause(error: Exception) -> str:
    """The first line of what PySpark, Java or gRPC raised that says something."""
    lines = [line.strip(": \t") for line in str(error).splitlines()]
    of_grpc = (line for line in lines if line.startswith("details = "))
    others = (line for line in lines if line and not line.startswith("An error occurred while calling"))
    return next(chain(of_grpc, others), "").removeprefix("details = ")


def _is_given() -> bool:
    """Whether a driver that waits for us (spark-submit) or a server (Spark Connect) is there."""
    return any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"))


_OPTIONS: Final = {
    "--master": "spark.master",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
}


def _told_by_user() -> dict[str, str]:
    """The settings that the user's spark-defaults.conf and PYSPARK_SUBMIT_ARGS hold: ours do not go before them."""
    told: dict[str, str] = {}
    for folder in _conf_folders():
        file = folder / "spark-defaults.conf"
        if file.is_file():
            lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
            told |= dict(_setting(line) for line in lines if line and line[0] != "#")
    for before, after in pairwise(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))):
        if before == "--conf":
            told |= dict([_setting(after)])
        elif before in _OPTIONS:
            told[_OPTIONS[before]] = after
    return told


def _setting(line: str) -> tuple[str, str]:
    """Name and value of a line, with a space or an equals sign between them."""
    name, *value = re.split(r"\s*=\s*|\s+", line, maxsplit=1)
    return name, "".join(value)


def _conf_folders() -> Iterator[Path]:
    if "SPARK_CONF_DIR" in os.environ:
        yield Path(os.environ["SPARK_CONF_DIR"])
    elif "SPARK_HOME" in os.environ:
        yield Path(os.environ["SPARK_HOME"], "conf")


_log: list[str] = []
_named: set[str] = set()


@contextmanager
def _quiet() -> Iterator[None]:
    """What the JVM and its workers say on standard error goes to a file of the user's: a terminal is for our words.

    A process inherits where its standard error goes when it is started, so ours is another one for that moment. The
    file is gone with this process, unless somebody was told of it.
    """
    number, path = tempfile.mkstemp(prefix="exporter-spark-", suffix=".log")
    _log.append(path)
    atexit.register(_forget, path)
    sys.stderr.flush()
    own = os.dup(2)
    try:
        os.dup2(number, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(number)


def _forget(path: str) -> None:
    if path not in _named and not os.environ.get("EXPORTER_DEBUG"):
        Path(path).unlink(missing_ok=True)


def said() -> str:
    """Where what Spark said is to be read, in a sentence; empty where no session was started here."""
    if not _log:
        return ""
    _named.add(_log[-1])
    return f"What Spark said is in {_log[-1]}; it can hold values of the rows."
