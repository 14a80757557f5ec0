"""Nodes of users who ran queries, and of software agents that acted for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.graph.terms import Node
from exporter.graph.vocabulary import AGENT_ASSOCIATION, SOFTWARE_AGENT, USER, USER_ASSOCIATION
from exporter.queries.facts import Agent
from exporter.queries.identifiers import match_name, segment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.iri import Iris
    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Content

_NOBODY: Final = Agent(None, None, None)


def of_user(user_name: str, iris: Iris) -> Node:
    """The node of a user."""
    values: Values = {"ah:userName": (user_name,), "ah:matchName": (match_name(user_name),), "rdfs:label": (user_name,)}
    return Node(USER, iris.user(user_name), USER.types, values)


def agent_path(agent: Agent) -> str:
    """The key of an agent in its account: ``agent/type/TYPE/id/ID``, or by its name where there is no id."""
    kind = "" if agent.agent_type is None else f"/type/{segment(agent.agent_type)}"
    if agent.agent_id is not None:
        return f"agent{kind}/id/{segment(agent.agent_id)}"
    return f"agent{kind}" if agent.agent_name is None else f"agent{kind}/name/{segment(agent.agent_name)}"


def named_agents(content: Content) -> list[tuple[int, Agent]]:
    """The agents with their positions, 1 is the nearest. One of which the row says nothing has no node."""
    return [(position, agent) for position, agent in enumerate(content.agents, 1) if agent != _NOBODY]


def of_agent(agent: Agent, names: Iterable[str], iris: Iris) -> Node:
    """The node of a software agent: ``agent`` as in any of its rows, ``names`` all of its names."""
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
    """The position of each agent in the chain that led to a query; 1 is the nearest."""
    return [
        Node(
            AGENT_ASSOCIATION,
            f"{told.query}/association/{position - 1}",
            AGENT_ASSOCIATION.types,
            {"prov:agent": (told.iris.path(agent_path(agent)),), "ah:position": (position,)},
        )
        for position, agent in named_agents(told.content)
    ]


def user_association(told: Told) -> Node:
    """The user's association with a query that also has agents. Where some associations are qualified, tools read the
    plain ones as repetitions of these, so the user needs a qualified one too.
    """
    user = told.iris.user(told.facts.user_name)
    iri = f"{told.query}/association-of/user/{segment(told.facts.user_name)}"
    return Node(USER_ASSOCIATION, iri, USER_ASSOCIATION.types, {"prov:agent": (user,)})
