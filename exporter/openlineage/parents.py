"""The job names of queries that others name as their parent or root.

A backend knows a parent by the name that it was sent under (Marquez makes a second job of any other name), so the
names are made here by the same rule, from the pieces of those few queries alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.openlineage.named import with_names
from exporter.openlineage.naming import UNRECORDED_JOB, job_name
from exporter.openlineage.pieces import COLUMN, FAMILY, INPUT, OUTPUT, POLICY, TAG, JOIN, piece

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

_NAMELESS = (POLICY, JOIN, TAG)
"""Parts that a job's name does not depend on."""


def family_pieces(facts: Facts, pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """A piece for the parent and one for the root of every query that has them, with their jobs' names."""
    relatives = F.array(
        F.struct(F.lit("parent").alias("role"), F.col("parent_query_id").alias("relative_id")),
        F.struct(F.lit("root").alias("role"), F.col("root_query_id").alias("relative_id")),
    )
    children = facts.queries.filter(F.col("parent_query_id") != F.col("query_id"))
    family = children.select("account", "query_id", F.inline(relatives)).filter(F.col("relative_id").isNotNull())
    wanted = family.select("account", F.col("relative_id").alias("query_id"))
    told = pieces.filter(~F.col("part").isin(*_NAMELESS)).join(wanted, ["account", "query_id"], how="left_semi")
    names = job_names(told, settings).withColumnRenamed("query_id", "relative_id")
    named = family.join(names, ["account", "relative_id"], how="left")
    job = F.coalesce("job_name", F.lit(UNRECORDED_JOB))
    return piece(named, FAMILY, F.lit(None), F.lit(None), relative=F.struct("role", "relative_id", job))


def job_names(pieces: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """Account, query id and the name of its job, for queries that have a row."""
    named = pieces.transform(with_names, settings)
    is_source = (F.col("part") == COLUMN) & F.get("columns", F.lit(0)).isNotNull()
    is_input = (F.col("part") == INPUT) | is_source
    grouped = named.groupBy("account", "query_id").agg(
        F.collect_list("query").alias("queries"),
        F.collect_set("verb").alias("verbs"),
        F.collect_set(F.when(is_input, F.col("dataset"))).alias("inputs"),
        F.collect_set(F.when(F.col("part") == OUTPUT, F.col("dataset"))).alias("outputs"),
        F.collect_set("subject").alias("subjects"),
    )
    sets = (F.sort_array(name) for name in ("verbs", "inputs", "outputs", "subjects"))
    name = job_name(prefixes(F.get("queries", F.lit(0)), settings), *sets)
    return grouped.filter(F.size("queries") > 0).select("account", "query_id", name.alias("job_name"))


def prefixes(query: Column, settings: OpenLineageSettings) -> Column:
    """What of QUERY_HISTORY goes before a job's name, as an array without nulls."""
    given = [F.when(query[name] != "", query[name]) for name in settings.job_name_from]
    return F.array_compact(F.array(*given)) if given else F.array().cast("array<string>")
