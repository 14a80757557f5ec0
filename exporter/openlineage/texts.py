"""Queries -> the texts of their events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.facets import EVENT_SCHEMA, Facets, joined
from exporter.openlineage.naming import job_namespace, run_id
from exporter.openlineage.pieces import CHANGE_FIELDS, POLICY_FIELDS
from exporter.openlineage.sql import iso, json_text, only_if, sorted_set, struct, typed_fields
from exporter.sql import let, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.openlineage.settings import OpenLineageSettings

_SAME: Final = ("account", "query_id", "job_name")


def with_texts(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """Queries with their jobs -> one row per event: START with the run alone, COMPLETE with everything.

    An output without ``schema`` empties the dataset in Marquez, so START names no datasets.
    """
    facets = Facets(settings)
    owned = queries.selectExpr("*", f"transform(outputs, d -> {_owned()}) AS owned")
    told = {
        "begun": "query.query_start_time",
        "ended": "greatest(query.query_start_time, query.end_time)",
        "run_id": run_id("query_id"),
        "first_facets": joined(_first_facets(facets, settings)),
        "last_facets": joined(_last_facets(facets)),
        "job": _job(facets, settings),
        "inputs": _inputs(facets, settings),
        "outputs": f"array_join(transform(owned, d -> {_output(facets)}), ',')",
    }
    bodies = owned.selectExpr(*_SAME, *(f"{value} AS {name}" for name, value in told.items()))
    begun = _event("START", "begun", ("first_facets", "''", "''"), settings)
    both = "concat_ws(',', first_facets, nullif(last_facets, ''))"
    ended = _event("COMPLETE", "ended", (both, "inputs", "outputs"), settings)
    sent = f"array({begun}, {ended})" if settings.start_events else f"array({ended})"
    return bodies.selectExpr(*_SAME, f"inline({sent})")


def _event(kind: str, time: str, members: tuple[str, str, str], settings: OpenLineageSettings) -> str:
    """Time, type and text of an event; ``members``: of the run's facets, the inputs and the outputs."""
    facets, inputs, outputs = members
    made = f'","producer":"{settings.producer}","schemaURL":"{EVENT_SCHEMA}/RunEvent"'
    head = literal(f'{made},"eventType":"{kind}","run":{{"runId":"')
    run = f"""{head}, run_id, '","facets":{{', {facets}, '}}}},"job":', job"""
    datasets = f"""',"inputs":[', {inputs}, '],"outputs":[', {outputs}, ']}}'"""
    text = f"""concat('{{"eventTime":"', {iso(time)}, {run}, {datasets})"""
    return struct({"event_time": time, "event_type": literal(kind), "event": text})


# --- run and job ------------------------------------------------------------------------------------------------------


def _first_facets(facets: Facets, settings: OpenLineageSettings) -> tuple[str, ...]:
    """What both events say of the run."""
    parent = _run_and_job("query.parent_query_id", "parent_job", settings)
    root = only_if("root_job IS NOT NULL", struct(_run_and_job("query.root_query_id", "root_job", settings)))
    return (
        facets.external_query("query_id"),
        facets.facet("parent", {**parent, "root": root}, "parent_job IS NOT NULL"),
        facets.query("query"),
    )


def _last_facets(facets: Facets) -> tuple[str, ...]:
    """What the last event says beside it."""
    names = ("namespace", "name", *(f"policy.{name}" for name in POLICY_FIELDS))
    policy = struct({name.removeprefix("policy."): f"p.{name}" for name in names})
    return (
        facets.listed("accessHistory_incompleteness", "places", "query.incomplete", "query.incomplete"),
        facets.listed("accessHistory_policies", "policies", f"transform(policies, p -> {policy})", "policies"),
        facets.listed("accessHistory_joins", "joins", "joins", "joins"),
        facets.listed("accessHistory_ddl", "changes", _changes(), "changes"),
        facets.listed("accessHistory_routines", "routines", "routines.called", "routines"),
    )


def _changes() -> str:
    """The changes, each with what its properties say: its settings one by one, and its grants."""
    said = {"settings": "array_compact(o.setting)", "grants": "flatten(array_compact(o.grants))"}
    told = {
        **{name: f"c.change.{name}" for name in CHANGE_FIELDS},
        **{name: only_if(f"size({value}) > 0", value) for name, value in said.items()},
    }
    own = "filter(settings, s -> s.key = c.key).setting"
    return f"transform(changes, c -> {let('o', own, struct(told))})"


def _run_and_job(query_id: str, job: str, settings: OpenLineageSettings) -> dict[str, str]:
    named = struct({"namespace": job_namespace(settings), "name": job})
    return {"run": struct({"runId": run_id(query_id)}), "job": named}


def _job(facets: Facets, settings: OpenLineageSettings) -> str:
    told = joined((facets.job_type("query.query_type"), facets.sql("query.query_text")))
    named = f"""'{{"namespace":', {json_text(job_namespace(settings))}, ',"name":', {json_text("job_name")}"""
    return f"""concat({named}, ',"facets":{{', {told}, '}}}}')"""


# --- datasets ---------------------------------------------------------------------------------------------------------


def _inputs(facets: Facets, settings: OpenLineageSettings) -> str:
    """Texts of the inputs: of those that the view lists, and of the others what their columns tell."""
    names = sorted_set("filter(columns, s -> s.namespace = d.namespace AND s.name = d.name).field")
    access = facets.facet("accessHistory_access", {"accesses": "array('SOURCE')", "columns": names})
    schema = facets.facet("schema", {"fields": typed_fields(names, settings.unknown_type)})
    text = f"""concat('{{', {_IDENTITY}, ',"facets":{{', {schema}, '}},"inputFacets":{{', {access}, '}}}}')"""
    return f"array_join(concat(listed.text, transform(unlisted, d -> {text})), ',')"


_IDENTITY: Final = f"""concat('"namespace":', {json_text("d.namespace")}, ',"name":', {json_text("d.name")})"""


def _output(facets: Facets) -> str:
    is_counted = "d.is_written AND d.row_count IS NOT NULL"
    called = "transform(d.called, c -> concat(c.label, ':', to_json(c.routines)))"
    own = (
        "d.facets",
        facets.by_column("columnLineage", _by_column("inputFields", "")),
        facets.lineage("d.sources", _by_column("inputs", '"type":"DATASET",'), "d.is_written"),
        facets.by_column("accessHistory_columnRoutines", f"array_join({called}, ',')"),
        facets.lifecycle("d.lifecycle", "d.previous"),
        facets.documentation("d.description"),
        facets.tags("d.tags"),
    )
    written = joined(("d.write", facets.facet("outputStatistics", {"rowCount": "d.row_count"}, is_counted)))
    return f"""concat('{{', d.identity, ',"facets":{{', {joined(own)}, '}},"outputFacets":{{', {written}, '}}}}')"""


def _by_column(inputs: str, also: str) -> str:
    """Members of an object by column, from the sources in the order of columns; empty where there are none."""
    opened = f"""concat(IF(n > 0, ']}},', ''), c.label, ':{{"{inputs}":[{{{also}')"""
    each = f"""transform(d.lineage, (c, n) -> concat(IF(c.label IS NULL, ',{{{also}', {opened}), c.text))"""
    return f"IF(size(d.lineage) > 0, concat(array_join({each}, ''), ']}}'), '')"


def _owned() -> str:
    """An output with what of its query belongs to it: the sources of its columns (``lineage``), the routines that these
    were made by (``called``), the texts of its source datasets, its tags, its rows, and the old name of a rename.
    """
    own = "filter(columns, c -> array_contains(d.keys, c.key))"
    # Of two objects of one name the sources are put in the order of columns again.
    both = f"sort_array(transform({own}, c -> struct(CAST(NULL AS string) AS key, {_SOURCE_FIELDS})))"
    old = "filter(outputs, o -> o.lifecycle = 'DROP' AND arrays_overlap(o.keys, d.keys))"
    previous = f"get(transform({old}, o -> struct(o.name AS name, o.namespace AS namespace)), 0)"
    kept = ("identity", "facets", "write", "is_written", "lifecycle", "description")
    told = {
        **{name: f"d.{name}" for name in kept},
        "previous": only_if("d.lifecycle = 'RENAME'", previous),
        "lineage": f"array_compact(transform(w, (c, n) -> {_LINEAGE}))",
        "called": let("r", "filter(called, c -> array_contains(d.keys, c.key))", _CALLED),
        "sources": _sources("w"),
        "tags": sorted_set("filter(settings.setting, s -> array_contains(d.keys, s.object_key)).tag"),
        "row_count": _ROW_COUNT,
    }
    return let("w", f"IF(size(d.keys) > 1, {both}, {own})", struct(told))


_SOURCE_FIELDS: Final = ", ".join(
    f"c.{name} AS {name}" for name in ("column", "namespace", "name", "field", "base", "identity")
)
_SAME_SOURCE: Final = "o.field = c.field AND o.name = c.name AND o.namespace = c.namespace AND o.column = c.column"
_DIRECT: Final = '{"type":"DIRECT"}'
_BASE: Final = '{"type":"DIRECT","description":"base source"}'
_TRANSFORMATIONS: Final = f"""CASE WHEN c.base THEN '[{_BASE}]'
    WHEN exists(slice(w, n + 2, 3), o -> o.base AND {_SAME_SOURCE}) THEN '[{_DIRECT},{_BASE}]' ELSE '[{_DIRECT}]' END"""
_LINEAGE: Final = only_if(
    # A source once, whether it is a direct one, a base one, or both: direct ones come first.
    f"n = 0 OR NOT exists(array(get(w, n - 1)), o -> {_SAME_SOURCE})",
    struct(
        {
            "label": only_if("n = 0 OR get(w, n - 1).column <> c.column", json_text("c.column")),
            "text": f"""concat(c.identity, ',"field":', {json_text("c.field")},
                ',"transformations":', {_TRANSFORMATIONS}, '}}')""",
        }
    ),
)
"""A source of a column as text, with the column's label where it is the column's first."""
_OF_COLUMN: Final = "transform(filter(r, o -> o.column = c.column), o -> o.routine)"
_CALLED: Final = f"""transform(filter(r, (c, n) -> n = 0 OR get(r, n - 1).column <> c.column),
    c -> struct({json_text("c.column")} AS label, {_OF_COLUMN} AS routines))"""


def _sources(columns: str) -> str:
    """The datasets that an output was made from: those of its columns where the query writes several outputs, which
    keeps the sources of one branch of INSERT ALL away from the others; else all inputs.
    """
    identities = f"transform({columns}, d -> struct(d.namespace AS namespace, d.name AS name))"
    is_told = f"size(outputs) > 1 AND size({columns}) > 0"
    datasets = f"IF({is_told}, sort_array(array_distinct({identities})), read)"
    return f"transform({datasets}, d -> {_IDENTITY})"


_CHANGED: Final = "(coalesce(query.rows_inserted, 0) + coalesce(query.rows_updated, 0))"
_ROW_COUNT: Final = f"""CASE WHEN size(filter(outputs, o -> o.is_written)) > 1 THEN NULL
    WHEN {_CHANGED} > 0 OR query.rows_deleted > 0 THEN {_CHANGED} ELSE query.rows_produced END"""
"""The rows of a query that writes one dataset: QUERY_HISTORY counts by query, not by target."""
