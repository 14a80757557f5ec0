"""Every table of the project: the rows as Snowflake writes them, and the facts that are read from them.

The source row follows the documents of ACCESS_HISTORY ("Columns"); the facts are what both outputs are made from.
A table is a dict of column names and Spark SQL types, so that it can be read without a Spark session.

Keys
----
``account``      ORG-ACCOUNT, the authority of the namespace ``snowflake://ORG-ACCOUNT``.
``query_id``     as the view spells it; with ``account`` the key of a query.
``object_key``   the natural key of an object within its account, and at the same time its path in the graph:
                 ``table/66564`` by id, ``table/name/DB.SCH.T1`` by name where no id is given,
                 ``location/s3%3A%2F%2Fbucket%2Fa.csv`` for a place outside of Snowflake.
``change_key``   the natural key of a DDL change within its query.

Times are UTC timestamps with microseconds. ``None`` always means "the row does not say".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Table = Mapping[str, str]


def ddl(table: Table) -> str:
    """The table as Spark spells a schema: ``query_id string, agents array<…>``."""
    return ", ".join(f"`{name}` {kind}" for name, kind in table.items())


def _fields(text: str) -> dict[str, str]:
    """``name type`` a line, for tables without nested types."""
    pairs = (part.split(maxsplit=1) for part in text.replace("\n", " ").split(",") if part.strip())
    return {name: " ".join(kind.split()) for name, kind in pairs}


# --- the source row -------------------------------------------------------------------------------------------------

_IDENTITY = "objectDomain: string, objectId: string, objectName: string, argumentSignature: string, dataType: string"
_PLACE = "location: string, locations: array<string>, stageKind: string, accountName: string"
_SOURCES = f"array<struct<columnName: string, {_IDENTITY}>>"
_POLICIES = "array<struct<policyName: string, policyId: string, policyKind: string>>"
_NODE = f"struct<{_IDENTITY}, location: string, accountName: string>"
_JOINS = f"array<struct<joinType: string, type: string, node: {_NODE}, joinObject: {_NODE}>>"
_COLUMN = "columnId: string, columnName: string"
_SOURCED = (
    f"directSources: {_SOURCES}, baseSources: {_SOURCES}, "
    f"directSourceColumns: {_SOURCES}, baseSourceColumns: {_SOURCES}"
)
_READ = f"struct<{_IDENTITY}, {_PLACE}, columns: array<struct<{_COLUMN}>>>"
_JOINED = f"struct<{_IDENTITY}, {_PLACE}, columns: array<struct<{_COLUMN}>>, joinObjects: {_JOINS}>"
_WRITTEN = f"struct<{_IDENTITY}, {_PLACE}, columns: array<struct<{_COLUMN}, {_SOURCED}>>>"
_GUARDED = (
    f"struct<{_IDENTITY}, {_PLACE}, columns: array<struct<{_COLUMN}, policies: {_POLICIES}>>, policies: {_POLICIES}>"
)

SOURCED_COLUMN: Final = f"struct<{_COLUMN}, {_SOURCED}>"
"""A column of objects_modified, with its sources in their old and new spellings."""
GUARDED_COLUMN: Final = f"struct<{_COLUMN}, policies: {_POLICIES}>"
JOIN: Final = f"struct<joinType: string, type: string, node: {_NODE}, joinObject: {_NODE}>"
POLICY: Final = "struct<policyName: string, policyId: string, policyKind: string>"

SCALARS: Final = (
    "query_id",
    "query_start_time",
    "user_name",
    "parent_query_id",
    "root_query_id",
    "event_source",
    "organization_name",
    "account_name",
    "account_locator",
)
OBJECT_ARRAYS: Final[Mapping[str, str]] = {
    "direct_objects_accessed": f"array<{_JOINED}>",
    "base_objects_accessed": f"array<{_READ}>",
    "objects_modified": f"array<{_WRITTEN}>",
    "policies_referenced": f"array<{_GUARDED}>",
    "provider_base_objects_accessed": f"array<{_READ}>",
    "provider_policies_referenced": f"array<{_GUARDED}>",
}
"""The columns that hold arrays of objects, each with the fields that the documents give it (view, "the fields in the
JSON array"): a field of all in all of them would be stored three hundred times in every row, mostly as nothing."""
RAW_JSON: Final = ("additional_properties", "invoker_identity")
"""Columns that are kept as the JSON text they hold."""

DDL_TYPE: Final = (
    "struct<objectDomain: string, objectId: string, objectName: string, argumentSignature: string, "
    "operationType: string, properties: string>"
)
AGENTS_TYPE: Final = "array<struct<agentType: string, agentId: string, agentName: string>>"

CORRUPT: Final = "_corrupt"
ROW: Final[Table] = {
    **dict.fromkeys((*SCALARS, *RAW_JSON), "string"),
    **OBJECT_ARRAYS,
    "object_modified_by_ddl": DDL_TYPE,
    "agents_info": AGENTS_TYPE,
    CORRUPT: "string",
}
"""A row of the view as one JSON object: documented columns, newer ones, and what did not fit (``_corrupt``)."""

COLUMNS: Final = tuple(name for name in ROW if name != CORRUPT)
"""The columns that are read; all others are ignored."""

# --- the facts ------------------------------------------------------------------------------------------------------

_QUERY = "account string not null, query_id string not null"
_TIMED = f"{_QUERY}, query_start_time timestamp not null"
_OBJECT = """object_key string not null, kind string not null, domain string, object_id string, object_name string,
    argument_signature string, data_type string, stage_kind string, location string, object_account string"""
_COLUMNS = {"columns": "array<struct<column_name: string, column_id: string>>"}

QUERY_HISTORY: Final[Table] = _fields(
    """query_text string, query_type string, query_tag string, query_parameterized_hash string, session_id string,
    role_name string, role_type string, warehouse_name string, warehouse_size string, database_name string,
    schema_name string, end_time timestamp, total_elapsed_time bigint, execution_status string, bytes_scanned bigint,
    rows_produced bigint, rows_inserted bigint, rows_updated bigint, rows_deleted bigint"""
)
"""What is taken from QUERY_HISTORY, by query_id; ``total_elapsed_time`` in milliseconds."""

QUERIES: Final[Table] = {
    **_fields(
        f"""{_TIMED}, user_name string not null, parent_query_id string,
        root_query_id string, event_source string, additional_properties string, invoker_identity string,
        organization_name string, account_name string, account_locator string"""
    ),
    "agents": "array<struct<agent_type: string, agent_id: string, agent_name: string>>",
    "incomplete": "array<string>",
    "row_count": "int not null",
    **QUERY_HISTORY,
}
"""One row per query. ``agents``: nearest first. ``incomplete``: ``PLACE REASON`` of what Snowflake cut away or left
unnamed, sorted. ``row_count``: rows of the view that tell of it."""

ACCESSES: Final[Table] = {**_fields(f"{_TIMED}, access string not null, {_OBJECT}"), **_COLUMNS}
"""One row per query, ``access`` (DIRECT, BASE, PROVIDER_BASE) and object read; columns sorted by name."""

WRITES: Final[Table] = {**_fields(f"{_TIMED}, {_OBJECT}"), **_COLUMNS}
"""One row per query and object written."""

DERIVATIONS: Final[Table] = _fields(
    f"""{_TIMED}, target_key string not null, target_name string, target_column string not null,
    source_type string not null, {_OBJECT}, source_column string"""
)
"""One row per target column, ``source_type`` (DIRECT, BASE) and source; the object columns are the source's.
``source_column`` is None where the source is a function or procedure."""

POLICY_REFERENCES: Final[Table] = _fields(
    f"""{_TIMED}, {_OBJECT}, column_name string, column_id string, policy_key string not null,
    policy_kind string not null, policy_id string, policy_name string, provider boolean not null"""
)
"""One row per query, protected object or column (None: the whole object), and policy enforced.
``policy_kind``: MASKING_POLICY, ROW_ACCESS_POLICY, or another that the view may come to know."""

JOINS: Final[Table] = _fields(f"{_TIMED}, left_key string not null, left_name string, join_type string, {_OBJECT}")
"""One row per join in a query; the object columns are the right side's."""

DDL_CHANGES: Final[Table] = _fields(
    f"""{_TIMED}, change_key string not null, {_OBJECT},
    operation string not null, new_name string, swap_key string, swap_name string, swap_id string, swap_domain string,
    source_key string, source_name string, source_id string, source_domain string,
    policy_body string, comment string, properties string"""
)
"""One row per DDL change. ``operation``: the view's word in upper case. ``properties``: the JSON as it came.
``swap_*``: the other side of a SWAP; ``source_*``: what a CLONE or LIKE was made from."""

DDL_SETTINGS: Final[Table] = _fields(
    f"""{_TIMED},
    change_key string not null, object_key string not null, column_name string, property string not null,
    element string, element_key string, element_id string, sub_operation string, value string"""
)
"""One row per thing that a change says: an atomic property (``element`` None, ``value`` its value) or one element of a
compound one (``property`` tags, maskingPolicies, rowAccessPolicies, allowedValues, columns …; ``element`` its name;
``sub_operation`` ADD, DROP, ALTER). ``column_name``: the column it is set on, None for the object itself.
``element_key``: the object key of a tag or policy."""

OBJECTS: Final[Table] = {
    **_fields(
        """account string not null, object_key string not null, kind string not null, object_id string,
        canonical_name string"""
    ),
    **dict.fromkeys(
        ("domains", "argument_signatures", "data_types", "stage_kinds", "locations", "object_accounts"),
        "array<string>",
    ),
}
"""One row per object, with every value that the rows show of each attribute, sorted. ``canonical_name``: only where
the name is the key."""

NAMES: Final[Table] = _fields(
    """account string not null, object_key string not null, name string not null, valid_from timestamp not null,
    valid_until timestamp, last_seen timestamp not null"""
)
"""One row per name that an object had, and when: from its first sighting (or the rename) to the first sighting of the
next name, None while it holds."""

COLUMN_FACTS: Final[Table] = {
    **_fields("account string not null, object_key string not null, column_name string not null"),
    "column_ids": "array<string>",
}
"""One row per column: its object and its name (sources carry no column id)."""

FACTS: Final[Mapping[str, Table]] = {
    "queries": QUERIES,
    "accesses": ACCESSES,
    "writes": WRITES,
    "derivations": DERIVATIONS,
    "policy_references": POLICY_REFERENCES,
    "joins": JOINS,
    "ddl_changes": DDL_CHANGES,
    "ddl_settings": DDL_SETTINGS,
    "objects": OBJECTS,
    "names": NAMES,
    "columns": COLUMN_FACTS,
}
"""The tables below ``facts/``, by name."""
