"""What a shape has to say of a node."""

from __future__ import annotations

from typing import Final, NamedTuple

ALLOWED: Final = frozenset({"Warning", "Info"})
"""Severities that do not count against a graph."""


class Result(NamedTuple):
    """One validation result (SHACL, section 3.6.2), in texts: IRIs are whole, a blank node is ``_:name``.

    ``focus``: the node; ``shape``: the shape that it fails; ``path``: the IRI of the property, or a path as SPARQL
    writes it, None of the node as a whole; ``value``: the value at fault, None where it is a missing one or how many
    there are; ``severity``: ``Violation``, ``Warning``, ``Info``, or the IRI of one's own.
    """

    focus: str
    shape: str
    path: str | None
    value: str | None
    severity: str
    message: str


def in_order(results: list[Result]) -> list[Result]:
    """The results in an order that hangs on nothing but themselves."""
    return sorted(results, key=lambda one: [(part is not None, part) for part in one])


def conforms(results: list[Result]) -> bool:
    """Whether nothing but warnings was found."""
    return all(one.severity in ALLOWED for one in results)
