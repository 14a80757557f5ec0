"""What a person sees while the work goes on: stages, on a terminal only, and how long each took."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = {
    "session": "starting Spark",
    "rows": "reading rows",
    "facts": "taking facts from them",
    "nodes": "making nodes of the graph",
    "shapes": "holding them against the shapes",
    "events": "writing OpenLineage events",
    "graph": "writing Turtle",
    "quarantine": "setting aside what cannot go out",
}


class Progress:
    """``seconds``: by stage, summed where a stage ran more than once; stages may run at the same time. Shown on
    ``stream`` if it is a terminal.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.seconds: dict[str, float] = {}
        self.begun = time.monotonic()
        self._lock = Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage and show that it runs."""
        start = time.monotonic()
        self._show(f"{_WORDS.get(name, name)} …")
        try:
            yield
        finally:
            with self._lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start
            self._show("")

    def total(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.begun

    def _show(self, text: str) -> None:
        if self.stream.isatty():
            clock = f"{self.total():6.1f} s  " if text else ""
            self.stream.write(f"\r\x1b[K{clock}{text}")
            self.stream.flush()
