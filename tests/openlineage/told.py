"""The events of one export of everything; of the same rows with other settings; and with QUERY_HISTORY."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from exporter.engines import local
from exporter.input.reading import Record
from exporter.openlineage.settings import OpenLineageSettings
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import To
from tests import exports
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]
HISTORY: Final = {
    "query_text": "select 'a'\n-- ü",
    "query_type": "INSERT",
    "query_tag": "nightly",
    "role_name": "LOADER",
    "warehouse_name": "WH",
    "query_parameterized_hash": "0123abcd",
    "rows_inserted": 5,
    "rows_updated": 2,
    "rows_deleted": 0,
    "rows_produced": 9,
}
LASTED: Final = timedelta(seconds=1.5)
OWNERS: Final = ("run", "job", "dataset", "inputs", "outputs")


@cache
def events() -> tuple[Json, ...]:
    return tuple(json.loads(text) for text in exports.events(exports.everything()))


def texts(rows: Iterable[Json], *, history: Iterable[Json] = (), **settings: Any) -> list[str]:
    """The events of rows under these settings, with these lines of QUERY_HISTORY, as they are written."""
    chosen = OpenLineageSettings(**settings)
    job = ExportJob(exports.ACCOUNT, "urn:tests/", graph=False, validate=False, query_text=True, openlineage=chosen)
    made = local.export_records([*_records(rows), *_records(history, is_history=True)], job)
    return [text for message in made if message.to == To.EVENTS for text in message.body.decode().split("\n")]


def _records(rows: Iterable[Json], *, is_history: bool = False) -> Iterator[Record]:
    for row in rows:
        yield Record("rows.ndjson", 0, "line", json.dumps(row, ensure_ascii=False), is_history=is_history)


@cache
def history() -> tuple[Json, ...]:
    """A line of QUERY_HISTORY for every query. Those of two accounts with one id have one, which ends after both."""
    ends: dict[str, Any] = {}
    for row in exports.all_rows():
        end = plain.time(row["query_start_time"]) + LASTED
        ends[row["query_id"]] = max(end, ends.get(row["query_id"], end))
    return tuple({**HISTORY, "query_id": one, "end_time": end.isoformat()} for one, end in ends.items())


def sent(*, history: Iterable[Json] = (), **settings: Any) -> list[Json]:
    """The events of everything under these settings."""
    return [json.loads(text) for text in texts(exports.all_rows(), history=history, **settings)]


@cache
def events_with_history() -> tuple[Json, ...]:
    """The events as if QUERY_HISTORY had told of every query, its text among what is sent."""
    return tuple(sent(history=history(), sql=True))


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
