"""What a backend was given: a file that is only ever added to, so that a push that was stopped goes on where it was.

A line is a sign and an event's fingerprint: ``>`` it is on its way, ``+`` it was taken, ``-`` it was not. Whatever ends
the process leaves at most the last line torn, and that event is sent again. The file is forced to the disk once a
second and at the end; what a failing machine forgets of the last second is sent again too.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SENDING, TAKEN, NOT_TAKEN = ">", "+", "-"
_SYNC: Final = 1.0
_DIGITS: Final = 32


def fingerprint(line: bytes) -> str:
    """An event's own, whatever is added to it on the way."""
    return hashlib.blake2b(line.rstrip(b"\r\n"), digest_size=_DIGITS // 2).hexdigest()


class Ledger:
    """The folder of one backend: ``ledger.txt``, ``set-aside.ndjson``, ``reduced.ndjson`` and ``summary.json``."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError where the folder cannot be written, or another push is at work in it."""
        self.folder = folder
        self._lock, self._synced = threading.Lock(), time.monotonic()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(folder / "ledger.txt", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise UsageError(
                f"{folder}: cannot be written, and what was delivered is kept there: {error.strerror}"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another push of these events is at work; wait for it to end") from None
        for name in ("set-aside.ndjson", "reduced.ndjson"):
            (folder / name).unlink(missing_ok=True)
        self.unfinished = self._read()

    def taken(self) -> Iterator[str]:
        """The fingerprints of what was taken; a torn line counts for nothing."""
        return (mark for sign, mark in self._lines() if sign == TAKEN)

    def _lines(self) -> Iterator[tuple[str, str]]:
        with (self.folder / "ledger.txt").open("rb") as file:
            for line in file:
                sign, mark = line[:1].decode("latin-1"), line[2:-1].decode("latin-1")
                if line.endswith(b"\n") and len(mark) == _DIGITS:
                    yield sign, mark

    def _read(self) -> set[str]:
        """The fingerprints of what was on its way when a push ended; what is added will not stick to a torn line."""
        sending: set[str] = set()
        for sign, mark in self._lines():
            (sending.add if sign == SENDING else sending.discard)(mark)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")
        return sending

    def write(self, sign: str, mark: str) -> None:
        """Add a line; from any thread."""
        os.write(self._file, f"{sign} {mark}\n".encode("ascii"))
        now = time.monotonic()
        if now - self._synced > _SYNC:
            with self._lock:
                self._synced = now
                os.fsync(self._file)

    def keep(self, name: str, told: dict[str, Any]) -> None:
        """Add an object to a file of JSON lines."""
        with self._lock, (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(told, ensure_ascii=False) + "\n")

    def close(self, summary: dict[str, Any]) -> None:
        """Write the summary of the push, and let others at the folder."""
        (self.folder / "summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.fsync(self._file)
        os.close(self._file)
