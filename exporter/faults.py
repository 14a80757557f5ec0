"""What fails around the program (a disk, memory, rights, a worker of Spark), in words: what it was, and what helps."""

from __future__ import annotations

import errno
import sys
from typing import Final

_BY_NUMBER: Final = {
    errno.ENOSPC: ("the disk is full", "make room on that of DIR"),
    errno.EDQUOT: ("the quota of the disk is used up", "make room on that of DIR"),
    errno.EFBIG: ("a file has become larger than the system allows", "raise the limit (ulimit -f)"),
    errno.EROFS: ("the disk is read-only", "give a folder that can be written"),
    errno.EACCES: ("it is not allowed", "give a folder that can be written"),
    errno.EPERM: ("it is not allowed", "give a folder that can be written"),
    errno.EMFILE: ("too many files are open at once", "raise the limit (ulimit -n)"),
    errno.EIO: ("the disk does not answer", "see to the machine"),
    errno.ENOMEM: ("memory has run out", "give it more, or a smaller part of the rows at a time"),
}
_MEMORY: Final = _BY_NUMBER[errno.ENOMEM]
_ENDED: Final = ("Spark's process has ended: killed, or out of memory", "see to the memory of the machine")
_LOST: Final = (
    "a worker of Spark was lost: killed, or out of memory",
    "see to the memory of the machine that it ran on",
)
_BY_TEXT: Final = {
    "univocity.parsers.common.TextParsingException": (
        "a field of a CSV is longer than any text can be, as where a quote is never closed",
        "mend the file, or set it aside,",
    ),
    "No space left on device": ("the disk is full", "make room on that of DIR and on that of spark.local.dir"),
    "Disk quota exceeded": _BY_NUMBER[errno.EDQUOT],
    "Read-only file system": _BY_NUMBER[errno.EROFS],
    "java.lang.OutOfMemoryError": ("Spark's memory has run out", "give it more (spark.driver.memory)"),
    "Cannot allocate memory": _MEMORY,
    "MemoryError": _MEMORY,
    "failed to map segment": _MEMORY,
    "can't start new thread": _MEMORY,
    "Python worker exited unexpectedly": _LOST,
    "Python worker failed to connect back": _LOST,
    "from pyspark.daemon": _LOST,
    "java.io.EOFException": _LOST,  # these three: before a worker has said its first word
    "java.net.SocketException": _LOST,
    "java.io.IOException: Broken pipe": _LOST,
    "ExecutorLostFailure": _LOST,
    "Answer from Java side is empty": _ENDED,
    "while sending or receiving": _ENDED,
}
"""Marks in what Spark, Java and the loaders of libraries say. Their texts are not shown: they can hold values of rows.
"""


def words(error: BaseException, so_far: str) -> str | None:
    """What failed, what that leaves (``so_far``), and what helps; None where it was the program itself."""
    found = _found(error)
    if found is None:
        return None
    what, helps = found
    where = error.filename if isinstance(error, OSError) and isinstance(error.filename, str) else None
    return f"{f'{where}: ' if where else ''}{what}; {so_far}. To go on, {helps} and start it again"


def _found(error: BaseException) -> tuple[str, str] | None:
    if isinstance(error, OSError) and error.errno in _BY_NUMBER:
        return _BY_NUMBER[error.errno]
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, ConnectionError) and "py4j" in sys.modules:
        return _ENDED
    try:
        text = str(error)
    except OSError:  # py4j asks Java for the words of its exceptions, and Java has ended
        return _ENDED
    return next((told for mark, told in _BY_TEXT.items() if mark in text), None)
