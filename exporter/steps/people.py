"""Users, software agents, accounts and organizations of queries; each partition sends each of them once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.nodes.accounts import organizations, owners, standing
from exporter.graph.nodes.agents import agent_path, named_agents
from exporter.messages import ACCOUNT, AGENT, ORGANIZATION, USER, Message, encode, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import QueryFacts
    from exporter.things.lives import Profile


class People:
    """The users, agents, accounts and organizations in one partition."""

    def __init__(self) -> None:
        self._messages: set[Message] = set()
        self._known: set[tuple[str | None, ...]] = set()

    def hear(self, facts: QueryFacts) -> None:
        """Add those of a query. Most are known from earlier queries, so they are looked up first."""
        who = facts.account, facts.user_name, facts.organization_name, facts.account_locator
        if who not in self._known or facts.content.agents:
            self._known.add(who)
            self._messages.update(people(facts))

    def messages(self) -> Iterator[Message]:
        """The messages to each of them, sorted."""
        yield from sorted(self._messages)


def people(facts: QueryFacts) -> Iterator[Message]:
    """The messages of a query to its user, agents, account and organizations."""
    yield Message(USER, within(facts.account, facts.user_name), b"", b"")
    for _, agent in named_agents(facts.content):
        yield Message(AGENT, within(facts.account, agent_path(agent)), b"", encode(agent))
    yield Message(ACCOUNT, facts.account, b"", encode(standing(facts)))
    for name in organizations(facts):
        yield Message(ORGANIZATION, name, b"", b"")


def to_owners(profile: Profile) -> Iterator[Message]:
    """The messages of an object to the accounts that own it, and to organizations that no row may belong to."""
    for one in owners(profile):
        yield Message(ACCOUNT, one.account, b"", encode(one))
        if one.organization is not None:
            yield Message(ORGANIZATION, one.organization, b"", b"")
