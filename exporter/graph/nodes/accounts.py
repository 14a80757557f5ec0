"""Nodes of accounts, and of the organizations that accounts belong to.

Several rows describe one account: those of queries that ran in it, and those that name it as the owner of an object.
Each gives a :class:`Standing` of the account.
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
    """What one row says about an account named ORG-ACCOUNT: its organization and its locator; None where not given."""

    account: str
    organization: str | None = None
    locator: str | None = None


def standing_of(account: str) -> Standing:
    """What follows from the account's name: no organization, since its node is written where rows name it."""
    return Standing(account)


def standing(facts: QueryFacts) -> Standing:
    """What a query says about the account that it ran in."""
    named = facts.organization_name
    return Standing(facts.account, organization_of(facts.account) if named is None else named, facts.account_locator)


def owner(name: str, reader: str) -> str | None:
    """The full name of an account that rows of the account ``reader`` give without organization: it is one of the same
    organization. None where that organization is not known.
    """
    organization = organization_of(reader)
    return None if organization is None else f"{organization}-{name}"


def owners(profile: Profile) -> list[Standing]:
    """What an object's rows say about the accounts that own it; where the object is itself an account (for example one
    that a share is opened to), what its name says about that account.
    """
    if profile.kind == _ACCOUNT_KIND:
        return [one for name in sorted(profile.names) if (one := _itself(name)) is not None]
    organization = organization_of(profile.account)
    if organization is None:
        return []
    return [Standing(f"{organization}-{name}", organization) for name in sorted(profile.accounts)]


def _itself(name: str) -> Standing | None:
    """What the name ``ORG.ACCOUNT`` says about an account. None for a name without a dot: it is a locator, which does
    not give the organization (Snowflake, "ALTER SHARE", ADD ACCOUNTS).
    """
    found = _in_sql(canonical_name(name))
    return None if found is None else Standing(f"{found[1]}-{found[2]}", found[1])


def of_account(account: str, said: Iterable[Standing]) -> Node | None:
    """The node of an account, from all that rows say about it; None where no account was named."""
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
    """The organizations that a query names: in its row, and in the name of its account."""
    named = facts.organization_name, organization_of(facts.account)
    return tuple(dict.fromkeys(one for one in named if one is not None))


def of_organization(name: str) -> Node:
    """The node of an organization."""
    values: Values = {"rdfs:label": (name,), "ah:organizationName": (name,)}
    return Node(ORGANIZATION, organization_iri(name), ORGANIZATION.types, values)
