"""Nodes of DDL: changes, and everything that they set and unset, with when it held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import segment
from exporter.rdf.iri import column_path, known, object_path, path, query_path
from exporter.rdf.kinds import SETTING_CLASSES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts

_QUERY: Final = ("account", "query_id")


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
    """One node per property, or element of one, that a change says; of tags and policies, with when they held."""
    return with_intervals(facts.ddl_settings).select(
        *_QUERY,
        *("property", "element", "element_id", "sub_operation", "value", "valid_from", "valid_until"),
        F.expr(setting_path()).alias("path"),
        F.expr(object_path()).alias("object_ref"),
        F.expr(column_path("column_name")).alias("column_ref"),
        F.col("element_key").alias("element_ref"),
        _setting_types().alias("types"),
    )


def with_intervals(settings: DataFrame) -> DataFrame:
    """The settings with ``valid_from`` and ``valid_until`` of tags and policies that were set: from the change to the
    next one of the same tag or policy on the same object or column, None while it holds.
    """
    one = "PARTITION BY account, object_key, column_name, property, coalesce(element_key, element)"
    following = f"lead(query_start_time) OVER ({one} ORDER BY query_start_time, query_id, change_key)"
    is_set = "element_key IS NOT NULL AND NOT sub_operation <=> 'DROP'"
    return settings.selectExpr("*", f"{following} AS following").selectExpr(
        "*",
        f"CASE WHEN {is_set} THEN query_start_time END AS valid_from",
        f"CASE WHEN {is_set} THEN following END AS valid_until",
    )


def _setting_types() -> Column:
    """The class of a setting by its property; without an element it is a plain property."""
    known = F.create_map(*[F.lit(part) for pair in SETTING_CLASSES.items() for part in pair])
    policy = F.when(F.col("property").endswith("Policies"), "ah:PolicySetting")
    special = F.coalesce(F.element_at(known, F.col("property")), policy)
    plain = F.when(F.col("element").isNull(), "ah:PropertySetting")
    return F.array_compact(F.array(F.coalesce(plain, special), F.lit("ah:Setting")))
