"""Nodes of what a query met on its way: policies that were enforced, and joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import segment
from exporter.rdf.iri import column_path, object_path, path, query_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts

_QUERY: Final = ("account", "query_id")


def enforcement_path() -> str:
    """``query/Q/enforced/POLICY/on/OBJECT[/column/COLUMN]``, a provider's apart."""
    side = "CASE WHEN provider THEN 'enforced-by-provider' ELSE 'enforced' END"
    return path(query_path(), side, "policy_key", "'on'", f"coalesce({column_path('column_name')}, object_key)")


def policy_enforcements(facts: Facts, reads: DataFrame) -> DataFrame:
    """One node per query, policy and what it protects, with the version of the policy that was in force."""
    states = reads.select(*_QUERY, F.col("object_key").alias("policy_key"), "state")
    placed = facts.policy_references.join(states, on=[*_QUERY, "policy_key"], how="inner")
    return placed.select(
        *_QUERY,
        *("policy_kind", "policy_name", "object_name", "provider"),
        F.expr(enforcement_path()).alias("path"),
        F.col("policy_key").alias("policy_ref"),
        F.expr(path("policy_key", "state")).alias("policy_version_ref"),
        F.expr(object_path()).alias("object_ref"),
        F.expr(column_path("column_name")).alias("column_ref"),
    )


def join_path() -> str:
    """``query/Q/join/type/TYPE/LEFT/with/RIGHT``."""
    kind = f"coalesce(concat('type/', {segment('join_type')}), 'untyped')"
    return path(query_path(), "'join'", kind, "left_key", "'with'", "object_key")


def joins(facts: Facts) -> DataFrame:
    """One node per join."""
    return facts.joins.select(
        *_QUERY,
        *("left_name", "join_type", "object_name"),
        F.expr(join_path()).alias("path"),
        F.expr(object_path("left_key")).alias("left_ref"),
        F.expr(object_path()).alias("right_ref"),
    )
