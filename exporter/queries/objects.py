"""Derive things with a key from the objects in rows; helpers for all facts about things.

Two facts with one key differ only if Snowflake writes an object in two ways in one query. They are merged field by
field: what one of them leaves out, the other gives, and of two values the least is kept. So the result does not depend
on the order of rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar

from exporter.queries.facts import Column, Thing
from exporter.queries.identifiers import id_as_name, kind_of, named, normal_domain, object_key, usable_id
from exporter.rows.documents import (
    ColumnDocument,
    GuardedColumnDocument,
    JoinedDocument,
    ObjectDocument,
    SourcedColumnDocument,
    SourceDocument,
    Text,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Fact = TypeVar("Fact")
Document = TypeVar("Document", bound=ObjectDocument)
Key = tuple[str, ...]
_NO_COLUMN_ID: Final = ("0", "-1", "")


def said(value: Text) -> str | None:
    """The text; None if it is missing, blank or the sentinel of a truncated record."""
    return None if value is None else named(value if isinstance(value, str) else text(value))


@lru_cache(maxsize=20_000, typed=True)
def thing_of(  # noqa: PLR0913, PLR0917 - an object's fields, together the key of the cache
    domain: Text,
    object_id: Text,
    name: Text,
    signature: Text = None,
    data_type: Text = None,
    stage_kind: Text = None,
    location: Text = None,
    account: Text = None,
) -> Thing | None:
    """The thing that the fields of a row describe; None if they identify nothing."""
    ident, normal, place, owner = text(object_id), normal_domain(text(domain)), said(location), said(stage_kind)
    kind, number, own_name, arguments = kind_of(normal, owner, place), usable_id(ident), said(name), said(signature)
    of_id = None if normal is None else id_as_name(ident)  # an id alone, without a kind, names nothing
    key = object_key(kind, number, own_name or of_id, arguments, place)
    if key is None:
        return None
    return Thing(key, kind, normal, number, own_name, arguments, said(data_type), owner, place, said(account))


@lru_cache(maxsize=20_000, typed=True)
def key_of(domain: Text, object_id: Text, name: Text) -> str | None:
    """The key of an object that is named only by domain, id and name: a policy, a tag, a swap's target."""
    return object_key(kind_of(normal_domain(text(domain))), usable_id(text(object_id)), said(name))


def found(documents: Iterable[Document | None] | None) -> Iterator[tuple[Document, Thing]]:
    """The objects of an array, each with its thing. An element with several ``locations`` gives several objects. An
    element that identifies nothing is left out.
    """
    for one in documents or ():
        if one is not None:
            for place in one.locations or (one.location,):
                thing = thing_of(
                    one.object_domain,
                    one.object_id,
                    one.object_name,
                    one.argument_signature,
                    one.data_type,
                    one.stage_kind,
                    place,
                    one.account_name,
                )
                if thing is not None:
                    yield one, thing


def source(one: SourceDocument) -> Thing | None:
    """The object whose column is the source, or the function or procedure that is the source itself."""
    return thing_of(one.object_domain, one.object_id, one.object_name, one.argument_signature, one.data_type)


def partner(one: JoinedDocument) -> Thing | None:
    """The other side of a join."""
    return thing_of(
        one.object_domain,
        one.object_id,
        one.object_name,
        one.argument_signature,
        one.data_type,
        None,
        one.location,
        one.account_name,
    )


def column_id(given: Text) -> str | None:
    """A column's id; None if missing, empty, 0 or -1."""
    ident = text(given)
    return None if ident in _NO_COLUMN_ID else ident


def known_columns(
    documents: Iterable[ColumnDocument | SourcedColumnDocument | GuardedColumnDocument | None] | None,
) -> tuple[Column, ...]:
    """The columns that have a name, each once and sorted, with their ids if given."""
    if not documents:
        return ()
    every = [_column(one.column_name, one.column_id) for one in documents if one is not None]
    columns = [one for one in every if one is not None]
    by_name = {one.name: one for one in columns}
    if len(by_name) < len(columns):  # a name occurs several times, perhaps with different ids
        return tuple(sorted(set(columns), key=_column_rank))
    return tuple([by_name[name] for name in sorted(by_name)])


@lru_cache(maxsize=20_000, typed=True)
def _column(name: Text, ident: Text) -> Column | None:
    known = said(name)
    return None if known is None else Column(known, column_id(ident))


def joined_columns(one: tuple[Column, ...], other: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns of both, each once and sorted."""
    return one if one == other else tuple(sorted({*one, *other}, key=_column_rank))


def _column_rank(column: Column) -> Key:
    return column.name, column.column_id or ""


def both(one: Thing, other: Thing) -> Thing:
    """Two descriptions of the same thing as one."""
    if one is other:
        return one
    first = min(one, other, key=_kind_rank)
    return Thing(
        first.key,
        first.kind,
        first.domain,
        one_of(one.object_id, other.object_id),
        one_of(one.name, other.name),
        one_of(one.signature, other.signature),
        one_of(one.data_type, other.data_type),
        one_of(one.stage_kind, other.stage_kind),
        one_of(one.location, other.location),
        one_of(one.account, other.account),
    )


def _kind_rank(thing: Thing) -> tuple[str, bool, str]:
    return thing.kind, thing.domain is None, thing.domain or ""


def one_of(text: str | None, other: str | None) -> str | None:
    """The least of two texts; the known one if the other is None."""
    if text is None or other is None:
        return other if text is None else text
    return min(text, other)


def once(facts: Iterable[Fact], key: Callable[[Fact], Key], together: Callable[[Fact, Fact], Fact]) -> tuple[Fact, ...]:
    """One fact per key, sorted by key. ``together`` merges two facts with the same key."""
    kept: dict[Key, Fact] = {}
    for fact in facts:
        at = key(fact)
        other = kept.setdefault(at, fact)
        if other is not fact:
            kept[at] = together(other, fact)
    return tuple([kept[at] for at in sorted(kept)])
