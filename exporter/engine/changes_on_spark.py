"""Write the changes of an update (:mod:`exporter.engine.changes`) with Spark, for large graphs."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import functions as F

from exporter.engine.changes import ADDED, EVENTS, FOLDER, REMOVED, UPDATE, syntax
from exporter.graph.difference import SAID_ONCE, SEPARATORS, subjects, triples, update
from exporter.rows.paths import uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from exporter.engine.changes import Changed, Syntax
    from exporter.publication import Publication
    from exporter.steps.job import Job

    Batches = Iterator[pa.RecordBatch]

_LINE: Final = "value string"
_DIFFER: Final = "value string, is_added boolean"
_BOTH: Final = ("is_added", "value")
_LINES: Final = 10_000


def write(changed: Changed[DataFrame], job: Job, new: Publication, spark: SparkSession) -> None:
    """Write the changes between the old DIR and the new one, as :func:`exporter.engine.changes.write` does."""
    folder, of = f"{new.work}/{FOLDER}", syntax(job)
    if of:
        before = _triples(spark, changed.before(new, "graph"), changed.said, of)
        now = _triples(spark, changed.after(new, "graph"), changed.now, of)
        differ = _kept(_differences(before, now), f"{new.work}/differ", spark)
        removed, added = (differ.filter(which).select("value") for which in (~F.col("is_added"), F.col("is_added")))
        removed = _said_no_more(spark, removed, changed.stays(new, "graph"), of)
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


def _kept(differ: DataFrame, path: str, spark: SparkSession) -> DataFrame:
    """Several files are made from them, and Spark would parse both graphs for each."""
    differ.write.parquet(uri(path))
    return spark.read.schema(_DIFFER).parquet(uri(path))


def _parts(spark: SparkSession, folders: list[str], separator: str, ending: str) -> DataFrame:
    names = f"*.{{{ending},{ending}.gz}}"
    each = [
        spark.read.option("pathGlobFilter", names).text(uri(folder), lineSep=separator).select("value")
        for folder in folders
    ]
    return reduce(lambda one, other: one.unionByName(other), each) if each else spark.createDataFrame([], _LINE)


def _triples(spark: SparkSession, folders: list[str], said: DataFrame, of: Syntax) -> DataFrame:
    texts = said.filter(F.col("to") == of.to).select(F.col("body").cast("string").alias("value"))
    parts = _parts(spark, folders, SEPARATORS[of.ending], of.ending).unionByName(texts)
    return parts.mapInArrow(partial(_read, of.ending, of.opening), _LINE)


def _said_no_more(spark: SparkSession, gone: DataFrame, folders: list[str], of: Syntax) -> DataFrame:
    """Removed triples without those that other days still say."""
    asked = gone.filter(~F.col("value").rlike(SAID_ONCE))
    if not folders or asked.isEmpty():
        return gone
    about = asked.mapInArrow(partial(_subjects, of.base), _LINE).distinct()
    parts = _parts(spark, folders, SEPARATORS[of.ending], of.ending)
    near = parts.join(about, F.substring_index(parts["value"], " ", 1) == about["value"], "left_semi")
    said = near.mapInArrow(partial(_read, of.ending, of.opening), _LINE)
    return gone.join(said, "value", "left_anti")


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
    changes = (one for batch in batches for one in zip(*(batch[name].to_pylist() for name in _BOTH), strict=True))
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
