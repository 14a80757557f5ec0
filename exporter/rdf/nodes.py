"""Facts -> nodes: one table per class, one row per subject, one column per property of the vocabulary."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.identifiers import ROUTINE_KINDS, segment
from exporter.rdf import objects, versions
from exporter.rdf import vocabulary as v
from exporter.rdf.iri import column_path, object_path, path, query_path, user_path
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


def _per_query(table: DataFrame, ref: Column, name: str) -> DataFrame:
    return table.groupBy(*_QUERY).agg(F.array_sort(F.collect_set(ref)).alias(name))


def queries(facts: Facts, reads: DataFrame) -> DataFrame:
    """One activity per query, with everything that is part of it."""
    used = _per_query(reads.filter("is_data"), path(F.col("object_key"), F.col("state")), "used_refs")
    parts = [
        used,
        _per_query(facts.accesses, access_path(), "access_refs"),
        _per_query(facts.policy_references, enforcement_path(), "enforcement_refs"),
        _per_query(facts.joins, join_path(), "join_refs"),
        _per_query(facts.ddl_changes, change_path(), "change_refs"),
    ]
    whole = reduce(lambda one, other: one.join(other, on=list(_QUERY), how="left"), parts, facts.queries)
    agents = F.transform("agents", lambda one: agent_path(one))
    at = F.transform("agents", lambda _, number: path(query_path(), "association", number.cast("string")))
    return whole.select(
        "*",
        query_path().alias("path"),
        F.array_distinct(F.concat(F.array(user_path()), agents)).alias("agent_refs"),
        at.alias("association_refs"),
        F.when(F.col("parent_query_id").isNotNull(), query_path("parent_query_id")).alias("parent_ref"),
        F.when(F.col("root_query_id").isNotNull(), query_path("root_query_id")).alias("root_ref"),
    )


def unrecorded_queries(facts: Facts) -> DataFrame:
    """Parents and roots that have no row: known by their id alone."""
    named = facts.queries.select("account", F.explode(F.array("parent_query_id", "root_query_id")).alias("query_id"))
    known = facts.queries.select(*_QUERY)
    missing = named.filter(F.col("query_id").isNotNull()).distinct().join(known, on=list(_QUERY), how="left_anti")
    return missing.select("*", query_path().alias("path"))


def users(facts: Facts) -> DataFrame:
    """One agent per user."""
    return facts.queries.select("account", "user_name").distinct().select("*", user_path().alias("path"))


def agent_path(agent: Column) -> Column:
    """``agent/type/TYPE/id/ID``, by name where no id is given."""
    kind = F.concat(F.lit("type/"), segment(agent["agent_type"]))
    named = F.concat(F.lit("name/"), segment(F.coalesce(agent["agent_name"], F.lit(""))))
    return path("agent", kind, F.coalesce(F.concat(F.lit("id/"), segment(agent["agent_id"])), named))


def software_agents(facts: Facts) -> DataFrame:
    """One agent per agent of agents_info."""
    each = facts.queries.select("account", F.explode("agents").alias("agent"))
    flat = each.select("account", agent_path(F.col("agent")).alias("path"), "agent.*")
    return flat.groupBy("account", "path", "agent_type", "agent_id").agg(
        F.array_sort(F.collect_set("agent_name")).alias("agent_names")
    )


def agent_associations(facts: Facts) -> DataFrame:
    """Which place an agent had in the chain that led to a query: 1 is the nearest."""
    each = facts.queries.select(*_QUERY, F.posexplode("agents").alias("position", "agent"))
    return each.select(
        *_QUERY,
        path(query_path(), "association", F.col("position").cast("string")).alias("path"),
        agent_path(F.col("agent")).alias("agent_ref"),
        (F.col("position") + 1).alias("position"),
    )


def object_versions(facts: Facts, line: DataFrame) -> DataFrame:
    """One entity per version: made by a query, or only known to have been there."""
    made = versions.made(line)
    written = facts.writes.select(*_QUERY, "object_key", F.col("columns"), F.array("object_name").alias("written_as"))
    derived = facts.derivations.groupBy(*_QUERY, F.col("target_key").alias("object_key")).agg(
        F.array_sort(F.collect_set(derivation_path())).alias("derivation_refs")
    )
    data = (
        versions.reads(line)
        .filter("is_data")
        .select(*_QUERY, path(F.col("object_key"), F.col("state")).alias("ref"), "is_base")
    )
    sources = data.groupBy(*_QUERY).agg(
        F.array_sort(F.collect_set("ref")).alias("derived_refs"),
        F.array_sort(F.collect_set(F.when(F.col("is_base"), F.col("ref")))).alias("derived_base_refs"),
    )
    of_version = [*_QUERY, "object_key"]
    whole = made.join(written, on=of_version, how="left").join(derived, on=of_version, how="left")
    by_query = whole.join(sources, on=list(_QUERY), how="left").select("*", query_path().alias("generated_by_ref"))
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
        path(F.col("object_key"), F.col("state")).alias("path"),
        object_path().alias("object_ref"),
        "generated_by_ref",
        F.col("at").alias("generated_at"),
        F.when(F.col("prior").isNotNull(), path(F.col("object_key"), F.col("prior"))).alias("prior_ref"),
        *("derived_refs", "derived_base_refs", "derivation_refs"),
        _columns().alias("column_refs"),
        F.array_compact("written_as").alias("object_names"),
        "policy_body",
        F.when(F.col("ended_by").isNotNull(), query_path("ended_by")).alias("invalidated_by_ref"),
        F.col("ended_at").alias("invalidated_at"),
        _version_types().alias("types"),
    )


def _version_types() -> Column:
    is_unmade = F.col("generated_by_ref").isNull()
    plain = F.array(F.lit("ah:Version"), F.lit("prov:Entity"))
    return F.when(
        is_unmade, F.array(F.lit("ah:UnrecordedVersion"), F.lit("ah:Version"), F.lit("prov:Entity"))
    ).otherwise(plain)


def _columns() -> Column:
    names = F.array_distinct(F.transform("columns", lambda one: one["column_name"]))
    return F.transform(names, lambda name: path(F.col("object_key"), "column", segment(name)))


def access_path() -> Column:
    """``query/Q/access/KIND/OBJECT``."""
    return path(query_path(), "access", F.lower("access"), F.col("object_key"))


def accesses(facts: Facts, reads: DataFrame) -> DataFrame:
    """One usage per query, kind of access and object: which version, and which of its columns."""
    placed = facts.accesses.join(reads.select(*_QUERY, "object_key", "state"), on=[*_QUERY, "object_key"], how="inner")
    return placed.select(
        *_QUERY,
        *("access", "object_name"),
        access_path().alias("path"),
        path(F.col("object_key"), F.col("state")).alias("version_ref"),
        object_path().alias("object_ref"),
        _columns().alias("column_refs"),
    )


def derivation_path() -> Column:
    """``OBJECT/version/QUERY/derivation/COLUMN/KIND/SOURCE[/column/COLUMN]``."""
    source = F.coalesce(column_path("source_column"), F.col("object_key"))
    version = path(F.col("target_key"), "version", segment(F.col("query_id")))
    return path(version, "derivation", segment(F.col("target_column")), F.lower("source_type"), source)


def column_derivations(facts: Facts, reads: DataFrame) -> DataFrame:
    """One derivation per written column, kind of source and source."""
    placed = facts.derivations.join(
        reads.select(*_QUERY, "object_key", "state"), on=[*_QUERY, "object_key"], how="inner"
    )
    return placed.select(
        *_QUERY,
        *("source_type", "object_name", "target_name"),
        derivation_path().alias("path"),
        path(F.col("object_key"), F.col("state")).alias("version_ref"),
        query_path().alias("query_ref"),
        object_path().alias("object_ref"),
        column_path("source_column").alias("source_column_ref"),
        F.when(F.col("kind").isin(*ROUTINE_KINDS), F.col("object_key")).alias("function_ref"),
        column_path("target_column", "target_key").alias("target_column_ref"),
    )


def enforcement_path() -> Column:
    """``query/Q/enforced/POLICY/on/OBJECT[/column/COLUMN]``, a provider's apart."""
    side = F.when(F.col("provider"), "enforced-by-provider").otherwise("enforced")
    return path(
        query_path(), side, F.col("policy_key"), "on", F.coalesce(column_path("column_name"), F.col("object_key"))
    )


def policy_enforcements(facts: Facts, reads: DataFrame) -> DataFrame:
    """One node per query, policy and what it protects, with the version of the policy that was in force."""
    states = reads.select(*_QUERY, F.col("object_key").alias("policy_key"), "state")
    placed = facts.policy_references.join(states, on=[*_QUERY, "policy_key"], how="inner")
    return placed.select(
        *_QUERY,
        *("policy_kind", "policy_name", "object_name", "provider"),
        enforcement_path().alias("path"),
        F.col("policy_key").alias("policy_ref"),
        path(F.col("policy_key"), F.col("state")).alias("policy_version_ref"),
        object_path().alias("object_ref"),
        column_path("column_name").alias("column_ref"),
    )


def join_path() -> Column:
    """``query/Q/join/type/TYPE/LEFT/with/RIGHT``."""
    kind = F.coalesce(F.concat(F.lit("type/"), segment(F.col("join_type"))), F.lit("untyped"))
    return path(query_path(), "join", kind, F.col("left_key"), "with", F.col("object_key"))


def joins(facts: Facts) -> DataFrame:
    """One node per join."""
    return facts.joins.select(
        *_QUERY,
        *("left_name", "join_type", "object_name"),
        join_path().alias("path"),
        object_path("left_key").alias("left_ref"),
        object_path().alias("right_ref"),
    )


def change_path() -> Column:
    """``query/Q/change/OPERATION/OBJECT``."""
    return path(query_path(), "change", F.col("change_key"))


def setting_path() -> Column:
    """``CHANGE/setting/[column/COLUMN/]PROPERTY[/ELEMENT]``."""
    column = F.when(F.col("column_name").isNotNull(), path("column", segment(F.col("column_name"))))
    element = F.when(F.col("element").isNotNull(), segment(F.col("element")))
    return path(change_path(), "setting", column, segment(F.col("property")), element)


def changes(facts: Facts) -> DataFrame:
    """One activity per DDL change, part of its query."""
    said = facts.ddl_settings.groupBy(*_QUERY, "change_key").agg(
        F.array_sort(F.collect_set(setting_path())).alias("setting_refs")
    )
    whole = facts.ddl_changes.join(said, on=[*_QUERY, "change_key"], how="left")
    return whole.select(
        *_QUERY,
        *("query_start_time", "operation", "object_name", "new_name", "swap_name", "source_name"),
        *("policy_body", "comment", "properties", "setting_refs"),
        change_path().alias("path"),
        query_path().alias("query_ref"),
        object_path().alias("object_ref"),
        F.col("swap_key").alias("swap_ref"),
        F.col("source_key").alias("source_ref"),
    )


def settings(facts: Facts) -> DataFrame:
    """One node per property, or element of one, that a change says."""
    return facts.ddl_settings.select(
        *_QUERY,
        *("property", "element", "element_id", "sub_operation", "value"),
        setting_path().alias("path"),
        object_path().alias("object_ref"),
        column_path("column_name").alias("column_ref"),
        F.col("element_key").alias("element_ref"),
        objects.setting_types().alias("types"),
    )
