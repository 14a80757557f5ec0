"""Filters of an export: period, users, databases, schemas."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from exporter.errors import UsageError
from exporter.privacy.patterns import DATABASES, SCHEMAS, USERS, Pattern, pattern, place_of
from exporter.rows.times import iso, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
    def given(self) -> list[str]:
        """The given filters, as names from :data:`REASONS`."""
        chosen = {one.name for one in fields(self) if getattr(self, one.name) not in {None, ()}}
        return [one for one in REASONS if chosen & {one, f"allow_{one}", f"deny_{one}"}]

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
        """Why an object is left out; None if it is kept. ``domain``: as in :func:`place_of`."""
        return _object(self, domain, name, stage_kind)

    def in_database(self, domain: str | None, name: str | None, stage_kind: str | None = None) -> bool:
        """Whether the object is in a database, or is a database itself."""
        return place_of(domain, name, stage_kind) != (None, None)

    def shown(self, hidden: Callable[[str], str]) -> dict[str, Any]:
        """The given filters, for the manifest. ``hidden``: replaces a user's name."""
        lists = {name: list(getattr(self, name)) for name in LISTS if getattr(self, name)}
        lists |= {name: [hidden(one) for one in texts] for name, texts in lists.items() if name.endswith(USERS)}
        times = {name: None if (at := getattr(self, name)) is None else iso(at) for name in (SINCE, UNTIL)}
        return {**times, "filter": lists or None}


LISTS: Final = tuple(one.name for one in fields(Filters) if one.name not in (SINCE, UNTIL))


def filters_of(since: str | None, until: str | None, lists: Mapping[str, tuple[str, ...]]) -> Filters:
    """The filters from the given settings. Raises UsageError."""
    return Filters(_time(SINCE, since), _time(UNTIL, until), **lists)


def _time(key: str, text: str | None) -> int | None:
    at = parse_time(text) if text else None
    if text is not None and at is None:
        raise UsageError(f"{key}: {text!r} is not a day or a time; write 2026-03-01 or 2026-03-01T08:00:00Z (UTC)")
    return at


@lru_cache(maxsize=64)
def _patterns(texts: tuple[str, ...], kind: str) -> tuple[Pattern, ...]:
    return tuple(pattern("filter", text, kind) for text in texts)


@lru_cache(maxsize=20_000)
def _user(filters: Filters, name: str) -> str | None:
    allowed, denied = _patterns(filters.allow_users, USERS), _patterns(filters.deny_users, USERS)
    return USERS if _is_out(allowed, denied, lambda one: one.fits(name)) else None


@lru_cache(maxsize=20_000)
def _object(filters: Filters, domain: str | None, name: str | None, stage_kind: str | None) -> str | None:
    database, schema = place_of(domain, name, stage_kind)
    allowed, denied = _patterns(filters.allow_databases, DATABASES), _patterns(filters.deny_databases, DATABASES)
    if database is not None and _is_out(allowed, denied, lambda one: one.fits(database)):
        return DATABASES
    allowed, denied = _patterns(filters.allow_schemas, SCHEMAS), _patterns(filters.deny_schemas, SCHEMAS)
    if schema is not None:
        return SCHEMAS if _is_out(allowed, denied, lambda one: _is_schema(one, database, schema)) else None
    # A database is kept if one of its schemas may be allowed.
    is_in_one = database is not None and _is_out(allowed, (), lambda one: one.parts[:-1] in {(), (database,)})
    return SCHEMAS if is_in_one else None


def _is_out(allowed: Sequence[Pattern], denied: Iterable[Pattern], fits: Callable[[Pattern], bool]) -> bool:
    return any(map(fits, denied)) or (bool(allowed) and not any(map(fits, allowed)))


def _is_schema(one: Pattern, database: str | None, schema: str) -> bool:
    return one.fits(schema) if len(one.parts) == 1 else one.fits(database, schema)
