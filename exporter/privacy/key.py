"""Pseudonyms: a keyed hash replaces a user's name. With the same key, a name has the same pseudonym in every run.

The hash is HMAC-SHA-256 (RFC 2104) from Python's library. Without the key nobody can compute the pseudonym of a name,
so nobody can find a user by trying names.
"""

from __future__ import annotations

import hmac
import re
import stat
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from exporter import given
from exporter.errors import UsageError

SHORTEST: Final = 16
"""Shortest key, in bytes."""
_LONGEST: Final = 4096
"""Longest key, in bytes: a larger file was probably given by mistake."""
_HEAD: Final = "USER_"
_NAME_DIGITS: Final = 16
_CHECK_DIGITS: Final = 6
PSEUDONYM: Final = re.compile(rf"{_HEAD}[0-9A-F]{{{_NAME_DIGITS + _CHECK_DIGITS}}}(?![0-9A-Za-z])", re.ASCII)
"""Matches a pseudonym. It is a plain Snowflake identifier, so that names and SQL text remain valid."""
_MAKE_ONE: Final = "make one with: openssl rand -hex 32 > KEYFILE && chmod 600 KEYFILE"


@dataclass(frozen=True)
class Key:
    """A secret key. It is never shown or logged; :attr:`fingerprint` identifies it."""

    secret: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> Key:
        """Read a key from a file, without white space around it. Raises UsageError, which never shows its content."""
        try:
            secret = given.read(path, _LONGEST + 1).strip()
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else "this is not a path"
            raise UsageError(f"pseudonyms: {path}: the key cannot be read: {what}; {_MAKE_ONE}") from None
        if len(secret) < SHORTEST:
            raise UsageError(
                f"pseudonyms: {path}: the key has {len(secret)} bytes and must have at least {SHORTEST}; {_MAKE_ONE}"
            )
        if len(secret) > _LONGEST:
            raise UsageError(f"pseudonyms: {path}: is larger than {_LONGEST} bytes, so it is not a key; {_MAKE_ONE}")
        return cls(secret)

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that identify the key and reveal nothing about its bytes."""
        return self._digits(b"fingerprint")[:16].lower()

    def pseudonym(self, name: str) -> str:
        """The pseudonym of a user. ``name``: as Snowflake stores it (``JSMITH`` and ``jsmith`` are two users). A
        pseudonym made with this key is returned unchanged, so that rows that contain it can be read again.
        """
        if self.made(name):
            return name
        digits = self._digits(b"user\0" + name.encode("utf-8", "surrogatepass"))[:_NAME_DIGITS]
        return f"{_HEAD}{digits}{self._check(digits)}"

    def made(self, name: str) -> bool:
        """Whether a name is a pseudonym made with this key."""
        if PSEUDONYM.fullmatch(name) is None:
            return False
        digits, check = name[len(_HEAD) : -_CHECK_DIGITS], name[-_CHECK_DIGITS:]
        return hmac.compare_digest(self._check(digits), check)

    def _check(self, digits: str) -> str:
        return self._digits(b"check\0" + digits.encode())[:_CHECK_DIGITS]

    def _digits(self, message: bytes) -> str:
        return hmac.new(self.secret, message, sha256).hexdigest().upper()


def may_be_read_by_others(path: str) -> bool:
    """Whether the file's permissions let its group or all users read it. A pipe is gone once it was read."""
    about = Path(path).stat()
    return stat.S_ISREG(about.st_mode) and bool(about.st_mode & 0o044)
