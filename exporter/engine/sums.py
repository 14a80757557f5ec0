"""Checksums of files that Spark's workers can reach. They read line by line: a file may be larger than their memory."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import functions as F

from exporter.errors import ExporterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


def sums(spark: SparkSession, folder: str, sizes: Mapping[str, int]) -> dict[str, str]:
    """Path -> sha256 of all files below a folder. ``sizes``: path -> bytes, from the file system. Raises ExporterError
    if not all files can be read.
    """
    with _unsplit(spark, max(sizes.values(), default=1)):
        lines = spark.read.option("recursiveFileLookup", "true").text(folder, lineSep="\n")
        read = lines.select(F.col("_metadata.file_path").alias("file"), F.col("value").cast("binary").alias("line"))
        rows = read.mapInArrow(partial(_sums, sizes), "path string, sha256 string").collect()
    found = {path: sha256().hexdigest() for path, size in sizes.items() if not size}
    found |= {row["path"]: row["sha256"] for row in rows}
    if found.keys() != sizes.keys():
        raise ExporterError(
            f"{folder}: {len(sizes)} files were written, but {len(found)} can be read; start the run again, and report "
            "it if it happens again"
        )
    return found


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
        for name, told in before.items():
            if told is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, told)


def _sums(sizes: Mapping[str, int], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
    files, lines = batch.columns
    if files[0] == files[-1]:
        yield files[0].as_py(), lines.to_pylist()
        return
    for file, of_file in groupby(zip(files.to_pylist(), lines.to_pylist(), strict=True), itemgetter(0)):
        yield file, [line for _, line in of_file]
