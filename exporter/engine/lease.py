"""One run at a time writes a DIR by its URI: a file beside DIR that says whose it is, and until when.

Hadoop's file systems have no locks that end with a process. So a run renews its file while it works, and takes over one
that was not renewed in time, or whose process it can see to be dead. Times are those of the machines: their clocks must
be within some minutes of each other.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import uuid4

from exporter import locks
from exporter.errors import ExporterError

if TYPE_CHECKING:
    from collections.abc import Iterator

LASTS: Final = 300.0
"""Seconds that a lease lasts when it is not renewed."""
RENEWED: Final = 60.0
"""Seconds between renewals."""
PATIENCE: Final = 5.0
"""Seconds in which a file that was made gets its content."""
_own: Final[set[str]] = set()
"""The leases of this process."""


class Files(Protocol):
    """What a lease asks of a file system."""

    def create(self, path: str, content: str) -> bool:
        """Make a small file; False where there is one."""

    def write(self, path: str, content: str) -> None:
        """Write a small file, over one that is there."""

    def text(self, path: str) -> str | None:
        """The text of a small file; None where it is not there."""

    def delete(self, path: str) -> None:
        """Remove a file, if it is there."""


class Lease:
    """The file at ``path``, which keeps others away from the DIR that is ``shown`` to people."""

    def __init__(self, files: Files, path: str, shown: str) -> None:
        self._files, self._path, self._shown = files, path, shown
        self._id, self._who, self._over = uuid4().hex, locks.own(), Event()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it. Raises UsageError where another run does."""
        self._take()
        _own.add(self._id)
        renewing = Thread(target=self._renew, daemon=True)
        renewing.start()
        try:
            yield
        finally:
            self._over.set()
            renewing.join()
            _own.discard(self._id)
            with suppress(Exception):  # a file system that is lost: the lease ends by itself
                if self._is_ours():
                    self._files.delete(self._path)

    def check(self) -> None:
        """Raise ExporterError where another run has taken it over: this one was silent for too long."""
        if not self._is_ours():
            raise ExporterError(
                f"{self._shown}: another run has taken it over, for this one was not heard of for "
                f"{LASTS / 60:,.0f} minutes; nothing was published. Start it again when the other has ended"
            )

    def _take(self) -> None:
        if self._files.create(self._path, self._content()):
            return
        other = self._other()
        if other is not None and not _is_dead(other):
            raise locks.busy(self._shown, str(other.get("who", "")))
        self._files.write(self._path, self._content())

    def _other(self) -> dict[str, Any] | None:
        """What the file says; None where it says nothing, for its run died at once, or is no longer there."""
        until = time.monotonic() + PATIENCE
        while True:
            told = _read(self._files.text(self._path))
            if told is not None or time.monotonic() > until:
                return told
            time.sleep(PATIENCE / 20)

    def _is_ours(self) -> bool:
        told = _read(self._files.text(self._path))
        return told is not None and told.get("id") == self._id

    def _renew(self) -> None:
        while not self._over.wait(RENEWED):
            with suppress(Exception):  # of the network: the next renewal, or the check before publishing, will tell
                if self._is_ours():
                    self._files.write(self._path, self._content())

    def _content(self) -> str:
        told = {"host": socket.gethostname(), "process": os.getpid(), "until": time.time() + LASTS}
        return json.dumps({"id": self._id, "who": self._who, **told})


def _read(text: str | None) -> dict[str, Any] | None:
    try:
        told = json.loads(text or "")
    except ValueError:
        return None
    return told if isinstance(told, dict) else None


def _is_dead(told: dict[str, Any]) -> bool:
    if told.get("until", 0) < time.time():
        return True
    process = told.get("process")
    if told.get("host") != socket.gethostname() or not isinstance(process, int):
        return False
    if process == os.getpid():  # in a container all runs may have the same number
        return told.get("id") not in _own
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
