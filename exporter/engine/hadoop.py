"""DIR on a Hadoop file system (hdfs:, s3a:, abfs:, gs:), through the FileSystem that Spark has.

PySpark has no public way to it: this is the one module that goes through the gateway, as everybody does. Spark Connect
has no gateway, and says so.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from exporter.engine import session
from exporter.errors import UsageError


class HadoopPlace:
    """DIR by its URI. A folder becomes complete by one rename, which HDFS does at once; on an object store, where a
    rename is a copy, by its manifest, which comes last.
    """

    def __init__(self, out: str) -> None:
        self.shown = out
        self._out = out.rstrip("/")
        self.name = self._out.rpartition("/")[2]
        self._found: tuple[Any, Any] | None = None

    def _files(self) -> tuple[Any, Any]:
        """The file system, and Java's classes for it; Raises UsageError where there is no way to them."""
        if self._found is None:
            spark = session.start(None)
            gateway = getattr(getattr(spark, "sparkContext", None), "_jvm", None)
            if gateway is None:
                raise UsageError(
                    f"{self.shown}: over Spark Connect only a folder of this machine can be written; "
                    "give one, or run with spark-submit"
                )
            path = gateway.org.apache.hadoop.fs.Path(self._out)
            configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - see above
            try:
                self._found = path.getFileSystem(configuration), gateway.org.apache.hadoop.fs
            except Exception as error:  # noqa: BLE001 - whatever Java raises, by whichever connector
                first = (str(getattr(error, "java_exception", error)).splitlines() or [""])[0]
                raise UsageError(f"{self.shown}: Spark cannot reach it: {first}") from None
        return self._found

    def _path(self, path: str) -> Any:
        return self._files()[1].Path(path)

    def exists(self) -> bool:
        return bool(self._files()[0].exists(self._path(self._out)))

    def names(self) -> list[str] | None:
        files, _ = self._files()
        if not files.getFileStatus(self._path(self._out)).isDirectory():
            return None
        return sorted(path.rpartition("/")[2] for path in self.listed(self._out))

    def beside(self, name: str) -> str:
        return f"{self._out.rpartition('/')[0]}/{name}"

    def make(self, folder: str) -> None:
        self._files()[0].mkdirs(self._path(folder))

    def listed(self, folder: str) -> list[str]:
        files, _ = self._files()
        if not files.exists(self._path(folder)):
            return []
        return sorted(status.getPath().toString() for status in files.listStatus(self._path(folder)))

    def move(self, path: str, to: str) -> None:
        self.make(to.rpartition("/")[0])
        self._renamed(path, to)

    def _renamed(self, path: str, to: str) -> None:
        if not self._files()[0].rename(self._path(path), self._path(to)):
            raise OSError(f"{path} cannot be renamed to {to}")

    def write(self, path: str, content: str) -> None:
        stream = self._files()[0].create(self._path(path), True)
        try:
            stream.write(bytearray(content.encode()))
        finally:
            stream.close()

    def described(self, folder: str) -> list[dict[str, Any]]:
        """Read by Spark's workers, not by this process."""
        files = session.start(None).read.format("binaryFile").option("recursiveFileLookup", "true").load(folder)
        rows = files.select("path", "length", F.sha2("content", 256).alias("sha256")).collect()
        root = self._files()[0].makeQualified(self._path(folder)).toString()
        found = [(row["path"].removeprefix(f"{root}/"), row["length"], row["sha256"]) for row in rows]
        return [{"path": path, "bytes": length, "sha256": digest} for path, length, digest in sorted(found)]

    def delete(self, folder: str) -> None:
        self._files()[0].delete(self._path(folder), True)

    def swap(self, folder: str) -> None:
        old = f"{folder}.old"
        if self.exists():
            self._renamed(self._out, old)
        self._renamed(folder, self._out)
        self.delete(old)
