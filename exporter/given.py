"""Read a small file that a person names: settings, a key, a list of users, a question. It never waits without end.

A pipe, as of ``<(…)`` in a shell, is read until its writer closes it, if that takes no longer than :data:`PATIENCE`.
Devices are refused, except ``/dev/null``, which is an empty file.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE: Final = 10.0
"""Seconds to wait for all that a pipe gives."""
_AT_ONCE: Final = 1 << 16


def read(path: Path | str, most: int) -> bytes:
    """The first ``most`` bytes of a file. Raises OSError, whose ``strerror`` is for the user, if it cannot be read, is
    a folder or a device, or is a pipe that nobody writes or closes in time.
    """
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        return b"".join(_parts(file, os.fstat(file), most))
    finally:
        os.close(file)


def _parts(file: int, about: os.stat_result, most: int) -> list[bytes]:
    if stat.S_ISDIR(about.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISFIFO(about.st_mode) and about.st_rdev != _null():
        raise OSError(errno.EINVAL, "it is a device or a socket, not a file")
    is_pipe, until = stat.S_ISFIFO(about.st_mode), time.monotonic() + PATIENCE
    parts, left = list[bytes](), most
    while left > 0:
        if is_pipe and not select.select([file], [], [], max(0.0, until - time.monotonic()))[0]:
            raise OSError(errno.ETIMEDOUT, f"it is a pipe, which nobody wrote and closed within {PATIENCE:.0f} seconds")
        part = os.read(file, min(left, _AT_ONCE))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return parts


def _null() -> int:
    return os.stat(os.devnull).st_rdev  # noqa: PTH116 - devnull is a text
