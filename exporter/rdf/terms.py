"""What a vocabulary is made of: prefixes, properties, and classes of nodes that have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

AH: Final = "https://w3id.org/access-history#"
PREFIXES: Final[Mapping[str, str]] = {
    "ah": AH,
    "dcterms": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def full(name: str) -> str:
    """``prov:used`` -> the whole IRI."""
    prefix, local = name.split(":", 1)
    return PREFIXES[prefix] + local


@dataclass(frozen=True)
class Property:
    """``term`` with the values of ``column``; ``required``: at least one, ``many``: more than one may stand."""

    term: str
    column: str
    range: str
    required: bool = False
    many: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether the values are literals, and not things."""
        return self.range.startswith("xsd:")


@dataclass(frozen=True)
class NodeClass:
    """A class of nodes. ``also``: the classes of others that every node has as well; ``typed``: the class varies by
    row and is given in the column ``types``.
    """

    name: str
    also: tuple[str, ...]
    properties: tuple[Property, ...]
    typed: bool = False


def one(term: str, column: str, range_: str = "xsd:string") -> Property:
    """Exactly one value."""
    return Property(term, column, range_, required=True)


def maybe(term: str, column: str, range_: str = "xsd:string") -> Property:
    """One value or none."""
    return Property(term, column, range_)


def many(term: str, column: str, range_: str = "xsd:string") -> Property:
    """Any number of values."""
    return Property(term, column, range_, many=True)
