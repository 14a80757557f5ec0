"""The facets of an event as SQL expressions, each a struct of its schema's fields; null fields are left out of the JSON.

An expression that a facet is made from names a column or a lambda's variable, so that it costs nothing to name it twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.naming import PARTS
from exporter.openlineage.sql import literal, only_if, renamed, struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.openlineage.settings import OpenLineageSettings

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
    "dataSource": ("1-0-1", "DatasourceDatasetFacet"),
    "columnLineage": ("1-2-0", "ColumnLineageDatasetFacet"),
    "lifecycleStateChange": ("1-0-1", "LifecycleStateChangeDatasetFacet"),
    "documentation": ("1-1-0", "DocumentationDatasetFacet"),
    "tags": ("1-0-0", "TagsDatasetFacet"),
    "outputStatistics": ("1-0-2", "OutputStatisticsOutputDatasetFacet"),
}
_OF_OURS: Final = {
    "accessHistory_query": ("1-0-0", "AccessHistoryQueryRunFacet"),
    "accessHistory_incompleteness": ("1-0-0", "AccessHistoryIncompletenessRunFacet"),
    "accessHistory_policies": ("1-0-0", "AccessHistoryPoliciesRunFacet"),
    "accessHistory_joins": ("1-0-0", "AccessHistoryJoinsRunFacet"),
    "accessHistory_ddl": ("1-0-0", "AccessHistoryDdlRunFacet"),
    "accessHistory_routines": ("1-0-0", "AccessHistoryRoutinesRunFacet"),
    "accessHistory_object": ("1-0-0", "AccessHistoryObjectDatasetFacet"),
    "accessHistory_columnRoutines": ("1-0-0", "AccessHistoryColumnRoutinesDatasetFacet"),
    "accessHistory_access": ("1-0-0", "AccessHistoryAccessInputDatasetFacet"),
    "accessHistory_write": ("1-0-0", "AccessHistoryWriteOutputDatasetFacet"),
}
SCHEMAS: Final[Mapping[str, str]] = {
    "lineage": f"{SPEC}/facets/1-0-0/LineageFacet.json#/$defs/LineageDatasetFacet",
    **{key: f"{SPEC}/facets/{version}/{name}.json#/$defs/{name}" for key, (version, name) in _OF_SPEC.items()},
    **{key: f"{OWN}/{version}/{name}.json#/$defs/{name}" for key, (version, name) in _OF_OURS.items()},
}
"""Facet -> its ``_schemaURL``: of the specification, and our own below ``schemas/``. A published one never changes."""

_QUERY: Final[Mapping[str, str]] = {
    "user_name": "userName",
    "role_name": "role",
    "role_type": "roleType",
    "warehouse_name": "warehouse",
    "warehouse_size": "warehouseSize",
    "session_id": "sessionId",
    "database_name": "database",
    "schema_name": "schema",
    "query_type": "queryType",
    "query_tag": "queryTag",
    "query_parameterized_hash": "queryParameterizedHash",
    "execution_status": "executionStatus",
    "total_elapsed_time": "elapsedMilliseconds",
    "bytes_scanned": "bytesScanned",
    "rows_produced": "rowsProduced",
    "rows_inserted": "rowsInserted",
    "rows_updated": "rowsUpdated",
    "rows_deleted": "rowsDeleted",
    "event_source": "eventSource",
    "additional_properties": "additionalProperties",
    "invoker_identity": "invokerIdentity",
    "organization_name": "organizationName",
    "account_name": "accountName",
    "account_locator": "accountLocator",
    "row_count": "rowCount",
}
_OBJECT: Final[Mapping[str, str]] = {
    "domain": "objectDomain",
    "object_id": "objectId",
    "stage_kind": "stageKind",
    "location": "location",
    "object_account": "accountName",
}
_AGENT: Final = {"agent_type": "type", "agent_id": "id", "agent_name": "name"}


class Facets:
    """The facets under one set of settings; each method gives the expression of one."""

    def __init__(self, settings: OpenLineageSettings) -> None:
        self._producer = literal(settings.producer)

    def facet(self, name: str, fields: Mapping[str, str], condition: str = "") -> str:
        """The facet ``name`` with these fields, where the condition holds."""
        filled = struct({"_producer": self._producer, "_schemaURL": literal(SCHEMAS[name]), **fields})
        return only_if(condition, filled) if condition else filled

    def listed(self, name: str, field: str, values: str, given: str) -> str:
        """A facet that holds one list; none where the array ``given`` is empty."""
        return self.facet(name, {field: values}, f"size({given}) > 0")

    # --- of runs and jobs -----------------------------------------------------------------------------------------

    def external_query(self, query_id: str) -> str:
        return self.facet("externalQuery", {"externalQueryId": query_id, "source": "'snowflake'"})

    def parent(self, parent: Mapping[str, str], root: str, condition: str) -> str:
        """``parent``: ``run`` and ``job``; ``root``: a struct of both, which may be null."""
        return self.facet("parent", {**parent, "root": root}, condition)

    def query(self, query: str) -> str:
        """Who ran the query, as what and where."""
        agents = f"transform({query}.agents, a -> {renamed('a', _AGENT)})"
        told = _told(query, _QUERY)
        return self.facet("accessHistory_query", {**told, "agents": only_if(f"size({query}.agents) > 0", agents)})

    def job_type(self, query_type: str) -> str:
        """``jobType`` is always there: Marquez refuses the facet without it."""
        kind = f"coalesce({query_type}, 'QUERY')"
        return self.facet("jobType", {"processingType": "'BATCH'", "integration": "'SNOWFLAKE'", "jobType": kind})

    def sql(self, text: str) -> str:
        return self.facet("sql", {"query": text, "dialect": "'snowflake'"}, f"{text} IS NOT NULL")

    # --- of datasets ----------------------------------------------------------------------------------------------

    def of_dataset(self, dataset: str) -> dict[str, str]:
        """What every dataset tells of itself, whether it is read or written."""
        thing = f"{dataset}.object"
        return {
            "schema": self.listed("schema", "fields", f"{dataset}.known", f"{dataset}.known"),
            "datasetType": self.dataset_type(thing),
            "hierarchy": self.hierarchy(f"{dataset}.name", f"{thing}.domain"),
            "dataSource": self.data_source(f"{dataset}.namespace"),
            "accessHistory_object": self.facet("accessHistory_object", _told(thing, _OBJECT)),
        }

    def dataset_type(self, thing: str) -> str:
        """``EXTERNAL TABLE`` -> TABLE with subtype EXTERNAL; a place outside of Snowflake is a FILE."""
        subtype = rf"nullif(regexp_replace({thing}.domain, r' ?[^ ]+\z', ''), '')"
        fields = {
            "datasetType": f"coalesce(substring_index({thing}.domain, ' ', -1), 'FILE')",
            "subType": f"coalesce({thing}.stage_kind, {subtype})",
        }
        return self.facet("datasetType", fields, f"coalesce({thing}.domain, {thing}.location) IS NOT NULL")

    def hierarchy(self, name: str, domain: str) -> str:
        """Database, schema and object, of a name that has all three."""
        parts = f"regexp_extract_all({name}, {PARTS}, 1)"
        levels = f"transform({parts}, (p, i) -> struct(array('DATABASE', 'SCHEMA', {domain})[i] AS type, p AS name))"
        return self.facet("hierarchy", {"hierarchy": levels}, f"{domain} IS NOT NULL AND size({parts}) = 3")

    def data_source(self, namespace: str) -> str:
        uri = only_if(f"contains({namespace}, '://')", namespace)
        return self.facet("dataSource", {"name": namespace, "uri": uri})

    def lifecycle(self, state: str, previous: str) -> str:
        """CREATE, DROP and the like; ``previous``: the dataset that a RENAME made this one from."""
        before = only_if(f"{previous} IS NOT NULL", f"struct({previous}.name, {previous}.namespace)")
        fields = {"lifecycleStateChange": state, "previousIdentifier": before}
        return self.facet("lifecycleStateChange", fields, f"{state} IS NOT NULL")

    def documentation(self, text: str) -> str:
        return self.facet("documentation", {"description": text}, f"{text} IS NOT NULL")

    def tags(self, tags: str) -> str:
        """Tags of the dataset, and with ``field`` of its columns."""
        shown = f"transform({tags}, t -> struct(t.key, t.value, 'SNOWFLAKE' AS source, t.field))"
        return self.listed("tags", "tags", shown, tags)

    def column_lineage(self, columns: str) -> str:
        """Column -> the columns that it was made from."""
        sources = "transform(c.sources, s -> struct(s.namespace, s.name, s.field, s.transformations))"
        return self.listed("columnLineage", "fields", _by_column(columns, f"struct({sources} AS inputFields)"), columns)

    def lineage(self, inputs: str, columns: str, condition: str) -> str:
        """The datasets and columns that this one was made from, and no others."""
        entities = f"transform({inputs}, d -> struct(d.namespace, d.name, 'DATASET' AS type))"
        source = "struct(s.namespace, s.name, 'DATASET' AS type, s.field, s.transformations)"
        by_column = _by_column(columns, f"struct(transform(c.sources, s -> {source}) AS inputs)")
        return self.facet(
            "lineage", {"inputs": entities, "fields": only_if(f"size({columns}) > 0", by_column)}, condition
        )

    def column_routines(self, columns: str) -> str:
        """Column -> the functions and procedures that it was made by: they are no columns of any dataset."""
        return self.listed("accessHistory_columnRoutines", "fields", _by_column(columns, "c.routines"), columns)

    def output_statistics(self, rows: str, condition: str) -> str:
        return self.facet("outputStatistics", {"rowCount": rows}, f"{condition} AND {rows} IS NOT NULL")


def _told(source: str, names: Mapping[str, str]) -> dict[str, str]:
    return {new: f"{source}.{name}" for name, new in names.items()}


def _by_column(columns: str, value: str) -> str:
    return f"map_from_entries(transform({columns}, c -> struct(c.column, {value})))"
