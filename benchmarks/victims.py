"""Kills one of the processes that work for an export on Spark, by their role."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

DAEMON, JAVA = "pyspark.daemon", "java"
_WAIT: Final = 120.0
"""Seconds in which such a process has to appear."""


def kill(above: int, what: str, out: Path) -> None:
    """Kills a process below another: Spark's own (JAVA), or a worker (DAEMON), a child of the daemon that makes them;
    once the outputs of the export to ``out`` are being made.
    """
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        # A program that Java starts is called Java, too, until it runs: Java itself is not below a Java.
        workers = [
            number
            for number, parent in _below(above)
            if what in _name(number) and (what in _name(parent)) == (what == DAEMON)
        ]
        if workers and list(out.parent.glob(f".{out.name}.*/.work/outputs*")):
            with contextlib.suppress(ProcessLookupError):  # it has just ended by itself: another one
                os.kill(workers[-1], signal.SIGKILL)
                return
        time.sleep(0.02)
    raise TimeoutError(f"no {what} was seen")


def _below(above: int) -> Iterator[tuple[int, int]]:
    """Processes below another, each with its parent at that moment: one that ends has none any more."""
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and _parent(int(path.name)) == above:
            yield int(path.name), above
            yield from _below(int(path.name))


def _parent(number: int) -> int:
    try:
        return int(Path(f"/proc/{number}/stat").read_text("latin-1").rpartition(")")[2].split()[1])
    except OSError:  # it is no more
        return 0


def _name(number: int) -> str:
    """The program that was started, or the Python module."""
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().decode("latin-1").split("\0")
    except OSError:
        return ""
    return words[2] if words[1:2] == ["-m"] else words[0].rpartition("/")[2]
