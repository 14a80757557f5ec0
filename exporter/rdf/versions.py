"""Versions: which state of an object a query made, and which one it read.

One entity per table would make a graph that PROV forbids: two writes generate it twice, and an INSERT from a table into
itself derives it from itself. So each query that writes an object, or creates, replaces or restores it by DDL, makes a
version; a read uses the latest one before its start, in the order of (time, query id), so that no cycle can arise.
A version exists from its writer's end where QUERY_HISTORY tells it, else from its start (PROV-CONSTRAINTS, 6.1).

``state`` is the path of a version without its object: ``version/QUERY``, ``initial-version`` before the first one on
record, ``version-after-drop/QUERY`` where an object is read that was last seen dropped.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import Window as W
from pyspark.sql import functions as F

from exporter.facts.identifiers import segment
from exporter.rdf.iri import path

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts

INITIAL: Final = "initial-version"
_READ, _DROP, _MAKE = 0, 1, 2
_KEY: Final = ("account", "object_key")


def timeline(facts: Facts) -> DataFrame:
    """Everything that happens to versions, one row per query, object and kind of event, with

    ``event``            0 a read, 1 a drop, 2 a new version
    ``at``               when it counts
    ``state``            a read: the version in force; a drop: the one that it ends; a new version: itself
    ``prior``            of a new version: the one before, None where the object was created
    ``is_data``, ``is_base``  of a read: whether an access or a source of a column, whether in base_objects_accessed
    ``policy_body``      of a new version of a policy
    """
    events = _reads(facts).unionByName(_drops(facts)).unionByName(_makes(facts))
    before = W.partitionBy(*_KEY).orderBy("at", "query_id", "event").rowsBetween(W.unboundedPreceding, -1)
    not_read = F.when(F.col("event") != _READ, F.struct("event", "query_id"))
    ordered = events.select(
        "*",
        F.last(not_read, ignorenulls=True).over(before).alias("latest"),
        F.last(F.when(F.col("event") == _MAKE, F.col("query_id")), ignorenulls=True).over(before).alias("last_made"),
    )
    made = F.expr(path("'version'", segment("query_id")))
    state = F.when(F.col("event") == _MAKE, made).otherwise(_in_force())
    prior = F.when(F.col("last_made").isNull(), INITIAL).otherwise(F.expr(path("'version'", segment("last_made"))))
    return ordered.select(
        *[name for name in ordered.columns if name not in ("latest", "last_made", "is_created")],
        state.alias("state"),
        F.when((F.col("event") == _MAKE) & ~F.col("is_created"), prior).alias("prior"),
    )


def _in_force() -> Column:
    after_drop = F.expr(path("'version-after-drop'", segment("latest.query_id")))
    latest = F.expr(path("'version'", segment("latest.query_id")))
    return F.when(F.col("latest").isNull(), INITIAL).when(F.col("latest.event") == _DROP, after_drop).otherwise(latest)


def reads(timeline: DataFrame) -> DataFrame:
    """The version in force for each query and object that it read, or policy that it met."""
    return timeline.filter(F.col("event") == _READ).select(
        "account", "query_id", "object_key", "state", "is_data", "is_base"
    )


def made(timeline: DataFrame) -> DataFrame:
    """The versions that queries made."""
    return timeline.filter(F.col("event") == _MAKE).select(
        *("account", "query_id", "object_key", "at", "state", "prior", "policy_body")
    )


def ended(timeline: DataFrame) -> DataFrame:
    """The versions that a DROP ended: ``state``, with the query and when. A drop of what was dropped ends nothing."""
    drops = timeline.filter((F.col("event") == _DROP) & ~F.col("state").startswith("version-after-drop"))
    return (
        drops.groupBy(*_KEY, "state")
        .agg(F.min(F.struct("at", "query_id")).alias("end"))
        .select(*_KEY, "state", F.col("end.query_id").alias("ended_by"), F.col("end.at").alias("ended_at"))
    )


def unmade(timeline: DataFrame) -> DataFrame:
    """The versions that no query on record made, and that something refers to."""
    states = timeline.select(*_KEY, F.explode(F.array_compact(F.array("state", "prior"))).alias("state"))
    return states.filter(~F.col("state").startswith("version/")).distinct()


def _reads(facts: Facts) -> DataFrame:
    is_base = F.col("access") == "BASE"
    parts = [
        facts.accesses.select(*_of_read(), F.lit(1).alias("is_data"), is_base.cast("int").alias("is_base")),
        facts.derivations.select(*_of_read(), F.lit(1).alias("is_data"), F.lit(0).alias("is_base")),
        facts.policy_references.select(
            *("account", "query_id", "query_start_time"),
            F.col("policy_key").alias("object_key"),
            F.lit(0).alias("is_data"),
            F.lit(0).alias("is_base"),
        ),
    ]
    every = reduce(lambda one, other: one.unionByName(other), parts)
    once = every.groupBy("account", "query_id", "object_key").agg(
        F.min("query_start_time").alias("at"),
        (F.max("is_data") > 0).alias("is_data"),
        (F.max("is_base") > 0).alias("is_base"),
    )
    return once.select("*", F.lit(_READ).alias("event"), _no_body(), F.lit(None).cast("boolean").alias("is_created"))


def _of_read() -> tuple[str, ...]:
    return "account", "query_id", "query_start_time", "object_key"


def _no_body() -> Column:
    return F.lit(None).cast("string").alias("policy_body")


def _drops(facts: Facts) -> DataFrame:
    drops = (
        facts.ddl_changes.filter(F.col("operation") == "DROP").select("account", "query_id", "object_key").distinct()
    )
    return _at_end(drops, facts).select("*", F.lit(_DROP).alias("event"), *_not_read(), _no_body(), _not_created())


def _not_read() -> tuple[Column, Column]:
    return F.lit(None).cast("boolean").alias("is_data"), F.lit(None).cast("boolean").alias("is_base")


def _not_created() -> Column:
    return F.lit(None).cast("boolean").alias("is_created")


def _makes(facts: Facts) -> DataFrame:
    creates = F.col("operation").isin("CREATE", "REPLACE")
    is_new = creates | (F.col("operation") == "UNDROP") | F.col("policy_body").isNotNull()
    by_ddl = facts.ddl_changes.filter(is_new).select(
        *("account", "query_id", "object_key"), creates.cast("int").alias("created"), "policy_body"
    )
    by_write = facts.writes.select(
        *("account", "query_id", "object_key"),
        F.lit(0).alias("created"),
        F.lit(None).cast("string").alias("policy_body"),
    )
    once = (
        by_write.unionByName(by_ddl)
        .groupBy("account", "query_id", "object_key")
        .agg((F.max("created") > 0).alias("is_created"), F.max("policy_body").alias("policy_body"))
    )
    return _at_end(once, facts).select("*", F.lit(_MAKE).alias("event"), *_not_read())


def _at_end(events: DataFrame, facts: Facts) -> DataFrame:
    at = F.coalesce("end_time", "query_start_time").alias("at")
    return events.join(facts.queries.select("account", "query_id", at), on=["account", "query_id"], how="inner")
