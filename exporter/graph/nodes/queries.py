"""Nodes of queries: one activity for each query, its parts, the policies that were enforced for it, and its joins."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from exporter.graph.iri import Iris, account_iri
from exporter.graph.nodes.agents import associations, user_association
from exporter.graph.nodes.changes import changes
from exporter.graph.nodes.versions import QueryContext, accesses, column_derivation, column_versions, versions
from exporter.graph.terms import Node, Values, single
from exporter.graph.vocabulary import AGGREGATED_QUERIES, JOIN, POLICY_ENFORCEMENT, QUERY, UNRECORDED_QUERY
from exporter.input.query_history import HISTORY_COLUMNS, NO_HISTORY
from exporter.model.facts import TEXTS, Join, PolicyReference, QueryFacts
from exporter.model.identifiers import segment
from exporter.model.objects import role_of, warehouse_of


def enforcement_values(reference: PolicyReference, query: QueryContext) -> Values:
    """The values of the node of an enforced policy, with the version of the policy that was in force."""
    iris, policy, thing, column = query.iris, reference.policy_key, reference.protected, reference.column_name
    return single(
        {
            "ah:policy": iris.path(policy),
            "ah:policyVersion": iris.state(policy, query.answers.states[policy]),
            "ah:policyKind": reference.policy_kind,
            "ah:policyName": reference.policy_name,
            "ah:protectedObject": iris.object(thing.key),
            "ah:objectName": thing.name,
            "ah:protectedColumn": None if column is None else iris.column(thing.key, column),
            "ah:setByProvider": reference.provider,
        }
    )


def _enforcement(reference: PolicyReference, query: QueryContext) -> Node:
    """``query/Q/enforced/POLICY/on/OBJECT[/column/COLUMN]``; a policy that the provider set has a path of its own."""
    policy, protected, column = reference.policy_key, reference.protected.key, reference.column_name
    if column is not None:
        protected = f"{protected}/column/{segment(column)}"
    side = "enforced-by-provider" if reference.provider else "enforced"
    iri = f"{query.iri}/{side}/{policy}/on/{protected}"
    return POLICY_ENFORCEMENT.node(iri, enforcement_values(reference, query))


def _join(join: Join, query: QueryContext) -> Node:
    """``query/Q/join/type/TYPE/LEFT/with/RIGHT``."""
    left, right = join.left, join.right
    values = single(
        {
            "ah:leftObject": query.iris.object(left.key),
            "ah:leftName": left.name,
            "ah:joinType": join.join_type,
            "ah:rightObject": query.iris.object(right.key),
            "ah:rightName": right.name,
        }
    )
    kind = "untyped" if join.join_type is None else f"type/{segment(join.join_type)}"
    return JOIN.node(f"{query.iri}/join/{kind}/{left.key}/with/{right.key}", values)


def _unchanged(columns: Collection[str]) -> dict[str, str]:
    """The terms of a query that have the name of a column (``ah:queryTag`` of ``query_tag``), and the column; in the
    order of the class.
    """
    names = {
        predicate.term: re.sub(r"[A-Z]", r"_\g<0>", predicate.term.removeprefix("ah:")).lower()
        for predicate in QUERY.properties
    }
    return {term: name for term, name in names.items() if name in columns}


_OF_ROWS: Final = _unchanged((*TEXTS, "account"))
_OF_QUERY_HISTORY: Final = _unchanged(HISTORY_COLUMNS)


class Links(NamedTuple):
    """The IRIs of the nodes that a query and its versions refer to, each list sorted: ``usages``, ``enforcements`` and
    ``joins`` of the query, ``derivations`` by the key of the object written; with ``--reads daily``, ``patterns`` in
    place of the usages.
    """

    usages: tuple[str, ...]
    enforcements: tuple[str, ...]
    joins: tuple[str, ...]
    derivations: dict[str, tuple[str, ...]]
    patterns: tuple[str, ...] = ()


def statement_nodes(query: QueryContext) -> tuple[list[Node], Links]:
    """The nodes that follow only from the statement and from the states of its objects, and their links. Each run of
    the statement that finds the same states has the same nodes, except for the query id in them. Raises KeyError
    where an answer is missing for an object that the query read, derived data from, or was protected by.
    """
    content = query.content
    used, enforced = accesses(query), [_enforcement(reference, query) for reference in content.policies]
    joined = [_join(join, query) for join in content.joins]
    derived = [column_derivation(derivation, query) for derivation in content.derivations]
    targets: dict[str, list[str]] = {}
    for derivation, node in zip(content.derivations, derived, strict=True):
        targets.setdefault(derivation.target_key, []).append(node.iri)
    by_target = {key: tuple(sorted(iris)) for key, iris in targets.items()}
    links = Links(_iris(used), _iris(enforced), _iris(joined), by_target)
    return [*used, *enforced, *joined, *derived, *column_versions(query, derived)], links


def _iris(nodes: list[Node]) -> tuple[str, ...]:
    return tuple(sorted([node.iri for node in nodes]))


def run_nodes(query: QueryContext, links: Links) -> Iterator[Node]:
    """All other nodes: the query, its agents, its DDL changes, the versions of objects that it made. Raises KeyError as
    :func:`statement_nodes` does.
    """
    associated = associations(query)
    if associated:
        associated.insert(0, user_association(query))
    changed = list(changes(query)) if query.content.changes else []
    parts = {
        "prov:qualifiedUsage": links.usages,
        "ah:accessPattern": links.patterns,
        "ah:enforced": links.enforcements,
        "ah:hasJoin": links.joins,
        "ah:hasChange": _iris([change for change, _ in changed]),
    }
    node_class = QUERY if query.facts.calls is None else AGGREGATED_QUERIES
    yield node_class.node(query.iri, _query(query, associated, parts))
    yield from associated
    for change, settings in changed:
        yield change
        yield from settings
    yield from versions(query, links.derivations)


def _query(query: QueryContext, associated: list[Node], parts: Mapping[str, tuple[str, ...]]) -> Values:
    facts, iris = query.facts, query.iris
    own: Values = {"ah:queryId": (facts.query_id,)} if facts.calls is None else {"ah:queryCount": (facts.calls,)}
    values: Values = {**own, "prov:startedAtTime": (query.start,)}
    if facts.history.end_time is not None:
        values["prov:endedAtTime"] = (facts.history.end_time,)
    agents = [iri for node in associated for iri in node.values["prov:agent"]]
    values["prov:wasAssociatedWith"] = tuple(dict.fromkeys(agents)) or (iris.user(facts.user_name),)
    if associated:
        values["prov:qualifiedAssociation"] = tuple([node.iri for node in associated])
    if facts.parent_query_id is not None:
        values["dcterms:isPartOf"] = (iris.query(facts.parent_query_id),)
    if facts.root_query_id is not None:
        values["ah:rootQuery"] = (iris.query(facts.root_query_id),)
    states = query.answers.states
    used = [iris.state(key, states[key]) for key, effect in query.effects.items() if effect.is_data]
    if used:
        values["prov:used"] = tuple(sorted(used))
    made = [iris.state(key, query.version) for key, effect in query.effects.items() if effect.makes]
    if made:
        values["ah:madeVersion"] = tuple(sorted(made))
    values.update({term: iris for term, iris in parts.items() if iris})
    if query.content.incomplete:
        values["ah:incomplete"] = query.content.incomplete
    if facts.unknown_columns:
        values["ah:unknownColumns"] = facts.unknown_columns
    _add_unchanged(facts, iris, values)
    return values


def _add_unchanged(facts: QueryFacts, iris: Iris, values: Values) -> None:
    """Adds what the rows and QUERY_HISTORY give for the query, unchanged."""
    for term, name in _OF_ROWS.items():
        text = account_iri(facts.account) if name == "account" else getattr(facts, name)
        if text is not None:
            values[term] = (text,)
    if facts.history != NO_HISTORY:
        for term, name in _OF_QUERY_HISTORY.items():
            value = getattr(facts.history, name)
            if value is not None:
                values[term] = (value,)
        role = role_of(facts.history.role_name, facts.history.role_type)
        warehouse = warehouse_of(facts.history.warehouse_name)
        for term, thing in (("ah:role", role), ("ah:warehouse", warehouse)):
            if thing is not None:
                values[term] = (iris.object(thing.key),)


def of_unrecorded_query(query_id: str, iris: Iris) -> Node:
    """A parent or root query without a row: only its id is known."""
    return UNRECORDED_QUERY.node(iris.query(query_id), {"ah:queryId": (query_id,)})
