"""An export on Spark: a small input in one task, any other in rounds between all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.engine import local, rounds, session, workers
from exporter.engine.outcome import LIMIT, Outcome, outcome, results_of
from exporter.engine.parquet import STATE_COLUMN
from exporter.engine.records import read_back, records
from exporter.engine.records import size as size_of
from exporter.engine.spark import SCHEMA, SparkEngine, as_text, batched, kept
from exporter.messages import CATALOG, RESULT, STATE, TALLY
from exporter.queries.tables import FACTS
from exporter.rows import forms
from exporter.rows.forms import uri
from exporter.steps.reading import read
from exporter.steps.state import known as known_messages
from exporter.steps.texts import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from exporter.earlier import Given
    from exporter.progress import Progress
    from exporter.publication import Publication
    from exporter.steps.job import Job

    Batches = Iterator[pa.RecordBatch]

_PARTITION: Final = 32 << 20
"""Bytes of input for each partition of a round, about: what comes of them has to fit a worker's memory."""
_PARTITIONS: Final = 10_000
"""At most: an exchange has as many parts as partitions before it times partitions after it."""


def run(given: Given, job: Job, new: Publication, progress: Progress) -> Outcome:
    """Make all outputs of the job below ``new``."""
    came, left = given.came, given.left
    before = forms.text_bytes(".parquet", left.bytes)
    with progress.stage("session"):
        spark = session.start(None if came.size is None else came.size + before)
        progress.watch(spark)
        workers.check(spark, new)
    size = came.size if came.size is not None else size_of(spark, came.sources)
    size = None if size is None else size + before
    job = replace(job, in_order=session.is_small(size))
    known = [uri(new.before(name)) for name in left.state]
    engine = SparkEngine(spark, uri(new.work), _partitions(spark, size))
    if job.in_order:
        with progress.stage("export"):
            made, stored = _alone(engine, _records(spark, came), known, job, new)
    else:
        made, stored = _in_rounds(
            engine, [_read(job, _records(spark, came)), *_known(spark, known)], job, new, progress
        )
    for name in stored:
        _take(spark, new, name, job)
    return made


def _records(spark: SparkSession, came: forms.Came) -> DataFrame:
    rows = [records(spark, source) for source in came.rows.sources]
    lines = [records(spark, source, is_history=True) for source in came.history.sources] if came.history else []
    return reduce(lambda one, other: one.unionByName(other), [*rows, *lines])


def _partitions(spark: SparkSession, size: int | None) -> int:
    if size is None:
        return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)
    # As many as all cores work on at once, some times over: else some of them wait for the last ones.
    cores = session.cores(spark)
    return min(max(1, -(-size // (_PARTITION * cores))) * cores, _PARTITIONS)


def _alone(
    engine: SparkEngine, came: DataFrame, known: list[str], job: Job, new: Publication
) -> tuple[Outcome, list[str]]:
    """The local runner in one task; where its texts are stored."""
    # An input is small together with what was known before, which can go with the task.
    before = [bytes(row[0]) for row in _state(engine.spark, known).collect()] if known else []
    stored = engine.stored([came.coalesce(1).mapInArrow(partial(_work_alone, job, before), SCHEMA)], "outputs")
    told = stored.filter(F.col("to").isin(RESULT, TALLY)).collect()
    bodies = {to: [bytes(row["body"]) for row in told if row["to"] == to] for to in (RESULT, TALLY)}
    _keep_state(stored.filter(F.col("to") == STATE), job, new)
    return outcome(bodies[TALLY][0], bodies[RESULT]), ["outputs"]


def _work_alone(job: Job, before: list[bytes], batches: Batches) -> Batches:
    return batched(as_text(local.run(read_back(batches), job, known_messages(before))))


def _in_rounds(
    engine: SparkEngine, read: list[DataFrame], job: Job, new: Publication, progress: Progress
) -> tuple[Outcome, list[str]]:
    made = rounds.export(engine, read, job, progress)
    found = [row["body"] for part in made.results for row in part.select("body").limit(LIMIT).collect()]
    _keep_state(made.state, job, new)
    return Outcome(made.counts, made.refused, results_of(map(bytes, found))), made.names


def _state(spark: SparkSession, folders: list[str]) -> DataFrame:
    return spark.read.schema(f"{STATE_COLUMN} binary").parquet(*folders)


def _known(spark: SparkSession, folders: list[str]) -> list[DataFrame]:
    return [_state(spark, folders).mapInArrow(_messages, SCHEMA)] if folders else []


def _messages(batches: Batches) -> Batches:
    return batched(known_messages(body for batch in batches for body in batch.column(0).to_pylist()))


def _keep_state(messages: DataFrame, job: Job, new: Publication) -> None:
    if job.run:
        bodies = messages.select(F.col("body").alias(STATE_COLUMN))
        bodies.write.option("compression", "zstd").parquet(uri(f"{new.work}/{STATE}"))
        new.take_state(f"{new.work}/{STATE}", job.run)


def _read(job: Job, came: DataFrame) -> DataFrame:
    return came.mapInArrow(partial(_rows, job), SCHEMA)


def _rows(job: Job, batches: Batches) -> Batches:
    local.seldom_collected()
    yield from batched(read(read_back(batches), job))
    kept()


def _take(spark: SparkSession, new: Publication, name: str, job: Job) -> None:
    """Give the texts of outputs their places; the facts are told as JSON, and become Parquet."""
    texts = f"{new.work}/{name}"
    for table, columns in FACTS.items() if job.facts and name != CATALOG else ():
        schema = ", ".join(f"`{column}` {kind}" for column, kind in {**columns, "to": "string"}.items())
        # One folder of many is read, and none where the rows tell nothing of it: an empty table is one, too.
        rows = spark.read.schema(schema).json(uri(texts)).filter(F.col("to") == facts_of(table)).drop("to")
        rows.write.parquet(uri(f"{new.work}/facts/{table}"))
        new.take_facts(table, f"{new.work}/facts/{table}")
    new.take(texts)
