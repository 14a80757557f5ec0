"""Objects of other accounts in a row: those with another ``accountName``, and all in the arrays of a provider of
shared data (ORGANIZATION_USAGE, ``provider_base_objects_accessed``, ``provider_policies_referenced``).

An id is unique in its account alone (view, "objectId"), and so is a name. So the key of such an object has its account
behind an ``@``: ``table/77@PROV``, ``table/name/D.S.T@PROV``. Without it, a table of the provider would be the table of
this account that has the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Final

from msgspec.structs import replace

from exporter.model.facts import Access, Content, Derivation, Join, ObjectReference, PolicyReference
from exporter.model.identifiers import LOCATION_KIND, segment

_PROVIDER: Final = "provider"
"""Stands for the account of a provider that a row does not name. Names of accounts have no small letters."""
AT: Final = "@"
"""Before the account in the key of an object of another account. Names have none: it is escaped in keys."""
_PROVIDER_BASE: Final = "PROVIDER_BASE"


def account_in(key: str) -> str:
    """``@`` and the account in the key of an object of another account; empty for an object of the row's own.

    >>> account_in("table/77@PROV"), account_in("table/77")
    ('@PROV', '')
    """
    _, at, account = key.partition(AT)
    return at + account


def is_unnamed(account: str) -> bool:
    """Whether an account in a key stands for that of a provider that the row does not name."""
    return account == _PROVIDER


def with_accounts(content: Content, own: str) -> Content:
    """The content with the account in the keys of all objects of other accounts. ``own``: the name of the account of
    the row. What gives no account, such as the sources of columns in most rows, is what else the row gives under the
    same key and name, but for what is in the arrays of a provider.
    """
    said = [(thing, _account(thing, own)) for thing in _named(content) if thing.account is not None]
    known = {named: account for thing, account in said if account is not None for named in _spelled(thing)}
    for thing, account in said:
        if account is None:  # the row gives one of its own, too
            for named in _spelled(thing):
                known.pop(named, None)

    def placed(thing: ObjectReference, *, by_provider: bool = False) -> ObjectReference:
        is_said = thing.account is not None or by_provider
        account = _account(thing, own, by_provider=by_provider) if is_said else known.get((thing.key, thing.name))
        return thing if account is None else replace(thing, key=_key(thing.key, account))

    written = {(write.thing.key, write.thing.name): placed(write.thing).key for write in content.writes}

    def derivation(fact: Derivation) -> Derivation:
        target = written[fact.target_key, fact.target_name]
        return replace(fact, target_key=target, source=placed(fact.source))

    def policy(fact: PolicyReference) -> PolicyReference:
        protected = placed(fact.protected, by_provider=fact.provider)
        account = _account(fact.protected, own, by_provider=True) if fact.provider else None
        key = fact.policy_key if account is None else _key(fact.policy_key, account)
        return replace(fact, protected=protected, policy_key=key)

    def access(fact: Access) -> Access:
        return replace(fact, thing=placed(fact.thing, by_provider=fact.access == _PROVIDER_BASE))

    return replace(
        content,
        accesses=tuple(map(access, content.accesses)),
        writes=tuple(replace(write, thing=placed(write.thing)) for write in content.writes),
        derivations=tuple(map(derivation, content.derivations)),
        policies=tuple(map(policy, content.policies)),
        joins=tuple(Join(placed(join.left), join.join_type, placed(join.right)) for join in content.joins),
    )


def _spelled(thing: ObjectReference) -> tuple[tuple[str, str | None], ...]:
    """The key with the name that a row gives, and alone."""
    return (thing.key, thing.name), (thing.key, None)


def _named(content: Content) -> Iterator[ObjectReference]:
    """The things in the arrays of a row that are no provider's."""
    return chain(
        (access.thing for access in content.accesses if access.access != _PROVIDER_BASE),
        (write.thing for write in content.writes),
        (policy.protected for policy in content.policies if not policy.provider),
        (thing for join in content.joins for thing in (join.left, join.right)),
    )


def _account(thing: ObjectReference, own: str, *, by_provider: bool = False) -> str | None:
    """The account of a thing that is of another one, in capitals, as Snowflake stores it; None for one of the row's
    own.
    """
    if thing.account is None:
        return _PROVIDER if by_provider else None
    account = thing.account.upper()
    return None if account == own.upper() else account


def _key(key: str, account: str) -> str:
    return key if key.startswith(f"{LOCATION_KIND}/") else f"{key}{AT}{segment(account)}"
