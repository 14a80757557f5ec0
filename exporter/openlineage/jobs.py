"""The job of a query, and of its relatives.

A backend knows a parent by the name that it was sent under (Marquez makes a second job of any other name), so a child
has to spell the name of its parent's job. It follows from what the parent read and wrote, by the same rule as the
parent's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from exporter.openlineage.gathered import gathered
from exporter.openlineage.naming import Job
from exporter.openlineage.objects import changes_dataset, dataset_of, is_rename

if TYPE_CHECKING:
    from exporter.openlineage.gathered import Gathered
    from exporter.openlineage.objects import Datasets
    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.queries.facts import Change, Content, History, QueryFacts

UNRECORDED_JOB: Final = "unrecorded statement"
"""The job of a parent that has no row: one for all of them, since a name with its query id would make one job a run."""


def job_of(content: Content, datasets: Datasets, history: History, settings: OpenLineageSettings) -> Job:
    """The job that a query is a run of."""
    return prefixed(unprefixed(gathered(content, datasets, settings), datasets), history, settings)


def unprefixed(told: Gathered, datasets: Datasets) -> Job:
    """What of a job follows from what the statement did."""
    changes = told.content.changes
    changed = [label for change in changes if (label := subject(change, datasets)) is not None]
    return Job(
        verbs=tuple(sorted({verb(change) for change in changes})),
        inputs=tuple(told.input_names()),
        outputs=tuple([output.name for output in told.outputs]),
        subjects=tuple(sorted({*told.routines, *changed})),
    )


def prefixed(job: Job, history: History, settings: OpenLineageSettings) -> Job:
    """The job with what QUERY_HISTORY tells before its name."""
    given = [getattr(history, name) for name in settings.job_name_from]
    prefixes = tuple([one for one in given if one])
    return replace(job, prefixes=prefixes) if prefixes else job


# --- labels -----------------------------------------------------------------------------------------------------------


def verb(change: Change) -> str:
    """What a change does, for people."""
    return "rename" if is_rename(change) else change.operation.lower()


def subject(change: Change, datasets: Datasets) -> str | None:
    """Kind and name of what is changed and is no dataset: ``masking policy DB.S.P``."""
    if changes_dataset(change):
        return None
    name = dataset_of(change.thing, datasets).name
    return name if change.thing.domain is None else f"{change.thing.domain.lower()} {name}"


# --- relatives --------------------------------------------------------------------------------------------------------


def parent_id(query: QueryFacts) -> str | None:
    """The query whose job is named as the parent's; a query is not its own parent."""
    return None if query.parent_query_id == query.query_id else query.parent_query_id


def root_id(query: QueryFacts) -> str | None:
    """The query whose job is named as the root's: only beside a parent."""
    return None if parent_id(query) is None else query.root_query_id
