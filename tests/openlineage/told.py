"""The events of one export of everything, the facts that they were made from, and what QUERY_HISTORY would add."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F

from exporter.facts import Facts
from exporter.openlineage.events import events as made
from exporter.openlineage.settings import OpenLineageSettings
from exporter.schemas import FACTS
from tests import exports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

Json = dict[str, Any]
HISTORY: Final = {
    "query_text": "select 'a'\n-- ü",
    "query_type": "INSERT",
    "query_tag": "nightly",
    "role_name": "LOADER",
    "warehouse_name": "WH",
    "query_parameterized_hash": "0123abcd",
}
COUNTS: Final = {"rows_inserted": 5, "rows_updated": 2, "rows_deleted": 0, "rows_produced": 9}
OWNERS: Final = ("run", "job", "dataset", "inputs", "outputs")


@cache
def events() -> tuple[Json, ...]:
    return tuple(json.loads(text) for text in exports.events(exports.everything()))


def runs(kind: str = "COMPLETE") -> dict[tuple[str, str], Json]:
    """The events of one type by account and query id."""
    found = [event for event in events() if event.get("eventType") == kind]
    by_query = {(account(event), query_id(event)): event for event in found}
    assert len(by_query) == len(found), "two events of one type for one query"
    return by_query


def datasets() -> list[Json]:
    return [event for event in events() if "dataset" in event]


def account(event: Json) -> str:
    return str(event["job"]["namespace"]).removeprefix("snowflake://")


def query_id(event: Json) -> str:
    return str(event["run"]["facets"]["externalQuery"]["externalQueryId"])


def names(datasets: list[Json]) -> list[tuple[str, str]]:
    return [(one["namespace"], one["name"]) for one in datasets]


def facets(event: Json) -> Iterator[tuple[str, Json]]:
    """Every facet of an event with its key."""
    things = [event[name] for name in OWNERS if isinstance(event.get(name), dict)]
    things += [one for name in OWNERS if isinstance(event.get(name), list) for one in event[name]]
    for thing in things:
        for holder in ("facets", "inputFacets", "outputFacets"):
            yield from thing.get(holder, {}).items()


def facts(spark: SparkSession) -> Facts:
    """The facts of the same export, to make events from under other settings."""
    folder = exports.everything() / "facts"
    return Facts(**{name: spark.read.parquet(str(folder / name)) for name in FACTS})


def with_history(facts: Facts) -> Facts:
    """The same facts as if QUERY_HISTORY had told of every query."""
    columns = {name: F.lit(value) for name, value in HISTORY.items()}
    counts = {name: F.lit(value).cast("bigint") for name, value in COUNTS.items()}
    ended = F.col("query_start_time") + F.expr("INTERVAL 1.5 SECOND")
    queries = facts.queries.withColumns({**columns, **counts}).withColumn("end_time", ended)
    return Facts(**{**dict(facts.tables()), "queries": queries})


@cache
def events_with_history(spark: SparkSession) -> tuple[Json, ...]:
    """The events of the same export with a row of QUERY_HISTORY for every query, its text among what is sent."""
    found = made(with_history(facts(spark)), OpenLineageSettings(sql=True))
    return tuple(json.loads(row.event) for row in found.select("event").collect())
