"""Facts -> nodes: one table per class, one row per subject, one column per property of the vocabulary."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.identifiers import ROUTINE_KINDS, segment
from exporter.rdf import objects, versions
from exporter.rdf import vocabulary as v
from exporter.rdf.iri import column_path, known, object_path, path, query_path, user_path, version_path
from exporter.rdf.turtle import NODE_COLUMNS, render
from exporter.schemas import WRITES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts

_QUERY = ("account", "query_id")


def nodes(facts: Facts, account: str, base: str, keep: Callable[[str, DataFrame], DataFrame]) -> DataFrame:
    """Every node of the graph, rendered: the columns of :data:`exporter.rdf.turtle.NODE_COLUMNS`."""
    line = keep("timeline", versions.timeline(facts))
    reads = versions.reads(line)
    tables = {
        v.QUERY: queries(facts, reads),
        v.UNRECORDED_QUERY: unrecorded_queries(facts),
        v.USER: users(facts),
        v.SOFTWARE_AGENT: software_agents(facts),
        v.AGENT_ASSOCIATION: agent_associations(facts),
        v.OBJECT: objects.objects(facts),
        v.OBJECT_NAME: objects.object_names(facts),
        v.COLUMN: objects.columns(facts),
        v.VERSION: object_versions(facts, line),
        v.ACCESS: accesses(facts, reads),
        v.COLUMN_DERIVATION: column_derivations(facts, reads),
        v.POLICY_ENFORCEMENT: policy_enforcements(facts, reads),
        v.JOIN: joins(facts),
        v.CHANGE: changes(facts),
        v.SETTING: settings(facts),
    }
    rendered = [render(table, node_class, account, base).select(*NODE_COLUMNS) for node_class, table in tables.items()]
    return reduce(lambda one, other: one.unionByName(other), rendered)


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
        F.expr(known("parent_query_id", query_path("parent_query_id"))).alias("parent_ref"),
        F.expr(known("root_query_id", query_path("root_query_id"))).alias("root_ref"),
    )


def unrecorded_queries(facts: Facts) -> DataFrame:
    """Parents and roots that have no row: known by their id alone."""
    named = facts.queries.select("account", F.explode(F.array("parent_query_id", "root_query_id")).alias("query_id"))
    known = facts.queries.select(*_QUERY)
    missing = named.filter(F.col("query_id").isNotNull()).distinct().join(known, on=list(_QUERY), how="left_anti")
    return missing.select("*", F.expr(query_path()).alias("path"))


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
    each = facts.queries.select(*_QUERY, F.posexplode("agents").alias("position", "agent"))
    return each.select(
        *_QUERY,
        F.expr(path(query_path(), "'association'", "cast(position as string)")).alias("path"),
        F.expr(agent_path("agent")).alias("agent_ref"),
        (F.col("position") + 1).alias("position"),
    )


def object_versions(facts: Facts, line: DataFrame) -> DataFrame:
    """One entity per version: made by a query, or only known to have been there."""
    made = versions.made(line)
    written = facts.writes.select(*_QUERY, "object_key", F.col("columns"), F.array("object_name").alias("written_as"))
    derived = facts.derivations.groupBy(*_QUERY, F.col("target_key").alias("object_key")).agg(
        F.array_sort(F.collect_set(F.expr(derivation_path()))).alias("derivation_refs")
    )
    data = (
        versions.reads(line)
        .filter("is_data")
        .select(*_QUERY, F.expr(path("object_key", "state")).alias("ref"), "is_base")
    )
    sources = data.groupBy(*_QUERY).agg(
        F.array_sort(F.collect_set("ref")).alias("derived_refs"),
        F.array_sort(F.collect_set(F.when(F.col("is_base"), F.col("ref")))).alias("derived_base_refs"),
    )
    of_version = [*_QUERY, "object_key"]
    whole = made.join(written, on=of_version, how="left").join(derived, on=of_version, how="left")
    by_query = whole.join(sources, on=list(_QUERY), how="left").select(
        "*", F.expr(query_path()).alias("generated_by_ref")
    )
    none = F.lit(None).cast("array<string>")
    unmade = versions.unmade(line).select(
        "*",
        *[F.lit(None).cast("string").alias(name) for name in ("query_id", "prior", "policy_body", "generated_by_ref")],
        F.lit(None).cast("timestamp").alias("at"),
        *[none.alias(name) for name in ("written_as", "derivation_refs", "derived_refs", "derived_base_refs")],
        F.lit(None).cast(WRITES["columns"]).alias("columns"),
    )
    every = by_query.unionByName(unmade).join(versions.ended(line), on=["account", "object_key", "state"], how="left")
    return every.select(
        *_QUERY,
        F.expr(path("object_key", "state")).alias("path"),
        F.expr(object_path()).alias("object_ref"),
        "generated_by_ref",
        F.col("at").alias("generated_at"),
        F.expr(known("prior", path("object_key", "prior"))).alias("prior_ref"),
        *("derived_refs", "derived_base_refs", "derivation_refs"),
        _columns().alias("column_refs"),
        F.array_compact("written_as").alias("object_names"),
        "policy_body",
        F.expr(known("ended_by", query_path("ended_by"))).alias("invalidated_by_ref"),
        F.col("ended_at").alias("invalidated_at"),
        _version_types().alias("types"),
    )


def _version_types() -> Column:
    made, unmade = (F.array(*[F.lit(name) for name in v.VERSION_CLASSES[is_made]]) for is_made in (True, False))
    return F.when(F.col("generated_by_ref").isNull(), unmade).otherwise(made)


def _columns() -> Column:
    names = "array_distinct(transform(columns, one -> one.column_name))"
    return F.expr(f"transform({names}, name -> {path('object_key', _literal('column'), segment('name'))})")


def _literal(word: str) -> str:
    return f"'{word}'"


def access_path() -> str:
    """``query/Q/access/KIND/OBJECT``."""
    return path(query_path(), "'access'", "lower(access)", "object_key")


def accesses(facts: Facts, reads: DataFrame) -> DataFrame:
    """One usage per query, kind of access and object: which version, and which of its columns."""
    placed = facts.accesses.join(reads.select(*_QUERY, "object_key", "state"), on=[*_QUERY, "object_key"], how="inner")
    return placed.select(
        *_QUERY,
        *("access", "object_name"),
        F.expr(access_path()).alias("path"),
        F.expr(path("object_key", "state")).alias("version_ref"),
        F.expr(object_path()).alias("object_ref"),
        _columns().alias("column_refs"),
    )


def derivation_path() -> str:
    """``OBJECT/version/QUERY/derivation/COLUMN/KIND/SOURCE[/column/COLUMN]``."""
    source = f"coalesce({column_path('source_column')}, object_key)"
    version = version_path(key="target_key")
    return path(version, "'derivation'", segment("target_column"), "lower(source_type)", source)


def column_derivations(facts: Facts, reads: DataFrame) -> DataFrame:
    """One derivation per written column, kind of source and source."""
    placed = facts.derivations.join(
        reads.select(*_QUERY, "object_key", "state"), on=[*_QUERY, "object_key"], how="inner"
    )
    return placed.select(
        *_QUERY,
        *("source_type", "object_name", "target_name"),
        F.expr(derivation_path()).alias("path"),
        F.expr(path("object_key", "state")).alias("version_ref"),
        F.expr(query_path()).alias("query_ref"),
        F.expr(object_path()).alias("object_ref"),
        F.expr(column_path("source_column")).alias("source_column_ref"),
        F.when(F.col("kind").isin(*ROUTINE_KINDS), F.col("object_key")).alias("function_ref"),
        F.expr(column_path("target_column", "target_key")).alias("target_column_ref"),
    )


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


def change_path() -> str:
    """``query/Q/change/OPERATION/OBJECT``."""
    return path(query_path(), "'change'", "change_key")


def setting_path() -> str:
    """``CHANGE/setting/[column/COLUMN/]PROPERTY[/ELEMENT]``."""
    column = known("column_name", path("'column'", segment("column_name")))
    return path(change_path(), "'setting'", column, segment("property"), known("element", segment("element")))


def changes(facts: Facts) -> DataFrame:
    """One activity per DDL change, part of its query."""
    said = facts.ddl_settings.groupBy(*_QUERY, "change_key").agg(
        F.array_sort(F.collect_set(F.expr(setting_path()))).alias("setting_refs")
    )
    whole = facts.ddl_changes.join(said, on=[*_QUERY, "change_key"], how="left")
    return whole.select(
        *_QUERY,
        *("query_start_time", "operation", "object_name", "new_name", "swap_name", "source_name"),
        *("policy_body", "comment", "properties", "setting_refs"),
        F.expr(change_path()).alias("path"),
        F.expr(query_path()).alias("query_ref"),
        F.expr(object_path()).alias("object_ref"),
        F.col("swap_key").alias("swap_ref"),
        F.col("source_key").alias("source_ref"),
    )


def settings(facts: Facts) -> DataFrame:
    """One node per property, or element of one, that a change says."""
    return facts.ddl_settings.select(
        *_QUERY,
        *("property", "element", "element_id", "sub_operation", "value"),
        F.expr(setting_path()).alias("path"),
        F.expr(object_path()).alias("object_ref"),
        F.expr(column_path("column_name")).alias("column_ref"),
        F.col("element_key").alias("element_ref"),
        objects.setting_types().alias("types"),
    )
