"""facts/derivations: from which columns a written column comes, directly and from the bottom, or through a function.

Sources: guide, "Column lineage"; view, "directSources", "baseSources", "Usage Notes: Column Lineage".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.common import QUERY_COLUMNS, SOURCE_FIELDS, identified, one_per_key, said
from exporter.schemas import DERIVATIONS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SPELLINGS: Final = {
    "DIRECT": ("directSources", "directSourceColumns"),
    "BASE": ("baseSources", "baseSourceColumns"),
}
_KEYS: Final = ["account", "query_id", "target_key", "target_column", "source_type", "object_key", "source_column"]


def derivations(things: DataFrame) -> DataFrame:
    """One row per target column, kind of source and source; columns and objects without a name are left out."""
    columns = things.filter((F.col("place") == "WRITE") & (F.size("sourced") > 0)).select(
        *QUERY_COLUMNS,
        F.col("object_key").alias("target_key"),
        F.col("object_name").alias("target_name"),
        F.explode("sourced").alias("c"),
    )
    sources = columns.select(
        *QUERY_COLUMNS,
        "target_key",
        "target_name",
        said(F.col("c.columnName")).alias("target_column"),
        F.explode(F.array(*[_sources(kind) for kind in _SPELLINGS])).alias("s"),
    ).filter(F.col("target_column").isNotNull() & (F.size("s.sources") > 0))
    each = sources.select(
        *QUERY_COLUMNS,
        "target_key",
        "target_name",
        "target_column",
        F.col("s.source_type").alias("source_type"),
        F.explode("s.sources").alias("source"),
    )
    named = identified(each.withColumn("source_column", said(F.col("source.columnName"))), "source", SOURCE_FIELDS)
    return one_per_key(named.filter(F.col("object_key").isNotNull()), _KEYS).select(*DERIVATIONS)


def _sources(kind: str) -> Column:
    arrays = [F.coalesce(F.col(f"c.{spelling}"), F.array()) for spelling in _SPELLINGS[kind]]
    return F.struct(F.lit(kind).alias("source_type"), F.concat(*arrays).alias("sources"))
