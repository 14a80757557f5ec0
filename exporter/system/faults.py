"""Failures of the machine (disk, memory, permissions, Spark's workers) in words: what failed, what to do.

For a program that was killed or ran out of memory, a second process prints the message. It waits at a pipe, which the
system closes when the program ends.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn

from exporter.errors import ExporterError, UsageError

_DENIED: Final = ("permission denied", "let its owner give the right to read it, or to write it where that is meant,")
_BY_NUMBER: Final = {
    errno.ENOSPC: ("the disk is full", "free space on the disk of DIR"),
    errno.EDQUOT: ("the quota of the disk is used up", "free space on the disk of DIR"),
    errno.EFBIG: ("a file has become larger than the system allows", "raise the limit (ulimit -f)"),
    errno.EROFS: ("the disk is read-only", "give a folder that can be written"),
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EMFILE: ("too many files are open at once", "raise the limit (ulimit -n)"),
    errno.EIO: ("the disk does not answer", "check the machine"),
    errno.ENOMEM: ("memory has run out", "provide more memory, or export a smaller part of the rows at a time"),
}
OF_FULL_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Numbers of errors of a disk that takes no more: none of what the user asked for is wrong."""
_NO_FOLDER: Final = (
    "the folder in which this was started was removed or replaced",
    "change to another folder (cd)",
)
_MEMORY: Final = _BY_NUMBER[errno.ENOMEM]
_ENDED: Final = ("Spark's process has ended: killed, or out of memory", "check the memory of the machine")
_LOST: Final = (
    "a worker of Spark was lost: killed, or out of memory",
    "check the memory of the machine that it ran on",
)
_BY_TEXT: Final = {
    "univocity.parsers.common.TextParsingException": (
        "a field of a CSV is too long; perhaps a quote is never closed",
        "correct the file or remove it",
    ),
    "sh:pattern takes too long": (
        "a sh:pattern of your shapes takes too long for a value",
        "write it without repetitions inside of repetitions, such as (a+)+,",
    ),
    "No space left on device": ("the disk is full", "free space on the disks of DIR and of spark.local.dir"),
    "Disk quota exceeded": _BY_NUMBER[errno.EDQUOT],
    "Read-only file system": _BY_NUMBER[errno.EROFS],
    "java.lang.OutOfMemoryError": ("Spark's memory has run out", "give Spark more memory (spark.driver.memory)"),
    "Cannot allocate memory": _MEMORY,
    "MemoryError": _MEMORY,
    "failed to map segment": _MEMORY,
    "can't start new thread": _MEMORY,
    "Python worker exited unexpectedly": _LOST,
    "Python worker failed to connect back": _LOST,
    "from pyspark.daemon": _LOST,
    "java.io.EOFException": _LOST,  # these three: the worker was lost before it had started
    "java.net.SocketException": _LOST,
    "java.io.IOException: Broken pipe": _LOST,
    "ExecutorLostFailure": _LOST,
    "Answer from Java side is empty": _ENDED,
    "while sending or receiving": _ENDED,
}
"""Texts in errors of Spark, Java and library loaders. The errors themselves are not shown: they can contain values of
rows.
"""


def words(error: BaseException, so_far: str) -> str | None:
    """The message for an error of the environment; None for a fault of the program. ``so_far``: the state that the
    failure leaves.
    """
    texts = _found(error)
    if texts is None:
        return None
    problem, helps = texts
    where = error.filename if isinstance(error, OSError) and isinstance(error.filename, str) else None
    return f"{f'{where}: ' if where else ''}{problem}; {so_far}. To go on, {helps} and start it again"


def kind(error: BaseException) -> type[ExporterError]:
    """The error as which one is reported: UsageError for what the user may not read or write, else ExporterError."""
    return UsageError if isinstance(error, PermissionError) else ExporterError


def _found(error: BaseException) -> tuple[str, str] | None:
    if is_of_lost_folder(error):
        return _NO_FOLDER
    if isinstance(error, OSError) and error.errno in _BY_NUMBER:
        return _BY_NUMBER[error.errno]
    if isinstance(error, MemoryError):
        return _MEMORY
    if isinstance(error, ConnectionError) and "py4j" in sys.modules:
        return _ENDED
    try:
        text = str(error)
    except OSError:  # py4j asks Java for the text of its exceptions, but Java has ended
        return _ENDED
    return next((texts for mark, texts in _BY_TEXT.items() if mark in text), None)


def is_of_lost_folder(error: BaseException) -> bool:
    """Whether the error says that the folder in which the program was started is not there any more."""
    if not isinstance(error, FileNotFoundError) or error.filename is not None:
        return False
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


_WORDS: Final = (
    "exporter: was killed, or memory has run out. The DIR of an export is the complete old or the complete new one; "
    "what a push delivered is recorded. Start it again, with more memory if memory has run out\n"
)


@contextmanager
def report_when_killed() -> Iterator[None]:
    """Print a message on standard error, from a second process, if this process ends within the block.

    Enter the block while there is only one thread, no open file and no lock, because the second process inherits them.
    """
    number, say = os.pipe()
    try:
        watcher = os.fork()
    except OSError:  # no further process is possible; the work itself is more important than this message
        watcher = None
    if watcher == 0:
        os.close(say)
        _wait(number)
    os.close(number)
    try:
        yield
    finally:
        with suppress(OSError):
            os.write(say, b".")
        os.close(say)
        if watcher:
            with suppress(OSError):
                os.waitpid(watcher, 0)


def _wait(said: int) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # sent to the whole process group
        signal.signal(number, signal.SIG_IGN)
    for file in (0, 1):
        with suppress(OSError):
            os.close(file)
    with suppress(OSError):
        if not os.read(said, 1):
            os.write(2, _WORDS.encode())
    os._exit(0)
