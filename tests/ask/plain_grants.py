"""What grants open, computed in plain Python: privileges on objects for shares, and shares for accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.ask.plain_asking import domain
from tests.ask.plain_meant import Asked, name_at
from tests.ask.plain_names import value
from tests.ask.plain_settings import Doing, element_drop, first, is_gone, object_drop
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from tests.ask.plain_asking import Given, Row
    from tests.ask.plain_history import History, Query

STEPS: Final = 3
EVERYBODY: Final = "*"


class Grant(NamedTuple):
    """``key``: what is granted, called ``name``; ``on_all``: all such objects in it; ``to``: the key of a share or the
    name of an account, ``EVERYBODY`` for all; ``gives``: it is not taken back.
    """

    query: Query
    share: str
    key: str
    name: str
    on_all: str
    privilege: str
    to: str
    grantee: str
    kind: str
    gives: bool


class Open(NamedTuple):
    grant: Grant
    until: datetime | None

    def is_at(self, time: datetime | None) -> bool:
        if time is None:
            return self.until is None
        return self.grant.query.start <= time and (self.until is None or time < self.until)


def opened(history: History) -> list[Open]:
    """Every grant that was given, with its end. What is taken back in one statement is so before what it gives."""
    said = sorted(_said(history), key=lambda one: (one.query.start, one.query.query_id, one.gives, str(one[1:])))
    return [Open(one, _until(history, one, said[place + 1 :])) for place, one in enumerate(said) if one.gives]


def taken_back(history: History) -> list[Grant]:
    """What statements take back, whether it was given on record or not."""
    return [one for one in _said(history) if not one.gives]


def _said(history: History) -> Iterator[Grant]:
    for ident, share, change in history.changes:
        properties, query = change.get("properties") or {}, history.queries[ident]
        if share.startswith("share/") and isinstance(properties, dict):
            name = str(change.get("objectName") or history.names.label(share))
            for word in ("grant", "revoke"):
                for what in _granted(value(properties.get(word)) or {}):
                    yield Grant(query, share, *what, share, name, "SHARE", word == "grant")
            for to, gives in _accounts(properties):
                yield Grant(query, share, share, name, "", "", to.upper(), to, "ACCOUNT", gives)


def _granted(told: Any) -> Iterator[tuple[str, str, str, str]]:
    """Key, name, all of what, privilege."""
    for role in told.get("ROLES") or ():
        yield str(plain.key({"objectDomain": "DATABASE ROLE", "objectName": role})), role, "", ""
    one, kind = {"Id": told.get("SECURABLE_OBJECT_ID"), "Name": told.get("SECURABLE_OBJECT_NAME")}, ""
    domain = told.get("SECURABLE_OBJECT_DOMAIN")
    if told.get("SECURABLE_OBJECT_SCOPE"):
        kind, domain, one = (
            domain.upper(),
            told["SECURABLE_OBJECT_SCOPE_DOMAIN"],
            {"Name": told["SECURABLE_OBJECT_SCOPE"]},
        )
    key = plain.key({"objectDomain": domain, **{f"object{part}": given for part, given in one.items()}})
    for privilege in told.get("PRIVILEGES") or ():
        yield str(key), one["Name"], kind, privilege


def _accounts(properties: Any) -> Iterator[tuple[str, bool]]:
    """To set the accounts takes it back from everybody else."""
    if "accountsToSet" in properties:
        yield EVERYBODY, False
    for word in ("accountsToAdd", "accountsToSet", "accountsToRemove"):
        for account in value(properties.get(word)) or ():
            yield account, word != "accountsToRemove"


def _until(history: History, grant: Grant, later: list[Grant]) -> datetime | None:
    """The same said again, or the drop of the share or of what was granted."""
    same = next((one.query.start for one in later if _is_same(one, grant)), None)
    doing = Doing(grant.query, (grant.share, None), "grant", grant.key, None, sets=True)
    dropped = element_drop(history, doing, same) if grant.key != grant.share else None
    return first(same, object_drop(history, doing, same, is_grant=True), dropped)


def _is_same(later: Grant, grant: Grant) -> bool:
    """Or all of it: REVOKE ALL takes every privilege, and a revocation on all tables that on each."""
    if (later.share, later.kind) != (grant.share, grant.kind):
        return False
    if (later.key, later.on_all) != (grant.key, grant.on_all) and not _covers(later, grant):
        return False
    of_all = not later.gives and bool(grant.privilege) and later.privilege == "ALL"
    return (of_all or later.privilege == grant.privilege) and later.to in (grant.to, EVERYBODY)


def _covers(later: Grant, grant: Grant) -> bool:
    """Whether it is revoked on all of a kind in the schema or database that was named where it was granted."""
    kind = grant.on_all or domain(grant.key).upper()
    is_inside = (grant.name or "").upper().startswith(f"{later.name.upper()}.")
    return not later.gives and bool(later.on_all) and later.on_all == kind and is_inside


def exposure(history: History, given: Given) -> set[Row]:
    """Along grants that hold, three at most: the last one says to whom, the first one what, the latest one when."""
    at = plain.time(given["at"]) if "at" in given else None
    holding = [
        one.grant
        for one in opened(history)
        if one.is_at(at) and not is_gone(history, at, one.grant.key, one.grant.share)
    ]
    asked = Asked(history, given)
    return {
        (
            name_at(history, chain[0].key, at) or chain[0].name, domain(chain[0].key), _privilege(chain[0]),
            chain[-1].grantee, chain[-1].kind, latest.query_id, latest.start,
        )
        for chain in _chains(holding)
        if asked.at(chain[0].key, at) or not given.keys() & {"object_name", "object_id", "domain"}
        for latest in [max((one.query for one in reversed(chain)), key=lambda query: query.start)]
    }  # fmt: skip


def _privilege(grant: Grant) -> str:
    return f"{grant.privilege} ON ALL {grant.on_all}" if grant.on_all else grant.privilege


def _chains(holding: list[Grant]) -> Iterator[list[Grant]]:
    chains = [[one] for one in holding]
    for _ in range(STEPS):
        yield from chains
        chains = [[*chain, one] for chain in chains for one in holding if one.key == chain[-1].to]
