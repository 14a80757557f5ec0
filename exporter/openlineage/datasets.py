"""Events of datasets: each with every column that is known of it, to be sent before the runs.

A backend keeps a column's edge only where it knows the source's column, and shows a dataset with the columns that it
was told of; a query tells of those that it touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from exporter.facts.identifiers import UNKNOWN_KIND, canonical_name
from exporter.openlineage.bodies import dataset_facets, event_text
from exporter.openlineage.facets import Facets
from exporter.openlineage.naming import dataset
from exporter.openlineage.pieces import DATASET_KINDS, OBJECT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

DATASET = "DATASET"


def dataset_events(facts: Facts, fields: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One event per dataset, at the time of the account's first query, so that it comes before all others.

    Objects that had one name one after the other (a table that was made anew) are one dataset, with the columns of
    all. Things that the rows only name (a policy, a role) are no datasets.
    """
    shown = facts.objects.filter(F.col("kind").isin(*DATASET_KINDS, UNKNOWN_KIND))
    names = facts.names.select("account", "object_key", F.col("name").alias("object_name")).distinct()
    named = shown.join(names, ["account", "object_key"], how="left")
    told = named.join(fields, ["account", "object_key"], how="left").transform(_told, settings)
    starts = facts.queries.groupBy("account").agg(F.min("query_start_time").alias("event_time"))
    return told.join(F.broadcast(starts), "account", how="inner").transform(_rows, settings)


def _told(objects: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One row per dataset: the objects that had its name, as one. Of several domains the most telling is shown, which
    comes first in the alphabet (DYNAMIC TABLE before TABLE).
    """
    thing = F.struct(*(_one_of(name).alias(name) for name in OBJECT))
    single = objects.select(
        "account", "known", thing.alias("thing"), canonical_name(F.col("object_name")).alias("name")
    )
    named = single.withColumn("dataset", dataset(F.col("account"), F.col("thing"), F.col("name"), settings))
    return named.groupBy("account", "dataset").agg(
        F.max("thing").alias("object"),
        F.sort_array(F.array_distinct(F.flatten(F.collect_list("known")))).alias("known"),
    )


_SEVERAL = frozenset(("domain", "argument_signature", "data_type", "stage_kind", "location", "object_account"))


def _one_of(name: str) -> Column:
    return F.array_min(f"{name}s") if name in _SEVERAL else F.col(name)


def _rows(datasets: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    told = F.struct("dataset.namespace", "dataset.name", "object", "known")
    facets = F.struct(*dataset_facets(Facets(settings), told)).alias("facets")
    body = F.struct("dataset.namespace", "dataset.name", facets).alias("dataset")
    none = F.lit(None).cast("string")
    return datasets.select(
        "account",
        none.alias("query_id"),
        "event_time",
        F.lit(DATASET).alias("event_type"),
        none.alias("job_name"),
        event_text("DatasetEvent", F.col("event_time"), settings, body).alias("event"),
    )
