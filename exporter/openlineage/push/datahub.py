"""Names for DataHub, which makes a URN of each job and dataset, and a URI of each dataset.

A URN is a list of parts with commas between them, in parentheses. DataHub escapes none of these characters: a name that
holds one becomes another URN, or an invalid one. DataHub's Snowflake source writes names without quotes, and in lower
case by default; only with the same spelling are both the same table. Sources: datahub-project/datahub,
OpenLineagePlatformResolver and OpenLineageJobMapper (names to URNs), UrnValidationUtil (which URNs are valid),
SnowflakeIdentifierBuilder (how the Snowflake source spells names).
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_plus

from exporter.openlineage.naming import parts

FLOW: Final = "access_history"
"""The flow of all jobs: DataHub reads it from the job's name, before the first dot."""

_LONGEST: Final = 512
"""The most bytes of a URN, URL-encoded."""
_JOB_URN: Final = f"urn:li:dataJob:(urn:li:dataFlow:(snowflake,{FLOW},{{}}),{FLOW}.)"
_DATASET_URN: Final = "urn:li:dataset:(urn:li:dataPlatform:{},{},PROD)"
_PLAIN: Final = str.maketrans({",": ";", "(": "[", ")": "]", "\u241f": " "})
_in_urn: Final = re.compile(r"[,()\u241f]").search
_LEGAL: Final = re.compile(r"[A-Za-z0-9_.!~'()*;/:@&=+$,?#-]|%[0-9A-Fa-f]{2}|[^\x00-\x9f\s]")
"""A character of a path that java.net.URI accepts: what RFC 2396 allows, and letters of any language."""
_has_hash: Final = re.compile(r" \[[0-9a-f]{10}\]\Z").search
_ends_path: Final = re.compile(r"[?#]").search
_TAIL: Final = 13
"""Characters of the hash at the end of a job's name, with its brackets; the hash distinguishes the job from others."""


@lru_cache(maxsize=10_000)
def job_name(namespace: str, name: str) -> str:
    """A job's name as a task of the one flow. Characters that a URN cannot hold are replaced, and a name that is too
    long loses its middle. Such a name ends with a hash, the job's own where it has one, so it is still unique to it.
    """
    plain, room = name.translate(_PLAIN), _LONGEST - _encoded_length(_JOB_URN.format(namespace))
    is_too_long = _encoded_length(plain) > room
    if (is_too_long or plain != name) and not _has_hash(name):
        plain += f" [{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:10]}]"
    if is_too_long:
        head, tail = plain[:-_TAIL], f"\u2026{plain[-_TAIL:]}"
        while head and _encoded_length(head + tail) > room:
            head = head[:-1]
        plain = head + tail
    return f"{FLOW}.{plain}"


def dataset_name(name: str) -> str:
    """The name of a Snowflake object as DataHub's Snowflake source writes it, except for the letter case.

    >>> dataset_name('DB.S."my ""odd"" table"')
    'DB.S.my "odd" table'
    """
    if '"' not in name:
        return name
    return ".".join(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts(name))


@lru_cache(maxsize=10_000)
def unfit(namespace: str, name: str) -> str | None:
    """Why DataHub can make no URN of a dataset, or only that of another dataset; None where it can."""
    if found := _in_urn(name):
        return f"its name has {found[0]!r}, which separates the parts of a URN"
    if "://" in namespace or "://" in name:
        illegal = _LEGAL.sub("", name) or name[name.find("#") + 1 :].partition("#")[1]
        if illegal:
            return f"its name has {illegal[0]!r}, which a URI cannot have"
        if not namespace.startswith("snowflake://") and (end := _ends_path(name)):
            return f"its name has {end[0]!r}, which ends the path of a URI"
    if _encoded_length(_DATASET_URN.format(namespace.partition("://")[0], name)) > _LONGEST:
        return f"its name is too long: a URN has {_LONGEST} bytes at most"
    return None


def _encoded_length(text: str) -> int:
    """The length after Java's URLEncoder."""
    return len(quote_plus(text, safe="*")) + 2 * text.count("~")
