"""Nodes of queries: one activity each, with everything that is part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.iri import account_iri
from exporter.graph.nodes.accesses import accesses, derivations
from exporter.graph.nodes.agents import associations
from exporter.graph.nodes.changes import changes
from exporter.graph.nodes.protection import enforcements, joins
from exporter.graph.nodes.told import Told
from exporter.graph.nodes.versions import column_versions, versions
from exporter.graph.terms import Node
from exporter.graph.vocabulary import QUERY, UNRECORDED_QUERY
from exporter.queries.facts import NO_HISTORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.graph.iri import Iris
    from exporter.graph.terms import Values
    from exporter.queries.facts import QueryFacts
    from exporter.things.answers import Answers

_HISTORY: Final = {
    "ah:queryText": "query_text",
    "ah:queryType": "query_type",
    "ah:queryTag": "query_tag",
    "ah:queryParameterizedHash": "query_parameterized_hash",
    "ah:sessionId": "session_id",
    "ah:roleName": "role_name",
    "ah:roleType": "role_type",
    "ah:warehouseName": "warehouse_name",
    "ah:warehouseSize": "warehouse_size",
    "ah:databaseName": "database_name",
    "ah:schemaName": "schema_name",
    "ah:totalElapsedTime": "total_elapsed_time",
    "ah:executionStatus": "execution_status",
    "ah:bytesScanned": "bytes_scanned",
    "ah:rowsProduced": "rows_produced",
    "ah:rowsInserted": "rows_inserted",
    "ah:rowsUpdated": "rows_updated",
    "ah:rowsDeleted": "rows_deleted",
}
"""What QUERY_HISTORY tells beside the end: the term and the field."""


def of_query(facts: QueryFacts, answers: Answers, iris: Iris) -> Iterator[Node]:
    """The query, what is part of it, and the versions that it made. Raises KeyError where an answer is missing of what
    it read, took data from, met as a policy or renamed.
    """
    told = Told(facts, answers, iris)
    parts = {
        "prov:qualifiedAssociation": associations(told),
        "prov:qualifiedUsage": accesses(told),
        "ah:enforced": enforcements(told),
        "ah:hasJoin": joins(told),
    }
    changed = list(changes(told)) if told.content.changes else []
    parts["ah:hasChange"] = [change for change, _ in changed]
    yield Node(QUERY, told.query, QUERY.types, _query(told, parts))
    for nodes in parts.values():
        yield from nodes
    for _, settings in changed:
        yield from settings
    derived = derivations(told)
    yield from derived
    yield from versions(told, derived)
    yield from column_versions(told, derived)


def _query(told: Told, parts: dict[str, list[Node]]) -> Values:
    facts, iris = told.facts, told.iris
    values: Values = {"ah:queryId": (facts.query_id,), "prov:startedAtTime": (told.start,)}
    if facts.history.end_time is not None:
        values["prov:endedAtTime"] = (facts.history.end_time,)
    associations_ = parts["prov:qualifiedAssociation"]
    agents = [iri for node in associations_ for iri in node.values["prov:agent"]]
    values["prov:wasAssociatedWith"] = tuple(dict.fromkeys([iris.user(facts.user_name), *agents]))
    if associations_:
        values["prov:qualifiedAssociation"] = tuple([node.iri for node in associations_])
    if facts.parent_query_id is not None:
        values["dcterms:isPartOf"] = (iris.query(facts.parent_query_id),)
    if facts.root_query_id is not None:
        values["ah:rootQuery"] = (iris.query(facts.root_query_id),)
    states = told.answers.states
    used = [iris.state(key, states[key]) for key, effect in told.effects.items() if effect.is_data]
    if used:
        values["prov:used"] = tuple(sorted(used))
    for term in _PARTS:
        if parts[term]:
            values[term] = tuple(sorted([node.iri for node in parts[term]]))
    if told.content.incomplete:
        values["ah:incomplete"] = told.content.incomplete
    _add_said(facts, values)
    return values


_PARTS: Final = ("prov:qualifiedUsage", "ah:enforced", "ah:hasJoin", "ah:hasChange")


def _add_said(facts: QueryFacts, values: Values) -> None:
    """What the rows and QUERY_HISTORY say of the query, as it came."""
    for term, value in (
        ("ah:eventSource", facts.event_source),
        ("ah:additionalProperties", facts.additional_properties),
        ("ah:invokerIdentity", facts.invoker_identity),
        ("ah:account", account_iri(facts.account)),
        ("ah:organizationName", facts.organization_name),
        ("ah:accountName", facts.account_name),
        ("ah:accountLocator", facts.account_locator),
    ):
        if value is not None:
            values[term] = (value,)
    if facts.history != NO_HISTORY:
        for term, name in _HISTORY.items():
            told = getattr(facts.history, name)
            if told is not None:
                values[term] = (told,)


def of_unrecorded_query(query_id: str, iris: Iris) -> Node:
    """A parent or root that has no row: known by its id alone."""
    return Node(UNRECORDED_QUERY, iris.query(query_id), UNRECORDED_QUERY.types, {"ah:queryId": (query_id,)})
