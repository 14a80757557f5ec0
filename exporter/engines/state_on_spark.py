"""What an update keeps and writes, on Spark: its state (:mod:`exporter.engines.state`), its changes
(:mod:`exporter.engines.changes`), and texts as files in DIR.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from exporter.engines import changes
from exporter.engines.changes import ADDED, EVENTS, FOLDER, REMOVED, UPDATE, Changed, ChangesSyntax, syntax
from exporter.engines.spark import COLUMNS, SCHEMA, union
from exporter.engines.state import Store
from exporter.graph.writers import SAID_ONCE, SEPARATORS, subjects, triples, update
from exporter.input.formats import uri
from exporter.pipeline.job import ExportJob
from exporter.publish.publication import Publication

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def take(spark: SparkSession, new: Publication, name: str, day: str = "") -> None:
    """Move the texts that are stored under a name to their places. ``day``: the day of an update, otherwise empty.

    Spark compresses either all outputs of a write or none. So outputs that are not compressed in DIR are written again.
    """
    texts = f"{new.work}/{name}"
    plain = f"{texts}-plain"
    for folder in new.wrongly_compressed(texts):
        lines = spark.read.text(uri(folder), lineSep="\n")
        lines.write.mode("overwrite").option("compression", "none").text(uri(f"{plain}/{folder.rpartition('/')[2]}"))
        new.drop_work(folder)
    new.take(plain, day)
    new.take(texts, day)


_NAME: Final = "([^/]+)/[^/]+$"
"""Matches the path of a file: the last part of its messages' name."""
_OF_UPDATE: Final = "([0-9]+)/[^/]+$"
"""Matches the path of a file of changes: the number of its update."""


class SparkStore(Store[DataFrame]):
    """The state of a DIR that Spark can reach."""

    def __init__(self, spark: SparkSession, new: Publication, job: ExportJob) -> None:
        super().__init__(new)
        self._spark, self._job = spark, job

    def save(self, messages: Sequence[DataFrame], name: str) -> None:
        ordered = union(messages).sortWithinPartitions(*COLUMNS[:3])
        ordered.write.option("compression", "zstd").parquet(uri(f"{self._new.folder}/state/{name}"))

    def join(self, names: Sequence[str], kept_whole: Sequence[str] | None, name: str) -> None:
        read = self._read(self._paths(names))
        if kept_whole is None:
            messages = [read.select(*COLUMNS)]
        else:
            is_kept = F.col("to").isin(list(kept_whole))
            messages = [read.filter(is_kept).select(*COLUMNS), self._latest(read.filter(~is_kept))]
        self.save(messages, name)
        self.drop(f"state/{joined_name}" for joined_name in names)

    def load(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        return self._read(self._paths(names), to).select(*COLUMNS)

    def load_before(self, name: str, to: Sequence[str]) -> DataFrame:
        is_there = name in self.names_before(name.rpartition("/")[0])
        return self._read([self._new.before(f"state/{name}")] if is_there else [], to).select(*COLUMNS)

    def load_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[DataFrame]) -> DataFrame:
        return self.load(names, to).join(union(others).select("key").distinct(), "key", "left_semi").select(*COLUMNS)

    def latest_of(self, names: Sequence[str], to: Sequence[str], others: Sequence[DataFrame]) -> DataFrame:
        wanted = union(others).select("to", "key").distinct()
        messages = self._read(self._paths(names), to)
        return self._latest(messages.join(wanted, ["to", "key"], "left_semi"))

    def latest(self, names: Sequence[str], to: Sequence[str]) -> DataFrame:
        return self._latest(self._read(self._paths(names), to))

    @staticmethod
    def _latest(messages: DataFrame) -> DataFrame:
        last = messages.groupBy("to", "key").agg(F.max("name").alias("name"))
        return messages.join(last, ["to", "key", "name"], "left_semi").select(*COLUMNS)

    def changes(self, days: Sequence[str], all_days: Sequence[str], things: str, to: Sequence[str]) -> None:
        number = changes.carried(self._new, self._job)
        after = self.latest(self.names(things), to)
        if number == 1:
            before, days = after.limit(0), all_days
        else:
            # Only texts that differ are compared: on most days most things are not mentioned.
            there = self._latest(
                self._read([self._new.before(f"state/{name}") for name in self.names_before(things)], to)
            )
            before, after = (
                there.join(after, list(COLUMNS), "left_anti"),
                after.join(there, list(COLUMNS), "left_anti"),
            )
        changed = Changed(number, days, sorted({*all_days} - {*days}), before, after)
        write(changed, self._job, self._new, self._spark)

    def join_changes(self, numbers: Sequence[int]) -> None:
        folder, filled = f"{self._new.work}/{FOLDER}-{numbers[-1]}", set[int]()
        if changes.has(self._new, numbers[0], UPDATE):
            paths = [changes.path(self._new, number, name) for number in numbers for name in (REMOVED, ADDED)]
            lines = self._spark.read.text([*map(uri, paths)], lineSep="\n").select(
                "value",
                F.regexp_extract("_metadata.file_path", _OF_UPDATE, 1).cast("int").alias("number"),
                (F.col("_metadata.file_name") == ADDED).alias("is_added"),
            )
            filled.update(row.number for row in lines.select("number").distinct().collect())
            last = lines.groupBy("value").agg(F.max_by("is_added", "number").alias("is_added"))
            for is_added, name in ((False, REMOVED), (True, ADDED)):
                _write(last.filter(F.col("is_added") == is_added).select("value"), f"{folder}/{name}")
        changes.put_together(numbers, filled, folder, self._new)

    def publish(self, messages: DataFrame, name: str, day: str) -> None:  # noqa: ARG002 - the engine has stored them
        take(self._spark, self._new, name, day)

    def _paths(self, names: Sequence[str]) -> list[str]:
        return [self._new.path(f"state/{name}") for name in names if self.has(name)]

    def _read(self, paths: Sequence[str], to: Sequence[str] | None = None) -> DataFrame:
        if not paths:
            return self._spark.createDataFrame([], f"{SCHEMA}, name string")
        # All folders in one reading: a union of one for each would be a plan that grows with the days.
        messages = self._spark.read.schema(SCHEMA).parquet(*map(uri, paths))
        name = F.regexp_extract("_metadata.file_path", _NAME, 1).alias("name")
        return (messages if to is None else messages.filter(F.col("to").isin(list(to)))).select(*COLUMNS, name)


Batches = Iterator[pa.RecordBatch]

_LINE: Final = "value string"
_DIFFER: Final = "value string, is_added boolean"
_BOTH: Final = ("is_added", "value")
_LINES: Final = 10_000


def write(changed: Changed[DataFrame], job: ExportJob, new: Publication, spark: SparkSession) -> None:
    """Write the changes between the old DIR and the new one, as :func:`exporter.engines.changes.write` does."""
    folder, graph_syntax = f"{new.work}/{FOLDER}", syntax(job)
    if graph_syntax:
        parts_before, parts_now = (
            _parts(spark, folders, SEPARATORS[graph_syntax.ending], graph_syntax.ending).withColumn(
                "digest", F.sha2("value", 256)
            )
            for folders in (changed.before(new, "graph"), changed.after(new, "graph"))
        )
        before = _triples(parts_before.join(parts_now, "digest", "left_anti"), changed.things_before, graph_syntax)
        now = _triples(parts_now.join(parts_before, "digest", "left_anti"), changed.things_now, graph_syntax)
        differ = _persisted(_differences(before, now), f"{new.work}/differ", spark)
        removed, added = (differ.filter(which).select("value") for which in (~F.col("is_added"), F.col("is_added")))
        same = parts_now.join(parts_before, "digest", "left_semi").select("value")
        stays = _parts(spark, changed.same_graph(new), SEPARATORS[graph_syntax.ending], graph_syntax.ending)
        if changed.number > 1:
            added = _in_no_other_part(added, same, graph_syntax)
            removed = _in_no_other_part(removed, same.unionByName(stays), graph_syntax)
        _write(removed, f"{folder}/{REMOVED}")
        _write(added, f"{folder}/{ADDED}")
        both = removed.withColumn("is_added", F.lit(False)).unionByName(added.withColumn("is_added", F.lit(True)))
        _write(both, f"{folder}/{UPDATE}", is_update=True)
    if job.events:
        known = _parts(spark, changed.before(new, "events"), "\n", "ndjson")
        _write(_parts(spark, changed.after(new, "events"), "\n", "ndjson").subtract(known), f"{folder}/{EVENTS}")
    new.take_changes(folder, changed.number)


def _differences(before: DataFrame, now: DataFrame) -> DataFrame:
    """The lines of one graph only, once each, and whether they were added; each graph is parsed once."""
    both = before.withColumn("is_now", F.lit(False)).unionByName(now.withColumn("is_now", F.lit(True)))
    seen = both.groupBy("value").agg(F.min("is_now").alias("first"), F.max("is_now").alias("last"))
    return seen.filter(F.col("first") == F.col("last")).select("value", F.col("last").alias("is_added"))


def _persisted(differ: DataFrame, path: str, spark: SparkSession) -> DataFrame:
    """Several files are made from them, and Spark would parse both graphs for each."""
    differ.write.parquet(uri(path))
    return spark.read.schema(_DIFFER).parquet(uri(path))


def _parts(spark: SparkSession, folders: list[str], separator: str, ending: str) -> DataFrame:
    names = f"*.{{{ending},{ending}.gz}}"
    data_frames = [
        spark.read.option("pathGlobFilter", names).text(uri(folder), lineSep=separator).select("value")
        for folder in folders
    ]
    return union(data_frames) if data_frames else spark.createDataFrame([], _LINE)


def _triples(parts: DataFrame, data_frame: DataFrame, graph_syntax: ChangesSyntax) -> DataFrame:
    texts = data_frame.filter(F.col("to") == graph_syntax.to).select(F.col("body").cast("string").alias("value"))
    all_texts = parts.select("value").unionByName(texts)
    return all_texts.mapInArrow(partial(_read, graph_syntax.ending, graph_syntax.opening), _LINE)


def _in_no_other_part(asked: DataFrame, parts: DataFrame, graph_syntax: ChangesSyntax) -> DataFrame:
    """The triples that no other part of a file says."""
    several = asked.filter(~F.col("value").rlike(SAID_ONCE))
    if several.isEmpty():
        return asked
    about = several.mapInArrow(partial(_subjects, graph_syntax.base), _LINE).distinct()
    near = parts.join(about, F.substring_index(parts["value"], " ", 1) == about["value"], "left_semi")
    data_frame = near.mapInArrow(partial(_read, graph_syntax.ending, graph_syntax.opening), _LINE)
    return asked.join(data_frame, "value", "left_anti")


def _subjects(base: str, batches: Batches) -> Batches:
    for batch in batches:
        yield _batch(subjects(batch.column(0).to_pylist(), base))


def _read(ending: str, opening: str, batches: Batches) -> Batches:
    for batch in batches:
        yield _batch(triples(batch.column(0).to_pylist(), ending, opening))


def _write(lines: DataFrame, path: str, *, is_update: bool = False) -> None:
    """Write the lines, sorted. Each part is compressed by itself, and together they are one gzip file, which they
    become when they are published: stores load single files.
    """
    lines = lines.sort(*_BOTH).mapInArrow(_updates, _LINE) if is_update else lines.sort("value")
    lines.write.option("compression", "gzip").text(uri(path))


def _updates(batches: Batches) -> Batches:
    changes = (row for batch in batches for row in zip(*(batch[name].to_pylist() for name in _BOTH), strict=True))
    # The operations of an update are separated by semicolons. Only the first part, which has the least line, begins it.
    task = TaskContext.get()
    lines: list[str] = []
    for line in update(changes, is_begun=task is not None and task.partitionId() > 0):
        lines.append(line)
        if len(lines) >= _LINES:
            yield _batch(lines)
            lines = []
    yield _batch(lines)


def _batch(lines: Iterable[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"value": pa.array(list(lines), pa.string())})
