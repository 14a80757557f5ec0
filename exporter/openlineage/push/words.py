"""Messages for people about a push: its progress, an early warning if it will take hours, and its result."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TextIO

from exporter.printable import bare, message, visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from exporter.openlineage.push.counts import Counts
    from exporter.openlineage.push.index import Index

_LONG: Final = 3600.0
_FIRST_LOOK: Final = 5.0
_GAP: Final = 0.2


class Progress:
    """Shown on ``stream`` during the push, if it is a terminal. ``advises``: whether to recommend ``--runs latest``."""

    def __init__(self, stream: TextIO | None = None, *, advises: bool) -> None:
        self._stream = stream or bare(sys.stderr)
        self._advises, self._begun, self._shown = advises, time.monotonic(), 0.0

    def show(self, counts: Counts, index: Index) -> None:
        """Shows the events so far, their rate and the time left; warns once, on any output, if it will take hours."""
        now = time.monotonic()
        if now - self._shown < _GAP:
            return
        self._shown = now
        gone = counts.delivered + counts.set_aside
        rest = counts.events - gone - counts.already_delivered
        rate = gone / max(now - self._begun, 1e-9)
        if self._advises and now - self._begun > _FIRST_LOOK and gone:
            self._advise(rest, rate, index)
        if self._stream.isatty():
            left = f", {duration(rest / rate)} left" if rate else ""
            self._stream.write(f"\r\x1b[K{gone:,} of {gone + rest:,} events, {rate:,.0f} a second{left}")
            self._stream.flush()

    def _advise(self, rest: int, rate: float, index: Index) -> None:
        self._advises = False
        if rest / rate > _LONG:
            self.clear()
            few = index.count_latest()
            say(
                f"at {rate:,.0f} events a second the {rest:,} that are left take {duration(rest / rate)}; "
                f"--runs latest sends about {few:,} for the same lineage. Stop this push (Ctrl-C) and start it "
                "so: no event goes twice"
            )

    def clear(self) -> None:
        """Clears the line of a terminal."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def seconds(self) -> float:
        return time.monotonic() - self._begun


def duration(seconds: float) -> str:
    """``3 h 20 min``, ``12 min``, ``40 s``."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60:,} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{rest} s"


def say(text: str) -> None:
    """Writes a line to standard error."""
    print(f"exporter: {message(text)}", file=sys.stderr)


def summary(counts: Counts, told: Iterable[dict[str, Any]], folder: Path) -> str:
    """The counts, one in each line, and where to find the events that were set aside."""
    rows = [f"  {name.replace('_', ' '):<18}{count:>12,}" for name, count in asdict(counts).items()]
    aside = [f"What was set aside is in {folder / 'push'}, with the answers"] if counts.set_aside else []
    reasons = [f"  {count:>10,}  {text}" for one in told for text, count in list(one["refusals"].items())[:5]]
    return "\n".join(map(visible, [*rows, *aside, *reasons]))
