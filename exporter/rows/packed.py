"""What a file unpacks to, and how long its lines are, known before it is read: a few bytes of gzip can stand for
gigabytes of nothing, and who reads a line holds all of it in memory.
"""

from __future__ import annotations

import gzip
import zlib
from typing import IO, TYPE_CHECKING, Final, cast

from exporter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

RATIO: Final = 200
"""Times its own size that a file may unpack to. Rows come to 10 to 60: ids and times of queries do not repeat."""
FREE: Final = 64 << 20
"""Bytes that any file may unpack to."""
LONGEST_LINE: Final = 128 << 20
"""Bytes of a line at most. One that is longer than a record may be is quarantined; Spark would fail on this one."""
_AT_ONCE: Final = 1 << 20


def unpacked(path: Path) -> int:
    """The bytes that a gzip file unpacks to. Raises UsageError where that fails, and where they are more than rows can
    be: a gzip bomb, or an endless line. No more is unpacked than it takes to know.
    """
    allowed = max(FREE, RATIO * path.stat().st_size)
    try:
        with gzip.open(path) as file:
            return _looked_at(path, cast("IO[bytes]", file), allowed)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def check_lines(path: Path) -> None:
    """Raise UsageError where a file that is no gzip has an endless line."""
    size = path.stat().st_size
    if size > LONGEST_LINE:
        with path.open("rb") as file:
            _looked_at(path, file, size)


def _looked_at(path: Path, file: IO[bytes], allowed: int) -> int:
    size = line = 0
    while chunk := file.read(_AT_ONCE):
        size += len(chunk)
        last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        line = line + len(chunk) if last < 0 else len(chunk) - 1 - last
        if size > allowed:
            raise UsageError(
                f"{path}: unpacks to more than {allowed >> 20:,} MiB, over {RATIO} times its size, as rows do not (a "
                "gzip bomb?); look at what it holds, and give it unpacked if that is right"
            )
        if line > LONGEST_LINE:
            raise UsageError(f"{path}: has a line of more than {LONGEST_LINE >> 20} MiB, which is no row; take it out")
    return size
