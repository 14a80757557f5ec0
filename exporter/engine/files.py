"""Hadoop's file systems (hdfs:, s3a:, abfs:, gs:), used through Spark's Java process.

PySpark has no public interface for them, so this module uses its gateway to Java; no other module does. Spark Connect
has no gateway.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from exporter import private
from exporter.engine import session
from exporter.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HDFS: Final = ("hdfs", "viewfs", "webhdfs", "swebhdfs")
"""File systems that can rename a file over an existing one in one step."""
_BYTES: Final = 1_000_000
"""Bytes that are copied at once."""


class HadoopFiles:
    """The file system of a URI. Paths are URIs too."""

    def __init__(self, where: str) -> None:
        """Raises UsageError if the file system cannot be reached."""
        self._gateway, self._java, self._files = _reached(session.start(None), where)

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def is_folder(self, path: str) -> bool:
        return self.exists(path) and bool(self._files.getFileStatus(self._path(path)).isDirectory())

    def make(self, folder: str) -> None:
        """Make a folder and its parent folders."""
        self._files.mkdirs(self._path(folder))

    def set_mode(self, path: str, mode: int) -> None:
        """Set the permissions of a file or folder. Object stores have none, and ignore it."""
        self._files.setPermission(self._path(path), self._java.permission.FsPermission(f"{mode:o}"))

    def listed(self, folder: str) -> list[str]:
        """The sorted paths in a folder; empty if it does not exist."""
        if not self.exists(folder):
            return []
        return sorted(status.getPath().toString() for status in self._files.listStatus(self._path(folder)))

    def sizes(self, folder: str) -> dict[str, int]:
        """Path in the folder -> size in bytes, for all files below it; empty if it does not exist."""
        if not self.exists(folder):
            return {}
        root, sizes = self.full(folder), dict[str, int]()
        found = self._files.listFiles(self._path(folder), True)
        while found.hasNext():
            one = found.next()
            sizes[one.getPath().toString().removeprefix(f"{root}/")] = one.getLen()
        return sizes

    def full(self, path: str) -> str:
        """A path in the form that the file system returns."""
        return str(self._files.makeQualified(self._path(path)).toString())

    def write(self, path: str, content: str) -> None:
        """Write a small file; an existing one is replaced."""
        _fill(self._files.create(self._path(path), True), content)

    def create(self, path: str, content: str) -> bool:
        """Make a small file; False if it exists. On HDFS this is one step, on object stores it may not be."""
        if self.exists(path):
            return False
        try:
            stream = self._files.create(self._path(path), False)
        except Exception:
            if self.exists(path):
                return False
            raise
        _fill(stream, content)
        self.set_mode(path, private.FILE)
        return True

    def text(self, path: str) -> str | None:
        """The text of a small file; None if it does not exist."""
        return self.beginning(path, 2**31 - 1) if self.exists(path) else None

    def text_if_allowed(self, path: str) -> str | None:
        """The same; None also if this user may not read it."""
        with suppress(Exception):  # connectors raise any exception of Java
            return self.text(path)
        return None

    def beginning(self, path: str, most: int) -> str:
        """The text of at most ``most`` bytes at the beginning of a file."""
        stream = self._files.open(self._path(path))
        try:
            return bytes(stream.readNBytes(most)).decode(errors="replace")
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        """Remove a file or a folder if it exists."""
        self._files.delete(self._path(path), True)

    def copy(self, path: str, to: str) -> None:
        """Copy a file or a folder; an existing file is replaced."""
        configuration = self._files.getConf()
        self._java.FileUtil.copy(self._files, self._path(path), self._files, self._path(to), False, configuration)

    def join(self, parts: list[str], to: str) -> None:
        """Make one file of several, in their order, which are gone then."""
        self.make(to.rpartition("/")[0])
        if len(parts) == 1:
            self.rename(parts[0], to)
            return
        stream = self._files.create(self._path(to), True)
        try:
            for part in parts:
                self._append(part, stream)
        finally:
            stream.close()

    def _append(self, part: str, stream: Any) -> None:
        opened = self._files.open(self._path(part))
        try:
            self._gateway.jvm.org.apache.hadoop.io.IOUtils.copyBytes(opened, stream, _BYTES, False)
        finally:
            opened.close()
        self.delete(part)

    def rename(self, path: str, to: str) -> None:
        """Move a file or a folder to a new path; its parent folder is made. Raises OSError if that fails."""
        self.make(to.rpartition("/")[0])
        if not self._files.rename(self._path(path), self._path(to)):
            raise OSError(f"{path} cannot be renamed to {to}")

    def put(self, content: str, path: str, aside: str) -> None:
        """Replace a small file in one step: write to ``aside``, then rename. On object stores the file is written
        directly, because readers see the old one until the write is complete.
        """
        scheme = self._files.getUri().getScheme()
        if scheme not in ("file", *_HDFS):
            self.write(path, content)
            return
        self.write(aside, content)
        if scheme == "file":  # rename(2) replaces an existing file
            self.rename(aside, path)
        else:
            self.overwrite(aside, path)

    def overwrite(self, path: str, to: str) -> None:
        """Rename a file and replace an existing one; on HDFS in one step."""
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
    """PySpark's gateway to Java, Java's package of file systems, and the file system of the URI ``where``."""
    gateway = getattr(getattr(spark, "sparkContext", None), "_gateway", None)
    if gateway is None:
        raise UsageError(
            f"{where}: with Spark Connect, DIR must be on a disk that this machine and Spark's machines share: give it "
            "as file:///…, or run with spark-submit"
        )
    java = gateway.jvm.org.apache.hadoop.fs
    try:
        path = java.Path(where)
        files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())  # noqa: SLF001 - see above
        files.exists(path)  # the first call that contacts a server
    except Exception as error:  # noqa: BLE001 - connectors raise any exception of Java
        raise UsageError(f"{where}: Spark cannot reach it: {session.cause(error)}") from None
    return gateway, java, files
