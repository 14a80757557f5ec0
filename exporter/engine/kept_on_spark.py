"""What an update keeps in DIR (:mod:`exporter.engine.kept`), read and written by Spark."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.engine.spark import SCHEMA
from exporter.rows.forms import uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from exporter.publication import Publication

_COLUMNS = ("to", "key", "order", "body")


class SparkStore:
    """:class:`exporter.engine.days.Store` of a DIR that Spark reaches."""

    def __init__(self, spark: SparkSession, new: Publication) -> None:
        self._spark, self._new = spark, new

    def carry(self, names: Iterable[str]) -> None:
        for name in names:
            self._new.carry(name)

    def save(self, messages: Sequence[DataFrame], name: str) -> None:
        every = reduce(lambda one, other: one.unionByName(other), messages)
        every.write.partitionBy("to").option("compression", "zstd").parquet(uri(self._path(name)))

    def load(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        return self._read(names, to).select(*_COLUMNS)

    def latest(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        every = self._read(names, to)
        last = every.groupBy("to", "key").agg(F.max("name").alias("name"))
        return every.join(last, ["to", "key", "name"], "left_semi").select(*_COLUMNS)

    def publish(self, messages: DataFrame, name: str, day: str) -> None:  # noqa: ARG002 - the engine has stored them
        self._new.take(f"{self._new.work}/{name}", day)

    def _read(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        there = [name for name in names if self._new.has(f"state/{name}")]
        each = [
            self._spark.read.schema(SCHEMA).parquet(uri(self._path(name))).withColumn("name", F.lit(name))
            for name in there
        ]
        none = self._spark.createDataFrame([], f"{SCHEMA}, name string")
        return reduce(lambda one, other: one.unionByName(other), each, none).filter(F.col("to").isin(list(to)))

    def _path(self, name: str) -> str:
        return f"{self._new.folder}/state/{name}"
