"""The changes of an update (:mod:`exporter.engine.changes`) where graphs are large: compared by Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from exporter.engine import session
from exporter.engine.changes import ADDED, EVENTS, REMOVED, UPDATE, syntax
from exporter.graph.difference import SEPARATORS, triples, update
from exporter.graph.writers.turtle import header
from exporter.rows.forms import uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from exporter.publication import Publication
    from exporter.settings import Settings

    Batches = Iterator[pa.RecordBatch]

_LINE = "value string"


def write(settings: Settings, new: Publication, number: int, *, is_first: bool) -> None:
    """As :func:`exporter.engine.changes.write`."""
    spark = session.start(None)
    folder = f"{new.work}/changes"
    ending = syntax(settings)
    if ending:
        now = _triples(spark, f"{new.folder}/graph", ending, settings.base)
        before = None if is_first else _triples(spark, new.before("graph"), ending, settings.base)
        added = now if before is None else now.subtract(before)
        removed = now.limit(0) if before is None else before.subtract(now)
        _write(removed, f"{folder}/{REMOVED}")
        _write(added, f"{folder}/{ADDED}")
        both = removed.withColumn("is_added", F.lit(False)).unionByName(added.withColumn("is_added", F.lit(True)))
        _write(both, f"{folder}/{UPDATE}", is_update=True)
    if "events" in settings.outputs:
        now = _lines(spark, f"{new.folder}/events", "\n")
        known = None if is_first else _lines(spark, new.before("events"), "\n")
        _write(now if known is None else now.subtract(known), f"{folder}/{EVENTS}")
    new.take_changes(folder, number)


def _lines(spark: SparkSession, folder: str, separator: str) -> DataFrame:
    return spark.read.option("recursiveFileLookup", "true").text(uri(folder), lineSep=separator)


def _triples(spark: SparkSession, folder: str, ending: str, base: str) -> DataFrame:
    opening = header(base) if ending == "ttl" else ""
    parts = (
        spark.read.option("recursiveFileLookup", "true")
        .option("pathGlobFilter", f"*.{ending}")
        .text(uri(folder), lineSep=SEPARATORS[ending])
    )
    return parts.mapInArrow(partial(_read, ending, opening), _LINE)


def _read(ending: str, opening: str, batches: Batches) -> Batches:
    for batch in batches:
        yield _batch(triples(batch.column(0).to_pylist(), ending, opening))


def _write(lines: DataFrame, path: str, *, is_update: bool = False) -> None:
    """One file: what stores load is loaded in one go."""
    if is_update:
        lines = lines.repartition(1).sortWithinPartitions("is_added", "value").mapInArrow(_updates, _LINE)
    else:
        lines = lines.repartition(1).sortWithinPartitions("value")
    lines.write.option("compression", "gzip").text(uri(path))


def _updates(batches: Batches) -> Batches:
    changes = (one for batch in batches for one in zip(*(batch[name].to_pylist() for name in _BOTH), strict=True))
    lines: list[str] = []
    for line in update(changes):
        lines.append(line)
        if len(lines) >= _LINES:
            yield _batch(lines)
            lines = []
    yield _batch(lines)


_BOTH = ("is_added", "value")
_LINES = 10_000


def _batch(lines: list[str] | Iterator[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"value": pa.array(list(lines), pa.string())})
