"""Classes: the superclasses that the ontology gives, and the class of a node, derived from its IRI.

A node refers to nodes that other partitions hold, and only their IRIs are known here. That is enough for sh:class,
because two other checks complete it: each node has the class that its IRI says, and no reference leads to a missing
node.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from exporter.graph.shapes.model import SUBCLASS, Documents, Graph, NamedNode
from exporter.graph.terms import KIND_CLASSES, PREFIXES, full
from exporter.input.aggregates import is_id
from exporter.system.files import ontology_dir

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
    *("ah:Column", "ah:ObjectName", "ah:ColumnDerivation", "ah:ColumnVersion", "ah:ViewSource", "ah:Version"),
)
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
def above() -> dict[str, frozenset[str]]:
    """By class (``ah:…``), the class itself and all of its superclasses, as whole IRIs."""
    graph = Graph(hierarchy())
    names = {text for triple in hierarchy() for text in (triple.subject.value, triple.object.value)}  # type: ignore[union-attr]
    found = {}
    for name in sorted(names | {full(text) for text in readable()}):
        up = {value.value for value in _all_above(graph, NamedNode(name))}
        found[short(name)] = frozenset(up)
    return found


def _all_above(graph: Graph, class_: NamedNode) -> set[NamedNode]:
    found, todo = set(), [class_]
    while todo:
        named_node = todo.pop()
        if named_node not in found:
            found.add(named_node)
            todo.extend(value for value in graph.objects(named_node, SUBCLASS) if isinstance(value, NamedNode))
    return found


def superclasses(name: str) -> frozenset[str]:
    """The class ``ah:…`` and all of its superclasses, as whole IRIs."""
    return above().get(name) or frozenset({full(name)})


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
        place, _, path = iri.removeprefix("snowflake://").partition("/")
        is_ours = iri.startswith("snowflake://") and place and iri.find("/", len("snowflake://")) > 0
        return class_of_path(path) if is_ours else "ah:Location"
    if path.startswith("account/"):
        name, slash, rest = path[len("account/") :].partition("/")
        path = rest if name and slash else path
    return class_of_path(path)


def class_of_path(path: str) -> str:
    """The class by a path below the place of an account."""
    kind, _, rest = path.partition("/")
    if kind == "query" and rest:
        text = _of_query(rest)
        if text:
            return text
    elif kind in _BY_NAME and rest and "/" not in rest:
        return _BY_NAME[kind]
    elif kind == "agent" and path != "agent":
        return "ah:SoftwareAgent"
    elif kind in _SHARED and rest:
        return _SHARED[kind]
    elif path in _SINGLE or path.rpartition("/")[0] in _DECLARED:
        return _SINGLE.get(path) or _DECLARED[path.rpartition("/")[0]]
    return (_of_object(path.split("/")) if "/" in rest else None) or _of_kind(kind)


def _of_query(rest: str) -> str | None:
    """The class by what follows ``query/``: ``ID``, or a part of the query."""
    query_id, slash, rest = rest.partition("/")
    if not slash:
        return "ah:AggregatedQueries" if is_id(query_id) else "ah:Query"
    part, slash, rest = rest.partition("/")
    if not query_id or not slash:
        return None
    inside = _inside_change(rest) if part == "change" else None
    return _OF_CHANGE[inside[1]] if inside else _OF_QUERY.get(part)


def _of_object(parts: list[str]) -> str | None:
    """The class of a part of an object. The object is two segments, or three where the second is ``name``."""
    if not (parts[0] and parts[1]):
        return None
    texts = [_of_part(parts[2:])]
    if parts[1] == "name" and parts[2]:
        texts.append(_of_part(parts[3:]))
    return min((text for text in texts if text), key=_OF_OBJECT.index, default=None)


def _of_part(rest: list[str]) -> str | None:
    head, count = rest[0] if rest else "", len(rest)
    text: str | None = None
    if head == "column":
        text = "ah:Column" if count == 2 and rest[1] else None
    elif head == "called":
        text = "ah:ObjectName" if count == 3 and rest[1] and rest[2] else None
    elif head in _STATES and count > 1 and rest[1]:
        text = _of_state(head, rest[2:])
    return text


def _of_state(head: str, rest: list[str]) -> str | None:
    """The class of a state of an object, or of a part of the state."""
    if not rest:
        return "ah:Version"
    if head == "version" and rest[0] == "derivation" and len(rest) > 1:
        return "ah:ColumnDerivation"
    if rest[0] == "shows" and len(rest) > 3:
        return "ah:ViewSource"
    return "ah:ColumnVersion" if len(rest) == 2 and rest[0] == "column" and rest[1] else None


@lru_cache(maxsize=1_000)
def _of_kind(kind: str) -> str:
    """The class of an object by its kind."""
    known = KIND_CLASSES.get(kind)
    return known[0] if known else "ah:Policy" if kind.endswith("-policy") else "ah:SnowflakeObject"
