from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter import jvm, session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


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


def test_size_decides_how_the_session_is_tuned() -> None:
    tiny, small, large, unknown = (session._sized(size) for size in (0, session.SMALL - 1, session.SMALL, None))
    assert tiny["spark.sql.shuffle.partitions"] == "1"
    assert "TieredStopAtLevel=1" in small[jvm.OPTIONS]
    assert "TieredStopAtLevel" not in large[jvm.OPTIONS]
    assert large == unknown
