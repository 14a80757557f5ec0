"""What became of an event that was sent: the answer of a backend, without secrets."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from exporter.openlineage.push.secrecy import WITHHELD, Secrets


def without_secrets(url: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


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
class BackendAnswer:
    """``text``: for people, without secrets. ``wait``: seconds that the backend asks to wait, None where it does
    not.
    """

    kind: Kind
    text: str = ""
    wait: float | None = None


TAKEN: Final = BackendAnswer(Kind.TAKEN)
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


def of_status(
    status: int, text: str, retry_after: str | None, secrets: Secrets, location: str | None = None
) -> BackendAnswer:
    """The answer for an HTTP status; ``text``: the response's body, of any length; ``retry_after``, ``location``: its
    headers.
    """
    wait = seconds(secrets.shown(retry_after or ""))
    shown = secrets.shown(text)
    if 300 <= status < 400:
        shown = f"a redirect to {secrets.shown(_place(location))}, not followed: give the address that takes events"
    elif shown == WITHHELD:
        with suppress(ValueError):  # a status that HTTP does not have
            shown = f"{HTTPStatus(status).phrase} {WITHHELD}"
    if 200 <= status < 300:
        return TAKEN
    fallback = Kind.MISPLACED if status < 400 else Kind.REFUSED if status < 500 else Kind.SICK
    kind = _BY_STATUS.get(status, fallback)
    if status == 503 and wait is not None:
        kind = Kind.BUSY
    return BackendAnswer(kind, f"{status} {shown}".strip(), wait)


def _place(location: str | None) -> str:
    """Where a redirect goes, as a message may show it."""
    with suppress(ValueError):
        return without_secrets(location or "nowhere")
    return "an address that is none"


def seconds(retry_after: str | None, now: datetime | None = None) -> float | None:
    """The seconds to wait by a Retry-After header (RFC 9110, 10.2.3: seconds or a date); None if it is invalid."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
