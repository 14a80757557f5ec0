"""The names of users whom only earlier runs read.

No file in DIR contains them. Of each the pseudonym is known, and a keyed digest of the name in one letter case. A text
is such a name, in any letter case, if its digest is a known one. So that not every part of a text has to be tried, the
digests of parts of names are known, too: of the first word of each, and of its shape, which is how many words it has,
and how many signs before the first and after the last one. Which part is of which name is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from exporter.errors import UsageError
from exporter.privacy.key import Key

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts without spaces between words, or with endings attached to names. Each character counts as a word."""
is_unspaced: Final = re.compile(f"[{UNSPACED}]").match
_LETTERS: Final = f"[^\\W_{UNSPACED}]"
_WORD: Final = re.compile(f"[{UNSPACED}][\u1160-\u11ff\u3099\u309a]*|{_LETTERS}+(?:[\u0300-\u036f]+{_LETTERS}*)*")
"""Letters and digits, with accents and vowels that are characters of their own."""
_LONGEST: Final = 600
"""Most characters of a name in a text: Snowflake's names have 255 at most, and quotes may be escaped."""
_REMEMBERED: Final = 50_000
_HAS_QUOTES: Final = re.compile(r"[\"'\\]").search
_SLASHES: Final = re.compile(r"\\+")
_ESCAPED_QUOTE: Final = re.compile(r"\\?([\"'])(?:\\?\1)?")
_JOINS: Final = frozenset("_$")
_PARTS: Final = "parts"
"""The last word in the line of a user: the digests of the parts of its name are among the lines."""
_is_digest: Final = re.compile(r"[0-9A-F]{16}").fullmatch
FoundName = tuple[int, int, str]
"""Start, end and pseudonym of a name in a text."""
SHORT: Final = 3
"""A name with fewer letters and digits is found only as a whole identifier: ``PK`` is not found in ``PK_ORDERS``."""


class _Shape(NamedTuple):
    """The form of a name: signs before its first word, words, signs after the last one."""

    before: int
    words: int
    after: int

    def digest(self, key: Key) -> str:
        """Of a text that is no word."""
        return key.part(" ".join(map(str, self)))


_SHAPES: Final = [
    _Shape(before, words, after) for words in range(32, 0, -1) for before in range(5) for after in range(5)
]
"""Those that are looked for."""


def lines_of_name(name: str, key: Key) -> Iterator[str]:
    """The lines of pseudonyms.txt for a name: its pseudonym with the digest of the name, and digests of its parts."""
    yield f"{key.pseudonym(name)} {key.folded(name)} {_PARTS}"
    words = list(_WORD.finditer(name))
    if words:
        yield key.part(words[0][0])
        yield _Shape(words[0].start(), len(words), len(name) - words[-1].end()).digest(key)


def lines_of_earlier(lines: Iterable[str], key: Key) -> tuple[dict[str, str], set[str]]:
    """Of the lines of pseudonyms.txt: pseudonym made with this key -> its line, and the digests of parts. Raises
    UsageError for a pseudonym in another form than :func:`lines_of_name` gives; other lines are left out.
    """
    users: dict[str, str] = {}
    parts: set[str] = set()
    for line in lines:
        first, *fields = line.split() or [""]
        if not fields and _is_digest(first):
            parts.add(first)
        elif key.is_pseudonym(first):
            if fields[1:] != [_PARTS] or not _is_digest(fields[0]):
                raise UsageError(
                    "pseudonyms.txt is of an earlier build: the names of its users cannot be found in texts any more. "
                    "Export all rows to a new folder, and list users whose rows are not given any more in privacy.users"
                )
            users[first] = line
    return users, parts


class EarlierUsers:
    """Finds names by their digests. ``lines``: what :meth:`exporter.privacy.screen.Screen.pseudonyms` gave in earlier
    runs.
    """

    def __init__(self, key: Key, lines: frozenset[str]) -> None:
        self._key = key
        self._by_digest: dict[str, list[str]] = {}
        users, parts = lines_of_earlier(sorted(lines), key)
        for pseudonym, line in users.items():
            self._by_digest.setdefault(line.split()[1], []).append(pseudonym)
        self._pseudonyms = users.keys()
        known = (shape for shape in _SHAPES if parts and shape.digest(key) in parts)
        self._shapes = sorted(known, key=lambda shape: (-shape.words, -shape.before - shape.after))
        self._is_first = lru_cache(maxsize=_REMEMBERED)(lambda word: key.part(word) in parts)
        self._in_any_case = lru_cache(maxsize=_REMEMBERED)(self._look_up)

    def __bool__(self) -> bool:
        return bool(self._pseudonyms)

    def of_name(self, name: str) -> str | None:
        """The pseudonym of the user of earlier runs with exactly this name; None if there is none."""
        if self._in_any_case(name) is None:
            return None
        pseudonym = self._key.pseudonym(name)
        return pseudonym if pseudonym in self._pseudonyms else None

    def _look_up(self, spelling: str) -> str | None:
        """The pseudonym of the user with this name in any letter case; None if there is none."""
        candidates = self._by_digest.get(self._key.folded(spelling)) if self._by_digest else None
        if not candidates:
            return None
        spellings = dict.fromkeys((spelling.upper(), spelling, spelling.lower(), spelling.title()))
        exact = (pseudonym for pseudonym in map(self._key.pseudonym, spellings) if pseudonym in candidates)
        return next(exact, candidates[0])

    def in_text(self, text: str) -> str:
        """The text with these names replaced by pseudonyms."""
        if not self:
            return text
        whole = (self.of_name(text) or self._of_spelling(text)) if len(text) <= _LONGEST else None
        return whole or replaced(text, self.find(text))

    def find(self, text: str) -> Iterator[FoundName]:
        """Start, end and pseudonym of each of these names in a text, in order."""
        words = [match.span() for match in _WORD.finditer(text)] if self else []
        last_end = 0
        for number, (start, end) in enumerate(words):
            if start < last_end:
                continue
            is_first = self._shapes and self._is_first(text[start:end])
            for from_, to in _spans(text, words, number, self._shapes, last_end) if is_first else ():
                pseudonym = self._of_spelling(text[from_:to])
                if pseudonym is not None:
                    yield from_, to, pseudonym
                    last_end = to
                    break

    def _of_spelling(self, spelling: str) -> str | None:
        pseudonym = self._in_any_case(spelling)
        while pseudonym is None and (unescaped := _bare(spelling)) != spelling:
            spelling = unescaped
            pseudonym = self._in_any_case(spelling)
        return pseudonym


def _spans(
    text: str, words: list[tuple[int, int]], number: int, shapes: Iterable[_Shape], first: int
) -> Iterator[tuple[int, int]]:
    """Start and end of what may be a name of one of these shapes, from a word on. ``first``: where it may begin."""
    for shape in shapes:
        last = number + shape.words - 1
        if last < len(words):
            start, end = words[number][0] - shape.before, words[last][1] + shape.after
            if first <= start and end <= len(text) and end - start <= _LONGEST and _is_whole(text, start, end, shape):
                yield start, end


def _is_whole(text: str, start: int, end: int, shape: _Shape) -> bool:
    """Whether there are signs where the shape has some, and nothing around it makes it part of a longer name."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    signs = text[start : start + shape.before] + text[end - shape.after : end]
    if signs and (any(map(str.isalnum, signs)) or _is_letter(before, shape.before) or _is_letter(after, shape.after)):
        return False
    if before not in _JOINS and after not in _JOINS:
        return True
    return sum(map(str.isalnum, text[start:end])) >= SHORT or is_unspaced(text[start + shape.before]) is not None


def _is_letter(neighbour: str, signs: int) -> bool:
    """Whether a character next to signs of a name makes them part of a longer word."""
    return signs > 0 and neighbour.isalnum() and not is_unspaced(neighbour)


def replaced(text: str, names: Iterable[FoundName]) -> str:
    """The text with the names that were found in it replaced by their pseudonyms."""
    pieces, last_end = [], 0
    for start, end, pseudonym in names:
        pieces += [text[last_end:start], pseudonym]
        last_end = end
    return "".join([*pieces, text[last_end:]]) if pieces else text


def _bare(spelling: str) -> str:
    """The text without the escapes of quotes in SQL and JSON, of backslashes, and of percent signs in URLs."""
    spelling = spelling.replace("%25", "%")
    return _ESCAPED_QUOTE.sub(r"\1", _SLASHES.sub(r"\\", spelling)) if _HAS_QUOTES(spelling) else spelling
