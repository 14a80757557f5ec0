from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest
from pyspark.sql import functions as F

from exporter import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOME = Path(pyspark.__file__).parent
# Started from the shell, where a terminal would show whatever Spark says.
PROGRAM = """
import sys
from collections import deque
from exporter import jvm, session, warming
spark = session.start(int(sys.argv[1]) if sys.argv[1] else None)
warming.worker(spark, "rdflib").join()
warming.engine(spark).join()
print(spark.range(3).count(), "Spark log level" in jvm.said(99))
"""
ANSWER = (0, "3 True\n", "")


def run(size: str, program: str = PROGRAM, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, size],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("size", ["100", ""], ids=["small", "unknown"])
def test_only_the_answer_is_printed_and_what_spark_said_is_kept(size: str) -> None:
    done = run(size)
    assert (done.returncode, done.stdout, done.stderr) == ANSWER


def test_without_java_the_message_says_what_to_install() -> None:
    done = run("100", JAVA_HOME="/nowhere")
    assert "UsageError: no Java was found: install Java 17" in done.stderr


def test_a_java_that_does_not_start_is_quoted(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'this Java is too old' >&2\nexit 1\n")
    java.chmod(0o755)
    done = run("100", JAVA_HOME=str(tmp_path))
    assert "UsageError: Java did not start; Spark needs Java 17 or later." in done.stderr
    assert "this Java is too old" in done.stderr


def test_a_cache_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    program = f"import sys; sys.prefix = {str(tmp_path)!r}\n{PROGRAM}"
    cache = tmp_path / "share" / "access-history-exporter" / "spark.aot"
    cache.parent.mkdir(parents=True)
    cache.write_bytes(b"no cache at all" * 1000)
    done = run("100", program)
    assert (done.returncode, done.stdout, done.stderr) == ANSWER


def test_a_recorded_cache_is_put_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "with a space" / "share" / "access-history-exporter"
    folder.mkdir(parents=True)
    program = f"import sys; sys.prefix = {str(folder.parent.parent)!r}\n{PROGRAM}"
    recorded = run("100", program, **{jvm.RECORD: "1"})
    assert (recorded.returncode, recorded.stderr) == (0, "")
    assert [path.name for path in folder.iterdir()] == ["spark.aot"]
    used = run("100", program, JAVA_TOOL_OPTIONS=f"-Xlog:class+load:file={tmp_path}/classes-%p.log")
    assert (used.returncode, used.stdout, used.stderr) == ANSWER
    loaded = "".join(log.read_text() for log in tmp_path.glob("classes-*.log"))
    assert "org.apache.spark.SparkContext source: shared objects file" in loaded


def test_the_command_is_what_spark_submit_would_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "class_cache", lambda: tmp_path / "none")
    settings = {"spark.app.name": "two words", jvm.MEMORY: "3g", jvm.OPTIONS: '-Da=b "-Dc=d e"'}
    confs = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    launcher = [jvm.java_command(), "-cp", f"{HOME}/jars/*", "org.apache.spark.launcher.Main"]
    said = subprocess.run(
        [*launcher, "org.apache.spark.deploy.SparkSubmit", *confs, "pyspark-shell"],
        env={**os.environ, "SPARK_HOME": str(HOME), "SPARK_CONF_DIR": f"{HOME}/conf", "SPARK_SCALA_VERSION": "2.13"},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    theirs = said.strip("\0\n").split("\0")
    ours = jvm._command(settings, HOME)
    theirs.remove("--add-modules=jdk.incubator.vector")  # for linear algebra; the Java of our packages does not have it
    main = ours.index("org.apache.spark.deploy.SparkSubmit")
    assert ours[1 : main + 1] == theirs[1 : main + 1]
    assert sorted(ours[main:]) == sorted(theirs[main:])


def test_what_spark_is_told_by_the_environment_is_heeded(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(
        "#!/bin/bash\n"
        'for word; do shift; [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"; done\n'
        f'exec {jvm.java_command()} "$@"\n'
    )
    java.chmod(0o755)
    program = PROGRAM + "print(spark.sparkContext.appName)"
    told = {"PYSPARK_SUBMIT_ARGS": "--name told-by-the-environment pyspark-shell", "JAVA_HOME": str(tmp_path)}
    done = run("100", program, **told)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 True\ntold-by-the-environment\n", "")


def test_lists_of_any_length_cross_to_the_jvm_in_their_order(spark: SparkSession) -> None:
    for length in (1, 9, 10, 11, 20, 21, 57):
        names = [f"c{number}" for number in range(length)]
        made = spark.range(1).select([F.lit(number).alias(name) for number, name in enumerate(names)])
        assert made.columns == names
        assert made.select(F.concat_ws(",", *names)).first() == (",".join(map(str, range(length))),)
    assert spark.range(2).select([]).columns == []


def test_a_column_that_is_only_named_is_found_in_each_table(spark: SparkSession) -> None:
    one, other = spark.range(1).withColumn("x", F.lit("one")), spark.range(1).withColumn("x", F.lit("other"))
    shared = F.col("x")
    found = one.select(shared).union(other.select(shared)).union(other.select(F.col("x").alias("y")))
    assert [row.x for row in found.collect()] == ["one", "other", "other"]


def test_what_python_let_go_of_is_told_in_the_end() -> None:
    told: deque[object] = deque()
    later = jvm._LetGoLater(told)
    gone = [("client", f"o{number}") for number in range(jvm._LetGoLater._AT_ONCE + 1)]
    for one in gone[:-1]:
        later.appendleft(one)
    assert not told
    later.appendleft(gone[-1])
    assert list(reversed(told)) == gone
    later.appendleft(("client", "last"))
    later.appendleft("__shutdown__")
    assert [told[1], told[0]] == [("client", "last"), "__shutdown__"]
