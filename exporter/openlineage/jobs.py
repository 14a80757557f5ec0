"""The job of a query, of its parent and of its root.

A backend identifies a parent by the name of its job (Marquez makes a second job for any other name). So the events of a
child have to give exactly the name that the parent's own events give. It follows from what the parent read and wrote,
by the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from exporter.openlineage.inputs_and_outputs import changes_dataset, dataset_of, gathered, is_rename
from exporter.openlineage.naming import Job, account_namespace, job_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exporter.model.answers import Bridge
    from exporter.model.facts import Change, Content, History, QueryFacts
    from exporter.openlineage.inputs_and_outputs import Datasets, Gathered, Output
    from exporter.openlineage.naming import DatasetName
    from exporter.openlineage.settings import OpenLineageSettings

HELPER: Final = "helper"
"""What a query fills, creates or drops, in the job's name: names of helpers have random parts, and each would be a job.
"""


def job_of(
    content: Content,
    datasets: Datasets,
    history: History,
    settings: OpenLineageSettings,
    bridge: Bridge | None = None,
) -> Job:
    """The job that the query is a run of."""
    return suffixed(of_statement(gathered(content, datasets, settings, bridge), datasets), history, settings)


def name_of(query: QueryFacts, datasets: Datasets, settings: OpenLineageSettings, bridge: Bridge | None = None) -> str:
    """The name of the job that the query is a run of."""
    job = job_of(query.content, datasets, query.history, settings, bridge)
    return job_name(job, own_namespace_of(query.account, settings))


def of_statement(told: Gathered, datasets: Datasets) -> Job:
    """The parts of a job that follow from what the statement did."""
    changes = told.content.changes
    is_of_helper = bool(told.helpers) and not told.outputs
    verbs = {"swap"} if _is_swap(told) else {verb(change) for change in changes}
    if is_of_helper and told.content.truncates:
        verbs.add("truncate")
    changed = [label for change in changes if (label := subject(change, datasets)) is not None]
    return Job(
        verbs=tuple(sorted(verbs)),
        inputs=tuple(told.input_names()),
        outputs=tuple([output.name for output in told.outputs]),
        subjects=tuple(sorted({*told.routines, *changed, *([HELPER] if is_of_helper else ())})),
        renamed=_renamed(told.outputs),
    )


def _renamed(outputs: Sequence[Output]) -> DatasetName | None:
    """The dataset whose rename is all that the statement wrote; None where there is none."""
    former = [output.name for output in outputs if output.state == "DROP"]
    is_pair = len(outputs) == 2 and {output.state for output in outputs} == {"DROP", "RENAME"}
    return former[0] if is_pair and outputs[0].keys == outputs[1].keys else None


def _is_swap(told: Gathered) -> bool:
    """Whether two datasets change places, and the statement does nothing else."""
    names = {output.name for output in told.outputs}
    is_pair = len(names) == 2 and all(output.state == "ALTER" and not output.is_written for output in told.outputs)
    return is_pair and not told.input_names() and all(change.swap_key is not None for change in told.content.changes)


def suffixed(job: Job, history: History, settings: OpenLineageSettings) -> Job:
    """The job, with the columns of QUERY_HISTORY that the settings ask for in its name. By default there are none: a
    line of QUERY_HISTORY that comes after the row would change the run's job, and backends do not move runs.
    """
    given = [getattr(history, name) for name in settings.job_name_from]
    suffixes = tuple([one for one in given if one])
    return replace(job, suffixes=suffixes) if suffixes else job


def own_namespace_of(account: str, settings: OpenLineageSettings) -> str | None:
    """The namespace of the account's own datasets; None where jobs of other accounts can be in the same namespace."""
    own = account_namespace(account)
    return None if settings.job_namespace else settings.namespaces.get(own, own)


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
