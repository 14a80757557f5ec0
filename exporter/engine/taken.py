"""Texts that Spark has stored -> files of DIR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.rows.forms import uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from exporter.publication import Publication


def take(spark: SparkSession, new: Publication, name: str, day: str = "") -> None:
    """Give the texts that are stored under a name their places; ``day``: whose they are, of an update.

    Spark compresses all that it writes at once, or nothing; so what is not to be compressed in DIR is written again.
    """
    texts = f"{new.work}/{name}"
    plain = f"{texts}-plain"
    for folder in new.plain_ones(texts):
        lines = spark.read.text(uri(folder), lineSep="\n")
        lines.write.option("compression", "none").text(uri(f"{plain}/{folder.rpartition('/')[2]}"))
        new.drop_work(folder)
    new.take(plain, day)
    new.take(texts, day)
