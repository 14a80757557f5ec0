"""What a push sends to one backend: decided before anything is sent, and all that a dry run does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from exporter.backends.event import DatasetOrJob, Json
from exporter.backends.index import Index
from exporter.backends.ledger import Delivered
from exporter.backends.profiles import BackendProfile, PushOptions, leaves_out
from exporter.backends.spelling import Spelling
from exporter.system.terminal import counted, message

Warn: TypeAlias = Callable[[str], None]
"""What receives what a person should know of a push, a line each."""
_MOST_UNFIT: Final = 10_000
"""The most datasets that are counted."""


def duration(seconds: float) -> str:
    """``3 h 20 min``, ``12 min``, ``40 s``."""
    minutes, seconds_left = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60:,} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds_left} s"


def say(text: str) -> None:
    """Writes a line to standard error, as the command does with what :data:`Warn` receives."""
    print(f"exporter: {message(text)}", file=sys.stderr)


@dataclass
class PushCounts:
    """``events = delivered + already_delivered + set_aside + left``."""

    events: int = 0
    delivered: int = 0
    already_delivered: int = 0
    set_aside: int = 0
    left: int = 0


class Plan:
    """The events of a folder that a backend does not have yet, by its rules. ``name``: the backend's, for messages.
    ``is_filtered``: whether the client's filters exclude a job. ``counts``: so far ``events`` and
    ``already_delivered``. ``runs_left_out``: by ``--runs latest``. ``again``: the fingerprints of delivered events that
    have to be sent again, since an event that comes late belongs before them. ``sent_again``: how many were being sent
    when the last push ended. ``moved``: runs that the backend has under another job.
    """

    def __init__(
        self, folder: Path, choices: PushOptions, name: str, rules: BackendProfile, is_filtered: Callable[[str], bool]
    ) -> None:
        self._folder, self._choices, self._name, self._is_filtered = folder, choices, name, is_filtered
        self._unfit: dict[DatasetOrJob, str] = {}
        self.rules = rules
        is_lower = rules.lower_case if choices.letter_case is None else choices.letter_case == "lower"
        self.spelling = Spelling(is_lower, rules.urns, rules.plain_names)
        self.counts, self.again = PushCounts(), list[str]()
        self.runs_left_out, self.sent_again, self.moved = 0, 0, 0

    @contextmanager
    def index(self, delivered: Delivered, warn: Warn) -> Iterator[Index]:
        """The events that may be sent, with those marked that were delivered; warns which ones are left out. Raises
        UsageError where there are none, or a file holds other lines.
        """
        with Index(self._folder, self._left_out) as index:
            for kind, count in index.left_out.items():
                warn(f"{self._name}: {count:,} {kind} are not sent (profile {self.rules.name})")
            if self._unfit:
                thing, reason = next(iter(self._unfit.items()))
                datasets = "1 dataset" if len(self._unfit) == 1 else f"{len(self._unfit):,} datasets"
                warn(
                    f"{self._name}: {datasets} left out of the events (profile {self.rules.name}), such as "
                    f"{thing.name}: {reason}. see reduced.ndjson in DIR/push for the events"
                )
            if self._choices.runs == "latest":
                self.runs_left_out = index.choose_latest()
                warn(f"--runs latest leaves out {self.runs_left_out:,} runs that a later run of the same job follows")
            index.mark_delivered(delivered)
            self.again = index.send_again(delivered) if index.count_delivered() else []
            self.counts.events, self.counts.already_delivered = index.count(), index.count_delivered()
            if self.again:
                events = counted(len(self.again), "delivered event is", "delivered events are")
                warn(f"{events} sent again: events that come late belong before")
            self.moved = index.count_moved() if self.rules.keeps_versions else 0
            if self.moved:
                warn(
                    f"{self._name}: runs with another job than when they were delivered, since rows came late: "
                    f"{self.moved:,}. It keeps each at the job that it had first"
                )
            self.sent_again = len(delivered.unfinished)
            if self.sent_again:
                events = counted(self.sent_again, "event was", "events were")
                warn(f"{events} being sent when the last push ended, and may arrive twice")
            yield index

    def _left_out(self, event: Json) -> str | None:
        """Why an event is not sent, None if it is; notes datasets of events to be sent that have unusable names."""
        if "run" in event and self._is_filtered(event["job"]["name"]):
            return "events of jobs that the client's filters leave out"
        reason = leaves_out(event, self.rules)
        if reason is not None:
            return reason
        unfit = self.spelling.unfit(event)
        if len(self._unfit) < _MOST_UNFIT:
            self._unfit |= unfit
        return "events of datasets that the backend cannot hold" if unfit and "dataset" in event else None
