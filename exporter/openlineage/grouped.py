"""Pieces -> one row per query, with everything that its event tells, in a fixed order.

Two groupings after one shuffle: pieces of the same dataset or column first, the query's pieces then. Collected lists
come in any order, so each is sorted, and where one value is wanted the greatest is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.kin import OWN, PARENT, ROOT
from exporter.openlineage.naming import UNRECORDED_JOB, job_name
from exporter.openlineage.pieces import (
    CHANGE,
    COLUMN,
    INPUT,
    JOIN,
    OBJECT,
    OUTPUT,
    POLICY,
    QUERY,
    ROUTINE,
    TAG,
)
from exporter.openlineage.sql import let, literal, only_if, sorted_set, struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

_KEYS: Final = ("account", "query_id", "role", "part", "key", "field")
_THING_TYPE: Final = "struct<" + ", ".join(f"{name}: string" for name in OBJECT) + ">"
_DATASET_TYPE: Final = f"""struct<namespace: string, name: string, object: {_THING_TYPE}, keys: array<string>,
    accesses: array<string>, columns: array<string>, known: array<struct<name: string, type: string>>,
    lifecycle: string, previous: struct<namespace: string, name: string>, description: string>"""
DATASET_FIELDS: Final = (
    *("namespace", "name", "object", "keys", "accesses", "columns", "known", "lifecycle", "previous", "description"),
)
"""What is known of a dataset in a query's row."""


def identities(datasets: str) -> str:
    """Namespace and name of each dataset in an array, and nothing else of it."""
    return f"transform({datasets}, d -> struct(d.namespace, d.name))"


def known_fields(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Account, object key, and every column known of the object with a type, sorted by name."""
    grouped = facts.columns.groupBy("account", "object_key")
    names = grouped.agg({"column_name": "collect_set"}).withColumnRenamed("collect_set(column_name)", "names")
    return names.selectExpr("account", "object_key", f"{_typed('sort_array(names)', settings)} AS known")


def _typed(names: str, settings: OpenLineageSettings) -> str:
    return f"transform({names}, n -> struct(n AS name, {literal(settings.unknown_type)} AS type))"


def with_known_fields(pieces: DataFrame, known: DataFrame) -> DataFrame:
    """The pieces, each dataset with its object's columns.

    Pieces that are no datasets get a key that meets nothing but is spread over all partitions, as null would not be.
    """
    is_dataset = f"role = '{OWN}' AND part IN ('{INPUT}', '{OUTPUT}')"
    keyed = pieces.selectExpr("*", f"IF({is_dataset}, thing.object_key, concat('-', query_id)) AS object_key")
    return keyed.join(known, ["account", "object_key"], how="left").drop("object_key")


def by_query(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One row per query that has a row: its ``query`` struct, the names of its job and its relatives' jobs, and sorted
    arrays of everything else.
    """
    told = [name for name in pieces.columns if name not in ("account", "query_id", "role", "part", "key")]
    items = _collected(pieces.selectExpr(*_KEYS, f"struct({', '.join(told)}) AS item"), _KEYS, {"items": "item"})
    is_column = f"part = '{COLUMN}'"
    sourced = items.selectExpr("*", f"{only_if(is_column, _SOURCES)} AS sources")
    own = {part: only_if(f"role = '{OWN}' AND part = '{part}'", item) for part, item in _PARTS.items()}
    parts = {**own, "KIN": only_if(f"role <> '{OWN}'", _kin(settings))}
    split = sourced.selectExpr("account", "query_id", *(f"{item} AS {part}" for part, item in parts.items()))
    grouped = _collected(split, ("account", "query_id"), {part: part for part in parts})
    return grouped.filter(f"size({QUERY}) > 0").transform(_in_order).transform(_with_unlisted, settings)


def _collected(rows: DataFrame, keys: tuple[str, ...], lists: Mapping[str, str]) -> DataFrame:
    collected = rows.groupBy(*keys).agg(dict.fromkeys(lists.values(), "collect_list"))
    return collected.selectExpr(*keys, *(f"`collect_list({column})` AS {name}" for name, column in lists.items()))


def _in_order(grouped: DataFrame) -> DataFrame:
    single = {INPUT: "inputs", OUTPUT: "outputs", COLUMN: "columns", ROUTINE: "routines", TAG: "tags"}
    several = {CHANGE: "changes", POLICY: "policies", JOIN: "joins", "KIN": "kin"}
    return grouped.selectExpr(
        *("account", "query_id", f"get({QUERY}, 0) AS query"),
        *(f"sort_array({part}) AS {name}" for part, name in single.items()),
        *(f"sort_array(array_distinct(flatten({part}))) AS {name}" for part, name in several.items()),
    )


# --- what each part is in its query's row -----------------------------------------------------------------------------

_SOURCE: Final = struct(
    {
        "namespace": "i.dataset.namespace",
        "name": "i.dataset.name",
        "field": "i.source_column",
        "base": "i.access = 'BASE'",
        "domain": "i.thing.domain",
    }
)
_SOURCES: Final = f"""sort_array(transform(filter(items, i -> NOT i.is_routine AND i.source_column IS NOT NULL),
    i -> {_SOURCE}))"""

_KEYS_OF_OBJECTS = "items.thing.object_key"
_DATASET: Final = struct(
    {
        "namespace": "items[0].dataset.namespace",
        "name": "items[0].dataset.name",
        "object": "array_max(items.thing)",
        "keys": sorted_set(_KEYS_OF_OBJECTS),
        "accesses": sorted_set("items.access"),
        "columns": sorted_set("flatten(array_compact(items.columns))"),
        # Two objects of one name count as one dataset, with the columns of both.
        "known": f"""IF(array_min({_KEYS_OF_OBJECTS}) = array_max({_KEYS_OF_OBJECTS}), items[0].known,
            {sorted_set("flatten(array_compact(items.known))")})""",
        "lifecycle": "array_max(items.lifecycle)",
        "previous": "array_max(items.other_dataset)",
        "description": "array_max(items.description)",
    }
)
_CALLED: Final = struct(
    {
        "name": "i.thing.object_name",
        "argumentSignature": "i.thing.argument_signature",
        "kind": "i.thing.kind",
        "objectId": "i.thing.object_id",
        "dataType": "i.thing.data_type",
        "access": "i.access",
    }
)
_SAME: Final = "s.field = o.field AND s.name = o.name AND s.namespace = o.namespace"
_DIRECT: Final = "struct('DIRECT' AS type, CAST(NULL AS string) AS description)"
_BASE: Final = "struct('DIRECT' AS type, 'base source' AS description)"
_KINDS: Final = f"""CASE WHEN s.base THEN array({_BASE})
    WHEN exists(sources, o -> o.base AND {_SAME}) THEN array({_DIRECT}, {_BASE}) ELSE array({_DIRECT}) END"""
_ONCE: Final = struct(
    {
        "namespace": "s.namespace",
        "name": "s.name",
        "field": "s.field",
        "transformations": _KINDS,
        "domain": "s.domain",
    }
)
_IS_REPEATED: Final = f"n > 0 AND exists(array(get(sources, n - 1)), o -> {_SAME})"
_COLUMN: Final = struct(
    {
        "key": "key",
        "column": "field",
        # A source once, whether it is a direct one, a base one, or both.
        "sources": f"array_compact(transform(sources, (s, n) -> {only_if(f'NOT ({_IS_REPEATED})', _ONCE)}))",
        "routines": f"sort_array(transform(filter(items, i -> i.is_routine), i -> {_CALLED}))",
    }
)
_PARTS: Final[Mapping[str, str]] = {
    QUERY: "items[0].query",
    INPUT: _DATASET,
    OUTPUT: _DATASET,
    COLUMN: _COLUMN,
    ROUTINE: f"struct(items[0].subject, sort_array(transform(items, i -> {_CALLED})) AS called)",
    TAG: "struct(key, sort_array(items.tag) AS tags)",
    CHANGE: "transform(items, i -> struct(i.verb, i.subject, i.change))",
    POLICY: "transform(items, i -> struct(i.dataset, i.policy))",
    JOIN: "transform(items, i -> struct(i.other_dataset, i.join_type, i.dataset))",
}


def _kin(settings: OpenLineageSettings) -> str:
    """What a relative's job name follows from."""
    is_input = f"part = '{INPUT}' OR (part = '{COLUMN}' AND i.source_column IS NOT NULL)"
    told = {
        "role": "role",
        "verb": "i.verb",
        "subject": "i.subject",
        "input": only_if(is_input, "i.dataset"),
        "output": only_if(f"part = '{OUTPUT}'", "i.dataset"),
        "prefixes": only_if(f"part = '{QUERY}'", prefixes("i.query", settings)),
    }
    return f"transform(items, i -> {struct(told)})"


def _with_unlisted(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The queries, with the sources of columns among the inputs even where the view does not list them: a backend
    drops an edge from a dataset that is no input.
    """
    found = queries.selectExpr("*", "flatten(columns.sources) AS sources")
    unlisted = f"array_except({identities('sources')}, {identities('inputs')})"
    own = "filter(sources, s -> s.namespace = d.namespace AND s.name = d.name)"
    thing = struct({name: f"array_max({own}.domain)" if name == "domain" else "NULL" for name in OBJECT})
    names = sorted_set(f"{own}.field")
    values = ("d.namespace", "d.name", thing, "NULL", "array('SOURCE')", names, _typed(names, settings), *["NULL"] * 3)
    told = f"transform({unlisted}, d -> CAST(struct({', '.join(values)}) AS {_DATASET_TYPE}))"
    others = [name for name in queries.columns if name != "inputs"]
    return found.selectExpr(*others, f"sort_array(concat(inputs, {told})) AS inputs")


# --- jobs -------------------------------------------------------------------------------------------------------------


def prefixes(query: str, settings: OpenLineageSettings) -> str:
    """What of QUERY_HISTORY goes before a job's name, as an array without nulls."""
    given = ", ".join(f"nullif({query}.{name}, '')" for name in settings.job_name_from)
    return f"array_compact(array({given}))" if given else "CAST(array() AS array<string>)"


def with_jobs(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The queries with ``job_name``, ``parent`` and ``root``: query id and job name of the relatives, null for none."""
    subjects = sorted_set("concat(changes.subject, routines.subject)")
    sets = (sorted_set("changes.verb"), identities("inputs"), identities("outputs"), subjects)
    return queries.selectExpr(
        "*",
        f"{job_name(prefixes('query', settings), *sets)} AS job_name",
        f"{_relative(PARENT, 'query.parent_query_id')} AS parent",
        f"{_relative(ROOT, 'query.root_query_id')} AS root",
    )


def _relative(role: str, query_id: str) -> str:
    of_role = f"filter(kin, k -> k.role = '{role}')"
    sets = (sorted_set(f"r.{name}") for name in ("verb", "input", "output", "subject"))
    name = job_name("coalesce(array_max(r.prefixes), array())", *sets)
    is_recorded = "array_max(r.prefixes) IS NOT NULL"
    named = let("r", of_role, f"CASE WHEN {is_recorded} THEN {name} ELSE {literal(UNRECORDED_JOB)} END")
    has_relative = f"{query_id} IS NOT NULL AND query.parent_query_id <> query_id"
    return only_if(has_relative, f"struct({query_id} AS query_id, {named} AS job_name)")
