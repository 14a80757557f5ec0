"""Queries -> their OpenLineage events. Start reading here.

:mod:`exporter.openlineage.statement` makes the parts of an event that follow from the statement. This module adds what
differs from run to run: the query's id and times, its user, its parents, and the columns of QUERY_HISTORY.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson
from msgspec import Struct
from msgspec.structs import replace
from orjson import Fragment

from exporter.input.query_history import History
from exporter.input.times import FIRST, LAST, iso_micros
from exporter.model.answers import Answers, Bridge
from exporter.model.facts import QueryFacts
from exporter.openlineage import facets
from exporter.openlineage.changes import tags
from exporter.openlineage.facets import Json, joined_json
from exporter.openlineage.inputs_and_outputs import Datasets, dataset_uses
from exporter.openlineage.naming import Job, account_namespace, job_description, job_name, job_namespace, run_id
from exporter.openlineage.statement import (
    OutputParts,
    StatementParts,
    job_of_statement,
    statement,
    with_facets,
    with_rows,
)

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings


class Event(Struct, frozen=True, gc=False):
    """An event. ``time``: microseconds since 1970, UTC; ``type``: START, COMPLETE or DATASET; ``job_name``: None for
    the event of a dataset; ``body``: the event as JSON.
    """

    time: int
    type: str
    job_name: str | None
    body: bytes


def run_events(query: QueryFacts, answers: Answers, settings: OpenLineageSettings) -> list[Event]:
    """START and COMPLETE of a query; empty where it only reads and the settings leave out such queries."""
    of_statement = statement(query.content, answers.datasets, settings, answers.bridge)
    return events_of(query, of_statement, answers, settings)


def events_of(
    query: QueryFacts, of_statement: StatementParts, answers: Answers, settings: OpenLineageSettings
) -> list[Event]:
    """The same, where the parts of its statement exist already."""
    if not settings.reads and not of_statement.outputs and not of_statement.fills_helper:
        return []
    job = suffixed(of_statement.job, query.history, settings)
    name = job_name(job, own_namespace_of(query.account, settings))
    common = {
        "producer": settings.producer,
        "schemaURL": f"{facets.EVENT_SCHEMA}/RunEvent",
        "job": Fragment(orjson.dumps(_job(query, name, job_description(job), settings))),
    }
    run, first = run_id(query.account, query.query_id), orjson.dumps(_first_facets(query, name, answers, settings))
    # In Marquez an output without `schema` removes the dataset's columns, so START names no datasets.
    start = {**common, "run": _run(run, first), "inputs": [], "outputs": []}
    complete = {
        **common,
        "run": _run(run, joined_json(first, of_statement.facets)),
        "inputs": Fragment(of_statement.inputs),
        "outputs": Fragment(_outputs(query, of_statement, answers, settings)),
    }
    ended = _event("COMPLETE", max(query.start, query.end), name, complete)
    return [_event("START", query.start, name, start), ended] if settings.start_events else [ended]


def _event(kind: str, time: int, job: str, members: Json) -> Event:
    return Event(time, kind, job, orjson.dumps({"eventTime": iso_micros(time), "eventType": kind, **members}))


def _run(run: str, run_facets: bytes) -> Json:
    return {"runId": run, "facets": Fragment(run_facets)}


# --- run and job ------------------------------------------------------------------------------------------------------


def _first_facets(query: QueryFacts, name: str, answers: Answers, settings: OpenLineageSettings) -> Json:
    """The run facets of both events."""
    parent = _relative(query, parent_id(query), answers.parent_job, settings)
    # The root of a query may be the query itself.
    root_job = name if query.root_query_id == query.query_id else answers.root_job
    root = _relative(query, root_id(query), root_job, settings)
    # Queries that are added up have no id in Snowflake.
    external = facets.external_query(query.query_id, settings.producer) if query.calls is None else {}
    return {
        **external,
        **facets.parent(parent, root, settings.producer),
        **facets.query(query, settings.producer),
        **facets.tags_of_run(query, "run", settings.producer),
        **facets.calls(query, settings.producer),
    }


def _relative(query: QueryFacts, query_id: str | None, job: str | None, settings: OpenLineageSettings) -> Json | None:
    """Run and job of a parent or root; None where there is none, or its job is not known: a row that comes later would
    give another name for it. The query's facet has its query id.
    """
    if query_id is None or job is None:
        return None
    named = {"namespace": job_namespace(query.account, settings), "name": job}
    return {"run": {"runId": run_id(query.account, query_id)}, "job": named}


def _job(query: QueryFacts, name: str, description: str, settings: OpenLineageSettings) -> Json:
    history, producer = query.history, settings.producer
    of_job = {
        **facets.single_field("job documentation", "description", description, producer),
        **facets.tags_of_run(query, "job", producer),
        **facets.job_type(history.query_type, producer),
        **facets.sql(history.query_text if settings.sql else None, producer),
    }
    return {"namespace": job_namespace(query.account, settings), "name": name, "facets": of_job}


# --- jobs ------------------------------------------------------------------------------------------------------------
#
# A backend identifies a parent by the name of its job (Marquez makes a second job for any other name). So the events of
# a child have to give exactly the name that the parent's own events give. It follows from what the parent read and
# wrote, by the same rule.


def name_of(query: QueryFacts, datasets: Datasets, settings: OpenLineageSettings, bridge: Bridge | None = None) -> str:
    """The name of the job that the query is a run of."""
    uses = dataset_uses(query.content, datasets, settings, bridge)
    job = suffixed(job_of_statement(uses, datasets), query.history, settings)
    return job_name(job, own_namespace_of(query.account, settings))


def suffixed(job: Job, history: History, settings: OpenLineageSettings) -> Job:
    """The job, with the columns of QUERY_HISTORY that the settings ask for in its name. By default there are none: a
    line of QUERY_HISTORY that comes after the row would change the run's job, and backends do not move runs.
    """
    suffixes = tuple([text for name in settings.job_name_from if (text := getattr(history, name))])
    return replace(job, suffixes=suffixes) if suffixes else job


def own_namespace_of(account: str, settings: OpenLineageSettings) -> str | None:
    """The namespace of the account's own datasets; None where jobs of other accounts can be in the same namespace."""
    own = account_namespace(account)
    return None if settings.job_namespace else settings.namespaces.get(own, own)


def parent_id(query: QueryFacts) -> str | None:
    """The query id of the parent; None where there is none, or the query names itself."""
    return None if query.parent_query_id == query.query_id else query.parent_query_id


def root_id(query: QueryFacts) -> str | None:
    """The query id of the root; None where there is no parent."""
    return None if parent_id(query) is None else query.root_query_id


# --- outputs ----------------------------------------------------------------------------------------------------------


def _outputs(query: QueryFacts, of_statement: StatementParts, answers: Answers, settings: OpenLineageSettings) -> bytes:
    """The outputs as a JSON array, each with its tags and the version that this run wrote; if exactly one was written,
    with its number of rows.
    """
    is_single = sum(output.is_written for output in of_statement.outputs) == 1
    rows = rows_written(query.history) if is_single else None
    texts = []
    for output in of_statement.outputs:
        text = with_facets(output.text, _facets_of_run(output, query.query_id, answers, settings.producer))
        texts.append(with_rows(text, rows, settings.producer) if output.is_written and rows is not None else text)
    return b"[" + b",".join(texts) + b"]"


def _facets_of_run(output: OutputParts, query_id: str, answers: Answers, producer: str) -> Json:
    """The facets of an output that differ from run to run. ``tags``: all that are in force after the run, so that they
    stay with a backend that takes each run for a new state of the dataset. Only where the run takes the last one away
    the list is empty: datasets that never had tags need no facet, and tags without a known name may be left.
    """
    in_force = [tag for key in output.bearers for tag in answers.tags.get(key, ())] if answers.tags else []
    listed = tags(in_force)
    has_tags = bool(listed) or (output.changes_tags and not in_force)
    return {
        **(facets.facet("tags", {"tags": listed}, producer) if has_tags else {}),
        **(facets.facet("version", {"datasetVersion": query_id}, producer) if output.is_written else {}),
    }


def rows_written(history: History) -> int | None:
    """The rows that a query with one output wrote, None where unknown. QUERY_HISTORY counts by query, not by target."""
    changed = (history.rows_inserted or 0) + (history.rows_updated or 0)
    return changed if changed > 0 or (history.rows_deleted or 0) > 0 else history.rows_produced


# --- checks -----------------------------------------------------------------------------------------------------------


DATASET: Final = "DATASET"
"""The type of a dataset's event."""
MOST_BYTES: Final = 10 * 2**20
"""Most bytes of an event's text in UTF-8; this limit and the next are what a running Marquez accepted."""
LONGEST_JOB_NAME: Final = 2_000
"""Most characters of a job's name."""


def problems(event: Event) -> list[str]:
    """Why the event cannot be sent, one sentence for each reason; empty for a valid event. Checked is what depends on
    the rows; the tests validate the structure of events with the JSON Schemas of the specification.
    """
    problems = []
    # RFC 3339 allows only years of four digits.
    if not FIRST <= event.time <= LAST:
        problems.append("eventTime is not in the years 1 to 9999")
    if event.type != DATASET and not event.job_name:
        problems.append("job.name is missing")
    if event.job_name is not None and len(event.job_name) > LONGEST_JOB_NAME:
        problems.append(f"job.name has {len(event.job_name)} characters, more than {LONGEST_JOB_NAME}")
    if len(event.body) > MOST_BYTES:
        problems.append(f"the event has {len(event.body)} bytes, more than {MOST_BYTES}")
    return problems
