"""The texts of a query's events: its run, its job, its inputs and outputs as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.facets import EVENT_SCHEMA, Facets
from exporter.openlineage.grouped import DATASET_FIELDS, identities
from exporter.openlineage.naming import job_namespace, run_id
from exporter.openlineage.pieces import POLICY_FIELDS
from exporter.openlineage.sql import let, literal, only_if, struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.openlineage.settings import OpenLineageSettings

_ISO_TIME: Final = "yyyy-MM-dd\\'T\\'HH:mm:ss.SSSSSS\\'Z\\'"


def event_text(schema: str, time: str, settings: OpenLineageSettings, told: Mapping[str, str]) -> str:
    """The JSON text of an event of this schema (RunEvent, DatasetEvent), at this time, with these fields.

    The time is written in UTC whatever the session's time zone.
    """
    head = {
        "eventTime": f"date_format(to_utc_timestamp({time}, current_timezone()), '{_ISO_TIME}')",
        "producer": literal(settings.producer),
        "schemaURL": literal(f"{EVENT_SCHEMA}/{schema}"),
    }
    return f"to_json({struct({**head, **told})})"


def with_texts(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """Queries with their jobs' names -> one row per event: START with the run alone, COMPLETE with everything.

    An output without ``schema`` empties the dataset in Marquez, so START names no datasets.
    """
    facets = Facets(settings)
    of_run = {**_first_facets(facets, settings), **_last_facets(facets)}
    told = {
        "begun": "query.query_start_time",
        "ended": "greatest(query.query_start_time, query.end_time)",
        "run_id": run_id("query_id"),
        **of_run,
        "job": _job(facets, settings),
        "read": f"transform(inputs, d -> {_input(facets)})",
        "written": f"transform(owned, d -> {_output(facets)})",
    }
    owned = queries.selectExpr("*", f"transform(outputs, d -> {_owned()}) AS owned")
    bodies = owned.selectExpr(*_SAME, *(f"{value} AS {name}" for name, value in told.items()))
    begun = _event("START", "begun", list(_first_facets(facets, settings)), settings, {})
    ended = _event("COMPLETE", "ended", list(of_run), settings, {"inputs": "read", "outputs": "written"})
    sent = f"array({begun}, {ended})" if settings.start_events else f"array({ended})"
    return bodies.selectExpr(*_SAME, f"inline({sent})")


_SAME: Final = ("account", "query_id", "job_name")


def _event(
    event_type: str, time: str, run_facets: list[str], settings: OpenLineageSettings, datasets: Mapping[str, str]
) -> str:
    facets = struct({name: name for name in run_facets})
    run = struct({"runId": "run_id", "facets": facets})
    told = {"eventType": literal(event_type), "run": run, "job": "job", **datasets}
    text = event_text("RunEvent", time, settings, told)
    return struct({"event_time": time, "event_type": literal(event_type), "event": text})


# --- run and job ------------------------------------------------------------------------------------------------------


def _first_facets(facets: Facets, settings: OpenLineageSettings) -> dict[str, str]:
    """What both events say of the run."""
    parent, root = (_run_and_job(relative, settings) for relative in ("parent", "root"))
    return {
        "externalQuery": facets.external_query("query_id"),
        "parent": facets.parent(parent, only_if("root IS NOT NULL", struct(root)), "parent IS NOT NULL"),
        "accessHistory_query": facets.query("query"),
    }


def _last_facets(facets: Facets) -> dict[str, str]:
    """What the last event says beside it."""
    policy = struct({**_identity("p.dataset"), **{name: f"p.policy.{name}" for name in POLICY_FIELDS}})
    join = "struct(j.other_dataset AS left, j.join_type AS joinType, j.dataset AS right)"
    shown = {
        "incompleteness": ("places", "query.incomplete", "query.incomplete"),
        "policies": ("policies", f"transform(policies, p -> {policy})", "policies"),
        "joins": ("joins", f"transform(joins, j -> {join})", "joins"),
        "ddl": ("changes", "changes.change", "changes"),
        "routines": ("routines", "flatten(routines.called)", "routines"),
    }
    named = {f"accessHistory_{name}": told for name, told in shown.items()}
    return {name: facets.listed(name, *told) for name, told in named.items()}


def _run_and_job(relative: str, settings: OpenLineageSettings) -> dict[str, str]:
    run = struct({"runId": run_id(f"{relative}.query_id")})
    job = struct({"namespace": job_namespace(settings), "name": f"{relative}.job_name"})
    return {"run": run, "job": job}


def _job(facets: Facets, settings: OpenLineageSettings) -> str:
    told = {"jobType": facets.job_type("query.query_type"), "sql": facets.sql("query.query_text")}
    return struct({"namespace": job_namespace(settings), "name": "job_name", "facets": struct(told)})


# --- datasets ---------------------------------------------------------------------------------------------------------


def _identity(dataset: str) -> dict[str, str]:
    return {"namespace": f"{dataset}.namespace", "name": f"{dataset}.name"}


def _input(facets: Facets) -> str:
    access = facets.facet("accessHistory_access", {"accesses": "d.accesses", "columns": "d.columns"})
    own = struct({"accessHistory_access": access})
    return struct({**_identity("d"), "facets": struct(facets.of_dataset("d")), "inputFacets": own})


def _output(facets: Facets) -> str:
    told = {
        **facets.of_dataset("d"),
        "columnLineage": facets.column_lineage("d.sourced"),
        "lineage": facets.lineage("d.sources", "d.sourced", "d.is_written"),
        "accessHistory_columnRoutines": facets.column_routines("d.called"),
        "lifecycleStateChange": facets.lifecycle("d.lifecycle", "d.previous"),
        "documentation": facets.documentation("d.description"),
        "tags": facets.tags("d.tags"),
    }
    own = {
        "accessHistory_write": facets.facet("accessHistory_write", {"columns": "d.columns"}, "d.is_written"),
        "outputStatistics": facets.output_statistics("d.row_count", "d.is_written"),
    }
    return struct({**_identity("d"), "facets": struct(told), "outputFacets": struct(own)})


def _owned() -> str:
    """An output with what of its query belongs to it: the columns written, those of them that come from columns
    (``sourced``) and through routines (``called``), its sources, tags and rows.
    """
    own = "filter(columns, c -> array_contains(d.keys, c.key))"
    told = {
        **{name: f"d.{name}" for name in DATASET_FIELDS},
        "is_written": "array_contains(d.accesses, 'WRITE')",
        "sourced": "filter(w, c -> size(c.sources) > 0)",
        "called": "filter(w, c -> size(c.routines) > 0)",
        "sources": _sources("w"),
        "tags": "flatten(filter(tags, t -> array_contains(d.keys, t.key)).tags)",
        "row_count": _ROW_COUNT,
    }
    return let("w", f"IF(size(d.keys) > 1, {_merged(own)}, {own})", struct(told))


def _merged(columns: str) -> str:
    """Columns of two objects of one name, each name once."""
    same = "filter(cs, c -> c.column = n)"
    sources, routines = (f"array_distinct(flatten({same}.{name})) AS {name}" for name in ("sources", "routines"))
    once = f"struct(CAST(NULL AS string) AS key, n AS column, {sources}, {routines})"
    return let("cs", columns, f"transform(array_distinct(cs.column), n -> {once})")


def _sources(columns: str) -> str:
    """The datasets that an output was made from: those of its columns where the query writes several outputs, which
    keeps the sources of one branch of INSERT ALL away from the others; else all inputs.
    """
    of_columns = f"sort_array(array_distinct({identities(f'flatten({columns}.sources)')}))"
    is_told = f"size(outputs) > 1 AND exists({columns}, c -> size(c.sources) > 0)"
    return f"IF({is_told}, {of_columns}, {identities('inputs')})"


_CHANGED: Final = "(coalesce(query.rows_inserted, 0) + coalesce(query.rows_updated, 0))"
_ROW_COUNT: Final = f"""CASE WHEN size(filter(outputs, o -> array_contains(o.accesses, 'WRITE'))) > 1 THEN NULL
    WHEN {_CHANGED} > 0 OR query.rows_deleted > 0 THEN {_CHANGED} ELSE query.rows_produced END"""
"""The rows of a query that writes one dataset: QUERY_HISTORY counts by query, not by target."""
