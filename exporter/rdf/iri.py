"""IRIs: natural keys -> paths below the account's namespace.

A path is relative (``table/66564``) until it is written; locations outside of Snowflake are themselves
(``s3://bucket/a.csv``). Every segment is percent-encoded whole, so two keys never meet in one IRI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import LOCATION_KIND, segment

if TYPE_CHECKING:
    from pyspark.sql import Column

STORAGE_SCHEMES: Final = ("s3", "s3gov", "s3china", "s3compat", "gcs", "gs", "azure", "abfss", "wasbs", "file", "hdfs")
"""Locations with these schemes are their own IRI; all others have one below the account's, so that no row can name a
term of somebody's vocabulary."""

_STORAGE: Final = rf"^({'|'.join(STORAGE_SCHEMES)})://"


def path(*parts: str | Column) -> Column:
    """Segments and ready paths (given as columns) joined by ``/``; texts are literal segments."""
    columns = [F.lit(part) if isinstance(part, str) else part for part in parts]
    return F.concat_ws("/", *columns)


def query_path(query_id: str = "query_id") -> Column:
    """``query/ID``."""
    return path("query", segment(F.col(query_id)))


def object_path(key: str = "object_key") -> Column:
    """The object's key, or the location itself: one that may be an IRI and is not encoded."""
    own = F.url_decode(F.substring_index(F.col(key), "/", -1))
    is_location = F.col(key).startswith(f"{LOCATION_KIND}/")
    return F.when(is_location & own.rlike(_STORAGE), _location(own)).otherwise(F.col(key))


def _location(url: Column) -> Column:
    """The location with every character that is not plain percent-encoded, ``%`` too: what was different stays so."""
    scheme = F.concat(F.substring_index(url, "://", 1), F.lit("://"))
    rest = F.substr(url, F.length(scheme) + 1)
    encoded = F.replace(F.url_encode(rest), F.lit("+"), F.lit("%20"))
    readable = encoded
    for code, character in _READABLE.items():
        readable = F.replace(readable, F.lit(code), F.lit(character))
    return F.concat(scheme, readable)


_READABLE: Final = {"%2F": "/", "%3A": ":", "%3D": "=", "%40": "@", "%2C": ",", "%2B": "+"}


def column_path(column: str, key: str = "object_key") -> Column:
    """``OBJECT/column/NAME``; None where there is no column."""
    return F.when(F.col(column).isNotNull(), path(F.col(key), "column", segment(F.col(column))))


def version_path(query_id: str = "query_id", key: str = "object_key") -> Column:
    """``OBJECT/version/QUERY``."""
    return path(F.col(key), "version", segment(F.col(query_id)))


def user_path(user: str = "user_name") -> Column:
    """``user/NAME``."""
    return path("user", segment(F.col(user)))
