"""Events of datasets: each with every column that is known of it, to be sent before the runs.

A backend keeps a column's edge only where it knows the source's column, and shows a dataset with the columns that it
was told of; a query tells of those that it touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.facts.identifiers import UNKNOWN_KIND, canonical_name
from exporter.openlineage.bodies import event_text
from exporter.openlineage.facets import Facets
from exporter.openlineage.naming import dataset
from exporter.openlineage.pieces import DATASET_KINDS, OBJECT
from exporter.openlineage.sql import literals, sorted_set, struct

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

DATASET: Final = "DATASET"
_SEVERAL: Final = ("domain", "argument_signature", "data_type", "stage_kind", "location", "object_account")


def dataset_events(facts: Facts, known: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One event per dataset, at the time of the account's first query, so that it comes before all others.

    Objects that had one name one after the other (a table that was made anew) are one dataset, with the columns of
    all. Things that the rows only name (a policy, a role) are no datasets.
    """
    shown = facts.objects.filter(f"kind IN ({literals((*DATASET_KINDS, UNKNOWN_KIND))})")
    names = facts.names.select("account", "object_key", F.col("name").alias("object_name")).distinct()
    named = shown.join(names, ["account", "object_key"], how="left")
    told = named.join(known, ["account", "object_key"], how="left").transform(_told, settings)
    begun = facts.queries.groupBy("account").agg(F.min("query_start_time").alias("event_time"))
    return told.join(F.broadcast(begun), "account", how="inner").transform(_rows, settings)


def _told(objects: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """One row per dataset: the objects that had its name, as one. Of several domains the most telling is shown, which
    comes first in the alphabet (DYNAMIC TABLE before TABLE).
    """
    thing = struct({name: f"array_min({name}s)" if name in _SEVERAL else name for name in OBJECT})
    single = objects.withColumn("canonical", canonical_name(F.col("object_name")))
    things = single.selectExpr("account", "canonical", "known", f"{thing} AS thing")
    named = things.selectExpr("account", "known", "thing", f"{dataset('thing', 'canonical', settings)} AS dataset")
    grouped = named.groupBy("account", "dataset").agg(
        F.max("thing").alias("object"), F.collect_list("known").alias("ks")
    )
    return grouped.selectExpr("account", "dataset.*", "object", f"{sorted_set('flatten(ks)')} AS known")


def _rows(datasets: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    told = datasets.selectExpr("account", "event_time", "struct(namespace, name, object, known) AS d")
    facets = struct(Facets(settings).of_dataset("d"))
    body = struct({"namespace": "d.namespace", "name": "d.name", "facets": facets})
    columns = {
        "query_id": "CAST(NULL AS string)",
        "event_type": f"'{DATASET}'",
        "job_name": "CAST(NULL AS string)",
        "event": event_text("DatasetEvent", "event_time", settings, {"dataset": body}),
    }
    return told.selectExpr("account", "event_time", *(f"{value} AS {name}" for name, value in columns.items()))
