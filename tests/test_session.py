from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from exporter import session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# Started from the shell, where a terminal would show whatever Spark says.
PROGRAM = """
import sys
from exporter import session
spark = session.start(int(sys.argv[1]) if sys.argv[1] else None)
session.warm_worker(spark, "rdflib").join()
print(spark.range(3).count(), "Spark log level" in session.engine_log(99))
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


def test_times_are_utc_whatever_the_machine_says(spark: SparkSession) -> None:
    read = spark.sql("SELECT CAST(TIMESTAMP'2024-02-01 09:00:00+02:00' AS STRING) AS t").first()
    assert read is not None
    assert read.t == "2024-02-01 07:00:00"


def test_the_last_of_two_equal_keys_wins(spark: SparkSession) -> None:
    read = spark.sql("SELECT map_from_entries(array(struct('k', 1), struct('k', 2))) AS m").first()
    assert read is not None
    assert read.m == {"k": 2}


def test_a_session_that_is_there_is_used(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    again = session.start(None)
    assert again is spark
    assert again.conf.get("spark.sql.session.timeZone") == "UTC"


def test_letters_change_case_as_they_do_with_the_tables_of_icu(spark: SparkSession) -> None:
    letters = spark.createDataFrame([("straße \u0131İiI ǆ ﬁ AΣ ჰ",)], "text string")
    changed = letters.select(F.upper("text").alias("up"), F.lower("text").alias("low"))
    quick = changed.first()
    spark.conf.set("spark.sql.icu.caseMappings.enabled", "true")
    try:
        assert changed.select("*").first() == quick
    finally:
        spark.conf.set("spark.sql.icu.caseMappings.enabled", "false")


def test_output_has_no_files_beside_the_data(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).coalesce(1).select(F.lit("x").alias("value")).write.text(str(tmp_path / "out"))
    names = [path.name for path in (tmp_path / "out").iterdir()]
    assert len(names) == 1
    assert names[0].startswith("part-")


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


def test_an_archive_that_does_not_fit_is_passed_over(tmp_path: Path) -> None:
    program = f"import sys; sys.prefix = {str(tmp_path)!r}\n{PROGRAM}"
    archive = tmp_path / "share" / "access-history-exporter" / "classes.jsa"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"no archive at all" * 1000)
    done = run("100", program)
    assert (done.returncode, done.stdout, done.stderr) == ANSWER


def test_a_recorded_archive_is_put_in_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "with a space" / "share" / "access-history-exporter"
    folder.mkdir(parents=True)
    program = f"import sys; sys.prefix = {str(folder.parent.parent)!r}\n{PROGRAM}"
    recorded = run("100", program, **{session.RECORD: "1"})
    assert (recorded.returncode, recorded.stderr) == (0, "")
    assert [path.name for path in folder.iterdir()] == ["classes.jsa"]
    used = run("100", program, JAVA_TOOL_OPTIONS=f"-Xlog:class+load:file={tmp_path}/classes-%p.log")
    assert (used.returncode, used.stdout, used.stderr) == ANSWER
    loaded = "".join(log.read_text() for log in tmp_path.glob("classes-*.log"))
    assert "org.apache.spark.SparkContext source: shared objects file (top)" in loaded


def test_size_decides_how_the_session_is_tuned() -> None:
    tiny, small, large, unknown = (session._sized(size) for size in (0, session.SMALL - 1, session.SMALL, None))
    assert tiny["spark.sql.shuffle.partitions"] == "1"
    assert "TieredStopAtLevel=1" in small["spark.driver.extraJavaOptions"]
    assert "TieredStopAtLevel" not in large["spark.driver.extraJavaOptions"]
    assert large == unknown
