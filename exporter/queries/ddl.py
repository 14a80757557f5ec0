"""The DDL changes of a query.

Sources: view, "object_modified_by_ddl" and its usage notes; guide, "Examples: Tracking objects modified by a DDL
operation".
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from exporter.queries.facts import Change, Thing
from exporter.queries.grants import grants
from exporter.queries.identifiers import TRUNCATED, normal_domain, segment, usable_id
from exporter.queries.objects import Key, both, key_of, once, said, thing_of
from exporter.queries.settings import settings
from exporter.rows.documents import ChangeDocument, text
from exporter.rows.properties import Properties, is_of_source, meaning, read
from exporter.rows.raw import raw_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_SWAP: Final = ("swapTargetDomain", "swapTargetId", "swapTargetName")


def properties_of(document: ChangeDocument) -> str | None:
    """The properties as JSON in canonical form; None if the row has none, or an empty text in their place."""
    return raw_text(document.properties) or None


def change_of(document: ChangeDocument | None, properties: str | None) -> Change | None:
    """The change; None if the row names no object or its operation is truncated. Its key assumes that it is the only
    change of its query with this object and operation (see :func:`changes_once`). ``properties``: the result of
    :func:`properties_of`.
    """
    if document is None:
        return None
    thing = thing_of(document.object_domain, document.object_id, document.object_name, document.argument_signature)
    word = text(document.operation_type)
    operation = "UNKNOWN" if word is None else word.strip(" ").upper()
    return None if thing is None or operation == TRUNCATED else _change(thing, operation, properties)


def _change(thing: Thing, operation: str, properties: str | None) -> Change:
    given = read(properties)
    swap_key, swap_domain, swap_id, swap_name = _other(thing, given, _SWAP)
    source_key, source_domain, source_id, source_name = _other(thing, given, _source(given))
    key = f"{segment(operation).lower()}/{thing.key}"
    return Change(
        change_key=key,
        thing=thing,
        operation=operation,
        new_name=_value(given, "objectName"),
        swap_key=swap_key,
        swap_name=swap_name,
        swap_id=swap_id,
        swap_domain=swap_domain,
        source_key=source_key,
        source_name=source_name,
        source_id=source_id,
        source_domain=source_domain,
        policy_body=_value(given, "policyBody"),
        comment=_value(given, "comment"),
        properties="{}" if properties is None else properties,
        normal=given.normal or "{}",
        settings=settings(key, thing.key, given),
        grants=grants(thing, given),
    )


def _value(given: Properties, name: str) -> str | None:
    """The value of an atomic property; None for a compound one and for a blank or truncated value."""
    return said(given.atoms.get(name))


def _source(given: Properties) -> tuple[str, str, str]:
    """The names of the properties with domain, id and name of the source of a CLONE or LIKE; empty if missing."""
    ends: dict[str, str] = {}
    for name in given.atoms:
        end = is_of_source(name)
        if end is not None:
            ends.setdefault(end[1].lower(), name)
    return ends.get("domain", ""), ends.get("id", ""), ends.get("name", "")


def _other(thing: Thing, given: Properties, names: tuple[str, str, str]) -> tuple[str | None, ...]:
    """Key, domain, id and name of the other object of a change. Without a domain it has that of ``thing``."""
    domain, ident, name = (_value(given, one) for one in names)
    if ident is None and name is None:
        return None, None, None, None
    normal = normal_domain(domain or thing.domain)
    return key_of(normal, ident, name), normal, usable_id(ident), name


def changes_once(facts: Iterable[Change]) -> tuple[Change, ...]:
    """One change per object, operation and properties. If several share the object and the operation, a hash of their
    properties makes their keys different.
    """
    every = once(facts, _says, _one)
    alike = Counter((one.thing.key, one.operation) for one in every)
    keyed = [one if alike[one.thing.key, one.operation] == 1 else _told_apart(one) for one in every]
    return tuple(sorted(keyed, key=attrgetter("change_key")))


def _says(fact: Change) -> Key:
    return fact.thing.key, fact.operation, meaning(fact.normal)


def _one(one: Change, other: Change) -> Change:
    return replace(min(one, other, key=_rank), thing=both(one.thing, other.thing))


def _rank(fact: Change) -> Key:
    """An order for changes that are equal in object, operation and the meaning of their properties."""
    return fact.normal or "", fact.properties or "", fact.swap_domain or "", fact.source_domain or ""


def _told_apart(change: Change) -> Change:
    key = f"{change.change_key}/{sha256((change.normal or '').encode()).hexdigest()[:16]}"
    settled = tuple([replace(one, change_key=key) for one in change.settings])
    return replace(change, change_key=key, settings=settled)
