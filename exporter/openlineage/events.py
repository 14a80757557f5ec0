"""Facts -> OpenLineage events, one JSON text each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.bodies import with_texts
from exporter.openlineage.datasets import dataset_events
from exporter.openlineage.grouped import by_query, known_fields, with_jobs, with_known_fields
from exporter.openlineage.kin import with_roles
from exporter.openlineage.named import with_names
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
    known = known_fields(facts, settings)
    runs = run_events(facts, known, settings)
    return runs.unionByName(dataset_events(facts, known, settings)) if settings.dataset_events else runs


def run_events(facts: Facts, known: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The events of queries (:data:`EVENT_COLUMNS`); ``known``: the columns known of each object."""
    told = with_roles(pieces(facts, settings), facts).repartition("account", "query_id")
    named = with_known_fields(told, known).transform(with_names, settings)
    queries = by_query(named, settings)
    sent = queries if settings.reads else queries.filter("size(outputs) > 0")
    return sent.transform(with_jobs, settings).transform(with_texts, settings).select(*EVENT_COLUMNS)
