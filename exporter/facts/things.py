"""Every object in the object arrays of a row, with its key: what accesses, writes, joins and policies are taken from.

The key of an object is the dearest thing to compute, so it is computed once for each object in a row and stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.common import FIELDS, QUERY_COLUMNS, identified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PLACES: Final = {
    "DIRECT": "direct_objects_accessed",
    "BASE": "base_objects_accessed",
    "PROVIDER_BASE": "provider_base_objects_accessed",
    "WRITE": "objects_modified",
    "POLICY": "policies_referenced",
    "PROVIDER_POLICY": "provider_policies_referenced",
}


def things(rows: DataFrame) -> DataFrame:
    """One row per object and place: the object columns, and ``columns``, ``joins`` and ``policies`` as they came.

    Several places in one element (``locations``) are several objects; what names nothing is left out.
    """
    arrays = [F.struct(F.lit(place).alias("place"), F.col(name).alias("objects")) for place, name in PLACES.items()]
    by_place = rows.select(*QUERY_COLUMNS, F.explode(F.array(*arrays)).alias("found")).filter(
        F.size("found.objects") > 0
    )
    each = by_place.select(*QUERY_COLUMNS, F.col("found.place").alias("place"), F.explode("found.objects").alias("o"))
    location = F.explode(F.coalesce(F.col("o.locations"), F.array(F.col("o.location"))))
    located = each.select("*", location.alias("at"))
    read = located.select(
        *QUERY_COLUMNS,
        "place",
        F.col("o.columns").alias("columns"),
        F.col("o.joinObjects").alias("joins"),
        F.col("o.policies").alias("policies"),
        F.struct(*[F.col("at" if name == "location" else f"o.{name}").alias(name) for name in FIELDS]).alias("thing"),
    )
    return identified(read, "thing").filter(F.col("object_key").isNotNull())
