"""Facts -> OpenLineage events, one JSON text each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from exporter.openlineage.bodies import with_texts
from exporter.openlineage.datasets import dataset_events
from exporter.openlineage.grouped import by_query, identity, known_fields, with_known_fields
from exporter.openlineage.named import with_names
from exporter.openlineage.naming import job_name
from exporter.openlineage.parents import family_pieces, prefixes
from exporter.openlineage.pieces import pieces

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

EVENT_COLUMNS: Final = ("account", "query_id", "event_time", "event_type", "job_name", "event")
"""One row per event. ``query_id`` and ``job_name`` are None for the events of datasets (``event_type`` DATASET);
``event`` is the JSON text."""


def events(facts: Facts, settings: OpenLineageSettings) -> DataFrame:
    """Every event of the facts: START and COMPLETE of each query, and one for each dataset with all its columns."""
    fields = known_fields(facts, settings)
    runs = run_events(facts, fields, settings)
    return runs.unionByName(dataset_events(facts, fields, settings)) if settings.dataset_events else runs


def run_events(facts: Facts, fields: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The events of queries (:data:`EVENT_COLUMNS`); ``fields``: the columns known of each object."""
    told = pieces(facts, settings)
    everything = told.unionByName(family_pieces(facts, told, settings)).repartition("account", "query_id")
    named = with_known_fields(everything, fields).transform(with_names, settings)
    queries = by_query(named, settings)
    sent = queries if settings.reads else queries.filter(F.size("outputs") > 0)
    return sent.transform(_with_job, settings).transform(with_texts, settings).select(*EVENT_COLUMNS)


def _with_job(queries: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    name = job_name(
        prefixes(F.col("query"), settings),
        F.sort_array(F.array_distinct("changes.verb")),
        F.transform("inputs", identity),
        F.transform("outputs", identity),
        F.sort_array(F.array_distinct(F.array_compact(F.concat("changes.subject", "routines.subject")))),
    )
    return queries.withColumn("job_name", name)
