"""An export on Spark: a small input in one task, any other in rounds between all."""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.engine import local, rounds, session
from exporter.engine.outcome import LIMIT, Outcome, outcome, results_of
from exporter.engine.records import read_back, records
from exporter.engine.spark import SCHEMA, SparkEngine, as_text, batched
from exporter.messages import RESULT, TALLY
from exporter.queries.tables import FACTS
from exporter.rows import forms
from exporter.steps.reading import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from exporter.progress import Progress
    from exporter.publication import Publication
    from exporter.steps.job import Job

    Batches = Iterator[pa.RecordBatch]

_PARTITION: Final = 32 << 20
"""Bytes of input for each partition of a round, about: what comes of them has to fit a worker's memory."""


def run(
    found: forms.Inputs, history: forms.Inputs | None, job: Job, new: Publication, progress: Progress
) -> Outcome:
    """Make all outputs of the job below ``new``."""
    size = forms.size(found, history)
    with progress.stage("session"):
        spark = session.start(size)
        progress.watch(spark)
    came = _came(spark, found, history)
    engine = SparkEngine(spark, new.work, _partitions(spark, size))
    if session.is_small(size):
        with progress.stage("export"):
            return _alone(engine, came, job, new, spark)
    return _in_rounds(engine, came, job, new, spark, progress)


def _came(spark: SparkSession, found: forms.Inputs, history: forms.Inputs | None) -> DataFrame:
    rows = [records(spark, source) for source in found.sources]
    lines = [records(spark, source, is_history=True) for source in history.sources] if history else []
    return reduce(lambda one, other: one.unionByName(other), [*rows, *lines])


def _partitions(spark: SparkSession, size: int | None) -> int:
    if size is None:
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    return max(4, size // _PARTITION)


def _alone(engine: SparkEngine, came: DataFrame, job: Job, new: Publication, spark: SparkSession) -> Outcome:
    stored = engine.stored([came.coalesce(1).mapInArrow(partial(_work_alone, job), SCHEMA)], "outputs")
    told = stored.filter(F.col("to").isin(RESULT, TALLY)).collect()
    bodies = {to: [bytes(row["body"]) for row in told if row["to"] == to] for to in (RESULT, TALLY)}
    _take(spark, new, "outputs", job)
    return outcome(bodies[TALLY][0], bodies[RESULT])


def _work_alone(job: Job, batches: Batches) -> Batches:
    return batched(as_text(local.run(read_back(batches), job)))


def _in_rounds(
    engine: SparkEngine, came: DataFrame, job: Job, new: Publication, spark: SparkSession, progress: Progress
) -> Outcome:
    made = rounds.export(engine, came.mapInArrow(partial(_read, job), SCHEMA), job, progress.stage)
    found = [row["body"] for part in made.results for row in part.select("body").limit(LIMIT).collect()]
    for name in made.names:
        _take(spark, new, name, job)
    return Outcome(made.counts, made.refused, results_of(map(bytes, found)))


def _read(job: Job, batches: Batches) -> Batches:
    return batched(read(read_back(batches), job))


def _take(spark: SparkSession, new: Publication, name: str, job: Job) -> None:
    """Give the texts of outputs their places; the facts are told as JSON, and become Parquet."""
    texts = f"{new.work}/{name}"
    for table, columns in FACTS.items() if job.facts else ():
        schema = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
        rows = spark.read.schema(schema).json(f"{texts}/to=facts-{table}")
        rows.write.parquet(f"{new.folder}/facts/{table}")
    new.take(texts)
