"""Files that are compressed by gzip, beside those that are not: a file's name tells which it is (``.ttl.gz``)."""

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
"""What ``--compress`` takes."""
ENDING: Final = ".gz"
_LEVEL: Final = 6
BROKEN: Final = (gzip.BadGzipFile, EOFError, zlib.error)
"""What Python raises where a file is no gzip, or is cut or damaged."""


def syntax_of(path: PurePath) -> str:
    """The ending that tells what is in a file, compressed or not.

    >>> from pathlib import PurePath
    >>> syntax_of(PurePath("part-0.ttl")), syntax_of(PurePath("part-0.ttl.gz"))
    ('.ttl', '.ttl')
    """
    return (path.with_suffix("") if path.suffix == ENDING else path).suffix


def found(folder: Path, ending: str) -> list[Path]:
    """The files with an ending (``.ttl``) in a folder and all below it, compressed ones too, in order."""
    return sorted([*folder.rglob(f"*{ending}"), *folder.rglob(f"*{ending}{ENDING}")])


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """What is in a file. Raises OSError where it cannot be read; one that is damaged raises it while it is read, too,
    or one of :data:`BROKEN`.
    """
    if path.suffix != ENDING:
        with path.open("rb") as file:
            yield file
        return
    with gzip.open(path) as unpacked:
        yield cast("IO[bytes]", unpacked)


@contextmanager
def created(path: Path) -> Iterator[IO[bytes]]:
    """A new file, compressed where its name says so: the same bytes for the same content, whenever it is written."""
    with path.open("wb") as file:
        if path.suffix != ENDING:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=_LEVEL, fileobj=file, mtime=0) as packed:
            yield cast("IO[bytes]", packed)


def text(path: Path) -> str:
    """The whole text of a file; raises UsageError where it is damaged."""
    try:
        with opened(path) as file:
            return file.read().decode("utf-8")
    except BROKEN as error:
        raise UsageError(f"{path}: cannot be unpacked: {error}") from None
