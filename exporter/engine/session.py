"""The Spark session: the one that is there already, or a local one, made by Spark's public settings alone."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard

from pyspark.sql import SparkSession

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # No .crc files beside the output, and no marks of success: it becomes visible as a whole folder later.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_SMALL: Final = {
    # The quick compiler is enough for what is over before the full one has warmed up.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
_LARGE: Final = {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC", "spark.driver.memory": "1536m"}


def start(input_bytes: int | None, *, app_name: str = "access-history-exporter") -> SparkSession:
    """The session to work in: one that is there, or that the environment names (spark-submit, Spark Connect), is used
    as it is; else a local one is started, with what the user has told Spark by its own files and variables.

    ``input_bytes``: the size of all that will be read; None means unknown, and is taken for large. Raises UsageError
    where no Java or no Spark starts.
    """
    spark = SparkSession.getActiveSession() or _started(input_bytes, app_name)
    for name, value in _MEANING.items():
        spark.conf.set(name, value)
    return spark


def is_small(input_bytes: int | None) -> TypeGuard[int]:
    """Whether an input of so many bytes, None for unknown, is worked on by one task."""
    return input_bytes is not None and input_bytes < SMALL


def _started(input_bytes: int | None, app_name: str) -> SparkSession:
    builder = SparkSession.builder.appName(app_name)
    if _is_given():
        return builder.getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    wanted = {"spark.master": "local[*]", **_LOCAL, **(_SMALL if is_small(input_bytes) else _LARGE)}
    told = _told_by_user()
    for name, value in wanted.items():
        if name not in told:
            builder = builder.config(name, value)
    try:
        with _quiet():
            return builder.getOrCreate()
    except Exception as error:  # noqa: BLE001 - PySpark and py4j raise all kinds
        first = (str(error).splitlines() or [""])[0]
        raise UsageError(
            f"Spark does not start: {first} It needs Java 17 or later: install one, or correct JAVA_HOME; or give "
            f"--engine local, which needs none. {said()}".rstrip()
        ) from None


def _is_given() -> bool:
    """Whether a driver that waits for us (spark-submit) or a server (Spark Connect) is there."""
    return any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"))


def _told_by_user() -> set[str]:
    """The settings that the user's spark-defaults.conf and PYSPARK_SUBMIT_ARGS hold: ours do not go before them."""
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    told = {after.partition("=")[0] for before, after in pairwise(arguments) if before == "--conf"}
    options = {"--master": "spark.master", "--driver-memory": "spark.driver.memory"}
    told |= {options[one] for one in arguments if one in options}
    told |= {"spark.driver.extraJavaOptions"} if "--driver-java-options" in arguments else set()
    for folder in _conf_folders():
        file = folder / "spark-defaults.conf"
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            told |= {line.replace("=", " ").split()[0] for line in lines if line.strip() and line.strip()[0] != "#"}
    return told


def _conf_folders() -> Iterator[Path]:
    if "SPARK_CONF_DIR" in os.environ:
        yield Path(os.environ["SPARK_CONF_DIR"])
    elif "SPARK_HOME" in os.environ:
        yield Path(os.environ["SPARK_HOME"], "conf")


_log: list[str] = []


@contextmanager
def _quiet() -> Iterator[None]:
    """What the JVM and its workers say on standard error goes to a file of the user's: a terminal is for our words.

    A process inherits where its standard error goes when it is started, so ours is another one for that moment.
    """
    number, path = tempfile.mkstemp(prefix="exporter-spark-", suffix=".log")
    _log.append(path)
    sys.stderr.flush()
    own = os.dup(2)
    try:
        os.dup2(number, 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)
        os.close(number)


def said() -> str:
    """Where what Spark said is to be read, in a sentence; empty where no session was started here."""
    return f"What Spark said is in {_log[-1]}; it can hold values of the rows." if _log else ""
