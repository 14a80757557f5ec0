"""Schemas, databases, roles and warehouses, derived from the names of objects and from QUERY_HISTORY.

They are objects like others, identified by name. Object names in rows are fully qualified (view, "objectName"). Names
in QUERY_HISTORY are as Snowflake stores them, without quotes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from exporter.queries.identifiers import canonical_name, named, normal_domain, parts_of, stored_as
from exporter.queries.objects import thing_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import History, Thing

_OF_ACCOUNTS: Final = frozenset(
    ("account-object", "database", "listing", "location", "role", "share", "user-object", "user-stage", "warehouse")
)
"""Kinds of objects that are not in a schema, even if their names have several parts."""
_OF_DATABASES: Final = ("schema", "database-role")


@lru_cache(maxsize=20_000)
def containers(kind: str, name: str) -> tuple[Thing, ...]:
    """The schema and the database of an object, in this order, derived from its name. Empty if the name is not fully
    qualified, or if objects of this kind are in no schema.
    """
    parts = parts_of(name)
    if kind in _OF_ACCOUNTS or len(parts) != (2 if kind in _OF_DATABASES else 3):
        return ()
    names = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    found = (thing_of("SCHEMA" if len(parts_of(one)) > 1 else "DATABASE", None, canonical_name(one)) for one in names)
    return tuple(one for one in found if one is not None)


def runs_in(history: History) -> Iterator[Thing]:
    """The role and the warehouse of a query, as far as QUERY_HISTORY gives them."""
    for thing in (role_of(history.role_name, history.role_type), warehouse_of(history.warehouse_name)):
        if thing is not None:
            yield thing


@lru_cache(maxsize=1_000)
def role_of(name: str | None, kind: str | None) -> Thing | None:
    """The role of a query; None without a name. ``kind``: role_type, which distinguishes account roles from others."""
    known = named(name)
    return None if known is None else thing_of(normal_domain(kind) or "ROLE", None, stored_as(known))


@lru_cache(maxsize=1_000)
def warehouse_of(name: str | None) -> Thing | None:
    """The warehouse that a query ran on; None without a name."""
    known = named(name)
    return None if known is None else thing_of("WAREHOUSE", None, stored_as(known))
