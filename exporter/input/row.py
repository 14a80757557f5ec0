"""A row of the view as it was read: user and time as values, the structured columns as JSON in the documented form.

The JSON is decoded to structs with the documented fields (view, "the fields in the JSON array"). Unknown fields are
ignored here, because Snowflake keeps adding new ones; :func:`exporter.input.documented_form.unknown_members` finds
them. A text may arrive as a number or a boolean: :func:`text` converts it. A field of any other type raises an error,
and the row is then read by the tolerant reader (:mod:`exporter.input.reading`). Names of columns are matched in any
letter case.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw, Struct

from exporter.input.json_reader import text_of

Text = str | int | float | bool | None


class SourceDocument(Struct, rename="camel", gc=False):
    """A source of a written column. ``stage_kind`` is not documented here, but read as in the other places."""

    column_name: Text = None
    object_domain: Text = None
    object_id: Text = None
    object_name: Text = None
    argument_signature: Text = None
    data_type: Text = None
    stage_kind: Text = None
    account_name: Text = None


class ColumnDocument(Struct, rename="camel", gc=False):
    """A column that was read."""

    column_id: Text = None
    column_name: Text = None


class SourcedColumnDocument(ColumnDocument, rename="camel"):
    """A column that was written, with its sources; each list of sources has a new and an old field name."""

    direct_sources: list[SourceDocument | None] | None = None
    base_sources: list[SourceDocument | None] | None = None
    direct_source_columns: list[SourceDocument | None] | None = None
    base_source_columns: list[SourceDocument | None] | None = None


class PolicyDocument(Struct, rename="camel", gc=False):
    """A policy that was enforced."""

    policy_name: Text = None
    policy_id: Text = None
    policy_kind: Text = None


class GuardedColumnDocument(ColumnDocument, rename="camel"):
    """A column with the policies that were enforced on it."""

    policies: list[PolicyDocument | None] | None = None


class ObjectReferenceDocument(Struct, rename="camel", gc=False):
    """The fields by which an object is found."""

    object_domain: Text = None
    object_id: Text = None
    object_name: Text = None
    argument_signature: Text = None


class JoinedDocument(ObjectReferenceDocument, rename="camel"):
    """The other side of a join."""

    data_type: Text = None
    location: Text = None
    account_name: Text = None


class JoinDocument(Struct, rename="camel", gc=False):
    """A join: its type and its other side. Each has two field names in the documents."""

    join_type: Text = None
    type: Text = None
    node: JoinedDocument | None = None
    join_object: JoinedDocument | None = None


class ObjectDocument(ObjectReferenceDocument, rename="camel"):
    """The fields that all objects in the arrays share."""

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


class ChangeDocument(ObjectReferenceDocument, rename="camel"):
    """A DDL change; its properties stay raw JSON."""

    operation_type: Text = None
    properties: Raw = Raw(b"null")


REMOVED_CHANGE: Final = ChangeDocument(object_id=0)
"""In place of a change that a filter removed: a change of which nothing is said. One that is empty is none."""


class AgentDocument(Struct, rename="camel", gc=False):
    """A software agent that acted for the user."""

    agent_type: Text = None
    agent_id: Text = None
    agent_name: Text = None


class Document(Struct, array_like=True, gc=False):
    """The structured columns of a row, in the order of :data:`exporter.input.row.STRUCTURED`."""

    direct: list[DirectDocument | None] | None = None
    base: list[ReadDocument | None] | None = None
    modified: list[WrittenDocument | None] | None = None
    policies: list[GuardedDocument | None] | None = None
    provider_base: list[ReadDocument | None] | None = None
    provider_policies: list[GuardedDocument | None] | None = None
    change: ChangeDocument | None = None
    agents: list[AgentDocument | None] | None = None


_decode_document: Final = msgspec.json.Decoder(Document).decode
_decode_values: Final = msgspec.json.Decoder(list[Raw]).decode
_EMPTY: Final = frozenset({b"null", b'""', b"[]", b"{}"})


def decode(content: bytes) -> Document:
    """``Row.content`` -> its document. A change in which all is empty is none: tools write ``{}`` for NULL. Agents that
    Snowflake cut as a whole are one of which all is cut: it writes an object for them, not an agent. Raises
    msgspec.DecodeError (ValidationError if a field has the wrong type).
    """
    document = _decode_document(content)
    change = document.change
    if change is not None and change.operation_type is None and change.object_name is None:
        members = _decode(_decode_values(content)[STRUCTURED.index("object_modified_by_ddl")])
        if _EMPTY.issuperset(map(bytes, members.values())):
            document.change = None
    if document.agents == [AgentDocument()] and _SENTINEL in bytes(_decode_values(content)[_AT_AGENTS]):
        document.agents = [AgentDocument("TRUNCATED", -1, "TRUNCATED")]
    return document


def text(value: Text) -> str | None:
    """The value as text: numbers by their digits, booleans as ``true`` and ``false``; None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


ABSENT: Final = Raw(b"null")
"""The JSON of a column that a line does not have."""
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

_SENTINEL: Final = b'"TRUNCATED"'
_AT_AGENTS: Final = STRUCTURED.index("agents_info")


class Line(Struct, gc=False, forbid_unknown_fields=True):
    """A row in the documented form: names in lower case, arrays as arrays, no unknown columns. A column of text has the
    same name here and in :class:`Row`.
    """

    query_id: str
    query_start_time: str | int
    user_name: str
    parent_query_id: str | None = None
    root_query_id: str | None = None
    event_source: str | None = None
    organization_name: str | None = None
    account_name: str | None = None
    account_locator: str | None = None
    additional_properties: Raw = ABSENT
    invoker_identity: Raw = ABSENT
    direct_objects_accessed: Raw = ABSENT
    base_objects_accessed: Raw = ABSENT
    objects_modified: Raw = ABSENT
    policies_referenced: Raw = ABSENT
    provider_base_objects_accessed: Raw = ABSENT
    provider_policies_referenced: Raw = ABSENT
    object_modified_by_ddl: Raw = ABSENT
    agents_info: Raw = ABSENT


class Row(Struct, frozen=True, array_like=True, gc=False):
    """A row that can be read. ``start``: query_start_time, microseconds since 1970 in UTC. ``content``: a JSON array of
    the columns in :data:`STRUCTURED`, each in the documented form or null. ``additional_properties``,
    ``invoker_identity``: JSON in canonical form (:func:`exporter.input.json_reader.raw_json`). ``unknown_columns``: the
    columns with content that this version does not know, as a JSON object in the order of their names; and by path the
    members of objects that no document has, each with an array of its values. Texts are as in the row; blank texts and
    sentinels are removed when facts are built.

    A row of AGGREGATE_ACCESS_HISTORY has ``calls``, the number of queries that it stands for, and ``interval_end``
    (microseconds since 1970, UTC); ``start`` is the start of its interval, and ``query_id`` an id that is made from its
    key (:mod:`exporter.input.aggregates`). In a row of ACCESS_HISTORY the last three fields are None.
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


JSON_TEXTS: Final = ("additional_properties", "invoker_identity")
"""The columns that are kept as JSON text."""
TEXTS: Final = tuple(
    name for name in Line.__struct_fields__ if name in Row.__struct_fields__[4:] and name not in JSON_TEXTS
)
"""The other columns of text that a row may lack."""


class Unreadable(Struct, frozen=True, array_like=True, gc=False):
    """A row that cannot be read. ``problems``: one sentence for each, for the person who reads the quarantine."""

    problems: tuple[str, ...]


NOT_DECODED: Final = (msgspec.DecodeError, RecursionError, UnicodeEncodeError)
"""The exceptions of a decoder for a text that it cannot decode."""

_decode: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_plain: Final = msgspec.json.Decoder(dict[str, str | int | None]).decode


def columns_of(text: str) -> dict[str, Raw]:
    """Column name as written -> its JSON, for a line of strict JSON. Raises one of :data:`NOT_DECODED`."""
    return _decode(text)


def texts_of(text: str) -> dict[str, str | None]:
    """Column name as written -> its value as text (:func:`exporter.input.json_reader.text_of`); None for null."""
    try:
        return {name: str(value) if isinstance(value, int) else value for name, value in _decode_plain(text).items()}
    except msgspec.ValidationError:
        return {name: text_of(value) for name, value in columns_of(text).items()}


_in_column: Final = re.compile(rf"(?:{'|'.join(STRUCTURED)})(?:\[\]|\.)").match


def is_path(name: str) -> bool:
    """Whether a name is the path of a member of a structured column
    (:func:`exporter.input.documented_form.unknown_members`). A row that filters or pseudonyms changed has these members
    as columns of this name.
    """
    return _in_column(name) is not None


@lru_cache(maxsize=1024)
def lower_name(name: str) -> str:
    """A column name without blanks around it, in lower case: the spelling by which columns are found. A path stays."""
    return name if is_path(name) else name.strip(" ").lower()
