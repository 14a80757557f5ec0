"""Notes on revokes that end no grant, because one of the two rows gives the id of the object or share and the other
does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

from exporter.ask.answers import first_of
from exporter.graph.terms import full
from exporter.input.properties import read
from exporter.model.facts import Grant, Thing
from exporter.model.grants import ANY, grants
from exporter.model.identifiers import match_name
from exporter.model.objects import thing_of

if TYPE_CHECKING:
    from exporter.ask.asked import Asked
    from exporter.ask.lookups import Lookups

_SHOWN: Final = 5
_Row = dict[str, str]
_REVOKES: Final = """\
SELECT DISTINCT ?changed ?domain ?id ?name ?properties ?time ?query_id WHERE {
  VALUES ?property { "revoke" "accountsToRemove" "accountsToSet" }
  ?change ah:hasSetting/ah:property ?property ; ah:changedObject ?changed ; ah:properties ?properties ;
    prov:startedAtTime ?time ; dcterms:isPartOf ?query .
  ?changed ah:domain ?domain .
  OPTIONAL { ?changed ah:objectId ?id }
  OPTIONAL { ?change ah:objectName ?name }
  OPTIONAL { ?query ah:queryId ?query_id }
}
ORDER BY ?time ?query_id
"""
_HELD: Final = """\
SELECT DISTINCT ?object ?grantee ?privilege ?on_all ?label ?whom WHERE {
  ?grant a ah:Grant ; ah:grantedObject ?object ; ah:grantee ?grantee ; ah:validFrom ?since .
  OPTIONAL { ?grant ah:validUntil ?until }
  FILTER(?since < @time@ && (!BOUND(?until) || ?until > @time@))
  OPTIONAL { ?grant ah:privilege ?privilege }
  OPTIONAL { ?grant ah:onAll ?on_all }
  OPTIONAL { ?grant ah:objectName ?object_spelled }
  OPTIONAL { ?object rdfs:label ?object_label }
  BIND(COALESCE(?object_spelled, ?object_label, "") AS ?label)
  OPTIONAL { ?grant ah:granteeName ?grantee_spelled }
  OPTIONAL { ?grantee rdfs:label ?grantee_label }
  BIND(COALESCE(?grantee_spelled, ?grantee_label, "") AS ?whom)
}
ORDER BY ?label ?whom ?privilege
"""


def not_counted(asked: Asked) -> Iterator[str]:
    """A note on each revoke that may be about a grant that the answer still has, by the names of the two."""
    if asked.name != "exposure":
        return
    texts = [
        _sentence(revoke, held)
        for revoke in asked.graph.select(_REVOKES)
        if asked.until is None or datetime.fromisoformat(revoke["time"]) <= asked.until
        for held in _held_after(asked.graph, revoke)
        if _is_asked_for(asked, held)
    ]
    if fresh := list(dict.fromkeys(texts)):
        yield (
            f"Rows name an object or share of a grant with its id and without: {first_of(fresh[::-1], _SHOWN)}. The "
            "answer does not count this for the grant in the other form, though it may be the same."
        )


def _sentence(revoke: _Row, held: _Row) -> str:
    """``SELECT on D.S.T was revoked from OUT (query q7, 2026-03-04T04:00:00Z)``."""
    what = f"{held['privilege']} on {held['label']}" if held["privilege"] else held["label"]
    query = f"query {revoke['query_id']}, " if revoke["query_id"] else ""
    return f"{what} was revoked from {held['whom']} ({query}{revoke['time']})"


def _is_asked_for(asked: Asked, held: _Row) -> bool:
    """Whether a grant is of what is asked for, or of a role or share by which somebody in the answer has it."""
    if not asked.things or held["object"] in asked.things:
        return True
    return not held["privilege"] and any(row["grantee"] == held["whom"] for row in asked.answer.dicts())


def _held_after(graph: Lookups, revoke: _Row) -> Iterator[_Row]:
    """The grants that hold after a revoke that may have been meant to end them."""
    changed = thing_of(revoke["domain"], revoke["id"] or None, revoke["name"] or None)
    every = () if changed is None else grants(changed, read(revoke["properties"]))
    revoked = [one for one in every if one.is_revoked]
    account, time = revoke["changed"].rsplit("/", 2 if revoke["id"] else 3)[0], datetime.fromisoformat(revoke["time"])
    for held in graph.select(_HELD, time=f'"{revoke["time"]}"^^<{full("xsd:dateTime")}>') if revoked else ():
        if held["object"].startswith(f"{account}/") and any(_may_end(graph, one, held, time) for one in revoked):
            yield held


def _may_end(graph: Lookups, revoked: Grant, held: _Row, time: datetime) -> bool:
    if revoked.privilege not in {ANY, held["privilege"] or None}:
        return False
    if revoked.grantee is not None and not _may_be(graph, revoked.grantee, held["grantee"], time):
        return False
    if revoked.on_all is None or held["on_all"]:
        return revoked.on_all == (held["on_all"] or None) and _may_be(graph, revoked.thing, held["object"], time)
    begins = f"{match_name(revoked.thing.name or '')}."
    is_inside = any(name.startswith(begins) for name in _names(graph, held["object"], time))
    return is_inside and graph.is_of_kind(held["object"], revoked.on_all)


def _may_be(graph: Lookups, thing: Thing, iri: str, time: datetime) -> bool:
    """Whether what a row names can be an object of the graph: by its id, else by its kind and its name at that time."""
    ident = graph.text(iri, "ah:objectId")
    if iri.rsplit("/", 2 if ident else 3)[1] != thing.kind:
        return False
    if thing.object_id is not None and ident is not None:
        return thing.object_id == ident
    return thing.name is not None and match_name(thing.name) in _names(graph, iri, time)


def _names(graph: Lookups, iri: str, time: datetime) -> set[str]:
    return {match_name(holder.name) for holder in graph.names_of(iri) if holder.holds(time)}
