"""Objects of other accounts in a row: those with another ``accountName``, and all in the arrays of a provider of
shared data (ORGANIZATION_USAGE, ``provider_base_objects_accessed``, ``provider_policies_referenced``).

An id is unique in its account alone (view, "objectId"), and so is a name. So the key of such an object has its account
behind an ``@``: ``table/77@PROV``, ``table/name/D.S.T@PROV``. Without it, a table of the provider would be the table of
this account that has the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from exporter.model.facts import Content, Derivation, Join, PolicyReference, Thing
from exporter.model.identifiers import LOCATION_KIND, segment

_PROVIDER: Final = "provider"
"""Stands for the account of a provider that a row does not name. Names of accounts have no small letters."""
_AT: Final = "@"
_PROVIDER_BASE: Final = "PROVIDER_BASE"


def account_in(key: str) -> str:
    """``@`` and the account in the key of an object of another account; empty for an object of the row's own.

    >>> account_in("table/77@PROV"), account_in("table/77")
    ('@PROV', '')
    """
    _, at, account = key.partition(_AT)
    return at + account


def with_accounts(content: Content, own: str) -> Content:
    """The content with the account in the keys of all objects of other accounts. ``own``: the name of the account of
    the row. Sources of columns and partners of joins have no account of their own: they are what else the row gives
    under the same key and name.
    """
    known = {(thing.key, thing.name): account for thing, account in _of_others(content, own)}
    if not known:
        return content

    def elsewhere(thing: Thing, *, by_provider: bool = False) -> Thing:
        account = _account(thing, own, by_provider=by_provider)
        return thing if account is None else replace(thing, key=_key(thing.key, account))

    def named_again(thing: Thing) -> Thing:
        account = known.get((thing.key, thing.name)) if thing.account is None else _account(thing, own)
        return thing if account is None else replace(thing, key=_key(thing.key, account))

    def source(derivation: Derivation) -> Derivation:
        account = known.get((derivation.target_key, derivation.target_name))
        target = derivation.target_key if account is None else _key(derivation.target_key, account)
        return replace(derivation, target_key=target, source=named_again(derivation.source))

    def policy(reference: PolicyReference) -> PolicyReference:
        protected = elsewhere(reference.protected, by_provider=reference.provider)
        if not reference.provider:
            return replace(reference, protected=protected)
        account = reference.protected.account or _PROVIDER
        return replace(reference, protected=protected, policy_key=_key(reference.policy_key, account))

    return replace(
        content,
        accesses=tuple(
            replace(one, thing=elsewhere(one.thing, by_provider=one.access == _PROVIDER_BASE))
            for one in content.accesses
        ),
        writes=tuple(replace(one, thing=elsewhere(one.thing)) for one in content.writes),
        derivations=tuple(map(source, content.derivations)),
        policies=tuple(map(policy, content.policies)),
        joins=tuple(Join(elsewhere(one.left), one.join_type, named_again(one.right)) for one in content.joins),
    )


def _of_others(content: Content, own: str) -> Iterator[tuple[Thing, str]]:
    """The things of other accounts in the arrays of a row, each with its account."""
    arrays = [
        *((one.thing, one.access == _PROVIDER_BASE) for one in content.accesses),
        *((one.thing, False) for one in content.writes),
        *((one.protected, one.provider) for one in content.policies),
        *((thing, False) for one in content.joins for thing in (one.left, one.right)),
    ]
    for thing, by_provider in arrays:
        account = _account(thing, own, by_provider=by_provider)
        if account is not None:
            yield thing, account


def _account(thing: Thing, own: str, *, by_provider: bool = False) -> str | None:
    """The account of a thing that is of another one; None for one of the row's own."""
    account = thing.account or (_PROVIDER if by_provider else None)
    return None if account is None or account.upper() == own.upper() else account


def _key(key: str, account: str) -> str:
    return key if key.startswith(f"{LOCATION_KIND}/") else f"{key}{_AT}{segment(account)}"
