"""What a push is asked for, and what it counts. Nothing here needs the OpenLineage client, which is slow to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from exporter.errors import UsageError
from exporter.openlineage.push.profiles import LETTER_CASES, profile

RUNS: Final = ("all", "latest")
MOST_AT_ONCE: Final = 256
LONGEST_PATIENCE: Final = 86_400


@dataclass(frozen=True)
class Choices:
    """``runs``: ``all``, or the ``latest`` of each job. ``profile``: the backend's rules, None to choose by the
    address. ``letter_case`` of the names of Snowflake's objects and columns: ``lower``, or ``keep`` as they were
    exported; None for the profile's default. ``concurrency``: the most events at once. ``rate``: the most events a
    second, None for no limit. ``patience``: the seconds for which an event is tried again while the backend does not
    answer, so that a backend may be started again during a push.
    """

    runs: str = "all"
    profile: str | None = None
    letter_case: str | None = None
    concurrency: int = 8
    rate: float | None = None
    patience: float = 60.0

    def __post_init__(self) -> None:
        """Raises UsageError for an invalid value."""
        if self.profile is not None:
            profile(self.profile)
        if self.runs not in RUNS:
            raise UsageError(f"push.runs must be {' or '.join(RUNS)}, and is {self.runs!r}")
        if self.letter_case is not None and self.letter_case not in LETTER_CASES:
            raise UsageError(f"push.letter_case must be {' or '.join(LETTER_CASES)}, and is {self.letter_case!r}")
        if not 1 <= self.concurrency <= MOST_AT_ONCE:
            raise UsageError(f"push.concurrency must be from 1 to {MOST_AT_ONCE}, and is {self.concurrency}")
        if self.rate is not None and not 0 < self.rate < 1e6:
            raise UsageError(f"push.rate must be more than 0 events a second, and is {self.rate:g}")
        if not 0 <= self.patience <= LONGEST_PATIENCE:
            raise UsageError(f"push.patience must be from 0 to {LONGEST_PATIENCE} seconds, and is {self.patience:g}")


SAMPLE: Final = 1_000


@dataclass(frozen=True)
class Size:
    """``most``: how many datasets, jobs and runs ``--verify`` looks at, of each; None for all of them."""

    most: int | None = SAMPLE

    @classmethod
    def of(cls, text: str | None) -> Size:
        """From ``all`` or a number; raises UsageError for anything else."""
        if text is None:
            return cls()
        if text == "all":
            return cls(None)
        if not text.isascii() or not text.isdecimal() or int(text[:18]) < 1:
            raise UsageError(f"--sample must be all or a number from 1, and is {text!r}")
        return cls(int(text[:18]))


@dataclass
class Counts:
    """``events = delivered + already_delivered + set_aside + left``."""

    events: int = 0
    delivered: int = 0
    already_delivered: int = 0
    set_aside: int = 0
    left: int = 0
