"""Which days to ask for. A window is a day of UTC.

A query belongs to the day on which it starts. It appears in the views when it has ended, and then some hours later. So
a day is asked for again until this was done once at least OVERLAP days after its end; then it is settled. The default
is three days: two for which a statement may run (Snowflake's STATEMENT_TIMEOUT_IN_SECONDS), and one for the latency of
the views, which is up to three hours for an account and up to a day for an organization.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from exporter.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

OVERLAP: Final = 3
YEAR: Final = 365
"""How many days the views go back."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Period:
    """``since``: the first day, None for the first that ROWS or the views have; ``until``: the day after the last one,
    None for tomorrow; ``overlap``: days after its end when a day is settled; ``keep``: how many days ROWS keeps, None
    for all.
    """

    since: date | None = None
    until: date | None = None
    overlap: int = OVERLAP
    keep: int | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for options that contradict each other."""
        if self.since and self.until and self.since >= self.until:
            raise UsageError(f"--since {self.since} --until {self.until}: there is no day between them")
        if self.keep is not None and self.keep <= self.overlap:
            raise UsageError(
                f"--keep {self.keep}: the last {self.overlap} days are asked for again for late rows (--overlap), so "
                f"keep {self.overlap + 1} days or more"
            )

    def first(self, now: datetime, earliest: date | None) -> date:
        """The first day to ask for; ``earliest``: the first day in ROWS, None where it has none."""
        kept = self.first_kept(now)
        if self.since is not None:
            if kept is not None and self.since < kept:
                raise UsageError(
                    f"--since {self.since}: --keep {self.keep} keeps no day before {kept}; give one of them"
                )
            return self.since
        first = earliest or now.date() - YEAR * _DAY
        return first if kept is None else max(first, kept)

    def first_kept(self, now: datetime) -> date | None:
        """The first day that ROWS keeps; None where it keeps all."""
        return None if self.keep is None else now.date() - self.keep * _DAY

    def days(self, now: datetime, asked: Mapping[date, datetime]) -> list[date]:
        """The days to ask for, in order. ``asked``: when each day in ROWS was last asked for."""
        end = min(self.until or date.max, now.date() + _DAY)
        first = self.first(now, min(asked, default=None))
        every = [first + number * _DAY for number in range((end - first).days)]
        return [day for day in every if day not in asked or not self.is_settled(day, asked[day])]

    def is_settled(self, day: date, at: datetime) -> bool:
        """Whether a day cannot have late rows any more, if it was last asked for at the time ``at``."""
        return at >= datetime.combine(after(day), time(), UTC) + self.overlap * _DAY


def after(day: date) -> date:
    """The next day."""
    return day + _DAY


def day_of(text: str, option: str) -> date:
    """``2026-11-21`` -> the day. Raises UsageError, which names the option."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{option} {text}: is not a day such as 2026-11-21; rows are fetched by days of UTC") from None
