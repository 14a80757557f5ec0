"""Times in all forms that Snowflake and its drivers write, and as both outputs write them.

A time is an integer, microseconds since 1970 in UTC. These forms are read: ISO dates and times with any fraction (cut
after six digits) and with an offset (``+0100``), ``Z`` or the name of a zone (``Europe/Berlin``; without one the time
is in UTC, as the view documents query_start_time), but not with an abbreviation, which may be one of several zones
(``CST``, ``IST``) and mean its summer time or not (``PST``); the long form of Snowflake's TIMESTAMP_OUTPUT_FORMAT
(``Wed, 25 Jan 2022 16:17:47 +0000``); seconds, milli-, micro- or nanoseconds since 1970. Times outside the years 1 to
9999 are refused, because other tools cannot read them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK_EPOCH: Final = _EPOCH.replace(tzinfo=None)
"""1970 on the clock of any zone."""
_MICRO: Final = timedelta(microseconds=1)


def micros_of(moment: datetime) -> int:
    """A datetime -> microseconds since 1970; one without a zone is in UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICRO


FIRST: Final = micros_of(datetime.min.replace(tzinfo=UTC))
LAST: Final = micros_of(datetime.max.replace(tzinfo=UTC))
"""The first and the last time that is read."""

_UTC: Final = frozenset({"Z", "UTC", "GMT", "UT"})
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)
_LARGEST: Final = 18 * 3600
_SHORT: Final = re.compile("[A-Z0-9]+", re.ASCII)
_ends_short: Final = re.compile(r".*[0-9.] *(?!AM|PM)[A-Z]{2}[A-Z0-9]* *", re.ASCII | re.DOTALL).fullmatch


def _zone_offset(text: str, local: datetime) -> int | None:
    """The offset of a zone in seconds at a time on its clock; None if the text is not a zone, or is an abbreviation.
    Where the clock is turned back, the first of the two times is meant; where it is turned forward, the offset before
    the change counts.
    """
    if text in _UTC:
        return 0
    if match := _OFFSET.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
        total = hours * 3600 + minutes * 60 + seconds
        return None if minutes > 59 or seconds > 59 or total > _LARGEST else -total if match[1] == "-" else total
    zone = None if _SHORT.fullmatch(text) else _zone(text)
    shift = zone.utcoffset(local) if zone else None
    return None if shift is None else shift // timedelta(seconds=1)


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of zones, a path outside it, an unknown zone
        return None


_LONGEST: Final = 128
"""Longest time, in characters, so that no long text is matched."""
_CALENDAR: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?:[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?P<fraction>\.\d+)?(?:\s*(?P<zone>Z|[+-]\d{2}(?::?\d{2})?|[A-Z][A-Za-z/_]+))?)?)?",
    re.ASCII,
)
_LONG: Final = re.compile(
    r"(?:[A-Za-z]{3}\.?,\s*)?(?P<day>\d{1,2}) (?P<month>[A-Za-z]{3})\.? (?P<year>\d{4})"
    r" (?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})(?P<fraction>\.\d*)?\s*(?P<zone>.*)",
    re.ASCII,
)
_FRACTION_AND_OFFSET: Final = re.compile(r"(?P<fraction>\.\d+)?(?:\s*(?P<offset>Z|[+-]\d{2}(?::?\d{2})?))?", re.ASCII)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SINCE: Final = re.compile(
    r"(\d{9,10})(?:\.(\d{1,9}))?|(\d{12,13})(?:\.(\d{1,9}))?|(\d{15,16})(?:\.\d)?|(\d{18,19})", re.ASCII
)
"""Tools write whole numbers in a column with nulls as ``1788228622727.0``."""


def parse_time(text: str) -> int | None:
    """A time as text -> microseconds since 1970 in UTC; None if it cannot be read."""
    if len(text) > _LONGEST:
        return None
    micros = _of_view(text)
    if micros is None:
        bare = text.strip(" ")
        match = _CALENDAR.fullmatch(bare) or _LONG.fullmatch(bare)
        micros = _of_calendar(match) if match else _since_epoch(bare)
    return micros if micros is not None and FIRST <= micros <= LAST else None


def why_unread(name: str, text: str) -> str:
    """Why the time of a column cannot be read, for the quarantine. ``text``: what :func:`parse_time` did not read."""
    shown = text[:60]
    if len(text) <= _LONGEST and _ends_short(text):
        return f"{name} has an abbreviation, which may be one of several zones; give the offset, as +0000: {shown}"
    return f"{name} cannot be read as a time: {shown}"


def _of_view(text: str) -> int | None:
    """The time of a text in the form that Snowflake nearly always writes, ``2026-03-01 08:00:00.123 +0000``: this is
    faster than :func:`_of_calendar`. None for other forms.
    """
    if not (text[4:5] == text[7:8] == "-" and text[13:14] == text[16:17] == ":") or text[10] not in "T ":
        return None
    rest = _after_seconds(text[19:])
    if rest is None or text[11:13] >= "24":
        return None
    try:
        return (datetime.fromisoformat(text[:19]) - _CLOCK_EPOCH) // _MICRO + rest
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _after_seconds(text: str) -> int | None:
    """A fraction and an offset, if there are any -> the microseconds to add to the time before them. None for another
    text, and for the name of a zone, whose offset depends on the day.
    """
    match = _FRACTION_AND_OFFSET.fullmatch(text)
    offset = _zone_offset(match["offset"] or "Z", _CLOCK_EPOCH) if match else None
    return _micros((match["fraction"] or ".")[1:]) - offset * 1_000_000 if match and offset is not None else None


def _of_calendar(match: re.Match[str]) -> int | None:
    """The time of a day and clock; None if there is no such day, time or zone."""
    year, month, day, *clock = match.group("year", "month", "day", "hour", "minute", "second")
    try:
        number = int(month) if month.isdecimal() else _MONTHS.index(month.lower()) + 1
        hour, minute, second = (int(part or 0) for part in clock)
        local = datetime(int(year), number, int(day), hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    zone = (match["zone"] or "").strip()
    offset = _zone_offset(zone, local.replace(tzinfo=None)) if zone else 0
    return None if offset is None else micros_of(local) + _micros((match["fraction"] or ".")[1:]) - offset * 1_000_000


def _since_epoch(text: str) -> int | None:
    """Seconds, milli-, micro- or nanoseconds since 1970, by the number of digits; None for another text."""
    match = _SINCE.fullmatch(text)
    if match is None:
        return None
    seconds, fraction, millis, of_milli, micros, nanos = match.groups()
    if seconds is not None:
        return int(seconds) * 1_000_000 + _micros(fraction or "")
    return int(millis or 0) * 1000 + _micros(f"000{of_milli or ''}") + int(micros or 0) + int(nanos or 0) // 1000


def _micros(digits: str) -> int:
    """Digits of a fraction -> microseconds; further digits are cut."""
    return int(digits[:6].ljust(6, "0"))


def iso(micros: int) -> str:
    """xsd:dateTime in UTC, with only as many digits of fraction as needed: ``2026-03-01T08:00:00.123Z``."""
    return f"{_text(micros).rstrip('0').rstrip('.')}Z"


def iso_micros(micros: int) -> str:
    """RFC 3339 in UTC, always with six digits of fraction, for events: ``2026-03-01T08:00:00.123000Z``."""
    return f"{_text(micros)}Z"


@lru_cache(maxsize=4096)
def _text(micros: int) -> str:
    return (_CLOCK_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="microseconds")
