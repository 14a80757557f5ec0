"""The state of the fake Marquez: datasets, jobs and runs in memory, with the behaviour of a real one.

Written from the answers of a running Marquez 0.51.2-SNAPSHOT; ``test_habits.py`` compares it with a real one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid3

Json = dict[str, Any]
Name = tuple[str, str]
STATES: Final = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED"}


@dataclass(eq=False)
class Field:
    """A column. Each event that gives it without a type makes another one."""

    name: str
    type: str | None
    description: str | None = None


@dataclass(eq=False)
class Version:
    """What one write left of a dataset. ``times``: facet -> the time of the event that it is from. The latest is shown;
    of several with the same time a real one shows any, and here it is the first, which is the worst.
    """

    fields: list[Field] = field(default_factory=list)
    state: str = ""
    facets: Json = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)

    def add(self, facets: Json, time: datetime) -> None:
        for name, facet in facets.items():
            if name not in self.times or time > self.times[name]:
                self.facets[name], self.times[name] = facet, time


@dataclass(eq=False)
class Dataset:
    """``names``: all that lead to it, its own first; ``edges``: output field and input field, all that ever were."""

    names: list[Name]
    fields: list[Field] = field(default_factory=list)
    versions: dict[str, Version] = field(default_factory=dict)
    current: Version | None = None
    is_deleted: bool = False
    description: str | None = None
    edges: dict[tuple[Field, Field], tuple[Dataset, Json]] = field(default_factory=dict)

    def take_fields(self, given: list[Json]) -> list[Field]:
        """The columns of a ``schema``, known ones as they are: the same name and type, which no type never is."""
        taken = []
        for one in given:
            known = [own for own in self.fields if (own.name, own.type) == (one["name"], one.get("type"))]
            if not known or one.get("type") is None:
                known = [Field(one["name"], one.get("type"))]
                self.fields += known
            known[0].description = one.get("description")
            taken.append(known[0])
        return taken


@dataclass(eq=False)
class Job:
    """``name`` with its parent's before it; ``shown``: inputs and outputs of its latest version; ``linked``: those
    that the lineage graph has.
    """

    namespace: str
    name: str
    simple: str
    parent: Job | None = None
    facets: Json = field(default_factory=dict)
    shown: dict[str, list[Dataset]] = field(default_factory=lambda: {"inputs": [], "outputs": []})
    linked: dict[str, list[Dataset]] = field(default_factory=lambda: {"inputs": [], "outputs": []})
    runs: list[Run] = field(default_factory=list)


@dataclass(eq=False)
class Run:
    """``job``: the first one, at which it stays; ``inputs``: dataset -> the version read; ``outputs``: dataset -> the
    versions written, of which a real one takes any for the present when the run ends. Here it is the first, which is
    the worst.
    """

    run_id: str
    job: Job
    time: str
    state: str | None = None
    started: str | None = None
    ended: str | None = None
    facets: Json = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    inputs: dict[Dataset, Version] = field(default_factory=dict)
    outputs: dict[Dataset, list[Version]] = field(default_factory=dict)


def shown_namespace(name: str) -> str:
    """The namespace of a job, with ``_`` for what Marquez does not take."""
    return re.sub(r"[^a-z:/A-Z0-9\-_.@+]", "_", name)


class Kept:
    """Everything that the events told."""

    def __init__(self) -> None:
        self.namespaces: list[str] = ["default"]
        self.datasets: dict[Name, Dataset] = {}
        self.jobs: dict[Name, Job] = {}
        self.runs: dict[str, Run] = {}
        self.is_broken = False
        """Whether it refused a namespace, which it cannot list from then on."""

    def take(self, event: Json) -> None:
        """One event of any of the three kinds."""
        self._time = datetime.fromisoformat(event["eventTime"])
        if "run" in event:
            self._run_event(event)
        elif "job" in event:
            self._job_event(event)
        else:
            dataset, version = self._written(event["dataset"], None)
            dataset.current = version

    def _namespace(self, name: str) -> str:
        if name not in self.namespaces:
            self.namespaces.append(name)
        return name

    # --- jobs and runs ------------------------------------------------------------------------------------------------

    def _run_event(self, event: Json) -> None:
        job = self._job(event, event["run"].get("facets", {}).get("parent"))
        run_id, kind, time = event["run"]["runId"], event.get("eventType"), event["eventTime"]
        run = self.runs.get(run_id)
        if run is None:
            run = self.runs[run_id] = Run(run_id, job, time)
            job.runs.append(run)
        for name, facet in event["run"].get("facets", {}).items():
            if name not in run.facets or run.times[name] < self._time:
                run.facets[name], run.times[name] = facet, self._time
        if kind:
            self._move(run, kind, time)
        for side, take in (("inputs", self._read), ("outputs", self._write)):
            for dataset in event.get(side) or []:
                take(dataset, run)
            if not event.get(side):
                job.linked[side] = []
        if kind in STATES:
            for dataset, versions in run.outputs.items():
                dataset.current = versions[0]
            job.shown = {"inputs": [*run.inputs], "outputs": [*run.outputs]}
            job.linked = {side: [*job.shown[side]] or job.linked[side] for side in job.shown}

    @staticmethod
    def _move(run: Run, kind: str, time: str) -> None:
        """The state follows arrival: START after COMPLETE turns the run back."""
        run.state = STATES.get(kind, "RUNNING")
        if kind in STATES:
            run.ended = time
        else:
            run.started = time

    def _job_event(self, event: Json) -> None:
        job = self._job(event, None)
        told = {side: [self._lone(one, side) for one in event.get(side) or []] for side in ("inputs", "outputs")}
        job.shown = told
        job.linked = {side: told[side] or job.linked[side] for side in told}

    def _lone(self, given: Json, side: str) -> Dataset:
        return self._read(given, None) if side == "inputs" else self._write(given, None)

    def _job(self, event: Json, parent: Json | None) -> Job:
        namespace = self._namespace(shown_namespace(event["job"]["namespace"]))
        above = self._parent(event, parent, namespace) if parent else None
        job = self._named(namespace, event["job"]["name"], above)
        job.facets |= event["job"].get("facets", {})
        return job

    def _named(self, namespace: str, name: str, above: Job | None) -> Job:
        simple = name.removeprefix(f"{above.name}.") if above else name
        full = f"{above.name}.{simple}" if above else name
        job = self.jobs.setdefault((namespace, full), Job(namespace, full, simple, above))
        job.parent = job.parent or above
        return job

    def _parent(self, event: Json, parent: Json, namespace: str) -> Job:
        """The job of the run that an event names as its parent. One that is known under another name, as the child of a
        third, is made once more under the name that is given here, with a run of its own.
        """
        run_id, given = parent["run"]["runId"], parent["job"]
        name = (
            given["name"].rpartition(".")[0] or given["name"]
            if given["name"] == event["job"]["name"]
            else given["name"]
        )
        known = self.runs.get(run_id)
        if known and (known.job.namespace, known.job.name) == (given["namespace"], name):
            return known.job
        if known:
            run_id = str(uuid3(NAMESPACE_URL, f"{given['namespace']}.{name}.{run_id}"))
        job = self._named(namespace, name, None)
        run = self.runs.setdefault(run_id, Run(run_id, job, event["eventTime"]))
        if run not in job.runs:
            job.runs.append(run)
        if event.get("eventType"):
            self._move(run, event["eventType"], event["eventTime"])
        return job

    # --- datasets -----------------------------------------------------------------------------------------------------

    def _dataset(self, given: Json) -> Dataset:
        name = (self._namespace(given["namespace"]), given["name"])
        dataset = self.datasets.setdefault(name, Dataset([name]))
        facets = given.get("facets", {})
        for also in facets.get("symlinks", {}).get("identifiers", []):
            other = (self._namespace(also["namespace"]), also["name"])
            if other not in self.datasets:  # a name that is a dataset already stays one
                self.datasets[other] = dataset
                dataset.names.append(other)
        dataset.is_deleted = _state(facets).upper() == "DROP"
        dataset.description = facets.get("documentation", {}).get("description")
        return dataset

    def _read(self, given: Json, run: Run | None) -> Dataset:
        """An input: its fields are added to those that the dataset has."""
        dataset = self._dataset(given)
        fields = dataset.take_fields(given.get("facets", {}).get("schema", {}).get("fields", []))
        version = dataset.current or self._version(dataset, given, fields, run)
        version.fields += [one for one in fields if one not in version.fields]
        version.add({**given.get("facets", {}), **given.get("inputFacets", {})}, self._time)
        if run:
            run.inputs[dataset] = version
            dataset.current = version
        return dataset

    def _write(self, given: Json, run: Run | None) -> Dataset:
        return self._written(given, run)[0]

    def _written(self, given: Json, run: Run | None) -> tuple[Dataset, Version]:
        """An output: it has the fields that are listed here, and no others, from the end of the run on."""
        dataset = self._dataset(given)
        fields = dataset.take_fields(given.get("facets", {}).get("schema", {}).get("fields", []))
        version = self._version(dataset, given, fields, run)
        version.add(given.get("facets", {}), self._time)
        if run:
            run.outputs[dataset] = [*run.outputs.get(dataset, ()), version]
            self._column_edges(dataset, given, fields, run)
        return dataset, version

    @staticmethod
    def _version(dataset: Dataset, given: Json, fields: list[Field], run: Run | None) -> Version:
        facets = given.get("facets", {})
        told = [_state(facets), facets.get("schema", {}).get("fields"), run and run.run_id]
        told.append(facets.get("dataSource", {}).get("name"))
        return dataset.versions.setdefault(json.dumps(told), Version([*fields], _state(facets)))

    @staticmethod
    def _column_edges(dataset: Dataset, given: Json, fields: list[Field], run: Run) -> None:
        """An edge is kept where the output lists the column, the source is an input of the run, and its field known."""
        columns = given.get("facets", {}).get("columnLineage", {}).get("fields", {})
        for output in fields:
            for source in columns.get(output.name, {}).get("inputFields", []):
                name = (source["namespace"], source["name"])
                for read, version in run.inputs.items():
                    known = [one for one in version.fields if one.name == source["field"] and name in read.names]
                    told = {
                        one: columns[output.name].get(one)
                        for one in ("transformationDescription", "transformationType")
                    }
                    dataset.edges |= {(output, one): (read, told) for one in known}


def _state(facets: Json) -> str:
    return str(facets.get("lifecycleStateChange", {}).get("lifecycleStateChange", ""))
