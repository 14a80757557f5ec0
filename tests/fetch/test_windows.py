"""Which days a fetch asks for."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import UsageError
from exporter.fetch.run import Period, day_of

NOW: Final = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
TODAY: Final = NOW.date()
DAY: Final = timedelta(days=1)
FIRST: Final = datetime(2026, 11, 1, tzinfo=UTC)


def days(*numbers: int) -> list[date]:
    """Days before today."""
    return [TODAY - number * DAY for number in numbers]


def test_the_first_fetch_asks_for_a_year_and_today() -> None:
    asked = Period().days(NOW, {})
    assert (asked[0], asked[-1], len(asked)) == (date(2025, 11, 22), TODAY, 366)


def test_a_day_is_asked_for_again_until_three_days_after_its_end() -> None:
    yesterday = dict.fromkeys(days(10, 9, 8, 7, 6, 5, 4, 3, 2, 1), NOW - DAY)
    assert Period().days(NOW, yesterday) == days(4, 3, 2, 1, 0)
    assert Period(overlap=0).days(NOW, yesterday) == days(1, 0)


def test_days_that_a_fetch_missed_are_asked_for() -> None:
    """A machine that was off for a week, and a day that failed in the middle."""
    asked = dict.fromkeys(days(20, 19, 17), NOW - 10 * DAY)
    assert Period().days(NOW, asked) == days(18, *range(16, -1, -1))


def test_since_and_until_bound_it() -> None:
    assert Period(date(2026, 9, 1), date(2026, 9, 3)).days(NOW, {}) == [date(2026, 9, 1), date(2026, 9, 2)]
    assert Period(until=TODAY + 99 * DAY).days(NOW, dict.fromkeys(days(1), NOW - DAY)) == days(1, 0)
    assert Period(since=TODAY + 9 * DAY).days(NOW, {}) == []


def test_keep_leaves_older_days_out() -> None:
    period = Period(keep=7)
    assert period.days(NOW, {})[0] == period.first_kept(NOW) == TODAY - 7 * DAY
    assert Period(keep=7).days(NOW, dict.fromkeys(days(30, 29), NOW - 29 * DAY))[0] == TODAY - 7 * DAY


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Period(date(2026, 9, 2), date(2026, 9, 2)), "no day between"),
        (lambda: Period(keep=3), "keep 4 days or more"),
        (lambda: Period(since=TODAY - 9 * DAY, keep=7).days(NOW, {}), "keeps no day before 2026-11-15"),
        (lambda: day_of("yesterday", "--since"), "--since yesterday: is not a day such as 2026-11-21"),
        (lambda: day_of("2026-11-21 08:00", "--until"), "by days of UTC"),
    ],
)
def test_contradicting_options_are_refused(make: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()  # type: ignore[operator]  # a function in each case


@given(
    late=st.timedeltas(timedelta(0), timedelta(days=3)),
    began=st.timedeltas(timedelta(0), timedelta(days=5)),
    steps=st.lists(st.timedeltas(timedelta(minutes=30), timedelta(days=4)), max_size=12),
)
def test_no_row_is_missed_that_comes_within_the_overlap(
    late: timedelta, began: timedelta, steps: list[timedelta]
) -> None:
    """However the fetches lie in time: whichever is the last one sees what was there then, or a later one will."""
    period, asked, seen = Period(since=FIRST.date()), dict[date, datetime](), False
    start = FIRST + began
    comes = start + late
    for now in _times(steps):
        todo = period.days(now, asked)
        asked |= dict.fromkeys(todo, now)
        seen = seen or (start.date() in todo and comes <= now)
    assert seen or start.date() in period.days(comes + timedelta(days=9), asked)


def _times(steps: list[timedelta]) -> list[datetime]:
    times, now = [], FIRST
    for step in steps:
        now += step
        times.append(now)
    return times
