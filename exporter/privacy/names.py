"""Replace user names in a text by pseudonyms.

A name is found as a whole word: no letter or digit before or after it. So ``JSMITH`` is found in ``DBT_JSMITH``,
``USER$JSMITH`` and ``jsmith@example.com``, but not in ``JSMITHSON``. It is found in any letter case, and with the
escapes of SQL, JSON and URLs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, quote_plus

from exporter.privacy.earlier import SHORT, Earlier
from exporter.privacy.key import PSEUDONYM, Key

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts without spaces between words, or with endings attached to names."""
_is_unspaced: Final = re.compile(f"[{_UNSPACED}\U00020000-\U0003ffff]").match
_WORD: Final = re.compile(f"[{_UNSPACED}\U00020000-\U0003ffff]|[^\\W_{_UNSPACED}\U00020000-\U0003ffff]+")


class _Spelling(NamedTuple):
    """One way to write a name, in lower case. ``word_at``: offset of its first word. ``is_short``: see SHORT."""

    text: str
    word_at: int
    is_short: bool


class Names:
    """Finds users' names (as Snowflake stores them) and replaces them. ``earlier``: pseudonyms of users whose names
    only earlier runs read.
    """

    def __init__(self, key: Key, names: frozenset[str], earlier: frozenset[str] = frozenset()) -> None:
        self._key = key
        self._earlier = Earlier(key, earlier)
        self._stored = {name: key.pseudonym(name) for name in names}
        self._exact: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._by_word: dict[str, list[_Spelling]] = {}
        for name in sorted(names):
            for spelled in _spellings(name):
                self._exact.setdefault(spelled, name)
                self._add(spelled, name)
        for spellings in self._by_word.values():
            spellings.sort(key=lambda one: -len(one.text))

    def _add(self, spelled: str, name: str) -> None:
        text = _folded(spelled)
        word = _WORD.search(text)
        if text not in self._folded:
            self._folded[text] = name
            if word is not None:
                is_short = sum(map(str.isalnum, name)) < SHORT and not _is_unspaced(word[0])
                self._by_word.setdefault(word[0], []).append(_Spelling(text, word.start(), is_short))

    def whole(self, text: str) -> str | None:
        """The pseudonym of the user with exactly this name; None if there is none."""
        return self._stored.get(text) or self._earlier.whole(text)

    def in_text(self, text: str) -> str:
        """The text with names replaced by pseudonyms; unchanged if it contains none."""
        whole = self._stored.get(text)
        return self._earlier.in_text(self._named(text)) if whole is None else whole

    def _named(self, text: str) -> str:
        folded = _folded(text)
        if self._by_word.keys().isdisjoint(_WORD.findall(folded)):
            return text
        pieces, at = [], 0
        for start, end, pseudonym in self._found(text, folded):
            pieces += [text[at:start], pseudonym]
            at = end
        return "".join([*pieces, text[at:]]) if pieces else text

    def _found(self, text: str, folded: str) -> Iterator[tuple[int, int, str]]:
        """Start, end and pseudonym of each name, in order. Pseudonyms made with this key are skipped."""
        at = 0
        made = {one.start(): one.end() for one in PSEUDONYM.finditer(text) if self._key.made(one[0])}
        for word in _WORD.finditer(folded):
            if word.start() in made:
                at = made[word.start()]
            for spelling in self._by_word.get(word[0], ()):
                start = word.start() - spelling.word_at
                end = start + len(spelling.text)
                if start >= at and folded.startswith(spelling.text, start) and _is_whole(folded, start, end, spelling):
                    yield start, end, self._stored[self._who(text, start, end)]
                    at = end
                    break

    def _who(self, text: str, start: int, end: int) -> str:
        """The user whose name it is. By Snowflake's rules a quoted identifier is exact, and an unquoted one is in upper
        case. If neither is a user, the user whose name differs only in letter case.
        """
        spelled = text[start:end]
        ways = [spelled.upper(), spelled]
        if text[start - 1 : start] == '"' == text[end : end + 1]:
            ways.reverse()
        found = next((self._exact[one] for one in ways if one in self._exact), None)
        return self._folded[_folded(spelled)] if found is None else found


def _spellings(name: str) -> dict[str, None]:
    """The name, and its forms in SQL, JSON, URLs and other Unicode normalizations."""
    ways = dict.fromkeys((name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))))
    if not name.replace("_", "").isascii() or not name.replace("_", "").isalnum():
        utf8 = name.encode("utf-8", "replace").decode("utf-8")
        ways |= dict.fromkeys((name.replace('"', '""'), name.replace("'", "''"), name.replace("'", "\\'")))
        ways |= dict.fromkeys((json.dumps(name)[1:-1], json.dumps(name, ensure_ascii=False)[1:-1]))
        ways |= dict.fromkeys((quote(utf8, safe=""), quote(utf8, safe="@"), quote_plus(utf8)))
    return ways


def _folded(text: str) -> str:
    """The text in lower case, with the same length, so that offsets stay valid."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(low if len(low := one.lower()) == 1 else one for one in text)


def _is_whole(text: str, start: int, end: int, spelling: _Spelling) -> bool:
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return not (_joins(before, text[start], spelling) or _joins(after, text[end - 1], spelling))


def _joins(outside: str, edge: str, spelling: _Spelling) -> bool:
    """Whether a character next to a name makes it part of a longer word."""
    if not outside or _is_unspaced(outside) or _is_unspaced(edge):
        return False
    return outside.isalnum() or (spelling.is_short and outside in "_$")
