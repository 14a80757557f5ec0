"""An export on Spark: a small input in one task, a larger one in rounds over all tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F

from exporter.engines import local, session, user_names
from exporter.engines import spark as workers
from exporter.engines.records import COLUMNS, read_back, records
from exporter.engines.records import size as size_of
from exporter.engines.spark import SCHEMA, SparkEngine, as_text, batched
from exporter.engines.state_on_spark import SparkStore, take
from exporter.engines.updates import Update
from exporter.graph.shapes.on_graph import Result
from exporter.input import find
from exporter.input.formats import uri
from exporter.model.fact_tables import FACTS
from exporter.pipeline import rounds
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import To
from exporter.pipeline.outcome import LIMIT, Outcome, read_outcome, results_of
from exporter.pipeline.read import read
from exporter.pipeline.texts import facts_output
from exporter.publish.publication import Publication
from exporter.system.cache import collect_garbage_rarely, exclude_caches_from_collection
from exporter.system.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from exporter.publish.earlier import ExportInput


Batches = Iterator[pa.RecordBatch]


_PARTITION: Final = 32 << 20
"""Approximate bytes of input for each partition of a round: the derived data must fit in a worker's memory."""
_PARTITIONS: Final = 10_000
"""Most partitions: the parts of an exchange are the partitions before it times the partitions after it."""


def run(export_input: ExportInput, job: ExportJob, new: Publication, progress: Progress) -> Outcome:
    """Make all outputs of the job in the folder of ``new``."""
    input_of_views = export_input.inputs
    with progress.stage("session"):
        spark = session.start(input_of_views.size)
        progress.watch(spark)
        workers.check(spark, new)
    size = input_of_views.size if input_of_views.size is not None else size_of(spark, input_of_views.sources)
    job = replace(job, in_order=find.is_small(size) and not job.run, partitions=_partitions(spark, size))
    engine = SparkEngine(spark, uri(new.work), job.partitions, compress=job.compress)
    rows = _records(spark, input_of_views)
    if user_names.uses_pseudonyms(job):
        with progress.stage("names"):
            job = user_names.with_user_names(job, _user_names(rows, job), new)
    if job.run:
        read_rows, job = _read(job, rows), replace(job, screen=None)
        return _in_days(Update(engine, SparkStore(spark, new, job), job, export_input, progress), read_rows)
    if job.in_order:
        with progress.stage("export"):
            outcome, stored = _in_one_task(engine, rows, job)
    else:
        read_rows, job = _read(job, rows), replace(job, screen=None)
        outcome, stored = _in_rounds(engine, read_rows, job, progress)
    for name in stored:
        _take(spark, new, name, job)
    return outcome


def _records(spark: SparkSession, input_of_views: find.InputOfViews) -> DataFrame:
    data_frames = [
        records(spark, source, view) for view, inputs in input_of_views.views.items() for source in inputs.sources
    ]
    if not data_frames:  # rows are only removed
        return spark.createDataFrame([], COLUMNS)
    return workers.union(data_frames)


def _partitions(spark: SparkSession, size: int | None) -> int:
    if size is None:
        text = spark.conf.get("spark.sql.shuffle.partitions") or ""
        return int(text) if text.isdigit() else 200  # on Databricks it can be "auto"
    # A multiple of the number of cores, so that no core is idle while others process the last partitions.
    cores = session.cores(spark)
    return min(max(1, -(-size // (_PARTITION * cores))) * cores, _PARTITIONS)


def _in_one_task(engine: SparkEngine, data_frame: DataFrame, job: ExportJob) -> tuple[Outcome, list[str]]:
    """Run the local engine in one task. Returns the outcome and the names under which texts are stored."""
    stored = engine.write_texts(
        [data_frame.coalesce(1).mapInArrow(partial(_export_in_task, job), SCHEMA)], rounds.OUTPUTS
    )
    rows = stored.filter(F.col("to").isin(To.RESULT, To.TOTAL)).collect()
    bodies = {to: [bytes(row["body"]) for row in rows if row["to"] == to] for to in (To.RESULT, To.TOTAL)}
    return read_outcome(bodies[To.TOTAL][0], bodies[To.RESULT]), [rounds.OUTPUTS]


def _export_in_task(job: ExportJob, batches: Batches) -> Batches:
    return batched(as_text(local.export_records(read_back(batches), job)))


def _in_rounds(engine: SparkEngine, read: DataFrame, job: ExportJob, progress: Progress) -> tuple[Outcome, list[str]]:
    exported = rounds.export(engine, [read], job, progress)
    return Outcome(exported.counts, exported.refused, _results(exported.results)), exported.names


def _in_days(update: Update[DataFrame], read: DataFrame) -> Outcome:
    updated = update.add(read)
    return Outcome(
        updated.counts, updated.refused, _results(updated.results), updated.days, updated.new, updated.rebuilt_days
    )


def _results(parts: list[DataFrame]) -> list[Result]:
    bodies = [row["body"] for part in parts for row in part.select("body").limit(LIMIT).collect()]
    return results_of(map(bytes, bodies))


def _read(job: ExportJob, data_frame: DataFrame) -> DataFrame:
    return data_frame.mapInArrow(partial(_rows, job), SCHEMA)


def _rows(job: ExportJob, batches: Batches) -> Batches:
    collect_garbage_rarely()
    yield from batched(read(read_back(batches), job))
    exclude_caches_from_collection()


def _user_names(data_frame: DataFrame, job: ExportJob) -> list[str]:
    """The user names in all records. They are sent to all workers, since an account has few users."""
    names = data_frame.mapInArrow(partial(_names_of_users, job), "name binary").distinct().collect()
    return [bytes(row["name"]).decode("utf-8", "surrogatepass") for row in names]


def _names_of_users(job: ExportJob, batches: Batches) -> Batches:
    names = [name.encode("utf-8", "surrogatepass") for name in user_names.user_names(read_back(batches), job)]
    yield pa.RecordBatch.from_pydict({"name": pa.array(names, pa.binary())})


def _take(spark: SparkSession, new: Publication, name: str, job: ExportJob) -> None:
    """Move the texts of outputs to their places. Facts are stored as JSON and are converted to Parquet here."""
    texts = f"{new.work}/{name}"
    for table, columns in FACTS.items() if job.facts and name.startswith(rounds.OUTPUTS) else ():
        schema = ", ".join(f"`{column}` {kind}" for column, kind in {**columns, "to": "string"}.items())
        # The folder of a table does not exist if there are no rows for it: then an empty table is written.
        rows = spark.read.schema(schema).json(uri(texts)).filter(F.col("to") == facts_output(table)).drop("to")
        rows.write.parquet(uri(f"{new.work}/facts/{table}"))
        new.take_facts(table, f"{new.work}/facts/{table}")
    take(spark, new, name)
