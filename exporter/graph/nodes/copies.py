"""Nodes of what a CLONE of a schema or database brought, as is inferred: the versions of tables that it made.

No row lists them. The version of a table that the CLONE made derives from that of the source, as a copy of a table
does, and refers to the change that it is inferred from. It comes before the state in which the first query found it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.kinds import COLUMN_VERSION_CLASSES, VERSION_CLASSES
from exporter.graph.nodes.versions import unrecorded
from exporter.graph.terms import Node
from exporter.graph.vocabulary import COLUMN_DERIVATION, COLUMN_VERSION, VERSION
from exporter.queries.identifiers import segment
from exporter.things.lives import Life

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.graph.iri import Iris
    from exporter.graph.terms import Values
    from exporter.things.copies import Inferred
    from exporter.things.lives import Profile


def copies(profile: Profile, inferred: Iterable[Inferred], iris: Iris) -> Iterator[Node]:
    """The versions of all copies of a table, and those of the table that they come from and no recorded query made."""
    life = Life()
    made: list[Node] = []
    for one in inferred:
        made += _copy(profile.key, one, iris)
        if not one.state.startswith("version/"):
            life.unrecorded[one.state] = None
        life.unrecorded_columns.update((name, state) for name, (state, is_made) in one.columns.items() if not is_made)
        for state, _ in one.columns.values():
            if not state.startswith("version/"):
                life.unrecorded[state] = None
    yield from unrecorded(profile.key, life, iris)
    yield from made


def _copy(source: str, one: Inferred, iris: Iris) -> Iterator[Node]:
    copy, event = one.copy, one.copy.event
    query, thing = iris.query(event.query_id), iris.object(copy.key)
    made, found = f"version/{segment(event.query_id)}", f"before/{segment(copy.first)}"
    derived = iris.state(source, one.state)
    columns = sorted(one.columns.items())
    values: Values = {
        "prov:specializationOf": (thing,),
        "prov:wasGeneratedBy": (query,),
        "prov:generatedAtTime": (event.end,),
        "prov:wasDerivedFrom": (derived,),
        "ah:derivedFromBase": (derived,),
        "ah:inferredFrom": (f"{query}/change/{event.change_key}",),
    }
    if copy.changed is not None:
        values["ah:validUntil"] = (copy.changed,)
    if columns:
        derivations = [_derivation_iri(source, copy.key, made, name, iris) for name, _ in columns]
        values["prov:qualifiedDerivation"] = tuple(derivations)
    values["ah:objectName"] = (copy.name,)
    yield Node(VERSION, iris.state(copy.key, made), VERSION_CLASSES[True], values)
    before: Values = {
        "prov:specializationOf": (thing,),
        "prov:wasDerivedFrom": (iris.state(copy.key, made),),
        "ah:inferredFrom": values["ah:inferredFrom"],
    }
    if copy.is_kept:  # a version that no other follows is the last one, and its time is known
        before["ah:priorVersion"] = before["prov:wasDerivedFrom"]
    yield Node(VERSION, iris.state(copy.key, found), VERSION_CLASSES[False], before)
    for name, (state, _) in columns:
        yield from _column(source, one, name, state, iris)


def _column(source: str, one: Inferred, name: str, state: str, iris: Iris) -> Iterator[Node]:
    copy, event = one.copy, one.copy.event
    query = iris.query(event.query_id)
    made, found = f"version/{segment(event.query_id)}", f"before/{segment(copy.first)}"
    column, held = iris.column(copy.key, name), iris.column_state(source, state, name)
    own = iris.column_state(copy.key, made, name)
    yield Node(
        COLUMN_VERSION,
        own,
        COLUMN_VERSION_CLASSES[True],
        {
            "prov:specializationOf": (column,),
            "dcterms:isPartOf": (iris.state(copy.key, made),),
            "prov:wasGeneratedBy": (query,),
            "prov:wasDerivedFrom": (held,),
        },
    )
    yield Node(
        COLUMN_VERSION,
        iris.column_state(copy.key, found, name),
        COLUMN_VERSION_CLASSES[False],
        {
            "prov:specializationOf": (column,),
            "dcterms:isPartOf": (iris.state(copy.key, found),),
            "ah:priorColumnVersion": (own,),
        },
    )
    yield Node(
        COLUMN_DERIVATION,
        _derivation_iri(source, copy.key, made, name, iris),
        COLUMN_DERIVATION.types,
        {
            "prov:entity": (iris.state(source, one.state),),
            "prov:hadActivity": (query,),
            "ah:sourceType": ("DIRECT",),
            "ah:sourceObject": (iris.object(source),),
            "ah:sourceName": (copy.source,),
            "ah:sourceColumn": (iris.column(source, name),),
            "ah:sourceColumnVersion": (held,),
            "ah:targetColumn": (column,),
            "ah:targetColumnVersion": (own,),
            "ah:targetName": (copy.name,),
        },
    )


def _derivation_iri(source: str, target: str, made: str, name: str, iris: Iris) -> str:
    return iris.path(f"{target}/{made}/derivation/{segment(name)}/direct/{source}/column/{segment(name)}")
