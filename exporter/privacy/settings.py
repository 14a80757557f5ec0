"""The settings of pseudonyms and filters: ``--pseudonyms``, ``--since``, ``--until``, and the tables ``[filter]`` and
``[privacy]`` in the settings file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from exporter import given
from exporter.errors import UsageError
from exporter.privacy.filters import LISTS, Filters, filters_of
from exporter.privacy.key import Key, may_be_read_by_others
from exporter.privacy.patterns import USERS, pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

PRIVACY: Final = ("users", "keep")
FILTER: Final = LISTS
_LONGEST_LIST: Final = 64 << 20
"""Longest list of users, in bytes."""
KEPT: Final = ("SYSTEM",)
"""Users that keep their names by default: Snowflake runs tasks as SYSTEM, which is not a person."""


@dataclass(frozen=True)
class Privacy:
    """``key``: the key of the pseudonyms, None without pseudonyms. ``users``: further user names beside those in the
    rows; never shown. ``keep``: patterns of users that keep their names. ``advice``: warnings for the user.
    """

    key: Key | None = None
    users: frozenset[str] = field(default=frozenset(), repr=False)
    keep: tuple[str, ...] = KEPT
    filters: Filters = field(default_factory=Filters)
    advice: tuple[str, ...] = ()

    def shown(self) -> dict[str, Any]:
        """For the manifest: the key's fingerprint, the users who keep their names, the period and the lists; None for
        what was not given. With pseudonyms, users in lists are shown by their pseudonyms.
        """
        of_key = None if self.key is None else {"key": self.key.fingerprint, "keep": list(self.keep)}
        return {"pseudonyms": of_key, **self.filters.shown(self._hidden)}

    def _hidden(self, text: str) -> str:
        one = pattern("filter", text, USERS)
        if self.key is None or any(pattern("keep", kept, USERS).fits(*one.parts) for kept in self.keep):
            return text
        return self.key.pseudonym(one.parts[0]) + ("*" if one.is_open else "")


def privacy_of(
    pseudonyms: str | None,
    times: tuple[str | None, str | None],
    lists: Mapping[str, tuple[str, ...]],
    privacy: Mapping[str, tuple[str, ...]],
) -> Privacy:
    """The settings from the path of a key, since and until, and the lists of both tables. Raises UsageError."""
    filters = filters_of(*times, lists)
    if pseudonyms == "":
        raise UsageError(
            "pseudonyms: the path is empty, so names would be exported in clear; give the path of the key, or remove "
            "the setting"
        )
    if pseudonyms is None:
        if privacy:
            raise UsageError(f"privacy.{min(privacy)}: has no effect without pseudonyms; give --pseudonyms KEYFILE too")
        return Privacy(filters=filters)
    key, keep = Key.read(pseudonyms), privacy.get("keep", KEPT)
    for text in keep:
        pattern("privacy.keep", text, USERS)
    users = frozenset(name for path in privacy.get("users", ()) for name in _listed(path))
    return Privacy(key, users, keep, filters, _advice(pseudonyms))


def _advice(path: str) -> tuple[str, ...]:
    if not may_be_read_by_others(path):
        return ()
    return (f"{path}: others can read this key, and find the names behind pseudonyms with it; run chmod 600 {path}",)


def _listed(path: str) -> list[str]:
    """The names in a file, one on each line."""
    try:
        content = given.read(path, _LONGEST_LIST + 1)
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UsageError(f"privacy.users: {path}: is not UTF-8") from None
    except OSError as error:
        raise UsageError(f"privacy.users: {path}: cannot be read: {error.strerror}") from None
    if len(content) > _LONGEST_LIST:
        raise UsageError(
            f"privacy.users: {path}: is larger than {_LONGEST_LIST >> 20} MiB, too large for a list of users"
        )
    return [line.strip() for line in lines if line.strip()]
