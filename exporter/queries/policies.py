"""Policy references: which policies were enforced on which objects and columns that a query read.

Sources: view, "policies_referenced"; guide, "Masking and row access policy references".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from exporter.queries.facts import PolicyReference, Thing
from exporter.queries.identifiers import normal_domain, usable_id
from exporter.queries.objects import Key, both, column_id, found, key_of, once, one_of, said
from exporter.rows.documents import GuardedDocument, PolicyDocument, Text, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Policies = list[PolicyDocument | None] | None


def policies(documents: Iterable[GuardedDocument | None] | None, *, provider: bool) -> Iterator[PolicyReference]:
    """The policies enforced on each object and its columns; repetitions in the row are kept. ``provider``: they belong
    to the account that shares the object.
    """
    for one, thing in found(documents):
        yield from _enforced(thing, None, None, one.policies, provider=provider)
        for column in one.columns or ():
            if column is not None:
                ident = column_id(column.column_id)
                yield from _enforced(thing, said(column.column_name), ident, column.policies, provider=provider)


def _enforced(
    thing: Thing, column: str | None, ident: str | None, documents: Policies, *, provider: bool
) -> Iterator[PolicyReference]:
    for one in documents or ():
        if one is not None:
            kind = policy_kind(one.policy_kind)
            key = key_of(kind, one.policy_id, one.policy_name)
            if key is not None:
                number, name = usable_id(text(one.policy_id)), said(one.policy_name)
                yield PolicyReference(thing, column, ident, key, kind, number, name, provider)


def policy_kind(kind: Text) -> str:
    """``MASKING_POLICY``, ``ROW_ACCESS_POLICY`` … as in the view; ``POLICY`` if the row gives no kind."""
    return (normal_domain(text(kind)) or "POLICY").replace(" ", "_")


def policies_once(facts: Iterable[PolicyReference]) -> tuple[PolicyReference, ...]:
    """One reference per protected object or column, and policy."""
    return once(facts, _key, _one)


def _key(fact: PolicyReference) -> Key:
    return fact.protected.key, fact.column_name or "", fact.policy_key, "provider" if fact.provider else ""


def _one(one: PolicyReference, other: PolicyReference) -> PolicyReference:
    return replace(
        one,
        protected=both(one.protected, other.protected),
        column_id=one_of(one.column_id, other.column_id),
        policy_kind=min(one.policy_kind, other.policy_kind),
        policy_id=one_of(one.policy_id, other.policy_id),
        policy_name=one_of(one.policy_name, other.policy_name),
    )
