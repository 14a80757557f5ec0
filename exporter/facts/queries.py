"""facts/queries: who ran what and when, under which query, and what Snowflake cut away.

Sources: view, "Columns", "Ancestor queries"; QUERY_HISTORY, where it is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.common import said
from exporter.facts.identifiers import TRUNCATED
from exporter.schemas import OBJECT_ARRAYS, QUERY_HISTORY

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_OF_ROWS = (
    "parent_query_id",
    "root_query_id",
    "event_source",
    "additional_properties",
    "invoker_identity",
    "organization_name",
    "account_name",
    "account_locator",
)


def queries(rows: DataFrame, query_history: DataFrame | None) -> DataFrame:
    """One row per query, with QUERY_HISTORY's columns beside it (None where it has no row, or is not given)."""
    agents = F.transform(
        F.coalesce("agents_info", F.array()),
        lambda one: F.struct(
            said(one["agentType"]).alias("agent_type"),
            said(one["agentId"]).alias("agent_id"),
            said(one["agentName"]).alias("agent_name"),
        ),
    )
    each = rows.select(
        "account",
        "query_id",
        "query_start_time",
        "user_name",
        *[said(F.col(name)).alias(name) for name in _OF_ROWS],
        agents.alias("agents"),
        _incomplete().alias("incomplete"),
        "hash_1",
        "hash_2",
    )
    grouped = each.groupBy("account", "query_id").agg(
        F.min("query_start_time").alias("query_start_time"),
        F.min("user_name").alias("user_name"),
        *[F.min(name).alias(name) for name in _OF_ROWS],
        F.max("agents").alias("agents"),
        F.array_sort(F.array_distinct(F.flatten(F.collect_list("incomplete")))).alias("incomplete"),
        F.count_distinct("hash_1", "hash_2").cast("int").alias("row_count"),
    )
    return _with_history(grouped, query_history)


def _with_history(queries: DataFrame, query_history: DataFrame | None) -> DataFrame:
    if query_history is None:
        return queries.select("*", *[F.lit(None).cast(kind).alias(name) for name, kind in QUERY_HISTORY.items()])
    return queries.join(query_history, on=["query_id"], how="left").select(*queries.columns, *QUERY_HISTORY)


def _incomplete() -> Column:
    """Which columns of the row were cut, or hold things without a name: ``COLUMN TRUNCATED``, ``COLUMN UNNAMED``."""
    cut = F.array_compact(F.array(*[_cut(name) for name in OBJECT_ARRAYS], _cut_change()))
    nameless = F.array_compact(F.array(*[_unnamed(name) for name in OBJECT_ARRAYS], _unnamed_change()))
    return F.concat(F.when(F.col("says_truncated"), cut).otherwise(F.array().cast("array<string>")), nameless)


def _cut(name: str) -> Column:
    """The sentinel is looked for in the array as text: it may stand at any depth."""
    is_cut = F.contains(F.to_json(F.col(name)), F.lit(f'"{TRUNCATED}"'))
    return F.when((F.size(name) > 0) & is_cut, f"{name} {TRUNCATED}")


def _unnamed(name: str) -> Column:
    """An object without id, name and location, or a column without a name."""
    nameless = F.exists(F.col(name), lambda one: _says_nothing(one) | F.exists(one["columns"], _is_nameless))
    return F.when(nameless, f"{name} UNNAMED")


def _says_nothing(one: Column) -> Column:
    names = F.coalesce(one["objectName"], one["location"], F.element_at(one["locations"], 1), F.lit(""))
    return (F.trim(names) == "") & F.coalesce(one["objectId"], F.lit("0")).isin("0", "-1", "")


def _is_nameless(column: Column) -> Column:
    return F.trim(F.coalesce(column["columnName"], F.lit(""))) == ""


def _cut_change() -> Column:
    change = F.col("object_modified_by_ddl")
    inside = F.contains(change["properties"], F.lit(f'"{TRUNCATED}"')) | (change["properties"] == TRUNCATED)
    return F.when(inside | (change["objectName"] == TRUNCATED), f"object_modified_by_ddl {TRUNCATED}")


def _unnamed_change() -> Column:
    change = F.col("object_modified_by_ddl")
    is_empty = change["operationType"].isNull() & change["objectName"].isNull()
    return F.when(change.isNotNull() & is_empty, "object_modified_by_ddl UNNAMED")
