"""One run at a time writes a DIR of this machine: a file beside DIR that the system locks for the process.

The lock ends with the process, however that ends (flock(2)): a file that a dead process left keeps nobody out.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LONGEST: Final = 500
"""Bytes that are read of what another run says of itself."""


@contextmanager
def held(path: Path, shown: str) -> Iterator[None]:
    """Hold the lock at ``path`` of the DIR that is ``shown`` to people.

    Raises UsageError where another run holds it, or the folder of ``path`` cannot be written.
    """
    try:
        file = _taken(path, shown)
    except OSError as error:
        raise UsageError(f"{shown}: cannot be written: {_why(path.parent, error)}; nothing was changed") from None
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before it is let go: who comes next makes a file of their own
        os.close(file)


def _why(folder: Path, error: OSError) -> str:
    """Why nothing can be written in a folder, by the first of it that is there."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        return f"{there} is no folder"
    return f"nothing can be made in {there}" if error.errno == errno.ENOENT else f"{there}: {error.strerror}"


def busy(shown: str, who: str) -> UsageError:
    """The refusal of a second run. ``who``: what the first one says of itself, empty where it has not said it yet."""
    named = f" ({who})" if who else ""
    return UsageError(f"{shown}: another run is at work on it{named}; wait for it to end. Nothing was changed")


def _taken(path: Path, shown: str) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
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
            with suppress(OSError):  # a full disk: the lock holds all the same
                os.truncate(file, 0)
                os.write(file, own().encode())
            return file
        os.close(file)  # the run that held it has removed it since it was opened


def own() -> str:
    """What a run says of itself to others."""
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False
