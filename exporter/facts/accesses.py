"""facts/accesses, facts/writes, facts/joins: which objects and columns a query read, wrote and joined.

Sources: view, "direct_objects_accessed", "base_objects_accessed", "objects_modified"; guide, "Joins"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.common import NODE_FIELDS, QUERY_COLUMNS, identified, one_per_key, said
from exporter.schemas import ACCESSES, JOINS, WRITES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_READS: Final = ("DIRECT", "BASE", "PROVIDER_BASE")


def accesses(things: DataFrame) -> DataFrame:
    """One row per query, kind of access and object read."""
    read = things.filter(F.col("place").isin(*_READS)).withColumnRenamed("place", "access")
    return _once(read, ["account", "query_id", "access", "object_key"]).select(*ACCESSES)


def writes(things: DataFrame) -> DataFrame:
    """One row per query and object written."""
    written = things.filter(F.col("place") == "WRITE").drop("place")
    return _once(written, ["account", "query_id", "object_key"]).select(*WRITES)


def _once(things: DataFrame, keys: list[str]) -> DataFrame:
    named = things.withColumn("columns", known_columns(F.col("columns"))).drop(
        "joins", "sourced", "guarded", "policies"
    )
    return one_per_key(named, keys, ["columns"])


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


def joins(things: DataFrame) -> DataFrame:
    """One row per query, left object, type and right object."""
    left = things.filter((F.col("place") == "DIRECT") & (F.size("joins") > 0))
    sides = left.select(
        *QUERY_COLUMNS,
        F.col("object_key").alias("left_key"),
        F.col("object_name").alias("left_name"),
        F.explode("joins").alias("j"),
    )
    partners = sides.select(
        *QUERY_COLUMNS,
        *("left_key", "left_name"),
        F.upper(said(F.coalesce("j.joinType", "j.type"))).alias("join_type"),
        F.coalesce("j.node", "j.joinObject").alias("partner"),
    )
    whole = identified(partners, "partner", NODE_FIELDS).filter(F.col("object_key").isNotNull())
    keyed = whole.withColumn("join_type", F.coalesce("join_type", F.lit("")))
    found = one_per_key(keyed, ["account", "query_id", "left_key", "join_type", "object_key"])
    return found.withColumn("join_type", F.nullif("join_type", F.lit(""))).select(*JOINS)
