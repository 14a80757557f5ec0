"""Pieces -> one row per query, with everything that its event tells, in a fixed order.

One grouping after one shuffle. What belongs together within a query (the accesses of one dataset, the sources of one
column) is put together in its arrays, which are short. Collected lists come in any order, so each is sorted, and where
one value is wanted the greatest is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.facets import OBJECT_FIELDS, Facets
from exporter.openlineage.kin import OWN
from exporter.openlineage.pieces import CHANGE, COLUMN, INPUT, IS_ROUTINE, JOIN, OUTPUT, POLICY, QUERY, ROUTINE, SETTING
from exporter.openlineage.sql import only_if, sorted_set, struct
from exporter.sql import let

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.openlineage.settings import OpenLineageSettings

_DATASET: Final = {"namespace": "namespace", "name": "name"}
_NAMED: Final = struct(_DATASET)


def with_datasets(pieces: DataFrame, spellings: DataFrame) -> DataFrame:
    """The pieces with the dataset that their thing is, and ``subject``, the label of what is no dataset: a routine with
    the arguments that tell overloaded ones apart, of other things that DDL changes the kind and the name.
    """
    # A piece without a thing gets a key that meets nothing but is spread over all partitions, as null would not be.
    keys = {
        "object_key": "coalesce(thing.object_key, concat('-', query_id))",
        "object_name": "coalesce(thing.object_name, '')",
        "object_account": "coalesce(thing.object_account, '')",
    }
    filled = {name: f"coalesce({name}, '')" if name in keys else name for name in spellings.columns}
    known = spellings.selectExpr(*(f"{value} AS {name}" for name, value in filled.items()))
    keyed = pieces.selectExpr("*", *(f"{value} AS {name}" for name, value in keys.items()))
    named = keyed.join(known, ["account", *keys], how="left")
    changed = only_if("thing IS NOT NULL", "concat_ws(' ', lower(thing.domain), name)")
    called = "concat(name, coalesce(thing.argument_signature, ''))"
    told = {
        "is_routine": f"coalesce(thing.{IS_ROUTINE}, false)",
        "subject": f"CASE part WHEN '{ROUTINE}' THEN {called} WHEN '{CHANGE}' THEN {changed} END",
    }
    kept = (*pieces.columns, "namespace", "name", "identity", "facets")
    return named.selectExpr(*kept, *(f"{value} AS {name}" for name, value in told.items()))


def by_query(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One row per query that has a row: its ``query`` struct, what its relatives' jobs are named by (``kin``), and
    sorted arrays of everything else.
    """
    parts = {part: only_if(f"role = '{OWN}' AND {when}", item) for part, (when, item) in _PARTS.items()}
    split = {**parts, "kin": only_if(f"role <> '{OWN}'", _KIN)}
    each = pieces.selectExpr("account", "query_id", *(f"{item} AS {name}" for name, item in split.items()))
    collected = each.groupBy("account", "query_id").agg(dict.fromkeys(split, "collect_list"))
    ordered = (f"sort_array(`collect_list({name})`) AS {name}" for name in split if name != "query")
    queries = collected.selectExpr("account", "query_id", "get(`collect_list(query)`, 0) AS query", *ordered)
    return queries.filter("query IS NOT NULL").transform(_merged, settings)


def _merged(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The queries with one ``listed`` input and one output for each dataset, and each routine once."""
    facets = Facets(settings)
    told = """items[0].identity, ',"facets":{', items[0].facets, '},"inputFacets":{'"""
    read = f"concat('{{', {told}, {facets.access()}, '}}}}')"
    written = {
        "keys": sorted_set("items.object_key"),
        "identity": "items[0].identity",
        "facets": "items[0].facets",
        "write": facets.write(),
        "is_written": "array_contains(items.access, 'WRITE')",
        "lifecycle": "array_max(items.lifecycle)",
        "description": "array_max(items.description)",
    }
    dataset = {"namespace": "d.namespace", "name": "d.name"}
    same_dataset = "o.name = d.name AND o.namespace = d.namespace"
    merged = {
        "listed": _grouped("inputs", same_dataset, struct({**dataset, "text": read})),
        "outputs": _grouped("outputs", same_dataset, struct({**dataset, **written})),
        "routines": _grouped("routines", "o.subject = d.subject", struct({"subject": "d.subject", "called": _CALLED})),
        "joins": f"transform(filter(joins, d -> d.side = 'LEFT'), d -> {_JOINED})",
    }
    kept = [name for name in queries.columns if name not in ("inputs", *merged)]
    return queries.selectExpr(*kept, *(f"{value} AS {name}" for name, value in merged.items()))


def _grouped(array: str, same: str, merged: str) -> str:
    """The elements of a sorted array, those that are the ``same`` (``o`` and ``d``) merged from ``items`` into one."""
    is_first = f"n = 0 OR NOT exists(array(get({array}, n - 1)), o -> {same})"
    items = f"filter({array}, o -> {same})"
    return f"transform(filter({array}, (d, n) -> {is_first}), d -> {let('items', items, merged)})"


# --- what each part is in its query's row -----------------------------------------------------------------------------

_OBJECT: Final = {name: f"thing.{name}" for name in OBJECT_FIELDS}
_ROUTINE: Final = {
    "name": "thing.object_name",
    "argumentSignature": "thing.argument_signature",
    "kind": "thing.kind",
    "objectId": "thing.object_id",
    "dataType": "thing.data_type",
}
_CALLED: Final = struct({**{name: f"d.{name}" for name in _ROUTINE}, "accesses": sorted_set("items.access")})
_RIGHT: Final = "filter(joins, o -> o.side = 'RIGHT' AND o.key = d.key)[0]"
_JOINED: Final = f"struct(d.dataset AS left, d.join_type AS joinType, {_RIGHT}.dataset AS right)"
_ACCESS: Final = {**_DATASET, "access": "access", "object_key": "thing.object_key", **_OBJECT, "columns": "columns"}
_TEXTS: Final = {"identity": "identity", "facets": "facets"}
_SOURCE: Final = {"key": "key", "column": "field", **_DATASET, "field": "source_column", "base": "access = 'BASE'"}
_PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "query": (f"part = '{QUERY}'", "query"),
    "inputs": (f"part = '{INPUT}'", struct({**_ACCESS, **_TEXTS})),
    "outputs": (
        f"part = '{OUTPUT}'",
        struct({**_ACCESS, "lifecycle": "lifecycle", "description": "description", **_TEXTS}),
    ),
    "columns": (
        f"part = '{COLUMN}' AND NOT is_routine AND source_column IS NOT NULL",
        struct({**_SOURCE, "identity": "identity"}),
    ),
    "called": (
        f"part = '{COLUMN}' AND is_routine",
        struct({"key": "key", "column": "field", "routine": struct({**_ROUTINE, "sourceType": "access"})}),
    ),
    "routines": (f"part = '{ROUTINE}'", struct({"subject": "subject", **_ROUTINE, "access": "access"})),
    "settings": (f"part = '{SETTING}'", "struct(key, setting)"),
    "changes": (f"part = '{CHANGE}'", "struct(verb, subject, change, key)"),
    "policies": (f"part = '{POLICY}'", "struct(namespace, name, policy)"),
    "joins": (
        f"part = '{JOIN}'",
        struct({"key": "key", "side": "access", "join_type": "join_type", "dataset": _NAMED}),
    ),
}
"""Array of a query's row -> which pieces it is collected from, and what each gives."""

_IS_INPUT: Final = f"part = '{INPUT}' OR (part = '{COLUMN}' AND source_column IS NOT NULL AND NOT is_routine)"
_KIN: Final = struct(
    {
        "role": "role",
        "verb": "verb",
        "subject": "subject",
        "query": "query",
        "input": only_if(_IS_INPUT, _NAMED),
        "output": only_if(f"part = '{OUTPUT}'", _NAMED),
    }
)
"""What a relative's job name follows from."""
