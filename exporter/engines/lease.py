"""One run at a time for a DIR given as a URI, by a lease: a file beside DIR with its owner and its end.

Hadoop's file systems have no locks that end with a process. So a run renews its lease while it works. Another run takes
over a lease that was not renewed in time, or whose process on this machine has ended. Times are taken from the
machines, so their clocks must agree within a few minutes.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, Final, Protocol
from uuid import uuid4

from exporter.errors import ExporterError
from exporter.system import folders

LEASE_SECONDS: Final = 300.0
"""Seconds after which a lease ends if it is not renewed."""
RENEWAL_SECONDS: Final = 60.0
"""Seconds between renewals."""
PATIENCE: Final = 5.0
"""Seconds to wait for the content of a new lease file: another run may have just created it."""
_own: Final[set[str]] = set()
"""The leases of this process."""


class Files(Protocol):
    """The operations of a file system that a lease needs."""

    def create(self, path: str, content: str) -> bool:
        """Make a small file; False if it exists."""

    def write(self, path: str, content: str) -> None:
        """Write a small file; an existing one is replaced."""

    def text(self, path: str) -> str | None:
        """The text of a small file; None if it does not exist."""

    def delete(self, path: str) -> None:
        """Remove a file if it exists."""


class Lease:
    """The lease in the file ``path``. ``shown``: the DIR that it protects, for messages."""

    def __init__(self, files: Files, path: str, shown: str) -> None:
        self._files, self._path, self._shown = files, path, shown
        self._id, self._who, self._over = uuid4().hex, folders.own(), Event()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lease and renew it meanwhile. Raises UsageError if another run holds it."""
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
            with suppress(Exception):  # the file system cannot be reached: the lease will end by itself
                if self._is_ours():
                    self._files.delete(self._path)

    def check(self) -> None:
        """Raise ExporterError if another run has taken the lease over, because it was not renewed in time."""
        if not self._is_ours():
            raise ExporterError(
                f"{self._shown}: another run has taken it over, because this one did not renew its lock for "
                f"{LEASE_SECONDS / 60:,.0f} minutes; nothing was published. Start this run again when the other has "
                "ended"
            )

    def _take(self) -> None:
        if self._files.create(self._path, self._content()):
            return
        other = self._other()
        if other is None and self._files.text(self._path):
            raise folders.no_lock(self._path, self._shown, "has a content that no export wrote")
        if other is not None and not _is_dead(other):
            raise folders.busy(self._shown, str(other.get("who", "")))
        self._files.write(self._path, self._content())

    def _other(self) -> dict[str, Any] | None:
        """The content of the lease file; None if it stays empty (its run died at once) or no longer exists."""
        until = time.monotonic() + PATIENCE
        while True:
            content = _read(self._files.text(self._path))
            if content is not None or time.monotonic() > until:
                return content
            time.sleep(PATIENCE / 20)

    def _is_ours(self) -> bool:
        content = _read(self._files.text(self._path))
        return content is not None and content.get("id") == self._id

    def _renew(self) -> None:
        while not self._over.wait(RENEWAL_SECONDS):
            with suppress(Exception):  # network errors: the next renewal, or the check before publishing, decides
                if self._is_ours():
                    self._files.write(self._path, self._content())

    def _content(self) -> str:
        holder = {"host": socket.gethostname(), "process": os.getpid(), "until": time.time() + LEASE_SECONDS}
        return json.dumps({"id": self._id, "who": self._who, **holder})


def _read(text: str | None) -> dict[str, Any] | None:
    try:
        content = json.loads(text or "")
    except ValueError:
        return None
    return content if isinstance(content, dict) and isinstance(content.get("id"), str) else None


def _is_dead(content: dict[str, Any]) -> bool:
    if content.get("until", 0) < time.time():
        return True
    process = content.get("process")
    if content.get("host") != socket.gethostname() or not isinstance(process, int):
        return False
    if process == os.getpid():  # in containers all runs may have the same process id
        return content.get("id") not in _own
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
