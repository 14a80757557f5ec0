"""Nodes of users, software agents, accounts, and of the export itself.

Several rows describe one account: those of queries that ran in it, and those that name it as the owner of an object.
Each gives an :class:`AccountDescription`. The export is provenance of the graph: when it was made, by which version,
for which account and period.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from exporter.graph.iri import Iris, account_iri, organization_iri, organization_of
from exporter.graph.terms import Node, Values, single
from exporter.graph.vocabulary import (
    ACCOUNT,
    AGENT_ASSOCIATION,
    EXPORT,
    ORGANIZATION,
    SOFTWARE_AGENT,
    USER,
    USER_ASSOCIATION,
)
from exporter.graph.writers import writer_of
from exporter.input.times import iso
from exporter.model.facts import Agent, Content, QueryFacts
from exporter.model.identifiers import canonical_name, kind_of, match_name, segment
from exporter.model.incomplete import is_account_cut

if TYPE_CHECKING:
    from exporter.graph.nodes.versions import QueryContext
    from exporter.model.object_state import Profile

_NOBODY: Final = Agent(None, None, None)


def of_user(user_name: str, iris: Iris) -> Node:
    """The node of a user."""
    values: Values = {"ah:userName": (user_name,), "ah:matchName": (match_name(user_name),), "rdfs:label": (user_name,)}
    return USER.node(iris.user(user_name), values)


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
    values = single({"ah:agentType": agent.agent_type, "ah:agentId": agent.agent_id})
    distinct = tuple(sorted(set(names)))
    if distinct:
        values["ah:agentName"] = distinct
    return SOFTWARE_AGENT.node(iris.path(agent_path(agent)), values)


def associations(query: QueryContext) -> list[Node]:
    """The position of each agent in the chain that led to a query; 1 is the nearest."""
    return [
        AGENT_ASSOCIATION.node(
            f"{query.iri}/association/{position - 1}",
            {"prov:agent": (query.iris.path(agent_path(agent)),), "ah:position": (position,)},
        )
        for position, agent in named_agents(query.content)
    ]


def user_association(query: QueryContext) -> Node:
    """The user's association with a query that also has agents. Where some associations are qualified, tools read the
    plain ones as repetitions of these, so the user needs a qualified one too.
    """
    user = query.iris.user(query.facts.user_name)
    iri = f"{query.iri}/association-of/user/{segment(query.facts.user_name)}"
    return USER_ASSOCIATION.node(iri, {"prov:agent": (user,)})


_ACCOUNTS: Final = f"{kind_of('ACCOUNT')}/"
"""What the keys of accounts begin with."""
_in_sql: Final = re.compile(r"([A-Z][A-Z0-9]*)\.([A-Z]\w*)", re.ASCII).fullmatch


class AccountDescription(Struct, frozen=True):
    """What one row says about an account named ORG-ACCOUNT: its organization and its locator; None where not given."""

    account: str
    organization: str | None = None
    locator: str | None = None


def account_description(facts: QueryFacts) -> AccountDescription:
    """What a query says about the account that it ran in: nothing, if Snowflake cut which one that was."""
    if is_account_cut(facts.content):
        return AccountDescription(facts.account, organization_of(facts.account))
    named = facts.organization_name
    return AccountDescription(
        facts.account, organization_of(facts.account) if named is None else named, facts.account_locator
    )


def owner(name: str, reader: str) -> str | None:
    """The full name of an account that rows of the account ``reader`` give without organization: it is one of the same
    organization. None where that organization is not known.
    """
    organization = organization_of(reader)
    return None if organization is None else f"{organization}-{name}"


def owners(profile: Profile) -> list[AccountDescription]:
    """What an object's rows say about the accounts that own it; where the object is itself an account (for example one
    that a share is opened to), what its name says about that account.
    """
    if profile.key.startswith(_ACCOUNTS):
        return [described for name in sorted(profile.names) if (described := _qualified_account(name)) is not None]
    organization = organization_of(profile.account)
    if organization is None:
        return []
    names = sorted({name.upper() for name in profile.accounts})
    return [AccountDescription(f"{organization}-{name}", organization) for name in names]


def _qualified_account(name: str) -> AccountDescription | None:
    """What the name ``ORG.ACCOUNT`` says about an account. None for a name without a dot: it is a locator, which does
    not give the organization (Snowflake, "ALTER SHARE", ADD ACCOUNTS).
    """
    match = _in_sql(canonical_name(name))
    return None if match is None else AccountDescription(f"{match[1]}-{match[2]}", match[1])


def of_account(account: str, descriptions: Iterable[AccountDescription]) -> Node | None:
    """The node of an account, from all that rows say about it; None where no account was named."""
    iri = account_iri(account)
    if iri is None:
        return None
    described = list(descriptions)
    organizations = sorted(
        {description.organization for description in described if description.organization is not None}
    )
    prefixes = [f"{organization}-" for organization in organizations]
    names = {account.removeprefix(prefix) for prefix in prefixes if account.startswith(prefix)}
    values: Values = {"rdfs:label": (account,)}
    many: dict[str, Iterable[str]] = {
        "ah:accountName": names,
        "ah:accountLocator": {description.locator for description in described if description.locator is not None},
        "ah:memberOf": {organization_iri(organization) for organization in organizations},
    }
    values.update({term: tuple(sorted(texts)) for term, texts in many.items() if texts})
    return ACCOUNT.node(iri, values)


def organizations(facts: QueryFacts) -> tuple[str, ...]:
    """The organizations that a query names: in its row, and in the name of its account."""
    named = facts.organization_name, organization_of(facts.account)
    return tuple(dict.fromkeys(text for text in named if text is not None))


def of_organization(name: str) -> Node:
    """The node of an organization."""
    values: Values = {"rdfs:label": (name,), "ah:organizationName": (name,)}
    return ORGANIZATION.node(organization_iri(name), values)


def of_export(
    account: str, at: int, period: tuple[int, int] | None, exporter_version: str, model_version: str
) -> Iterator[Node]:
    """``export/TIME``, and the account. ``at``: when the export was complete; ``period``: when the first and the last
    query of the graph started; None where it has no queries. Times in microseconds since 1970, UTC.
    """
    values = single(
        {
            "prov:generatedAtTime": at,
            "ah:account": account_iri(account),
            "ah:firstQueryTime": None if period is None else period[0],
            "ah:lastQueryTime": None if period is None else period[1],
            "ah:exporterVersion": exporter_version,
            "ah:modelVersion": model_version,
        }
    )
    yield EXPORT.node(f"export/{segment(iso(at))}", values)
    node = of_account(account, [AccountDescription(account)])
    if node is not None:
        yield node


def document(nodes: Iterator[Node], base: str) -> str:
    """The nodes as a file of Turtle."""
    writer = writer_of("turtle", base)
    return writer.document(map(writer.render, nodes))
