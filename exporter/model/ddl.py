"""The DDL changes of a query, and the settings that they made: atomic properties, and the elements of compound ones.

Sources: view, "object_modified_by_ddl" and its usage notes; guide, "Examples: Tracking objects modified by a DDL
operation".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Final

from msgspec.structs import replace

from exporter.input.json_reader import raw_text
from exporter.input.properties import (
    COLUMNS,
    KNOWN_OF_ELEMENT,
    NULL,
    Element,
    Properties,
    canonical_form,
    is_of_source,
    policies_in,
    read,
)
from exporter.input.row import ChangeDocument, text
from exporter.model.facts import Change, ObjectReference, Setting
from exporter.model.grants import grants
from exporter.model.identifiers import TRUNCATED, is_cut_id, normal_domain, segment, usable_id
from exporter.model.objects import key_of, known_text, merged_references, reference_of, unique_by_key

_word_begins: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


Place = tuple[str, str, str | None]
"""Where a setting belongs: its change, the object, the column (None: the object itself)."""


def settings(change_key: str, object_key: str, properties: Properties) -> tuple[Setting, ...]:
    """The settings of a change, each once, sorted."""
    unique = dict.fromkeys(_of_group((change_key, object_key, None), properties))
    return tuple(sorted(unique, key=_order))


def _order(setting: Setting) -> tuple[str, ...]:
    return (
        setting.column_name or "",
        setting.property,
        setting.element or "",
        setting.sub_operation or "",
        setting.value or "",
    )


def _of_group(place: Place, properties: Properties, without: frozenset[str] = frozenset()) -> Iterator[Setting]:
    """One setting for each atomic property, and one for each element of a compound property."""
    for name, value in properties.atoms.items():
        if name not in without:
            yield Setting(*place, name, None, None, None, None, NULL if value is None else _uncut(name, value))
    for name, elements in properties.compounds.items():
        if name in without:
            continue
        if name == COLUMNS and place[2] is None:
            yield from _of_columns(place, elements)
        else:
            for element, details in elements.items():
                known = _known_as(name, element, details)
                if known is not None and not _is_undecided(name, details):
                    yield _of_element(place, name, known, details)


def _uncut(name: str, value: str) -> str | None:
    """The value of an atomic property; None if Snowflake cut it. Only where an id is expected, -1 means that."""
    return None if value == TRUNCATED or (name.lower().endswith("id") and is_cut_id(value)) else value


def _known_as(name: str, element: str, details: Element) -> str | None:
    """What an element is known as: a tag or policy whose name Snowflake cut by its id; None if there is nothing."""
    if element != TRUNCATED:
        return element
    return None if _element_domain(name) is None else usable_id(details.atom("objectId"))


def _is_undecided(name: str, details: Element) -> bool:
    """Whether Snowflake cut whether a tag or policy is set or unset, and no value shows that it is set."""
    is_held = _element_domain(name) is not None
    return is_held and details.atom("subOperationType") == TRUNCATED and _element_value(details) is None


def _of_columns(place: Place, columns: Mapping[str, Element]) -> Iterator[Setting]:
    for name, element in columns.items():
        if known_text(name) is None:
            continue
        column = (*place[:2], name)
        yield _of_element(column, COLUMNS, name, element)
        if element.inside is not None:
            yield from _of_group(column, element.inside, KNOWN_OF_ELEMENT)


def _of_element(place: Place, name: str, element: str, details: Element) -> Setting:
    """The setting of an element. Its ``element_key`` is the key of a tag or policy, None for values and columns."""
    ident, domain = usable_id(details.atom("objectId")), _element_domain(name)
    key = None if domain is None else key_of(domain, ident, element)
    operation = _whole(details.atom("subOperationType"))
    done = None if operation is None else operation.upper()
    return Setting(*place, name, element, key, ident, done, _element_value(details))


def _element_value(details: Element) -> str | None:
    tag = details.atom("tagValue")
    return _whole(details.bare if details.inside is None else details.atom("value") if tag is None else tag)


def _whole(value: str | None) -> str | None:
    """A value; None if Snowflake cut it."""
    return None if value == TRUNCATED else value


@lru_cache(maxsize=1_000)
def _element_domain(name: str) -> str | None:
    """TAG for ``tags``, MASKING POLICY for ``maskingPolicies`` and so on; None for other properties."""
    policy = policies_in(name)
    if policy is not None:
        return _word_begins.sub(" ", policy[1]).upper() + " POLICY"
    return "TAG" if name == "tags" else None


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
    thing = reference_of(document.object_domain, document.object_id, document.object_name, document.argument_signature)
    word = text(document.operation_type)
    operation = "UNKNOWN" if word is None else word.strip(" ").upper()
    return None if thing is None or operation == TRUNCATED else _change(thing, operation, properties)


def _change(thing: ObjectReference, operation: str, properties: str | None) -> Change:
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


def _value(properties: Properties, name: str) -> str | None:
    """The value of an atomic property; None for a compound one and for a blank or truncated value."""
    return known_text(properties.atoms.get(name))


def _source(properties: Properties) -> tuple[str, str, str]:
    """The names of the properties with domain, id and name of the source of a CLONE or LIKE; empty if missing."""
    ends = {end[1].lower(): name for name in reversed(properties.atoms) if (end := is_of_source(name)) is not None}
    return ends.get("domain", ""), ends.get("id", ""), ends.get("name", "")


def _other(thing: ObjectReference, properties: Properties, names: tuple[str, str, str]) -> tuple[str | None, ...]:
    """Key, domain, id and name of the other object of a change. Without a domain it has that of ``thing``."""
    domain, ident, name = (_value(properties, name) for name in names)
    if ident is None and name is None:
        return None, None, None, None
    normal = normal_domain(domain or thing.domain)
    return key_of(normal, ident, name), normal, usable_id(ident), name


def changes_once(facts: Iterable[Change]) -> tuple[Change, ...]:
    """One change per object, operation and properties. If several share the object and the operation, a hash of their
    properties makes their keys different.
    """
    unique = unique_by_key(facts, _change_key, _merged_change)
    alike = Counter((change.thing.key, change.operation) for change in unique)
    keyed = [change if alike[change.thing.key, change.operation] == 1 else _with_digest(change) for change in unique]
    return tuple(sorted(keyed, key=attrgetter("change_key")))


def _change_key(fact: Change) -> tuple[str, ...]:
    return fact.thing.key, fact.operation, canonical_form(fact.normal)


def _merged_change(change: Change, other: Change) -> Change:
    return replace(min(change, other, key=_rank), thing=merged_references(change.thing, other.thing))


def _rank(fact: Change) -> tuple[str, ...]:
    """An order for changes that are equal in object, operation and the meaning of their properties."""
    return fact.normal or "", fact.properties or "", fact.swap_domain or "", fact.source_domain or ""


def _with_digest(change: Change) -> Change:
    key = f"{change.change_key}/{sha256((change.normal or '').encode()).hexdigest()[:16]}"
    settings = tuple([replace(setting, change_key=key) for setting in change.settings])
    return replace(change, change_key=key, settings=settings)
