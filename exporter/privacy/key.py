"""Pseudonyms: a keyed hash in the place of a user's name. One key gives one name the same pseudonym in every run.

The hash is HMAC-SHA-256 (RFC 2104) of Python's library. Without the key nobody can compute a pseudonym from a name, so
nobody can try names until one fits.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from exporter.errors import UsageError

SHORTEST: Final = 16
"""Bytes of a key at least."""
_LONGEST: Final = 4096
"""Bytes of a key at most: a larger file is another file, named by mistake."""
_HEAD: Final = "USER_"
_NAME_DIGITS: Final = 16
_CHECK_DIGITS: Final = 6
PSEUDONYM: Final = re.compile(rf"{_HEAD}[0-9A-F]{{{_NAME_DIGITS + _CHECK_DIGITS}}}(?![0-9A-Za-z])", re.ASCII)
"""How a pseudonym looks: a plain identifier of Snowflake, so that names and SQL text stay what they are."""
_MAKE_ONE: Final = "make one with: openssl rand -hex 32 > KEYFILE && chmod 600 KEYFILE"


@dataclass(frozen=True)
class Key:
    """A secret key. It is shown nowhere; :attr:`fingerprint` tells one key from another."""

    secret: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> Key:
        """The key in a file, without white space around it; raises UsageError, which never shows what is in it."""
        try:
            with Path(path).open("rb") as file:
                secret = file.read(_LONGEST + 1).strip()
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else "this is no path"
            raise UsageError(f"pseudonyms: {path}: the key cannot be read: {what}; {_MAKE_ONE}") from None
        if len(secret) < SHORTEST:
            raise UsageError(
                f"pseudonyms: {path}: the key has {len(secret)} bytes and must have at least {SHORTEST}; {_MAKE_ONE}"
            )
        if len(secret) > _LONGEST:
            raise UsageError(f"pseudonyms: {path}: is larger than {_LONGEST} bytes, so it is no key; {_MAKE_ONE}")
        return cls(secret)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that tell which key it is, and nothing about its bytes."""
        return self._digits(b"fingerprint")[:16].lower()

    def pseudonym(self, name: str) -> str:
        """The pseudonym of a user, by the name as Snowflake stores it: ``JSMITH`` and ``jsmith`` are two users. A
        pseudonym of this key stays what it is, so that rows that have it can be read again.
        """
        if self.made(name):
            return name
        digits = self._digits(b"user\0" + name.encode("utf-8", "surrogatepass"))[:_NAME_DIGITS]
        return f"{_HEAD}{digits}{self._check(digits)}"

    def made(self, name: str) -> bool:
        """Whether a name is a pseudonym that this key gave."""
        if PSEUDONYM.fullmatch(name) is None:
            return False
        digits, check = name[len(_HEAD) : -_CHECK_DIGITS], name[-_CHECK_DIGITS:]
        return hmac.compare_digest(self._check(digits), check)

    def _check(self, digits: str) -> str:
        return self._digits(b"check\0" + digits.encode())[:_CHECK_DIGITS]

    def _digits(self, message: bytes) -> str:
        return hmac.new(self.secret, message, sha256).hexdigest().upper()


def may_be_read_by_others(path: str) -> bool:
    """Whether the file's permissions let its group or everybody read it."""
    return bool(Path(path).stat().st_mode & 0o044)
