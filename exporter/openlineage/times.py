"""Times in events (RFC 3339), from microseconds since 1970, UTC."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_DAY: Final = 86_400_000_000
_CYCLE: Final = 146_097
"""Days in 400 years, after which the calendar repeats."""
_YEAR: Final = 365
_TO_MARCH: Final = 719_468
"""Days from the first of March of the year 0 to the first of January of 1970."""


def iso(time: int) -> str:
    """The time, always with six digits of microseconds.

    >>> iso(1_706_781_600_000_001)
    '2024-02-01T10:00:00.000001Z'
    """
    days, rest = divmod(time, _DAY)
    seconds, micros = divmod(rest, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_date(days)}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"


def year(time: int) -> int:
    """The year of a time; it may be outside the years of Python's dates."""
    return _civil(time // _DAY)[0]


@lru_cache(maxsize=4_096)
def _date(days: int) -> str:
    year_, month, day = _civil(days)
    return f"{year_:04}-{month:02}-{day:02}"


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day. Years are counted from March, so that a leap day is the last day of its year."""
    cycle, day = divmod(days + _TO_MARCH, _CYCLE)
    # A year has 365 days, every fourth one more, every hundredth none, every four hundredth one.
    year_ = (day - day // 1_460 + day // 36_524 - day // 146_096) // _YEAR
    day -= _YEAR * year_ + year_ // 4 - year_ // 100
    month = (5 * day + 2) // 153
    day_of_month = day - (153 * month + 2) // 5 + 1
    in_march = cycle * 400 + year_
    return (in_march, month + 3, day_of_month) if month < 10 else (in_march + 1, month - 9, day_of_month)
