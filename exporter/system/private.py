"""Files and folders that only their owner can read (0700, 0600), whatever the umask of the process.

What the program writes has personal data: who read what, when. A person who wants others to read DIR says so (--mode).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

FOLDER: Final = 0o700
FILE: Final = 0o600
_OTHERS: Final = 0o077
_READ_WRITE: Final = 0o666


_changes: Final = Lock()
_before: Final = list[int]()
"""The umask before each context that is open: the first is that of the process, to which it returns at the last end."""


@contextmanager
def made() -> Iterator[None]:
    """While the context is open, this process and those that it starts (Java with its workers and their files) make
    files and folders for their owner alone. It holds for all threads, until the last of them has left its context.
    """
    with _changes:
        _before.append(os.umask(_OTHERS))
    try:
        yield
    finally:
        with _changes:
            umask = _before.pop()
            if not _before:
                os.umask(umask)


def folder(path: Path) -> None:
    """Make a folder and the missing ones above it, or make an existing one private if it is this user's."""
    for above in reversed(path.parents):
        if not above.exists():
            _make(above)
    _make(path)


def _make(path: Path) -> None:
    with suppress(FileExistsError):
        path.mkdir(FOLDER)
    with suppress(PermissionError):  # it is another user's
        path.chmod(FOLDER)


class NotPlainError(OSError):
    """At the path of a file of the program's own is something else. ``strerror`` is for the user."""


def opened(path: Path | str, flags: int) -> int:
    """Open a file of the program's own, which is made if ``flags`` say so. Also the ``opener`` of Python's ``open``.

    Raises NotPlainError for a link, which is not followed, and for what is no plain file.
    """
    file = plain(path, flags)
    with suppress(PermissionError):
        os.fchmod(file, FILE)
    return file


def plain(path: Path | str, flags: int) -> int:
    """As :func:`opened`, but a file that is there keeps its mode: it may be somebody else's."""
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, FILE)
    except OSError as error:
        problems = {errno.ELOOP: "is a link", errno.EISDIR: "is a folder", errno.ENXIO: "is a pipe or a socket"}
        if error.errno in problems and os.path.lexists(path):
            raise NotPlainError(error.errno, problems[error.errno], str(path)) from None
        raise
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise NotPlainError(errno.EINVAL, "is a pipe or a device", str(path))


def set_mode(path: Path, mode: int) -> None:
    """Set the mode of a folder and of all in it. ``mode``: that of folders; files have it without execution. Links are
    not followed.
    """
    for above, _, names in os.walk(path):
        os.chmod(above, mode)  # noqa: PTH101 - many paths
        for name in names:
            file = os.path.join(above, name)  # noqa: PTH118 - many paths
            now = os.lstat(file).st_mode
            if stat.S_ISREG(now) and stat.S_IMODE(now) != mode & _READ_WRITE:
                os.chmod(file, mode & _READ_WRITE)  # noqa: PTH101 - many paths
