"""The surroundings of an object: how far a shape can look in an export, and where a path leads in them.

An object has nodes of its own: itself, its names, columns and versions, what DDL changed and set on it, and the
enforcements of policies on it. Some of these refer to other objects: a setting to the tag or policy that is set, an
enforcement to the policy, an object to those of the same name, a change to the object it was made from or swapped with.
An object's surroundings are its own nodes and those of the objects that it is linked with, in either direction.

Lineage (what queries read, joined and derived) is left out: it leads from object to object without an end. Where a path
leads is derived from the vocabulary before any nodes exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.graph.shapes.model import SUBCLASS, TYPE
from exporter.graph.shapes.paths import Alternative, Inverse, Predicate, Repeated, Sequence
from exporter.graph.shapes.values import superclasses
from exporter.graph.terms import (
    DOMAIN_CLASSES,
    KIND_CLASSES,
    SETTING_CLASSES,
    UNRECORDED_COLUMN_VERSION_TYPES,
    UNRECORDED_VERSION_TYPES,
    full,
)
from exporter.graph.vocabulary import (
    CHANGE,
    COLUMN,
    COLUMN_VERSION,
    GRANT,
    NODE_CLASSES,
    OBJECT,
    OBJECT_NAME,
    POLICY_ENFORCEMENT,
    SETTING,
    VERSION,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from pyoxigraph import NamedNode

    from exporter.graph.shapes.paths import PropertyPath
    from exporter.graph.terms import Node, NodeClass, Property

OBJECT_OF: Final[Mapping[NodeClass, str | None]] = {
    OBJECT: None,
    OBJECT_NAME: None,
    COLUMN: "ah:columnOf",
    VERSION: "prov:specializationOf",
    CHANGE: "ah:changedObject",
    SETTING: "ah:settingOn",
    GRANT: "ah:grantedObject",
    POLICY_ENFORCEMENT: "ah:protectedObject",
}
"""The classes of nodes that belong to an object, with the property that names the object. None: the object itself, and
its names, which the object refers to."""
STAYS: Final = frozenset(
    {
        (OBJECT, "ah:hasName"),
        (COLUMN, "ah:columnOf"),
        (COLUMN, "ah:renamedFrom"),
        (VERSION, "prov:specializationOf"),
        (VERSION, "ah:priorVersion"),
        (VERSION, "ah:wroteColumn"),
        (CHANGE, "ah:changedObject"),
        (CHANGE, "ah:hasSetting"),
        (SETTING, "ah:settingOn"),
        (SETTING, "ah:onColumn"),
        (GRANT, "ah:grantedObject"),
        (POLICY_ENFORCEMENT, "ah:protectedObject"),
        (POLICY_ENFORCEMENT, "ah:protectedColumn"),
    }
)
"""Properties, by class, that lead from a node of an object to another node of the same object."""
LINKS: Final[Mapping[tuple[NodeClass, str], str]] = {
    (SETTING, "ah:elementObject"): "ah:elementObject",
    (GRANT, "ah:grantee"): "ah:grantee",
    (POLICY_ENFORCEMENT, "ah:policy"): "ah:policy",
    (POLICY_ENFORCEMENT, "ah:policyVersion"): "ah:policy",
    (OBJECT, "ah:sameNameAs"): "ah:sameNameAs",
    (CHANGE, "ah:swappedWith"): "ah:swappedWith",
    (CHANGE, "ah:madeFrom"): "ah:madeFrom",
}
"""Properties, by class, that lead to a node of another object; the value is the property that names that object."""

_TYPES: Final[Mapping[NodeClass, frozenset[str]]] = {
    OBJECT: frozenset(
        {"ah:Policy", "ah:SnowflakeObject", "prov:Entity", *DOMAIN_CLASSES.values()}.union(*KIND_CLASSES.values())
    ),
    VERSION: frozenset(UNRECORDED_VERSION_TYPES),
    COLUMN_VERSION: frozenset(UNRECORDED_COLUMN_VERSION_TYPES),
    SETTING: frozenset({"ah:Setting", "ah:PropertySetting", *SETTING_CLASSES.values()}),
}
"""The classes that nodes can have, for classes of nodes that vary."""


def types_of(of: NodeClass) -> Collection[str]:
    """The classes (``ah:…``) that nodes of the vocabulary's class can have."""
    return _TYPES.get(of, of.types)


@cache
def can_be(of: NodeClass, class_: str) -> bool:
    """Whether a node of the vocabulary's class can be an instance of ``class_``, a whole IRI."""
    return any(class_ in superclasses(name) for name in types_of(of))


@cache
def named(name: str) -> NodeClass:
    """The vocabulary's class with this name."""
    return next(of for of in NODE_CLASSES if of.name == name)


@cache
def leading_to(of: NodeClass, predicate: str) -> tuple[tuple[NodeClass, str], ...]:
    """The classes whose ``predicate`` (a whole IRI) can have a node of this class as its value, each with the term."""
    return tuple(
        (other, one.term)
        for other in NODE_CLASSES
        for one in other.properties
        if full(one.term) == predicate and not one.is_literal and can_be(of, full(one.range))
    )


def object_of(node: Node) -> str | None:
    """The IRI, as nodes have it, of the object that a node belongs to; None where no property of the node names it."""
    term = OBJECT_OF.get(node.of)
    if term is None:
        return node.iri if node.of is OBJECT else None
    values = node.values.get(term)
    return str(values[0]) if values else None


OWN: Final = "own"
"""Nodes of the object."""
REFERRED: Final = "referred"
"""Nodes of the objects that the object refers to."""
REFERRING: Final = "referring"
"""Nodes of other objects that refer to the object directly."""
BEHIND: Final = "behind"
"""All other nodes of these objects."""
LITERAL: Final = "literal"
CLASS: Final = "class"
BEYOND: Final = "beyond an object's surroundings"


class Kind(NamedTuple):
    """Nodes that are known: their class, and their ring in the surroundings."""

    ring: str
    of: NodeClass


class Outside(NamedTuple):
    """Nodes of which only the IRI is known; ``name``: the class that the vocabulary gives them."""

    name: str


Where = Kind | Outside | str
Places = dict[Where, None]
"""The places where a path can lead; none twice, in an order that depends on nothing but the path."""
Link = tuple["NodeClass", str]


class TooFarError(Exception):
    """A path leads further than an object's surroundings; the message says where."""


@dataclass
class Neighbourhood:
    """What shapes need. ``terms``: the properties, by class of nodes; ``rings``: the classes of nodes, by ring;
    ``referred``, ``referring``, ``behind``: the links that lead to these rings, as pairs of a class and the property
    whose value is the other object.
    """

    terms: dict[NodeClass, set[str]] = field(default_factory=dict)
    rings: dict[str, set[NodeClass]] = field(default_factory=dict)
    referred: set[Link] = field(default_factory=set)
    referring: set[Link] = field(default_factory=set)
    behind: set[Link] = field(default_factory=set)

    def join(self, other: Neighbourhood) -> None:
        """Adds what other shapes need."""
        for of, terms in other.terms.items():
            self.terms.setdefault(of, set()).update(terms)
        for ring, classes in other.rings.items():
            self.rings.setdefault(ring, set()).update(classes)
        self.referred |= other.referred
        self.referring |= other.referring
        self.behind |= other.behind


class PathFollower:
    """Follows paths and records what they need. ``doing``: what is being followed, for error messages."""

    def __init__(self) -> None:
        self.found = Neighbourhood()
        self.doing = ""

    def at(self, ring: str, of: NodeClass) -> Kind:
        """Nodes of a class in a ring; records that they are needed."""
        self.found.rings.setdefault(ring, set()).add(of)
        return Kind(ring, of)

    def asks(self, of: NodeClass, term: str) -> None:
        """Records that a property of a class is needed."""
        self.found.terms.setdefault(of, set()).add(term)

    # --- paths --------------------------------------------------------------------------------------------------------

    def forward(self, path: PropertyPath, start: Places) -> Places:
        """The places where a path leads; raises TooFarError where that is not known."""
        if isinstance(path, Predicate):
            return self.step(start, path.iri)
        if isinstance(path, Inverse):
            return self.back(path.of, start)
        if isinstance(path, Sequence):
            for each in path.steps:
                start = self.forward(each, start)
            return start
        return self._chosen(path, start, self.forward)

    def back(self, path: PropertyPath, start: Places) -> Places:
        """The places where a path starts that ends here; raises as :meth:`forward` does."""
        if isinstance(path, Predicate):
            return self.step_back(start, path.iri)
        if isinstance(path, Inverse):
            return self.forward(path.of, start)
        if isinstance(path, Sequence):
            for each in reversed(path.steps):
                start = self.back(each, start)
            return start
        return self._chosen(path, start, self.back)

    @staticmethod
    def _chosen(path: PropertyPath, start: Places, follow: Callable[[PropertyPath, Places], Places]) -> Places:
        """The places of alternatives and of repetitions."""
        if isinstance(path, Alternative):
            return {one: None for choice in path.choices for one in follow(choice, start)}
        assert isinstance(path, Repeated), path
        new = follow(path.of, start)
        if path.sign == "?":
            return start | new
        found: Places = {} if path.sign == "+" else dict(start)
        while new.keys() - found.keys():
            found |= new
            new = follow(path.of, new)
        return found

    # --- from a node to what it refers to -----------------------------------------------------------------------------

    def step(self, start: Places, predicate: NamedNode) -> Places:
        """The places of the values of a property."""
        found: Places = {}
        for one in start:
            if isinstance(one, Kind):
                found |= self._values(one, predicate)
            elif isinstance(one, Outside):
                raise self._unknown(one)
            elif one == CLASS and predicate == SUBCLASS:
                found[CLASS] = None
        return found

    def _values(self, kind: Kind, predicate: NamedNode) -> Places:
        if predicate == TYPE:
            return {CLASS: None}
        property_ = property_of(kind.of, predicate)
        if property_ is None:
            return {}
        self.asks(kind.of, property_.term)
        return {LITERAL: None} if property_.is_literal else self._referred(kind, property_)

    def _referred(self, kind: Kind, property_: Property) -> Places:
        link = kind.of, property_.term
        classes = [of for of in OBJECT_OF if can_be(of, full(property_.range))]
        if link in STAYS:
            return {self._beside(kind, of): None for of in classes}
        if link in LINKS and kind.ring == OWN:
            self.found.referred.add((kind.of, LINKS[link]))
            return {self.at(REFERRED, of): None for of in classes}
        return {Outside(property_.range): None}

    def _beside(self, kind: Kind, of: NodeClass) -> Kind:
        """Nodes of the same object as these, of another class."""
        if kind.ring != REFERRING:
            return self.at(kind.ring, of)
        self.found.behind |= {link for link in self.found.referring if link[0] is kind.of}
        return self.at(BEHIND, of)

    # --- from a node to what refers to it -----------------------------------------------------------------------------

    def step_back(self, start: Places, predicate: NamedNode) -> Places:
        """The places of nodes that have these as values of a property."""
        found: Places = {}
        for one in start:
            if isinstance(one, Kind):
                found |= {self._referring(one, of, term): None for of, term in leading_to(one.of, predicate.value)}
            elif isinstance(one, Outside):
                raise self._unknown(one)
            elif one == CLASS and predicate == SUBCLASS:
                found[CLASS] = None
            elif any(property_of(of, predicate) for of in NODE_CLASSES) or predicate == TYPE:
                raise TooFarError(f"{self.doing} leads to all nodes that have the same value")
        return found

    def _referring(self, kind: Kind, of: NodeClass, term: str) -> Kind:
        link = of, term
        if link in STAYS:
            self.asks(of, term)
            return self._beside(kind, of)
        if link in LINKS and kind.ring == OWN:
            self.asks(of, term)
            self.found.referring.add((of, LINKS[link]))
            return self.at(REFERRING, of)
        raise TooFarError(f"{self.doing} leads to {a(of.name)}, {BEYOND}")

    def _unknown(self, outside: Outside) -> TooFarError:
        return TooFarError(f"{self.doing} goes on from {a(outside.name)}, {BEYOND}")


def property_of(of: NodeClass, predicate: NamedNode) -> Property | None:
    """The property of the class with this predicate; None where the class does not have it."""
    return next((one for one in of.properties if full(one.term) == predicate.value), None)


def a(name: str) -> str:
    """``ah:Query`` -> ``an ah:Query``."""
    return f"a{'n' * (name[0] in 'aeiou')} {name}"
