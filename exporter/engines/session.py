"""The Spark session: an existing one, or a new local one, configured only by Spark's public settings.

- A log file for the Java process that a session starts: its messages do not mix with those of the program.
- A cache of Spark's classes, so that Java starts in half the time. Java can write the classes that a process has loaded
  to a file when the process ends, and later processes map this file into their memory (class data sharing). Only public
  options of Java are used. Java compares the file with itself and with Spark's jars when it starts, and does not use it
  if they differ.
- A check of the server of Spark Connect, before its client is used: the client tries a missing server for 15 minutes.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import chain, pairwise
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies

import pyspark
from pyspark.sql import SparkSession

from exporter.errors import UsageError
from exporter.input.find import is_small
from exporter.system import private

_log: list[str] = []
_named: set[str] = set()


@contextmanager
def quiet() -> Iterator[None]:
    """Send the output of the JVM and its workers to a log file of the user.

    A process inherits its output when it is started, so ours is redirected during that time. Standard output too:
    otherwise whoever reads ours to its end waits for the end of the JVM. The file is removed when this process ends,
    unless a message has named it.
    """
    number, path = tempfile.mkstemp(prefix="exporter-spark-", suffix=".log")
    _log.append(path)
    atexit.register(_forget, path)
    own: dict[int, int] = {}
    for stream, ours in ((1, sys.stdout), (2, sys.stderr)):
        if ours is not None:  # None if it was closed when the program began
            ours.flush()
            own[stream] = os.dup(stream)
    try:
        for stream in own:
            os.dup2(number, stream)
        yield
    finally:
        for stream, before in own.items():
            os.dup2(before, stream)
            os.close(before)
        os.close(number)


def _forget(path: str) -> None:
    if path not in _named and not os.environ.get("EXPORTER_DEBUG"):
        Path(path).unlink(missing_ok=True)


def log_hint() -> str:
    """A sentence that names Spark's log file; empty if no session was started here."""
    if not _log:
        return ""
    _named.add(_log[-1])
    return f"Spark's own messages are in {_log[-1]}; they can contain values of the rows."


OWN_CLASSES: Final = (
    "HADOOP_CONF_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_HOME",
    "YARN_CONF_DIR",
)
"""Variables by which users give Java other options or other classes, which the file would not fit. Also, Java makes no
such file if there are folders of settings among the places of classes.
"""
_AGAIN: Final = 86_400
"""Seconds until another process tries to write the file, if an earlier one has begun to. Java does it after the end of
the program, in ten seconds or more, and is killed before if a container ends with the program.
"""
_UNUSED: Final = 30 * 86_400
"""Seconds after which the file of another Java or another Spark is removed: it has some 165 MB."""
# Java writes warnings to standard output, which belongs to the user. A session sends standard error to its log file.
_LOG: Final = "-Xlog:disable -Xlog:all=warning:stderr"
_is_plain = re.compile(r"[\w./+@-]+").fullmatch


def options() -> str:
    """Java's options that use the cache if it exists, and otherwise write it when the session ends. Empty if there can
    be no cache, or if another process has begun to write it.
    """
    archive = _archive()
    if archive is None:
        return ""
    if _is_complete(archive):
        return f" {_LOG} -XX:+VerifySharedSpaces -XX:SharedArchiveFile={archive}"
    return f" {_LOG} -XX:ArchiveClassesAtExit={archive}" if _begins(archive) else ""


def forget() -> None:
    """Remove the cache, because Java does not start with it."""
    archive = _archive()
    if archive is not None:
        with suppress(OSError):
            archive.unlink()


def _is_complete(archive: Path) -> bool:
    """Java writes the first bytes last, so a file that was not finished begins with zeros."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except OSError:
        return False


def _archive() -> Path | None:
    """The file for this Java and this Spark; None if there can be none."""
    java = shutil.which(Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java")
    if java is None or any(os.environ.get(name) for name in OWN_CLASSES):
        return None
    try:
        parts = [_identity(Path(java).resolve()), _identity(Path(pyspark.__file__).resolve().parent / "jars")]
        folder = _folder()
    except (OSError, RuntimeError):  # no home, or a folder that cannot be written to
        return None
    # The path becomes one of several options in a text, which has rules of its own for spaces and quotes.
    if folder is None or not _is_plain(str(folder)):
        return None
    return folder / f"spark-{sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"


def _identity(path: Path) -> tuple[str, int, int]:
    """What changes if another version is installed in the same place."""
    about = path.stat()
    return str(path), about.st_size, about.st_mtime_ns


def _folder() -> Path | None:
    """The user's folder for caches; None if others could put a file there, since Java runs what is in it."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(caches) if Path(caches).is_absolute() else Path.home() / ".cache") / "access-history-exporter"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    return folder if about.st_uid == os.geteuid() and not about.st_mode & 0o022 else None


def _begins(archive: Path) -> bool:
    """Whether this process is to write the file: then the others will not, for a day."""
    begun = archive.with_suffix(".begun")
    now = time.time()
    try:
        if begun.exists() and now - begun.stat().st_mtime < _AGAIN:
            return False
        begun.touch()
        for file in archive.parent.glob("spark-*"):
            if now - file.stat().st_mtime > _UNUSED:
                file.unlink()
    except OSError:  # such as a disk that is full, or another process that does the same
        return False
    return True


_JAVA: Final = "spark.driver.extraJavaOptions"
# A Java that is killed would leave its file of counters in /tmp, whatever the folder for temporary files.
_NO_COUNTERS: Final = "-XX:-UsePerfData"
_MEANING: Final = {
    # The results depend on these, so they are also set in a session that others started.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    # Otherwise times in Parquet have no time zone and a deprecated type (INT96).
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark has no type for times in nanoseconds, and would refuse files with them: they are read as numbers.
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    # All outputs of a task are written at the same time; otherwise Spark sorts their texts, which changes their order.
    "spark.sql.maxConcurrentOutputFileWriters": "64",
    # A record may have several KB, and a batch should have several MB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    # So should what is read at once of the messages between rounds: one of a table of many columns has some 100 KB.
    "spark.sql.parquet.columnarReaderBatchSize": "128",
}
_LOCAL: Final = {
    # Loopback only: no port is open to the network, and there is no warning about the machine's name.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # No tables are made, but without an existing folder here Spark creates one in the current folder.
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Spark keeps data of finished jobs for its web pages, which are not used; it would grow with the days of an update.
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    # The size of a file's part that one task reads: small, so that all cores are busy until the end.
    "spark.sql.files.maxPartitionBytes": "32m",
    # No .crc files and no _SUCCESS files: the output becomes visible as a whole folder later.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # Hadoop sets modes by an umask of its own, whatever that of the process.
    "spark.hadoop.fs.permissions.umask-mode": "077",
}
_FAR: Final = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
"""On a cluster its own settings are used, but Spark's messages would mix with ours."""
# With the quick compiler alone, Java has 48 MB for what it compiles. The classes that Spark makes for its tasks fill
# them after some hundred jobs, such as an update of some days: Java then throws away what is in use, and compiles it
# again.
_QUICK: Final = f"{_NO_COUNTERS} -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
_SMALL: Final = {
    # The quick compiler is enough: the work is done before the full one has warmed up.
    _JAVA: f"{_QUICK} -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}
_MIDDLE: Final = {
    # In the first minutes the full compiler costs more time than it saves.
    _JAVA: f"{_QUICK} -XX:+UseParallelGC",
    "spark.driver.memory": "1536m",
}
_LARGE: Final = {**_MIDDLE, _JAVA: f"{_NO_COUNTERS} -XX:+UseParallelGC"}
LARGE: Final = 1 << 30


def start(input_bytes: int | None, *, app_name: str = "access-history-exporter") -> SparkSession:
    """The session to work in. An active session, or one given by the environment (spark-submit, Spark Connect), is used
    as it is. Otherwise a local one is started, with the user's settings from Spark's own files and variables.

    ``input_bytes``: the size of all input; None means unknown and counts as large. Raises UsageError if Spark does not
    start or does not answer.
    """
    spark = SparkSession.getActiveSession() or _started(input_bytes, app_name)
    try:
        for name, value in _MEANING.items():
            spark.conf.set(name, value)
    except Exception as error:  # noqa: BLE001 - PySpark, py4j and gRPC raise many types
        raise UsageError(f"Spark does not answer: {cause(error)}") from None
    return spark


def _use_own_java() -> None:
    """Java in this Python's environment, where ``bin/setup`` and conda put it, if JAVA_HOME names no other one."""
    home = Path(sys.prefix, "lib", "jvm")
    if not os.environ.get("JAVA_HOME") and (home / "bin" / "java").is_file():
        os.environ["JAVA_HOME"] = str(home)


def _started(input_bytes: int | None, app_name: str) -> SparkSession:
    _use_own_java()
    builder = SparkSession.builder.appName(app_name)
    logging.getLogger().addFilter(_is_no_trace_of_gateway)
    if _has_cluster():
        check()
        try:
            return builder.getOrCreate()
        except Exception as error:  # noqa: BLE001 - py4j raises many types
            raise UsageError(f"Spark does not answer: {cause(error)}{remedy(error)}") from None
    try:
        return _local(builder, input_bytes, options())
    except Exception as error:  # noqa: BLE001 - py4j raises many types
        raise UsageError(
            f"Spark does not start: {cause(error)} It needs Java 17 or later: install it, or correct JAVA_HOME; "
            f"or give --engine local, which needs no Java. {log_hint()}".rstrip()
        ) from None


def _local(builder: SparkSession.Builder, input_bytes: int | None, of_classes: str) -> SparkSession:
    """A session on this machine. ``of_classes``: Java's options for the cache of classes; if Java does not start with
    them, it is started without them.
    """
    for name, value in _wanted(input_bytes, _settings_of_user(), of_classes).items():
        builder.config(name, value)
    try:
        with quiet(), private.made():  # for what Spark writes between the rounds, and spills
            return builder.getOrCreate()
    except Exception:  # Java can stop at any moment of the start, which PySpark and py4j report by many types
        if not of_classes:
            raise
        forget()
        return _local(builder, input_bytes, "")


def _wanted(input_bytes: int | None, given: Mapping[str, str], of_classes: str) -> dict[str, str]:
    """Our settings that the user has not set: many for a session on this machine, few for one on a cluster."""
    os.environ.setdefault("PYSPARK_PYTHON", given.get("spark.pyspark.python", sys.executable))
    if not _is_local(given.get("spark.master", "local")):
        wanted = _FAR
    else:
        # Otherwise Java resolves the machine's own name, and Spark does not start if that fails (some containers).
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        tuned = _for_size(input_bytes)
        wanted = {"spark.master": "local[*]", **_LOCAL, **tuned, _JAVA: tuned[_JAVA] + of_classes + _temporary()}
    return {name: value for name, value in wanted.items() if name not in given}


def _temporary() -> str:
    """Java's option for the folder for temporary files, where the environment gives one (TMPDIR): Java does not read
    it, and would leave what Spark writes meanwhile in /tmp.
    """
    folder = tempfile.gettempdir()
    return "" if folder == "/tmp" else f' "-Djava.io.tmpdir={folder}"'  # noqa: S108 - Java's own folder


def _for_size(input_bytes: int | None) -> dict[str, str]:
    if is_small(input_bytes):
        return _SMALL
    return _LARGE if input_bytes is None or input_bytes >= LARGE else _MIDDLE


def _is_local(master: str) -> bool:
    return master == "local" or master.startswith("local[")


def _is_no_trace_of_gateway(record: logging.LogRecord) -> bool:
    """Whether a log record is not py4j's traceback of an interrupted call to Java, which is not an error."""
    return record.module != "java_gateway"


def has_far_workers(spark: SparkSession) -> bool:
    """Whether rows are processed by workers that were not started here; they may be on other machines."""
    return is_remote(spark) or not _is_local(str(spark.sparkContext.master))


def is_remote(spark: SparkSession) -> bool:
    """Whether it is a session of Spark Connect, which has no Spark context."""
    return getattr(spark, "sparkContext", None) is None


def cores(spark: SparkSession) -> int:
    """The number of tasks that run at once, at least 2; 2 if Spark does not give it."""
    context = getattr(spark, "sparkContext", None)
    return max(2, context.defaultParallelism) if context is not None else 2


def cause(error: Exception) -> str:
    """The first meaningful line of an error from PySpark, Java or gRPC."""
    lines = [line.strip(": \t") for line in str(error).splitlines()]
    of_grpc = (line for line in lines if line.startswith("details = "))
    other_lines = (line for line in lines if line and not line.startswith("An error occurred while calling"))
    return next(chain(of_grpc, other_lines), "").removeprefix("details = ")


def _has_cluster() -> bool:
    """Whether the environment gives a driver (spark-submit) or a server (Spark Connect)."""
    return any(name in os.environ for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"))


_OPTIONS: Final = {
    "--master": "spark.master",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": _JAVA,
}


def _settings_of_user() -> dict[str, str]:
    """The settings in the user's spark-defaults.conf and PYSPARK_SUBMIT_ARGS, which have priority over ours."""
    given: dict[str, str] = {}
    for folder in _conf_folders():
        file = folder / "spark-defaults.conf"
        if file.is_file():
            lines = (line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
            given |= dict(_setting(line) for line in lines if line and line[0] != "#")
    for before, after in pairwise(shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))):
        if before == "--conf":
            given |= dict([_setting(after)])
        elif before in _OPTIONS:
            given[_OPTIONS[before]] = after
    return given


def _setting(line: str) -> tuple[str, str]:
    """Name and value of a line, separated by white space or an equals sign."""
    name, *value = re.split(r"\s*=\s*|\s+", line, maxsplit=1)
    return name, "".join(value)


def _conf_folders() -> Iterator[Path]:
    if "SPARK_CONF_DIR" in os.environ:
        yield Path(os.environ["SPARK_CONF_DIR"])
    elif "SPARK_HOME" in os.environ:
        yield Path(os.environ["SPARK_HOME"], "conf")


_PORT: Final = 15002  # the default port: Spark's documentation, "Client Connection String"
_PATIENCE: Final = 10.0  # seconds
_PROXIES: Final = {"grpc", "http", "https"}
"""Schemes of proxies that gRPC uses; if one is set, the server cannot be checked directly."""


def check() -> None:
    """Raise UsageError if no server listens at the address in SPARK_REMOTE."""
    remote = os.environ.get("SPARK_REMOTE", "")
    if not remote.startswith("sc://") or _PROXIES & getproxies().keys():
        return
    try:
        server = urlsplit(remote)
        host, port = server.hostname or "", server.port or _PORT
    except ValueError:  # Spark's own client reports what is wrong with it
        return
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        raise UsageError(
            f"Spark does not answer: no server listens at {host}:{port}, the address in SPARK_REMOTE ({error})"
        ) from None


def remedy(error: Exception) -> str:
    """What to do if PySpark's error says that packages of the client are missing; empty for other errors."""
    if "PACKAGE_NOT_INSTALLED" not in str(error):
        return ""
    return " Spark Connect needs more packages: pip install 'access-history-exporter[connect]'"
