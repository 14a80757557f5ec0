"""The state of an update in DIR (:mod:`exporter.engine.kept`), read and written by Spark."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.engine import changes_on_spark
from exporter.engine.changes import FOLDER, Changed
from exporter.engine.spark import SCHEMA
from exporter.engine.taken import take
from exporter.rows.paths import uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from exporter.publication import Publication
    from exporter.steps.job import Job

_COLUMNS = ("to", "key", "order", "body")
_IN_FILES: Final = "key string, order binary, body binary"
_FILE: Final = "([^/]+)/to=([^/]+)/[^/]+$"
"""Matches the path of a file: the last part of its messages' name, and their receiver."""


class SparkStore:
    """:class:`exporter.engine.days.Store` for a DIR that Spark can reach."""

    def __init__(self, spark: SparkSession, new: Publication, job: Job) -> None:
        self._spark, self._new, self._job = spark, new, job

    def carry(self, names: Iterable[str]) -> None:
        for name in names:
            self._new.carry(name)

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._new.drop(name)

    def save(self, messages: Sequence[DataFrame], name: str) -> None:
        _all(messages).write.partitionBy("to").option("compression", "zstd").parquet(uri(self._path(name)))

    def has(self, name: str) -> bool:
        return self._new.is_there(self._path(name))

    def load(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        return self._read(f"{self._new.folder}/state", names, to).select(*_COLUMNS)

    def load_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[DataFrame]) -> DataFrame:
        return self.load(names, to).join(_all(others).select("key").distinct(), "key", "left_semi").select(*_COLUMNS)

    def latest_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[DataFrame]) -> DataFrame:
        wanted = _all(others).select("to", "key").distinct()
        every = self._read(f"{self._new.folder}/state", names, to)
        return self._latest(every.join(wanted, ["to", "key"], "left_semi"))

    def latest(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        return self._latest(self._read(f"{self._new.folder}/state", names, to))

    @staticmethod
    def _latest(every: DataFrame) -> DataFrame:
        last = every.groupBy("to", "key").agg(F.max("name").alias("name"))
        return every.join(last, ["to", "key", "name"], "left_semi").select(*_COLUMNS)

    def changes(self, days: Sequence[str], said: Sequence[str], now: Sequence[str], to: Sequence[str]) -> None:
        number = 1 if self._job.forgets else self._new.numbered(FOLDER) + 1
        if number > 1:
            self._new.carry(FOLDER)
        after = self.latest(now, to)
        every = [name.rpartition("/")[2] for name in now]
        if number == 1:
            before, days = after.limit(0), every
        else:
            # Only texts that differ are compared: on most days most things are not mentioned.
            there = self._latest(self._read(self._new.before("state"), said, to))
            before, after = (
                there.join(after, list(_COLUMNS), "left_anti"),
                after.join(there, list(_COLUMNS), "left_anti"),
            )
        changed = Changed(number, days, sorted({*every} - {*days}), before, after)
        changes_on_spark.write(changed, self._job, self._new, self._spark)

    def publish(self, messages: DataFrame, name: str, day: str) -> None:  # noqa: ARG002 - the engine has stored them
        take(self._spark, self._new, name, day)

    def _read(self, state: str, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        paths = [uri(f"{state}/{name}") for name in names if self._new.is_there(f"{state}/{name}")]
        if not paths:
            return self._spark.createDataFrame([], f"{SCHEMA}, name string")
        # All folders in one reading: a union of one for each would be a plan that grows with the days.
        every = self._spark.read.schema(_IN_FILES).option("recursiveFileLookup", "true").parquet(*paths)
        # Spark reads only the files whose paths pass the filter.
        found = every.filter(_part_of_path(2).isin(list(to)))
        return found.select(_part_of_path(2).alias("to"), *_COLUMNS[1:], _part_of_path(1).alias("name"))

    def _path(self, name: str) -> str:
        return f"{self._new.folder}/state/{name}"


def _part_of_path(number: int) -> Column:
    return F.regexp_extract("_metadata.file_path", _FILE, number)


def _all(each: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), each)
