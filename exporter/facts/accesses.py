"""facts/accesses, facts/writes, facts/joins: which objects and columns a query read, wrote and joined.

Sources: view, "direct_objects_accessed", "base_objects_accessed", "objects_modified"; guide, "Joins" (in some languages).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.common import (
    FIELDS,
    NODE_FIELDS,
    QUERY_COLUMNS,
    identified,
    one_per_key,
    said,
)
from exporter.schemas import ACCESSES, JOINS, WRITES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_READS: Final = {
    "DIRECT": "direct_objects_accessed",
    "BASE": "base_objects_accessed",
    "PROVIDER_BASE": "provider_base_objects_accessed",
}


def accesses(rows: DataFrame) -> DataFrame:
    """One row per query, kind of access and object read."""
    named = [
        F.struct(F.lit(access).alias("access"), F.col(column).alias("objects")) for access, column in _READS.items()
    ]
    by_access = rows.select(*QUERY_COLUMNS, F.explode(F.array(*named)).alias("read"))
    each = by_access.select(*QUERY_COLUMNS, F.col("read.access").alias("access"), F.explode("read.objects").alias("o"))
    return _objects(each, ["account", "query_id", "access"]).select(*ACCESSES)


def writes(rows: DataFrame) -> DataFrame:
    """One row per query and object written."""
    each = rows.select(*QUERY_COLUMNS, F.explode("objects_modified").alias("o"))
    return _objects(each, ["account", "query_id"]).select(*WRITES)


def _objects(each: DataFrame, keys: list[str]) -> DataFrame:
    """The objects in ``o``, several places in one element (``locations``) as several, one row per key."""
    place = F.explode_outer(F.coalesce(F.col("o.locations"), F.array(F.col("o.location"))))
    placed = each.select("*", place.alias("place"))
    things = placed.select(
        *[name for name in each.columns if name != "o"],
        known_columns(F.col("o.columns")).alias("columns"),
        F.struct(*[F.col("place" if name == "location" else f"o.{name}").alias(name) for name in FIELDS]).alias(
            "thing"
        ),
    )
    named = identified(things, "thing").filter(F.col("object_key").isNotNull())
    return one_per_key(named, [*keys, "object_key"], ["columns"])


def known_columns(columns: Column) -> Column:
    """The columns that have a name, with their ids where they have one; never None."""
    named = F.filter(F.coalesce(columns, F.array()), lambda one: said(one["columnName"]).isNotNull())
    return F.transform(
        named,
        lambda one: F.struct(one["columnName"].alias("column_name"), column_id(one["columnId"]).alias("column_id")),
    )


def column_id(given: Column) -> Column:
    """A column's id; 0 and -1 are none."""
    return F.when(~given.isin("0", "-1", ""), given)


def joins(rows: DataFrame) -> DataFrame:
    """One row per query, left object, type and right object."""
    left = rows.select(*QUERY_COLUMNS, F.explode("direct_objects_accessed").alias("o")).filter(
        F.size("o.joinObjects") > 0
    )
    sides = left.select(*QUERY_COLUMNS, "o", F.explode("o.joinObjects").alias("j"))
    on_left = identified(sides, "o").select(
        *QUERY_COLUMNS, "j", F.col("object_key").alias("left_key"), F.col("object_name").alias("left_name")
    )
    partners = on_left.select(
        *QUERY_COLUMNS,
        *("left_key", "left_name"),
        F.upper(said(F.coalesce("j.joinType", "j.type"))).alias("join_type"),
        F.coalesce("j.node", "j.joinObject").alias("partner"),
    )
    each = identified(partners, "partner", NODE_FIELDS)
    whole = each.filter(F.col("left_key").isNotNull() & F.col("object_key").isNotNull())
    keyed = whole.withColumn("join_type", F.coalesce("join_type", F.lit("")))
    found = one_per_key(keyed, ["account", "query_id", "left_key", "join_type", "object_key"])
    return found.withColumn("join_type", F.nullif("join_type", F.lit(""))).select(*JOINS)
