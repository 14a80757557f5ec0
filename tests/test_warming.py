"""The threads that warm swallow what goes wrong, so what they run is tried here without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter import warming

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_the_steps_that_warm_the_engine_run(spark: SparkSession) -> None:
    rows = spark.sql(warming.STEPS).collect()
    assert sorted((row["name"], row["n"], row["last"], row["word"]) for row in rows) == [
        ("0", 2, "0", "0"),
        ("1", 2, "1", "1"),
    ]


def test_a_warmed_worker_has_imported_what_was_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "marking.py").write_text(f"open({str(mark)!r}, 'w').close()")
    spark.sparkContext.addPyFile(str(tmp_path / "marking.py"))
    warming.worker(spark, "marking").join()
    assert mark.exists()
