"""Nodes of what was read and written: versions of objects and of columns, accesses, derivations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import ROUTINE_KINDS, segment
from exporter.rdf import versions
from exporter.rdf.iri import column_path, known, object_path, path, query_path, version_path
from exporter.rdf.kinds import COLUMN_VERSION_CLASSES, VERSION_CLASSES
from exporter.schemas import WRITES
from exporter.sql import literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts

_QUERY: Final = ("account", "query_id")


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
        *[F.lit(None).cast("timestamp").alias(name) for name in ("at", "valid_until")],
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
        "valid_until",
        F.expr(known("prior", path("object_key", "prior"))).alias("prior_ref"),
        *("derived_refs", "derived_base_refs", "derivation_refs"),
        _columns().alias("column_refs"),
        F.array_compact("written_as").alias("object_names"),
        "policy_body",
        F.expr(known("ended_by", query_path("ended_by"))).alias("invalidated_by_ref"),
        F.col("ended_at").alias("invalidated_at"),
        _version_types().alias("types"),
    )


def _version_types(classes: Mapping[bool, tuple[str, ...]] = VERSION_CLASSES) -> Column:
    """The classes of a version, by whether a query on record made it."""
    made, unmade = (F.array(*[F.lit(name) for name in classes[is_made]]) for is_made in (True, False))
    return F.when(F.col("generated_by_ref").isNull(), unmade).otherwise(made)


def column_versions(line: DataFrame) -> DataFrame:
    """One entity per version of a column: written by a query, or only known to have been there."""
    column, state = path("'column'", segment("column_name")), path("object_key", "state")
    return (
        versions.of_columns(line)
        .selectExpr(
            *("account", "query_id"),
            f"{path('object_key', 'state', column)} AS path",
            f"{path('object_key', column)} AS column_ref",
            f"{state} AS version_ref",
            f"{known('query_id', query_path())} AS generated_by_ref",
            f"{known('prior', path('object_key', 'prior', column))} AS prior_ref",
            "source_refs AS derived_refs",
        )
        .select("*", _version_types(COLUMN_VERSION_CLASSES).alias("types"))
    )


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


def column_derivations(line: DataFrame) -> DataFrame:
    """One derivation per written column, kind of source and source."""
    is_routine = f"kind IN ({literals(ROUTINE_KINDS)})"
    source = path("object_key", "column_state", "'column'", segment("source_column"))
    target = path(version_path(key="target_key"), "'column'", segment("target_column"))
    return versions.sources(line).selectExpr(
        *("account", "query_id", "source_type", "object_name", "target_name"),
        f"{derivation_path()} AS path",
        f"{path('object_key', 'state')} AS version_ref",
        f"{query_path()} AS query_ref",
        f"{object_path()} AS object_ref",
        f"{column_path('source_column')} AS source_column_ref",
        f"{known('source_column', source)} AS source_column_version_ref",
        f"CASE WHEN {is_routine} THEN object_key END AS function_ref",
        f"{column_path('target_column', 'target_key')} AS target_column_ref",
        f"{target} AS target_column_version_ref",
    )
