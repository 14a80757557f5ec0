"""Settings: the atomic properties of a DDL change, and the elements of its compound properties.

Sources: view, "object_modified_by_ddl"; guide, "Examples: Tracking objects modified by a DDL operation".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from exporter.queries.facts import Setting
from exporter.queries.identifiers import usable_id
from exporter.queries.objects import key_of, said
from exporter.rows.properties import COLUMNS, KNOWN_OF_ELEMENT, NULL, policies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.rows.properties import Element, Properties

__all__ = ["settings"]

_word_begins: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Place(Struct, frozen=True, gc=False):
    """Where a setting belongs: its change, the object, the column (None: the object itself)."""

    change_key: str
    object_key: str
    column_name: str | None = None


def settings(change_key: str, object_key: str, properties: Properties) -> tuple[Setting, ...]:
    """The settings of a change, each once, sorted."""
    place = Place(change_key, object_key)
    every = dict.fromkeys(_of_group(place, properties))
    return tuple(sorted(every, key=_order))


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
            yield Setting(*_at(place), name, None, None, None, None, NULL if value is None else value)
    for name, elements in properties.compounds.items():
        if name in without:
            continue
        if name == COLUMNS and place.column_name is None:
            yield from _of_columns(place, elements)
        else:
            for element, one in elements.items():
                yield _of_element(place, name, element, one)


def _of_columns(place: Place, columns: Mapping[str, Element]) -> Iterator[Setting]:
    for name, one in columns.items():
        if said(name) is None:
            continue
        column = Place(place.change_key, place.object_key, name)
        yield _of_element(column, COLUMNS, name, one)
        if one.inside is not None:
            yield from _of_group(column, one.inside, KNOWN_OF_ELEMENT)


def _of_element(place: Place, name: str, element: str, one: Element) -> Setting:
    """The setting of an element. Its ``element_key`` is the key of a tag or policy, None for values and columns."""
    ident, domain = usable_id(one.atom("objectId")), _element_domain(name)
    key = None if domain is None else key_of(domain, ident, element)
    operation, tag = one.atom("subOperationType"), one.atom("tagValue")
    value = one.bare if one.inside is None else one.atom("value") if tag is None else tag
    return Setting(*_at(place), name, element, key, ident, None if operation is None else operation.upper(), value)


def _at(place: Place) -> tuple[str, str, str | None]:
    return place.change_key, place.object_key, place.column_name


@lru_cache(maxsize=1_000)
def _element_domain(name: str) -> str | None:
    """TAG for ``tags``, MASKING POLICY for ``maskingPolicies`` and so on; None for other properties."""
    policy = policies_in(name)
    if policy is not None:
        return _word_begins.sub(" ", policy[1]).upper() + " POLICY"
    return "TAG" if name == "tags" else None
