"""One run at a time for a DIR given as a URI, by a lease: a file beside DIR with its owner and its end.

Hadoop's file systems have no locks that end with a process. So a run renews its lease while it works. Another run takes
over a lease that was not renewed in time, or whose process on this machine has ended. Times are taken from the
machines, so their clocks must agree within a few minutes.

The checksums of DIR's files are made here too, by Spark's workers. They read line by line: a file may be larger than
their memory.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from itertools import chain, groupby
from operator import itemgetter
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import functions as F

from exporter.errors import ExporterError
from exporter.system import files, folders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sums(spark: SparkSession, folder: str, sizes: Mapping[str, int]) -> dict[str, str]:
    """Path -> sha256 of all files below a folder, except packed ones. ``sizes``: path -> bytes of them, from the file
    system. Raises ExporterError if not all files can be read.
    """
    with _unsplit(spark, max(sizes.values(), default=1)):
        lines = spark.read.option("recursiveFileLookup", "true").text(folder, lineSep="\n")
        plain = lines.filter(~F.col("_metadata.file_path").endswith(files.ENDING))
        read = plain.select(F.col("_metadata.file_path").alias("file"), F.col("value").cast("binary").alias("line"))
        rows = read.mapInArrow(partial(_sums, sizes), "path string, sha256 string").collect()
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


LASTS: Final = 300.0
"""Seconds after which a lease ends if it is not renewed."""
RENEWED: Final = 60.0
"""Seconds between renewals."""
PATIENCE: Final = 5.0
"""Seconds to wait for the content of a new lease file: another run may have just created it."""
_own: Final[set[str]] = set()
"""The leases of this process."""


class Files(Protocol):
    """The operations of a file system that a lease needs."""

    def create(self, path: str, content: str) -> bool:
        """Make a small file; False if it exists."""

    def write(self, path: str, content: str) -> None:
        """Write a small file; an existing one is replaced."""

    def text(self, path: str) -> str | None:
        """The text of a small file; None if it does not exist."""

    def delete(self, path: str) -> None:
        """Remove a file if it exists."""


class Lease:
    """The lease in the file ``path``. ``shown``: the DIR that it protects, for messages."""

    def __init__(self, files: Files, path: str, shown: str) -> None:
        self._files, self._path, self._shown = files, path, shown
        self._id, self._who, self._over = uuid4().hex, folders.own(), Event()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lease and renew it meanwhile. Raises UsageError if another run holds it."""
        self._take()
        _own.add(self._id)
        renewing = Thread(target=self._renew, daemon=True)
        renewing.start()
        try:
            yield
        finally:
            self._over.set()
            renewing.join()
            _own.discard(self._id)
            with suppress(Exception):  # the file system cannot be reached: the lease will end by itself
                if self._is_ours():
                    self._files.delete(self._path)

    def check(self) -> None:
        """Raise ExporterError if another run has taken the lease over, because it was not renewed in time."""
        if not self._is_ours():
            raise ExporterError(
                f"{self._shown}: another run has taken it over, because this one did not renew its lock for "
                f"{LASTS / 60:,.0f} minutes; nothing was published. Start this run again when the other has ended"
            )

    def _take(self) -> None:
        if self._files.create(self._path, self._content()):
            return
        other = self._other()
        if other is None and self._files.text(self._path):
            raise folders.no_lock(self._path, self._shown, "has a content that no export wrote")
        if other is not None and not _is_dead(other):
            raise folders.busy(self._shown, str(other.get("who", "")))
        self._files.write(self._path, self._content())

    def _other(self) -> dict[str, Any] | None:
        """The content of the lease file; None if it stays empty (its run died at once) or no longer exists."""
        until = time.monotonic() + PATIENCE
        while True:
            content = _read(self._files.text(self._path))
            if content is not None or time.monotonic() > until:
                return content
            time.sleep(PATIENCE / 20)

    def _is_ours(self) -> bool:
        content = _read(self._files.text(self._path))
        return content is not None and content.get("id") == self._id

    def _renew(self) -> None:
        while not self._over.wait(RENEWED):
            with suppress(Exception):  # network errors: the next renewal, or the check before publishing, decides
                if self._is_ours():
                    self._files.write(self._path, self._content())

    def _content(self) -> str:
        holder = {"host": socket.gethostname(), "process": os.getpid(), "until": time.time() + LASTS}
        return json.dumps({"id": self._id, "who": self._who, **holder})


def _read(text: str | None) -> dict[str, Any] | None:
    try:
        content = json.loads(text or "")
    except ValueError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("id"), str) else None


def _is_dead(content: dict[str, Any]) -> bool:
    if content.get("until", 0) < time.time():
        return True
    process = content.get("process")
    if content.get("host") != socket.gethostname() or not isinstance(process, int):
        return False
    if process == os.getpid():  # in containers all runs may have the same process id
        return content.get("id") not in _own
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
