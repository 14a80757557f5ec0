"""The key of pseudonyms, and how a pseudonym is made with it.

A pseudonym is a keyed hash, HMAC-SHA-256 (RFC 2104) from Python's library: with the same key, a name has the same
pseudonym in every run. Without the key nobody can compute the pseudonym of a name, so nobody can find a user by trying
names.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from exporter.errors import UsageError
from exporter.system import files

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

_GIVE_A_PATH: Final = "give the path of its file (what was given is not shown, because it may be the key itself)"


@dataclass(frozen=True)
class Key:
    """A secret key. It is never shown or logged; :attr:`fingerprint` identifies it."""

    secret: bytes = field(repr=False)

    @classmethod
    def read(cls, path: str) -> Key:
        """Read a key from a file, without white space around it. Raises UsageError, which never shows its
        content, and the path only if there is such a file.
        """
        try:
            secret = files.read(path, _LONGEST + 1).strip()
        except (OSError, ValueError) as error:
            problem = error.strerror if isinstance(error, OSError) else "this is not a path"
            if not os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a text that is too long
                # The usual slip is to give the key itself.
                raise UsageError(
                    f"pseudonyms: the key cannot be read: {problem}; {_GIVE_A_PATH}; {_MAKE_ONE}"
                ) from None
            raise UsageError(f"pseudonyms: {path}: the key cannot be read: {problem}; {_MAKE_ONE}") from None
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
        if self.is_pseudonym(name):
            return name
        digits = self._digits(b"user\0" + name.encode("utf-8", "surrogatepass"))[:_NAME_DIGITS]
        return f"{_HEAD}{digits}{self._check(digits)}"

    def folded(self, name: str) -> str:
        """A digest that is the same for all spellings of a name in letter case. It shows nothing of the name to those
        who do not have the key, and differs from the digits of a pseudonym.
        """
        return self._of_folded(b"folded\0", name)

    def part(self, text: str) -> str:
        """The same for a part of a name. It differs from that of a name with this text."""
        return self._of_folded(b"part\0", text)

    def setting(self, text: str) -> str:
        """A digest of a text in the settings."""
        return self._digits(b"setting\0" + text.encode("utf-8", "surrogatepass"))[:_NAME_DIGITS]

    def _of_folded(self, kind: bytes, text: str) -> str:
        normalized = text.casefold() if text.isascii() else unicodedata.normalize("NFC", text).casefold()
        return self._digits(kind + normalized.encode("utf-8", "surrogatepass"))[:_NAME_DIGITS]

    def is_pseudonym(self, name: str) -> bool:
        """Whether a name is a pseudonym made with this key."""
        if PSEUDONYM.fullmatch(name) is None:
            return False
        digits, check = name[len(_HEAD) : -_CHECK_DIGITS], name[-_CHECK_DIGITS:]
        return hmac.compare_digest(self._check(digits), check)

    def _check(self, digits: str) -> str:
        return self._digits(b"check\0" + digits.encode())[:_CHECK_DIGITS]

    def _digits(self, message: bytes) -> str:
        return hmac.digest(self.secret, message, "sha256").hex().upper()


def may_be_read_by_others(path: str) -> bool:
    """Whether the file's permissions let its group or all users read it. A pipe is gone once it was read."""
    status = Path(path).stat()
    return stat.S_ISREG(status.st_mode) and bool(status.st_mode & 0o044)
