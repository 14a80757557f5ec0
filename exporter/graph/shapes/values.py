"""Values of nodes in memory, and fast tests of them: a constraint and a property of the vocabulary -> a function.

A node refers to nodes that other partitions hold, and only their IRIs are known here. Their classes are derived from
their IRIs. That is enough for sh:class, because two other checks complete it: each node has the class that its IRI
says, and no reference leads to a missing node.

What follows from the vocabulary's range is decided once: that an xsd:string is a string, that a reference is an IRI,
that a time has a year of four digits (:mod:`exporter.input.times` reads no other). Counts, lengths, patterns, bounds
and the classes of references remain to be tested. A constraint without a fast form is applied to the value as a term.
Each test gives the same result as its constraint: a value that passes is not validated again.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from exporter.graph.iri import whole
from exporter.graph.shapes.constraints import (
    NODE_KINDS,
    Bound,
    Count,
    Datatype,
    HasValue,
    In,
    Length,
    NodeKind,
    OfClass,
    Pattern,
    UniqueLang,
)
from exporter.graph.shapes.literals import compared, read
from exporter.graph.shapes.model import SUBCLASS, Documents, Graph, Literal, NamedNode, text
from exporter.graph.terms import KIND_CLASSES, LEXICAL, PREFIXES, full
from exporter.input.aggregates import is_id
from exporter.system.files import ontology_dir

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyoxigraph import Triple

    from exporter.graph.shapes.model import Constraint, OfEach, Term
    from exporter.graph.shapes.on_graph import NodeGraph
    from exporter.graph.terms import Property, Value, Values

    Test = Callable[[Any], bool]
    """A test of one value."""
    OfAll = Callable[[tuple[Value, ...]], bool]
    """A test of all values of a property."""
    Whole = Callable[[str, Values], bool]
    """A test of a node by its IRI and its values."""

# --- classes by IRI ---------------------------------------------------------------------------------------------------

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
    graph = Graph(hierarchy())
    stated = {term for triple in hierarchy() for term in (triple.subject, triple.object) if isinstance(term, NamedNode)}
    kinds = {name for names in KIND_CLASSES.values() for name in names}
    classes = stated | {NamedNode(full(name)) for name in readable() | kinds}
    return {short(each.value): frozenset(map(text, graph.superclasses(each))) for each in classes}


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
    others = (*queries, "ah:Export", "ah:User", "ah:SoftwareAgent", "ah:Location", "ah:Policy", "ah:SnowflakeObject")
    return frozenset(
        {
            *kinds,
            *others,
            *_OF_QUERY.values(),
            *_OF_CHANGE.values(),
            *_OF_OBJECT,
            *_SINGLE.values(),
            *_SHARED.values(),
            *_DECLARED.values(),
        }
    )


def short(iri: str) -> str:
    """A whole IRI -> ``ah:Query``; unchanged where no prefix fits."""
    for prefix, beginning in PREFIXES.items():
        if iri.startswith(beginning):
            return f"{prefix}:{iri.removeprefix(beginning)}"
    return iri


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


def test_of_class(types: tuple[str, ...], base: str) -> Whole:
    """The test of whether a node with these types has the class that its IRI says."""

    def has_class_of_iri(iri: str, _: Values) -> bool:
        class_ = class_of(iri, base)
        return class_ in types or (class_ == "ah:Query" and "ah:UnrecordedQuery" in types)

    return has_class_of_iri


# --- tests ------------------------------------------------------------------------------------------------------------


def term_of(value: Value, predicate: Property, base: str) -> Term:
    """A value in memory as an RDF term, by the range of its property."""
    if not predicate.is_literal:
        return NamedNode(whole(str(value), base))
    if predicate.range == "xsd:string":
        return Literal(str(value))
    return Literal(LEXICAL[predicate.range](value), datatype=NamedNode(full(predicate.range)))


REMEMBERED: Final = 50_000
"""How many references that passed are remembered for each class, before all are forgotten."""


class References:
    """The test of whether a reference is of a class, by its IRI. Remembers the IRIs that passed."""

    def __init__(self, class_: str, base: str) -> None:
        self.passed: set[str] = set()
        self._base = base
        self._classes = frozenset(name for name in readable() if class_ in superclasses(name))

    def __call__(self, iri: str) -> bool:
        """Whether the IRI is of the class."""
        if iri in self.passed:
            return True
        if class_of(iri, self._base) not in self._classes:
            return False
        if len(self.passed) >= REMEMBERED:
            self.passed.clear()
        self.passed.add(iri)
        return True


def never(value: object) -> bool:  # noqa: ARG001 - a test
    """No value passes."""
    return False


class Quick:
    """Makes the tests of values for a graph below ``base``."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._references: dict[str, References] = {}

    def references(self, class_: str) -> References:
        """The references of a class; properties with the same class share them."""
        if class_ not in self._references:
            self._references[class_] = References(class_, self._base)
        return self._references[class_]

    def test(self, constraint: OfEach, predicate: Property, unknown: NodeGraph) -> Test | None:
        """The test of each value of a property; None where all values pass. ``unknown``: a node of the class without
        values, which stands for all such nodes where a constraint reads values alone.
        """
        for kind, make in _MAKERS.items():
            if isinstance(constraint, kind):
                test: Test | bool = make(self, constraint, predicate)
                return (None if test else never) if isinstance(test, bool) else test
        base = self._base
        return lambda value: constraint.accepts(unknown, term_of(value, predicate, base))

    def datatype(self, constraint: Datatype, predicate: Property) -> Test | bool:
        return predicate.is_literal and constraint.datatype.value == full(predicate.range)

    def node_kind(self, constraint: NodeKind, predicate: Property) -> Test | bool:
        return (Literal if predicate.is_literal else NamedNode) in NODE_KINDS[constraint.kind]

    def class_(self, constraint: OfClass, predicate: Property) -> Test | bool:
        return False if predicate.is_literal else self.references(constraint.class_.value)

    def length(self, constraint: Length, predicate: Property) -> Test | bool:
        bound = constraint.bound
        if not predicate.is_literal:
            base = self._base
            return lambda value: constraint.allows(len(whole(value, base)))
        if predicate.range != "xsd:string":
            return lambda value: constraint.allows(len(term_of(value, predicate, "").value))
        if not constraint.is_least:
            return lambda value: len(value) <= bound
        if bound <= 1:
            return bool if bound else True
        return lambda value: len(value) >= bound

    def pattern(self, constraint: Pattern, predicate: Property) -> Test | bool:
        matches, base = constraint.expression.found, self._base
        if not predicate.is_literal:
            return lambda value: matches(whole(value, base))
        if predicate.range != "xsd:string":
            return lambda value: matches(term_of(value, predicate, "").value)
        return matches

    def bound(self, constraint: Bound, predicate: Property) -> Test | bool:
        bound = read(constraint.bound)
        if predicate.range != "xsd:integer" or not bound.is_number or not isinstance(bound.value, int):
            base = self._base
            return lambda value: constraint.allows(compared(term_of(value, predicate, base), constraint.bound))
        limit = bound.value
        return lambda value: constraint.allows((value > limit) - (value < limit))

    def in_(self, constraint: In, predicate: Property) -> Test | bool:
        if predicate.range != "xsd:string":
            base = self._base
            return lambda value: term_of(value, predicate, base) in constraint.terms
        texts = frozenset(term.value for term in constraint.terms if term == Literal(term.value))
        return texts.__contains__


_MAKERS: Final[dict[type[OfEach], Callable[[Quick, Any, Property], Test | bool]]] = {
    Datatype: Quick.datatype,
    NodeKind: Quick.node_kind,
    OfClass: Quick.class_,
    Length: Quick.length,
    Pattern: Quick.pattern,
    Bound: Quick.bound,
    In: Quick.in_,
}


def to_values(constraint: Constraint, predicate: Property, unknown: NodeGraph, base: str) -> OfAll | None:
    """The test of all values of a property together; None where all values always pass."""
    if isinstance(constraint, UniqueLang) or (isinstance(constraint, Count) and constraint.bound <= 1):
        return None
    if isinstance(constraint, Count):
        return lambda found: len(found) >= constraint.bound
    if isinstance(constraint, HasValue) and predicate.range == "xsd:string":
        wanted = constraint.term.value
        return (lambda found: wanted in found) if constraint.term == Literal(wanted) else never

    def asked(found: tuple[Value, ...]) -> bool:
        values = {term_of(value, predicate, base): None for value in found}
        return next(constraint.failing(unknown, NamedNode(base), values), asked) is asked

    return asked


def of_all(most: int | None, each: list[Test], others: list[OfAll]) -> OfAll:
    """All tests of a property's values as one; it is only applied to properties that have values."""
    if never in each or most == 0:
        return never
    if others:
        rest = of_all(most, each, [])
        return lambda values: rest(values) and all(test(values) for test in others)
    if most == 1:
        return _test_of_one(each)
    of_many = _test_of_many(each)
    return of_many if most is None else lambda values: len(values) <= most and of_many(values)


def _test_of_one(each: list[Test]) -> OfAll:
    if not each:
        return lambda values: len(values) == 1
    if len(each) > 1:
        return lambda values: len(values) == 1 and all(test(values[0]) for test in each)
    (test,) = each
    passed = test.passed if isinstance(test, References) else None
    if passed is not None:
        return lambda values: len(values) == 1 and (values[0] in passed or test(values[0]))
    return lambda values: len(values) == 1 and test(values[0])


def _test_of_many(each: list[Test]) -> OfAll:
    if not each:
        return lambda found: True  # noqa: ARG005 - a test
    if len(each) > 1:
        return lambda found: all(test(value) for value in found for test in each)
    (test,) = each
    passed = test.passed if isinstance(test, References) else None
    if passed is not None:
        return lambda found: passed.issuperset(found) or all(map(test, found))
    return lambda found: all(map(test, found))
