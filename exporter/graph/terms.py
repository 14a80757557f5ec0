"""What a vocabulary consists of: prefixes, properties, classes of nodes; and a node in memory.

Some classes vary by row: those of objects by their kind, those of settings by the property that they set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from exporter.input.times import iso

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


class Syntax(NamedTuple):
    """A syntax of the graph's files. ``ending``: of their names; ``separator``: what separates the parts of a file,
    each of which can be parsed without the others, None where a file is one document; ``names_load``: whether its
    triples are in a graph with the name of the load (:func:`exporter.graph.store.load_iri`).
    """

    ending: str
    separator: str | None
    names_load: bool = False


SYNTAXES: Final[Mapping[str, Syntax]] = {
    "turtle": Syntax("ttl", "\n\n"),
    "ntriples": Syntax("nt", "\n"),
    "nquads": Syntax("nq", "\n", names_load=True),
    "jsonld": Syntax("jsonld", None),
}
"""By the names of ``--graph-format``. Where a graph is there in several, the first one is read."""


def full(name: str) -> str:
    """``prov:used`` -> the whole IRI."""
    prefix, local = name.split(":", 1)
    return PREFIXES[prefix] + local


def short(iri: str) -> str:
    """A whole IRI -> ``ah:Query``; unchanged where no prefix fits."""
    for prefix, beginning in PREFIXES.items():
        if iri.startswith(beginning):
            return f"{prefix}:{iri.removeprefix(beginning)}"
    return iri


@dataclass(frozen=True)
class Property:
    """A property of a class. ``range``: a datatype (``xsd:…``) for literals, or the class of the node referred to;
    ``required``: there is at least one value; ``many``: there may be more than one.
    """

    term: str
    range: str
    required: bool = False
    many: bool = False

    @property
    def is_literal(self) -> bool:
        """Whether the values are literals; otherwise they are IRIs of nodes."""
        return self.range.startswith("xsd:")


@dataclass(frozen=True, eq=False)
class NodeClass:
    """A class of nodes. ``also``: classes of other vocabularies that every node has as well; ``typed``: the class
    varies by node, so use ``Node.types``. Two classes are equal only if they are the same object.
    """

    name: str
    also: tuple[str, ...]
    properties: tuple[Property, ...]
    typed: bool = False

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The classes of a node, for node classes that are not ``typed``; for others those of the plainest node."""
        return (self.name, *self.also)

    def node(self, iri: str, values: Values) -> Node:
        """A node with these classes."""
        return Node(self, iri, self.types, values)


Value = str | int | bool
"""A value in memory: an IRI as :class:`Node` has it, the text of an xsd:string, an xsd:integer, an xsd:boolean, or the
microseconds since 1970 (UTC) of an xsd:dateTime. The property's range says which of these it is."""
Values = dict[str, tuple[Value, ...]]
"""Values by term."""
LEXICAL: Final[Mapping[str, Callable[[Any], str]]] = {
    "xsd:dateTime": iso,
    "xsd:integer": str,
    "xsd:boolean": lambda value: "true" if value else "false",
}
"""A value in memory -> the text of its literal, by range; an xsd:string is the text itself."""


def single(values: Mapping[str, Value | None]) -> Values:
    """One value for each term, without the terms whose value is None."""
    return {term: (value,) for term, value in values.items() if value is not None}


class Node(NamedTuple):
    """A node. ``iri`` (and every IRI among the values): a path below the graph's base (``table/66564``), or a whole
    IRI, which contains ``://``; paths never do, since their segments are percent-encoded. ``types``: classes with
    prefixes, the most exact first. ``values``: by term, in any order; terms without a value are absent, and no value
    appears twice.
    """

    of: NodeClass
    iri: str
    types: tuple[str, ...]
    values: Values


def one(term: str, range_: str = "xsd:string") -> Property:
    """Exactly one value."""
    return Property(term, range_, required=True)


def some(term: str, range_: str = "xsd:string") -> Property:
    """One value at least."""
    return Property(term, range_, required=True, many=True)


def maybe(term: str, range_: str = "xsd:string") -> Property:
    """One value or none."""
    return Property(term, range_)


def many(term: str, range_: str = "xsd:string") -> Property:
    """Any number of values."""
    return Property(term, range_, many=True)


KIND_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "table": ("ah:Table",),
    "view": ("ah:View",),
    "stage": ("ah:Stage",),
    "table-stage": ("ah:TableStage", "ah:Stage"),
    "user-stage": ("ah:UserStage", "ah:Stage"),
    "stream": ("ah:Stream",),
    "function": ("ah:Function",),
    "procedure": ("ah:Procedure",),
    "sequence": ("ah:Sequence",),
    "database": ("ah:Database",),
    "schema": ("ah:Schema",),
    "tag": ("ah:Tag", "skos:ConceptScheme"),
    "masking-policy": ("ah:MaskingPolicy", "ah:Policy"),
    "row-access-policy": ("ah:RowAccessPolicy", "ah:Policy"),
    "share": ("ah:Share",),
    "listing": ("ah:Listing",),
    "role": ("ah:Role",),
    "database-role": ("ah:DatabaseRole", "ah:Role"),
    "warehouse": ("ah:Warehouse",),
    "location": ("ah:Location",),
}
"""The classes of an object by its kind; a kind that is not here (or ends in ``-policy``) is an ah:SnowflakeObject
(ah:Policy)."""

DOMAIN_CLASSES: Final[Mapping[str, str]] = {
    "EXTERNAL TABLE": "ah:ExternalTable",
    "DYNAMIC TABLE": "ah:DynamicTable",
    "ICEBERG TABLE": "ah:IcebergTable",
    "HYBRID TABLE": "ah:HybridTable",
    "EVENT TABLE": "ah:EventTable",
    "TRANSIENT TABLE": "ah:TransientTable",
    "TEMPORARY TABLE": "ah:TemporaryTable",
    "MATERIALIZED VIEW": "ah:MaterializedView",
    "SECURE VIEW": "ah:SecureView",
    "EXTERNAL FUNCTION": "ah:ExternalFunction",
    "TABLE FUNCTION": "ah:TableFunction",
    "AGGREGATE FUNCTION": "ah:AggregateFunction",
}
"""The more exact class for domains that are special cases of their kind."""

SETTING_CLASSES: Final[Mapping[str, str]] = {
    "tags": "ah:TagSetting",
    "maskingPolicies": "ah:PolicySetting",
    "rowAccessPolicies": "ah:PolicySetting",
    "columns": "ah:ColumnSetting",
    "allowedValues": "ah:AllowedValueSetting",
}
"""The class of a setting by the property that it sets; an atomic property is an ah:PropertySetting, another compound
one an ah:Setting."""

UNRECORDED_VERSION_TYPES: Final = ("ah:UnrecordedVersion", "ah:Version", "prov:Entity")
UNRECORDED_COLUMN_VERSION_TYPES: Final = ("ah:UnrecordedColumnVersion", "ah:ColumnVersion", "prov:Entity")
"""The classes of a version, of an object or of a column, that is only known to have existed: no recorded query made it.
"""
