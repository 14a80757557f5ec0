"""Find names of users that only earlier runs read. Of these users the pseudonyms are known, not the names.

A word is such a name if its pseudonym is a known one. So an update also hides the users of earlier runs, although no
file in DIR contains their names. Single words and sequences of up to five words (``jane.doe@a.com``) are tried.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.privacy.key import Key

_WORD: Final = re.compile(r"[^\W_]+")
_WORDS: Final = 5
_BETWEEN: Final = 1
"""Most characters between two words of a name."""
_REMEMBERED: Final = 50_000
_HAS_QUOTES: Final = re.compile(r"[\"'\\]").search
_SLASHES: Final = re.compile(r"\\+")
_ESCAPED_QUOTE: Final = re.compile(r"\\?([\"'])(?:\\?\1)?")
_JOINS: Final = frozenset("_$")
SHORT: Final = 3
"""A name with fewer letters and digits is found only as a whole identifier: ``PK`` is not found in ``PK_ORDERS``."""


class Earlier:
    """Finds names by their pseudonyms."""

    def __init__(self, key: Key, pseudonyms: frozenset[str]) -> None:
        self._key = key
        self.pseudonyms = pseudonyms
        self._tried: dict[str, str | None] = {}

    def whole(self, name: str) -> str | None:
        """The pseudonym of the user of earlier runs with this name; None if there is none."""
        if name not in self._tried:
            if len(self._tried) >= _REMEMBERED:
                self._tried.clear()
            made = self._key.pseudonym(name)
            self._tried[name] = made if made in self.pseudonyms else None
        return self._tried[name]

    def in_text(self, text: str) -> str:
        """The text with these names replaced by pseudonyms."""
        if not self.pseudonyms:
            return text
        whole = self.whole(text)
        if whole is not None:
            return whole
        pieces, at = [], 0
        for start, end, pseudonym in self.found(text):
            pieces += [text[at:start], pseudonym]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text

    def found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Start, end and pseudonym of each of these names in a text, in order."""
        if not self.pseudonyms:
            return
        words = [one.span() for one in _WORD.finditer(text)]
        number = 0
        while number < len(words):
            for last in range(min(number + _WORDS, len(words)) - 1, number - 1, -1):
                start, end = words[number][0], words[last][1]
                gaps = (text[words[one][1] : words[one + 1][0]] for one in range(number, last))
                is_tried = all(
                    len(gap) <= _BETWEEN or len(_bare(gap)) <= _BETWEEN for gap in gaps
                ) and not _is_short_part(text, start, end)
                pseudonym = self._of(text[start:end]) if is_tried else None
                if pseudonym is not None:
                    yield start, end, pseudonym
                    number = last
                    break
            number += 1

    def _of(self, spelled: str) -> str | None:
        for one in dict.fromkeys((spelled, _bare(spelled))):
            for name in dict.fromkeys((one.upper(), one, one.lower(), one.title())):
                found = self.whole(name)
                if found is not None:
                    return found
        return None


def _bare(spelled: str) -> str:
    """The text without the escapes of quotes in SQL and JSON, and of backslashes."""
    return _ESCAPED_QUOTE.sub(r"\1", _SLASHES.sub(r"\\", spelled)) if _HAS_QUOTES(spelled) else spelled


def _is_short_part(text: str, start: int, end: int) -> bool:
    """Whether it is only part of an identifier and too short to count as a name there."""
    return end - start < SHORT and (text[start - 1 : start] in _JOINS or text[end : end + 1] in _JOINS)
