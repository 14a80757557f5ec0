"""Nodes of reads, and of derivations of columns from columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.terms import Node
from exporter.graph.vocabulary import ACCESS, COLUMN_DERIVATION
from exporter.queries.identifiers import ROUTINE_KINDS, segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Column, Derivation

_ACCESS_TYPES: Final = ACCESS.types
_DERIVATION_TYPES: Final = COLUMN_DERIVATION.types


def accesses(told: Told) -> list[Node]:
    """One usage for each kind of access and object, with the version and the columns that were read."""
    states, below, query = told.answers.states, told.iris.below, told.query
    found = []
    for access in told.content.accesses:
        thing = access.thing
        key = thing.key
        values: Values = {
            "prov:entity": (f"{below}{key}/{states[key]}",),
            "ah:accessType": (access.access,),
            "ah:accessedObject": (told.iris.object(key),),
        }
        if thing.name is not None:
            values["ah:objectName"] = (thing.name,)
        if access.columns:
            values["ah:readColumn"] = column_iris(f"{below}{key}", access.columns)
        found.append(Node(ACCESS, f"{query}/access/{access.access.lower()}/{key}", _ACCESS_TYPES, values))
    return found


def column_iris(thing: str, columns: Iterable[Column]) -> tuple[str, ...]:
    """The IRIs of columns of the object at the path ``thing``. A column that is listed under two ids appears once."""
    return tuple(dict.fromkeys([f"{thing}/column/{segment(column.name)}" for column in columns]))


def derivations(told: Told) -> list[Node]:
    """One derivation for each written column, kind of source and source, in the order of the facts."""
    return [_derivation(derivation, told) for derivation in told.content.derivations]


def _derivation(derivation: Derivation, told: Told) -> Node:
    """``OBJECT/version/QUERY/derivation/COLUMN/KIND/SOURCE[/column/COLUMN]``."""
    below, source, source_column = told.iris.below, derivation.source, derivation.source_column
    key, target = source.key, f"{below}{derivation.target_key}"
    state, target_column = told.answers.states[key], segment(derivation.target_column)
    values: Values = {
        "prov:entity": (f"{below}{key}/{state}",),
        "prov:hadActivity": (told.query,),
        "ah:sourceType": (derivation.source_type,),
        "ah:sourceObject": (told.iris.object(key),),
    }
    if source.name is not None:
        values["ah:sourceName"] = (source.name,)
    path = key
    if source_column is not None:
        name = segment(source_column)
        path = f"{key}/column/{name}"
        values["ah:sourceColumn"] = (f"{below}{path}",)
        values["ah:sourceColumnVersion"] = (f"{below}{key}/{told.answers.columns[key, source_column]}/column/{name}",)
    if source.kind in ROUTINE_KINDS:
        values["ah:viaFunction"] = (f"{below}{key}",)
    values["ah:targetColumn"] = (f"{target}/column/{target_column}",)
    values["ah:targetColumnVersion"] = (f"{target}/{told.version}/column/{target_column}",)
    if derivation.target_name is not None:
        values["ah:targetName"] = (derivation.target_name,)
    iri = f"{target}/{told.version}/derivation/{target_column}/{derivation.source_type.lower()}/{path}"
    return Node(COLUMN_DERIVATION, iri, _DERIVATION_TYPES, values)
