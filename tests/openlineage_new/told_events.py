"""Rows -> the events of their queries and datasets, without an engine; the events of the examples and of random
histories; and what QUERY_HISTORY would add.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from exporter.openlineage import datasets as names
from exporter.openlineage.events import Event, run_events
from exporter.openlineage.jobs import job_of, parent_id, root_id
from exporter.openlineage.naming import job_name
from exporter.openlineage.settings import OpenLineageSettings
from exporter.queries import mentions
from exporter.queries.build import account_of, distinct, query_facts
from exporter.queries.facts import History, QueryFacts
from exporter.queries.spoken import spoken
from exporter.queries.tables import rows_of
from exporter.rows.reading import read_line
from exporter.rows.row import Row
from exporter.things.answers import Answers, Dataset
from tests import exports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exporter.things.lives import Profile

Json = dict[str, Any]
Query = tuple[str, str]
DEFAULTS: Final = OpenLineageSettings()
HISTORY: Final = History(
    query_text="select 'a'\n-- ü",
    query_type="INSERT",
    query_tag="nightly",
    role_name="LOADER",
    warehouse_name="WH",
    query_parameterized_hash="0123abcd",
    rows_inserted=5,
    rows_updated=2,
    rows_deleted=0,
    rows_produced=9,
)
OWNERS: Final = ("run", "job", "dataset", "inputs", "outputs")


# --- rows -> facts ----------------------------------------------------------------------------------------------------


def queries_of(rows: Iterable[Json], account: str = exports.ACCOUNT) -> dict[Query, QueryFacts]:
    """The facts of all queries, by account and query id."""
    found: dict[Query, list[Row]] = {}
    for one in rows:
        row = read_line(json.dumps(one, ensure_ascii=False))
        assert isinstance(row, Row), row
        found.setdefault((account_of(row, account), row.query_id), []).append(row)
    return {key: query_facts(key[0], distinct(of_query)) for key, of_query in found.items()}


@cache
def all_queries() -> dict[Query, QueryFacts]:
    return queries_of(exports.all_rows())


def with_history(queries: dict[Query, QueryFacts]) -> dict[Query, QueryFacts]:
    """The same facts as if QUERY_HISTORY had told of every query, and that each took a second and a half."""
    return {
        key: replace(query, history=replace(HISTORY, end_time=query.start + 1_500_000))
        for key, query in queries.items()
    }


def tables(queries: Mapping[Query, QueryFacts]) -> dict[str, list[Json]]:
    """The facts as tables, by name."""
    found: dict[str, list[Json]] = {}
    for query in queries.values():
        for name, fact in rows_of(query):
            found.setdefault(name, []).append(fact)
    return found


# --- facts -> events --------------------------------------------------------------------------------------------------


class World:
    """All that the queries say together: what an engine brings to each of them."""

    def __init__(self, queries: dict[Query, QueryFacts], settings: OpenLineageSettings = DEFAULTS) -> None:
        self.queries, self.settings = queries, settings
        self.objects: dict[tuple[str, str], Profile] = {}
        for query in queries.values():
            mentions.add(self.objects, query)
        self.datasets: dict[names.DatasetKey, names.DatasetProfile] = {}
        self.spelled: dict[Any, names.DatasetKey] = {}
        for profile in self.objects.values():
            self._hear(profile)
        self._answers = {key: names.answer(dataset, settings) for key, dataset in self.datasets.items()}

    def _hear(self, profile: Profile) -> None:
        for told in names.told_by(profile, self.settings):
            self.datasets.setdefault(told.key, names.DatasetProfile(*told.key)).hear(told)
        for one in names.spellings(profile, self.settings):
            self.spelled[profile.account, profile.key, one.name, one.account] = one.dataset

    def answers(self, query: QueryFacts) -> Answers:
        parent, root = parent_id(query), root_id(query)
        jobs = [None if one is None else self.job(query.account, one) for one in (parent, root)]
        return Answers(datasets=self.named(query), parent_job=jobs[0], root_job=jobs[1])

    def named(self, query: QueryFacts) -> dict[Any, Dataset]:
        return {one: self._answers[self.spelled[query.account, *one]] for one in spoken(query.content)}

    def job(self, account: str, query_id: str) -> str | None:
        query = self.queries.get((account, query_id))
        if query is None:
            return None
        return job_name(job_of(query.content, self.named(query), query.history, self.settings))

    def events(self) -> list[Event]:
        runs = [
            event for query in self.queries.values() for event in run_events(query, self.answers(query), self.settings)
        ]
        return runs + (self._dataset_events() if self.settings.dataset_events else [])

    def _dataset_events(self) -> list[Event]:
        begun: dict[str, int] = {}
        for query in self.queries.values():
            begun[query.account] = min(query.start, begun.get(query.account, query.start))
        sent = [dataset for dataset in self.datasets.values() if dataset.is_sent]
        return [names.dataset_event(dataset, begun[dataset.account], self.settings) for dataset in sent]


def sent(queries: dict[Query, QueryFacts], **settings: Any) -> list[Json]:
    """The events under these settings."""
    return [json.loads(event.body) for event in World(queries, OpenLineageSettings(**settings)).events()]


@cache
def events() -> tuple[Json, ...]:
    """The events of the examples and of random histories."""
    return tuple(sent(all_queries()))


@cache
def events_with_history() -> tuple[Json, ...]:
    """The same with a row of QUERY_HISTORY for every query, its text among what is sent."""
    return tuple(sent(with_history(all_queries()), sql=True))


# --- what is in events ------------------------------------------------------------------------------------------------


def runs(kind: str = "COMPLETE") -> dict[Query, Json]:
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


def dataset_names(datasets: list[Json]) -> list[tuple[str, str]]:
    return [(one["namespace"], one["name"]) for one in datasets]


def facets(event: Json) -> Iterator[tuple[str, Json]]:
    """Every facet of an event with its key."""
    things = [event[name] for name in OWNERS if isinstance(event.get(name), dict)]
    things += [one for name in OWNERS if isinstance(event.get(name), list) for one in event[name]]
    for thing in things:
        for holder in ("facets", "inputFacets", "outputFacets"):
            yield from thing.get(holder, {}).items()
