"""What a push must not show: the secrets of the client's settings, also in what a backend says; and what became of an
event that was sent, without them.

Nothing can name every way in which a backend may repeat a secret: in part, escaped, encoded. So no secret is cut out of
a foreign text. A text that has a part of one, however it is written, is not shown at all.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from exporter.system.terminal import visible

PART: Final = 6
"""So many characters in a row are a part of a secret. Fewer are no help to anybody who guesses at a token, and servers
show the last four to say which one they mean; but chance brings them into many texts, above all where they are letters.
"""
SHORTEST: Final = 4
"""A shorter value is not taken for a secret: it would be found in every text."""
LONGEST_TEXT: Final = 500
"""Characters of a foreign text that are shown."""
HIDDEN: Final = "***"
WITHHELD: Final = "(not shown: it repeats a part of a secret)"
_SECRET_KEY: Final = re.compile(r"auth|key|token|secret|passw|credential|header|cookie|sasl|jaas|bearer", re.IGNORECASE)
_NO_SECRET: Final = re.compile(
    r"message_?key|type$|endpoint|path$|file$|fields?$|method$|mechanism|^accept|^content-|^user-agent$", re.IGNORECASE
)
_VARIABLES: Final = ("OPENLINEAGE", "AWS_")
"""Beginnings of the names of variables that the client and its transports read."""
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
_SCHEME: Final = re.compile(r"(bearer|basic|token|api-?key)\s+", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"//[^/@\s]+@")
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|([abfnrtv])|([^\w\s]))")
_TAG: Final = re.compile(r"<[^<>]*>")
_LAYERS: Final = 4
"""So often a text may be escaped: JSON within HTML within JSON, and so on."""
_BEYOND: Final = 200
"""Characters that are looked at after those that are shown, so that no part of a secret stands where a text is cut."""
_IN_BASE64, _IN_HEX = 7, 2 * PART
"""As many characters have the whole of PART bytes or more in them, wherever these begin (in base64: 42 of 48 bits)."""


class Secrets:
    """The secrets of all transports. Thread-safe, also while tokens that are fetched later are added."""

    def __init__(self, *texts: str) -> None:
        self._values: set[str] = set()
        self._parts: dict[int, set[str]] = {}
        for text in texts:
            self.add(text)

    @classmethod
    def of(cls, settings: Any, environ: Mapping[str, str]) -> Secrets:
        """The values that may be secret in the settings (nested dicts and lists), in the variables of the client and of
        its transports, and in the addresses of proxies.
        """
        variables = {name: value for name, value in environ.items() if name.startswith(_VARIABLES)}
        proxies = [value for name, value in environ.items() if name.lower() in _PROXIES]
        addresses = [value if "://" in value else f"http://{value}" for value in proxies]
        return cls(*_secret_texts([settings, variables, addresses], secret=False))

    def add_address(self, address: str) -> None:
        """User, password and query of an address."""
        for text in _in_text(address, secret=False):
            self.add(text)

    def add(self, text: str) -> None:
        """One more secret: a value of the settings, or of a header, whose scheme (``Bearer``) is none."""
        secret = _SCHEME.sub("", text.strip(), count=1)
        if len(secret) < SHORTEST or secret in self._values:
            return
        with suppress(ValueError):  # user and password, if it is that
            if text.lower().startswith("basic "):
                self.add(base64.b64decode(secret, validate=True).decode())
        for reading in _readings(secret):
            octets = reading.encode("utf-8", "replace").decode(
                "latin-1"
            )  # as a program reads them that expects no UTF-8
            for part in (part for spelled in (reading, reading[::-1], octets) for part in _parts_of(spelled)):
                self._parts.setdefault(len(part), set()).add(part)
        self._values |= {text.strip(), secret}

    def shown(self, text: str) -> str:
        """A foreign text on one line of limited length, with control characters in escaped form; :data:`WITHHELD` in
        its place if it, or what comes right after it, has a part of a secret.
        """
        plain = re.sub(r"[\x00-\x1f\x7f-\x9f\s]+", " ", text).strip()
        seen = plain[: LONGEST_TEXT + _BEYOND]
        if any(self._has_part(form) for reading in _readings(seen) for form in _forms(reading)):
            return WITHHELD
        line = visible(re.sub(r" {2,}", " ", text.strip()))
        return _USER_INFO.sub(f"//{HIDDEN}@", line if len(line) <= LONGEST_TEXT else f"{line[:LONGEST_TEXT]} …")

    def masked(self, text: str) -> str:
        """A text of ours, made of the settings, with ``***`` in the place of whole secrets."""
        spelled = {form for value in self._values for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))}
        for value in sorted(spelled, key=len, reverse=True):
            text = text.replace(value, HIDDEN)
        return _USER_INFO.sub(f"//{HIDDEN}@", text)

    def _has_part(self, text: str) -> bool:
        return any(
            text[start : start + length] in parts
            for length, parts in list(self._parts.items())
            for start in range(len(text) - length + 1)
        )


def may_be_secret(key: str) -> bool:
    """Whether a key, or the name of a header or parameter, says that its value may be a secret."""
    return bool(_SECRET_KEY.search(key)) and not _NO_SECRET.search(key)


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
    elif isinstance(value, int) and not isinstance(value, bool):  # YAML reads a password of digits so
        yield from [str(value)] if secret and len(str(value)) >= PART else []
    elif isinstance(value, str):
        yield from _in_text(value, secret=secret)


def _in_text(value: str, *, secret: bool) -> Iterator[str]:
    if value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):  # else it only looks like JSON
            yield from _secret_texts(json.loads(value), secret=secret)
            return
    if secret:
        yield value
    with suppress(ValueError):  # it only looks like an address
        if "://" in value:
            parts = urlsplit(value)
            yield from (text for text in (parts.password, parts.username) if text)
            yield from (text for _, text in parse_qsl(parts.query))


def _readings(text: str) -> Iterator[str]:
    """The text as it is, and without one and more layers of what JSON, HTML, URLs and programs escape; each of them
    with and without what looks like HTML's tags.
    """
    for _ in range(_LAYERS):
        yield text
        if "<" in text:
            yield _TAG.sub("", text)
        plain = unquote(html.unescape(_ESCAPED.sub(_meant, text)))
        if plain == text:
            return
        text = plain
    yield text


def _meant(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2] or escaped[3]
    with suppress(ValueError, OverflowError):  # beyond Unicode
        return chr(int(code, 16)) if code else escaped[5] or " "
    return " "


def _forms(text: str) -> tuple[str, str]:
    """The text in one letter case without white space; and also without anything but letters and digits, since escapes
    and lines bring punctuation.
    """
    tight = "".join(text.split()).casefold()
    return tight, "".join(filter(str.isalnum, tight))


def _parts_of(secret: str) -> Iterator[str]:
    """The parts of a secret, all of it if it is short: as it is, in hex, and in base64, wherever it begins there."""
    tight, plain = _forms(secret)
    yield from _pieces(tight, PART)
    if len(plain) >= PART:  # of fewer letters and digits, many words have some
        yield from _pieces(plain, PART)
    octets = secret.encode("utf-8", "replace")
    digits = binascii.hexlify(octets).decode()
    yield from (digits[start : start + _IN_HEX] for start in range(0, max(len(digits) - _IN_HEX, 0) + 1, 2))
    for before in range(3):
        first, bits = -(-before * 8 // 6), 8 * (before + len(octets))
        encoded = base64.b64encode(bytes(before) + octets).decode()[first : bits // 6]
        for form in (encoded, encoded.translate(str.maketrans("+/", "-_"))):
            for spelled in _forms(form):
                if len(spelled) >= PART - 1:
                    yield from _pieces(spelled, _IN_BASE64)


def _pieces(text: str, length: int) -> Iterator[str]:
    """Each piece of the length; the text itself where it is shorter, if it is long enough to mean something."""
    if len(text) >= SHORTEST:
        yield from (text[start : start + length] for start in range(max(len(text) - length, 0) + 1))


# --- the answer of a backend ------------------------------------------------------------------------------------------


def without_secrets(url: str) -> str:
    """An address without user, password and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class AnswerKind(Enum):
    """TAKEN: delivered. REFUSED: the backend will never accept this event. MISPLACED: the address seems to accept no
    events at all. ERROR: an error, which may pass, or may be the backend's way to refuse. SILENT: no connection, no
    answer in time, or a gateway that reports this. BUSY: the backend asks to send later. DENIED: it does not accept who
    sends. FORBIDDEN: the same, or it forbids this event alone, which only its answers to other events can show.
    """

    TAKEN = "taken"
    REFUSED = "refused"
    MISPLACED = "misplaced"
    ERROR = "error"
    SILENT = "silent"
    BUSY = "busy"
    DENIED = "denied"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True)
class BackendAnswer:
    """``text``: for people, without secrets. ``wait``: seconds that the backend asks to wait, None where it does
    not. ``status``: of HTTP, of an answer that is no success; else None.
    """

    kind: AnswerKind
    text: str = ""
    wait: float | None = None
    status: int | None = field(default=None, compare=False)


TAKEN: Final = BackendAnswer(AnswerKind.TAKEN)
_BY_STATUS: Final = {
    401: AnswerKind.DENIED,
    403: AnswerKind.FORBIDDEN,
    404: AnswerKind.MISPLACED,
    405: AnswerKind.MISPLACED,
    407: AnswerKind.DENIED,
    408: AnswerKind.SILENT,
    425: AnswerKind.SILENT,
    429: AnswerKind.BUSY,
    502: AnswerKind.SILENT,
    503: AnswerKind.SILENT,
    504: AnswerKind.SILENT,
}


def of_status(
    status: int, text: str, retry_after: str | None, secrets: Secrets, location: str | None = None
) -> BackendAnswer:
    """The answer for an HTTP status; ``text``: the response's body, of any length; ``retry_after``, ``location``: its
    headers.
    """
    wait = seconds(secrets.shown(retry_after or "")) or None  # none at all asks for no other than the usual waits
    shown = secrets.shown(text)
    if 300 <= status < 400:
        shown = f"a redirect to {secrets.shown(place_of(location))}, not followed: give the address that takes events"
    elif shown == WITHHELD:
        with suppress(ValueError):  # a status that HTTP does not have
            shown = f"{HTTPStatus(status).phrase} {WITHHELD}"
    if 200 <= status < 300:
        return TAKEN
    fallback = AnswerKind.MISPLACED if status < 400 else AnswerKind.REFUSED if status < 500 else AnswerKind.ERROR
    kind = _BY_STATUS.get(status, fallback)
    if status == 503 and wait is not None:
        kind = AnswerKind.BUSY
    return BackendAnswer(kind, f"{status} {shown}".strip(), wait, status)


def place_of(location: str | None) -> str:
    """Where a redirect goes, as a message may show it."""
    with suppress(ValueError):
        return without_secrets(location or "nowhere")
    return "an address that is none"


_LONGEST_WAIT: Final = 1e9
"""Seconds, so that a number of any length can be told."""


def seconds(retry_after: str | None, now: datetime | None = None) -> float | None:
    """The seconds to wait by a Retry-After header (RFC 9110, 10.2.3: seconds or a date); None if it is invalid."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return min(float(text), _LONGEST_WAIT)
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())
