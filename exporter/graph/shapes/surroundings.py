"""The surroundings of an object: how far a shape can look in an export, and which nodes belong there.

An object has nodes of its own: itself, its names, columns and versions, what DDL changed and set on it, and the
enforcements of policies on it. Some of these refer to other objects: a setting to the tag or policy that is set, an
enforcement to the policy, an object to those of the same name, a change to the object it was made from or swapped with.
An object's surroundings are its own nodes and those of the objects that it is linked with, in either direction.

Lineage (what queries read, joined and derived) is left out: it leads from object to object without an end.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from exporter.graph.kinds import COLUMN_VERSION_CLASSES, DOMAIN_CLASSES, KIND_CLASSES, SETTING_CLASSES, VERSION_CLASSES
from exporter.graph.shapes.classes import superclasses
from exporter.graph.terms import full
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
    from collections.abc import Collection, Mapping

    from exporter.graph.terms import Node, NodeClass

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
    VERSION: frozenset().union(*VERSION_CLASSES.values()),
    COLUMN_VERSION: frozenset().union(*COLUMN_VERSION_CLASSES.values()),
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
