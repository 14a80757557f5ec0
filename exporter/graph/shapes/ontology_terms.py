"""The ontology's terms in a user's shapes. One that it does not have, and a class in the place of a property or a
property in that of a class, would never apply to anything, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

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
from exporter.graph.terms import AH
from exporter.system.files import ontology_dir
from exporter.system.reachable import reachable

if TYPE_CHECKING:
    from pyoxigraph import Triple

_FIRST: Final = f"{RDF}first"
_OF_PROPERTIES: Final = ("targetSubjectsOf", "targetObjectsOf", "equals", "disjoint", "lessThan", "lessThanOrEquals")
_TAKES: Final = {
    SUBCLASS.value: "a class",
    TYPE.value: "a class",
    f"{RDFS}subPropertyOf": "a property",
    **{f"{SH}{name}": "a class" for name in ("targetClass", "class")},
    **{f"{SH}{name}": "a property" for name in (*_OF_PROPERTIES, "path", "ignoredProperties")},
}
"""What a property of SHACL or RDFS takes. Of ``sh:path`` and a list, each term in it."""


def fault_of(triple: Triple, shapes: MemoryGraph) -> str | None:
    """What is wrong with the terms of the ontology that are the triple's object, or in its path or list; None if
    nothing is. Terms that the shapes describe themselves are no terms of the ontology.
    """
    predicate, node = triple.predicate.value, cast("Term", triple.object)
    takes_terms = predicate.startswith(SH) or predicate == _FIRST or predicate in _TAKES
    if takes_terms and isinstance(node, NamedNode) and _is_unknown(node) and node not in shapes.by_subject:
        return f"{_short(node)} is not in the ontology{_nearest(node)}"
    taken = _TAKES.get(predicate)
    for term in _terms(node, shapes) if taken else ():
        kind = _kinds().get(term.value)
        if kind is not None and kind != taken:
            name = f"sh:{predicate.removeprefix(SH)}" if predicate.startswith(SH) else predicate.rpartition("#")[2]
            return f"{_short(term)} is {kind}, and {name} takes {taken}"
    return None


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
    parts = reachable([node], lambda one: chain(*known.get(one, {}).values()) if isinstance(one, BlankNode) else ())
    return (part for part in parts if isinstance(part, NamedNode))


@cache
def _kinds() -> dict[str, str]:
    """The IRIs of the ontology's terms in its own namespace: each is a class or a property."""
    triples = Documents().triples(ontology_dir() / "access-history.ttl")
    types = {
        text(cast("Term", one.subject)): text(cast("Term", one.object)) for one in triples if one.predicate == TYPE
    }
    return {iri: _kind(type_) for iri, type_ in types.items() if iri.startswith(AH)}


def _kind(type_: str) -> str:
    return "a property" if type_.endswith("Property") else "a class"


def _is_unknown(term: NamedNode) -> bool:
    return term.value.startswith(AH) and term.value not in _kinds()


def _short(term: NamedNode) -> str:
    return f"ah:{term.value.removeprefix(AH)}"


def _nearest(term: NamedNode) -> str:
    near = get_close_matches(_short(term), [f"ah:{iri.removeprefix(AH)}" for iri in sorted(_kinds())], n=1)
    return f". Perhaps {near[0]} is meant" if near else ""
