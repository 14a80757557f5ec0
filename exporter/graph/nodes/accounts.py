"""Nodes of where queries ran: accounts, and the organizations that accounts belong to.

An account is told by many: by the queries that ran in it, and by the objects that rows of others say it owns. Each says
a :class:`Standing` of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from exporter.graph.iri import account_iri, organization_iri, organization_of
from exporter.graph.terms import Node
from exporter.graph.vocabulary import ACCOUNT, ORGANIZATION
from exporter.queries.identifiers import canonical_name, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.graph.terms import Values
    from exporter.queries.facts import QueryFacts
    from exporter.things.lives import Profile

_ACCOUNT_KIND: Final = kind_of("ACCOUNT")
_in_sql: Final = re.compile(r"([A-Z][A-Z0-9]*)\.([A-Z]\w*)", re.ASCII).fullmatch


class Standing(Struct, frozen=True):
    """What one row says of an account, named ORG-ACCOUNT: the organization that it belongs to, its locator."""

    account: str
    organization: str | None = None
    locator: str | None = None


def standing_of(account: str) -> Standing:
    """What the name of an account says of it: no organization, for its node is told of where its rows are."""
    return Standing(account)


def standing(facts: QueryFacts) -> Standing:
    """What a query says of the account that it ran in."""
    named = facts.organization_name
    return Standing(facts.account, organization_of(facts.account) if named is None else named, facts.account_locator)


def owner(name: str, reader: str) -> str | None:
    """The account of an object that rows of the account ``reader`` name by its name alone: one of the same
    organization. None where the organization is not known.
    """
    organization = organization_of(reader)
    return None if organization is None else f"{organization}-{name}"


def owners(profile: Profile) -> list[Standing]:
    """What an object says of the accounts that it belongs to; an account that is named as an object, such as one that a
    share is open to, of the account that it is.
    """
    if profile.kind == _ACCOUNT_KIND:
        return [one for name in sorted(profile.names) if (one := _itself(name)) is not None]
    organization = organization_of(profile.account)
    if organization is None:
        return []
    return [Standing(f"{organization}-{name}", organization) for name in sorted(profile.accounts)]


def _itself(name: str) -> Standing | None:
    """What the name ``ORG.ACCOUNT`` says of an account. None of a name alone: it is a locator, and says no organization
    (Snowflake, "ALTER SHARE", ADD ACCOUNTS).
    """
    found = _in_sql(canonical_name(name))
    return None if found is None else Standing(f"{found[1]}-{found[2]}", found[1])


def of_account(account: str, said: Iterable[Standing]) -> Node | None:
    """The node of an account, from all that is said of it; None where nobody named it."""
    iri = account_iri(account)
    if iri is None:
        return None
    every = list(said)
    organizations = sorted({one.organization for one in every if one.organization is not None})
    names = {account.removeprefix(f"{one}-") for one in organizations if account.startswith(f"{one}-")}
    values: Values = {"rdfs:label": (account,)}
    many: dict[str, Iterable[str]] = {
        "ah:accountName": names,
        "ah:accountLocator": {one.locator for one in every if one.locator is not None},
        "ah:memberOf": {organization_iri(one) for one in organizations},
    }
    values.update({term: tuple(sorted(found)) for term, found in many.items() if found})
    return Node(ACCOUNT, iri, ACCOUNT.types, values)


def organizations(facts: QueryFacts) -> tuple[str, ...]:
    """The organizations that a query names: its row's, and the one in the name of its account."""
    named = facts.organization_name, organization_of(facts.account)
    return tuple(dict.fromkeys(one for one in named if one is not None))


def of_organization(name: str) -> Node:
    """The node of an organization."""
    values: Values = {"rdfs:label": (name,), "ah:organizationName": (name,)}
    return Node(ORGANIZATION, organization_iri(name), ORGANIZATION.types, values)
