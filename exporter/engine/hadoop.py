"""DIR on one of Hadoop's file systems (hdfs:, s3a:, abfs:, gs:), reached through the one that Spark has.

PySpark has no public way to them: this is the one module that goes through its gateway to Java. Spark Connect has no
gateway.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import functions as F

from exporter.engine import session
from exporter.errors import ExporterError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession


class HadoopPlace:
    """DIR by its URI. It is complete when its manifest is there, which comes last: a folder is renamed at once on HDFS,
    and is copied file by file on an object store.
    """

    is_uri = True

    def __init__(self, out: str) -> None:
        """Raises UsageError where the file system cannot be reached."""
        self.shown = out
        self._out = out.rstrip("/")
        self._above, _, self.name = self._out.rpartition("/")
        if not self._above or self._above.endswith(":/"):
            raise UsageError(f"{out}: give a folder below it")
        self._java, self._files = _reached(session.start(None), self._out)

    def exists(self) -> bool:
        return bool(self._files.exists(self._path(self._out)))

    def names(self) -> list[str] | None:
        if not self._files.getFileStatus(self._path(self._out)).isDirectory():
            return None
        return sorted(path.rpartition("/")[2] for path in self.listed(self._out))

    def beside(self, name: str) -> str:
        return f"{self._above}/{name}"

    def make(self, folder: str) -> None:
        self._files.mkdirs(self._path(folder))

    def listed(self, folder: str) -> list[str]:
        path = self._path(folder)
        if not self._files.exists(path):
            return []
        return sorted(status.getPath().toString() for status in self._files.listStatus(path))

    def move(self, path: str, to: str) -> None:
        self.make(to.rpartition("/")[0])
        self._rename(path, to)

    def write(self, path: str, content: str) -> None:
        stream = self._files.create(self._path(path), True)
        try:
            stream.write(bytearray(content.encode()))
        finally:
            stream.close()

    def read(self, name: str) -> str | None:
        path = self._path(self.inside(name))
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def carry(self, name: str, folder: str) -> None:
        to, configuration = self._path(f"{folder}/{name}"), self._files.getConf()
        self.make(f"{folder}/{name}".rpartition("/")[0])
        self._java.FileUtil.copy(self._files, self._path(self.inside(name)), self._files, to, False, configuration)

    def inside(self, name: str) -> str:
        return f"{self._out}/{name}"

    def described(self, folder: str) -> list[dict[str, Any]]:
        """Read by Spark's workers, line by line: a file may be larger than their memory."""
        sizes = self._sizes(folder)
        spark = session.start(None)
        with _unsplit(spark, max(sizes.values(), default=1)):
            lines = spark.read.option("recursiveFileLookup", "true").text(folder, lineSep="\n")
            read = lines.select(F.col("_metadata.file_path").alias("file"), F.col("value").cast("binary").alias("line"))
            sums = read.mapInArrow(partial(_sums, sizes), "path string, sha256 string").collect()
        root = self._files.makeQualified(self._path(folder)).toString()
        found = {path: sha256().hexdigest() for path, size in sizes.items() if not size}
        found |= {row["path"]: row["sha256"] for row in sums}
        if found.keys() != sizes.keys():
            raise ExporterError(f"{root}: {len(sizes)} files were written, and {len(found)} can be read")
        return [
            {"path": path.removeprefix(f"{root}/"), "bytes": size, "sha256": found[path]}
            for path, size in sorted(sizes.items())
        ]

    def _sizes(self, folder: str) -> dict[str, int]:
        """The bytes of all files below a folder."""
        sizes: dict[str, int] = {}
        found = self._files.listFiles(self._path(folder), True)
        while found.hasNext():
            one = found.next()
            sizes[one.getPath().toString()] = one.getLen()
        return sizes

    def delete(self, folder: str) -> None:
        self._files.delete(self._path(folder), True)

    def swap(self, folder: str) -> None:
        old, manifest, aside = f"{folder}.old", "manifest.json", f"{folder}.manifest.json"
        self._rename(f"{folder}/{manifest}", aside)
        if self.exists():
            self._rename(self._out, old)
        self._rename(folder, self._out)
        self._rename(aside, f"{self._out}/{manifest}")
        self.delete(old)

    def _path(self, path: str) -> Any:
        return self._java.Path(path)

    def _rename(self, path: str, to: str) -> None:
        if not self._files.rename(self._path(path), self._path(to)):
            raise OSError(f"{path} cannot be renamed to {to}")


@contextmanager
def _unsplit(spark: SparkSession, largest: int) -> Iterator[None]:
    """Let each file be read by one task; ``largest``: bytes of the largest."""
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
    """In the workers: lines with the URL of their file, those of a file in their order -> its path and sha256."""
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
            raise ExporterError(f"{path}: has {sizes[path]} bytes, and {done} of them can be read")
        yield pa.RecordBatch.from_pydict({"path": [path], "sha256": [digest.hexdigest()]})


def _lines(batch: pa.RecordBatch) -> Iterator[tuple[str, list[bytes]]]:
    """Files with their lines in a batch; most batches are of a single file."""
    files, lines = batch.columns
    if files[0] == files[-1]:
        yield files[0].as_py(), lines.to_pylist()
        return
    for file, of_file in groupby(zip(files.to_pylist(), lines.to_pylist(), strict=True), itemgetter(0)):
        yield file, [line for _, line in of_file]


def _reached(spark: SparkSession, where: str) -> tuple[Any, Any]:
    """Java's package of file systems, and the one of a URI; raises UsageError where there is no way to it."""
    gateway = getattr(getattr(spark, "sparkContext", None), "_jvm", None)
    if gateway is None:
        raise UsageError(
            f"{where}: over Spark Connect DIR is a folder of a disk that this machine and Spark's share: give it as "
            "file:///…, or run with spark-submit"
        )
    java = gateway.org.apache.hadoop.fs
    try:
        path = java.Path(where)
        files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001 - see above
        files.exists(path)  # the first that asks a server
    except Exception as error:  # noqa: BLE001 - whatever Java raises, by whichever connector
        raise UsageError(f"{where}: Spark cannot reach it: {session.cause(error)}") from None
    return java, files
