"""The classes of nodes: which class an IRI says, and which superclasses the ontology gives it; and the ontology's terms
in a user's shapes.

A node refers to nodes that other partitions hold, and only their IRIs are known here. Their classes are derived from
their IRIs. That is enough for sh:class, because two other checks complete it: each node has the class that its IRI
says, and no reference leads to a missing node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from exporter.graph.shapes.model import (
    RDF,
    RDFS,
    SH,
    SUBCLASS,
    TYPE,
    BlankNode,
    Documents,
    MemoryGraph,
    NamedNode,
    Term,
    text,
)
from exporter.graph.terms import AH, KIND_CLASSES, full, short
from exporter.input.aggregates import is_id
from exporter.system.files import ontology_dir
from exporter.system.reachable import reachable

if TYPE_CHECKING:
    from pyoxigraph import Triple

_OF_QUERY: Final = {
    "access": "ah:Access",
    "enforced": "ah:PolicyEnforcement",
    "enforced-by-provider": "ah:PolicyEnforcement",
    "join": "ah:Join",
    "association": "ah:AgentAssociation",
    "association-of": "ah:UserAssociation",
    "change": "ah:Change",
}
"""The class by the segment after ``query/ID/``."""
_OF_CHANGE: Final = {"setting": "ah:Setting", "granted": "ah:Grant"}
"""The class by the segment after ``query/ID/change/KEY/``."""
_inside_change: Final = re.compile("/(setting|granted)/").search
_OF_OBJECT: Final = (
    "ah:Column",
    "ah:ObjectName",
    "ah:ColumnDerivation",
    "ah:ColumnVersion",
    "ah:ViewSource",
    "ah:Version",
)
"""The classes of parts of objects. Where the name of an object makes an IRI ambiguous, the first of them counts."""
_BY_NAME: Final = {"user": "ah:User", "export": "ah:Export"}
"""The class of ``KIND/NAME``, with no further segments."""
_STATES: Final = ("version", "version-after-drop", "before")
_SHARED: Final = {
    "reads": "ah:DailyRead",
    "part": "ah:DailyReadPart",
    "access": "ah:AccessPattern",
    "derived": "ah:DerivationPattern",
    "enforced": "ah:PolicyEnforcement",
    "setting": "ah:Setting",
}
"""With ``--reads daily``: the class of ``reads/DAY/…``, and of nodes that are named by a digest alone."""
_DECLARED: Final = {
    "declared/by": "ah:Declaration",
    "declared/dataset": "ah:DeclaredDataset",
    "declared/job": "ah:DeclaredJob",
    "declared/edge": "ah:DeclaredDerivation",
}
"""What ``exporter reconcile`` writes: the class of ``declared/WHAT/DIGEST``, by what is before the digest."""
_SINGLE: Final = {"account": "ah:Account", "organization": "ah:Organization"}


@cache
def hierarchy() -> tuple[Triple, ...]:
    """The ontology's ``rdfs:subClassOf`` triples, which are added to every graph that is validated."""
    triples = Documents().triples(ontology_dir() / "access-history.ttl")
    return tuple(triple for triple in triples if triple.predicate == SUBCLASS)


@cache
def _above() -> dict[str, frozenset[str]]:
    """By class (``ah:…``), the class itself and all of its superclasses, as whole IRIs."""
    graph = MemoryGraph(hierarchy())
    stated = {term for triple in hierarchy() for term in (triple.subject, triple.object) if isinstance(term, NamedNode)}
    kinds = {name for names in KIND_CLASSES.values() for name in names}
    classes = stated | {NamedNode(full(name)) for name in readable() | kinds}
    return {short(class_.value): frozenset(map(text, graph.superclasses(class_))) for class_ in classes}


def superclasses(name: str) -> frozenset[str]:
    """The class ``ah:…`` and all of its superclasses, as whole IRIs."""
    return _above().get(name) or frozenset({full(name)})


def is_class(iri: str) -> bool:
    """Whether a whole IRI is that of a class which nodes can have, or of a superclass."""
    return short(iri) in _above()


def readable() -> frozenset[str]:
    """The classes (``ah:…``) that an IRI can have by its form."""
    kinds = (classes[0] for classes in KIND_CLASSES.values())
    queries = ("ah:Query", "ah:AggregatedQueries")
    further = (*queries, "ah:Export", "ah:User", "ah:SoftwareAgent", "ah:Location", "ah:Policy", "ah:SnowflakeObject")
    return frozenset(
        {
            *kinds,
            *further,
            *_OF_QUERY.values(),
            *_OF_CHANGE.values(),
            *_OF_OBJECT,
            *_SINGLE.values(),
            *_SHARED.values(),
            *_DECLARED.values(),
        }
    )


def class_of(iri: str, base: str) -> str:
    """The class (``ah:…``) of a node by its IRI; ``iri``: as in a node, whole or a path below ``base``."""
    if "://" not in iri:
        path = iri
    elif iri.startswith(base):
        path = iri[len(base) :]
    else:
        authority, _, path = iri.removeprefix("snowflake://").partition("/")
        is_ours = iri.startswith("snowflake://") and authority and iri.find("/", len("snowflake://")) > 0
        return class_of_path(path) if is_ours else "ah:Location"
    if path.startswith("account/"):
        name, slash, rest = path[len("account/") :].partition("/")
        path = rest if name and slash else path
    return class_of_path(path)


def class_of_path(path: str) -> str:
    """The class by a path below the place of an account."""
    kind, _, rest = path.partition("/")
    if kind == "query" and rest:
        class_ = _class_in_query(rest)
        if class_:
            return class_
    elif kind in _BY_NAME and rest and "/" not in rest:
        return _BY_NAME[kind]
    elif kind == "agent" and path != "agent":
        return "ah:SoftwareAgent"
    elif kind in _SHARED and rest:
        return _SHARED[kind]
    elif path in _SINGLE or path.rpartition("/")[0] in _DECLARED:
        return _SINGLE.get(path) or _DECLARED[path.rpartition("/")[0]]
    return (_class_in_object(path.split("/")) if "/" in rest else None) or _class_of_kind(kind)


def _class_in_query(rest: str) -> str | None:
    """The class by what follows ``query/``: ``ID``, or a part of the query."""
    query_id, slash, rest = rest.partition("/")
    if not slash:
        return "ah:AggregatedQueries" if is_id(query_id) else "ah:Query"
    part, slash, rest = rest.partition("/")
    if not query_id or not slash:
        return None
    inside = _inside_change(rest) if part == "change" else None
    return _OF_CHANGE[inside[1]] if inside else _OF_QUERY.get(part)


def _class_in_object(parts: list[str]) -> str | None:
    """The class of a part of an object. The object is two segments, or three where the second is ``name``."""
    if not (parts[0] and parts[1]):
        return None
    possible = [_class_of_part(parts[2:])]
    if parts[1] == "name" and parts[2]:
        possible.append(_class_of_part(parts[3:]))
    return min((class_ for class_ in possible if class_), key=_OF_OBJECT.index, default=None)


def _class_of_part(rest: list[str]) -> str | None:
    """The class by what follows the object: ``column/NAME``, ``called/TIME/NAME``, or a state; None for others."""
    head, count = rest[0] if rest else "", len(rest)
    if head == "column":
        return "ah:Column" if count == 2 and rest[1] else None
    if head == "called":
        return "ah:ObjectName" if count == 3 and rest[1] and rest[2] else None
    return _class_of_state(head, rest[2:]) if head in _STATES and count > 1 and rest[1] else None


def _class_of_state(head: str, rest: list[str]) -> str | None:
    """The class of a state of an object, or of a part of the state."""
    if not rest:
        return "ah:Version"
    if head == "version" and rest[0] == "derivation" and len(rest) > 1:
        return "ah:ColumnDerivation"
    if rest[0] == "shows" and len(rest) > 3:
        return "ah:ViewSource"
    return "ah:ColumnVersion" if len(rest) == 2 and rest[0] == "column" and rest[1] else None


@lru_cache(maxsize=1_000)
def _class_of_kind(kind: str) -> str:
    """The class of an object by its kind."""
    known = KIND_CLASSES.get(kind)
    return known[0] if known else "ah:Policy" if kind.endswith("-policy") else "ah:SnowflakeObject"


def has_class_of_iri(types: tuple[str, ...], base: str) -> Callable[[str, object], bool]:
    """The test of whether a node with these types has the class that its IRI says; it does not look at its values."""

    def has_class(iri: str, _: object) -> bool:
        class_ = class_of(iri, base)
        return class_ in types or (class_ == "ah:Query" and "ah:UnrecordedQuery" in types)

    return has_class


REMEMBERED: Final = 50_000
"""How many references that passed are remembered for each class, before all are forgotten."""


class References:
    """The test of whether a reference is of a class, by its IRI. Remembers the IRIs that passed."""

    def __init__(self, class_: str, base: str) -> None:
        self.passed: set[str] = set()
        self._base = base
        self._classes = frozenset(name for name in readable() if class_ in superclasses(name))

    def __call__(self, iri: Any) -> bool:
        """Whether the IRI is of the class."""
        if iri in self.passed:
            return True
        if class_of(iri, self._base) not in self._classes:
            return False
        if len(self.passed) >= REMEMBERED:
            self.passed.clear()
        self.passed.add(iri)
        return True


# --- the ontology's terms in shapes -----------------------------------------------------------------------------------


_FIRST: Final = f"{RDF}first"
_OF_PROPERTIES: Final = ("targetSubjectsOf", "targetObjectsOf", "equals", "disjoint", "lessThan", "lessThanOrEquals")
TAKES: Final = {
    SUBCLASS.value: "a class",
    TYPE.value: "a class",
    f"{RDFS}subPropertyOf": "a property",
    **{f"{SH}{name}": "a class" for name in ("targetClass", "class")},
    **{f"{SH}{name}": "a property" for name in (*_OF_PROPERTIES, "path", "ignoredProperties")},
}
"""What a property of SHACL or RDFS takes. Of ``sh:path`` and a list, each term in it."""
_BESIDE: Final = f"{AH.removesuffix('#')}/shapes#"
"""The namespace of the exporter's shapes, which has no classes or properties."""


def fault_of(triple: Triple, shapes: MemoryGraph) -> str | None:
    """What is wrong with the terms of the ontology that are the triple's object, or in its path or list; None if
    nothing is. Terms that the shapes describe themselves are no terms of the ontology.
    """
    predicate, node = triple.predicate.value, cast("Term", triple.object)
    takes_terms = predicate.startswith(SH) or predicate == _FIRST or predicate in TAKES
    if takes_terms and isinstance(node, NamedNode) and (fault := fault_of_term(node, shapes)):
        return fault
    taken = TAKES.get(predicate)
    for term in _terms(node, shapes) if taken else ():
        kind = _kinds().get(term.value)
        if term.value.startswith(_BESIDE):
            return f"{term.value} is no term of the ontology: these are in <{AH}>"
        if kind is not None and kind != taken:
            name = f"sh:{predicate.removeprefix(SH)}" if predicate.startswith(SH) else predicate.rpartition("#")[2]
            return f"{_short(term)} is {kind}, and {name} takes {taken}"
    return None


def fault_of_term(term: NamedNode, shapes: MemoryGraph) -> str | None:
    """What is wrong with a term of the ontology; None if nothing is, or if the shapes describe it."""
    if not _is_unknown(term) or term in shapes.by_subject:
        return None
    return f"{_short(term)} is not in the ontology{_nearest(term)}"


def fault_of_class(shape: Term) -> str | None:
    """What is wrong with a shape that is a class, and so its own target; None if nothing is."""
    if not isinstance(shape, NamedNode) or not shape.value.startswith(AH):
        return None
    if _is_unknown(shape):
        return f"{_short(shape)} is not in the ontology{_nearest(shape)}"
    return None if _kinds()[shape.value] == "a class" else f"{_short(shape)} is a property, and no class"


def _terms(node: Term, shapes: MemoryGraph) -> Iterator[NamedNode]:
    """The IRI, or those in a path or list."""
    known = shapes.by_subject
    parts = reachable([node], lambda term: chain(*known.get(term, {}).values()) if isinstance(term, BlankNode) else ())
    return (part for part in parts if isinstance(part, NamedNode))


@cache
def _kinds() -> dict[str, str]:
    """The IRIs of the ontology's terms in its own namespace: each is a class or a property."""
    triples = Documents().triples(ontology_dir() / "access-history.ttl")
    types = {
        text(cast("Term", triple.subject)): text(cast("Term", triple.object))
        for triple in triples
        if triple.predicate == TYPE
    }
    return {
        iri: "a property" if type_.endswith("Property") else "a class"
        for iri, type_ in types.items()
        if iri.startswith(AH)
    }


@cache
def ontology_terms() -> frozenset[str]:
    """The names of the ontology's terms, without prefix."""
    return frozenset(iri.removeprefix(AH) for iri in _kinds())


def _is_unknown(term: NamedNode) -> bool:
    return term.value.startswith(AH) and term.value not in _kinds()


def _short(term: NamedNode) -> str:
    return f"ah:{term.value.removeprefix(AH)}"


def _nearest(term: NamedNode) -> str:
    near = get_close_matches(_short(term), [f"ah:{iri.removeprefix(AH)}" for iri in sorted(_kinds())], n=1)
    return f". Perhaps {near[0]} is meant" if near else ""
