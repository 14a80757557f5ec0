"""Nodes of queries: one activity each, with everything that is part of it."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.rdf.agents import agent_path
from exporter.rdf.changes import change_path
from exporter.rdf.iri import account_path, known, path, query_path, user_path
from exporter.rdf.lineage import access_path
from exporter.rdf.protection import enforcement_path, join_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

_QUERY: Final = ("account", "query_id")


def _per_query(table: DataFrame, ref: str, name: str) -> DataFrame:
    return table.groupBy(*_QUERY).agg(F.array_sort(F.collect_set(F.expr(ref))).alias(name))


def queries(facts: Facts, reads: DataFrame) -> DataFrame:
    """One activity per query, with everything that is part of it."""
    used = _per_query(reads.filter("is_data"), path("object_key", "state"), "used_refs")
    parts = [
        used,
        _per_query(facts.accesses, access_path(), "access_refs"),
        _per_query(facts.policy_references, enforcement_path(), "enforcement_refs"),
        _per_query(facts.joins, join_path(), "join_refs"),
        _per_query(facts.ddl_changes, change_path(), "change_refs"),
    ]
    whole = reduce(lambda one, other: one.join(other, on=list(_QUERY), how="left"), parts, facts.queries)
    at = path(query_path(), "'association'", "cast(number as string)")
    return whole.select(
        "*",
        F.expr(query_path()).alias("path"),
        F.expr(f"array_distinct(concat(array({user_path()}), transform(agents, one -> {agent_path('one')})))").alias(
            "agent_refs"
        ),
        F.expr(f"transform(agents, (one, number) -> {at})").alias("association_refs"),
        F.expr(account_path()).alias("account_ref"),
        F.expr(known("parent_query_id", query_path("parent_query_id"))).alias("parent_ref"),
        F.expr(known("root_query_id", query_path("root_query_id"))).alias("root_ref"),
    )


def unrecorded_queries(facts: Facts) -> DataFrame:
    """Parents and roots that have no row: known by their id alone."""
    named = facts.queries.select("account", F.explode(F.array("parent_query_id", "root_query_id")).alias("query_id"))
    known = facts.queries.select(*_QUERY)
    missing = named.filter(F.col("query_id").isNotNull()).distinct().join(known, on=list(_QUERY), how="left_anti")
    return missing.select("*", F.expr(query_path()).alias("path"))
