"""Nodes of policies that were enforced for a query, and of its joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.terms import Node
from exporter.graph.vocabulary import JOIN, POLICY_ENFORCEMENT
from exporter.queries.identifiers import segment

if TYPE_CHECKING:
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Join, PolicyReference


def enforcements(told: Told) -> list[Node]:
    """One node for each policy and what it protects, with the version of the policy that was in force."""
    return [_enforcement(reference, told) for reference in told.content.policies]


def enforcement_values(reference: PolicyReference, told: Told) -> Values:
    """The values of a node of an enforced policy."""
    iris, policy, thing, column = told.iris, reference.policy_key, reference.protected, reference.column_name
    values: Values = {
        "ah:policy": (iris.path(policy),),
        "ah:policyVersion": (iris.state(policy, told.answers.states[policy]),),
        "ah:policyKind": (reference.policy_kind,),
    }
    if reference.policy_name is not None:
        values["ah:policyName"] = (reference.policy_name,)
    values["ah:protectedObject"] = (iris.object(thing.key),)
    if thing.name is not None:
        values["ah:objectName"] = (thing.name,)
    if column is not None:
        values["ah:protectedColumn"] = (iris.column(thing.key, column),)
    values["ah:setByProvider"] = (reference.provider,)
    return values


def _enforcement(reference: PolicyReference, told: Told) -> Node:
    """``query/Q/enforced/POLICY/on/OBJECT[/column/COLUMN]``; a policy that the provider set has a path of its own."""
    policy, protected, column = reference.policy_key, reference.protected.key, reference.column_name
    if column is not None:
        protected = f"{protected}/column/{segment(column)}"
    side = "enforced-by-provider" if reference.provider else "enforced"
    iri = f"{told.query}/{side}/{policy}/on/{protected}"
    return Node(POLICY_ENFORCEMENT, iri, POLICY_ENFORCEMENT.types, enforcement_values(reference, told))


def joins(told: Told) -> list[Node]:
    """One node for each join."""
    return [_join(join, told) for join in told.content.joins]


def _join(join: Join, told: Told) -> Node:
    """``query/Q/join/type/TYPE/LEFT/with/RIGHT``."""
    values: Values = {"ah:leftObject": (told.iris.object(join.left.key),)}
    if join.left.name is not None:
        values["ah:leftName"] = (join.left.name,)
    kind = "untyped"
    if join.join_type is not None:
        kind = f"type/{segment(join.join_type)}"
        values["ah:joinType"] = (join.join_type,)
    values["ah:rightObject"] = (told.iris.object(join.right.key),)
    if join.right.name is not None:
        values["ah:rightName"] = (join.right.name,)
    return Node(JOIN, f"{told.query}/join/{kind}/{join.left.key}/with/{join.right.key}", JOIN.types, values)
