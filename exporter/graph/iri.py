"""IRIs: natural keys -> paths below the base of the graph, or whole IRIs.

The exported account is below the base (``table/66564``), every other one below a place of its own. Locations outside of
Snowflake are themselves (``s3://bucket/a.csv``); accounts and organizations are the same things to all who name them,
under any base. Every segment is percent-encoded whole, so two keys never meet in one IRI, and a path never holds
``://``: by that a whole IRI is told from a path.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from exporter.queries.identifiers import LOCATION_KIND, segment

STORAGE_SCHEMES: Final = ("s3", "s3gov", "s3china", "s3compat", "gcs", "gs", "azure", "abfss", "wasbs", "file", "hdfs")
"""Locations with these schemes are their own IRI; all others have one below the account's, so that no row can name a
term of somebody's vocabulary."""
UNNAMED_ACCOUNT: Final = "local-account"
"""What stands for the account where nobody named it: no account has this name, and none is made of it."""

_PLACE: Final = f"{LOCATION_KIND}/"
_has_plain_host: Final = re.compile(r"[a-z0-9]+://([A-Za-z0-9._-]+@)?[A-Za-z0-9._-]*(:[0-9]+)?(/|\Z)").match
_organization: Final = re.compile("([A-Za-z][A-Za-z0-9_]*)-[^\n\r\x85\u2028\u2029]").match


class Iris:
    """The IRIs of what rows of ``account`` tell, in the graph of ``exported_account`` below ``base``."""

    __slots__ = ("account", "below")

    def __init__(self, account: str, exported_account: str, base: str) -> None:
        self.account = account
        self.below = "" if account == exported_account else _below(account, base)

    def path(self, path: str) -> str:
        """A path of the account."""
        return self.below + path

    def query(self, query_id: str) -> str:
        """``query/ID``."""
        return f"{self.below}query/{segment(query_id)}"

    def object(self, key: str) -> str:
        """The object's key, or the location itself."""
        if key.startswith(_PLACE):
            return _location_of(key) or self.below + key
        return self.below + key

    def column(self, key: str, name: str) -> str:
        """``OBJECT/column/NAME``."""
        return f"{self.below}{key}/column/{segment(name)}"

    def state(self, key: str, state: str) -> str:
        """The version of an object: ``OBJECT/STATE``, a state as :mod:`exporter.things.answers` has it."""
        return f"{self.below}{key}/{state}"

    def version(self, key: str, query_id: str) -> str:
        """The version that a query made: ``OBJECT/version/QUERY``."""
        return f"{self.below}{key}/version/{segment(query_id)}"

    def column_state(self, key: str, state: str, name: str) -> str:
        """The version of a column: ``OBJECT/STATE/column/NAME``."""
        return f"{self.below}{key}/{state}/column/{segment(name)}"

    def user(self, name: str) -> str:
        """``user/NAME``."""
        return f"{self.below}user/{segment(name)}"


def _below(account: str, base: str) -> str:
    """What comes before the paths of another account than the exported one."""
    if base.startswith("snowflake://"):
        return f"snowflake://{segment(account)}/"
    return f"{base if '://' in base else ''}account/{quote_plus(account, safe='*').replace('~', '%7E')}/"


@lru_cache(maxsize=10_000)
def _location_of(key: str) -> str | None:
    """The location that is its own IRI; None where its scheme is none of storage."""
    url = unquote(key.rsplit("/", 1)[-1])
    scheme, is_url, _ = url.partition("://")
    return _encoded(url) if is_url and scheme in STORAGE_SCHEMES else None


def _encoded(url: str) -> str:
    """The location with every character that is not plain percent-encoded, ``%`` too: what was different stays so.

    A colon and an @ stay where the host is a plain one: elsewhere they would make an IRI that no engine takes.
    """
    scheme, _, rest = url.partition("://")
    colons = ":@" if _has_plain_host(url) else ""
    return f"{scheme}://{quote(rest, safe=f'/=,+*{colons}').replace('~', '%7E')}"


@lru_cache(maxsize=1_000)
def organization_of(account: str) -> str | None:
    """``ORG-ACCOUNT`` -> ``ORG``: the name of an organization has no hyphen. None of a locator
    (``ab12345.eu-west-1``) and of other names that hold no organization.
    """
    found = None if account == UNNAMED_ACCOUNT else _organization(account)
    return found[1] if found else None


@lru_cache(maxsize=1_000)
def account_iri(account: str) -> str | None:
    """``snowflake://ORG-ACCOUNT/account``, whatever the base: the account is the same thing to all who name it. None
    where nobody named it.
    """
    return None if account == UNNAMED_ACCOUNT else f"snowflake://{segment(account)}/account"


def organization_iri(organization: str) -> str:
    """``snowflake://ORG/organization``: the same from each of its accounts, whatever the base."""
    return f"snowflake://{segment(organization)}/organization"


def whole(iri: str, base: str) -> str:
    """An IRI as nodes have it, in full."""
    return iri if "://" in iri else base + iri
