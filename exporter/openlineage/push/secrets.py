"""Secrets of the client's settings, which are removed from everything that is written or shown."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
        told = {name: value for name, value in environ.items() if name.startswith("OPENLINEAGE")}
        found = set(_below(settings, secret=False)) | set(_below(told, secret=False))
        spelled = {one for value in found for one in _spellings(value)}
        return cls(tuple(sorted((one for one in spelled if len(one) >= _SHORTEST), key=len, reverse=True)))

    def hide(self, text: str) -> str:
        """The text with ``***`` in the place of secrets."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return _USER_INFO.sub(f"//{HIDDEN}@", text)


def _below(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            is_secret = bool(_SECRET_KEY.search(str(key))) and not _NO_SECRET.search(str(key))
            yield from _below(one, secret=is_secret or (secret and not _NO_SECRET.search(str(key))))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _below(one, secret=secret)
    elif isinstance(value, str):
        if secret:
            yield value
        yield from _in_json(value, secret=secret)
        yield from _of_address(value)


def _in_json(value: str, *, secret: bool) -> Iterator[str]:
    """The secrets in a text of JSON: environment variables can hold whole tables as JSON."""
    if value.lstrip().startswith(("{", "[")):
        try:
            yield from _below(json.loads(value), secret=secret)
        except ValueError:
            return


def _of_address(value: str) -> Iterable[str]:
    if "://" not in value:
        return ()
    try:
        parts = urlsplit(value)
        told = [one for one in (parts.password, parts.username) if one]
        return [*told, *(one for _, one in parse_qsl(parts.query))]
    except ValueError:
        return ()


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
