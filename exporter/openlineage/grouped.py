"""Pieces -> one row per query, with everything that its event tells, in a fixed order.

Two groupings after one shuffle: pieces of the same dataset or column first, the query's pieces then. Collected lists
come in any order, so each is sorted, and where one value is wanted the greatest is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.facets import Facets
from exporter.openlineage.kin import OWN
from exporter.openlineage.pieces import CHANGE, COLUMN, INPUT, IS_ROUTINE, JOIN, OUTPUT, POLICY, QUERY, ROUTINE, TAG
from exporter.openlineage.sql import json_text, only_if, sorted_set, struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from exporter.openlineage.settings import OpenLineageSettings

_KEYS: Final = ("account", "query_id", "role", "part", "key", "field")
_ITEM: Final = (
    *("thing", "access", "columns", "source_column", "lifecycle", "description", "change", "verb", "tag", "policy"),
    *("join_type", "query", "namespace", "name", "identity", "is_routine", "subject"),
)


def with_datasets(pieces: DataFrame, spellings: DataFrame) -> DataFrame:
    """The pieces with the dataset that their thing is, and ``subject``, the label of what is no dataset: a routine with
    the arguments that tell overloaded ones apart, of other things that DDL changes the kind and the name.
    """
    spelled = {"object_key": "thing.object_key", "object_name": "thing.object_name"}
    # A piece without a thing gets a key that meets nothing but is spread over all partitions, as null would not be.
    keys = ("coalesce({object_key}, concat('-', query_id)) AS object_key", "coalesce({object_name}, '') AS object_name")
    keyed = pieces.selectExpr("*", *(key.format(**spelled) for key in keys))
    others = [name for name in spellings.columns if name != "object_name"]
    known = spellings.selectExpr(*others, "coalesce(object_name, '') AS object_name")
    named = keyed.join(known, ["account", "object_key", "object_name"], how="left")
    is_routine = f"coalesce(thing.{IS_ROUTINE}, false)"
    is_dataset = f"part IN ('{INPUT}', '{OUTPUT}')"
    changed = only_if("thing IS NOT NULL", "concat_ws(' ', lower(thing.domain), name)")
    called = "concat(name, coalesce(thing.argument_signature, ''))"
    told = {
        "is_routine": is_routine,
        "subject": f"CASE part WHEN '{ROUTINE}' THEN {called} WHEN '{CHANGE}' THEN {changed} END",
        # No namespace holds a line feed, so that different datasets never share a key.
        "key": f"IF({is_dataset}, concat(namespace, '\\n', name), key)",
        "facets": only_if(is_dataset, "facets"),
    }
    kept = [name for name in (*pieces.columns, "namespace", "name", "identity") if name not in told]
    return named.selectExpr(*kept, *(f"{value} AS {name}" for name, value in told.items()))


def by_query(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One row per query that has a row: its ``query`` struct, what its relatives' jobs are named by (``kin``), and
    sorted arrays of everything else.
    """
    shown = pieces.selectExpr(*_KEYS, "facets", f"struct({', '.join(_ITEM)}) AS item")
    groups = shown.groupBy(*_KEYS).agg({"item": "collect_list", "facets": "first"})
    items = groups.selectExpr(*_KEYS, "`first(facets)` AS facets", "`collect_list(item)` AS items")
    is_column = f"part = '{COLUMN}'"
    sourced = items.selectExpr("*", f"{only_if(is_column, _SOURCES)} AS sources")
    own = {part: only_if(f"role = '{OWN}' AND part = '{part}'", item) for part, item in _parts(settings).items()}
    parts = {**own, "KIN": only_if(f"role <> '{OWN}'", _KIN)}
    split = sourced.selectExpr("account", "query_id", *(f"{item} AS {part}" for part, item in parts.items()))
    return _collected(split, tuple(parts)).filter(f"size({QUERY}) > 0").transform(_in_order)


def _collected(rows: DataFrame, lists: tuple[str, ...]) -> DataFrame:
    collected = rows.groupBy("account", "query_id").agg(dict.fromkeys(lists, "collect_list"))
    return collected.selectExpr("account", "query_id", *(f"`collect_list({name})` AS {name}" for name in lists))


def _in_order(grouped: DataFrame) -> DataFrame:
    single = {INPUT: "listed", OUTPUT: "outputs", COLUMN: "columns", ROUTINE: "routines", TAG: "tags", JOIN: "joins"}
    several = {CHANGE: "changes", POLICY: "policies", "KIN": "kin"}
    return grouped.selectExpr(
        *("account", "query_id", f"get({QUERY}, 0) AS query"),
        *(f"sort_array({part}) AS {name}" for part, name in single.items()),
        *(f"sort_array(array_distinct(flatten({part}))) AS {name}" for part, name in several.items()),
    )


# --- what each part is in its query's row -----------------------------------------------------------------------------


def _parts(settings: OpenLineageSettings) -> Mapping[str, str]:
    facets = Facets(settings)
    dataset = {"namespace": "items[0].namespace", "name": "items[0].name"}
    read = f"""concat('{{', items[0].identity, ',"facets":{{', facets, '}},"inputFacets":{{', {facets.access()}, '}}}}')"""
    written = {
        "keys": sorted_set("items.thing.object_key"),
        "identity": "items[0].identity",
        "facets": "facets",
        "write": facets.write(),
        "is_written": "array_contains(items.access, 'WRITE')",
        "lifecycle": "array_max(items.lifecycle)",
        "description": "array_max(items.description)",
    }
    return {
        QUERY: "items[0].query",
        INPUT: struct({**dataset, "text": read}),
        OUTPUT: struct({**dataset, **written}),
        COLUMN: _COLUMN,
        ROUTINE: f"struct(items[0].subject AS subject, {_called('items[0]', _ACCESSES)} AS called)",
        TAG: "struct(key, sort_array(items.tag) AS tags)",
        CHANGE: "transform(items, i -> struct(i.verb AS verb, i.subject AS subject, i.change AS change))",
        POLICY: "transform(items, i -> struct(i.namespace AS namespace, i.name AS name, i.policy AS policy))",
        JOIN: f"struct({_side('LEFT')} AS left, items[0].join_type AS joinType, {_side('RIGHT')} AS right)",
    }


def _side(side: str) -> str:
    named = "i -> struct(i.namespace AS namespace, i.name AS name)"
    return f"get(transform(filter(items, i -> i.access = '{side}'), {named}), 0)"


def _called(item: str, accesses: str) -> str:
    """A function or procedure as facets tell of it."""
    told = {
        "name": f"{item}.thing.object_name",
        "argumentSignature": f"{item}.thing.argument_signature",
        "kind": f"{item}.thing.kind",
        "objectId": f"{item}.thing.object_id",
        "dataType": f"{item}.thing.data_type",
        "accesses": accesses,
    }
    return struct(told)


_ACCESSES: Final = sorted_set("items.access")
_SOURCE: Final = struct(
    {
        "namespace": "i.namespace",
        "name": "i.name",
        "field": "i.source_column",
        "base": "i.access = 'BASE'",
        "identity": "i.identity",
    }
)
_SOURCES: Final = f"""sort_array(transform(filter(items, i -> NOT i.is_routine AND i.source_column IS NOT NULL),
    i -> {_SOURCE}))"""
_SAME: Final = "s.field = o.field AND s.name = o.name AND s.namespace = o.namespace"
_DIRECT: Final = '{"type":"DIRECT"}'
_BASE: Final = '{"type":"DIRECT","description":"base source"}'
_TRANSFORMATIONS: Final = f"""CASE WHEN s.base THEN '[{_BASE}]'
    WHEN exists(sources, o -> o.base AND {_SAME}) THEN '[{_DIRECT},{_BASE}]' ELSE '[{_DIRECT}]' END"""
# A source once, whether it is a direct one, a base one, or both: the direct one comes first in the sorted array.
_ONCE: Final = f"filter(sources, (s, n) -> n = 0 OR NOT exists(array(get(sources, n - 1)), o -> {_SAME}))"
_INPUT_FIELD: Final = (
    f"""concat(s.identity, ',"field":', {json_text("s.field")}, ',"transformations":', {_TRANSFORMATIONS}, '}}')"""
)
_COLUMN: Final = struct(
    {
        "key": "key",
        "column": "field",
        "label": json_text("field"),
        "fields": f"transform({_ONCE}, s -> {_INPUT_FIELD})",
        "sources": "transform(sources, s -> struct(s.namespace AS namespace, s.name AS name, s.field AS field))",
        "routines": f"""sort_array(array_distinct(transform(filter(items, i -> i.is_routine),
            i -> {_called("i", "array(i.access)")})))""",
    }
)
_IS_INPUT: Final = f"part = '{INPUT}' OR (part = '{COLUMN}' AND i.source_column IS NOT NULL AND NOT i.is_routine)"
_KIN: Final = f"""transform(items, i -> struct(role, i.verb AS verb, i.subject AS subject, i.query AS query,
    {only_if(_IS_INPUT, "struct(i.namespace AS namespace, i.name AS name)")} AS input,
    {only_if(f"part = '{OUTPUT}'", "struct(i.namespace AS namespace, i.name AS name)")} AS output))"""
"""What a relative's job name follows from."""
