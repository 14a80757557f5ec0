"""The offset or zone after a time (``+0100``, ``Z``, ``Europe/Berlin``, ``PST``) as seconds east of UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
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
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - a time on the clock of any zone


def plain_offset(text: str) -> int | None:
    """``Z``, ``+01``, ``+0100`` or ``+01:00`` -> seconds; None for other texts and for more than 18 hours."""
    if text == "Z":
        return 0
    return _offset(text) if _PLAIN.fullmatch(text) else None


def offset(text: str, local: int) -> int | None:
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
    shift = zone.utcoffset(_EPOCH + timedelta(seconds=local)) if zone else None
    return None if shift is None else shift.days * 86_400 + shift.seconds


def _offset(text: str) -> int | None:
    found = _ANY.fullmatch(text)
    assert found
    sign, hours, minutes, seconds = found[1], int(found[2]), int(found[3] or 0), int(found[4] or 0)
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
