"""What the exporter does not understand in a row: it is exported as far as it is understood, and counted by name.

The lists say what was known when this version was made; docs/input.md has them. Names of columns, tags and other things
that users named are not in the results.

Sources: view, "Columns", "object_modified_by_ddl"; behaviour changes until bundle 2026_07.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from exporter.queries.ddl import properties_of
from exporter.queries.grants import unknown_forms
from exporter.queries.identifiers import FUNCTIONS, TABLES, TRUNCATED, VIEWS, normal_domain, parts_of
from exporter.queries.objects import said, thing_of
from exporter.queries.policies import policy_kind
from exporter.rows import documents
from exporter.rows.columns import columns_of, is_path
from exporter.rows.documents import ChangeDocument, decode, text
from exporter.rows.properties import read
from exporter.rows.row import STRUCTURED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.rows.row import Row

KNOWN_OPERATIONS: Final = frozenset(
    {
        *("ALTER", "CREATE", "DROP", "REPLACE", "UNDROP", "REFRESH"),
        *("DESCRIBE", "SHOW", "SUSPEND", "RESUME", "GRANT", "REVOKE"),
    }
)
KNOWN_EVENT_SOURCES: Final = frozenset({"snowflake_sql", "horizon_irc"})
KNOWN_DOMAINS: Final = frozenset(
    {
        *(*TABLES, *VIEWS, *FUNCTIONS, "PROCEDURE", "DATABASE", "SCHEMA", "STREAM", "STAGE", "SEQUENCE", "COLUMN"),
        *("TAG", "SHARE", "LISTING", "ROLE", "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE", "SESSION", "AGENT"),
        *("MCP SERVER", "POSTGRES INSTANCE", "WAREHOUSE", "USER", "ACCOUNT", "APPLICATION", "APPLICATION PACKAGE"),
        *("ALERT", "TASK", "PIPE", "FILE FORMAT", "INTEGRATION", "SECRET", "NETWORK RULE", "COMPUTE POOL", "SERVICE"),
        *("IMAGE REPOSITORY", "NOTEBOOK", "STREAMLIT", "MODEL", "MODULE", "DATASET", "GIT REPOSITORY", "SEMANTIC VIEW"),
        *("CORTEX SEARCH SERVICE", "FAILOVER GROUP", "REPLICATION GROUP", "CONNECTION", "EXTERNAL VOLUME", "POLICY"),
        *("MASKING POLICY", "ROW ACCESS POLICY", "AGGREGATION POLICY", "PROJECTION POLICY", "JOIN POLICY"),
        *("PASSWORD POLICY", "SESSION POLICY", "NETWORK POLICY", "AUTHENTICATION POLICY", "PACKAGES POLICY"),
        *("PRIVACY POLICY", "FEATURE POLICY", "STORAGE LIFECYCLE POLICY"),
    }
)
"""In normal form (:func:`exporter.queries.identifiers.normal_domain`)."""
LONGEST: Final = 80
"""Longest name in the results, in characters."""
_ARRAYS: Final = tuple(zip(STRUCTURED[:6], documents.Document.__struct_fields__[:6], strict=True))
_SOURCES: Final = ("direct_sources", "base_sources", "direct_source_columns", "base_source_columns")
_SHORT: Final = 4 * 1024


def not_understood(row: Row) -> tuple[str, ...]:
    """What is not understood: ``column NAME``, ``property PATH``, ``operation NAME``, ``domain NAME``,
    ``event_source NAME``; sorted.
    """
    of_content = _of_content(row.content) if len(row.content) > _SHORT else _kept(row.content)
    source = said(row.event_source)
    is_new = source is not None and source.strip(" ").lower() not in KNOWN_EVENT_SOURCES
    if row.unknown_columns is None and not is_new:
        return of_content
    names = () if row.unknown_columns is None else columns_of(row.unknown_columns)
    columns = [_named("property" if is_path(name) else "column", name) for name in names]
    return tuple(sorted({*of_content, *columns, *([_named("event_source", source or "")] if is_new else ())}))


def _of_content(content: bytes) -> tuple[str, ...]:
    return tuple(sorted(set(_of_document(decode(content)))))


_kept: Final = lru_cache(maxsize=8_000)(_of_content)


def _named(what: str, name: str) -> str:
    return f"{what} {name if len(name) <= LONGEST else name[:LONGEST] + '…'}"


def _of_document(document: documents.Document) -> Iterator[str]:
    for name, field in _ARRAYS:
        for one in getattr(document, field) or ():
            if one is not None:
                yield from _of_object(one, name)
    if document.change is not None:
        yield from _of_change(document.change)


def _of_object(one: Any, name: str) -> Iterator[str]:
    yield from _domain(one.object_domain)
    if _identifies_nothing(one):
        yield f"property {name}[].objectId"
    for policy in getattr(one, "policies", None) or ():
        yield from _policy(policy)
    for join in getattr(one, "join_objects", None) or ():
        for side in (join.node, join.join_object) if join is not None else ():
            yield from _domain(None if side is None else side.object_domain)
    for column in one.columns or ():
        for policy in getattr(column, "policies", None) or ():
            yield from _policy(policy)
        for sources in _SOURCES:
            for source in getattr(column, sources, None) or ():
                yield from _domain(None if source is None else source.object_domain)


def _identifies_nothing(one: documents.ObjectDocument) -> bool:
    """Whether the object has an id, but no kind, name or location, so that nothing says what it is."""
    ident, domain = said(one.object_id), normal_domain(text(one.object_domain))
    is_named = domain is not None or said(one.object_name) or said(one.location) or one.locations
    return ident not in {None, "0", "-1"} and not is_named


def _policy(policy: documents.PolicyDocument | None) -> Iterator[str]:
    if policy is not None:
        yield from _domain(policy_kind(policy.policy_kind))


def _domain(domain: documents.Text) -> Iterator[str]:
    normal = normal_domain(text(domain))
    if normal is not None and normal not in KNOWN_DOMAINS:
        yield _named("domain", normal)


def _of_change(change: ChangeDocument) -> Iterator[str]:
    yield from _domain(change.object_domain)
    word = text(change.operation_type)
    operation = None if word is None else word.strip(" ").upper()
    if operation not in {None, "", TRUNCATED, *KNOWN_OPERATIONS}:
        yield _named("operation", operation or "")
    properties = read(properties_of(change))
    for path in properties.unknown:
        yield _named("property", path)
    thing = thing_of(change.object_domain, change.object_id, change.object_name, change.argument_signature)
    for path in () if thing is None else unknown_forms(thing, properties):
        yield _named("property", path)
    own, new = (
        parts_of(name or "") for name in (said(text(change.object_name)), said(properties.atoms.get("objectName")))
    )
    if 0 < len(new) < len(own):
        yield "property objectName"
    for name, value in properties.atoms.items():
        if name.lower().endswith(("targetdomain", "sourcedomain")):
            yield from _domain(value)
