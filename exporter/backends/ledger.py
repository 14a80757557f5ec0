"""The ledger: which events a backend got, in a file that is only appended to, so that a stopped push can continue.

A line is a sign and an event's fingerprint: ``>`` it is being sent, ``+`` it was taken, ``-`` it was set aside, ``.``
it was not taken and is left for the next push, ``!`` it was taken after it had been set aside, and what has to follow
it was not sent again yet. ``=`` has the id of a run whose end was taken, whatever it said; for backends that keep what
each event of a run said, ``@`` has that run and its job (:func:`run_and_job`). However the process ends, at most the
last line is incomplete, and its event is sent again. The file is flushed to disk once a second and at the end; what a
failing machine loses of the last second is also sent again.

The fingerprint depends on an event's content alone, so delivered events are recognized in later exports too: an export
that replaces a folder passes the ledger on to the new one (:mod:`exporter.publish.places`).
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Final

from exporter.errors import UsageError
from exporter.system import private

SENDING, TAKEN, SET_ASIDE, LEFT, TAKEN_LATE = ">", "+", "-", ".", "!"
ENDED, PLACED = "=", "@"
_SYNC: Final = 1.0
_DIGITS: Final = 32
_MAKERS: Final = ("producer", "schemaURL")
_FACET_MAKERS: Final = ("_producer", "_schemaURL")


def fingerprint(event: dict[str, Any]) -> str:
    """The fingerprint of an event's content, independent of its producer, its schema and the order of keys. For a
    dataset's event it is also independent of the time, which is that of the first query of the export.
    """
    left_out = _MAKERS if "run" in event else (*_MAKERS, "eventTime")
    content = _without_makers({key: value for key, value in event.items() if key not in left_out})
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=_DIGITS // 2).hexdigest()


def run_and_job(run_id: str, job: dict[str, Any]) -> str:
    """The first half of a run's id, in hexadecimal, and a fingerprint of its job."""
    name = json.dumps([job["namespace"], job["name"]])
    half = _DIGITS // 2
    return run_id.replace("-", "")[:half] + hashlib.blake2b(name.encode(), digest_size=half // 2).hexdigest()


def _without_makers(value: Any) -> Any:
    """The value without ``_producer`` and ``_schemaURL`` of facets; a column may have such a name, but is no text."""
    if isinstance(value, dict):
        return {
            key: _without_makers(item) if isinstance(item, dict | list) else item
            for key, item in value.items()
            if not (key in _FACET_MAKERS and isinstance(item, str))
        }
    return [_without_makers(item) for item in value] if isinstance(value, list) else value


def _refuse_others(folder: Path) -> None:
    """Raises UsageError where something else is in the place of a file of a push, before anything is sent."""
    for name in ("ledger.txt", "summary.json", "set-aside.ndjson", "reduced.ndjson"):
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise UsageError(f"{path}: is a link, a folder or a pipe, where a push keeps a file of its own; remove it")


class Delivered:
    """What a ledger says of the events of one backend; nothing where there is no ledger. ``unfinished``: the
    fingerprints of events that were being sent when a push ended; ``refused``: of those that were set aside when last
    sent; ``left``: of those that the next push sends; ``late``: of those that were taken after they had been set aside,
    and are still to be followed.
    """

    def __init__(self, folder: Path) -> None:
        """Raises UsageError where something else is in the place of a file of a push."""
        self.folder = folder
        self.unfinished, self.refused, self.left, self.late = set[str](), set[str](), set[str](), set[str]()
        of_sign = {SENDING: self.unfinished, SET_ASIDE: self.refused, LEFT: self.left, TAKEN_LATE: self.late}
        _refuse_others(folder)
        for sign, mark in self._lines():
            for of_other in of_sign.values():
                of_other.discard(mark)
            of_sign.get(sign, set[str]()).add(mark)

    def marks(self, sign: str) -> Iterator[str]:
        """What the lines with a sign name: events that were taken and need not be sent again (TAKEN), ids of runs whose
        end was taken (ENDED), or these runs, each with the jobs that it was sent with (PLACED). An incomplete line does
        not count.
        """
        is_open = self.unfinished | self.refused | self.left if sign == TAKEN else ()
        signs = (TAKEN, TAKEN_LATE) if sign == TAKEN else (sign,)
        return (mark for line_sign, mark in self._lines() if line_sign in signs and mark not in is_open)

    def _lines(self) -> Iterator[tuple[str, str]]:
        path = self.folder / "ledger.txt"
        with path.open("rb") if path.exists() else io.BytesIO() as file:
            for line in file:
                sign, mark = line[:1].decode("latin-1"), line[2:-1].decode("latin-1")
                if line.endswith(b"\n") and len(mark) == _DIGITS and line.isascii():
                    yield sign, mark


class Ledger(Delivered, AbstractContextManager["Ledger"]):
    """The folder of one backend: ``ledger.txt``, ``set-aside.ndjson``, ``reduced.ndjson`` and ``summary.json``."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError where the folder cannot be written, or another push is using it."""
        self._lock, self._synced, self._is_torn = threading.Lock(), time.monotonic(), False
        try:
            private.folder(folder.parent)
            private.folder(folder)
            _refuse_others(folder)
            self._file = private.opened(folder / "ledger.txt", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError as error:
            raise UsageError(
                f"{folder}: cannot be written, and what was delivered is kept there: {error.strerror}"
            ) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise UsageError(f"{folder}: another push of these events is running; wait for it to end") from None
        for name in ("set-aside.ndjson", "reduced.ndjson"):
            (folder / name).unlink(missing_ok=True)
        super().__init__(folder)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":  # the next line begins on its own
            os.write(self._file, b"\n")

    def write(self, sign: str, mark: str) -> None:
        """Appends a line. On a full disk only a part of it may be written: the next one then begins on a new line.
        What the system says of the rest is raised. Thread-safe.
        """
        with self._lock:
            line = f"{sign} {mark}\n".encode("ascii")
            pending = b"\n" + line if self._is_torn else line
            try:
                while pending:
                    pending = pending[os.write(self._file, pending) :]
                    self._is_torn = bool(pending)
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.folder)) from None
            is_due = time.monotonic() - self._synced > _SYNC
            self._synced = time.monotonic() if is_due else self._synced
        if is_due:
            os.fsync(self._file)

    def append_record(self, name: str, record: dict[str, Any]) -> None:
        """Appends an object to a file of JSON lines."""
        with self._lock, self._opened(name, "a") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def _opened(self, name: str, mode: str) -> IO[str]:
        return open(self.folder / name, mode, encoding="utf-8", opener=private.opened)

    def close(self, summary: dict[str, Any]) -> None:
        """Writes the summary of the push, and releases the folder for others."""
        try:
            text = json.dumps(summary, indent=1, ensure_ascii=False) + "\n"
            with self._opened("summary.json", "w") as file:
                file.write(text)
        finally:
            self.release()

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Releases the folder for others, if that was not done yet."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1
