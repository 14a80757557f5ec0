"""Hadoop's file systems (hdfs:, s3a:, abfs:, gs:), reached through the one that Spark has.

PySpark has no public way to them: this is the one module that goes through its gateway to Java. Spark Connect has no
gateway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from exporter.engine import session
from exporter.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HDFS: Final = ("hdfs", "viewfs", "webhdfs", "swebhdfs")
"""File systems that rename a file over another in one step when they are asked to overwrite it."""


class HadoopFiles:
    """The file system of a URI; paths are URIs, too."""

    def __init__(self, where: str) -> None:
        """Raises UsageError where it cannot be reached."""
        self._gateway, self._java, self._files = _reached(session.start(None), where)

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def is_folder(self, path: str) -> bool:
        return self.exists(path) and bool(self._files.getFileStatus(self._path(path)).isDirectory())

    def make(self, folder: str) -> None:
        """Make a folder, and those above it."""
        self._files.mkdirs(self._path(folder))

    def listed(self, folder: str) -> list[str]:
        """The paths of what is in a folder, in order; none where it is not there."""
        if not self.exists(folder):
            return []
        return sorted(status.getPath().toString() for status in self._files.listStatus(self._path(folder)))

    def sizes(self, folder: str) -> dict[str, int]:
        """The bytes of all files below a folder, by their paths in it; none where it is not there."""
        if not self.exists(folder):
            return {}
        root, sizes = self.full(folder), dict[str, int]()
        found = self._files.listFiles(self._path(folder), True)
        while found.hasNext():
            one = found.next()
            sizes[one.getPath().toString().removeprefix(f"{root}/")] = one.getLen()
        return sizes

    def full(self, path: str) -> str:
        """A path as the file system itself writes it."""
        return str(self._files.makeQualified(self._path(path)).toString())

    def write(self, path: str, content: str) -> None:
        """Write a small file, over one that is there."""
        _fill(self._files.create(self._path(path), True), content)

    def create(self, path: str, content: str) -> bool:
        """Make a small file; False where there is one. HDFS decides that in one step, object stores may not."""
        if self.exists(path):
            return False
        try:
            stream = self._files.create(self._path(path), False)
        except Exception:
            if self.exists(path):
                return False
            raise
        _fill(stream, content)
        return True

    def text(self, path: str) -> str | None:
        """The text of a small file; None where it is not there."""
        return self.beginning(path, 2**31 - 1) if self.exists(path) else None

    def beginning(self, path: str, most: int) -> str:
        """The text of a file's first bytes, ``most`` of them at most."""
        stream = self._files.open(self._path(path))
        try:
            return bytes(stream.readNBytes(most)).decode(errors="replace")
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        """Remove a file or a folder, if it is there."""
        self._files.delete(self._path(path), True)

    def copy(self, path: str, to: str) -> None:
        """Copy a file, over one that is there, or a folder."""
        configuration = self._files.getConf()
        self._java.FileUtil.copy(self._files, self._path(path), self._files, self._path(to), False, configuration)

    def rename(self, path: str, to: str) -> None:
        """Move a file or a folder to where nothing is; the folder above is made."""
        self.make(to.rpartition("/")[0])
        if not self._files.rename(self._path(path), self._path(to)):
            raise OSError(f"{path} cannot be renamed to {to}")

    def put(self, content: str, path: str, aside: str) -> None:
        """Replace a small file in one step, as far as the file system has one: by renaming one that is written to
        ``aside``, or, on object stores, by writing it: who reads it meanwhile reads the old one.
        """
        scheme = self._files.getUri().getScheme()
        if scheme not in ("file", *_HDFS):
            self.write(path, content)
            return
        self.write(aside, content)
        if scheme == "file":  # rename(2) replaces
            self.rename(aside, path)
        else:
            self.overwrite(aside, path)

    def overwrite(self, path: str, to: str) -> None:
        """Rename a file, over one that is there; on HDFS in one step."""
        rename = self._java.Options.Rename
        options = self._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        context = self._java.FileContext.getFileContext(self._files.getUri(), self._files.getConf())
        context.rename(self._path(path), self._path(to), options)

    def _path(self, path: str) -> Any:
        return self._java.Path(path)


def _fill(stream: Any, content: str) -> None:
    try:
        stream.write(bytearray(content.encode()))
    finally:
        stream.close()


def _reached(spark: SparkSession, where: str) -> tuple[Any, Any, Any]:
    """The gateway to Java, its package of file systems, and the one of a URI."""
    gateway = getattr(getattr(spark, "sparkContext", None), "_gateway", None)
    if gateway is None:
        raise UsageError(
            f"{where}: over Spark Connect DIR is a folder of a disk that this machine and Spark's share: give it as "
            "file:///…, or run with spark-submit"
        )
    java = gateway.jvm.org.apache.hadoop.fs
    try:
        path = java.Path(where)
        files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001 - see above
        files.exists(path)  # the first that asks a server
    except Exception as error:  # noqa: BLE001 - whatever Java raises, by whichever connector
        raise UsageError(f"{where}: Spark cannot reach it: {session.cause(error)}") from None
    return gateway, java, files
