"""What a gzip file unpacks to, known before it is read: a few bytes can stand for gigabytes of nothing."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

RATIO: Final = 200
"""Times its own size that a file may unpack to. Rows come to 10 to 60: ids and times of queries do not repeat."""
FREE: Final = 64 << 20
"""Bytes that any file may unpack to."""
LONGEST_LINE: Final = 256 << 20
"""Bytes of a line at most: one that is longer is no record, and Spark would hold all of it in memory."""
_AT_ONCE: Final = 1 << 20


def unpacked(path: Path) -> int:
    """The bytes that the file unpacks to. Raises UsageError where that fails, and where they are more than rows can be:
    a gzip bomb, or one endless line. No more is unpacked than it takes to know.
    """
    allowed = max(FREE, RATIO * path.stat().st_size)
    size = line = 0
    try:
        with gzip.open(path) as file:
            while chunk := file.read(_AT_ONCE):
                size += len(chunk)
                last = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
                line = line + len(chunk) if last < 0 else len(chunk) - 1 - last
                if size > allowed or line > LONGEST_LINE:
                    raise UsageError(f"{path}: {_why(allowed, is_bomb=size > allowed)}")
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from None
    return size


def _why(allowed: int, *, is_bomb: bool) -> str:
    if is_bomb:
        return (
            f"unpacks to more than {allowed >> 20:,} MiB, over {RATIO} times its size, as rows do not (a gzip bomb?); "
            "look at what it holds, and give it unpacked if that is right"
        )
    return f"has a line of more than {LONGEST_LINE >> 20} MiB, which is no row; take it out"
