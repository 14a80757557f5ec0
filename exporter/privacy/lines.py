"""Replace user names in a line of JSON by pseudonyms. The rest of the line stays unchanged.

The line is not decoded and encoded again: its strings are replaced one by one, so that numbers keep their digits,
members their order, and repeated names are kept. A string that contains JSON (an array as text) is treated likewise.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct, json

from exporter.privacy.names import Names
from exporter.queries.facts import History
from exporter.rows import documents, lenient
from exporter.rows.columns import NOT_DECODED
from exporter.rows.row import STRUCTURED, Row

if TYPE_CHECKING:
    from exporter.privacy.key import Key

_LITERAL: Final = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')"""
_STRING: Final = re.compile(
    rf"({_LITERAL})(?:([ \t\r\n]*+:[ \t\r\n]*+)({_LITERAL})?)?",
    re.DOTALL,
)
"""A string. If it is the name of a member, also the colon and the value, if that is a string."""
_REMEMBERED: Final = 20_000
"""Most strings that are cached with their replacements, because statements recur."""
_LONGEST: Final = 400
"""Longest string that is cached, in characters."""

_DOCUMENTED: Final = {
    name
    for one in vars(documents).values()
    if isinstance(one, type) and issubclass(one, Struct) and one is not Struct
    for name in one.__struct_encode_fields__
}
_OF_PROPERTIES: Final = {
    *("value", "tags", "tagValue", "subOperationType", "objectId", "allowedValues", "comment", "policyBody"),
    *("policySignature", "maskingPolicies", "rowAccessPolicies", "swapTargetDomain", "swapTargetId", "swapTargetName"),
}
_NAMES: Final = frozenset(
    name.lower()
    for name in (*_DOCUMENTED, *_OF_PROPERTIES, *STRUCTURED, *Row.__struct_fields__, *History.__struct_fields__)
) | {"query_start_time"}
"""Documented names of members. Other names, such as those of columns, may contain a user's name."""
_NO_NAMES: Final = frozenset(
    {
        *("query_id", "parent_query_id", "root_query_id", "query_start_time", "event_source"),
        *("organization_name", "account_name", "account_locator", "accountname"),
        *("objectdomain", "stagekind", "policykind", "operationtype", "suboperationtype", "swaptargetdomain"),
        *("jointype", "type", "datatype", "agenttype"),
    }
)
"""Members whose values cannot contain a user's name: Snowflake's keywords, query ids, times, accounts."""
_IDS: Final = frozenset({"objectid", "columnid", "policyid", "swaptargetid", "agentid"})
_USER: Final = frozenset({"user_name", "username"})
_NOTHING: Final = frozenset({"", "TRUNCATED", "null", "undefined", "\\N"})
"""Texts that mean null. They are not replaced, even if a user has such a name."""
_check: Final = json.Decoder(Raw).decode


class Lines:
    """Replaces user names in lines."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._known: dict[str, str] = {}

    def line(self, text: str) -> str:
        """The line, a JSON value, with names replaced by pseudonyms."""
        return _STRING.sub(self._string, text)

    def text(self, text: str) -> str:
        """The same for a text that may be JSON."""
        bare = text.lstrip("\ufeff \t\r\n")
        return self.line(text) if bare.startswith(("{", "[", '"')) and _is_json(bare) else self._names.in_text(text)

    def _string(self, found: re.Match[str]) -> str:
        given = found[0]
        known = self._known.get(given)
        if known is not None:
            return known
        name, colon, value = found.groups()
        if colon is None:
            made = self._value("", name)
        else:
            made = f"{self._name(name)}{colon}{'' if value is None else self._value(_said(name), value)}"
        if len(given) <= _LONGEST:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[given] = made
        return made

    def _name(self, literal: str) -> str:
        said = _said(literal)
        return literal if said.strip(" ").lower() in _NAMES else self._told(literal, said, self._names.in_text(said))

    def _value(self, of: str, literal: str) -> str:
        said, member = _said(literal), of.strip(" ").lower()
        if member in _USER:
            return self._told(literal, said, self._names.whole(said) or said)
        if member in _NO_NAMES or said in _NOTHING or (member in _IDS and said.isdecimal()):
            return literal
        return self._told(literal, said, self.text(said))

    @staticmethod
    def _told(literal: str, said: str, now: str) -> str:
        return literal if now == said else lenient.quoted(now)


@lru_cache(maxsize=4)
def lines_of(key: Key, names: frozenset[str], earlier: frozenset[str] = frozenset()) -> Lines:
    """The :class:`Lines` for these names, prepared once for all tasks of a process."""
    return Lines(Names(key, names, earlier))


def _said(literal: str) -> str:
    value = lenient.parse(literal)
    assert isinstance(value, str)
    return value


def _is_json(text: str) -> bool:
    try:
        _check(text)
    except NOT_DECODED:
        try:
            lenient.parse(text)
        except lenient.NotJsonError:
            return False
    return True
