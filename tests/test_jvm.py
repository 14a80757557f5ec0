from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from exporter import jvm, session

HOME = Path(pyspark.__file__).parent
# Started from the shell, where a terminal would show whatever Spark says.
PROGRAM = """
import sys
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
    ours = jvm._command(settings)
    # Theirs is a pattern, and takes linear algebra in, which would be started with every session.
    class_path = ours[2].split(":")
    assert class_path[:2] == theirs[2].split(":")[:2]
    left_out = {str(jar) for jar in HOME.glob("jars/*.jar")} - set(class_path)
    assert theirs[2].split(":")[2:] == [f"{HOME}/jars/*"]
    assert [Path(jar).name.split("_")[0] for jar in left_out] == ["spark-mllib"]
    ours[2] = theirs[2]
    theirs.remove("--add-modules=jdk.incubator.vector")  # for linear algebra; the Java of our packages does not have it
    main = ours.index("org.apache.spark.deploy.SparkSubmit")
    assert ours[1 : main + 1] == theirs[1 : main + 1]
    assert sorted(ours[main:]) == sorted(theirs[main:])


def test_a_small_session_carries_our_settings_of_hadoop_and_not_its_thousand_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in jvm._HEEDED_BY_SPARK_SUBMIT:
        monkeypatch.delenv(name, raising=False)
    done = run(
        "100",
        f"""
import sys
from exporter import session
spark = session.start(int(sys.argv[1]))
spark.range(1).write.json({str(tmp_path / "out")!r})  # nothing that is used brings the defaults back
entries = spark.sparkContext._jsc.hadoopConfiguration().iterator()
while entries.hasNext():
    entry = entries.next()
    print(entry.getKey(), entry.getValue())
""",
    )
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    found.pop("hive.metastore.warehouse.dir", None)  # said by the session when it first has a catalog
    ours = {name: value for name, value in session._LOCAL.items() if name.startswith("spark.hadoop.")}
    assert {f"spark.hadoop.{name}": value for name, value in found.items()} == ours


def test_files_where_spark_looks_for_settings_are_heeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in jvm._HEEDED_BY_SPARK_SUBMIT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(jvm, "_HOME", tmp_path)
    assert not jvm.is_told()
    (tmp_path / "conf").mkdir()
    assert jvm.is_told()


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
