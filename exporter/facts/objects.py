"""facts/objects, facts/names, facts/columns: every thing that the rows name, with what they say of it.

Sources: view, "objectId", "objectName", "objectDomain"; guide, "Swap a table"; view, "ALTER … RENAME TO".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window as W
from pyspark.sql import functions as F

from exporter.facts import identifiers
from exporter.facts.common import OBJECT_COLUMNS
from exporter.schemas import COLUMN_FACTS, NAMES, OBJECTS
from exporter.sql import union

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts

_ATTRIBUTES: Final = {
    "domain": "domains",
    "argument_signature": "argument_signatures",
    "data_type": "data_types",
    "stage_kind": "stage_kinds",
    "location": "locations",
    "object_account": "object_accounts",
}


def mentions(facts: Facts) -> DataFrame:
    """Every object that any fact names: account, first and last time, and the object columns, one row per spelling."""
    return (
        _named_anywhere(facts)
        .groupBy("account", *OBJECT_COLUMNS)
        .agg(F.min("query_start_time").alias("first_seen"), F.max("query_start_time").alias("last_seen"))
    )


def _named_anywhere(facts: Facts) -> DataFrame:
    """The same with every time: read, written, changed, or only beside others, as policies, partners and tags are."""
    policies = facts.policy_references.select(
        *_when(),
        *_named("policy_key", F.replace("policy_kind", F.lit("_"), F.lit(" ")), "policy_id", "policy_name"),
    )
    changes = facts.ddl_changes
    swaps = changes.select(*_when(), *_named("swap_key", F.col("swap_domain"), "swap_id", "swap_name"))
    sources = changes.select(*_when(), *_named("source_key", F.col("source_domain"), "source_id", "source_name"))
    settings = facts.ddl_settings.select(
        *_when(), *_named("element_key", _domain_of_element(), "element_id", "element")
    )
    direct = [facts.accesses, facts.writes, facts.derivations, facts.policy_references, facts.joins, changes]
    tables = [table.select(*_when(), *OBJECT_COLUMNS) for table in direct]
    every = union([*tables, policies, swaps, sources, settings])
    return every.filter(F.col("object_key").isNotNull())


def _when() -> tuple[str, str]:
    return "account", "query_start_time"


def _named(key: str, domain: Column, ident: str, name: str) -> list[Column]:
    given = {
        "object_key": F.col(key),
        "kind": F.substring_index(F.col(key), "/", 1),
        "domain": domain,
        "object_id": F.col(ident),
        "object_name": identifiers.usable_name(F.col(name)),
    }
    return [given.get(column, F.lit(None).cast("string")).alias(column) for column in OBJECT_COLUMNS]


def _domain_of_element() -> Column:
    return F.upper(F.replace(F.substring_index("element_key", "/", 1), F.lit("-"), F.lit(" ")))


def objects(mentions: DataFrame) -> DataFrame:
    """One row per object, every attribute with all the values that the rows show."""
    collected = [F.array_sort(F.collect_set(one)).alias(many) for one, many in _ATTRIBUTES.items()]
    grouped = mentions.groupBy("account", "object_key", "kind").agg(
        F.max("object_id").alias("object_id"), F.min("object_name").alias("name"), *collected
    )
    by_name = F.substring_index(F.col("object_key"), "/", 2).endswith("/name")
    return grouped.withColumn("canonical_name", F.when(by_name, F.expr(identifiers.canonical_name("name")))).select(
        *OBJECTS
    )


def names(mentions: DataFrame, facts: Facts) -> DataFrame:
    """One row per name and time that an object had it.

    An object with one name needs no ordering; the sightings of the others are put in order, and a name holds from its
    first sighting (or from the RENAME or SWAP that gave it) until another is seen.
    """
    seen = (
        mentions.filter(F.col("object_name").isNotNull())
        .groupBy("account", "object_key", "object_name")
        .agg(F.min("first_seen").alias("valid_from"), F.max("last_seen").alias("last_seen"))
    )
    given = given_names(facts)
    every = seen.select("account", "object_key", "object_name").unionByName(
        given.select("account", "object_key", "object_name")
    )
    several = every.groupBy("account", "object_key").agg(F.count_distinct("object_name").alias("n")).filter("n > 1")
    of_several = several.select("account", "object_key")
    single = seen.join(of_several, on=["account", "object_key"], how="left_anti").select(
        *("account", "object_key"),
        F.col("object_name").alias("name"),
        "valid_from",
        F.lit(None).cast("timestamp").alias("valid_until"),
        "last_seen",
    )
    # Not a semi-join: Spark would write it out once for each table of the union.
    sightings = _sightings(facts).unionByName(given).join(of_several, on=["account", "object_key"], how="inner")
    # What a change gives at the very time at which it is seen is seen after it: a name holds once from one time.
    once = sightings.groupBy("account", "object_key", "query_start_time", "object_name").agg(
        F.max("after").alias("after")
    )
    return single.select(*NAMES).unionByName(_held(once).select(*NAMES))


def given_names(facts: Facts) -> DataFrame:
    """Names that a RENAME or a SWAP gives, from the time of the change on."""
    changes = facts.ddl_changes
    with_id = changes.filter(F.col("object_id").isNotNull())
    renamed = with_id.select(*_when(), "object_key", F.col("new_name").alias("object_name"), F.lit(1).alias("after"))
    swapped = with_id.select(*_when(), "object_key", F.col("swap_name").alias("object_name"), F.lit(1).alias("after"))
    return renamed.unionByName(swapped).filter(F.col("object_name").isNotNull())


def _sightings(facts: Facts) -> DataFrame:
    named = _named_anywhere(facts).filter(F.col("object_name").isNotNull())
    return named.select(*_when(), "object_key", "object_name", F.lit(0).alias("after"))


def _held(sightings: DataFrame) -> DataFrame:
    in_order = W.partitionBy("account", "object_key").orderBy("query_start_time", "after", "object_name")
    before = F.lag("object_name").over(in_order)
    marked = sightings.withColumn("is_new", (before.isNull() | (before != F.col("object_name"))).cast("int"))
    numbered = marked.withColumn("turn", F.sum("is_new").over(in_order))
    turns = numbered.groupBy("account", "object_key", "object_name", "turn").agg(
        F.min("query_start_time").alias("valid_from"), F.max("query_start_time").alias("last_seen")
    )
    following = W.partitionBy("account", "object_key").orderBy("turn")
    return turns.withColumn("valid_until", F.lead("valid_from").over(following)).withColumnRenamed(
        "object_name", "name"
    )


def columns(facts: Facts) -> DataFrame:
    """One row per column that any fact names: read, written, source or target, protected or changed."""
    none = F.lit(None).cast("string").alias("column_id")
    listed = [
        table.select("account", "object_key", F.explode("columns").alias("c")).select(
            "account", "object_key", "c.column_name", "c.column_id"
        )
        for table in (facts.accesses, facts.writes)
    ]
    derived = facts.derivations
    named = [
        derived.select(
            "account", F.col("target_key").alias("object_key"), F.col("target_column").alias("column_name"), none
        ),
        derived.select("account", "object_key", F.col("source_column").alias("column_name"), none),
        facts.policy_references.select("account", "object_key", "column_name", "column_id"),
        facts.ddl_settings.select(
            "account",
            "object_key",
            "column_name",
            F.when(F.col("property") == "columns", F.col("element_id")).alias("column_id"),
        ),
    ]
    every = union([*listed, *named])
    distinct = every.filter(F.col("column_name").isNotNull()).distinct()
    return (
        distinct.groupBy("account", "object_key", "column_name")
        .agg(F.array_sort(F.collect_set("column_id")).alias("column_ids"))
        .select(*COLUMN_FACTS)
    )
