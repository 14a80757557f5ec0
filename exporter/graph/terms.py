"""What a vocabulary is made of: prefixes, properties, classes of nodes; and a node, as it is in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

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
    """A property of a class. ``range``: a datatype (``xsd:…``) for literals, or the class of the thing referred to;
    ``required``: at least one value, ``many``: more than one may stand.
    """

    term: str
    range: str
    required: bool = False
    many: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether the values are literals, and not things."""
        return self.range.startswith("xsd:")


@dataclass(frozen=True, eq=False)
class NodeClass:
    """A class of nodes. ``also``: the classes of others that every node has as well; ``typed``: the class varies by
    node, and ``Node.types`` is not the same for all. Two classes are equal only where they are the same one.
    """

    name: str
    also: tuple[str, ...]
    properties: tuple[Property, ...]
    typed: bool = False

    @property
    def types(self) -> tuple[str, ...]:
        """The classes of a node where they do not vary."""
        return (self.name, *self.also)


Value = str | int | bool
"""A value in memory: an IRI as :class:`Node` has it, the text of an xsd:string, an xsd:integer, an xsd:boolean, or the
microseconds since 1970 (UTC) of an xsd:dateTime; which of these, the property's range says."""
Values = dict[str, tuple[Value, ...]]
"""Values by term."""


class Node(NamedTuple):
    """A node. ``iri`` (and every IRI among the values): a path below the graph's base (``table/66564``), or whole where
    it holds ``://``: every segment of a path is percent-encoded, so none does. ``types``: classes with prefixes, the
    most exact first. ``values``: by term, in any order, only of terms that have any; each value once.
    """

    of: NodeClass
    iri: str
    types: tuple[str, ...]
    values: Values


def one(term: str, range_: str = "xsd:string") -> Property:
    """Exactly one value."""
    return Property(term, range_, required=True)


def maybe(term: str, range_: str = "xsd:string") -> Property:
    """One value or none."""
    return Property(term, range_)


def many(term: str, range_: str = "xsd:string") -> Property:
    """Any number of values."""
    return Property(term, range_, many=True)
