"""A row of the view, read: who and when as values, what the statement did as JSON in the documents' own form."""

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
"""The columns of a row that hold JSON; ``content`` of :class:`Row` is an array of their values, in this order."""


class Row(Struct, frozen=True, array_like=True, gc=False):
    """A good row. ``start``: query_start_time, microseconds since 1970 in UTC. ``content``: the JSON text of an array
    of the columns of :data:`STRUCTURED`, each in the documents' form or null. ``additional_properties``,
    ``invoker_identity``: JSON in one spelling (no white space, numbers as they were). Texts as the row has them: it is
    the facts' part to leave out blank ones and sentinels.
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


class Unreadable(Struct, frozen=True, array_like=True, gc=False):
    """A row that cannot be read, and why: sentences for the person who reads the quarantine."""

    problems: tuple[str, ...]
