"""Filters of an export (period, users, databases, schemas) and their settings, with those of pseudonyms.

Patterns follow Snowflake's rules for identifiers: ``sales`` means SALES, ``"sales"`` means the name in lower case, and
``tmp_*`` means every name that begins with TMP_. The settings are ``--pseudonyms``, ``--since``, ``--until``, and the
tables ``[filter]`` and ``[privacy]`` in the settings file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import chain
from typing import Any, Final, NamedTuple

from exporter.errors import UsageError
from exporter.input.times import iso, parse_time
from exporter.privacy.key import Key, may_be_read_by_others
from exporter.system import files

_is_plain: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*").fullmatch
_PART: Final = r'%?"(?:[^"]|"")+"|[^."]+'
"""A part of a name; the stage of a table has its name after a percent sign."""
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
_IN_DATABASES: Final = frozenset({"DATABASE ROLE", "APPLICATION ROLE", "COLUMN"})
"""The domains, beside that of schemas, in whose names of two parts no schema is. All others, also new ones, are in a
schema: of two parts, the first is the schema.
"""


class NamePattern(NamedTuple):
    """``parts``: identifiers as Snowflake stores them. ``is_open``: the last one is a prefix."""

    parts: tuple[str, ...]
    is_open: bool

    def matches(self, *parts: str | None) -> bool:
        """Whether a name with these parts matches. An unknown part (None) does not match."""
        *leading, last = self.parts
        *names, last_name = parts
        if leading != names or last_name is None:
            return False
        return last_name.startswith(last) if self.is_open else last_name == last


def pattern(key: str, text: str, kind: str) -> NamePattern:
    """The pattern for a text. ``key``: the setting, for the message. ``kind``: users, databases or schemas. Raises
    UsageError.
    """
    is_open = text.endswith("*")
    bare = text.removesuffix("*")
    parts = (stored_identifier(bare),) if kind == USERS else _parts(bare)
    if "*" in _in_quotes.sub("", bare):
        raise UsageError(f"{key}: {text!r}: * means the rest of a name, so it is allowed only at the end")
    if len(parts) > _MOST[kind]:
        raise UsageError(
            f"{key}: {text!r} has {len(parts)} parts; the most is {_MOST[kind]}. Put a name with a dot in double quotes"
        )
    if not all(parts[:-1]) or not (parts[-1] or is_open):
        raise UsageError(f"{key}: {text!r}: a part of the name is empty")
    return NamePattern(parts, is_open)


def _parts(text: str) -> tuple[str, ...]:
    before, dot, end = text.rpartition(".")
    return (*stored_parts(before), "") if dot and not end else stored_parts(text)


def stored_parts(name: str) -> tuple[str, ...]:
    """The identifiers of a name as Snowflake stores them. A text that is not a name is split at its dots.

    >>> stored_parts('db.S."my.T"')
    ('DB', 'S', 'my.T')
    """
    return tuple(stored_identifier(part) for part in (_parts_of(name) if _are_parts(name) else name.split(".")))


def typed(name: str) -> str:
    """A stored name as a person types it: in quotes only if it needs them."""
    return name if stored_identifier(name) == name else quoted(name)


def quoted(name: str) -> str:
    """A stored name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def database_and_schema(
    domain: str | None, name: str | None, stage_kind: str | None = None
) -> tuple[str | None, str | None]:
    """The database and the schema of an object; None if it is in none, or if its name does not give it.

    ``domain``: a result of :func:`exporter.model.identifiers.normal_domain`.
    """
    if name is None or domain in _IN_NO_DATABASE or (stage_kind or "").strip(" ").lower() == "user":
        return None, None
    parts = stored_parts(name)
    if domain == _DATABASE:
        return parts[0], None
    if len(parts) == 1:
        return None, (parts[0] if domain == _SCHEMA else None)
    return parts[0], (parts[1] if len(parts) > 2 or domain == _SCHEMA else None)


def stored_identifier(part: str) -> str:
    """An identifier as Snowflake stores it: letter case counts only in quotes.

    >>> stored_identifier("jsmith"), stored_identifier('"jsmith"'), stored_identifier("j@example.com")
    ('JSMITH', 'jsmith', 'j@example.com')
    """
    if len(part) > 1 and part[0] == part[-1] == '"':
        return part[1:-1].replace('""', '"')
    return part.upper() if _is_plain(part) else part


SINCE, UNTIL = "since", "until"
REASONS: Final = (SINCE, UNTIL, USERS, DATABASES, SCHEMAS)
"""The reasons why a row is left out, in the order in which they are checked."""


@dataclass(frozen=True)
class Filters:
    """``since`` (inclusive), ``until`` (exclusive): bounds for the start of a query, microseconds since 1970. Lists: a
    denied name is left out; if there is a list of allowed names, all others are left out.
    """

    since: int | None = None
    until: int | None = None
    allow_users: tuple[str, ...] = ()
    deny_users: tuple[str, ...] = ()
    allow_databases: tuple[str, ...] = ()
    deny_databases: tuple[str, ...] = ()
    allow_schemas: tuple[str, ...] = ()
    deny_schemas: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise UsageError for an empty period and for texts that are not names."""
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UsageError(
                f"since {iso(self.since)} is not before until {iso(self.until)}, so no query is left; "
                "until is exclusive: queries that start at until are not exported"
            )
        for name in LISTS:
            for text in getattr(self, name):
                pattern(f"filter.{name}", text, name.partition("_")[2])

    @property
    def any(self) -> bool:
        """Whether any filter is given."""
        return self != Filters()

    @property
    def active(self) -> list[str]:
        """The given filters, as names from :data:`REASONS`."""
        active = {
            entry.name.rpartition("_")[2] for entry in fields(self) if getattr(self, entry.name) not in {None, ()}
        }
        return [text for text in REASONS if text in active]

    @property
    def of_users(self) -> bool:
        """Whether there are lists of users."""
        return bool(self.allow_users or self.deny_users)

    @property
    def of_objects(self) -> bool:
        """Whether there are lists of databases or schemas."""
        return bool(self.allow_databases or self.deny_databases or self.allow_schemas or self.deny_schemas)

    def row(self, start: int | None, user_name: str | None) -> str | None:
        """Why a row is left out, one of :data:`REASONS`; None if it is kept. An unknown value leaves no row out."""
        if start is not None and self.since is not None and start < self.since:
            return SINCE
        if start is not None and self.until is not None and start >= self.until:
            return UNTIL
        return None if user_name is None or not self.of_users else _user(self, user_name)

    def object(self, domain: str | None, name: str | None, stage_kind: str | None = None) -> str | None:
        """Why an object is left out; None if it is kept. ``domain``: as in :func:`database_and_schema`."""
        return _object(self, domain, name, stage_kind)

    def for_manifest(self, of_user: Callable[[str], str], of_object: Callable[[str], str]) -> dict[str, Any]:
        """The given filters, for the manifest. The functions give what it shows of the pattern of a user, and of that
        of a database or schema.
        """
        given = {name: getattr(self, name) for name in LISTS if getattr(self, name)}
        lists = {
            name: list(map(of_user if name.endswith(USERS) else of_object, texts)) for name, texts in given.items()
        }
        times = {name: None if (bound := getattr(self, name)) is None else iso(bound) for name in (SINCE, UNTIL)}
        return {**times, "filter": lists or None}


LISTS: Final = tuple(filter_field.name for filter_field in fields(Filters) if filter_field.name not in (SINCE, UNTIL))


def filters_of(since: str | None, until: str | None, lists: Mapping[str, tuple[str, ...]]) -> Filters:
    """The filters from the given settings. Raises UsageError."""
    return Filters(_time(SINCE, since), _time(UNTIL, until), **lists)


def _time(key: str, text: str | None) -> int | None:
    time = parse_time(text) if text else None
    if text is not None and time is None:
        raise UsageError(f"{key}: {text!r} is not a day or a time; write 2026-03-01 or 2026-03-01T08:00:00Z (UTC)")
    return time


@lru_cache(maxsize=64)
def _patterns(texts: tuple[str, ...], kind: str) -> tuple[NamePattern, ...]:
    return tuple(pattern("filter", text, kind) for text in texts)


def _lists(filters: Filters, kind: str) -> tuple[tuple[NamePattern, ...], tuple[NamePattern, ...]]:
    """The allowed and the denied names of a kind."""
    return _patterns(getattr(filters, f"allow_{kind}"), kind), _patterns(getattr(filters, f"deny_{kind}"), kind)


@lru_cache(maxsize=20_000)
def _user(filters: Filters, name: str) -> str | None:
    return USERS if _is_out(*_lists(filters, USERS), lambda entry: entry.matches(name)) else None


@lru_cache(maxsize=20_000)
def _object(filters: Filters, domain: str | None, name: str | None, stage_kind: str | None) -> str | None:
    database, schema = database_and_schema(domain, name, stage_kind)
    if database is not None and _is_out(*_lists(filters, DATABASES), lambda entry: entry.matches(database)):
        return DATABASES
    allowed, denied = _lists(filters, SCHEMAS)
    places = list(_schemas(domain, name, database, schema))
    if places:
        is_out = _is_out(allowed, denied, lambda entry: any(_is_schema(entry, *place) for place in places))
        return SCHEMAS if is_out else None
    # A database is kept if one of its schemas may be allowed.
    is_out_of_all = database is not None and _is_out(allowed, (), lambda entry: entry.parts[:-1] in {(), (database,)})
    return SCHEMAS if is_out_of_all else None


def _schemas(
    domain: str | None, name: str | None, database: str | None, schema: str | None
) -> Iterator[tuple[str | None, str]]:
    """Database and schema of an object whose name gives a schema. Of a name of two parts that is not known to be in
    a database directly, the first is the schema. If its kind is not known, it may also be the name of a schema.
    """
    if schema is not None:
        yield database, schema
    elif database is not None and name is not None and domain != _DATABASE and domain not in _IN_DATABASES:
        yield None, database
        if domain is None:
            yield database, stored_parts(name)[-1]


def _is_out(
    allowed: Sequence[NamePattern], denied: Iterable[NamePattern], matches: Callable[[NamePattern], bool]
) -> bool:
    return any(map(matches, denied)) or (bool(allowed) and not any(map(matches, allowed)))


def _is_schema(entry: NamePattern, database: str | None, schema: str) -> bool:
    return entry.matches(schema) if len(entry.parts) == 1 else entry.matches(database, schema)


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

    def for_manifest(self) -> dict[str, Any]:
        """For the manifest: the key's fingerprint, the users who keep their names, the period and the lists; None for
        what was not given. With pseudonyms, users in lists are shown by their pseudonyms, and databases and schemas,
        whose names may have those of users in them, as :meth:`as_digits`.
        """
        pseudonyms = None if self.key is None else {"key": self.key.fingerprint, "keep": list(self.keep)}
        return {"pseudonyms": pseudonyms, **self.filters.for_manifest(self._hidden, self.as_digits)}

    def as_digits(self, text: str) -> str:
        """Digits for a setting in which names of users may be: before the rows are read, it is not known which. They
        are the same in each run, so that an update sees whether the setting is. The text itself without pseudonyms.
        """
        return text if self.key is None else self.key.setting(text)

    def _hidden(self, text: str) -> str:
        hidden_pattern = pattern("filter", text, USERS)
        if self.key is None or any(
            pattern("keep", kept_text, USERS).matches(*hidden_pattern.parts) for kept_text in self.keep
        ):
            return text
        return self.key.pseudonym(hidden_pattern.parts[0]) + ("*" if hidden_pattern.is_open else "")


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
    listed = {path: _names_in_file(path) for path in privacy.get("users", ())}
    users = frozenset(chain.from_iterable(listed.values()))
    return Privacy(key, users, keep, filters, (*_advice(pseudonyms), *_empty(listed)))


def _advice(path: str) -> tuple[str, ...]:
    if not may_be_read_by_others(path):
        return ()
    return (f"{path}: others can read this key, and find the names behind pseudonyms with it; run chmod 600 {path}",)


def _empty(listed: Mapping[str, list[str]]) -> Iterator[str]:
    return (
        f"privacy.users: {path}: names nobody; if what made this list has failed, its users keep their names"
        for path, names in listed.items()
        if not names
    )


def _names_in_file(path: str) -> list[str]:
    """The names in a file, one on each line."""
    try:
        content = files.read(path, _LONGEST_LIST + 1)
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
