"""Patterns for names of users, databases and schemas in the settings, by Snowflake's rules for identifiers.

``sales`` means SALES, ``"sales"`` means the name in lower case, and ``tmp_*`` means every name that begins with TMP_.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from exporter.errors import UsageError

_is_plain: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*").fullmatch
_PART: Final = r'"(?:[^"]|"")+"|[^."]+'
_parts_of: Final = re.compile(_PART).findall
_are_parts: Final = re.compile(rf"(?:{_PART})(?:[.](?:{_PART}))*").fullmatch
_in_quotes: Final = re.compile(r'"(?:[^"]|"")*"')
USERS, DATABASES, SCHEMAS = "users", "databases", "schemas"
_MOST: Final = {USERS: 1, DATABASES: 1, SCHEMAS: 2}
"""Most parts of a pattern: a user's name is always one part; a schema may have its database before it."""
_DATABASE, _SCHEMA = "DATABASE", "SCHEMA"
_IN_NO_DATABASE: Final = frozenset(
    {"ROLE", "USER", "WAREHOUSE", "SHARE", "LISTING", "INTEGRATION", "ACCOUNT", "SESSION", "ORGANIZATION"}
)


class Pattern(NamedTuple):
    """``parts``: identifiers as Snowflake stores them. ``is_open``: the last one is a prefix."""

    parts: tuple[str, ...]
    is_open: bool

    def fits(self, *parts: str | None) -> bool:
        """Whether a name with these parts matches. An unknown part (None) does not match."""
        *before, last = self.parts
        *given, end = parts
        if before != given or end is None:
            return False
        return end.startswith(last) if self.is_open else end == last


def pattern(key: str, text: str, kind: str) -> Pattern:
    """The pattern for a text. ``key``: the setting, for the message. ``kind``: users, databases or schemas. Raises
    UsageError.
    """
    is_open = text.endswith("*")
    bare = text.removesuffix("*")
    parts = (stored(bare),) if kind == USERS else _parts(bare)
    if "*" in _in_quotes.sub("", bare):
        raise UsageError(f"{key}: {text!r}: * means the rest of a name, so it is allowed only at the end")
    if len(parts) > _MOST[kind]:
        raise UsageError(
            f"{key}: {text!r} has {len(parts)} parts; the most is {_MOST[kind]}. Put a name with a dot in double quotes"
        )
    if not all(parts[:-1]) or not (parts[-1] or is_open):
        raise UsageError(f"{key}: {text!r}: a part of the name is empty")
    return Pattern(parts, is_open)


def _parts(text: str) -> tuple[str, ...]:
    before, dot, end = text.rpartition(".")
    return (*stored_parts(before), "") if dot and not end else stored_parts(text)


def stored_parts(name: str) -> tuple[str, ...]:
    """The identifiers of a name as Snowflake stores them. A text that is not a name is split at its dots.

    >>> stored_parts('db.S."my.T"')
    ('DB', 'S', 'my.T')
    """
    return tuple(stored(part) for part in (_parts_of(name) if _are_parts(name) else name.split(".")))


def typed(name: str) -> str:
    """A stored name as a person types it: in quotes only if it needs them."""
    return name if stored(name) == name else quoted(name)


def quoted(name: str) -> str:
    """A stored name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def place_of(domain: str | None, name: str | None, stage_kind: str | None = None) -> tuple[str | None, str | None]:
    """The database and the schema of an object; None if it is in none, or if its name does not give it.

    ``domain``: a result of :func:`exporter.queries.identifiers.normal_domain`.
    """
    if name is None or domain in _IN_NO_DATABASE or (stage_kind or "").strip(" ").lower() == "user":
        return None, None
    parts = stored_parts(name)
    if domain == _DATABASE:
        return parts[0], None
    if len(parts) == 1:
        return None, (parts[0] if domain == _SCHEMA else None)
    return parts[0], (parts[1] if len(parts) > 2 or domain == _SCHEMA else None)


def stored(part: str) -> str:
    """An identifier as Snowflake stores it: letter case counts only in quotes.

    >>> stored("jsmith"), stored('"jsmith"'), stored("j@example.com")
    ('JSMITH', 'jsmith', 'j@example.com')
    """
    if len(part) > 1 and part[0] == part[-1] == '"':
        return part[1:-1].replace('""', '"')
    return part.upper() if _is_plain(part) else part
