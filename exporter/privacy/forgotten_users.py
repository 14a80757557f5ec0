"""What a person means by the name of a user to forget: by Snowflake's rule, letter case counts only in quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import product
from typing import Final, NamedTuple

from exporter.privacy.filters import stored_identifier
from exporter.privacy.key import Key

_NEAREST: Final = 3
"""Most similar users that are named."""
_SIMILAR: Final = 0.6
_WORD: Final = re.compile(r"([^\W\d_]+)")
_MOST_WORDS: Final = 7
"""The most words of a name whose letter cases are combined: 3 of each."""


class ForgottenUser(NamedTuple):
    """A user to forget. ``given``: the name as a person gave it. ``spellings``: what it can be in DIR. ``any_case``:
    whether all letter cases mean the same; otherwise the first spelling counts that DIR has.
    ``others``: the pseudonyms of the usual other letter cases; all of them cannot be tried.
    """

    given: str
    spellings: tuple[str, ...]
    any_case: bool
    others: frozenset[str] = frozenset()

    def means(self, user: str) -> bool:
        """Whether a user of DIR is meant."""
        return user in self.spellings or user in self.others or (self.any_case and user.upper() == self.given.upper())

    def nearest(self, users: Iterable[str]) -> list[str]:
        """The users with the most similar names, the most similar first: those that have it as a part, such as a first
        name, before others.
        """
        alike = [(-self._likeness(user.upper()), user) for user in users]
        return [user for likeness, user in sorted(alike)[:_NEAREST] if -likeness >= _SIMILAR]

    def _likeness(self, user: str) -> float:
        given = self.given.upper().strip('"')
        words = set(_WORD.findall(given))
        is_part = words and words <= set(_WORD.findall(user))
        return bool(is_part) + SequenceMatcher(None, given, user).ratio()


def asked_for(text: str, key: Key | None) -> ForgottenUser:
    """What a name means. ``key``: of DIR's pseudonyms. A pseudonym means itself. A text that is no identifier without
    quotes, such as an e-mail address, means the user in any letter case.
    """
    name = stored_identifier(text)
    is_exact = text.startswith('"') or stored_identifier(text.lower()) != text.lower()
    names = (name,) if is_exact else tuple(dict.fromkeys((name, name.upper(), name.lower())))
    if key is not None:  # users in `keep` have no pseudonym
        others = frozenset() if is_exact else frozenset(map(key.pseudonym, _letter_cases(name)))
        return ForgottenUser(text, (*map(key.pseudonym, names), *names), any_case=not is_exact, others=others)
    return ForgottenUser(text, names, any_case=not is_exact)


def _letter_cases(name: str) -> Iterator[str]:
    """A name with each word in lower case, in upper case, and with a capital: ``Jane.Doe@Example.com``. In a name of
    many words, those on the same side of an @ are alike.
    """
    parts = _WORD.split(name)
    if len(parts) // 2 > _MOST_WORDS:
        parts = re.split("(@)", name)
    for chosen in product(*(dict.fromkeys((part.lower(), part.upper(), part.title())) for part in parts)):
        yield "".join(chosen)
