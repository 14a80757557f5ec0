"""Nodes of who ran queries: users, and the software agents that acted for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.identifiers import segment
from exporter.rdf.iri import path, query_path, user_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts


def users(facts: Facts) -> DataFrame:
    """One agent per user."""
    return facts.queries.select("account", "user_name").distinct().select("*", F.expr(user_path()).alias("path"))


def agent_path(agent: str) -> str:
    """``agent/type/TYPE/id/ID``, by name where no id is given."""
    kind = f"concat('type/', {segment(f'{agent}.agent_type')})"
    by_id = f"concat('id/', {segment(f'{agent}.agent_id')})"
    by_name = f"concat('name/', {segment(f'{agent}.agent_name')})"
    return path("'agent'", kind, f"coalesce({by_id}, {by_name})")


def software_agents(facts: Facts) -> DataFrame:
    """One agent per agent of agents_info."""
    each = facts.queries.select("account", F.explode("agents").alias("agent"))
    flat = each.select("account", F.expr(agent_path("agent")).alias("path"), "agent.*")
    return flat.groupBy("account", "path", "agent_type", "agent_id").agg(
        F.array_sort(F.collect_set("agent_name")).alias("agent_names")
    )


def agent_associations(facts: Facts) -> DataFrame:
    """Which place an agent had in the chain that led to a query: 1 is the nearest."""
    each = facts.queries.select(*("account", "query_id"), F.posexplode("agents").alias("position", "agent"))
    return each.select(
        *("account", "query_id"),
        F.expr(path(query_path(), "'association'", "cast(position as string)")).alias("path"),
        F.expr(agent_path("agent")).alias("agent_ref"),
        (F.col("position") + 1).alias("position"),
    )
