"""What became of an event that was sent: the answer of a backend, without the secrets of the client's settings."""

from __future__ import annotations

import base64
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SECRET_KEY: Final = re.compile(r"auth|key|token|secret|passw|credential|header|cookie|sasl|jaas|bearer", re.IGNORECASE)
_NO_SECRET: Final = re.compile(r"message_?key|type$|endpoint|path$|method$|mechanism", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"//[^/@\s]+@")
_SHORTEST: Final = 4
"""A shorter value is not taken for a secret: to hide it would make every text unreadable."""
HIDDEN: Final = "***"


@dataclass(frozen=True)
class Secrets:
    """``values``: the secrets, longest first, in every encoding in which an answer may repeat them."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Any, environ: Mapping[str, str]) -> Secrets:
        """The values that may be secret in the settings (nested dicts and lists) and in OPENLINEAGE variables."""
        variables = {name: value for name, value in environ.items() if name.startswith("OPENLINEAGE")}
        texts = _secret_texts([settings, variables], secret=False)
        spellings = {spelling for value in texts for spelling in _spellings(value)}
        return cls(tuple(sorted((text for text in spellings if len(text) >= _SHORTEST), key=len, reverse=True)))

    def hide(self, text: str) -> str:
        """The text with ``***`` in the place of secrets."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return _USER_INFO.sub(f"//{HIDDEN}@", text)


def _secret_texts(value: Any, *, secret: bool) -> Iterator[str]:
    """The texts below a value that may be secret. Environment variables can hold whole tables as JSON, and an address a
    user, a password and a query. ``secret``: whether the value belongs to a key that says so.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            is_public = _NO_SECRET.search(str(key))
            yield from _secret_texts(item, secret=not is_public and (secret or bool(_SECRET_KEY.search(str(key)))))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secret_texts(item, secret=secret)
    elif isinstance(value, str):
        if secret:
            yield value
        with suppress(ValueError):  # it only looks like JSON
            if value.lstrip().startswith(("{", "[")):
                yield from _secret_texts(json.loads(value), secret=secret)
        with suppress(ValueError):  # or like an address
            if "://" in value:
                parts = urlsplit(value)
                yield from (text for text in (parts.password, parts.username) if text)
                yield from (text for _, text in parse_qsl(parts.query))


def _spellings(value: str) -> Iterator[str]:
    plain = value.strip()
    yield from (value, plain, quote(plain, safe=""), quote_plus(plain), unquote(plain))
    yield from (json.dumps(value)[1:-1], repr(value)[1:-1])
    yield base64.b64encode(plain.encode()).decode()
    if plain.lower().startswith(("bearer ", "basic ")):
        yield plain.split(" ", 1)[1].strip()


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
LONGEST_TEXT: Final = 500


def of_status(status: int, text: str, retry_after: str | None = None) -> BackendAnswer:
    """The answer for an HTTP status; ``text``: the response's body, of any length; ``retry_after``: its header."""
    wait = seconds(retry_after)
    if 200 <= status < 300:
        return TAKEN
    fallback = Kind.MISPLACED if status < 400 else Kind.REFUSED if status < 500 else Kind.SICK
    kind = _BY_STATUS.get(status, fallback)
    if status == 503 and wait is not None:
        kind = Kind.BUSY
    return BackendAnswer(kind, f"{status} {shortened(text)}".strip(), wait)


def shortened(text: str) -> str:
    """A backend's message on one line of limited length, without control characters."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", text).strip()
    return plain if len(plain) <= LONGEST_TEXT else f"{plain[:LONGEST_TEXT]} …"


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
