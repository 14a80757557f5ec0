"""Facts -> OpenLineage events, one JSON text each. Start reading here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from exporter.openlineage.datasets import dataset_events, datasets, spellings
from exporter.openlineage.grouped import by_query, with_datasets
from exporter.openlineage.jobs import with_jobs, with_unlisted
from exporter.openlineage.kin import with_roles
from exporter.openlineage.pieces import pieces
from exporter.openlineage.texts import with_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.openlineage.settings import OpenLineageSettings

EVENT_COLUMNS: Final = ("account", "query_id", "event_time", "event_type", "job_name", "event")
"""One row per event. ``query_id`` and ``job_name`` are None for the events of datasets (``event_type`` DATASET);
``event`` is the JSON text."""


def events(
    facts: Facts, settings: OpenLineageSettings, keep: Callable[[str, DataFrame], DataFrame] = lambda _, table: table
) -> DataFrame:
    """Every event of the facts: START and COMPLETE of each query, and one for each dataset with all its columns.

    ``keep`` stores a table under its name and returns it as stored: the datasets are read for both kinds of events.
    """
    named = keep("datasets", datasets(facts, settings))
    runs = run_events(facts, named, settings)
    return runs.unionByName(dataset_events(facts, named, settings)) if settings.dataset_events else runs


def run_events(facts: Facts, named: DataFrame, settings: OpenLineageSettings) -> DataFrame:
    """The events of queries (:data:`EVENT_COLUMNS`); ``named``: the datasets that the rows name."""
    told = with_roles(pieces(facts, settings), facts).repartition("account", "query_id")
    queries = by_query(with_datasets(told, spellings(named)), settings).transform(with_unlisted)
    sent = queries if settings.reads else queries.filter("size(outputs) > 0")
    return sent.transform(with_jobs, settings).transform(with_texts, settings).select(*EVENT_COLUMNS)
