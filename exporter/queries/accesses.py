"""Accesses, writes, joins: which objects and columns a query read, wrote and joined.

Sources: view, "direct_objects_accessed", "base_objects_accessed", "objects_modified"; guide, "Joins"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exporter.queries.facts import Access, Join, Thing, Write
from exporter.queries.objects import Key, both, found, joined_columns, known_columns, once, partner, said
from exporter.rows.documents import DirectDocument, JoinDocument, ReadDocument

Objects = Iterable[ReadDocument | None] | None


def accesses(direct: Objects, base: Objects, provider_base: Objects) -> Iterator[Access]:
    """The objects that were read; repetitions in the row are kept."""
    for access, documents in (("DIRECT", direct), ("BASE", base), ("PROVIDER_BASE", provider_base)):
        for one, thing in found(documents):
            yield Access(access, thing, known_columns(one.columns))


def accesses_once(facts: Iterable[Access]) -> tuple[Access, ...]:
    """One access per kind of access and object."""
    return once(facts, _access_key, _one_access)


def _access_key(fact: Access) -> Key:
    return fact.access, fact.thing.key


def _one_access(one: Access, other: Access) -> Access:
    return Access(one.access, both(one.thing, other.thing), joined_columns(one.columns, other.columns))


def writes_once(facts: Iterable[Write]) -> tuple[Write, ...]:
    """One write per object."""
    return once(facts, _write_key, _one_write)


def _write_key(fact: Write) -> Key:
    return (fact.thing.key,)


def _one_write(one: Write, other: Write) -> Write:
    return Write(both(one.thing, other.thing), joined_columns(one.columns, other.columns))


def joins(direct: Iterable[DirectDocument | None] | None) -> Iterator[Join]:
    """The joins of objects that the query names itself; repetitions in the row are kept."""
    for one, left in found(direct):
        for document in one.join_objects or ():
            if document is not None:
                yield from _join(left, document)


def _join(left: Thing, document: JoinDocument) -> Iterator[Join]:
    side = document.join_object if document.node is None else document.node
    right = None if side is None else partner(side)
    if right is not None:
        kind = said(document.type if document.join_type is None else document.join_type)
        yield Join(left, None if kind is None else kind.upper(), right)


def joins_once(facts: Iterable[Join]) -> tuple[Join, ...]:
    """One join per left object, type and right object."""
    return once(facts, _join_key, _one_join)


def _join_key(fact: Join) -> Key:
    return fact.left.key, fact.join_type or "", fact.right.key


def _one_join(one: Join, other: Join) -> Join:
    return Join(both(one.left, other.left), one.join_type, both(one.right, other.right))
