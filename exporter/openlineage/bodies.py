"""What a query's events hold: its run, its job, its inputs and outputs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.openlineage.facets import EVENT_SCHEMA, Facets, routine_fields
from exporter.openlineage.grouped import identity
from exporter.openlineage.naming import job_namespace, run_id

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.openlineage.settings import OpenLineageSettings

_ISO_TIME: Final = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"


def event_text(schema: str, time: Column, settings: OpenLineageSettings, *fields: Column) -> Column:
    """The JSON text of an event of this schema (RunEvent, DatasetEvent) at this time, with these fields.

    The time is written in UTC whatever the session's time zone.
    """
    utc = F.date_format(F.to_utc_timestamp(time, F.current_timezone()), _ISO_TIME)
    head = (
        utc.alias("eventTime"),
        F.lit(settings.producer).alias("producer"),
        F.lit(f"{EVENT_SCHEMA}/{schema}").alias("schemaURL"),
    )
    return F.to_json(F.struct(*head, *fields))


def with_texts(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """Queries with their job's name -> one row per event: START with the run alone, COMPLETE with everything.

    An output without ``schema`` empties the dataset in Marquez, so START names no datasets.
    """
    facets = Facets(settings)
    owned = queries.withColumn("outputs", F.transform("outputs", _with_columns))
    bodies = owned.select(
        "account",
        "query_id",
        "job_name",
        F.col("query.query_start_time").alias("start"),
        F.greatest("query.query_start_time", "query.end_time").alias("end"),
        run_id(F.col("account"), F.col("query_id")).alias("runId"),
        F.struct(*_start_facets(facets)).alias("start_facets"),
        F.struct(*_start_facets(facets), *_end_facets(facets)).alias("end_facets"),
        _job(facets).alias("job"),
        F.transform("inputs", partial(_input, facets)).alias("inputs"),
        F.transform("outputs", partial(_output, facets)).alias("outputs"),
    )
    start = _event("START", "start", settings)
    complete = _event("COMPLETE", "end", settings, F.col("inputs"), F.col("outputs"))
    sent = F.array(start, complete) if settings.start_events else F.array(complete)
    return bodies.select("account", "query_id", "job_name", F.inline(sent))


def _event(event_type: str, moment: str, settings: OpenLineageSettings, *datasets: Column) -> Column:
    run = F.struct("runId", F.col(f"{moment}_facets").alias("facets")).alias("run")
    kind = F.lit(event_type).alias("eventType")
    text = event_text("RunEvent", F.col(moment), settings, kind, run, F.col("job"), *datasets)
    return F.struct(F.col(moment).alias("event_time"), F.lit(event_type).alias("event_type"), text.alias("event"))


# --- run and job ------------------------------------------------------------------------------------------------------


def _start_facets(facets: Facets) -> tuple[Column, ...]:
    return (
        facets.external_query(F.col("query_id")),
        facets.parent(_relative("parent", facets.settings), _relative("root", facets.settings)),
        facets.query(F.col("query")),
    )


def _end_facets(facets: Facets) -> tuple[Column, ...]:
    changes = F.transform("changes", lambda told: told["change"].dropFields("changeKey"))
    return (
        facets.incompleteness(F.col("query.incomplete")),
        facets.listed("accessHistory_policies", "policies", F.transform("policies", _policy)),
        facets.listed("accessHistory_joins", "joins", F.transform("joins", _join)),
        facets.listed("accessHistory_ddl", "changes", changes),
        facets.listed("accessHistory_routines", "routines", routine_fields(F.flatten("routines.called"))),
    )


def _job(facets: Facets) -> Column:
    namespace = job_namespace(F.col("account"), facets.settings)
    told = F.struct(facets.job_type(F.col("query.query_type")), facets.sql(F.col("query.query_text")))
    return F.struct(namespace.alias("namespace"), F.col("job_name").alias("name"), told.alias("facets"))


def _relative(role: str, settings: OpenLineageSettings) -> Column:
    """Run and job of the parent or the root, null where there is none."""
    found = F.get(F.filter("family", lambda relative: relative["role"] == role), F.lit(0))
    run = F.struct(run_id(F.col("account"), found["query_id"]).alias("runId"))
    namespace = job_namespace(F.col("account"), settings)
    job = F.struct(namespace.alias("namespace"), found["job_name"].alias("name"))
    return F.when(found.isNotNull(), F.struct(run.alias("run"), job.alias("job")))


def _policy(told: Column) -> Column:
    policy = told["policy"]
    names = ("field", "policyKind", "policyId", "policyName", "provider")
    fields = (policy[name].alias(name) for name in names)
    return F.struct(told["dataset"]["namespace"].alias("namespace"), told["dataset"]["name"].alias("name"), *fields)


def _join(told: Column) -> Column:
    return F.struct(
        told["other_dataset"].alias("left"), told["join_type"].alias("joinType"), told["dataset"].alias("right")
    )


# --- datasets ---------------------------------------------------------------------------------------------------------


def dataset_facets(facets: Facets, dataset: Column) -> tuple[Column, ...]:
    """What every dataset tells of itself, whether it is read or written."""
    thing = dataset["object"]
    return (
        facets.schema(dataset["known"]),
        facets.dataset_type(thing["domain"], thing["stage_kind"], thing["location"]),
        facets.hierarchy(dataset["name"], thing["domain"]),
        facets.data_source(dataset["namespace"]),
        facets.thing(thing),
    )


def _input(facets: Facets, dataset: Column) -> Column:
    return F.struct(
        dataset["namespace"].alias("namespace"),
        dataset["name"].alias("name"),
        F.struct(*dataset_facets(facets, dataset)).alias("facets"),
        F.struct(facets.access(dataset["accesses"], dataset["columns"])).alias("inputFacets"),
    )


def _output(facets: Facets, dataset: Column) -> Column:
    written = dataset["written"]
    sourced = F.filter(written, lambda column: F.size(column["sources"]) > 0)
    is_written = F.array_contains(dataset["accesses"], "WRITE")
    tags = F.flatten(F.filter("tags", lambda tag: F.array_contains(dataset["keys"], tag["key"]))["tags"])
    told = (
        *dataset_facets(facets, dataset),
        facets.column_lineage(sourced),
        facets.lineage(_sources(written), sourced, is_written),
        facets.column_routines(F.filter(written, lambda column: F.size(column["routines"]) > 0)),
        facets.lifecycle(dataset["lifecycle"], dataset["previous"]),
        facets.documentation(dataset["description"]),
        facets.tags(tags),
    )
    own = (facets.write(dataset["columns"], is_written), facets.output_statistics(F.when(is_written, _rows_written())))
    return F.struct(
        dataset["namespace"].alias("namespace"),
        dataset["name"].alias("name"),
        F.struct(*told).alias("facets"),
        F.struct(*own).alias("outputFacets"),
    )


def _with_columns(output: Column) -> Column:
    """The output, with those of the query's columns that were written to it, each once."""
    own = F.filter("columns", lambda column: F.array_contains(output["keys"], column["key"]))
    names = F.array_distinct(own["column"])

    def merged(name: Column) -> Column:
        same = F.filter(own, lambda column: column["column"] == name)
        return F.struct(
            F.lit(None).cast("string").alias("key"),
            name.alias("column"),
            F.array_distinct(F.flatten(same["sources"])).alias("sources"),
            F.array_distinct(F.flatten(same["routines"])).alias("routines"),
        )

    once = F.when(F.size(output["keys"]) > 1, F.transform(names, merged)).otherwise(own)
    return output.withField("written", once)


def _sources(written: Column) -> Column:
    """The datasets that an output was made from: those of its columns where the query writes several outputs, which
    keeps the sources of one branch of INSERT ALL away from the others; else all inputs.
    """
    sources = F.transform(F.flatten(written["sources"]), identity)
    is_told = (F.size("outputs") > 1) & (F.size(sources) > 0)
    return F.when(is_told, F.sort_array(F.array_distinct(sources))).otherwise(F.transform("inputs", identity))


def _rows_written() -> Column:
    """The rows of a query that writes one dataset: QUERY_HISTORY counts by query, not by target."""
    query = F.col("query")
    changed = F.coalesce(query["rows_inserted"], F.lit(0)) + F.coalesce(query["rows_updated"], F.lit(0))
    is_counted = (changed > 0) | (F.coalesce(query["rows_deleted"], F.lit(0)) > 0)
    rows = F.when(is_counted, changed).otherwise(query["rows_produced"])
    is_alone = F.size(F.filter("outputs", lambda output: F.array_contains(output["accesses"], "WRITE"))) == 1
    return F.when(is_alone, rows)
