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
    part = {name: f"{thing}.{name}" if name in fields else "cast(null as string)" for name in FIELDS}
    others = [name for name in rows.schema.names if name != thing]
    read = rows.selectExpr(
        *others,
        f"{identifiers.normal_domain(part['objectDomain'])} AS domain",
        f"{identifiers.usable_id(part['objectId'])} AS object_id",
        *[f"{identifiers.named(part[field])} AS {name}" for name, field in _TEXTS.items()],
        f"{identifiers.id_as_name(part['objectId'])} AS _id_as_name",
    )
    kinds = read.selectExpr(
        "*",
        "coalesce(object_name, _id_as_name) AS _name",
        f"{identifiers.kind_of('domain', 'stage_kind', 'location')} AS kind",
    )
    keys = [name if name != "object_key" else f"{identifiers.object_key()} AS object_key" for name in OBJECT_COLUMNS]
    return kinds.selectExpr(*others, *keys)


_TEXTS: Final = {
    "object_name": "objectName",
    "argument_signature": "argumentSignature",
    "data_type": "dataType",
    "stage_kind": "stageKind",
    "location": "location",
    "object_account": "accountName",
}


def key_of(rows: DataFrame, key: str, domain: str, object_id: str, name: str) -> DataFrame:
    """The rows with the key of an object that they name only by domain, id and name (SQL text): a policy, a tag, a
    swap's target.
    """
    own = [one for one in rows.schema.names if one != key]
    read = rows.selectExpr(
        *own,
        f"{identifiers.normal_domain(domain)} AS _domain",
        f"{identifiers.usable_id(object_id)} AS _id",
        f"{identifiers.named(name)} AS _name",
    )
    kinds = read.selectExpr("*", f"{identifiers.kind_of('_domain')} AS _kind")
    made = identifiers.object_key("_kind", "_id", "_name", "null", "cast(null as string)")
    return kinds.selectExpr(*own, f"{made} AS {key}")


def one_per_key(rows: DataFrame, keys: Sequence[str], lists: Sequence[str] = ()) -> DataFrame:
    """One row per key: array columns joined without doubles, the others taken together from the smallest row.

    Two rows with one key differ only where Snowflake spells a thing in two ways in one query; which one is kept does
    not depend on order or partitions.
    """
    names = rows.schema.names
    others = [name for name in names if name not in (*keys, *lists)]
    joined = [F.array_sort(F.array_distinct(F.flatten(F.collect_list(name)))).alias(name) for name in lists]
    if not others:
        return rows.groupBy(*keys).agg(*joined) if lists else rows.distinct()
    grouped = rows.groupBy(*keys).agg(F.min(F.struct(*others)).alias("_least"), *joined)
    return grouped.select(*[F.col(f"_least.{name}") if name in others else F.col(name) for name in names])
