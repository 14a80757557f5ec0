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
from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from exporter.backends.event import LAST_EVENTS, DatasetOrJob, Json, datasets, edges_of, thing_of
from exporter.backends.verify import (
    Expectation,
    ExpectedDataset,
    ExpectedJob,
    NoAnswerError,
    UnreadableError,
    Verification,
    job_edges,
    job_of,
    objects,
    part,
    text,
    texts,
)

OPEN: Final = "jobs whose latest run has begun and not ended: the START takes away the job's inputs and outputs"
DROPPED: Final = "dropped datasets: only some versions of DataHub mark them as removed"
_DATASET: Final = re.compile(r"urn:li:dataset:\(urn:li:dataPlatform:[^,]*,([^,]*),[^,()]*\)")
_COLUMN: Final = re.compile(rf"urn:li:schemaField:\({_DATASET.pattern},(.*)\)", re.DOTALL)


class DataHubVerification(Verification):
    """The comparison with one DataHub."""

    beside = "/openlineage/api/v1/lineage"
    states: ClassVar = {
        "START": "STARTED",
        "RUNNING": "STARTED",
        "COMPLETE": "SUCCESS",
        "FAIL": "FAILURE",
        "ABORT": "FAILURE",
    }
    settles = True
    earlier = "columns that only earlier events name: DataHub has those of the last event that lists any"

    def _expect(self, event: Json) -> None:
        """Events of datasets are not sent to DataHub."""
        self._expect_run(event)
        run, named = event["run"]["runId"], datasets(event)
        for document in named:
            if dataset := self._expect_last_columns(document):
                dataset.run = run
        thing = job_of(event)
        if self._sample.has("jobs", thing):
            inputs, outputs = (
                {thing_of(document) for document in event.get(side) or ()} for side in ("inputs", "outputs")
            )
            edges = {edge for document in named for edge in edges_of(document)}
            self._jobs[thing] = ExpectedJob(run, inputs, outputs, edges, event.get("eventType") not in LAST_EVENTS)

    def _aspects(self, entity: str, urn: str, *names: str) -> tuple[Json, str | None]:
        """The aspects of an entity by name, and why there are none."""
        question = [{"urn": urn, **{aspect: {} for aspect in names}}]
        try:
            entities = self._ask("v3", "entity", entity, "batchGet", body=question)
        except UnreadableError as error:
            return {}, f"it answers {error}"
        if entities is None:
            raise NoAnswerError("it has no API /openapi/v3/entity beside the address for events")
        for entity_document in entities:
            if entity_document.get("urn") == urn:
                return {name: part(entity_document, name, "value") for name in names}, None
        return {}, "it is not there"

    def _run_of(self, run: str, *names: str) -> tuple[Json, str | None]:
        return self._aspects("dataProcessInstance", f"urn:li:dataProcessInstance:{run}", *names)

    # --- the three kinds ----------------------------------------------------------------------------------------------

    def _dataset_findings(self, thing: DatasetOrJob, expected: ExpectedDataset) -> Iterator[Expectation]:
        aspects, reason = self._dataset_at(thing, expected.run)
        if expected.is_dropped:
            yield Expectation("datasets", str(thing), unchecked=DROPPED)
        elif not reason and part(aspects, "status").get("removed"):
            reason = "it is shown as removed"
        if not expected.is_dropped or reason:
            yield Expectation("datasets", str(thing), reason)
        fields = objects(aspects, "schemaMetadata", "fields")
        yield from self._column_findings(thing, expected, {text(column, "fieldPath") for column in fields})

    def _dataset_at(self, thing: DatasetOrJob, run: str) -> tuple[Json, str | None]:
        """The aspects of a dataset that a run names, and why there are none."""
        sides, reason = self._run_of(run, "dataProcessInstanceInput", "dataProcessInstanceOutput")
        if reason:
            return {}, f"the run {run}, which names it: {reason}"
        urns = [urn for side in ("Input", "Output") for urn in _urns(sides[f"dataProcessInstance{side}"], side.lower())]
        name = _matching_name(thing, map(_dataset_name, urns))
        if name is None:
            return {}, f"the run {run} does not have it"
        urn = next(dataset_urn for dataset_urn in urns if _dataset_name(dataset_urn) == name)
        return self._aspects("dataset", urn, "datasetKey", "status", "schemaMetadata")

    def _job_findings(self, thing: DatasetOrJob, expected: ExpectedJob) -> Iterator[Expectation]:
        instance, reason = self._run_of(expected.run or "", "dataProcessInstanceRelationships")
        aspects: Json = {}
        if reason:
            reason = f"its run {expected.run}: {reason}"
        else:
            urn = text(instance, "dataProcessInstanceRelationships", "parentTemplate")
            if urn and urn.endswith(f",{thing.name})"):
                aspects, reason = self._aspects("dataJob", urn, "dataJobInfo", "dataJobInputOutput", "status")
            else:
                reason = f"its run {expected.run} has another job"
        if not reason and part(aspects, "status").get("removed"):
            reason = "it is shown as removed"
        yield Expectation("jobs", str(thing), reason)
        if expected.is_open:
            yield Expectation("jobs", str(thing), known=OPEN)
            return
        shown = aspects.get("dataJobInputOutput") or {}
        listed = {
            f"{side}s": [_dataset_name(urn) for urn in _urns(shown, f"{side}Dataset")] for side in ("input", "output")
        }
        for side, dataset, edge_text in job_edges(thing, expected):
            is_listed = _matching_name(dataset, listed[side]) is not None
            yield Expectation("job edges", edge_text, None if is_listed else f"not in the {side} of the job")
        edges = set(_column_edges(shown))
        sources, targets = [edge[0] for edge in edges], [edge[2] for edge in edges]
        for edge in sorted(expected.edges):
            source, target = _matching_name(edge.source, sources), _matching_name(edge.target, targets)
            is_there = (source, edge.source_column, target, edge.column) in edges
            yield Expectation(
                "column edges", str(edge), None if is_there else f"the column lineage of {thing} does not have it"
            )

    def _state_of(self, run: str) -> tuple[str | None, str | None]:
        aspects, reason = self._run_of(run, "dataProcessInstanceProperties", "dataProcessInstanceRunEvent")
        event = part(aspects, "dataProcessInstanceRunEvent")
        return text(event, "result", "type") or text(event, "status"), reason


def _urns(aspect: Json, kind: str) -> Iterator[str]:
    """The URNs in an aspect: those in the list, and the ends of edges, which newer versions have instead."""
    yield from texts(aspect, f"{kind}s")
    yield from (urn for edge in objects(aspect, f"{kind}Edges") if (urn := text(edge, "destinationUrn")))


def _column_edges(aspect: Json) -> Iterator[tuple[str, str, str, str]]:
    for lineage in objects(aspect, "fineGrainedLineages"):
        for source in map(_COLUMN.fullmatch, texts(lineage, "upstreams")):
            for target in map(_COLUMN.fullmatch, texts(lineage, "downstreams")):
                if source and target:
                    yield source[1], source[2], target[1], target[2]


def _dataset_name(urn: str) -> str:
    match = _DATASET.fullmatch(urn)
    return match[1] if match else ""


def _matching_name(thing: DatasetOrJob, names: Iterable[str]) -> str | None:
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
