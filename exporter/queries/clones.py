"""What changes say of whole schemas and databases: a CLONE, which brings every object in it, and what ends one.

The row of a CLONE names the two schemas or databases, and not the objects in them (view, "object_modified_by_ddl"). Its
source is in the properties of the change, or among what the query read (view, "Read query notes").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.queries.around import containers
from exporter.queries.effects import CREATES, DROPS
from exporter.queries.identifiers import canonical_name, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import Change, Content

KINDS: Final = {"database": 1, "schema": 2}
"""Kinds of objects that are cloned with what is in them, and how many parts their names have."""
COPIED: Final = "table"
"""The kind of objects whose data a CLONE of their schema or database copies."""

BEGINS: Final = "CREATE"
ENDS: Final = ("DROP", "REPLACE")
"""Operations on a schema or database after which nothing that was in it is there."""
RESTORES: Final = "UNDROP"


class Remade(NamedTuple):
    """A schema or database is made, dropped, restored or renamed: what has its name afterwards is another one.
    ``source``: the name of that which was cloned, empty if it is no CLONE. Names are canonical. ``operation``: as in
    the row.
    """

    change_key: str
    target: str
    source: str
    operation: str


def remade(content: Content) -> Iterator[tuple[str, Remade]]:
    """What the query does to schemas and databases, each with the key of the changed object."""
    for change in content.changes:
        kind = change.thing.kind
        if kind not in KINDS:
            continue
        given = [name for name in (change.new_name, change.swap_name) if name is not None]
        if change.operation not in {*CREATES, *DROPS} and not given:
            continue
        source = _source(change, content) if change.operation in CREATES else ""
        for name in (change.thing.name, *given):
            if name is not None and len(parts_of(name)) == KINDS[kind]:
                target = canonical_name(name)
                is_clone = source != target and name == change.thing.name
                yield change.thing.key, Remade(change.change_key, target, source if is_clone else "", change.operation)


def _source(change: Change, content: Content) -> str:
    kind = change.thing.kind
    named = {change.source_name}
    if change.source_key is None:
        named = {access.thing.name for access in content.accesses if access.thing.kind == kind}
    elif change.source_key.split("/", 1)[0] != kind:
        return ""
    names = {canonical_name(name) for name in named if name is not None and len(parts_of(name)) == KINDS[kind]}
    names -= {canonical_name(change.thing.name or "")}
    return min(names) if len(names) == 1 else ""


def around(name: str) -> tuple[str, ...]:
    """The canonical names of the schema and the database of a table; empty if its name is not qualified."""
    every = containers(COPIED, name)
    return tuple([canonical_name(one.name) for one in every if one.name is not None])


def database(container: str) -> str:
    """The database of a schema, or itself."""
    return parts_of(container)[0]


def in_source(name: str, target: str, source: str) -> str:
    """The canonical name that a table in the target of a CLONE has in its source."""
    rest = parts_of(canonical_name(name))[len(parts_of(target)) :]
    return ".".join([source, *rest])
