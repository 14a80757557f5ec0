"""Nodes of who ran queries: users, and the software agents that acted for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.terms import Node
from exporter.graph.vocabulary import AGENT_ASSOCIATION, SOFTWARE_AGENT, USER, USER_ASSOCIATION
from exporter.queries.identifiers import match_name, segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.iri import Iris
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Agent


def of_user(user_name: str, iris: Iris) -> Node:
    """The node of a user."""
    values: Values = {"ah:userName": (user_name,), "ah:matchName": (match_name(user_name),), "rdfs:label": (user_name,)}
    return Node(USER, iris.user(user_name), USER.types, values)


def agent_path(agent: Agent) -> str:
    """``agent/type/TYPE/id/ID``, by name where no id is given: the key of an agent within its account."""
    kind = "" if agent.agent_type is None else f"/type/{segment(agent.agent_type)}"
    if agent.agent_id is not None:
        return f"agent{kind}/id/{segment(agent.agent_id)}"
    return f"agent{kind}" if agent.agent_name is None else f"agent{kind}/name/{segment(agent.agent_name)}"


def of_agent(agent: Agent, names: Iterable[str], iris: Iris) -> Node:
    """The node of a software agent: ``agent`` as any row has it, ``names`` all that it goes by."""
    values: Values = {}
    if agent.agent_type is not None:
        values["ah:agentType"] = (agent.agent_type,)
    if agent.agent_id is not None:
        values["ah:agentId"] = (agent.agent_id,)
    every = tuple(sorted(set(names)))
    if every:
        values["ah:agentName"] = every
    return Node(SOFTWARE_AGENT, iris.path(agent_path(agent)), SOFTWARE_AGENT.types, values)


def associations(told: Told) -> list[Node]:
    """Which place an agent had in the chain that led to a query: 1 is the nearest."""
    return [
        Node(
            AGENT_ASSOCIATION,
            f"{told.query}/association/{number}",
            AGENT_ASSOCIATION.types,
            {"prov:agent": (told.iris.path(agent_path(agent)),), "ah:position": (number + 1,)},
        )
        for number, agent in enumerate(told.content.agents)
    ]


def user_association(told: Told) -> Node:
    """The user's part in a query that agents have a part in, too: where some associations are qualified, tools take
    the plain ones for the same said again.
    """
    user = told.iris.user(told.facts.user_name)
    iri = f"{told.query}/association-of/user/{segment(told.facts.user_name)}"
    return Node(USER_ASSOCIATION, iri, USER_ASSOCIATION.types, {"prov:agent": (user,)})
