"""Replace user names in a line of JSON by pseudonyms. The rest of the line stays unchanged.

The line is not decoded and encoded again: its strings are replaced one by one, so that numbers keep their digits,
members their order, and repeated names are kept. A string that contains JSON (an array as text) is treated likewise.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from msgspec import Raw, json

from exporter.input import json_reader
from exporter.input.row import NOT_DECODED
from exporter.model.identifiers import system_view
from exporter.privacy.key import Key
from exporter.privacy.pseudonyms import UserNames
from exporter.privacy.user_text import (
    LITERAL,
    OWN_COLUMNS,
    ROW,
    TEXTS,
    USER,
    JsonContainer,
    StringPlaces,
    is_own_word,
    may_be_no_text,
)

_NUMBER: Final = r"(?<![\w.+-])(?:0|[1-9][0-9]*+)(?![\w.+-])"
_STRING: Final = re.compile(rf"({LITERAL})(?:([ \t\r\n]*+:[ \t\r\n]*+)({LITERAL})?)?", re.DOTALL)
"""A string. If it is the name of a member, also the colon and the value, if that is a string."""
_STRING_OR_NUMBER: Final = re.compile(
    rf"({LITERAL})(?:([ \t\r\n]*+:[ \t\r\n]*+)({LITERAL}|{_NUMBER})?)?|{_NUMBER}", re.DOTALL
)
"""The same where a number may be a name."""
_REMEMBERED: Final = 20_000
"""Most strings that are cached with their replacements, because statements recur."""
_LONGEST: Final = 400
"""Longest string that is cached, in characters."""
_BLANKS: Final = "\ufeff \t\r\n"
_NOTHING: Final = frozenset({"", "TRUNCATED", "null", "undefined", "\\N"})
"""Texts that mean null. They are not replaced, even if a user has such a name."""
_check: Final = json.Decoder(Raw).decode


class Lines:
    """Replaces user names in lines."""

    def __init__(self, names: UserNames) -> None:
        self._names = names
        self._strings = _STRING_OR_NUMBER if names.may_be_numbers else _STRING
        self._cache: dict[str, str] = {}
        self._by_place: dict[tuple[str, JsonContainer, bool], str] = {}

    def line(self, text: str) -> str:
        """A row, a JSON object, with names replaced by pseudonyms, except in what Snowflake wrote itself."""
        return self._line(text, ROW)

    def text(self, text: str) -> str:
        """A text of users, which may be JSON, with names replaced by pseudonyms."""
        return self._in(text, TEXTS)

    def _in(self, text: str, root: JsonContainer) -> str:
        """The same for a text of this place."""
        return self._line(text, root) if _may_be_json(text) and _is_json(text) else self._names.in_text(text)

    def _line(self, text: str, root: JsonContainer) -> str:
        places, cached = StringPlaces(text, root, _text_of), self._cache.get
        return self._strings.sub(lambda match: cached(match[0]) or self._string(match, root, places), text)

    def _string(self, match: re.Match[str], root: JsonContainer, places: StringPlaces) -> str:
        """The replacement of a string or member that is not known yet."""
        text = match[0]
        name, colon, value = match.groups()
        if name is None:
            return self._number(text, match.start(), places)
        key = None if colon is None else _text_of(name)
        if root is ROW and key in OWN_COLUMNS and places.is_outermost(match.start()):
            return text  # ids and times are new in each row
        literal = name if colon is None else value
        string = None if literal is None else literal if literal.isdecimal() else _text_of(literal)
        replacement = self._anywhere(match, key, string)
        if replacement is not None:
            _store(self._cache, text, text, replacement)
            return replacement
        place = places.place(match.start()) if root is not TEXTS else TEXTS
        if place is None:
            return self._literal(text, string or "", self._in(string or "", root))
        cache_key = text, place, _is_before_object(match)
        replacement = self._by_place.get(cache_key) or self._with_pseudonyms(match, key, string, place)
        _store(self._by_place, cache_key, text, replacement)
        return replacement

    def _anywhere(self, match: re.Match[str], key: str | None, text: str | None) -> str | None:
        """The string, or the member, with names replaced, if its place makes no difference; None if the place counts.
        Most strings contain no name at all, so their places are not looked up.
        """
        if text is not None and _may_be_json(text) and (text.lstrip(_BLANKS)[0] != '"' or _is_json(text)):
            return None
        if key in OWN_COLUMNS and self._names.are_hashed:  # a query's ids are new in each row
            return None
        if key is not None and self._names.in_text(key) != key:
            return None
        replaced = text if text is None or text in _NOTHING else self._names.in_text(text)
        if text is None or replaced is None or replaced == text:
            return match[0]
        is_same_anywhere = (
            replaced == self._names.of_name(text) if key == "user_name" else key is not None and not may_be_no_text(key)
        )
        if not is_same_anywhere or system_view(text) is not None:
            return None
        return match[0][: match.start(3) - match.start()] + json_reader.quoted(replaced)

    def _with_pseudonyms(self, match: re.Match[str], key: str | None, string: str | None, place: JsonContainer) -> str:
        name, colon, value = match.groups()
        if key is None:
            # An element of a documented array may be JSON text; in an array of a property it is a text of users.
            return self._value(name, string or "", place.kind, place if place.element is place else TEXTS)
        member = place.member(key, _is_before_object(match))
        new_name = name if member.is_own else self._literal(name, key, self._names.in_text(key))
        return f"{new_name}{colon}{'' if string is None else self._value(value, string, member.kind, member.in_string)}"

    def _value(self, literal: str, string: str, kind: str, inside: JsonContainer) -> str:
        if kind == USER:
            return self._literal(literal, string, self._names.of_name(string) or string)
        if string in _NOTHING or is_own_word(kind, string):
            return literal
        if "." not in string and system_view(string) is not None:
            return literal
        return self._literal(literal, string, self._in(string, inside))

    def _number(self, number: str, position: int, places: StringPlaces) -> str:
        """A number that users wrote may be a user's name, too."""
        replaced = self._names.in_text(number)
        if replaced == number:
            _store(self._cache, number, number, number)
            return number
        return json_reader.quoted(replaced) if places.is_text(position) else number

    @staticmethod
    def _literal(literal: str, string: str, replaced: str) -> str:
        return literal if replaced == string else json_reader.quoted(replaced)


def _store(cache: dict[Any, str], key: Any, text: str, replacement: str) -> None:
    if len(text) <= _LONGEST:
        if len(cache) >= _REMEMBERED:
            cache.clear()
        cache[key] = replacement


@lru_cache(maxsize=4)
def lines_of(key: Key, names: frozenset[str], earlier: frozenset[str] = frozenset()) -> Lines:
    """The :class:`Lines` for these names, prepared once for all tasks of a process."""
    return Lines(UserNames(key, names, earlier))


def _is_before_object(match: re.Match[str]) -> bool:
    """Whether the value of a member is an object."""
    return match.string.startswith("{", match.end())


def _may_be_json(text: str) -> bool:
    return text.lstrip(_BLANKS).startswith(("{", "[", '"'))


def _text_of(literal: str) -> str:
    value = json_reader.parse(literal)
    assert isinstance(value, str)
    return value


def _is_json(text: str) -> bool:
    text = text.lstrip(_BLANKS)
    try:
        _check(text)
    except NOT_DECODED:
        try:
            json_reader.parse(text)
        except json_reader.NotJsonError:
            return False
    return True
