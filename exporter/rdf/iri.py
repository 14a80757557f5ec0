"""IRIs: natural keys -> paths below the account's namespace.

A path is relative (``table/66564``) until it is written; locations outside of Snowflake are themselves
(``s3://bucket/a.csv``). Every segment is percent-encoded whole, so two keys never meet in one IRI.

All functions return Spark SQL text: the nodes have some two hundred paths, and as ``Column`` objects they would take
more calls to the JVM than all else.
"""

from __future__ import annotations

from typing import Final

from exporter.facts.identifiers import LOCATION_KIND, segment
from exporter.sql import let

STORAGE_SCHEMES: Final = ("s3", "s3gov", "s3china", "s3compat", "gcs", "gs", "azure", "abfss", "wasbs", "file", "hdfs")
"""Locations with these schemes are their own IRI; all others have one below the account's, so that no row can name a
term of somebody's vocabulary."""

UNNAMED_ACCOUNT: Final = "local-account"
"""What stands for the account where nobody named it: no account has this name, and none is made of it."""

_ORGANIZATION: Final = "'^([A-Za-z][A-Za-z0-9_]*)-.'"
_STORAGE: Final = rf"^({'|'.join(STORAGE_SCHEMES)})://"
_READABLE: Final = {"%2F": "/", "%3D": "=", "%2C": ",", "%2B": "+"}
_PLAIN_HOST: Final = "^[a-z0-9]+://([A-Za-z0-9._-]+@)?[A-Za-z0-9._-]*(:[0-9]+)?(/|$)"


def path(*parts: str) -> str:
    """Expressions joined by ``/``; a part that is null is left out. Literal segments are given in quotes."""
    return f"concat_ws('/', {', '.join(parts)})"


def known(condition_column: str, value: str) -> str:
    """The value where the column is not null."""
    return f"CASE WHEN {condition_column} IS NOT NULL THEN {value} END"


def query_path(query_id: str = "query_id") -> str:
    """``query/ID``."""
    return path("'query'", segment(query_id))


def object_path(key: str = "object_key") -> str:
    """The object's key, or the location itself: one that may be an IRI and is not encoded."""
    own = let(
        "url",
        f"url_decode(substring_index({key}, '/', -1))",
        f"CASE WHEN url RLIKE '{_STORAGE}' THEN {_location('url')} ELSE {key} END",
    )
    return f"CASE WHEN startswith({key}, '{LOCATION_KIND}/') THEN {own} ELSE {key} END"


def _location(url: str) -> str:
    """The location with every character that is not plain percent-encoded, ``%`` too: what was different stays so.

    A colon and an @ stay where the host is a plain one: elsewhere they would make an IRI that no engine takes.
    """
    scheme = f"concat(substring_index({url}, '://', 1), '://')"
    readable = f"replace(url_encode(substr({url}, length({scheme}) + 1)), '+', '%20')"
    for code, character in _READABLE.items():
        readable = f"replace({readable}, '{code}', '{character}')"
    more = "replace(replace(shown, '%3A', ':'), '%40', '@')"
    shown = let("shown", readable, f"CASE WHEN {url} RLIKE '{_PLAIN_HOST}' THEN {more} ELSE shown END")
    return f"concat({scheme}, {shown})"


def column_path(column: str, key: str = "object_key") -> str:
    """``OBJECT/column/NAME``; null where there is no column."""
    return known(column, path(key, "'column'", segment(column)))


def version_path(query_id: str = "query_id", key: str = "object_key") -> str:
    """``OBJECT/version/QUERY``."""
    return path(key, "'version'", segment(query_id))


def user_path(user: str = "user_name") -> str:
    """``user/NAME``."""
    return path("'user'", segment(user))


def organization_of(account: str = "account") -> str:
    """``ORG-ACCOUNT`` -> ``ORG``: the name of an organization has no hyphen. Null of a locator (``ab12345.eu-west-1``)
    and of other names that hold no organization.
    """
    found = f"nullif(regexp_extract({account}, {_ORGANIZATION}, 1), '')"
    return f"CASE WHEN {account} <> '{UNNAMED_ACCOUNT}' THEN {found} END"


def account_path(account: str = "account") -> str:
    """``snowflake://ORG-ACCOUNT/account``, whatever the base: the account is the same thing to all who name it. Null
    where nobody named it.
    """
    named = f"concat('snowflake://', {segment(account)}, '/account')"
    return f"CASE WHEN {account} <> '{UNNAMED_ACCOUNT}' THEN {named} END"


def organization_path(organization: str) -> str:
    """``snowflake://ORG/organization``: the same from each of its accounts, whatever the base."""
    return f"concat('snowflake://', {segment(organization)}, '/organization')"
