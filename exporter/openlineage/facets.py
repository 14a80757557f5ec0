"""The facets of an event, each a struct of its schema's fields. Fields that are null are left out by ``to_json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

    from exporter.openlineage.settings import OpenLineageSettings

SPEC: Final = "https://openlineage.io/spec"
EVENT_SCHEMA: Final = f"{SPEC}/2-0-2/OpenLineage.json#/$defs"
OWN: Final = "https://w3id.org/access-history/facets"

SCHEMAS: Final[Mapping[str, str]] = {
    "externalQuery": f"{SPEC}/facets/1-0-2/ExternalQueryRunFacet.json#/$defs/ExternalQueryRunFacet",
    "parent": f"{SPEC}/facets/1-2-0/ParentRunFacet.json#/$defs/ParentRunFacet",
    "jobType": f"{SPEC}/facets/2-0-4/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
    "sql": f"{SPEC}/facets/1-1-0/SQLJobFacet.json#/$defs/SQLJobFacet",
    "schema": f"{SPEC}/facets/1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
    "datasetType": f"{SPEC}/facets/1-0-1/DatasetTypeDatasetFacet.json#/$defs/DatasetTypeDatasetFacet",
    "hierarchy": f"{SPEC}/facets/1-0-0/HierarchyDatasetFacet.json#/$defs/HierarchyDatasetFacet",
    "dataSource": f"{SPEC}/facets/1-0-1/DatasourceDatasetFacet.json#/$defs/DatasourceDatasetFacet",
    "columnLineage": f"{SPEC}/facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet",
    "lineage": f"{SPEC}/facets/1-0-0/LineageFacet.json#/$defs/LineageDatasetFacet",
    "lifecycleStateChange": f"{SPEC}/facets/1-0-1/LifecycleStateChangeDatasetFacet.json"
    "#/$defs/LifecycleStateChangeDatasetFacet",
    "documentation": f"{SPEC}/facets/1-1-0/DocumentationDatasetFacet.json#/$defs/DocumentationDatasetFacet",
    "tags": f"{SPEC}/facets/1-0-0/TagsDatasetFacet.json#/$defs/TagsDatasetFacet",
    "outputStatistics": f"{SPEC}/facets/1-0-2/OutputStatisticsOutputDatasetFacet.json"
    "#/$defs/OutputStatisticsOutputDatasetFacet",
    **{
        f"accessHistory_{name}": f"{OWN}/1-0-0/{schema}.json#/$defs/{schema}"
        for name, schema in (
            ("query", "AccessHistoryQueryRunFacet"),
            ("incompleteness", "AccessHistoryIncompletenessRunFacet"),
            ("policies", "AccessHistoryPoliciesRunFacet"),
            ("joins", "AccessHistoryJoinsRunFacet"),
            ("ddl", "AccessHistoryDdlRunFacet"),
            ("routines", "AccessHistoryRoutinesRunFacet"),
            ("object", "AccessHistoryObjectDatasetFacet"),
            ("columnRoutines", "AccessHistoryColumnRoutinesDatasetFacet"),
            ("access", "AccessHistoryAccessInputDatasetFacet"),
            ("write", "AccessHistoryWriteOutputDatasetFacet"),
        )
    },
}
"""Facet -> its ``_schemaURL``: of the specification, and our own below ``schemas/``."""


class Facets:
    """The facets under one set of settings."""

    def __init__(self, settings: OpenLineageSettings) -> None:
        self.settings = settings

    def facet(self, name: str, *fields: Column) -> Column:
        """The facet ``name`` with its producer, its schema and these fields."""
        producer, schema = F.lit(self.settings.producer), F.lit(SCHEMAS[name])
        return F.struct(producer.alias("_producer"), schema.alias("_schemaURL"), *fields).alias(name)

    def facet_if(self, condition: Column, name: str, *fields: Column) -> Column:
        """The facet where the condition holds, else nothing."""
        return F.when(condition, self.facet(name, *fields)).alias(name)

    # --- of runs --------------------------------------------------------------------------------------------------

    def external_query(self, query_id: Column) -> Column:
        return self.facet("externalQuery", query_id.alias("externalQueryId"), F.lit("snowflake").alias("source"))

    def parent(self, parent: Column, root: Column) -> Column:
        """``parent``, ``root``: structs of run and job, null where there is none."""
        return self.facet_if(
            parent.isNotNull(), "parent", parent["run"].alias("run"), parent["job"].alias("job"), root.alias("root")
        )

    def query(self, query: Column) -> Column:
        """Who ran the query, as what and where."""
        agents = F.transform(
            query["agents"],
            lambda a: F.struct(a["agent_type"].alias("type"), a["agent_id"].alias("id"), a["agent_name"].alias("name")),
        )
        fields = [query[name].alias(label) for name, label in _QUERY_FIELDS.items()]
        return self.facet("accessHistory_query", *fields, F.when(F.size(agents) > 0, agents).alias("agents"))

    def incompleteness(self, places: Column) -> Column:
        return self.facet_if(F.size(places) > 0, "accessHistory_incompleteness", places.alias("places"))

    def listed(self, name: str, field: str, values: Column) -> Column:
        """A facet that holds one list, nothing where the list is empty."""
        return self.facet_if(F.size(values) > 0, name, values.alias(field))

    # --- of jobs --------------------------------------------------------------------------------------------------

    def job_type(self, query_type: Column) -> Column:
        """``jobType`` is always there: Marquez refuses the facet without it."""
        return self.facet(
            "jobType",
            F.lit("BATCH").alias("processingType"),
            F.lit("SNOWFLAKE").alias("integration"),
            F.coalesce(query_type, F.lit("QUERY")).alias("jobType"),
        )

    def sql(self, text: Column) -> Column:
        return self.facet_if(text.isNotNull(), "sql", text.alias("query"), F.lit("snowflake").alias("dialect"))

    # --- of datasets ----------------------------------------------------------------------------------------------

    def schema(self, fields: Column) -> Column:
        return self.facet_if(F.size(fields) > 0, "schema", fields.alias("fields"))

    def dataset_type(self, domain: Column, stage_kind: Column, location: Column) -> Column:
        """``EXTERNAL TABLE`` -> TABLE with subtype EXTERNAL; a place outside of Snowflake is a FILE."""
        kind = F.when(domain.isNotNull(), F.substring_index(domain, " ", -1)).when(location.isNotNull(), "FILE")
        subtype = F.when(domain.contains(" "), F.regexp_replace(domain, r" [^ ]+\z", ""))
        fields = (kind.alias("datasetType"), F.coalesce(stage_kind, subtype).alias("subType"))
        return self.facet_if(kind.isNotNull(), "datasetType", *fields)

    def hierarchy(self, name: Column, domain: Column) -> Column:
        """Database, schema and object, of a name that has all three."""
        parts = F.regexp_extract_all(name, F.lit(r'("(?:[^"]|"")+"|[^."]+)'), 1)
        kinds = F.array(F.lit("DATABASE"), F.lit("SCHEMA"), domain)
        levels = F.transform(parts, lambda part, i: F.struct(F.get(kinds, i).alias("type"), part.alias("name")))
        is_full = domain.isNotNull() & (F.size(parts) == 3)
        return self.facet_if(is_full, "hierarchy", levels.alias("hierarchy"))

    def data_source(self, namespace: Column) -> Column:
        uri = F.when(namespace.contains("://"), namespace)
        return self.facet("dataSource", namespace.alias("name"), uri.alias("uri"))

    def thing(self, thing: Column) -> Column:
        """The object as Snowflake knows it: its domain and id, and what tells stages and places apart."""
        fields = [thing[name].alias(label) for name, label in _OBJECT_FIELDS.items()]
        return self.facet("accessHistory_object", *fields)

    def lifecycle(self, state: Column, previous: Column) -> Column:
        """CREATE, DROP and the like; ``previous``: the dataset that a RENAME made this one from."""
        before = F.struct(previous["name"].alias("name"), previous["namespace"].alias("namespace"))
        fields = (state.alias("lifecycleStateChange"), F.when(previous.isNotNull(), before).alias("previousIdentifier"))
        return self.facet_if(state.isNotNull(), "lifecycleStateChange", *fields)

    def documentation(self, text: Column) -> Column:
        return self.facet_if(text.isNotNull(), "documentation", text.alias("description"))

    def tags(self, tags: Column) -> Column:
        """Tags of the dataset, and with ``field`` of its columns."""
        shown = F.transform(
            tags,
            lambda tag: F.struct(
                tag["key"].alias("key"),
                tag["value"].alias("value"),
                F.lit("SNOWFLAKE").alias("source"),
                tag["field"].alias("field"),
            ),
        )
        return self.facet_if(F.size(tags) > 0, "tags", shown.alias("tags"))

    def column_lineage(self, columns: Column) -> Column:
        """Column -> the columns that it was made from."""
        fields = F.transform(
            columns, lambda c: F.struct(c["column"], F.struct(_input_fields(c["sources"]).alias("inputFields")))
        )
        has_any = F.size(columns) > 0
        return self.facet_if(has_any, "columnLineage", F.map_from_entries(fields).alias("fields"))

    def lineage(self, inputs: Column, columns: Column, is_written: Column) -> Column:
        """The datasets and columns that this one was made from, and no others."""
        entities = F.transform(
            inputs,
            lambda i: F.struct(
                i["namespace"].alias("namespace"), i["name"].alias("name"), F.lit("DATASET").alias("type")
            ),
        )
        fields = F.transform(
            columns, lambda c: F.struct(c["column"], F.struct(_lineage_inputs(c["sources"]).alias("inputs")))
        )
        by_column = F.when(F.size(columns) > 0, F.map_from_entries(fields))
        return self.facet_if(is_written, "lineage", entities.alias("inputs"), by_column.alias("fields"))

    def column_routines(self, columns: Column) -> Column:
        """Column -> the functions and procedures that it was made by: they are no columns of any dataset."""
        fields = F.transform(columns, lambda c: F.struct(c["column"], routine_fields(c["routines"])))
        by_column = F.map_from_entries(fields)
        return self.facet_if(F.size(columns) > 0, "accessHistory_columnRoutines", by_column.alias("fields"))

    def access(self, accesses: Column, columns: Column) -> Column:
        return self.facet("accessHistory_access", accesses.alias("accesses"), columns.alias("columns"))

    def write(self, columns: Column, is_written: Column) -> Column:
        return self.facet_if(is_written, "accessHistory_write", columns.alias("columns"))

    def output_statistics(self, rows: Column) -> Column:
        return self.facet_if(rows.isNotNull(), "outputStatistics", rows.alias("rowCount"))


_QUERY_FIELDS: Final[Mapping[str, str]] = {
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
_OBJECT_FIELDS: Final[Mapping[str, str]] = {
    "domain": "objectDomain",
    "object_id": "objectId",
    "stage_kind": "stageKind",
    "location": "location",
    "object_account": "accountName",
}


def routine_fields(routines: Column) -> Column:
    """Functions and procedures as the facets spell them."""
    return F.transform(
        routines,
        lambda r: F.struct(
            r["kind"].alias("kind"),
            r["object_name"].alias("name"),
            r["object_id"].alias("objectId"),
            r["argument_signature"].alias("argumentSignature"),
            r["data_type"].alias("dataType"),
            r["access"].alias("access"),
        ),
    )


def _input_fields(sources: Column) -> Column:
    return F.transform(
        sources,
        lambda s: F.struct(
            s["namespace"].alias("namespace"),
            s["name"].alias("name"),
            s["field"].alias("field"),
            s["transformations"].alias("transformations"),
        ),
    )


def _lineage_inputs(sources: Column) -> Column:
    return F.transform(
        sources,
        lambda s: F.struct(
            s["namespace"].alias("namespace"),
            s["name"].alias("name"),
            F.lit("DATASET").alias("type"),
            s["field"].alias("field"),
            s["transformations"].alias("transformations"),
        ),
    )
