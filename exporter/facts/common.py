"""What several fact tables share: objects of the rows as columns, and one row per key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts import identifiers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

OBJECT_COLUMNS: Final = (
    "object_key",
    "kind",
    "domain",
    "object_id",
    "object_name",
    "argument_signature",
    "data_type",
    "stage_kind",
    "location",
    "object_account",
)
QUERY_COLUMNS: Final = ("account", "query_id", "query_start_time")


def said(text: Column) -> Column:
    """The text, unless it is empty or the sentinel of a record that was cut."""
    return identifiers.usable_name(text)


FIELDS: Final = (
    "objectDomain",
    "objectId",
    "objectName",
    "argumentSignature",
    "dataType",
    "stageKind",
    "location",
    "accountName",
)
SOURCE_FIELDS: Final = FIELDS[:5]
NODE_FIELDS: Final = (*SOURCE_FIELDS, "location", "accountName")
CHANGE_FIELDS: Final = FIELDS[:4]


def identified(rows: DataFrame, thing: str, fields: Sequence[str] = FIELDS) -> DataFrame:
    """The rows with :data:`OBJECT_COLUMNS` in place of the struct column ``thing``, which has ``fields``.

    ``object_key`` is None where the row names nothing. Each step is a projection of its own: written as one expression,
    the key of a key of a domain would be longer than the JVM compiles.
    """
    part = {name: F.col(f"{thing}.{name}") if name in fields else F.lit(None).cast("string") for name in FIELDS}
    others = [name for name in rows.columns if name != thing]
    read = rows.select(
        *others,
        identifiers.normal_domain(part["objectDomain"]).alias("domain"),
        identifiers.usable_id(part["objectId"]).alias("object_id"),
        said(part["objectName"]).alias("object_name"),
        said(part["argumentSignature"]).alias("argument_signature"),
        said(part["dataType"]).alias("data_type"),
        said(part["stageKind"]).alias("stage_kind"),
        said(part["location"]).alias("location"),
        said(part["accountName"]).alias("object_account"),
        said(F.when(part["objectId"].rlike(r"[^0-9.\-\x02]"), part["objectId"])).alias("_id_as_name"),
    )
    return keyed(read.withColumn("_name", F.coalesce("object_name", "_id_as_name")), "_name").select(
        *others, *OBJECT_COLUMNS
    )


def keyed(rows: DataFrame, name: str, key: str = "object_key") -> DataFrame:
    """The rows with ``kind`` and ``key``, from the columns domain, stage_kind, location, object_id, argument_signature
    and the one that ``name`` names.
    """
    kinds = rows.withColumn("kind", identifiers.kind_of(F.col("domain"), F.col("stage_kind"), F.col("location")))
    parts = [F.col(column) for column in ("kind", "object_id", name, "argument_signature", "location")]
    return kinds.withColumn(key, identifiers.object_key(*parts))


def key_of(rows: DataFrame, key: str, domain: Column, object_id: Column, name: Column) -> DataFrame:
    """The rows with the key of an object that they name only by domain, id and name: a policy, a tag, a swap's target."""
    own = rows.columns
    none = F.lit(None).cast("string")
    read = rows.select(
        *own,
        identifiers.normal_domain(domain).alias("_domain"),
        identifiers.usable_id(object_id).alias("_id"),
        said(name).alias("_name"),
    )
    kinds = read.withColumn("_kind", identifiers.kind_of(F.col("_domain"), none, none))
    made = identifiers.object_key(F.col("_kind"), F.col("_id"), F.col("_name"), none, none)
    return kinds.withColumn(key, made).drop("_domain", "_id", "_name", "_kind")


def one_per_key(rows: DataFrame, keys: Sequence[str], lists: Sequence[str] = ()) -> DataFrame:
    """One row per key: array columns joined without doubles, the others taken together from the smallest row.

    Two rows with one key differ only where Snowflake spells a thing in two ways in one query; which one is kept does
    not depend on order or partitions.
    """
    others = [name for name in rows.columns if name not in (*keys, *lists)]
    joined = [F.array_sort(F.array_distinct(F.flatten(F.collect_list(name)))).alias(name) for name in lists]
    if not others:
        return rows.groupBy(*keys).agg(*joined) if lists else rows.distinct()
    grouped = rows.groupBy(*keys).agg(F.min(F.struct(*others)).alias("_least"), *joined)
    return grouped.select(*[F.col(f"_least.{name}") if name in others else F.col(name) for name in rows.columns])
