"""The job of a query, of its parent and of its root.

A backend identifies a parent by the name of its job (Marquez makes a second job for any other name). So the events of a
child have to give exactly the name that the parent's own events give. It follows from what the parent read and wrote,
by the same rule.
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
"""The job of all parents without a row. If the name had the query id, each such run would be a job of its own."""


def job_of(content: Content, datasets: Datasets, history: History, settings: OpenLineageSettings) -> Job:
    """The job that the query is a run of."""
    return prefixed(unprefixed(gathered(content, datasets, settings), datasets), history, settings)


def unprefixed(told: Gathered, datasets: Datasets) -> Job:
    """The parts of a job that follow from what the statement did."""
    changes = told.content.changes
    changed = [label for change in changes if (label := subject(change, datasets)) is not None]
    return Job(
        verbs=tuple(sorted({verb(change) for change in changes})),
        inputs=tuple(told.input_names()),
        outputs=tuple([output.name for output in told.outputs]),
        subjects=tuple(sorted({*told.routines, *changed})),
    )


def prefixed(job: Job, history: History, settings: OpenLineageSettings) -> Job:
    """The job, with the columns of QUERY_HISTORY that go before its name."""
    given = [getattr(history, name) for name in settings.job_name_from]
    prefixes = tuple([one for one in given if one])
    return replace(job, prefixes=prefixes) if prefixes else job


# --- labels -----------------------------------------------------------------------------------------------------------


def verb(change: Change) -> str:
    """What a change does, as a verb for the job's name."""
    return "rename" if is_rename(change) else change.operation.lower()


def subject(change: Change, datasets: Datasets) -> str | None:
    """Kind and name of what is changed where that is no dataset (``masking policy DB.S.P``); else None."""
    if changes_dataset(change):
        return None
    name = dataset_of(change.thing, datasets).name
    return name if change.thing.domain is None else f"{change.thing.domain.lower()} {name}"


# --- relatives --------------------------------------------------------------------------------------------------------


def parent_id(query: QueryFacts) -> str | None:
    """The query id of the parent; None where there is none, or the query names itself."""
    return None if query.parent_query_id == query.query_id else query.parent_query_id


def root_id(query: QueryFacts) -> str | None:
    """The query id of the root; None where there is no parent."""
    return None if parent_id(query) is None else query.root_query_id
