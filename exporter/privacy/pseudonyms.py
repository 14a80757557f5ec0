"""How pseudonyms replace the names of users in a text.

A name is found as a whole word: no letter or digit before or after it. So ``JSMITH`` is found in ``DBT_JSMITH``,
``USER$JSMITH`` and ``jsmith@example.com``, but not in ``JSMITHSON``. It is found in any letter case, and with the
escapes of SQL, JSON and URLs.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

from exporter.privacy.earlier_users import SHORT, UNSPACED, EarlierUsers, FoundName, is_unspaced, replaced
from exporter.privacy.key import PSEUDONYM, Key

_WORD: Final = re.compile(f"[{UNSPACED}]|[^\\W_{UNSPACED}]+")

_OF_URL: Final = re.compile(r"%(?:25)*[0-9a-fA-F]{2}")
_ESCAPES: Final = re.compile(
    r"(?:(?P<code>\\+u[dD][89abAB][0-9a-fA-F]{2}\\+u[dD][c-fC-F][0-9a-fA-F]{2}|\\+u[0-9a-fA-F]{4}|\\+x[0-9a-fA-F]{2})"
    r"|\\+(?P<octal>[0-3][0-7]{2})"
    rf"|\\+(?P<letter>[nrtbfv0\"'/])|(?P<slash>\\\\+)|(?:{_OF_URL.pattern})+)"
)
_URLS: Final = re.compile(rf"(?:{_OF_URL.pattern})+")
_OF_URL_ONCE: Final = re.compile(r"%[0-9a-fA-F]{2}")
_URLS_ONCE: Final = re.compile(rf"(?:{_OF_URL_ONCE.pattern})+")
"""The escapes of a URL, where ``%2541`` stands for ``%41``: that may be in the name."""
_may_be_blank: Final = re.compile(r"\+(?:(?!\d)|(?<=\D\+)|(?<=%\w\w\+))").search
"""Finds a plus that is not between digits, as that of a time is (``00:00+01:00``)."""
_WITH_PLUS: Final = re.compile(r"(?<!\S)[^\s+]*+\+\S*+")
"""Text without blanks that has a plus, as in a query of a URL (``?user=Jane+Doe``)."""
_FORMS: Final = re.compile(rf"{_ESCAPES.pattern}|(?P<plus>\+)")
"""The escapes of such a text, in which a plus is a blank."""
_OF_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_LEVELS: Final = 3
"""How deep JSON in a string of JSON is searched for names with quotes and backslashes, where the text is no JSON."""


class _Form(NamedTuple):
    """What many names have in common: their length, and the offset of their first word. In a text, one look-up for each
    form finds any of the names that begin with a word, however many these are.
    """

    length: int
    word_at: int


class UserNames:
    """Finds users' names (as Snowflake stores them) and replaces them. ``earlier``: what is known of users whose names
    only earlier runs read, as for :class:`exporter.privacy.earlier_users.EarlierUsers`.
    """

    def __init__(self, key: Key, names: frozenset[str], earlier: frozenset[str] = frozenset()) -> None:
        self._key = key
        self._earlier = EarlierUsers(key, earlier)
        self._searches = (self._names_in, self._earlier.find) if self._earlier else (self._names_in,)
        self._have_blanks = self.are_hashed or any(" " in name for name in names)
        self._stored = {name: key.pseudonym(name) for name in names}
        self._exact: dict[str, str] = {}
        self._folded: dict[str, str] = {}
        self._short: set[str] = set()
        forms: dict[str, set[_Form]] = {}
        for name in sorted(names):
            for spelling in _spellings(name):
                self._exact.setdefault(spelling, name)
                text = spelling.casefold()
                word = _WORD.search(text)
                if self._folded.setdefault(text, name) == name and word is not None:
                    forms.setdefault(word[0], set()).add(_Form(len(text), word.start()))
                    if sum(map(str.isalnum, name)) < SHORT and not is_unspaced(word[0]):
                        self._short.add(text)
        self._by_word = {word: sorted(forms_of_word, reverse=True) for word, forms_of_word in forms.items()}

    def of_name(self, text: str) -> str | None:
        """The pseudonym of the user with exactly this name; None if there is none."""
        return self._stored.get(text) or self._earlier.of_name(text)

    @property
    def are_hashed(self) -> bool:
        """Whether each word is hashed, because of some users only digests are known: that takes long."""
        return bool(self._earlier)

    @property
    def may_be_numbers(self) -> bool:
        """Whether a number without quotes may be a name."""
        return self.are_hashed or any(name.isascii() and name.isdecimal() for name in self._stored)

    def in_text(self, text: str) -> str:
        """The text with names replaced by pseudonyms; unchanged if it contains none."""
        pseudonym = self._stored.get(text)
        if pseudonym is not None:
            return pseudonym
        shown = self._earlier.in_text(replaced(text, self._names_in(text)))
        if "\\" in shown or "%" in shown:
            patterns = (_URLS, _ESCAPES) if "\\" in shown and "%" in shown else (_ESCAPES,)
            patterns = (_URLS_ONCE, *patterns) if "%25" in shown else patterns
            shown = self._in_escaped(shown, patterns)
        if self._have_blanks and _may_be_blank(shown):
            shown = _WITH_PLUS.sub(lambda url: self._in_escaped(url[0], (_FORMS,)), shown)
        return shown

    def _names_in(self, text: str) -> Iterable[FoundName]:
        folded = text.casefold()
        return () if self._by_word.keys().isdisjoint(_WORD.findall(folded)) else self._find(text, folded)

    def _in_escaped(self, text: str, patterns: Iterable[re.Pattern[str]]) -> str:
        r"""The same for characters that are escaped in the text: ``jsmith%40example.com``, ``%2Fjsmith``. In a URL a
        backslash may be one of the name: ``corp\bob%40example.com``.
        """
        for escapes in patterns:
            for names_in in self._searches:
                plain = _unescaped(text, escapes)
                if plain is None:
                    break
                decoded, starts = plain
                text = replaced(text, ((starts[start], starts[end], text) for start, end, text in names_in(decoded)))
        return text

    def _find(self, text: str, folded: str) -> Iterator[FoundName]:
        """Start, end and pseudonym of each name, in order. Pseudonyms made with this key are skipped."""
        last_end = 0
        offsets = _offsets(text, folded)
        pseudonyms = {
            match.start(): match.end() for match in PSEUDONYM.finditer(text) if self._key.is_pseudonym(match[0])
        }
        for word in _WORD.finditer(folded):
            last_end = pseudonyms.get(offsets[word.start()], last_end)
            for form in self._by_word.get(word[0], ()):
                first = word.start() - form.word_at
                last = first + form.length
                if first < 0 or last > len(folded):
                    continue
                start, end = offsets[first], offsets[last]
                if last_end <= start < end and self._is_name(text, start, end, folded[first:last]):
                    yield start, end, self._stored[self._user_of(text, start, end)]
                    last_end = end
                    break

    def _is_name(self, text: str, start: int, end: int, folded: str) -> bool:
        """Whether a name is there that is no part of a longer word. ``folded``: what is there, in one letter case."""
        return folded in self._folded and _is_whole(text, start, end, is_short=folded in self._short)

    def _user_of(self, text: str, start: int, end: int) -> str:
        """The user whose name it is. By Snowflake's rules a quoted identifier is exact, and an unquoted one is in upper
        case. If neither is a user, the user whose name differs only in letter case.
        """
        spelling = text[start:end]
        candidates = [spelling.upper(), spelling]
        if text[start - 1 : start] == '"' == text[end : end + 1]:
            candidates.reverse()
        name = next((self._exact[candidate] for candidate in candidates if candidate in self._exact), None)
        return self._folded[spelling.casefold()] if name is None else name


def _unescaped(text: str, escapes: re.Pattern[str]) -> tuple[str, list[int]] | None:
    """The text with the characters that its escapes (of JSON, SQL and URLs, once or more often) stand for, and the
    offset in ``text`` of each of them and of its end; None if it has no escapes. Bytes that are not UTF-8 stay escaped.
    """
    plain: list[str] = []
    starts: list[int] = []
    last_end = 0
    for match in escapes.finditer(text):
        start, end = match.span()
        plain += text[last_end:start]
        starts += range(last_end, start)
        for character, offset in _characters(match):
            plain.append(character)
            starts.append(offset)
        last_end = end
    if not last_end:
        return None
    plain += text[last_end:]
    starts += range(last_end, len(text) + 1)
    return "".join(plain), starts


def _characters(match: re.Match[str]) -> Iterator[tuple[str, int]]:
    """The characters of an escape or of a sequence of percent-encoded bytes, each with its offset."""
    groups = match.groupdict()
    if letter := groups.get("letter"):
        yield _OF_LETTERS.get(letter, letter), match.start()
    elif octal := groups.get("octal"):
        yield chr(int(octal, 8)), match.start()
    elif groups.get("plus"):
        yield " ", match.start()
    elif groups.get("slash"):
        yield "\\", match.start()
    elif groups.get("code"):
        codes = re.findall(r"[ux]([0-9a-fA-F]+)", match[0])
        pair = b"".join(int(code, 16).to_bytes(2) for code in codes)
        yield pair.decode("utf-16-be", "replace"), match.start()
    else:
        yield from _of_utf8(match)


def _of_utf8(match: re.Match[str]) -> Iterator[tuple[str, int]]:
    of_url = _OF_URL_ONCE if match.re is _URLS_ONCE else _OF_URL
    escapes = list(of_url.finditer(match.string, match.start(), match.end()))
    decoded = bytes(int(escape[0][-2:], 16) for escape in escapes).decode("utf-8", "surrogateescape")
    for character in decoded:
        size = len(character.encode("utf-8", "surrogateescape"))
        start = escapes[0].start()
        if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
            yield from zip(escapes[0][0], range(start, escapes[0].end()), strict=True)
        else:
            yield character, start
        del escapes[:size]


def _spellings(name: str) -> dict[str, None]:
    """The name, and its forms in SQL, JSON, URLs, other Unicode normalizations, and upper case if that is longer."""
    spellings = dict.fromkeys((name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))))
    if len(name.upper()) != len(name) and name.casefold() != name.lower():  # Ϊ́, of ΐ
        spellings |= _spellings(name.upper())
    if not name.replace("_", "").isascii() or not name.replace("_", "").isalnum():
        utf8 = name.encode("utf-8", "replace").decode("utf-8")
        spellings |= dict.fromkeys((quote(utf8, safe=""), quote(utf8, safe="@"), quote_plus(utf8)))
        spellings |= dict.fromkeys(
            (name.replace('"', '""'), name.replace('"', '""""'), name.replace("'", "''"), name.replace("'", "\\'"))
        )
        for ascii_only in (True, False):
            for text in [name, name.replace('"', '""'), name.replace("'", "''")]:
                for _ in range(_LEVELS):
                    text = json.dumps(text, ensure_ascii=ascii_only)[1:-1]  # noqa: PLW2901 # JSON in JSON
                    spellings[text] = None
    return spellings


def _offsets(text: str, folded: str) -> Sequence[int]:
    """The offset in a text of each character of its casefold, and of the end. One letter can become several there
    (ß is ss): within a letter it is -1, because no name begins or ends there. Unlike ``lower``, ``casefold`` does not
    depend on what is around: Σ has two small letters, one of them for the end of a word.
    """
    if len(folded) == len(text):
        return range(len(text) + 1)
    inside = ((at, *[-1] * (len(letter.casefold()) - 1)) for at, letter in enumerate(text))
    return [*chain.from_iterable(inside), len(text)]


def _is_whole(text: str, start: int, end: int, *, is_short: bool) -> bool:
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return not (_joins(before, text[start], is_short=is_short) or _joins(after, text[end - 1], is_short=is_short))


def _joins(neighbour: str, edge: str, *, is_short: bool) -> bool:
    """Whether a character next to a name makes it part of a longer word. ``is_short``: see SHORT."""
    if not neighbour or is_unspaced(neighbour) or is_unspaced(edge):
        return False
    return neighbour.isalnum() or (is_short and neighbour in "_$")
