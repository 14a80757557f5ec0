"""Times in all forms that Snowflake and its drivers write, and as both outputs write them.

A time is an integer, microseconds since 1970 in UTC. These forms are read: ISO dates and times with any fraction (cut
after six digits) and with an offset (``+0100``), ``Z`` or the name of a zone (``Europe/Berlin``, ``PST``; without one
the time is in UTC, as the view documents query_start_time); the long form of Snowflake's TIMESTAMP_OUTPUT_FORMAT
(``Wed, 25 Jan 2022 16:17:47 +0000``); seconds, milli-, micro- or nanoseconds since 1970. Times outside the years 1 to
9999 are refused, because other tools cannot read them.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_PLAIN: Final = re.compile(r"[+-]\d{2}(?::?\d{2})?", re.ASCII)
_ANY: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII)
_LARGEST: Final = 18 * 3600
_UTC: Final = frozenset({"Z", "UTC", "GMT", "UT"})
_FIXED: Final = {"EST": -5 * 3600, "MST": -7 * 3600, "HST": -10 * 3600}
_SHORT: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Three letters can mean several zones. These are the JVM's choices (java.time.ZoneId.SHORT_IDS), which Spark and
Snowflake's JDBC driver use too.
"""
_CLOCK_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a time on the clock of any zone


def plain_offset(text: str) -> int | None:
    """``Z``, ``+01``, ``+0100`` or ``+01:00`` -> seconds; None for other texts and for more than 18 hours."""
    if text == "Z":
        return 0
    return _offset(text) if _PLAIN.fullmatch(text) else None


def zone_offset(text: str, local: int) -> int | None:
    """The offset of a zone in seconds at a local time; None if the text is not a zone. ``local``: seconds since 1970 on
    that zone's clock. Where the clock is turned back, the first of the two times is meant; where it is turned forward,
    the offset before the change counts.
    """
    if text in _UTC:
        return 0
    if _ANY.fullmatch(text):
        return _offset(text)
    if text in _FIXED:
        return _FIXED[text]
    zone = _zone(_SHORT.get(text, text))
    shift = zone.utcoffset(_CLOCK_EPOCH + timedelta(seconds=local)) if zone else None
    return None if shift is None else shift.days * 86_400 + shift.seconds


def _offset(text: str) -> int | None:
    match = _ANY.fullmatch(text)
    assert match
    sign, hours, minutes, seconds = match[1], int(match[2]), int(match[3] or 0), int(match[4] or 0)
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _LARGEST:
        return None
    return -total if sign == "-" else total


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a folder of zones, a path outside it, an unknown zone
        return None


_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_EPOCH: Final = date(1970, 1, 1).toordinal()
FIRST: Final = (date(1, 1, 1).toordinal() - _EPOCH) * _DAY
LAST: Final = (date(9999, 12, 31).toordinal() - _EPOCH + 1) * _DAY - 1
"""The first and the last time that is read."""

_LONGEST: Final = 128
"""Longest time, in characters, so that no long text is matched or cached."""

_PAIRS: Final = tuple(f"{number:02}" for number in range(60))
_HOURS: Final = {text: number * _HOUR for number, text in enumerate(_PAIRS[:24])}
_MINUTES: Final = {text: number * _MINUTE for number, text in enumerate(_PAIRS)}
_SECONDS: Final = {text: number * _SECOND for number, text in enumerate(_PAIRS)}
_CLOCKS: Final = tuple(f"T{hour}:{minute}:" for hour in _PAIRS[:24] for minute in _PAIRS)
"""``T08:15:`` by the minute of the day."""

_ISO: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})"
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(\.\d+)?(?:\s*(Z|[+-]\d{2}(?::?\d{2})?|[A-Z][A-Za-z/_]+))?)?)?",
    re.ASCII,
)
_LONG: Final = re.compile(
    r"(?:[A-Za-z]{3}\.?,\s*)?(\d{1,2}) ([A-Za-z]{3})\.? (\d{4}) (\d{2}):(\d{2}):(\d{2})(\.\d*)?\s*(.*)", re.ASCII
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SINCE: Final = re.compile(r"(\d{9,10})(?:\.(\d{1,9}))?|(\d{12,13})|(\d{15,16})|(\d{18,19})", re.ASCII)


def parse_time(text: str) -> int | None:
    """A time as text -> microseconds since 1970 in UTC; None if it cannot be read."""
    if len(text) > _LONGEST:
        return None
    day = _day(text[:10])
    if day is not None and text[13:14] == text[16:17] == ":" and text[10] in "T ":
        hour, minute = _HOURS.get(text[11:13]), _MINUTES.get(text[14:16])
        second, rest = _SECONDS.get(text[17:19]), _after_seconds(text[19:])
        if hour is not None and minute is not None and second is not None and rest is not None:
            return _in_years(day + hour + minute + second + rest)
    return _unusual(text.strip(" "))


@lru_cache(maxsize=4096)
def _day(text: str) -> int | None:
    """``2026-03-01`` -> microseconds since 1970; None if the text is not a day."""
    if len(text) != 10 or text[4] != "-" or text[7] != "-" or not _are_digits(text[:4] + text[5:7] + text[8:]):
        return None
    try:
        return (date(int(text[:4]), int(text[5:7]), int(text[8:])).toordinal() - _EPOCH) * _DAY
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _after_seconds(text: str) -> int | None:
    """An optional fraction and offset -> the microseconds to add to the time before them. None if the text is neither,
    or is the name of a zone, whose offset depends on the day.
    """
    fraction = 0
    if text.startswith("."):
        digits = text[1:].split(" ", 1)[0].split("+", 1)[0].split("-", 1)[0].rstrip("Z")
        if not _are_digits(digits):
            return None
        fraction, text = _micros(digits), text[1 + len(digits) :]
    offset = 0 if text in {"", "Z"} else plain_offset(text.lstrip(" "))
    return None if offset is None else fraction - offset * _SECOND


def _unusual(text: str) -> int | None:
    """The same as :func:`parse_time`, for the less common forms."""
    if iso := _ISO.fullmatch(text):
        day, hour, minute, second, fraction, zone = iso.groups()
        return _moment(_day(day), (hour or "00").rjust(2, "0"), minute or "00", second or "00", fraction, zone)
    if long := _LONG.fullmatch(text):
        number, name, year, hour, minute, second, fraction, zone = long.groups()
        month = _MONTHS.index(name.lower()) + 1 if name.lower() in _MONTHS else 0
        return _moment(_day(f"{year}-{month:02}-{number:0>2}"), hour, minute, second, fraction, zone.strip())
    since = _SINCE.fullmatch(text)
    return _in_years(_since_epoch(*since.groups())) if since else None


def _since_epoch(
    seconds: str | None, fraction: str | None, millis: str | None, micros: str | None, nanos: str | None
) -> int:
    if seconds is not None:
        return int(seconds) * _SECOND + _micros(fraction or "")
    return int(millis or 0) * 1000 + int(micros or 0) + int(nanos or 0) // 1000


def _moment(  # noqa: PLR0913, PLR0917 - the parts of a time
    day: int | None, hour: str, minute: str, second: str, fraction: str | None, zone: str | None
) -> int | None:
    if day is None or hour not in _HOURS or minute not in _MINUTES or second not in _SECONDS:
        return None
    local = day + _HOURS[hour] + _MINUTES[minute] + _SECONDS[second]
    offset = zone_offset(zone, local // _SECOND) if zone else 0
    return None if offset is None else _in_years(local + _micros((fraction or ".")[1:]) - offset * _SECOND)


def _micros(digits: str) -> int:
    """Digits of a fraction -> microseconds; further digits are cut."""
    return int(digits[:6].ljust(6, "0"))


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _in_years(micros: int) -> int | None:
    """The time; None if it is outside the years 1 to 9999."""
    return micros if FIRST <= micros <= LAST else None


def iso(micros: int) -> str:
    """xsd:dateTime in UTC, with only as many digits of fraction as needed: ``2026-03-01T08:00:00.123Z``."""
    seconds, fraction = divmod(micros, _SECOND)
    return f"{_to_seconds(seconds)}.{fraction:06}".rstrip("0") + "Z" if fraction else _to_seconds(seconds) + "Z"


def iso_micros(micros: int) -> str:
    """RFC 3339 in UTC, always with six digits of fraction, for events: ``2026-03-01T08:00:00.123000Z``."""
    seconds, fraction = divmod(micros, _SECOND)
    return f"{_to_seconds(seconds)}.{fraction:06}Z"


def _to_seconds(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    day, minute = divmod(minutes, 1440)
    return _iso_day(day) + _CLOCKS[minute] + _PAIRS[second]


@lru_cache(maxsize=4096)
def _iso_day(days: int) -> str:
    """Days since 1970 -> ``2026-03-01``."""
    return date.fromordinal(days + _EPOCH).isoformat()


def micros_of(moment: datetime) -> int:
    """A datetime -> microseconds since 1970; one without a zone is in UTC."""
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    elapsed = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (elapsed.days * 86_400 + elapsed.seconds) * _SECOND + elapsed.microseconds
