"""Detect what Snowflake truncated in a row or left without a name: ``PLACE TRUNCATED``, ``PLACE UNNAMED``.

Source: view, "Usage notes" (the eight phases of truncation).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from exporter.queries.identifiers import TRUNCATED, usable_id
from exporter.queries.objects import said
from exporter.rows.documents import (
    AgentDocument,
    ChangeDocument,
    Document,
    GuardedDocument,
    ReadDocument,
    Text,
    WrittenDocument,
    text,
)

Objects = Sequence[ReadDocument | WrittenDocument | GuardedDocument | None] | None
_NO_ID: Final = (None, "0", "-1", "")
_SENTINEL: Final = f'"{TRUNCATED}"'
_SENTINEL_BYTES: Final = _SENTINEL.encode()
_CHANGE: Final = "object_modified_by_ddl"


def incomplete(document: Document, properties: str | None, *, may_be_cut: bool) -> tuple[str, ...]:
    """The sorted texts ``PLACE REASON``. ``properties``: the JSON of the change's properties. ``may_be_cut``: whether
    the sentinel occurs anywhere in the row.
    """
    return tuple(sorted(_every(document, properties, may_be_cut=may_be_cut)))


def _every(document: Document, properties: str | None, *, may_be_cut: bool) -> Iterator[str]:
    for name, objects in _arrays(document):
        if objects:
            if may_be_cut and _SENTINEL_BYTES in msgspec.json.encode(objects):  # at any depth
                yield f"{name} {TRUNCATED}"
            if _says_nothing_somewhere(objects):
                yield f"{name} UNNAMED"
    if any(one is None or _is_nobody(one) for one in document.agents or ()):
        yield "agents_info UNNAMED"
    change = document.change
    if change is not None:
        if may_be_cut and _is_cut(change, properties):
            yield f"{_CHANGE} {TRUNCATED}"
        if change.operation_type is None and change.object_name is None:
            yield f"{_CHANGE} UNNAMED"


def _arrays(document: Document) -> tuple[tuple[str, Objects], ...]:
    return (
        ("direct_objects_accessed", document.direct),
        ("base_objects_accessed", document.base),
        ("objects_modified", document.modified),
        ("policies_referenced", document.policies),
        ("provider_base_objects_accessed", document.provider_base),
        ("provider_policies_referenced", document.provider_policies),
    )


def _is_cut(change: ChangeDocument, properties: str | None) -> bool:
    inside = properties is not None and (properties == TRUNCATED or _SENTINEL in properties)
    return inside or change.object_name == TRUNCATED


def _says_nothing_somewhere(objects: Objects) -> bool:
    """Whether there is an object without id, name and location, or a column without a name."""
    for one in objects or ():
        if one is None or _is_nothing(one):
            return True
        for column in one.columns or ():
            if column is None or _is_blank(column.column_name):
                return True
    return False


def _is_nothing(one: ReadDocument | WrittenDocument | GuardedDocument) -> bool:
    name = one.location if one.object_name is None else one.object_name
    if name is None and one.locations:
        name = one.locations[0]
    ident = text(one.object_id)
    return _is_blank(name) and (ident in _NO_ID or (_is_blank(one.object_domain) and usable_id(ident) is None))


def _is_nobody(agent: AgentDocument) -> bool:
    return all(said(one) is None for one in (agent.agent_type, agent.agent_id, agent.agent_name))


def _is_blank(value: Text) -> bool:
    return value is None or (isinstance(value, str) and not value.strip(" "))
