"""The facets of an event, as SQL expressions for the text ``"key":{…}``, null where there is nothing to tell.

What is the same in every event (producer, schema) is written into the expression; all that varies goes through
``to_json``, which leaves null fields out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.naming import PARTS
from exporter.openlineage.sql import members, only_if, struct
from exporter.sql import let, literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
"""Facet -> its ``_schemaURL``: of the specification, and our own below ``schemas/``. A published one never changes."""

_QUERY: Final[Mapping[str, str]] = {
    "user_name": "userName",
    "parent_query_id": "parentQueryId",
    "root_query_id": "rootQueryId",
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
    "row_count": "accessHistoryRows",
}
OBJECT_FIELDS: Final[Mapping[str, str]] = {
    "domain": "objectDomain",
    "object_id": "objectId",
    "stage_kind": "stageKind",
    "location": "location",
    "object_account": "accountName",
}
_AGENT: Final = "named_struct('type', a.agent_type, 'id', a.agent_id, 'name', a.agent_name)"


def joined(texts: Iterable[str]) -> str:
    """Members of a JSON object, with commas between those that are not null."""
    return f"array_join(array({', '.join(texts)}), ',')"


class Facets:
    """The facets under one set of settings."""

    def __init__(self, settings: OpenLineageSettings) -> None:
        self._producer = settings.producer

    def head(self, name: str) -> str:
        """The literal before a facet's own members."""
        return literal(f'"{name}":{{"_producer":"{self._producer}","_schemaURL":"{SCHEMAS[name]}",')

    def facet(self, name: str, fields: Mapping[str, str], condition: str = "") -> str:
        """The facet ``name`` with these fields (one of them not null), where the condition holds."""
        text = f"concat({self.head(name)}, {members(struct(fields))})"
        return only_if(condition, text) if condition else text

    def listed(self, name: str, field: str, values: str, given: str) -> str:
        """A facet that holds one list; none where the array ``given`` is empty."""
        return self.facet(name, {field: values}, f"size({given}) > 0")

    # --- of runs and jobs -----------------------------------------------------------------------------------------

    def external_query(self, query_id: str) -> str:
        return self.facet("externalQuery", {"externalQueryId": query_id, "source": "'snowflake'"})

    def query(self, query: str) -> str:
        """Who ran the query, as what and where."""
        agents = only_if(f"size({query}.agents) > 0", f"transform({query}.agents, a -> {_AGENT})")
        told = {new: f"{query}.{name}" for name, new in _QUERY.items()}
        return self.facet("accessHistory_query", {**told, "agents": agents})

    def job_type(self, query_type: str) -> str:
        """``jobType`` is always there: Marquez refuses the facet without it."""
        kind = f"coalesce({query_type}, 'QUERY')"
        return self.facet("jobType", {"processingType": "'BATCH'", "integration": "'SNOWFLAKE'", "jobType": kind})

    def sql(self, text: str) -> str:
        return self.facet("sql", {"query": text, "dialect": "'snowflake'"}, f"{text} IS NOT NULL")

    # --- of datasets ----------------------------------------------------------------------------------------------

    def of_dataset(self) -> str:
        """What a dataset tells of itself, whether it is read or written: from ``namespace``, ``name``, ``thing`` and
        ``fields``.
        """
        told = (
            self.data_source(),
            self.listed("schema", "fields", "fields", "fields"),
            self.dataset_type(),
            self.hierarchy(),
        )
        return joined(told)

    def data_source(self) -> str:
        uri = only_if("contains(namespace, '://')", "namespace")
        return self.facet("dataSource", {"name": "namespace", "uri": uri})

    def dataset_type(self) -> str:
        """``EXTERNAL TABLE`` -> TABLE with subtype EXTERNAL; a place outside of Snowflake is a FILE."""
        subtype = r"nullif(regexp_replace(thing.domain, r' ?[^ ]+\z', ''), '')"
        fields = {
            "datasetType": "coalesce(substring_index(thing.domain, ' ', -1), 'FILE')",
            "subType": f"coalesce(thing.stage_kind, {subtype})",
        }
        return self.facet("datasetType", fields, "coalesce(thing.domain, thing.location) IS NOT NULL")

    def hierarchy(self) -> str:
        """Database, schema and object, of a name that has all three."""
        parts = f"regexp_extract_all(name, {PARTS}, 1)"
        levels = (
            f"transform({parts}, (p, i) -> struct(array('DATABASE', 'SCHEMA', thing.domain)[i] AS type, p AS name))"
        )
        return self.facet("hierarchy", {"hierarchy": levels}, f"thing.domain IS NOT NULL AND size({parts}) = 3")

    def objects(self, objects: str) -> str:
        """The objects of Snowflake that had this name, with their domains and ids."""
        told = struct({new: f"o.{name}" for name, new in OBJECT_FIELDS.items()})
        return self.listed("accessHistory_objects", "objects", f"transform({objects}, o -> {told})", objects)

    def access(self) -> str:
        """How a query read a dataset: from ``items``."""
        return self.facet("accessHistory_access", _ACCESSED)

    def write(self) -> str:
        """How a query wrote or changed a dataset: from ``items``."""
        return self.facet("accessHistory_write", _ACCESSED)

    def lifecycle(self, state: str, previous: str) -> str:
        """CREATE, DROP and the like; ``previous``: the dataset that a RENAME made this one from."""
        before = only_if(f"{state} = 'RENAME'", previous)
        fields = {"lifecycleStateChange": state, "previousIdentifier": before}
        return self.facet("lifecycleStateChange", fields, f"{state} IS NOT NULL")

    def documentation(self, text: str) -> str:
        return self.facet("documentation", {"description": text}, f"{text} IS NOT NULL")

    def tags(self, tags: str) -> str:
        """Tags of the dataset, and with ``field`` of its columns."""
        shown = f"transform({tags}, t -> struct(t.key, t.value, 'SNOWFLAKE' AS source, t.field))"
        return self.listed("tags", "tags", shown, tags)

    def output_statistics(self, rows: str, condition: str) -> str:
        return self.facet("outputStatistics", {"rowCount": rows}, f"{condition} AND {rows} IS NOT NULL")

    def by_column(self, name: str, columns: str) -> str:
        """A facet of ``fields``; ``columns``: the text of its members, empty for none."""
        return let("m", columns, only_if("m <> ''", f"""concat({self.head(name)}, '"fields":{{', m, '}}}}')"""))

    def lineage(self, sources: str, columns: str, condition: str) -> str:
        """The datasets and columns that this one was made from, and no others; both given as texts."""
        entities = f"""transform({sources}, s -> concat('{{"type":"DATASET",', s, '}}'))"""
        by_column = let("m", columns, """IF(m <> '', concat(',"fields":{', m, '}'), '')""")
        text = f"""concat({self.head("lineage")}, '"inputs":[', array_join({entities}, ','), ']', {by_column}, '}}')"""
        return only_if(condition, text)


_ACCESSED: Final = {
    "accesses": "sort_array(array_distinct(items.access))",
    "columns": "sort_array(array_distinct(flatten(array_compact(items.columns))))",
    **{new: f"array_max(items.{name})" for name, new in OBJECT_FIELDS.items()},
}
