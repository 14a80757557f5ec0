"""The log file of the Java process that a session starts: its messages do not mix with those of the program."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_log: list[str] = []
_named: set[str] = set()


@contextmanager
def quiet() -> Iterator[None]:
    """Send the output of the JVM and its workers to a log file of the user.

    A process inherits its output when it is started, so ours is redirected during that time. Standard output too:
    otherwise whoever reads ours to its end waits for the end of the JVM. The file is removed when this process ends,
    unless a message has named it.
    """
    number, path = tempfile.mkstemp(prefix="exporter-spark-", suffix=".log")
    _log.append(path)
    atexit.register(_forget, path)
    own: dict[int, int] = {}
    for stream, ours in ((1, sys.stdout), (2, sys.stderr)):
        if ours is not None:  # None if it was closed when the program began
            ours.flush()
            own[stream] = os.dup(stream)
    try:
        for stream in own:
            os.dup2(number, stream)
        yield
    finally:
        for stream, before in own.items():
            os.dup2(before, stream)
            os.close(before)
        os.close(number)


def _forget(path: str) -> None:
    if path not in _named and not os.environ.get("EXPORTER_DEBUG"):
        Path(path).unlink(missing_ok=True)


def said() -> str:
    """A sentence that names Spark's log file; empty if no session was started here."""
    if not _log:
        return ""
    _named.add(_log[-1])
    return f"Spark's own messages are in {_log[-1]}; they can contain values of the rows."
