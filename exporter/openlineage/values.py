"""Helpers for facets: JSON without empty members, sorting with None, joining of JSON texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Json = dict[str, Any]


def said(fields: Mapping[str, Any]) -> Json:
    """The fields without those that are None: events leave out what is not known."""
    return {name: value for name, value in fields.items() if value is not None}


def greatest(values: Iterable[str | None]) -> str | None:
    """The greatest of the values; None where all are None or there are none."""
    return max((value for value in values if value is not None), default=None)


def nothing_first(value: Any) -> Any:
    """A sort key for values that may be None or hold None at any depth; None comes first.

    >>> sorted([("b", None), ("a", "x"), ("a", None)], key=nothing_first)
    [('a', None), ('a', 'x'), ('b', None)]
    """
    if value is None:
        return (0,)
    return 1, tuple(map(nothing_first, value)) if isinstance(value, (tuple, list)) else value


def together(one: bytes, other: bytes) -> bytes:
    """The texts of two JSON objects -> the text of one object with the members of both.

    >>> together(b'{"a":1}', b'{"b":2}'), together(b"{}", b'{"b":2}')
    (b'{"a":1,"b":2}', b'{"b":2}')
    """
    if other == b"{}":
        return one
    return other if one == b"{}" else one[:-1] + b"," + other[1:]
