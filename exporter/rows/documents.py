"""The JSON in a row's columns, as structs with the documented fields (view, "the fields in the JSON array").

Unknown fields are ignored here, because Snowflake keeps adding new ones; :func:`exporter.rows.fits.unknown_members`
finds them. A text may arrive as a number or a boolean:
:func:`text` converts it. A field of any other type raises an error, and the row is then read by the tolerant reader
(:mod:`exporter.rows.reading`).
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw, Struct

Text = str | int | float | bool | None


class SourceDocument(Struct, rename="camel", gc=False):
    """A source of a written column."""

    column_name: Text = None
    object_domain: Text = None
    object_id: Text = None
    object_name: Text = None
    argument_signature: Text = None
    data_type: Text = None


class ColumnDocument(Struct, rename="camel", gc=False):
    """A column that was read."""

    column_id: Text = None
    column_name: Text = None


class SourcedColumnDocument(Struct, rename="camel", gc=False):
    """A column that was written, with its sources; each list of sources has a new and an old field name."""

    column_id: Text = None
    column_name: Text = None
    direct_sources: list[SourceDocument | None] | None = None
    base_sources: list[SourceDocument | None] | None = None
    direct_source_columns: list[SourceDocument | None] | None = None
    base_source_columns: list[SourceDocument | None] | None = None


class PolicyDocument(Struct, rename="camel", gc=False):
    """A policy that was enforced."""

    policy_name: Text = None
    policy_id: Text = None
    policy_kind: Text = None


class GuardedColumnDocument(Struct, rename="camel", gc=False):
    """A column with the policies that were enforced on it."""

    column_id: Text = None
    column_name: Text = None
    policies: list[PolicyDocument | None] | None = None


class JoinedDocument(Struct, rename="camel", gc=False):
    """The other side of a join."""

    object_domain: Text = None
    object_id: Text = None
    object_name: Text = None
    argument_signature: Text = None
    data_type: Text = None
    location: Text = None
    account_name: Text = None


class JoinDocument(Struct, rename="camel", gc=False):
    """A join: its type and its other side. Each has two field names in the documents."""

    join_type: Text = None
    type: Text = None
    node: JoinedDocument | None = None
    join_object: JoinedDocument | None = None


class ObjectDocument(Struct, rename="camel", gc=False):
    """The fields that all objects in the arrays share."""

    object_domain: Text = None
    object_id: Text = None
    object_name: Text = None
    argument_signature: Text = None
    data_type: Text = None
    location: Text = None
    locations: list[Text] | None = None
    stage_kind: Text = None
    account_name: Text = None


class ReadDocument(ObjectDocument, rename="camel"):
    """An object that was read."""

    columns: list[ColumnDocument | None] | None = None


class DirectDocument(ReadDocument, rename="camel"):
    """An object that the query names itself, with its joins to other objects."""

    join_objects: list[JoinDocument | None] | None = None


class WrittenDocument(ObjectDocument, rename="camel"):
    """An object that was written."""

    columns: list[SourcedColumnDocument | None] | None = None


class GuardedDocument(ObjectDocument, rename="camel"):
    """An object that policies protect."""

    columns: list[GuardedColumnDocument | None] | None = None
    policies: list[PolicyDocument | None] | None = None


class ChangeDocument(Struct, rename="camel", gc=False):
    """A DDL change; its properties stay raw JSON."""

    object_domain: Text = None
    object_id: Text = None
    object_name: Text = None
    argument_signature: Text = None
    operation_type: Text = None
    properties: Raw = Raw(b"null")


class AgentDocument(Struct, rename="camel", gc=False):
    """A software agent that acted for the user."""

    agent_type: Text = None
    agent_id: Text = None
    agent_name: Text = None


class Document(Struct, array_like=True, gc=False):
    """The structured columns of a row, in the order of :data:`exporter.rows.row.STRUCTURED`."""

    direct: list[DirectDocument | None] | None = None
    base: list[ReadDocument | None] | None = None
    modified: list[WrittenDocument | None] | None = None
    policies: list[GuardedDocument | None] | None = None
    provider_base: list[ReadDocument | None] | None = None
    provider_policies: list[GuardedDocument | None] | None = None
    change: ChangeDocument | None = None
    agents: list[AgentDocument | None] | None = None


decode: Final = msgspec.json.Decoder(Document).decode
"""``Row.content`` -> its document. Raises msgspec.DecodeError (ValidationError if a field has the wrong type)."""


def text(value: Text) -> str | None:
    """The value as text: numbers by their digits, booleans as ``true`` and ``false``; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
