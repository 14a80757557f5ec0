"""What a backend's answer means for the event that was sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final


class Kind(Enum):
    """TAKEN: delivered. REFUSED: the backend will never accept this event. MISPLACED: the address seems to accept no
    events at all. SICK: an error, which may pass, or may be the backend's way to refuse. SILENT: no connection, no
    answer in time, or a gateway that reports this. BUSY: the backend asks to send later. DENIED: it does not accept who
    sends. FORBIDDEN: the same, or it forbids this event alone, which only its answers to other events can show.
    """

    TAKEN = "taken"
    REFUSED = "refused"
    MISPLACED = "misplaced"
    SICK = "sick"
    SILENT = "silent"
    BUSY = "busy"
    DENIED = "denied"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True)
class Answer:
    """``text``: for people, without secrets. ``wait``: seconds that the backend asks to wait, None where it does
    not.
    """

    kind: Kind
    text: str = ""
    wait: float | None = None


TAKEN: Final = Answer(Kind.TAKEN)
_BY_STATUS: Final = {
    401: Kind.DENIED,
    403: Kind.FORBIDDEN,
    404: Kind.MISPLACED,
    405: Kind.MISPLACED,
    407: Kind.DENIED,
    408: Kind.SILENT,
    425: Kind.SILENT,
    429: Kind.BUSY,
    502: Kind.SILENT,
    503: Kind.SILENT,
    504: Kind.SILENT,
}
LONGEST_TEXT: Final = 500


def of_status(status: int, text: str, retry_after: str | None = None) -> Answer:
    """The answer for an HTTP status; ``text``: the response's body, of any length; ``retry_after``: its header."""
    wait = seconds(retry_after)
    if 200 <= status < 300:
        return TAKEN
    fallback = Kind.MISPLACED if status < 400 else Kind.REFUSED if status < 500 else Kind.SICK
    kind = _BY_STATUS.get(status, fallback)
    if status == 503 and wait is not None:
        kind = Kind.BUSY
    return Answer(kind, f"{status} {shortened(text)}".strip(), wait)


def shortened(text: str) -> str:
    """A backend's message on one line of limited length, without control characters."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", text).strip()
    return plain if len(plain) <= LONGEST_TEXT else f"{plain[:LONGEST_TEXT]} …"


def seconds(retry_after: str | None, now: datetime | None = None) -> float | None:
    """The seconds to wait by a Retry-After header (RFC 9110, 10.2.3: seconds or a date); None if it is invalid."""
    if not retry_after:
        return None
    given = retry_after.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", given):
        return float(given)
    try:
        date = parsedate_to_datetime(given)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
