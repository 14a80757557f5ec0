"""A lock, so that only one run at a time writes a DIR on this machine: a file beside DIR, locked by the system.

The lock ends with the process, however it ends (flock(2)): a file left by a dead process does not block other runs.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from exporter import private
from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST: Final = 500
"""Most bytes that are read from the lock file of another run."""


@contextmanager
def held(path: Path, shown: str) -> Iterator[None]:
    """Hold the lock at ``path``. ``shown``: the DIR, for messages.

    Raises UsageError if another run holds it, or if the folder of ``path`` cannot be written.
    """
    try:
        file = _taken(path, shown)
    except OSError as error:
        raise UsageError(f"{shown}: cannot be written: {_why(path.parent, error)}; nothing was changed") from None
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before the lock is released, so that the next run makes a new file
        os.close(file)


def _why(folder: Path, error: OSError) -> str:
    """Why nothing can be written in a folder, found from the nearest parent folder that exists."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        return f"{there} is not a folder"
    return f"nothing can be created in {there}" if error.errno == errno.ENOENT else f"{there}: {error.strerror}"


def busy(shown: str, who: str) -> UsageError:
    """The error for a second run. ``who``: the content of the first run's lock file; empty if not yet written."""
    named = f" ({who})" if who else ""
    return UsageError(f"{shown}: another run is writing it{named}; wait until it has ended. Nothing was changed")


def _taken(path: Path, shown: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = private.opened(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(file, _LONGEST, 0).decode(errors="replace")
            os.close(file)
            raise busy(shown, who) from None
        except OSError:
            os.close(file)
            raise
        if _is_at(path, file):
            with suppress(OSError):  # if the disk is full, the lock is held nevertheless
                os.truncate(file, 0)
                os.write(file, own().encode())
            return file
        os.close(file)  # the run that held the lock has removed the file since it was opened


def own() -> str:
    """The description of this run for others: process, machine, time."""
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False
