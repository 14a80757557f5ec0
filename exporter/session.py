"""The Spark session."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def start(
    input_bytes: int | None, *, app_name: str = "access-history-exporter", master: str | None = None
) -> SparkSession:
    """The session."""
    small = input_bytes is not None and input_bytes < 16_000_000
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.appName(app_name)
        .master(master or "local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
        .config("spark.sql.shuffle.partitions", "2" if small else "8")
        .config("spark.driver.memory", "8g")
        .config("spark.ui.showConsoleProgress", "false")
    )
    if small:
        builder = (
            builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.icu.caseMappings.enabled", "false")
            .config("spark.sql.adaptive.enabled", "false")
        )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark
