"""Validation results."""

from __future__ import annotations

from typing import Final, NamedTuple

ALLOWED: Final = frozenset({"Warning", "Info"})
"""Severities with which a graph still conforms."""


class Result(NamedTuple):
    """One validation result (SHACL, section 3.6.2), as texts: IRIs are whole, a blank node is ``_:name``.

    ``focus``: the node; ``shape``: the shape that it does not conform to; ``path``: the IRI of the property, or a path
    as SPARQL writes it (None: the node as a whole); ``value``: the value at fault (None: a value is missing, or their
    number is at fault); ``severity``: ``Violation``, ``Warning``, ``Info``, or another IRI.
    """

    focus: str
    shape: str
    path: str | None
    value: str | None
    severity: str
    message: str


def in_order(results: list[Result]) -> list[Result]:
    """The results in an order that depends on nothing but the results themselves."""
    return sorted(results, key=lambda one: [(part is not None, part) for part in one])


def conforms(results: list[Result]) -> bool:
    """Whether no result is a violation."""
    return all(one.severity in ALLOWED for one in results)
