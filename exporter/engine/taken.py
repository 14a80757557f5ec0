"""Move texts that Spark has stored to files in DIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.rows.paths import uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from exporter.publication import Publication


def take(spark: SparkSession, new: Publication, name: str, day: str = "") -> None:
    """Move the texts that are stored under a name to their places. ``day``: the day of an update, otherwise empty.

    Spark compresses either all outputs of a write or none. So outputs that are not compressed in DIR are written again.
    """
    texts = f"{new.work}/{name}"
    plain = f"{texts}-plain"
    for folder in new.plain_ones(texts):
        lines = spark.read.text(uri(folder), lineSep="\n")
        lines.write.option("compression", "none").text(uri(f"{plain}/{folder.rpartition('/')[2]}"))
        new.drop_work(folder)
    new.take(plain, day)
    new.take(texts, day)
