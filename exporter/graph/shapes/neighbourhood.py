"""How far a shape looks: at its focus nodes alone, at the neighbourhood of an object, or further.

An object has nodes of its own: itself, its names, columns and versions, what DDL changed and set on it, and the
enforcements of policies on it. Some of these refer to other objects: a setting to the tag or policy that is set, an
enforcement to the policy, an object to those of the same name, a change to the object it was made from or swapped with.
An object's neighbourhood is its own nodes and those of the objects that it is linked with, in either direction.

Lineage (what queries read, joined and derived) is left out: it leads from object to object without an end.

Where a path leads is derived from the vocabulary before any nodes exist: the path is followed from place to place, as
it will be followed from node to node. An export collects the nodes of the places that are found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from exporter.graph.shapes.classes import readable, superclasses
from exporter.graph.shapes.constraints import Closed, Disjoint, Equals, LessThan, OfClass
from exporter.graph.shapes.model import SUBCLASS, TYPE, Constraint, Shape
from exporter.graph.shapes.on_graph import NodeGraph, Result, iri_of, is_target, results_at
from exporter.graph.terms import (
    DOMAIN_CLASSES,
    KIND_CLASSES,
    SETTING_CLASSES,
    UNRECORDED_COLUMN_VERSION_TYPES,
    UNRECORDED_VERSION_TYPES,
    Node,
    NodeClass,
    Property,
    Values,
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
    from pyoxigraph import NamedNode

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
WITHIN_OBJECT: Final = frozenset(
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
BETWEEN_OBJECTS: Final[Mapping[tuple[NodeClass, str], str]] = {
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


def types_of(node_class: NodeClass) -> Collection[str]:
    """The classes (``ah:…``) that nodes of the vocabulary's class can have."""
    return _TYPES.get(node_class, node_class.types)


@cache
def can_be(node_class: NodeClass, class_: str) -> bool:
    """Whether a node of the vocabulary's class can be an instance of ``class_``, a whole IRI."""
    return any(class_ in superclasses(name) for name in types_of(node_class))


@cache
def class_named(name: str) -> NodeClass:
    """The vocabulary's class with this name."""
    return next(node_class for node_class in NODE_CLASSES if node_class.name == name)


@cache
def property_of(node_class: NodeClass, predicate: NamedNode) -> Property | None:
    """The property of the class with this predicate; None where the class does not have it."""
    return next((property_ for property_ in node_class.properties if full(property_.term) == predicate.value), None)


@cache
def leading_to(node_class: NodeClass, predicate: str) -> tuple[tuple[NodeClass, str], ...]:
    """The classes whose ``predicate`` (a whole IRI) can have a node of this class as its value, each with the term."""
    return tuple(
        (other, property_.term)
        for other in NODE_CLASSES
        for property_ in other.properties
        if full(property_.term) == predicate and not property_.is_literal and can_be(node_class, full(property_.range))
    )


def object_of(node: Node) -> str | None:
    """The IRI, as nodes have it, of the object that a node belongs to; None where no property of the node names it."""
    term = OBJECT_OF.get(node.of)
    if term is None:
        return node.iri if node.of is OBJECT else None
    values = node.values.get(term)
    return str(values[0]) if values else None


# --- places -----------------------------------------------------------------------------------------------------------

OWN: Final = "own"
"""Nodes of the object."""
REFERRED: Final = "referred"
"""Nodes of the objects that the object refers to."""
REFERRING: Final = "referring"
"""Nodes of other objects that refer to the object directly."""
BEHIND: Final = "behind"
"""All other nodes of these objects."""
_ALONE: Final = "alone"
"""A focus node without any other node."""
_LITERAL: Final = "literal"
_CLASS: Final = "class"
_BEYOND: Final = "beyond an object's surroundings"


class Nodes(NamedTuple):
    """Nodes that are known: their class, and their ring in the neighbourhood."""

    ring: str
    of: NodeClass


class Outside(NamedTuple):
    """Nodes of which only the IRI is known, and what it says about their class; or other values of a node alone.
    ``name``: the class that the vocabulary gives them.
    """

    name: str


Place = Nodes | Outside | str
Places = dict[Place, None]
"""The places where a path can lead; none twice, in an order that depends on nothing but the path."""
Link = tuple["NodeClass", str]


class TooFarError(Exception):
    """A path leads further than an object's neighbourhood; the message says where."""


@dataclass
class Needed:
    """What shapes need of a neighbourhood: ``nodes``, by ring and class; ``terms``: the properties, by class of nodes;
    ``referred``, ``referring``: the links that are followed to other objects, and from them, each a class and the
    property whose value is the other object.
    """

    nodes: set[Nodes] = field(default_factory=set)
    terms: set[Link] = field(default_factory=set)
    referred: set[Link] = field(default_factory=set)
    referring: set[Link] = field(default_factory=set)

    def join(self, other: Needed) -> None:
        """Adds what other shapes need."""
        self.nodes |= other.nodes
        self.terms |= other.terms
        self.referred |= other.referred
        self.referring |= other.referring

    @property
    def rings(self) -> set[str]:
        """The rings that have nodes."""
        return {nodes.ring for nodes in self.nodes}


class _Places:
    """The vocabulary as a graph of places (:class:`exporter.graph.shapes.paths.Edges`). Records what is needed of them.
    ``doing``: what is being followed, for error messages.
    """

    def __init__(self) -> None:
        self.needed = Needed()
        self.doing = ""

    def at(self, ring: str, node_class: NodeClass) -> Nodes:
        """Nodes of a class in a ring; records that they are needed."""
        nodes = Nodes(ring, node_class)
        self.needed.nodes.add(nodes)
        return nodes

    def objects(self, subject: Place, predicate: NamedNode) -> Places:
        """The places of the values of a property; raises TooFarError where they are not known."""
        if isinstance(subject, Outside):
            raise self._unknown(subject)
        if subject == _ALONE:
            return {Outside("rdfs:Resource"): None}
        if not isinstance(subject, Nodes):
            return {_CLASS: None} if subject == _CLASS and predicate == SUBCLASS else {}
        if predicate == TYPE:
            return {_CLASS: None}
        property_ = property_of(subject.of, predicate)
        if property_ is None:
            return {}
        self.needed.terms.add((subject.of, property_.term))
        return {_LITERAL: None} if property_.is_literal else self._referred(subject, property_)

    def subjects(self, predicate: NamedNode, value: Place) -> Places:
        """The places of the nodes that have these as values of a property; raises as :meth:`objects` does."""
        if isinstance(value, Outside):
            raise self._unknown(value)
        if isinstance(value, Nodes):
            return {self._referring(value, link): None for link in leading_to(value.of, predicate.value)}
        if value == _CLASS and predicate == SUBCLASS:
            return {_CLASS: None}
        if (
            value == _ALONE
            or predicate == TYPE
            or any(property_of(node_class, predicate) for node_class in NODE_CLASSES)
        ):
            raise TooFarError(f"{self.doing} leads to all nodes that have the same value")
        return {}

    def _referred(self, nodes: Nodes, property_: Property) -> Places:
        link = nodes.of, property_.term
        classes = [node_class for node_class in OBJECT_OF if can_be(node_class, full(property_.range))]
        if link in WITHIN_OBJECT:
            return {self._beside(nodes, node_class): None for node_class in classes}
        if link in BETWEEN_OBJECTS and nodes.ring == OWN:
            self.needed.referred.add((nodes.of, BETWEEN_OBJECTS[link]))
            return {self.at(REFERRED, node_class): None for node_class in classes}
        return {Outside(property_.range): None}

    def _referring(self, nodes: Nodes, link: Link) -> Nodes:
        node_class = link[0]
        if link in WITHIN_OBJECT:
            self.needed.terms.add(link)
            return self._beside(nodes, node_class)
        if link in BETWEEN_OBJECTS and nodes.ring == OWN:
            self.needed.terms.add(link)
            self.needed.referring.add((node_class, BETWEEN_OBJECTS[link]))
            return self.at(REFERRING, node_class)
        raise TooFarError(f"{self.doing} leads to {_with_article(node_class.name)}, {_BEYOND}")

    def _beside(self, nodes: Nodes, node_class: NodeClass) -> Nodes:
        """Nodes of the same object as these, of another class."""
        return self.at(BEHIND if nodes.ring == REFERRING else nodes.ring, node_class)

    def _unknown(self, outside: Outside) -> TooFarError:
        return TooFarError(f"{self.doing} goes on from {_with_article(outside.name)}, {_BEYOND}")


def _with_article(name: str) -> str:
    """``ah:Query`` -> ``an ah:Query``."""
    return f"a{'n' * (name[0] in 'aeiou')} {name}"


# --- shapes -----------------------------------------------------------------------------------------------------------


def needed_by(shape: Shape) -> Needed | None:
    """What a shape with targets needs of the neighbourhood of an object; None where its focus nodes decide alone.
    Raises TooFarError, with the name of the shape, where it looks further.
    """
    if shape.targets.nodes:
        raise TooFarError(f"{shape.name}: sh:targetNode, since the node may be absent")
    if shape.targets.objects_of:
        raise TooFarError(f"{shape.name}: sh:targetObjectsOf")
    if SUBCLASS in shape.targets.subjects_of:
        raise TooFarError(f"{shape.name}: sh:targetSubjectsOf {SUBCLASS.value}, which only the ontology has")
    try:
        _Look(shape).follow({_ALONE: None})
    except TooFarError:
        look = _Look(shape)
    else:
        return None
    try:
        return look.follow(look.at_targets())
    except TooFarError as error:
        is_named = look.part is not shape and not look.part.name.startswith("_:")
        raise TooFarError(f"{shape.name}{f' ({look.part.name})' if is_named else ''}: {error}") from None


class _Look:
    """Follows a shape through its constraints. ``part``: the shape or inner shape that is followed now."""

    def __init__(self, shape: Shape) -> None:
        self.part = self._shape = shape
        self._places = _Places()

    def follow(self, focus: Places) -> Needed:
        """What the shape needs at its focus nodes; raises TooFarError where it looks further."""
        self._at_shape(self._shape, focus)
        return self._places.needed

    def at_targets(self) -> Places:
        """The focus nodes, where they are nodes of an object."""
        targets, places = self._shape.targets, Places()
        for class_ in targets.classes:
            instances = [node_class for node_class in NODE_CLASSES if can_be(node_class, class_.value)]
            places |= self._focus(f"sh:targetClass {class_.value}", instances)
        for predicate in targets.subjects_of:
            having = [
                node_class for node_class in NODE_CLASSES if predicate == TYPE or property_of(node_class, predicate)
            ]
            focus = self._focus(f"sh:targetSubjectsOf {predicate.value}", having)
            for nodes in focus:
                self._places.objects(nodes, predicate)
            places |= focus
        return places

    def _focus(self, target: str, classes: Iterable[NodeClass]) -> Places:
        places: Places = {}
        for node_class in classes:
            if node_class not in OBJECT_OF:
                raise TooFarError(f"{target} looks for {_with_article(node_class.name)}, {_BEYOND}")
            places[self._places.at(OWN, node_class)] = None
        return places

    def _at_shape(self, shape: Shape, focus: Places) -> None:
        """Follows the constraints of a shape from these focus nodes."""
        if shape.is_deactivated:
            return
        outer, self.part, values = self.part, shape, focus
        if shape.path:
            self._places.doing = f"the path {shape.path_text}"
            values = {value: None for place in focus for value in shape.path.values(self._places, place)}
        for constraint in shape.constraints:
            self._places.doing = constraint.component
            self._at_constraint(constraint, focus, values)
        self.part = outer

    def _at_constraint(self, constraint: Constraint, focus: Places, values: Places) -> None:
        if isinstance(constraint, Equals | Disjoint | LessThan):
            for nodes in focus:
                self._places.objects(nodes, constraint.predicate)
        elif isinstance(constraint, Closed):
            self._check_known(values, constraint.component)
            known = [value.of for value in values if isinstance(value, Nodes)]
            self._places.needed.terms |= {
                (node_class, property_.term) for node_class in known for property_ in node_class.properties
            }
        elif isinstance(constraint, OfClass) and not _is_known_by_iri(constraint.class_.value):
            self._check_known(values, f"sh:class {constraint.class_.value}")
        for inner in constraint.inner_shapes:
            self._at_shape(inner, values)

    @staticmethod
    def _check_known(values: Places, component: str) -> None:
        for value in values:
            if isinstance(value, Outside):
                raise TooFarError(f"{component} of {_with_article(value.name)}, {_BEYOND}")


@cache
def _is_known_by_iri(class_: str) -> bool:
    """Whether IRIs tell who is of the class, a whole IRI."""
    return any(class_ in superclasses(name) for name in readable())


class NeighbourhoodShapes:
    """Shapes that look at the neighbourhood of an object. ``needed``: what all of them together need of it."""

    def __init__(self) -> None:
        self.needed = Needed()
        self._shapes: list[Shape] = []

    def __bool__(self) -> bool:
        return bool(self._shapes)

    def add(self, shape: Shape, needed: Needed) -> None:
        """Adds a shape, and what it needs."""
        self._shapes.append(shape)
        self.needed.join(needed)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the shapes."""
        return tuple(shape.name for shape in self._shapes)

    def needs(self, node_class: NodeClass, *rings: str) -> bool:
        """Whether the shapes need nodes of a class in one of these rings."""
        return any(Nodes(ring, node_class) in self.needed.nodes for ring in rings)

    def needed_values(self, node: Node) -> Values:
        """The values of a node that the shapes need."""
        return {term: values for term, values in node.values.items() if (node.of, term) in self.needed.terms}

    def check(self, own: list[Node], neighbours: list[Node], base: str) -> dict[str, list[Result]]:
        """The results of the shapes, in order, by the IRI of the node that they target: one of an object's own nodes.
        ``neighbours``: the rest of its neighbourhood. A result can be about another node, or about a value on the way.
        """
        graph, by_node = NodeGraph([*own, *neighbours], base), {}
        for focus in {iri_of(node, base): None for node in own}:
            targeted = [(shape, focus) for shape in self._shapes if is_target(focus, shape.targets, graph)]
            if results := results_at(targeted, graph):
                by_node[focus.value] = results
        return by_node
