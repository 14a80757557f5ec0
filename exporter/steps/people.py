"""Who ran queries, and where: users, software agents, accounts and organizations, told of once by each partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.graph.nodes.accounts import organizations, owners, standing
from exporter.graph.nodes.agents import agent_path
from exporter.messages import ACCOUNT, AGENT, ORGANIZATION, USER, Message, encode, within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import QueryFacts
    from exporter.things.lives import Profile


class People:
    """What a partition knows of people."""

    def __init__(self) -> None:
        self._messages: set[Message] = set()
        self._known: set[tuple[str | None, ...]] = set()

    def hear(self, facts: QueryFacts) -> None:
        """Who ran a query, and where: mostly the same as many a query before."""
        who = facts.account, facts.user_name, facts.organization_name, facts.account_locator
        if who not in self._known or facts.content.agents:
            self._known.add(who)
            self._messages.update(people(facts))

    def messages(self) -> Iterator[Message]:
        """To each of them, in order."""
        yield from sorted(self._messages)


def people(facts: QueryFacts) -> Iterator[Message]:
    """What a query says to those who ran it, and to where it ran."""
    yield Message(USER, within(facts.account, facts.user_name), b"", b"")
    for agent in facts.content.agents:
        yield Message(AGENT, within(facts.account, agent_path(agent)), b"", encode(agent))
    yield Message(ACCOUNT, facts.account, b"", encode(standing(facts)))
    for name in organizations(facts):
        yield Message(ORGANIZATION, name, b"", b"")


def to_owners(profile: Profile) -> Iterator[Message]:
    """What an object says to the accounts that it belongs to, and to organizations that no row may be of."""
    for one in owners(profile):
        yield Message(ACCOUNT, one.account, b"", encode(one))
        if one.organization is not None:
            yield Message(ORGANIZATION, one.organization, b"", b"")
