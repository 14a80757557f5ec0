"""The facets of an event: one function for each, from plain values to ``{name: facet}``, or ``{}`` without values.

Each facet names its producer (``producer``) and its JSON Schema. Members that are None are left out. Times are in the
form of RFC 3339, in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from exporter.input.times import iso_micros
from exporter.openlineage.naming import DatasetName, parts

if TYPE_CHECKING:
    from exporter.model.facts import Agent, QueryFacts

Json = dict[str, Any]


def without_none(fields: Mapping[str, Any]) -> Json:
    """The fields without those that are None: events leave out what is not known."""
    return {name: value for name, value in fields.items() if value is not None}


def greatest(values: Iterable[str | None]) -> str | None:
    """The greatest of the values; None where all are None or there are none."""
    return max((value for value in values if value is not None), default=None)


def sorted_objects(objects: Iterable[Json]) -> list[Json]:
    """The objects in the order of their values, without the fields that are None."""
    return [without_none(entry) for entry in sorted(objects, key=lambda entry: none_first(tuple(entry.values())))]


def none_first(value: Any) -> Any:
    """A sort key for values that may be None or hold None at any depth; None comes first.

    >>> sorted([("b", None), ("a", "x"), ("a", None)], key=none_first)
    [('a', None), ('a', 'x'), ('b', None)]
    """
    if value is None:
        return (0,)
    return 1, tuple(map(none_first, value)) if isinstance(value, (tuple, list)) else value


def joined_json(data: bytes, other: bytes) -> bytes:
    """The texts of two JSON objects -> the text of one object with the members of both.

    >>> joined_json(b'{"a":1}', b'{"b":2}'), joined_json(b"{}", b'{"b":2}')
    (b'{"a":1,"b":2}', b'{"b":2}')
    """
    if other == b"{}":
        return data
    return other if data == b"{}" else data[:-1] + b"," + other[1:]


SPEC: Final = "https://openlineage.io/spec"
EVENT_SCHEMA: Final = f"{SPEC}/2-0-2/OpenLineage.json#/$defs"
OWN: Final = "https://w3id.org/access-history/facets"

_OF_SPEC: Final = {
    "externalQuery": ("1-0-2", "ExternalQueryRunFacet"),
    "parent": ("1-2-0", "ParentRunFacet"),
    "jobType": ("2-0-4", "JobTypeJobFacet"),
    "sql": ("1-1-0", "SQLJobFacet"),
    "schema": ("1-2-0", "SchemaDatasetFacet"),
    "datasetType": ("1-0-1", "DatasetTypeDatasetFacet"),
    "hierarchy": ("1-0-0", "HierarchyDatasetFacet"),
    "catalog": ("1-1-0", "CatalogDatasetFacet"),
    "version": ("1-0-1", "DatasetVersionDatasetFacet"),
    "dataSource": ("1-0-1", "DatasourceDatasetFacet"),
    "columnLineage": ("1-2-0", "ColumnLineageDatasetFacet"),
    "lifecycleStateChange": ("1-0-1", "LifecycleStateChangeDatasetFacet"),
    "documentation": ("1-1-0", "DocumentationDatasetFacet"),
    "tags": ("1-0-0", "TagsDatasetFacet"),
    "job documentation": ("1-1-0", "DocumentationJobFacet"),
    "job tags": ("1-0-0", "TagsJobFacet"),
    "run tags": ("1-0-0", "TagsRunFacet"),
    "outputStatistics": ("1-0-2", "OutputStatisticsOutputDatasetFacet"),
}
_OF_OURS: Final = {
    "accessHistory_query": ("1-0-0", "AccessHistoryQueryRunFacet"),
    "accessHistory_calls": ("1-0-0", "AccessHistoryCallsRunFacet"),
    "accessHistory_incompleteness": ("1-0-0", "AccessHistoryIncompletenessRunFacet"),
    "accessHistory_policies": ("1-0-0", "AccessHistoryPoliciesRunFacet"),
    "accessHistory_joins": ("1-0-0", "AccessHistoryJoinsRunFacet"),
    "accessHistory_ddl": ("1-0-0", "AccessHistoryDdlRunFacet"),
    "accessHistory_routines": ("1-0-0", "AccessHistoryRoutinesRunFacet"),
    "accessHistory_helpers": ("1-0-0", "AccessHistoryHelpersRunFacet"),
    "accessHistory_objects": ("1-0-0", "AccessHistoryObjectsDatasetFacet"),
    "accessHistory_columnRoutines": ("1-0-0", "AccessHistoryColumnRoutinesDatasetFacet"),
    "accessHistory_access": ("1-0-0", "AccessHistoryAccessInputDatasetFacet"),
    "accessHistory_write": ("1-0-0", "AccessHistoryWriteOutputDatasetFacet"),
}
SCHEMAS: Final[Mapping[str, str]] = {
    "lineage": f"{SPEC}/facets/1-0-0/LineageFacet.json#/$defs/LineageDatasetFacet",
    **{key: f"{SPEC}/facets/{version}/{name}.json#/$defs/{name}" for key, (version, name) in _OF_SPEC.items()},
    **{key: f"{OWN}/{version}/{name}.json#/$defs/{name}" for key, (version, name) in _OF_OURS.items()},
}
"""Facet -> its ``_schemaURL``: of the specification, or our own below ``schemas/``. A published schema never changes.
A facet of jobs or runs that has the same name as one of datasets has ``job`` or ``run`` in front.
"""

_OF_URIS: Final = "!#$%&'()*+,-./:;=?@_~"
"""The characters that stand in a URI unescaped, besides letters and digits, and the sign of escapes (RFC 3986, section
2). Brackets only surround addresses, so they are escaped.
"""
_is_plain_uri: Final = re.compile(r"[A-Za-z0-9+.-]+://[A-Za-z0-9._~@-]*", re.ASCII).fullmatch
_lone_percent: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_LEVELS: Final = ("DATABASE", "SCHEMA")


@lru_cache(maxsize=16)
def _heads(producer: str) -> dict[str, dict[str, str]]:
    return {name: {"_producer": producer, "_schemaURL": url} for name, url in SCHEMAS.items()}


def facet(name: str, fields: Mapping[str, Any], producer: str) -> Json:
    """The facet of this name in :data:`SCHEMAS`, with its fields."""
    return {name.rpartition(" ")[2]: {**_heads(producer)[name], **fields}}


def single_field(name: str, field: str, value: Any, producer: str) -> Json:
    """A facet with one field; ``{}`` where its value is empty or None."""
    return facet(name, {field: value}, producer) if value else {}


# --- of runs and jobs -------------------------------------------------------------------------------------------------


def external_query(query_id: str, producer: str) -> Json:
    """The query id."""
    return facet("externalQuery", {"externalQueryId": query_id, "source": "snowflake"}, producer)


def parent(run_and_job: Json | None, root: Json | None, producer: str) -> Json:
    """Run and job of the parent and of the root, each as ``{"run": …, "job": …}``; ``{}`` without a parent."""
    return {} if run_and_job is None else facet("parent", without_none({**run_and_job, "root": root}), producer)


def query(query: QueryFacts, producer: str) -> Json:
    """Who ran the query, and the columns of the rows and of QUERY_HISTORY that describe it."""
    history = query.history
    fields = {
        "userName": query.user_name,
        "parentQueryId": query.parent_query_id,
        "rootQueryId": query.root_query_id,
        "role": history.role_name,
        "roleType": history.role_type,
        "warehouse": history.warehouse_name,
        "warehouseSize": history.warehouse_size,
        "sessionId": history.session_id,
        "database": history.database_name,
        "schema": history.schema_name,
        "queryType": history.query_type,
        "queryTag": history.query_tag,
        "queryParameterizedHash": history.query_parameterized_hash,
        "executionStatus": history.execution_status,
        "elapsedMilliseconds": history.total_elapsed_time,
        "bytesScanned": history.bytes_scanned,
        "rowsProduced": history.rows_produced,
        "rowsInserted": history.rows_inserted,
        "rowsUpdated": history.rows_updated,
        "rowsDeleted": history.rows_deleted,
        "eventSource": query.event_source,
        "additionalPropertiesJson": query.additional_properties,
        "invokerIdentity": query.invoker_identity,
        "organizationName": query.organization_name,
        "accountName": query.account_name,
        "accountLocator": query.account_locator,
        "accessHistoryRows": query.row_count,
        "agents": [_agent(agent) for agent in query.content.agents] or None,
    }
    return facet("accessHistory_query", without_none(fields), producer)


def calls(query: QueryFacts, producer: str) -> Json:
    """The number of queries that a run stands for, and their interval; ``{}`` for a single query."""
    if query.calls is None:
        return {}
    fields = {"calls": query.calls, "intervalStart": iso_micros(query.start), "intervalEnd": iso_micros(query.end)}
    return facet("accessHistory_calls", fields, producer)


def _agent(agent: Agent) -> Json:
    return without_none({"type": agent.agent_type, "id": agent.agent_id, "name": agent.agent_name})


def tags_of_run(query: QueryFacts, tagged: Literal["job", "run"], producer: str) -> Json:
    """User, role and warehouse as tags of the run, or of its job, for consumers that do not read custom facets."""
    tags_of_query = (
        ("user", query.user_name),
        ("role", query.history.role_name),
        ("warehouse", query.history.warehouse_name),
    )
    tags = [{"key": key, "value": value, "source": "SNOWFLAKE"} for key, value in tags_of_query if value is not None]
    return single_field(f"{tagged} tags", "tags", tags, producer)


def job_type(query_type: str | None, producer: str) -> Json:
    """The kind of query. ``jobType`` is always present: Marquez refuses the facet without it."""
    kind = "QUERY" if query_type is None else query_type
    return facet("jobType", {"processingType": "BATCH", "integration": "SNOWFLAKE", "jobType": kind}, producer)


def sql(text: str | None, producer: str) -> Json:
    """The SQL text of the query, which can hold personal data."""
    return {} if text is None else facet("sql", {"query": text, "dialect": "snowflake"}, producer)


# --- of datasets ------------------------------------------------------------------------------------------------------


def data_source(namespace: str, producer: str) -> Json:
    """The place of the dataset."""
    uri = {"uri": _uri(namespace)} if "://" in namespace else {}
    return facet("dataSource", {"name": namespace, **uri}, producer)


def _uri(namespace: str) -> str:
    """The namespace as a URI: an account or bucket in a row can be any text, so what no URI may contain is escaped."""
    return namespace if _is_plain_uri(namespace) else quote(_lone_percent.sub("%25", namespace), safe=_OF_URIS)


def schema(columns: Iterable[str], kind: str, producer: str) -> Json:
    """The columns, all with one type, since the view does not give types."""
    return single_field("schema", "fields", [{"name": column, "type": kind} for column in columns], producer)


def dataset_type(domain: str | None, stage_kind: str | None, location: str | None, producer: str) -> Json:
    """``EXTERNAL TABLE`` -> TABLE with subtype EXTERNAL; a location outside of Snowflake is a FILE."""
    if domain is None and location is None:
        return {}
    before, _, last = ("FILE" if domain is None else domain).rpartition(" ")
    sub_type = stage_kind if stage_kind is not None else before or None
    return facet("datasetType", without_none({"datasetType": last, "subType": sub_type}), producer)


def hierarchy(name: str, domain: str | None, producer: str) -> Json:
    """Database, schema and object; ``{}`` for a name that does not have all three."""
    levels = [] if domain is None else parts(name)
    if len(levels) != 3:
        return {}
    shown = [{"type": kind, "name": level} for kind, level in zip((*_LEVELS, domain), levels, strict=True)]
    return facet("hierarchy", {"hierarchy": shown}, producer)


def catalog(name: str, domain: str | None, namespace: str, producer: str) -> Json:
    """The database, which Snowflake names as a table's catalog (TABLE_CATALOG); ``{}`` for a name that does not have
    database, schema and object. An Iceberg table can be in another catalog, which rows do not show.
    """
    levels = parts(name)
    if domain is None or "ICEBERG" in domain or len(levels) != 3:
        return {}
    shown = {"framework": "snowflake", "type": "snowflake", "name": levels[0], "source": "snowflake"}
    return facet("catalog", {**shown, "metadataUri": _uri(namespace)}, producer)


def lifecycle(state: str | None, previous: DatasetName | None, producer: str) -> Json:
    """CREATE, DROP and so on; ``previous``: the dataset that was renamed to this one, None if it was not a rename."""
    if state is None:
        return {}
    before = None if previous is None else {"name": previous[1], "namespace": previous[0]}
    fields = without_none({"lifecycleStateChange": state, "previousIdentifier": before})
    return facet("lifecycleStateChange", fields, producer)


def lineage(inputs: Iterable[DatasetName], sources: Mapping[str, list[Json]], producer: str) -> Json:
    """The datasets and columns that this dataset was made from (facet ``lineage``)."""
    datasets = [{"type": "DATASET", "namespace": namespace, "name": name} for namespace, name in inputs]
    by_column = {
        column: {"inputs": [{"type": "DATASET", **field} for field in source]} for column, source in sources.items()
    }
    return facet("lineage", {"inputs": datasets, **({"fields": by_column} if by_column else {})}, producer)
