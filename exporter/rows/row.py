"""A row of the view as it was read: user and time as values, the structured columns as JSON in the documented form."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

STRUCTURED: Final = (
    "direct_objects_accessed",
    "base_objects_accessed",
    "objects_modified",
    "policies_referenced",
    "provider_base_objects_accessed",
    "provider_policies_referenced",
    "object_modified_by_ddl",
    "agents_info",
)
"""The columns of a row that contain JSON; ``content`` of :class:`Row` is an array of their values in this order."""


class Row(Struct, frozen=True, array_like=True, gc=False):
    """A row that can be read. ``start``: query_start_time, microseconds since 1970 in UTC. ``content``: a JSON array of
    the columns in :data:`STRUCTURED`, each in the documented form or null. ``additional_properties``,
    ``invoker_identity``: JSON in canonical form (:func:`exporter.rows.raw.raw_json`). ``unknown_columns``: the columns
    with content that this version does not know, as a JSON object in the order of their names; and by path the members
    of objects that no document has, each with an array of its values. Texts are as in the row; blank texts and
    sentinels are removed when facts are built.

    A row of AGGREGATE_ACCESS_HISTORY has ``calls``, the number of queries that it stands for, and ``interval_end``
    (microseconds since 1970, UTC); ``start`` is the start of its interval, and ``query_id`` an id that is made from its
    key (:mod:`exporter.rows.aggregates`). In a row of ACCESS_HISTORY the last three fields are None.
    """

    query_id: str
    start: int
    user_name: str
    content: bytes
    parent_query_id: str | None = None
    root_query_id: str | None = None
    event_source: str | None = None
    organization_name: str | None = None
    account_name: str | None = None
    account_locator: str | None = None
    additional_properties: str | None = None
    invoker_identity: str | None = None
    unknown_columns: str | None = None
    calls: int | None = None
    interval_end: int | None = None
    query_parameterized_hash: str | None = None


class Unreadable(Struct, frozen=True, array_like=True, gc=False):
    """A row that cannot be read. ``problems``: one sentence for each, for the person who reads the quarantine."""

    problems: tuple[str, ...]
