"""IRIs: natural keys -> paths below the base of the graph, or absolute IRIs.

The exported account's paths are directly below the base (``table/66564``); every other account has a place of its own.
A location outside of Snowflake is its own IRI (``s3://bucket/a.csv``). Accounts and organizations have the same IRI
whatever the base. Each segment is percent-encoded completely: two keys never get the same IRI, and a path never
contains ``://``, which is how an absolute IRI and a path are told apart.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from exporter.model.account_identifier import UNNAMED_ACCOUNT
from exporter.model.answers import state_made_by
from exporter.model.identifiers import LOCATION_KIND, segment

STORAGE_SCHEMES: Final = ("s3", "s3gov", "s3china", "s3compat", "gcs", "gs", "azure", "abfss", "wasbs", "file", "hdfs")
"""Locations with these schemes are their own IRI; all others get an IRI below the account's. Otherwise a row could name
a term of a published vocabulary."""

_PLACE: Final = f"{LOCATION_KIND}/"
_has_plain_host: Final = re.compile(r"[a-z0-9]+://([A-Za-z0-9._-]+@)?[A-Za-z0-9._-]*(:[0-9]+)?(/|\Z)").match
_organization: Final = re.compile("([A-Za-z][A-Za-z0-9_]*)-[^\n\r\x85\u2028\u2029]").match


class Iris:
    """The IRIs of what the rows of ``account`` name, in a graph of ``exported_account`` whose base IRI is ``base``."""

    __slots__ = ("account", "below")

    def __init__(self, account: str, exported_account: str, base: str) -> None:
        self.account = account
        self.below = "" if account == exported_account else _below(account, base)

    def path(self, path: str) -> str:
        """A path below the exported account's -> the path of this account."""
        return self.below + path

    def query(self, query_id: str) -> str:
        """``query/ID``."""
        return f"{self.below}query/{segment(query_id)}"

    def object(self, key: str) -> str:
        """The object's key as a path, or the location as its own IRI."""
        if key.startswith(_PLACE):
            return _location_of(key) or self.below + key
        return self.below + key

    def column(self, key: str, name: str) -> str:
        """``OBJECT/column/NAME``."""
        return f"{self.below}{key}/column/{segment(name)}"

    def state(self, key: str, state: str) -> str:
        """The version of an object: ``OBJECT/STATE``; for ``state`` see :mod:`exporter.model.answers`."""
        return f"{self.below}{key}/{state}"

    def version(self, key: str, query_id: str) -> str:
        """The version that a query made: ``OBJECT/version/QUERY``."""
        return f"{self.below}{key}/{state_made_by(query_id)}"

    def column_state(self, key: str, state: str, name: str) -> str:
        """The version of a column: ``OBJECT/STATE/column/NAME``."""
        return f"{self.below}{key}/{state}/column/{segment(name)}"

    def user(self, name: str) -> str:
        """``user/NAME``."""
        return f"{self.below}user/{segment(name)}"


def _below(account: str, base: str) -> str:
    """What paths begin with in an account that is not the exported one."""
    if base.startswith("snowflake://"):
        return f"snowflake://{segment(account)}/"
    return f"{base if '://' in base else ''}account/{quote_plus(account, safe='*').replace('~', '%7E')}/"


@lru_cache(maxsize=10_000)
def _location_of(key: str) -> str | None:
    """The location that is its own IRI; None where its scheme is not a storage scheme."""
    url = unquote(key.rsplit("/", 1)[-1])
    scheme, is_url, _ = url.partition("://")
    return _encoded(url) if is_url and scheme in STORAGE_SCHEMES else None


def _encoded(url: str) -> str:
    """The location with every character that is not plain percent-encoded, also ``%``: different locations stay
    different.

    A colon and an @ stay only where the host is a plain one. Elsewhere engines would refuse the IRI.
    """
    scheme, _, rest = url.partition("://")
    colons = ":@" if _has_plain_host(url) else ""
    return f"{scheme}://{quote(rest, safe=f'/=,+*{colons}').replace('~', '%7E')}"


@lru_cache(maxsize=1_000)
def organization_of(account: str) -> str | None:
    """``ORG-ACCOUNT`` -> ``ORG``: the name of an organization has no hyphen. None for a locator
    (``ab12345.eu-west-1``) and for other names that contain no organization.
    """
    match = None if account == UNNAMED_ACCOUNT else _organization(account)
    return match[1] if match else None


@lru_cache(maxsize=1_000)
def account_iri(account: str) -> str | None:
    """``snowflake://ORG-ACCOUNT/account``, whatever the base, so that all graphs use the same IRI. None where no
    account was named.
    """
    return None if account == UNNAMED_ACCOUNT else f"snowflake://{segment(account)}/account"


def organization_iri(organization: str) -> str:
    """``snowflake://ORG/organization``, whatever the base: all accounts of the organization give the same IRI."""
    return f"snowflake://{segment(organization)}/organization"


def absolute_iri(iri: str, base: str) -> str:
    """An IRI as nodes have it (a path, or absolute) -> the absolute IRI (RFC 3987, section 2.2)."""
    return iri if "://" in iri else base + iri
