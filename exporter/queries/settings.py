"""Settings: the atomic properties of a DDL change, and the elements of its compound properties.

Sources: view, "object_modified_by_ddl"; guide, "Examples: Tracking objects modified by a DDL operation".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from exporter.queries.facts import Setting
from exporter.queries.identifiers import TRUNCATED, usable_id
from exporter.queries.objects import key_of, said
from exporter.queries.properties import Members, atomic, is_compound, members

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["settings"]

_COLUMNS: Final = "columns"
_OF_ELEMENT: Final = frozenset(("objectId", "subOperationType", "tagValue", "value"))
_policies: Final = re.compile(r"([a-zA-Z]+)Policies").fullmatch
_word_begins: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Place(Struct, frozen=True, gc=False):
    """Where a setting belongs: its change, the object, the column (None: the object itself)."""

    change_key: str
    object_key: str
    column_name: str | None = None


def settings(change_key: str, object_key: str, properties: Members) -> tuple[Setting, ...]:
    """The settings of a change, each once, sorted."""
    place = Place(change_key, object_key)
    every = dict.fromkeys(_of_object(place, properties))
    return tuple(sorted(every, key=_order))


def _order(setting: Setting) -> tuple[str, ...]:
    return (
        setting.column_name or "",
        setting.property,
        setting.element or "",
        setting.sub_operation or "",
        setting.value or "",
    )


def _of_object(place: Place, properties: Members) -> Iterator[Setting]:
    for name, given in properties.items():
        inside = members(given)
        if name == _COLUMNS and inside is not None and is_compound(inside):
            yield from _of_columns(place, inside)
        else:
            yield from _of_property(place, name, given, inside)


def _of_columns(place: Place, columns: Members) -> Iterator[Setting]:
    for name, given in columns.items():
        if said(name) is None:
            continue
        column = Place(place.change_key, place.object_key, name)
        inside = members(given)
        yield _of_element(column, _COLUMNS, name, given, inside)
        for below, value in (inside or {}).items():
            if below not in _OF_ELEMENT:
                yield from _of_property(column, below, value, members(value))


def _of_property(place: Place, name: str, given: str | None, inside: Members | None) -> Iterator[Setting]:
    """The setting of an atomic property, or one for each element of a compound property; none for an empty one."""
    if inside is not None and is_compound(inside):
        for element, value in inside.items():
            yield _of_element(place, name, element, value, members(value))
    elif given is not None and given != TRUNCATED and (inside is not None or not given.startswith("{")):
        value = inside.get("value") if inside else None
        yield Setting(*_at(place), name, None, None, None, None, given if value is None else value)


def _of_element(place: Place, name: str, element: str, given: str | None, inside: Members | None) -> Setting:
    """The setting of an element. Its ``element_key`` is the key of a tag or policy, None for values and columns."""
    told = inside or {}
    ident, domain = usable_id(atomic(told.get("objectId"))), _element_domain(name)
    key = None if domain is None else key_of(domain, ident, element)
    operation, tag = told.get("subOperationType"), told.get("tagValue")
    value = given if inside is None else atomic(told.get("value") if tag is None else tag)
    return Setting(*_at(place), name, element, key, ident, None if operation is None else operation.upper(), value)


def _at(place: Place) -> tuple[str, str, str | None]:
    return place.change_key, place.object_key, place.column_name


@lru_cache(maxsize=1_000)
def _element_domain(name: str) -> str | None:
    """TAG for ``tags``, MASKING POLICY for ``maskingPolicies`` and so on; None for other properties."""
    policy = _policies(name)
    if policy is not None:
        return _word_begins.sub(" ", policy[1]).upper() + " POLICY"
    return "TAG" if name == "tags" else None
