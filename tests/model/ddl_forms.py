"""The four forms of DDL properties, by what Snowflake's release notes say of behaviour changes 2178 and 2179.

2178: what a user named is no key any more, but ``objectName`` of an element of an array. 2179: a value may stand alone,
without ``{"value": …}``. They came separately, and a file may have both sides of both.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]
Choice = "Callable[[], tuple[bool, bool]]"
"""Whether a property is in an array, and whether its values stand alone."""


class Again(str):
    """A name that may stand twice in an object: the new name of a renamed column beside its own name."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def _fixed(*, arrays: bool, bare: bool) -> Callable[[], tuple[bool, bool]]:
    return lambda: (arrays, bare)


def _mixed(seed: int = 0) -> Callable[[], tuple[bool, bool]]:
    rng = Random(seed)
    return lambda: (rng.random() < 0.5, rng.random() < 0.5)


FORMS: Final[dict[str, Callable[[], Callable[[], tuple[bool, bool]]]]] = {
    "keys and wrapped values": lambda: _fixed(arrays=False, bare=False),
    "keys and bare values": lambda: _fixed(arrays=False, bare=True),
    "arrays and wrapped values": lambda: _fixed(arrays=True, bare=False),
    "arrays and bare values": lambda: _fixed(arrays=True, bare=True),
    "mixed": _mixed,
    "mixed again": lambda: _mixed(1),
}


def rows_in(form: str, rows: list[Json]) -> list[Json]:
    """The rows with their properties in one of the forms; they come in the first one."""
    choice = FORMS[form]()
    return [_row(row, choice) for row in rows]


def with_types(rows: list[Json]) -> list[Json]:
    """The rows as a tool with types writes them (DuckDB, Spark): an object has the names of all objects in its place in
    any row, null where its own row has none. Where rows have different kinds of values, they stay as they are.
    """
    found = [change["properties"] for one in rows if (change := one.get("object_modified_by_ddl"))]
    place = _merged(found)
    return [
        {**one, "object_modified_by_ddl": {**change, "properties": _with_names(change["properties"], place)}}
        if (change := one.get("object_modified_by_ddl"))
        else one
        for one in rows
    ]


LISTS: Final = ("columns", "tags", "maskingPolicies", "rowAccessPolicies", "aggregationPolicies", "allowedValues")


def with_empty_lists(rows: list[Json]) -> list[Json]:
    """The rows, in arrays, with an empty array for each list that a change, or a column of one, does not have."""
    emptied = deepcopy(rows)
    for one in emptied:
        properties = (one.get("object_modified_by_ddl") or {}).get("properties")
        if isinstance(properties, dict):
            columns = properties.get("columns")
            for group in (properties, *(columns if isinstance(columns, list) else ())):
                for name in LISTS if group is properties else LISTS[1:]:
                    group.setdefault(name, [])
    return emptied


def _merged(values: list[Any]) -> dict[str, Any] | None:
    """By name, what is known of the values below it; None where there are values that are no objects."""
    elements = [element for value in values if isinstance(value, list) for element in value]
    if elements and all(isinstance(value, list) for value in values):
        return {"[]": _merged(elements)}
    if not values or not all(isinstance(value, dict) for value in values):
        return None
    names = dict.fromkeys(name for value in values for name in value)
    return {name: _merged([value[name] for value in values if name in value]) for name in names}


def _with_names(value: Any, place: dict[str, Any] | None) -> Any:
    if place is None:
        return value
    if isinstance(value, list):
        return [_with_names(element, place["[]"]) for element in value]
    return {name: _with_names(value[name], below) if name in value else None for name, below in place.items()}


def _row(row: Json, choice: Callable[[], tuple[bool, bool]]) -> Json:
    change = row.get("object_modified_by_ddl")
    if not change or not isinstance(change.get("properties"), dict):
        return row
    return {**row, "object_modified_by_ddl": {**change, "properties": converted(change["properties"], choice)}}


def converted(properties: Json, choice: Callable[[], tuple[bool, bool]]) -> Json:
    """The properties of an object, or the members of one element."""
    return {name: _property(value, choice) for name, value in deepcopy(properties).items()}


def _property(value: Any, choice: Callable[[], tuple[bool, bool]]) -> Any:
    in_array, bare = choice()
    if not isinstance(value, dict):
        return value
    if set(value) == {"value"} and not isinstance(value["value"], dict):
        return value["value"] if bare else value
    if set(value) == {"value"} and not _is_element(value["value"]):
        return value["value"] if bare else value
    if not in_array:
        return {name: converted(element, choice) for name, element in value.items()}
    return [_element(name, converted(element, choice)) for name, element in value.items()]


def _is_element(value: Any) -> bool:
    return isinstance(value, dict) and "subOperationType" in value


def _element(name: str, members: Json) -> Json:
    renamed = {Again(key) if key == "objectName" else key: value for key, value in members.items()}
    return {"objectName": name, **renamed}
