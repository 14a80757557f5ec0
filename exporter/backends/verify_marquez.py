"""What a Marquez has to show after it got these events in this order, and the comparison with what it shows: of each
dataset its columns and column lineage; of each job what its latest run read and wrote, at the job and in the lineage
graph; and the state of each run.

The rules are those that were observed with a running Marquez (docs/marquez.md): an output has the columns of its last
write, the columns of inputs are added, the edges of columns add up, and a job has what its latest run that ended read
and wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Final

from exporter.backends.event import LAST_EVENTS, ColumnEdge, DatasetOrJob, Json, columns_of, edges_of, thing_of
from exporter.backends.verify import (
    Expectation,
    ExpectedDataset,
    ExpectedJob,
    Verification,
    job_edges,
    job_of,
    objects,
    text,
)

UNKEPT: Final = "column edges whose source is no column of an input of the run: Marquez does not keep them"
OPEN: Final = "jobs whose latest run has begun and not ended: Marquez shows no inputs and outputs of it"
UNASKED: Final = "jobs whose graph cannot be requested, since Marquez takes a digit in the name for a port"
_UNASKED: Final = re.compile(r"(^|:)(\d|//)")


class MarquezVerification(Verification):
    """The comparison with one Marquez."""

    beside = "/lineage"
    states: ClassVar = {
        "START": "RUNNING",
        "RUNNING": "RUNNING",
        "COMPLETE": "COMPLETED",
        "FAIL": "FAILED",
        "ABORT": "ABORTED",
    }
    earlier = "columns that only earlier events name: a dataset has the columns of its last write"

    # --- what it has to show ------------------------------------------------------------------------------------------

    def _expect(self, event: Json) -> None:
        if "dataset" in event:
            self._expect_write(event["dataset"], {})
        if "run" not in event:
            return
        self._expect_run(event)
        self._expect_job(event)
        inputs = event.get("inputs") or []
        for document in inputs:
            if dataset := self._dataset_of(document):
                dataset.set_columns(dataset.columns.union(columns_of(document)))
        read = {thing_of(document): columns_of(document) for document in inputs}
        for document in event.get("outputs") or []:
            self._expect_write(document, read)

    def _expect_write(self, document: Json, read: dict[DatasetOrJob, list[str]]) -> None:
        """``read``: the columns of the run's inputs. An edge from no column of these, or to a column that the event
        does not list, may be dropped.
        """
        dataset = self._dataset_of(document)
        if dataset is None:
            return
        dataset.set_columns(columns_of(document))
        for edge in edges_of(document):
            is_kept = edge.column in dataset.columns and edge.source_column in read.get(edge.source, ())
            (dataset.edges if is_kept else dataset.unkept).add(edge)
        dataset.unkept -= dataset.edges

    def _expect_job(self, event: Json) -> None:
        thing, run = job_of(event), event["run"]["runId"]
        if not self._sample.has("jobs", thing):
            return
        job = self._jobs.setdefault(thing, ExpectedJob())
        if event.get("eventType") not in LAST_EVENTS:
            job.is_open = job.run != run
            return
        if job.run != run:  # else a further part of an event that was too large
            job = self._jobs[thing] = ExpectedJob(run)
        job.is_open = False
        job.inputs |= {thing_of(document) for document in event.get("inputs") or ()}
        job.outputs |= {thing_of(document) for document in event.get("outputs") or ()}

    # --- what it shows ------------------------------------------------------------------------------------------------

    def _dataset_findings(self, thing: DatasetOrJob, expected: ExpectedDataset) -> Iterator[Expectation]:
        answer, reason = self._read_named("namespaces", thing.namespace, "datasets", thing.name)
        if not reason and bool(answer.get("deleted")) != expected.is_dropped:
            reason = "it is not shown as deleted" if expected.is_dropped else "it is shown as deleted"
        yield Expectation("datasets", str(thing), reason)
        yield from self._column_findings(
            thing, expected, {text(column, "name") for column in objects(answer, "fields")}
        )
        edges = {
            ColumnEdge(
                DatasetOrJob(text(source, "namespace") or "", text(source, "dataset") or ""),
                text(source, "field") or "",
                thing,
                text(column, "name") or "",
            )
            for column in objects(answer, "columnLineage")
            for source in objects(column, "inputFields")
        }
        for edge in sorted(expected.edges | expected.unkept):
            if edge in edges:
                yield Expectation("column edges", str(edge))
            elif edge in expected.unkept:
                yield Expectation("column edges", str(edge), known=UNKEPT)
            else:
                yield Expectation("column edges", str(edge), "the dataset's column lineage does not have it")

    def _job_findings(self, thing: DatasetOrJob, expected: ExpectedJob) -> Iterator[Expectation]:
        answer, reason = self._read_named("namespaces", thing.namespace, "jobs", thing.name)
        yield Expectation("jobs", str(thing), reason)
        if expected.is_open:
            yield Expectation("jobs", str(thing), known=OPEN)
            return
        node = f"job:{thing.namespace}:{thing.name}"
        graph, graph_error = self._read("lineage", nodeId=node, depth="0")
        is_unasked = bool(graph_error and _UNASKED.search(thing.name))
        if is_unasked:
            yield Expectation("jobs", str(thing), known=UNASKED)
        drawn = {
            (text(edge, "origin"), text(edge, "destination"))
            for graph_node in objects(graph, "graph")
            for side in ("inEdges", "outEdges")
            for edge in objects(graph_node, side)
        }
        listed = {
            (side, text(shown, "namespace"), text(shown, "name"))
            for side in ("inputs", "outputs")
            for shown in objects(answer, side)
        }
        for side, dataset, edge_text in job_edges(thing, expected):
            ends, missing_in = (f"dataset:{dataset.namespace}:{dataset.name}", node), list[str]()
            if (side, *dataset) not in listed:
                missing_in.append("the job")
            if not is_unasked and (ends if side == "inputs" else ends[::-1]) not in drawn:
                missing_in.append("its graph")
            yield Expectation("job edges", edge_text, f"not in {' and '.join(missing_in)}" if missing_in else None)

    def _state_of(self, run: str) -> tuple[str | None, str | None]:
        answer, reason = self._read("jobs", "runs", run)
        return text(answer, "state"), reason
