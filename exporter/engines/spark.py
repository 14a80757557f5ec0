"""The rounds on Spark: messages are rows of four columns, grouped by an exchange and sorted within partitions.

The steps run in Python workers, over Arrow batches. Workers that were not started here are checked before any row is
read: they may lack this program or access to DIR.
"""

from __future__ import annotations

import gc
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import starmap
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F

from exporter import VERSIONS
from exporter.engines import session
from exporter.engines.local import seldom_collected
from exporter.errors import UsageError
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import BUCKET_END, Message, To, is_text
from exporter.pipeline.outcome import Counts
from exporter.pipeline.rounds import Step
from exporter.pipeline.texts import pieces
from exporter.publish.publication import Publication

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CAUSES: Final = ("ModuleNotFoundError", "ImportError", "PYTHON_VERSION_MISMATCH", "Cannot run program")


def check(spark: SparkSession, new: Publication) -> None:
    """Raise UsageError if workers on other machines cannot reach DIR or do not have this version of the program."""
    if not session.has_far_workers(spark):
        return
    if not new.is_uri:
        uris = "" if session.is_remote(spark) else "hdfs:, s3a:, abfs:, gs:, or "
        raise UsageError(
            f"{new.shown}: Spark's workers may be on other machines, so give --out as a URI that all of them reach: "
            f"{uris}file:///… for a shared disk"
        )
    try:
        (theirs,) = (row["version"] for row in spark.range(1).mapInArrow(_version, "version string").collect())
    except Exception as error:  # noqa: BLE001 - a failing worker raises any exception of Spark, Java or gRPC
        raise UsageError(f"Spark's workers cannot run this program ({_cause(error)}); {_REMEDY}") from None
    if theirs != VERSIONS:
        raise UsageError(f"Spark's workers have version {theirs} of this program, but this is {VERSIONS}; {_REMEDY}")


_REMEDY: Final = "docs/cluster.md explains how to install it there"


def _version(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In the workers: the version of the program and of its model. That the worker can import it is tested too."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"version": [VERSIONS]})


def _cause(error: Exception) -> str:
    lines = str(error).splitlines()
    texts = [line[line.index(cause) :] for line in lines for cause in _CAUSES if cause in line]
    return texts[-1] if texts else session.cause(error)


Batches = Iterator[pa.RecordBatch]

SCHEMA: Final = "to string, key string, order binary, body binary"
COLUMNS: Final = ("to", "key", "order", "body")
_ARROW: Final = pa.schema([("to", pa.string()), ("key", pa.string()), ("order", pa.binary()), ("body", pa.binary())])
_BATCH_BYTES: Final = 4 << 20
_BATCH_ROWS: Final = 10_000
"""A batch of messages ends at either limit, because bodies may be large."""


class SparkEngine:
    """Messages are DataFrames. ``work``: a folder that all workers can reach, for stored messages. ``partitions``: the
    number of partitions of a round. ``compress``: whether texts are stored compressed.
    """

    def __init__(self, spark: SparkSession, work: str, partitions: int, *, compress: bool = False) -> None:
        self.spark = spark
        self._work = work
        self._partitions = partitions
        self._compression = "gzip" if compress else "none"

    def shuffle(self, messages: Sequence[DataFrame], step: Step, job: ExportJob) -> DataFrame:
        bucket = F.substring_index("key", BUCKET_END, 1)
        return _in_order(union(messages).repartition(self._partitions, bucket), step, job)

    def together(self, messages: Sequence[DataFrame], step: Step, job: ExportJob) -> DataFrame:
        return _in_order(union(messages).repartition(1), step, job)

    def map(self, messages: DataFrame, step: Step, job: ExportJob) -> DataFrame:
        return messages.mapInArrow(partial(_carry, step, job), SCHEMA)

    def filter(self, messages: DataFrame, to: Sequence[str]) -> DataFrame:
        return messages.filter(F.col("to").isin(list(to)))

    def persist(self, messages: DataFrame, name: str) -> DataFrame:
        path = f"{self._work}/{name}"
        # No dictionary: bodies are hardly ever equal, and looking for equal ones doubles the cost.
        options = {"compression": "lz4", "parquet.enable.dictionary": "false"}
        messages.write.mode("overwrite").partitionBy("to").options(**options).parquet(path)
        return self.spark.read.schema(SCHEMA).parquet(path).select(*COLUMNS)

    def output(self, step: Step) -> Step:
        return partial(_in_pieces, step)

    def write_texts(self, messages: Sequence[DataFrame], name: str) -> DataFrame:
        """Texts are stored in folders ``to=OUTPUT`` below the name; the other messages beside them, in base64."""
        path = f"{self._work}/{name}"
        texts = union(messages).select("to", F.col("body").cast("string").alias("value"))
        texts.write.mode("overwrite").partitionBy("to").option("compression", self._compression).text(path)
        none = F.lit("")
        return (
            self.spark.read.schema("value string, to string")
            .text(path)
            .select("to", none.alias("key"), none.cast("binary").alias("order"), F.unbase64("value").alias("body"))
        )

    def counts(self, messages: DataFrame) -> Counts:
        rows = messages.filter(F.col("to") == To.TALLY).select("body").collect()
        return Counts.sum(bytes(row["body"]) for row in rows)


def union(each: Sequence[DataFrame]) -> DataFrame:
    """The rows of all, at least one; their columns by name."""
    return reduce(lambda data_frame, other: data_frame.unionByName(other), each)


def _in_order(messages: DataFrame, step: Step, job: ExportJob) -> DataFrame:
    return messages.sortWithinPartitions("to", "key", "order").mapInArrow(partial(_carry, step, job), SCHEMA)


# --- in the workers ---------------------------------------------------------------------------------------------------


def _carry(step: Step, job: ExportJob, batches: Batches) -> Batches:
    seldom_collected()
    yield from batched(step(_messages(batches), job))
    exclude_caches_from_collection()


def exclude_caches_from_collection() -> None:
    """Exclude the caches of this process from garbage collection: they have no cycles, and PySpark collects after every
    task.
    """
    gc.freeze()


def _messages(batches: Batches) -> Iterator[Message]:
    for batch in batches:
        yield from starmap(Message, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def batched(messages: Iterable[Message]) -> Batches:
    """Messages as Arrow batches of bounded size."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += len(message.body)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_ROWS:
            yield _batch(batch)
            batch, size = [], 0
    if batch:
        yield _batch(batch)


def _batch(messages: list[Message]) -> pa.RecordBatch:
    columns = zip(*messages, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _in_pieces(step: Step, messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    return as_text(pieces(step(messages, job), job))


def as_text(messages: Iterable[Message]) -> Iterator[Message]:
    """Encode messages that are not texts in base64, so that all can be written as text."""
    for message in messages:
        yield message if is_text(message.to) else message._replace(body=b64encode(message.body))
