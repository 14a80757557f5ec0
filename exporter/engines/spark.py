"""The rounds on Spark: messages are rows of four columns, grouped by an exchange and sorted within partitions.

The steps run in Python workers, over Arrow batches. Workers that were not started here are checked before any row is
read: they may lack this program or access to DIR.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from hashlib import sha256
from itertools import chain, groupby, starmap
from operator import itemgetter
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import functions as F

from exporter.engines import session
from exporter.errors import ExporterError, UsageError
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import BUCKET_END, Message, To, is_text
from exporter.pipeline.outcome import Counts
from exporter.pipeline.rounds import Step
from exporter.pipeline.texts import pieces
from exporter.publish.publication import Publication
from exporter.system import files
from exporter.system.cache import collect_garbage_rarely, exclude_caches_from_collection
from exporter.version import VERSIONS

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


def union(data_frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all, at least one; their columns by name."""
    return reduce(lambda data_frame, other: data_frame.unionByName(other), data_frames)


def _in_order(messages: DataFrame, step: Step, job: ExportJob) -> DataFrame:
    return messages.sortWithinPartitions("to", "key", "order").mapInArrow(partial(_carry, step, job), SCHEMA)


# --- in the workers ---------------------------------------------------------------------------------------------------


def _carry(step: Step, job: ExportJob, batches: Batches) -> Batches:
    collect_garbage_rarely()
    yield from batched(step(_messages(batches), job))
    exclude_caches_from_collection()


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


# --- checksums --------------------------------------------------------------------------------------------------------


def checksums(spark: SparkSession, folder: str, sizes: Mapping[str, int]) -> dict[str, str]:
    """Path -> sha256 of all files below a folder, except packed ones. Workers read line by line: a file may be larger
    than their memory. ``sizes``: path -> bytes of the files, from the file system. Raises ExporterError if not all of
    them can be read.
    """
    with _unsplit(spark, max(sizes.values(), default=1)):
        lines = spark.read.option("recursiveFileLookup", "true").text(folder, lineSep="\n")
        plain = lines.filter(~F.col("_metadata.file_path").endswith(files.ENDING))
        read = plain.select(F.col("_metadata.file_path").alias("file"), F.col("value").cast("binary").alias("line"))
        rows = read.mapInArrow(partial(_checksums, sizes), "path string, sha256 string").collect()
    digests = {path: sha256().hexdigest() for path, size in sizes.items() if not size}
    digests |= {row["path"]: row["sha256"] for row in rows}
    if digests.keys() != sizes.keys():
        raise ExporterError(
            f"{folder}: {len(sizes)} files were written, but {len(digests)} can be read; start the run again, and "
            "report it if it happens again"
        )
    return digests


@contextmanager
def _unsplit(spark: SparkSession, largest: int) -> Iterator[None]:
    """Make Spark read each file in one task. ``largest``: bytes of the largest file."""
    wanted = {"spark.sql.files.maxPartitionBytes": str(largest), "spark.sql.files.minPartitionNum": "1"}
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, text in before.items():
            if text is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, text)


def _checksums(sizes: Mapping[str, int], batches: Batches) -> Batches:
    """In the workers: lines with the URL of their file, in the order of the file -> its path and sha256."""
    for url, of_file in groupby(chain.from_iterable(map(_lines, batches)), itemgetter(0)):
        path, digest, done = unquote(url), sha256(), -1
        for _, lines in of_file:
            content = b"\n".join(lines)
            digest.update(content if done < 0 else b"\n" + content)
            done += len(content) + 1
        if done < sizes[path]:
            digest.update(b"\n")
            done += 1
        if done != sizes[path]:
            raise ExporterError(f"{path}: has {sizes[path]} bytes, but {done} of them can be read")
        yield pa.RecordBatch.from_pydict({"path": [path], "sha256": [digest.hexdigest()]})


def _lines(batch: pa.RecordBatch) -> Iterator[tuple[str, list[bytes]]]:
    """The lines of a batch by file; most batches have a single file."""
    urls, lines = batch.columns
    if urls[0] == urls[-1]:
        yield urls[0].as_py(), lines.to_pylist()
        return
    for file, of_file in groupby(zip(urls.to_pylist(), lines.to_pylist(), strict=True), itemgetter(0)):
        yield file, [line for _, line in of_file]
