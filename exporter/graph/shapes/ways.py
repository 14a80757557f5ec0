"""Where a path leads to in the surroundings of an object: read off the vocabulary, before there are any nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.graph.shapes.paths import Alternative, Inverse, Predicate, Repeated, Sequence
from exporter.graph.shapes.surroundings import LINKS, OBJECT_OF, STAYS, can_be, leading_to
from exporter.graph.shapes.terms import SUBCLASS, TYPE
from exporter.graph.terms import full
from exporter.graph.vocabulary import NODE_CLASSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyoxigraph import NamedNode

    from exporter.graph.shapes.paths import Path
    from exporter.graph.terms import NodeClass, Property

OWN: Final = "own"
"""Nodes of the object."""
REFERRED: Final = "referred"
"""Nodes of the objects that it refers to."""
REFERRING: Final = "referring"
"""Nodes of other objects, each of which refers to it itself."""
BEHIND: Final = "behind"
"""All other nodes of these objects."""
LITERAL: Final = "literal"
CLASS: Final = "class"
BEYOND: Final = "beyond an object's surroundings"


class Kind(NamedTuple):
    """Nodes that are known: of which class, and in which ring of the surroundings."""

    ring: str
    of: NodeClass


class Outside(NamedTuple):
    """Nodes of which the IRI alone is known; ``name``: of the class that the vocabulary says they have."""

    name: str


Where = Kind | Outside | str
Places = dict[Where, None]
"""Where a path can lead, each once, in an order that hangs on nothing but the path."""
Link = tuple["NodeClass", str]


class TooFarError(Exception):
    """A path leads further than an object's surroundings; the text says where."""


@dataclass
class Reach:
    """What shapes ask for. ``terms``: of each class of nodes, the properties; ``rings``: the classes of nodes, by ring;
    ``referred``, ``referring``, ``behind``: the links over which these rings are reached, by class and the property
    whose value is the other object.
    """

    terms: dict[NodeClass, set[str]] = field(default_factory=dict)
    rings: dict[str, set[NodeClass]] = field(default_factory=dict)
    referred: set[Link] = field(default_factory=set)
    referring: set[Link] = field(default_factory=set)
    behind: set[Link] = field(default_factory=set)

    def join(self, other: Reach) -> None:
        """Add what another asks for."""
        for of, terms in other.terms.items():
            self.terms.setdefault(of, set()).update(terms)
        for ring, classes in other.rings.items():
            self.rings.setdefault(ring, set()).update(classes)
        self.referred |= other.referred
        self.referring |= other.referring
        self.behind |= other.behind


class Ways:
    """Follows paths, and notes what they ask for. ``doing``: what is followed, for the words of an error."""

    def __init__(self) -> None:
        self.found = Reach()
        self.doing = ""

    def at(self, ring: str, of: NodeClass) -> Kind:
        """Nodes of a class in a ring, which are needed."""
        self.found.rings.setdefault(ring, set()).add(of)
        return Kind(ring, of)

    def asks(self, of: NodeClass, term: str) -> None:
        """A property of a class is needed."""
        self.found.terms.setdefault(of, set()).add(term)

    # --- paths --------------------------------------------------------------------------------------------------------

    def forward(self, path: Path, start: Places) -> Places:
        """Where a path leads to; raises TooFarError where that cannot be told."""
        if isinstance(path, Predicate):
            return self.step(start, path.iri)
        if isinstance(path, Inverse):
            return self.back(path.of, start)
        if isinstance(path, Sequence):
            for each in path.steps:
                start = self.forward(each, start)
            return start
        return self._chosen(path, start, self.forward)

    def back(self, path: Path, start: Places) -> Places:
        """Where a path leads to from its end; raises as :meth:`forward` does."""
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
    def _chosen(path: Path, start: Places, follow: Callable[[Path, Places], Places]) -> Places:
        """Alternatives and repetitions."""
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
        """The values of a property."""
        found: Places = {}
        for one in start:
            if isinstance(one, Kind):
                found |= self._values(one, predicate)
            elif isinstance(one, Outside):
                raise self._unknown(one)
            elif one == CLASS and predicate == SUBCLASS:
                found[CLASS] = None
        return found

    def _values(self, one: Kind, predicate: NamedNode) -> Places:
        if predicate == TYPE:
            return {CLASS: None}
        property_ = property_of(one.of, predicate)
        if property_ is None:
            return {}
        self.asks(one.of, property_.term)
        return {LITERAL: None} if property_.is_literal else self._referred(one, property_)

    def _referred(self, one: Kind, property_: Property) -> Places:
        link = one.of, property_.term
        classes = [of for of in OBJECT_OF if can_be(of, full(property_.range))]
        if link in STAYS:
            return {self._beside(one, of): None for of in classes}
        if link in LINKS and one.ring == OWN:
            self.found.referred.add((one.of, LINKS[link]))
            return {self.at(REFERRED, of): None for of in classes}
        return {Outside(property_.range): None}

    def _beside(self, one: Kind, of: NodeClass) -> Kind:
        """Nodes of the same object as these."""
        if one.ring != REFERRING:
            return self.at(one.ring, of)
        self.found.behind |= {link for link in self.found.referring if link[0] is one.of}
        return self.at(BEHIND, of)

    # --- from a node to what refers to it -----------------------------------------------------------------------------

    def step_back(self, start: Places, predicate: NamedNode) -> Places:
        """What has these as the value of a property."""
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

    def _referring(self, one: Kind, of: NodeClass, term: str) -> Kind:
        link = of, term
        if link in STAYS:
            self.asks(of, term)
            return self._beside(one, of)
        if link in LINKS and one.ring == OWN:
            self.asks(of, term)
            self.found.referring.add((of, LINKS[link]))
            return self.at(REFERRING, of)
        raise TooFarError(f"{self.doing} leads to {a(of.name)}, {BEYOND}")

    def _unknown(self, one: Outside) -> TooFarError:
        return TooFarError(f"{self.doing} goes on from {a(one.name)}, {BEYOND}")


def property_of(of: NodeClass, predicate: NamedNode) -> Property | None:
    """The class's property."""
    return next((one for one in of.properties if full(one.term) == predicate.value), None)


def a(name: str) -> str:
    """``ah:Query`` -> ``an ah:Query``."""
    return f"a{'n' * (name[0] in 'aeiou')} {name}"
