"""Check the unpacked size of a file and the length of its lines before it is read. A few bytes of gzip can unpack to
gigabytes, and a reader holds a whole line in memory.
"""

from __future__ import annotations

import gzip
import zlib
from typing import IO, TYPE_CHECKING, Final, cast

from exporter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

RATIO: Final = 200
"""A file may unpack to this many times its size. Files of rows reach 10 to 60: query ids and times do not repeat."""
FREE: Final = 64 << 20
"""Any file may unpack to this many bytes."""
LONGEST_LINE: Final = 128 << 20
"""Longest line, in bytes: Spark would fail on a longer one. A shorter line that exceeds a record's limit is
quarantined.
"""
_AT_ONCE: Final = 1 << 20


def unpacked(path: Path) -> int:
    """The number of bytes that a gzip file unpacks to. Raises UsageError if it cannot be unpacked, or if it has more
    bytes or a longer line than rows can have (a gzip bomb). Unpacking stops as soon as a limit is exceeded.
    """
    allowed = max(FREE, RATIO * path.stat().st_size)
    try:
        with gzip.open(path) as file:
            return _looked_at(path, cast("IO[bytes]", file), allowed)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None


def check_lines(path: Path) -> None:
    """Raise UsageError if a file that is not gzip has a line that is too long."""
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
                f"{path}: unpacks to more than {allowed >> 20:,} MiB, over {RATIO} times its size, which rows of the "
                "view do not (a gzip bomb?); check its content, and give it unpacked if it is right"
            )
        if line > LONGEST_LINE:
            raise UsageError(f"{path}: has a line of more than {LONGEST_LINE >> 20} MiB, which is not a row; remove it")
    return size
