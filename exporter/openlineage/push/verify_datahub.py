"""What a DataHub has to show after it got these events in this order, and the comparison with what it shows.

DataHub answers an event with 202 and processes it later, so what is missing is looked at again for a while. It makes a
data process instance of each run, a data job of each job and a dataset of each dataset (datahub-project/datahub,
OpenLineageJobMapper, OpenLineageRunMapper, OpenLineageDatasetMapper and DatahubJob). Each event replaces the job's
aspect ``dataJobInputOutput``: its datasets, and the edges between their columns. START names no datasets. The last
event that names a dataset replaces its ``schemaMetadata``.

The URN of a run holds its id alone. Those of jobs and datasets depend on settings of the server (instance,
environment), which no API shows. So they are read from the run, and compared by the names in them.

Read by ``POST /openapi/v3/entity/{entity}/batchGet`` (EntityController), as DataHub's own client does
(``get_entities`` of acryl-datahub). A URN that DataHub does not have is not in its answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from exporter.openlineage.push.expected import Thing, columns_of, edges_of, job_of, thing_of
from exporter.openlineage.push.verify import Finding, NoAnswerError, UnreadableError, Verification, display_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.openlineage.push.expected import Sample

Json = dict[str, Any]
Edge = tuple[Thing, str, Thing, str]
"""A column of a dataset -> a column of a dataset."""
STATES: Final = {"START": "STARTED", "RUNNING": "STARTED", "COMPLETE": "SUCCESS", "FAIL": "FAILURE", "ABORT": "FAILURE"}
"""The type of a run's last event -> the result that DataHub shows, or the status where there is none."""
_ENDS: Final = ("COMPLETE", "FAIL", "ABORT")
OPEN: Final = "jobs whose latest run has begun and not ended: the START takes away the job's inputs and outputs"
EARLIER: Final = "columns that only earlier events name: DataHub has those of the last event that lists any"
DROPPED: Final = "dropped datasets: only some versions of DataHub mark them as removed"
_DATASET: Final = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:[^,]*,([^,]*),[^,()]*\)")
_COLUMN: Final = re.compile(rf"urn:li:schemaField:\({_DATASET.pattern},(.*)\)", re.DOTALL)


@dataclass
class Dataset:
    """``run``: the last that names it. ``columns``: of the last event that lists them; ``earlier``: all that any did.
    ``is_dropped``: the last event about it is its DROP.
    """

    run: str
    columns: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    is_dropped: bool = False


@dataclass
class Job:
    """``run``: of its last event; what this event reads and writes. ``is_open``: this event is no end of a run."""

    run: str
    inputs: set[Thing] = field(default_factory=set)
    outputs: set[Thing] = field(default_factory=set)
    edges: set[Edge] = field(default_factory=set)
    is_open: bool = False


class Expected:
    """What the events say of the things in a sample. ``runs``: their results, None where no event says one."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.datasets: dict[Thing, Dataset] = {}
        self.jobs: dict[Thing, Job] = {}
        self.runs: dict[str, str | None] = {}

    def add(self, event: Json) -> None:
        """The next event, as it was sent; those of datasets are not sent to DataHub."""
        run, kind = event["run"]["runId"], event.get("eventType") or ""
        inputs, outputs = event.get("inputs") or [], event.get("outputs") or []
        if self._sample.has("runs", Thing("", run)):
            self.runs[run] = STATES.get(kind, self.runs.get(run))
        for document in [*inputs, *outputs]:
            self._dataset(document, run)
        thing = job_of(event)
        if self._sample.has("jobs", thing):
            edges = {
                (edge.source, edge.source_column, thing_of(document), edge.column)
                for document in [*inputs, *outputs]
                for edge in edges_of(document)
            }
            reads, writes = {thing_of(document) for document in inputs}, {thing_of(document) for document in outputs}
            self.jobs[thing] = Job(run, reads, writes, edges, kind not in _ENDS)

    def _dataset(self, document: Json, run: str) -> None:
        thing = thing_of(document)
        if not self._sample.has("datasets", thing):
            return
        dataset = self.datasets.setdefault(thing, Dataset(run))
        facets = document.get("facets") or {}
        dataset.run = run
        dataset.is_dropped = (facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange") == "DROP"
        if (facets.get("schema") or {}).get("fields") is not None:
            dataset.columns = columns_of(document)
            dataset.earlier |= dataset.columns


class DataHubVerification(Verification):
    """The comparison with one DataHub."""

    beside = "/openlineage/api/v1/lineage"
    settles = True
    _expected: Expected

    def _expect(self, sample: Sample) -> Expected:
        return Expected(sample)

    def _checks(self) -> Iterator[Callable[[], Iterator[Finding]]]:
        for dataset, expected in sorted(self._expected.datasets.items(), key=lambda item: item[0]):
            yield partial(self._findings_of_dataset, dataset, expected)
        for job, expected_job in sorted(self._expected.jobs.items(), key=lambda item: item[0]):
            yield partial(self._findings_of_job, job, expected_job)
        for run, state in sorted(self._expected.runs.items()):
            yield partial(self._findings_of_run, run, state)

    def _aspects(self, entity: str, urn: str, *names: str) -> tuple[Json, str | None]:
        """The aspects of an entity by name, and why there are none. Raises Ended."""
        try:
            entities = self._api.post(
                "v3", "entity", entity, "batchGet", body=[{"urn": urn, **{aspect: {} for aspect in names}}]
            )
        except UnreadableError as error:
            return {}, f"it answers {error}"
        if entities is None:
            raise NoAnswerError("it has no API /openapi/v3/entity beside the address for events")
        for entity_document in entities:
            if entity_document.get("urn") == urn:
                return {name: (entity_document.get(name) or {}).get("value") or {} for name in names}, None
        return {}, "it is not there"

    def _run_of(self, run: str, *names: str) -> tuple[Json, str | None]:
        return self._aspects("dataProcessInstance", f"urn:li:dataProcessInstance:{run}", *names)

    # --- the three kinds ----------------------------------------------------------------------------------------------

    def _findings_of_dataset(self, thing: Thing, expected: Dataset) -> Iterator[Finding]:
        name = display_name(thing)
        aspects, why = self._dataset_at(thing, expected.run)
        if expected.is_dropped:
            yield Finding("datasets", name, unchecked=DROPPED)
        elif not why and (aspects.get("status") or {}).get("removed"):
            why = "it is shown as removed"
        if not expected.is_dropped or why:
            yield Finding("datasets", name, why)
        columns = {
            schema_field.get("fieldPath") for schema_field in (aspects.get("schemaMetadata") or {}).get("fields") or ()
        }
        for column in sorted(expected.columns):
            yield Finding("columns", f"{name} {column}", None if column in columns else "the dataset does not have it")
        for column in sorted(expected.earlier - expected.columns - columns):
            yield Finding("columns", f"{name} {column}", known=EARLIER)

    def _dataset_at(self, thing: Thing, run: str) -> tuple[Json, str | None]:
        """The aspects of a dataset that a run names, and why there are none."""
        sides, why = self._run_of(run, "dataProcessInstanceInput", "dataProcessInstanceOutput")
        if why:
            return {}, f"the run {run}, which names it: {why}"
        urns = [
            *_urns(sides["dataProcessInstanceInput"], "input"),
            *_urns(sides["dataProcessInstanceOutput"], "output"),
        ]
        name = _matching_name(thing, map(_dataset_name, urns))
        if name is None:
            return {}, f"the run {run} does not have it"
        urn = next(dataset_urn for dataset_urn in urns if _dataset_name(dataset_urn) == name)
        return self._aspects("dataset", urn, "datasetKey", "status", "schemaMetadata")

    def _findings_of_job(self, thing: Thing, expected: Job) -> Iterator[Finding]:
        name = display_name(thing)
        instance, why = self._run_of(expected.run, "dataProcessInstanceRelationships")
        why = why and f"its run {expected.run}: {why}"
        aspects: Json = {}
        if not why:
            urn = instance["dataProcessInstanceRelationships"].get("parentTemplate")
            aspects, why = (
                self._aspects("dataJob", urn, "dataJobInfo", "dataJobInputOutput", "status")
                if isinstance(urn, str) and urn.endswith(f",{thing.name})")
                else ({}, f"its run {expected.run} has another job")
            )
        if not why and aspects["status"].get("removed"):
            why = "it is shown as removed"
        yield Finding("jobs", name, why)
        if expected.is_open:
            yield Finding("jobs", name, known=OPEN)
            return
        sides = aspects.get("dataJobInputOutput") or {}
        for side, datasets in (("input", expected.inputs), ("output", expected.outputs)):
            names = list(map(_dataset_name, _urns(sides, f"{side}Dataset")))
            for dataset_thing in sorted(datasets):
                what = (
                    f"{display_name(dataset_thing)} -> {name}"
                    if side == "input"
                    else f"{name} -> {display_name(dataset_thing)}"
                )
                yield Finding(
                    "job edges",
                    what,
                    None if _matching_name(dataset_thing, names) else f"not in the {side}s of the job",
                )
        edges = set(_column_edges(sides))
        sources, targets = [edge[0] for edge in edges], [edge[2] for edge in edges]
        for source, source_column, target, column in sorted(expected.edges):
            is_there = (
                _matching_name(source, sources),
                source_column,
                _matching_name(target, targets),
                column,
            ) in edges
            what = f"{display_name(source)} {source_column} -> {display_name(target)} {column}"
            yield Finding("column edges", what, None if is_there else f"the column lineage of {name} does not have it")

    def _findings_of_run(self, run: str, state: str | None) -> Iterator[Finding]:
        aspects, why = self._run_of(run, "dataProcessInstanceProperties", "dataProcessInstanceRunEvent")
        event = aspects.get("dataProcessInstanceRunEvent") or {}
        state_now = (event.get("result") or {}).get("type") or event.get("status")
        if not why and state is not None and state_now != state:
            why = f"its state is {state_now} and not {state}"
        yield Finding("runs", run, why)


def _urns(aspect: Json, kind: str) -> Iterator[str]:
    """The URNs in an aspect: those in the list, and the ends of edges, which newer versions have instead."""
    yield from (urn for urn in aspect.get(f"{kind}s") or () if isinstance(urn, str))
    yield from (str(edge.get("destinationUrn")) for edge in aspect.get(f"{kind}Edges") or ())


def _column_edges(aspect: Json) -> Iterator[tuple[str, str, str, str]]:
    for lineage in aspect.get("fineGrainedLineages") or ():
        for source in map(_COLUMN.fullmatch, lineage.get("upstreams") or ()):
            for target in map(_COLUMN.fullmatch, lineage.get("downstreams") or ()):
                if source and target:
                    yield source[1], source[2], target[1], target[2]


def _dataset_name(urn: str) -> str:
    match = _DATASET.fullmatch(urn)
    return match[1] if match else ""


def _matching_name(thing: Thing, names: Iterable[str]) -> str | None:
    """That of the names in URNs which is this dataset's; None where none is. A name in a URN has the bucket before the
    path of a file. It can begin with an instance, and be in lower case: the server's settings say.
    """
    path, candidates = thing.name.lstrip("/"), list(names)
    forms = [path, f"{thing.namespace.partition('://')[2]}/{path}"]
    for case in (str, str.lower):
        spellings = tuple(map(case, forms))
        matching = [name for name in candidates if case(name) in spellings]
        matching += [name for name in candidates if case(name).endswith(tuple(f".{form}" for form in spellings))]
        if matching:
            return matching[0]
    return None
