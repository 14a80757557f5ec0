"""Every object in the object arrays of a row, with its key: what accesses, writes, joins and policies are taken from.

The key of an object is the dearest thing to compute, so it is computed once for each object in a row and stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.common import FIELDS, QUERY_COLUMNS, identified
from exporter.schemas import GUARDED_COLUMN, JOIN, POLICY, SOURCED_COLUMN
from exporter.sql import union

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PLACES: Final = {
    "DIRECT": "direct_objects_accessed",
    "BASE": "base_objects_accessed",
    "PROVIDER_BASE": "provider_base_objects_accessed",
    "WRITE": "objects_modified",
    "POLICY": "policies_referenced",
    "PROVIDER_POLICY": "provider_policies_referenced",
}
_PAYLOAD: Final = {
    "joins": ("joinObjects", f"array<{JOIN}>", ("DIRECT",)),
    "sourced": ("columns", f"array<{SOURCED_COLUMN}>", ("WRITE",)),
    "guarded": ("columns", f"array<{GUARDED_COLUMN}>", ("POLICY", "PROVIDER_POLICY")),
    "policies": ("policies", f"array<{POLICY}>", ("POLICY", "PROVIDER_POLICY")),
}


def things(rows: DataFrame) -> DataFrame:
    """One row per object and place: the object columns, its ``columns`` (ids and names), and what only some places
    have: ``joins``, ``sourced`` columns, ``guarded`` columns and ``policies``, as they came.

    Several places in one element (``locations``) are several objects; what names nothing is left out.
    """
    every = union([_at(rows, place) for place in PLACES])
    return identified(every, "thing").filter(F.col("object_key").isNotNull())


def _at(rows: DataFrame, place: str) -> DataFrame:
    each = rows.select(*QUERY_COLUMNS, F.explode(PLACES[place]).alias("o"))
    location = F.explode(F.when(F.size("o.locations") > 0, F.col("o.locations")).otherwise(F.array("o.location")))
    return each.select("*", location.alias("at")).select(
        *QUERY_COLUMNS,
        F.lit(place).alias("place"),
        _ids_and_names().alias("columns"),
        *[
            _payload(field, kind, is_there=place in places).alias(name)
            for name, (field, kind, places) in _PAYLOAD.items()
        ],
        F.struct(*[F.col("at" if name == "location" else f"o.{name}").alias(name) for name in FIELDS]).alias("thing"),
    )


def _ids_and_names() -> Column:
    return F.arrays_zip(
        F.col("o.columns.columnName").alias("columnName"), F.col("o.columns.columnId").alias("columnId")
    )


def _payload(field: str, kind: str, *, is_there: bool) -> Column:
    return F.col(f"o.{field}") if is_there else F.lit(None).cast(kind)
