"""Read and write files with or without gzip compression, by the ending of the name (``.ttl.gz``)."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final, cast

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path, PurePath

GZIP: Final = "gzip"
KINDS: Final = ("none", GZIP)
"""The values of ``--compress``."""
ENDING: Final = ".gz"
_LEVEL: Final = 6
BROKEN: Final = (gzip.BadGzipFile, EOFError, zlib.error)
"""The exceptions of Python if a file is not gzip, or is truncated or damaged."""


def syntax_of(path: PurePath) -> str:
    """The ending that gives the content of a file, without ``.gz``.

    >>> from pathlib import PurePath
    >>> syntax_of(PurePath("part-0.ttl")), syntax_of(PurePath("part-0.ttl.gz"))
    ('.ttl', '.ttl')
    """
    return (path.with_suffix("") if path.suffix == ENDING else path).suffix


def found(folder: Path, ending: str) -> list[Path]:
    """The files with an ending (``.ttl``) in a folder and its subfolders, compressed or not, sorted."""
    return sorted([*folder.rglob(f"*{ending}"), *folder.rglob(f"*{ending}{ENDING}")])


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file. Raises OSError if it cannot be read. Reading a damaged file raises OSError or one of
    :data:`BROKEN`.
    """
    if path.suffix != ENDING:
        with path.open("rb") as file:
            yield file
        return
    with gzip.open(path) as unpacked:
        yield cast("IO[bytes]", unpacked)


@contextmanager
def created(path: Path) -> Iterator[IO[bytes]]:
    """A new file, compressed if its name ends in ``.gz``. The same content always gives the same bytes."""
    with path.open("wb") as file:
        if path.suffix != ENDING:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def text(path: Path) -> str:
    """The whole text of a file. Raises UsageError if it is damaged."""
    try:
        with opened(path) as file:
            return file.read().decode("utf-8")
    except BROKEN as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}") from None
