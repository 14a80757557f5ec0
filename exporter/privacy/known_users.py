"""The names of users that are known: in the records of this run, and from earlier runs.

They are collected from all records, from the places where a user's name belongs, before any record is processed: so
they can be replaced wherever they occur.

Of users that only earlier runs read, no file in DIR contains the names. Their pseudonyms are known, and a keyed digest
of each name in one letter case. A word is such a name, in any letter case, if its digest is a known one. Single words
and sequences of up to five words (``jane.doe@a.com``) are tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, Final

from msgspec import json

from exporter.input import documented_form, json_reader
from exporter.input.documented_form import plain_text
from exporter.input.json_reader import Elements, Members, Number
from exporter.input.row import Row, lower_name
from exporter.model.identifiers import unquoted

if TYPE_CHECKING:
    from exporter.privacy.pseudonyms import Key

_MAY_TELL: Final = re.compile(r"user\b|user\$", re.IGNORECASE).search
_PART: Final = r'(?:"(?:[^"]|"")+"|[^\s".,;:()\[\]{}\'\\/=]+)'
_of_personal_database: Final = re.compile(
    r'(?<![\w$".])(?:"USER\$((?:[^"]|"")+)"|USER\$([A-Z_][\w$]*))(?=\.|\Z)', re.IGNORECASE
)
"""A user's personal database is ``USER$NAME``, the first part of an object's name."""
_of_statement: Final = re.compile(
    r"(?:(?:\A|;)\s*(?:CREATE(?:\s+OR\s+REPLACE)?|ALTER|DROP|DESC|DESCRIBE)"
    rf"|\b(?:GRANT|REVOKE)\s+(?:DATABASE\s+)?ROLE\s+{_PART}(?:\.{_PART})*\s+(?:TO|FROM))"
    rf"\s+USER\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?!(?:SET|UNSET|IF|RENAME)\b)({_PART})",
    re.IGNORECASE,
)
"""Places where SQL names a user (``GRANT ROLE R TO USER NAME``)."""
_names_user: Final = re.compile(r"user|login|e-?mail", re.IGNORECASE).search
_OF_OTHERS: Final = ("ROLE", "APPLICATION", "SHARE", "SERVICE", "AGENT")


def names_in_row(row: Row) -> Iterator[str]:
    """The user names in a row."""
    yield row.user_name
    if row.invoker_identity is not None:
        yield from _of_invoker(row.invoker_identity)
    content = row.content.decode("utf-8", "replace")
    if _MAY_TELL(content):
        yield from _anywhere(json.decode(row.content))


def names_in_unreadable(text: str) -> Iterator[str]:
    """The user names in a line that is a JSON object but not a valid row."""
    members = documented_form.members_of(text)
    for member in members or ():
        name = lower_name(member.name)
        if name == "user_name":
            yield plain_text(member.value) or ""
        elif name == "invoker_identity":
            yield from _of_invoker(plain_text(member.value) or "")
    yield from _anywhere(members)


def names_in_history(text: str, *, query_text: bool) -> Iterator[str]:
    """The user names in a line of QUERY_HISTORY. ``query_text``: whether SQL text is exported, and so searched."""
    columns = columns_of_history(text)
    yield columns.get("user_name") or ""
    if query_text:
        yield from _of_sql(columns.get("query_text") or "")


def _of_text(text: str) -> Iterator[str]:
    for match in _of_personal_database.finditer(text):
        yield match[1].replace('""', '"') if match[1] else match[2].upper()


def _of_sql(text: str) -> Iterator[str]:
    for match in _of_statement.finditer(text):
        yield _stored(match[1])
    yield from _of_text(text)


def columns_of_history(line: str) -> dict[str, str | None]:
    """All columns of a line of QUERY_HISTORY, names in lower case; empty if the line is not one JSON object."""
    return {name: plain_text(text) for name, text in documented_form.texts_of_line(line).items()}


def _of_invoker(text: str) -> Iterator[str]:
    """The names in an invoker_identity: a name, or an object that contains one. The documents do not describe it."""
    value = _opened(text)
    if isinstance(value, str):
        yield value
    for json_object in _objects(value):
        is_other = any(word in _upper(json_object.get(key)) for key in ("type", "kind") for word in _OF_OTHERS)
        for member, member_value in json_object.items():
            if _names_user(member) or (member.lower() == "name" and not is_other):
                yield from _name(member_value)


def _anywhere(value: Any) -> Iterator[str]:
    """The user names in a JSON value: of user stages, of objects with the domain USER, of personal databases."""
    for json_object in _objects(value):
        if _upper(json_object.get("stageKind")) == "USER":
            yield from _name(json_object.get("objectName"))
            yield from _name(json_object.get("objectId"))
        elif _upper(json_object.get("objectDomain")) == "USER":
            yield from _name(json_object.get("objectName"))
        for text in (*json_object, *json_object.values()):  # in the keys are names of tags, policies and columns
            if isinstance(text, str) and _MAY_TELL(text):
                yield from _of_text(text)


def _upper(value: Any) -> str:
    """A word of Snowflake's in upper case; empty for other values, which may be nested too deep to be a text."""
    return value.strip(" ").upper() if isinstance(value, str) else ""


def _name(value: Any) -> Iterator[str]:
    if isinstance(value, str | int | Number) and not isinstance(value, bool):
        text = value.digits if isinstance(value, Number) else str(value)
        bare = text.removeprefix("@~").strip("/")
        yield _stored(bare) if bare.startswith('"') else bare


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, at any depth, also within strings that contain JSON."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Members):
            waiting += [member.value for member in item]
            yield item.last()
        elif isinstance(item, dict):
            waiting += item.values()
            yield item
        elif isinstance(item, Elements | list):
            waiting += item
        elif isinstance(item, str) and item.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
            parsed = _opened(item)
            waiting += [] if isinstance(parsed, str) else [parsed]


def _opened(text: str) -> Any:
    """The JSON value of a text, without strings around it; the text itself if it is not JSON."""
    value: Any = text
    while isinstance(value, str) and value.lstrip("\ufeff \t\r\n").startswith(("{", "[", '"')):
        try:
            value = json_reader.parse(value.lstrip("\ufeff"))
        except json_reader.NotJsonError:
            return value
    return value


def _stored(identifier: str) -> str:
    """An identifier of SQL as Snowflake stores it."""
    return unquoted(identifier) if identifier.startswith('"') else identifier.upper()


_WORD: Final = re.compile("[^\\W_]+(?:[\u0300-\u036f]+[^\\W_]*)*")
"""Letters and digits, with accents that are characters of their own."""
_WORDS: Final = 5
_BETWEEN: Final = 1
"""Most characters between two words of a name."""
_REMEMBERED: Final = 50_000
_HAS_QUOTES: Final = re.compile(r"[\"'\\]").search
_SLASHES: Final = re.compile(r"\\+")
_ESCAPED_QUOTE: Final = re.compile(r"\\?([\"'])(?:\\?\1)?")
_is_digest: Final = re.compile(r"[0-9A-F]{16}").fullmatch
_JOINS: Final = frozenset("_$")
FoundName = tuple[int, int, str]
"""Start, end and pseudonym of a name in a text."""
SHORT: Final = 3
"""A name with fewer letters and digits is found only as a whole identifier: ``PK`` is not found in ``PK_ORDERS``."""


def digests(words: Iterable[str], key: Key) -> dict[str, str]:
    """Pseudonym made with this key -> the digest after it; empty for one that has none. ``words``: of pseudonyms.txt,
    in order.
    """
    digest_of: dict[str, str] = {}
    last = ""
    for word in words:
        if key.is_pseudonym(word):
            digest_of.setdefault(word, "")
        elif last in digest_of and _is_digest(word):
            digest_of[last] = word
        last = word
    return digest_of


class EarlierUsers:
    """Finds names by their digests. ``lines``: what :meth:`exporter.pipeline.read.Screen.pseudonyms` gave in earlier
    runs. Former versions wrote no digest: such a user's name is found in its own letter case, and in upper, lower and
    title case.
    """

    def __init__(self, key: Key, lines: frozenset[str]) -> None:
        self._key = key
        self._by_digest: dict[str, list[str]] = {}
        self._alone: set[str] = set()
        self._pseudonyms = {line.partition(" ")[0] for line in lines}
        for line in sorted(lines):
            pseudonym, _, digest = line.partition(" ")
            if digest:
                self._by_digest.setdefault(digest, []).append(pseudonym)
            else:
                self._alone.add(pseudonym)
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
        candidates = self._by_digest.get(self._key.folded(spelling), []) if self._by_digest else []
        if candidates or self._alone:
            for name in dict.fromkeys((spelling.upper(), spelling, spelling.lower(), spelling.title())):
                pseudonym = self._key.pseudonym(name)
                if pseudonym in candidates or pseudonym in self._alone:
                    return pseudonym
        return candidates[0] if candidates else None

    def in_text(self, text: str) -> str:
        """The text with these names replaced by pseudonyms."""
        if not self:
            return text
        return self.of_name(text) or self._pseudonym_of_spelling(text) or replaced(text, self.find(text))

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Start, end and pseudonym of each of these names in a text, in order."""
        if not self:
            return
        words = [match.span() for match in _WORD.finditer(text)]
        is_near = [_is_near(text[end:start]) for (_, end), (start, _) in pairwise(words)]
        number = 0
        while number < len(words):
            near = takewhile(is_near.__getitem__, range(number, min(number + _WORDS, len(words)) - 1))
            for last in range(number + sum(1 for _ in near), number - 1, -1):
                start, end = words[number][0], words[last][1]
                is_tried = not _is_short_part(text, start, end)
                pseudonym = self._pseudonym_of_spelling(text[start:end]) if is_tried else None
                if pseudonym is not None:
                    yield start, end, pseudonym
                    number = last
                    break
            number += 1

    def _pseudonym_of_spelling(self, spelling: str) -> str | None:
        pseudonym = self._in_any_case(spelling)
        unescaped = _bare(spelling) if pseudonym is None else spelling
        return pseudonym if unescaped == spelling else self._in_any_case(unescaped)


def replaced(text: str, names: Iterable[FoundName]) -> str:
    """The text with the names that were found in it replaced by their pseudonyms."""
    pieces, last_end = [], 0
    for start, end, pseudonym in names:
        pieces += [text[last_end:start], pseudonym]
        last_end = end
    return "".join([*pieces, text[last_end:]]) if pieces else text


def _bare(spelling: str) -> str:
    """The text without the escapes of quotes in SQL and JSON, and of backslashes."""
    return _ESCAPED_QUOTE.sub(r"\1", _SLASHES.sub(r"\\", spelling)) if _HAS_QUOTES(spelling) else spelling


def _is_near(gap: str) -> bool:
    """Whether words with this between them may be one name."""
    return len(gap) <= _BETWEEN or len(_bare(gap)) <= _BETWEEN


def _is_short_part(text: str, start: int, end: int) -> bool:
    """Whether it is only part of an identifier and too short to count as a name there."""
    return end - start < SHORT and (text[start - 1 : start] in _JOINS or text[end : end + 1] in _JOINS)
