"""A DIR on one of Hadoop's file systems (hdfs:, s3a:, abfs:, gs:), used through Spark's Java process.

PySpark has no public interface for them, so this module uses its gateway to Java; no other module does. Spark Connect
has no gateway.

These file systems cannot replace a folder in one step. So new files are published beside old ones in one folder, and
the manifest lists the current files. No file in the old manifest is changed before the new manifest has replaced it in
one step: a reader that follows the manifest always finds the complete old or the complete new output. Only one run at a
time may publish (:mod:`exporter.engines.lease`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from exporter.engines import session
from exporter.engines.lease import Lease
from exporter.engines.spark import checksums
from exporter.errors import UsageError
from exporter.publish import manifest
from exporter.system import files, folders, private

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
        listing = self._files.listFiles(self._path(folder), True)
        while listing.hasNext():
            status = listing.next()
            sizes[status.getPath().toString().removeprefix(f"{root}/")] = status.getLen()
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
        except Exception:  # any exception of Java, raised again unless somebody else made the file meanwhile
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
        """The text of a small file; None if it does not exist, or this user may not read it."""
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

    def copy(self, path: str, target: str) -> None:
        """Copy a file or a folder; an existing file is replaced."""
        configuration = self._files.getConf()
        self._java.FileUtil.copy(self._files, self._path(path), self._files, self._path(target), False, configuration)

    def concatenate(self, parts: Sequence[str | bytes], target: str) -> None:
        """Make one file of the content of files (paths) and of bytes, in their order. The parts stay."""
        self.make(target.rpartition("/")[0])
        stream = self._files.create(self._path(target), True)
        try:
            for part in parts:
                if isinstance(part, bytes):
                    stream.write(bytearray(part))
                else:
                    self._append(part, stream)
        finally:
            stream.close()

    def _append(self, part: str, stream: Any) -> None:
        opened = self._files.open(self._path(part))
        try:
            self._gateway.jvm.org.apache.hadoop.io.IOUtils.copyBytes(opened, stream, _BYTES, False)
        finally:
            opened.close()

    def sha256(self, path: str) -> str:
        """The checksum of a file, which Java reads: Spark would unpack a packed one."""
        digest = self._gateway.jvm.java.security.MessageDigest.getInstance("SHA-256")
        opened = self._gateway.jvm.java.security.DigestInputStream(self._files.open(self._path(path)), digest)
        nothing = self._gateway.jvm.java.io.OutputStream.nullOutputStream()
        self._gateway.jvm.org.apache.hadoop.io.IOUtils.copyBytes(opened, nothing, _BYTES, True)
        return bytes(digest.digest()).hex()

    def rename(self, path: str, target: str) -> None:
        """Move a file or a folder to a new path; its parent folder is made. Raises OSError if that fails."""
        self.make(target.rpartition("/")[0])
        if not self._files.rename(self._path(path), self._path(target)):
            raise OSError(f"{path} cannot be renamed to {target}")

    def put(self, content: str, path: str, temporary: str) -> None:
        """Replace a small file in one step: write to ``temporary``, then rename. On object stores the file is written
        directly, because readers see the old one until the write is complete.
        """
        scheme = self._files.getUri().getScheme()
        if scheme not in ("file", *_HDFS):
            self.write(path, content)
            return
        self.write(temporary, content)
        if scheme == "file":  # rename(2) replaces an existing file
            self.rename(temporary, path)
        else:
            self.overwrite(temporary, path)

    def overwrite(self, path: str, target: str) -> None:
        """Rename a file and replace an existing one; on HDFS in one step."""
        rename = self._java.Options.Rename
        options = self._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        context = self._java.FileContext.getFileContext(self._files.getUri(), self._files.getConf())
        context.rename(self._path(path), self._path(target), options)

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


Json = dict[str, Any]


def placed(new: Iterable[Json], old: Iterable[Json], mark: str) -> list[Json]:
    """The entries of new files with their paths. If an old file with other content has the path, the mark is added.

    >>> placed([{"path": "a/b.nt.gz", "sha256": "1"}], [{"path": "a/b.nt.gz", "sha256": "2"}], "0123456789ab")
    [{'path': 'a/b-0123456789ab.nt.gz', 'sha256': '1'}]
    """
    taken = {entry["path"]: entry["sha256"] for entry in old}
    return [
        entry
        if taken.get(entry["path"], entry["sha256"]) == entry["sha256"]
        else {**entry, "path": _marked(entry, mark)}
        for entry in new
    ]


def _marked(entry: Json, mark: str) -> str:
    folder, slash, name = entry["path"].rpartition("/")
    stem, dot, endings = name.partition(".")
    return f"{folder}{slash}{stem}-{mark}{dot}{endings}"


def stale(there: Iterable[str], old: Iterable[Json], files: Iterable[Json]) -> list[str]:
    """The paths in the folder (``there``) of files that were of an export (``old``) and are not of the current one. All
    others are of a push or of somebody else, and stay.
    """
    return sorted(paths(old) & set(there) - paths(files) - {manifest.NAME})


def paths(files: Iterable[Json]) -> set[str]:
    """The paths of an export's files, with those of the copies that people and scripts look for by name."""
    files = list(files)
    return {file["path"] for file in files} | set(manifest.copies(files).values())


_DIGITS: Final = 12
"""Hexadecimal digits at the end of a work folder's name. They are also the mark for files whose name is taken."""

_BEFORE: Final = ".before"
"""A folder in the work folder, for the list of files that DIR had before."""


class HadoopPlace:
    """A DIR given as a URI. Few of these file systems can replace a folder in one step. So new files are put beside the
    old ones in DIR, and the manifest, which is replaced in one step, lists the current files.
    """

    is_uri = True

    def __init__(self, out: str, mode: int = private.FOLDER) -> None:
        """Raises UsageError if the file system cannot be reached."""
        self.shown, self.notes, self._mode = out, list[str](), mode
        self._out = out.rstrip("/")
        self._above, _, self.name = self._out.rpartition("/")
        if not self._above or self._above.endswith(":/"):
            raise UsageError(f"{out}: is the root of a file system; give a folder below it")
        self._files = HadoopFiles(self._out)
        self._lease: Lease | None = None
        self.listed, self.delete = self._files.listed, self._files.delete
        self.move, self.concatenate = self._files.rename, self._files.concatenate
        self.write, self.beginning = self._files.write, self._files.beginning

    @contextmanager
    def held(self) -> Iterator[None]:
        manifest.refuse_in_export(self.shown, folders_above(self._out), self._files.text_if_allowed, self._files.exists)
        self._lease = Lease(self._files, self.beside(f".{self.name}.lock"), self.shown)
        with self._lease.held():
            self._recover()
            yield

    def make(self, folder: str) -> None:
        self._files.make(folder)
        above, _, name = folder.rpartition("/")
        self._files.set_mode(above if name == manifest.WORK else folder, private.FOLDER)

    def exists(self) -> bool:
        return self._files.exists(self._out)

    def names(self) -> list[str] | None:
        if not self._files.is_folder(self._out):
            return None
        return sorted(path.rpartition("/")[2] for path in self.listed(self._out))

    def diff(self) -> manifest.ManifestDiff | None:
        """DIR compared with its manifest, by the sizes of files: to compare contents would mean to read everything."""
        files = manifest.of_export(self._files.text(self.inside(manifest.NAME)))
        return None if files is None else manifest.diff_files(files, self._files.sizes(self._out), lambda _: True)

    def paths(self, folder: str | None = None) -> list[str]:
        return sorted(self._files.sizes(folder or self._out))

    def beside(self, name: str) -> str:
        return f"{self._above}/{name}"

    def inside(self, name: str) -> str:
        return f"{self._out}/{name}"

    def read(self, name: str) -> str | None:
        return self._files.text(self.inside(name))

    def carry(self, name: str, folder: str) -> bool:  # noqa: ARG002 - it stays
        return False

    def file_entries(self, folder: str) -> list[Json]:
        sizes, root = self._files.sizes(folder), self._files.full(folder)
        sizes.pop(folders.MARK, None)
        packed = [path for path in sizes if path.endswith(files.ENDING)]
        plain = {f"{root}/{path}": size for path, size in sizes.items() if path not in packed}
        digests = checksums(session.start(None), folder, plain)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            paths = [f"{root}/{path}" for path in packed]
            digests |= zip(paths, threads.map(self._files.sha256, paths), strict=True)
        return [
            {"path": path, "bytes": size, "sha256": digests[f"{root}/{path}"]} for path, size in sorted(sizes.items())
        ]

    def swap(self, folder: str, described: Json) -> None:
        if self._lease is not None:
            self._lease.check()
        old = self._listed(self._out) or []
        files = placed(described["files"], old, folder[-_DIGITS:])
        text = manifest.text({**described, "files": files})
        # If this run dies, the next run finds here which files it had put into DIR, and which DIR had before.
        self.write(f"{folder}/{_BEFORE}/{manifest.NAME}", manifest.text({"files": old}))
        self.write(f"{folder}/{manifest.NAME}", text)
        known, there = {(entry["path"], entry["sha256"]) for entry in old}, self._files.sizes(self._out)
        new = sorted(paths(files) & set(there) - paths(old))
        if new:
            raise UsageError(
                f"{self.shown}: other files appeared in it during the export: {', '.join(new)}; nothing was published"
            )
        self._files.make(self._out)
        self._files.set_mode(self._out, self._mode)
        for file in files:
            path = file["path"]
            if (path, file["sha256"]) not in known or path not in there:
                self.delete(self.inside(path))  # a copy under the plain name, which the manifest does not list
                self.move(f"{folder}/{manifest.plain(path)}", self.inside(path))
        self._files.put(text, self.inside(manifest.NAME), f"{folder}/{manifest.NAME}.new")
        self._tidy(old, files)

    def _tidy(self, old: list[Json], files: list[Json]) -> None:
        """Remove files of an export (``old``) that are no longer current, and copy files that users look for by name to
        their plain names.
        """
        for path, name in manifest.copies(files).items():
            self._files.copy(self.inside(path), self.inside(name))
        there = self._files.sizes(self._out)
        gone = stale(there, old, files)
        for path in gone:
            self.delete(self.inside(path))
        in_use = {folder for path in there.keys() - set(gone) for folder in manifest.parents(path)}
        for folder in {folder for path in gone for folder in manifest.parents(path)} - in_use:
            self.delete(self.inside(folder))

    def _recover(self) -> None:
        """Clean up after runs that died: remove the files that they had put into DIR, unless they were published."""
        own = re.compile(rf"\.{re.escape(self.name)}\.[0-9a-f]{{{_DIGITS}}}")
        for leftover in [path for path in self.listed(self.beside("")) if own.fullmatch(path.rpartition("/")[2])]:
            name = leftover.rpartition("/")[2]
            if self.listed(leftover) and self._files.text(f"{leftover}/{folders.MARK}") != folders.work_mark(name):
                self.notes.append(folders.not_own(self.shown, leftover))
                continue
            journal, now = self._listed(leftover), self._listed(self._out)
            if journal and now:
                # The run died before it replaced DIR's manifest, or before it removed the files of the former one.
                self._tidy([*journal, *(self._listed(f"{leftover}/{_BEFORE}") or [])], now)
            elif journal:  # the run died before DIR had a manifest, so there was no DIR before
                for path in stale(self._files.sizes(self._out), journal, []):
                    self.delete(self.inside(path))
                if not self._files.sizes(self._out):
                    self.delete(self._out)
            self.delete(leftover)

    def _listed(self, folder: str) -> list[Json] | None:
        """The files that the manifest of a folder lists; None if there is none or it is not complete."""
        return manifest.entries(self._files.text(f"{folder}/{manifest.NAME}"))


def folders_above(uri: str) -> Iterator[str]:
    """The folders above that of a URI, the nearest one first."""
    above = uri.rpartition("/")[0]
    while not above.endswith((":", "/")):
        yield above
        above = above.rpartition("/")[0]
