"""The Spark session: an existing one, or one that is made for the size of the input and the user's settings."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.sql import functions as F

from exporter.engines import session
from exporter.engines import session as classes
from exporter.engines import session as java_log
from exporter.errors import UsageError
from exporter.input.find import SMALL, is_small

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

OPTIONS = "spark.driver.extraJavaOptions"


def test_times_are_utc_whatever_the_machine_says(spark: SparkSession) -> None:
    read = spark.sql("SELECT CAST(TIMESTAMP'2024-02-01 09:00:00+02:00' AS STRING) AS t").first()
    assert read is not None
    assert read.t == "2024-02-01 07:00:00"


def test_an_existing_session_is_used(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    again = session.start(None)
    assert again is spark
    assert again.conf.get("spark.sql.session.timeZone") == "UTC"


def test_output_has_no_files_beside_the_data(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).coalesce(1).select(F.lit("x").alias("value")).write.text(str(tmp_path / "out"))
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert len(names) == 1
    assert names[0].startswith("part-")


class Sessions:
    """In the place of SparkSession: what it is asked for. ``failure``: what it raises for an answer."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}
        self.conf = self
        self.builder = self
        self.failure: Exception | None = None
        self.at_exit: list[tuple[Any, ...]] = []
        self.of_classes = " -cache-of-classes"
        self.is_well_without_classes = False
        self.forgot = 0

    def getActiveSession(self) -> None:  # noqa: N802 - Spark's name
        return None

    def appName(self, _: str) -> Sessions:  # noqa: N802 - Spark's name
        return self

    def config(self, name: str, value: str) -> Sessions:
        self.asked[name] = value
        return self

    def getOrCreate(self) -> Any:  # noqa: N802 - Spark's name
        for stream in (1, 2):
            os.write(stream, b"WARN: what Spark says\n")
        if self.failure:
            raise self.failure
        return self

    def forget_classes(self) -> None:
        """Java failed with the cache of classes, and will not without it, unless it cannot start at all."""
        self.forgot += 1
        if self.is_well_without_classes:
            self.failure = None

    def set(self, name: str, value: str) -> None:
        """Of a session that is there."""


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Sessions]:
    """No Spark, and a user who told it nothing."""
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    made = Sessions()
    monkeypatch.setattr(session, "SparkSession", made)
    monkeypatch.setattr(java_log, "_log", [])
    monkeypatch.setattr(java_log, "_named", set())
    monkeypatch.delenv("EXPORTER_DEBUG", raising=False)
    monkeypatch.setattr("atexit.register", lambda *given: made.at_exit.append(given))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(classes, "options", lambda: made.of_classes)
    monkeypatch.setattr(classes, "forget", made.forget_classes)
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    return made


def asked_for(sessions: Sessions, size: int | None) -> dict[str, str]:
    sessions.asked = {}
    session.start(size)
    return sessions.asked


def test_size_decides_how_the_session_is_tuned(sessions: Sessions) -> None:
    sizes = 0, SMALL - 1, SMALL, session.LARGE - 1, session.LARGE, None
    tiny, small, middle, under, large, unknown = (asked_for(sessions, size) for size in sizes)
    assert tiny["spark.sql.shuffle.partitions"] == "1"
    assert all("TieredStopAtLevel=1" in one[OPTIONS] for one in (small, middle))
    assert all("ReservedCodeCacheSize=" in one[OPTIONS] for one in (small, middle)), "else 48 MB, which days fill"
    assert "TieredStopAtLevel" not in large[OPTIONS]
    assert all("-XX:-UsePerfData" in one[OPTIONS] for one in (small, middle, large)), "left in /tmp if Java is killed"
    assert all("spark.sql.shuffle.partitions" not in one for one in (middle, large))
    assert (middle, large) == (under, unknown)
    assert [is_small(size) for size in sizes] == [True, True, False, False, False, False]


def test_a_session_on_this_machine_uses_the_cache_of_classes(sessions: Sessions) -> None:
    for size in (0, SMALL, None):
        assert "GC -cache-of-classes" in asked_for(sessions, size)[OPTIONS]


def test_temporary_files_of_java_are_where_those_of_python_are(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "some where").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "some where"))
    assert asked_for(sessions, 0)[OPTIONS].endswith(f' "-Djava.io.tmpdir={tmp_path}/some where"')
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    monkeypatch.setattr(session, "quiet", nullcontext)  # otherwise its log file would stay in /tmp
    assert "java.io.tmpdir" not in asked_for(sessions, 0)[OPTIONS]


def test_a_session_starts_without_the_cache_of_classes_if_it_does_not_with_it(sessions: Sessions) -> None:
    sessions.failure, sessions.is_well_without_classes = RuntimeError("JAVA_GATEWAY_EXITED"), True
    assert "-cache-of-classes" not in asked_for(sessions, 0)[OPTIONS]
    assert sessions.forgot == 1


def test_a_cache_of_classes_that_was_not_used_is_not_forgotten(sessions: Sessions) -> None:
    sessions.failure, sessions.of_classes = RuntimeError("JAVA_GATEWAY_EXITED"), ""
    with pytest.raises(UsageError):
        session.start(0)
    assert sessions.forgot == 0


def test_a_local_session_opens_no_port_to_others(sessions: Sessions) -> None:
    asked = asked_for(sessions, 0)
    assert asked["spark.driver.bindAddress"] == asked["spark.driver.host"] == "127.0.0.1"
    assert asked["spark.ui.enabled"] == "false"


def test_the_users_settings_of_spark_have_priority(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# spark.log.level ALL\nspark.ui.enabled true\nspark.driver.host=h\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS", f"--master local[3] --driver-memory 9g --conf '{OPTIONS}=-Xss4m' pyspark-shell"
    )
    asked = asked_for(sessions, None)
    told = {"spark.ui.enabled", "spark.driver.host", "spark.master", "spark.driver.memory", OPTIONS}
    assert asked.keys() & told == set()
    assert "spark.log.level" in asked


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host", "local-cluster[2,1,1024]"])
def test_a_cluster_keeps_its_own_settings(
    master: str, sessions: Sessions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That a driver listens to this machine alone, or where files are local, is right for a session of ours only."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    (tmp_path / "spark-defaults.conf").write_text(f"spark.master {master}\nspark.pyspark.python = /env/bin/python\n")
    assert asked_for(sessions, 0).keys() == {"spark.ui.showConsoleProgress", "spark.log.level"}
    assert os.environ["PYSPARK_PYTHON"] == "/env/bin/python"
    assert "SPARK_LOCAL_IP" not in os.environ


def test_the_name_of_this_machine_is_not_looked_up(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    asked_for(sessions, 0)
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"


@pytest.mark.parametrize(("master", "is_far"), [("local", False), ("local[*]", False), ("yarn", True), (None, True)])
def test_workers_are_far_unless_they_are_ours(master: str | None, *, is_far: bool) -> None:
    """A session of Spark Connect has no context to ask."""
    given = SimpleNamespace() if master is None else SimpleNamespace(sparkContext=SimpleNamespace(master=master))
    assert session.has_far_workers(cast("SparkSession", given)) == is_far


@pytest.mark.parametrize("name", ["PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"])
def test_a_session_that_the_environment_names_is_used_as_it_is(
    name: str, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    assert asked_for(sessions, 0) == {}


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ("[CONNECT] UNAVAILABLE\nmore", "Spark does not answer: [CONNECT] UNAVAILABLE"),
        ("An error occurred while calling o1.x.\n: java.io.IOException: no\n\tat x", "java.io.IOException: no"),
        (
            '<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.X\n\tdetails = "no"\n\tdebug = 1>',
            'Spark does not answer: "no"',
        ),
        (
            "[PACKAGE_NOT_INSTALLED] grpcio must be installed.",
            "must be installed. Spark Connect needs more packages: pip install 'access-history-exporter[connect]'",
        ),
        ("", "Spark does not answer: "),
    ],
)
def test_a_spark_that_does_not_answer_is_reported(
    failure: str, words: str, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "local")
    sessions.failure = RuntimeError(failure)
    with pytest.raises(UsageError) as told:
        session.start(0)
    assert str(told.value).endswith(words)


def test_a_spark_that_does_not_start_is_reported_with_what_to_do(sessions: Sessions) -> None:
    sessions.failure = RuntimeError("JAVA_GATEWAY_EXITED\nand more lines")
    with pytest.raises(UsageError) as told:
        session.start(0)
    for words in ("JAVA_GATEWAY_EXITED", "Java 17", "--engine local", java_log._log[-1]):
        assert words in str(told.value)
    assert "more lines" not in str(told.value)


def test_a_server_that_is_not_there_is_not_asked_for_a_session(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://no.such.host.invalid")
    monkeypatch.setattr(session, "getproxies", dict)
    sessions.failure = RuntimeError("asked")
    with pytest.raises(UsageError, match=r"no server listens at no\.such\.host\.invalid:15002"):
        session.start(0)


@pytest.mark.usefixtures("sessions")
def test_a_call_of_java_that_is_interrupted_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    session.start(0)
    root = logging.getLogger()
    for file, words in (("py4j/java_gateway.py", "KeyboardInterrupt while sending command."), ("other.py", "a fault")):
        root.handle(root.makeRecord("root", logging.ERROR, file, 1, words, (), None))
    assert caplog.messages == ["a fault"]


@pytest.mark.usefixtures("sessions")
def test_what_spark_says_is_in_a_file_of_the_owner_and_not_on_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert java_log.log_hint() == ""
    session.start(0)
    os.write(2, b"our own words\n")
    (file,) = tmp_path.glob("*.log")
    assert file.read_text() == "WARN: what Spark says\n" * 2
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(file) in java_log.log_hint()
    assert capfd.readouterr() == ("", "our own words\n")


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_closed_output_stays_closed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with ``exporter export … >&-``: then Python has no such stream."""
    monkeypatch.setattr(sys, name, None)
    duplicated: list[int] = []
    dup = os.dup
    monkeypatch.setattr(os, "dup", lambda stream: duplicated.append(stream) or dup(stream))
    session.start(0)
    assert duplicated == [2 if name == "stdout" else 1]


@pytest.mark.parametrize("is_named", [True, False])
def test_sparks_log_is_kept_only_if_a_message_named_it(
    is_named: bool,  # noqa: FBT001 - a parametrised case
    sessions: Sessions,
    tmp_path: Path,
) -> None:
    session.start(0)
    if is_named:
        java_log.log_hint()
    for function, *arguments in sessions.at_exit:
        function(*arguments)
    assert len(list(tmp_path.glob("*.log"))) == is_named


def test_java_in_the_environment_is_used_unless_java_home_names_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "lib" / "jvm"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")  # as if it was not set; the test leaves it as it was
    session._use_own_java()
    assert os.environ["JAVA_HOME"] == ""
    (own / "bin").mkdir(parents=True)
    (own / "bin" / "java").touch()
    session._use_own_java()
    assert os.environ["JAVA_HOME"] == str(own)
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    session._use_own_java()
    assert os.environ["JAVA_HOME"] == "/opt/java"
