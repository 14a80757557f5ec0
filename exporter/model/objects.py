"""Objects with their keys, from rows and from the names of schemas, databases, roles and warehouses.

Two facts with one key differ only if Snowflake writes an object in two ways in one query. They are merged field by
field: what one of them leaves out, the other gives, and of two values the least is kept. So the result does not depend
on the order of rows.

Schemas, databases, roles and warehouses are objects like others, identified by name. Object names in rows are fully
qualified (view, "objectName"). Names in QUERY_HISTORY are as Snowflake stores them, without quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from exporter.input.query_history import History
from exporter.input.row import (
    ChangeDocument,
    ColumnDocument,
    DirectDocument,
    Document,
    GuardedColumnDocument,
    JoinedDocument,
    ObjectDocument,
    SourcedColumnDocument,
    SourceDocument,
    Text,
    WrittenDocument,
    text,
)
from exporter.model.facts import Column, ObjectReference
from exporter.model.identifiers import (
    USER_STAGE,
    canonical_name,
    id_as_name,
    is_name_of_user_stage,
    kind_of,
    known_name,
    name_of_user_stage,
    normal_domain,
    object_key,
    parts_of,
    stored_as,
    usable_id,
)

Fact = TypeVar("Fact", bound=Struct)
Element = TypeVar("Element", bound=ObjectDocument)
_NO_COLUMN_ID: Final = ("0", "0.0", "-1", "-1.0", "")
ARRAYS: Final = {
    "direct_objects_accessed": "direct",
    "base_objects_accessed": "base",
    "objects_modified": "modified",
    "policies_referenced": "policies",
    "provider_base_objects_accessed": "provider_base",
    "provider_policies_referenced": "provider_policies",
}
"""The columns of a row that are arrays of objects, with the fields of :class:`exporter.input.row.Document`."""
NamingElement = ObjectDocument | SourceDocument | JoinedDocument | ChangeDocument
"""An element of a document that names an object."""


def named_elements(document: Document) -> Iterator[tuple[str, NamingElement]]:
    """Each element of the document that names an object, with the place that names it: objects of arrays, the other
    sides of their joins, the sources of their columns in both spellings that rows have, and the changed object.
    """
    for place, array in ARRAYS.items():
        for element in getattr(document, array) or ():
            if element is not None:
                yield place, element
                yield from ((place, inside) for inside in _inside(element) if inside is not None)
    if document.change is not None:
        yield "object_modified_by_ddl", document.change


def _inside(element: ObjectDocument) -> Iterator[NamingElement | None]:
    for join in (isinstance(element, DirectDocument) and element.join_objects) or ():
        if join is not None:
            yield from (join.node, join.join_object)
    for column in (isinstance(element, WrittenDocument) and element.columns) or ():
        if column is not None:
            yield from sources(column)


def sources(column: SourcedColumnDocument) -> Iterator[SourceDocument | None]:
    """The sources of a column in both spellings that rows have."""
    spellings = column.direct_sources, column.base_sources
    more = column.direct_source_columns, column.base_source_columns
    return chain.from_iterable(listed or () for listed in (*spellings, *more))


def known_text(value: Text) -> str | None:
    """The text; None if it is missing, blank or the sentinel of a truncated record."""
    return None if value is None else known_name(value if isinstance(value, str) else text(value))


@lru_cache(maxsize=20_000, typed=True)
def reference_of(  # noqa: PLR0913, PLR0917 - an object's fields, together the key of the cache
    domain: Text,
    object_id: Text,
    name: Text,
    signature: Text = None,
    data_type: Text = None,
    stage_kind: Text = None,
    location: Text = None,
    account: Text = None,
) -> ObjectReference | None:
    """The object that the fields of a row describe; None if they identify nothing."""
    ident, normal = text(object_id), normal_domain(text(domain))
    own_name, arguments = known_text(name), known_text(signature)
    own_location, own_stage = known_text(location), known_text(stage_kind)
    kind, number = kind_of(normal, own_stage, own_location), usable_id(ident)
    if normal == "STAGE" and own_stage is None and is_name_of_user_stage(own_name, ident):
        kind = USER_STAGE  # as the source of a column, which has no stageKind
    if kind == USER_STAGE:
        number, own_name = None, name_of_user_stage(own_name, ident)  # a user's name can be digits
    of_id = None if normal is None else id_as_name(ident)  # an id alone, without a kind, names nothing
    key = object_key(kind, number, own_name or of_id, arguments, own_location)
    if key is None:
        return None
    return ObjectReference(
        key,
        kind,
        domain=normal,
        object_id=number,
        name=own_name,
        signature=arguments,
        data_type=known_text(data_type),
        stage_kind=own_stage,
        location=own_location,
        account=known_text(account),
    )


@lru_cache(maxsize=20_000, typed=True)
def key_of(domain: Text, object_id: Text, name: Text) -> str | None:
    """The key of an object that is named only by domain, id and name: a policy, a tag, a swap's target."""
    return object_key(kind_of(normal_domain(text(domain))), usable_id(text(object_id)), known_text(name))


_named_by: Final = attrgetter("object_domain", "object_id", "object_name", "argument_signature", "data_type")


def objects_of_array(elements: Iterable[Element | None] | None) -> Iterator[tuple[Element, ObjectReference]]:
    """The objects of an array, each with its reference. An element with several ``locations`` gives several objects. An
    element that identifies nothing is left out.
    """
    for element in elements or ():
        if element is not None:
            for place in element.locations or (element.location,):
                thing = reference_of(*_named_by(element), element.stage_kind, place, element.account_name)
                if thing is not None:
                    yield element, thing


def source(document: SourceDocument) -> ObjectReference | None:
    """The object whose column is the source, or the function or procedure that is the source itself."""
    return reference_of(*_named_by(document), document.stage_kind, None, document.account_name)


def partner(document: JoinedDocument) -> ObjectReference | None:
    """The other side of a join."""
    return reference_of(*_named_by(document), None, document.location, document.account_name)


def column_id(given: Text) -> str | None:
    """A column's id, a number as digits (``7.0`` of a column of doubles is 7); None if missing, empty, 0 or -1."""
    ident = text(given)
    return None if ident in _NO_COLUMN_ID else usable_id(ident) or ident


def known_columns(
    documents: Iterable[ColumnDocument | SourcedColumnDocument | GuardedColumnDocument | None] | None,
) -> tuple[Column, ...]:
    """The columns that have a name, each once and sorted, with their ids if given."""
    if not documents:
        return ()
    candidates = [_column(document.column_name, document.column_id) for document in documents if document is not None]
    columns = [column for column in candidates if column is not None]
    by_name = {column.name: column for column in columns}
    if len(by_name) < len(columns):  # a name occurs several times, perhaps with different ids
        return tuple(sorted(set(columns), key=_column_rank))
    return tuple([by_name[name] for name in sorted(by_name)])


@lru_cache(maxsize=20_000, typed=True)
def _column(name: Text, ident: Text) -> Column | None:
    known = known_text(name)
    return None if known is None else Column(known, column_id(ident))


def _column_rank(column: Column) -> tuple[str, str]:
    return column.name, column.column_id or ""


def merged_references(thing: ObjectReference, other: ObjectReference) -> ObjectReference:
    """Two references to the same object as one."""
    if thing is other:
        return thing
    first = min(thing, other, key=_kind_rank)
    return ObjectReference(
        first.key,
        first.kind,
        first.domain,
        least_text(thing.object_id, other.object_id),
        least_text(thing.name, other.name),
        least_text(thing.signature, other.signature),
        least_text(thing.data_type, other.data_type),
        least_text(thing.stage_kind, other.stage_kind),
        least_text(thing.location, other.location),
        least_text(thing.account, other.account),
    )


def _kind_rank(thing: ObjectReference) -> tuple[str, bool, str]:
    return thing.kind, thing.domain is None, thing.domain or ""


def least_text(text: str | None, other: str | None) -> str | None:
    """The least of two texts; the known one if the other is None."""
    if text is None or other is None:
        return other if text is None else text
    return min(text, other)


def merged_facts(fact: Fact, other: Fact) -> Fact:
    """Two facts with the same key as one: their things as one, their columns of both, the least of other values."""
    pairs = [(name, getattr(fact, name), getattr(other, name)) for name in fact.__struct_fields__]
    return replace(fact, **{name: _of_both(value, of_other) for name, value, of_other in pairs if value != of_other})


def _of_both(value: Any, other: Any) -> Any:
    if isinstance(value, ObjectReference):
        return merged_references(value, other)
    if isinstance(value, tuple):
        return tuple(sorted({*value, *other}, key=_column_rank))
    return least_text(value, other)


def unique_by_key(
    facts: Iterable[Fact],
    key: Callable[[Fact], tuple[str, ...]],
    merge: Callable[[Fact, Fact], Fact] = merged_facts,
) -> tuple[Fact, ...]:
    """One fact per key, sorted by key. ``merge``: makes one of two facts with the same key."""
    kept: dict[tuple[str, ...], Fact] = {}
    for fact in facts:
        at = key(fact)
        other = kept.setdefault(at, fact)
        if other is not fact:
            kept[at] = merge(other, fact)
    return tuple([kept[at] for at in sorted(kept)])


_OF_ACCOUNTS: Final = frozenset(
    ("account-object", "database", "listing", "location", "role", "share", "user-object", USER_STAGE, "warehouse")
)
"""Kinds of objects that are not in a schema, even if their names have several parts."""
_OF_DATABASES: Final = ("schema", "database-role")


@lru_cache(maxsize=20_000)
def containers(kind: str, name: str, of_account: str = "") -> tuple[ObjectReference, ...]:
    """The schema and the database of an object, in this order, derived from its name. Empty if the name is not fully
    qualified, or if objects of this kind are in no schema. ``of_account``: what the key of an object of another account
    ends in (:func:`exporter.model.other_accounts.account_in`).
    """
    parts = parts_of(name)
    if kind in _OF_ACCOUNTS or len(parts) != (2 if kind in _OF_DATABASES else 3):
        return ()
    names = (".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
    things = (
        reference_of("SCHEMA" if len(parts_of(name)) > 1 else "DATABASE", None, canonical_name(name)) for name in names
    )
    return tuple(replace(thing, key=f"{thing.key}{of_account}") for thing in things if thing is not None)


def runs_in(history: History) -> Iterator[ObjectReference]:
    """The role and the warehouse of a query, as far as QUERY_HISTORY gives them."""
    for thing in (role_of(history.role_name, history.role_type), warehouse_of(history.warehouse_name)):
        if thing is not None:
            yield thing


@lru_cache(maxsize=1_000)
def role_of(name: str | None, kind: str | None) -> ObjectReference | None:
    """The role of a query; None without a name. ``kind``: role_type, which distinguishes account roles from others."""
    known = known_name(name)
    return None if known is None else reference_of(normal_domain(kind) or "ROLE", None, stored_as(known))


@lru_cache(maxsize=1_000)
def warehouse_of(name: str | None) -> ObjectReference | None:
    """The warehouse that a query ran on; None without a name."""
    known = known_name(name)
    return None if known is None else reference_of("WAREHOUSE", None, stored_as(known))
