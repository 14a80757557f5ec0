"""What a Marquez has to show after it got these events in this order: datasets with their columns and column lineage,
jobs with the inputs and outputs of their latest run, and runs with their states.

It is read from the events as they were sent, for a sample of the datasets, jobs and runs, so memory does not grow with
them. The rules are those that were observed with a running Marquez (docs/marquez.md): an output has the columns of its
last write, the columns of inputs are added, the edges of columns add up, and a job has what its latest run that ended
read and wrote.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Json = dict[str, Any]
STATES: Final = {
    "START": "RUNNING",
    "RUNNING": "RUNNING",
    "COMPLETE": "COMPLETED",
    "FAIL": "FAILED",
    "ABORT": "ABORTED",
}
"""The type of a run's last event -> the state that Marquez shows."""
_ENDS: Final = ("COMPLETE", "FAIL", "ABORT")
_NOT_OF_A_JOB: Final = re.compile(r"[^a-z:/A-Z0-9\-_.@+]")
"""What Marquez replaces by ``_`` in the namespace of a job."""


class Thing(NamedTuple):
    """A dataset or a job; a run has its id as the name and no namespace."""

    namespace: str
    name: str


class ColumnEdge(NamedTuple):
    """A column of a dataset is made from the column of a source."""

    source: Thing
    source_column: str
    column: str


@dataclass
class Dataset:
    """``columns``: those that Marquez shows; ``earlier``: all that events ever named. ``edges``: the column lineage
    that it keeps; ``unkept``: what it may drop, since the source is no column of an input of the run, or the event does
    not list the column that is made. ``is_dropped``: the last event about it is its DROP.
    """

    columns: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    edges: set[ColumnEdge] = field(default_factory=set)
    unkept: set[ColumnEdge] = field(default_factory=set)
    is_dropped: bool = False


@dataclass
class Job:
    """``run``: the latest that ended, None if none did; what it read and wrote. ``is_open``: a later one began."""

    run: str | None = None
    inputs: set[Thing] = field(default_factory=set)
    outputs: set[Thing] = field(default_factory=set)
    is_open: bool = False


KINDS: Final = ("datasets", "jobs", "runs")


class Sample:
    """Of each kind the things with the smallest hashes: the same ones each time, in whatever order they come."""

    def __init__(self) -> None:
        # A temporary file, as the index: the number of things is not limited.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("CREATE TABLE named (kind TEXT, mark TEXT, PRIMARY KEY (kind, mark)) WITHOUT ROWID")
        self._last: dict[str, str | None] = {}
        self.sizes: dict[str, int] = dict.fromkeys(KINDS, 0)

    def choose(self, events: Iterable[Json], most: int) -> None:
        """Chooses from what the events name; ``most``: so many of each kind."""
        for event in events:
            rows = [(kind, _digest(thing)) for kind, thing in _things_of(event)]
            self._db.executemany("INSERT OR IGNORE INTO named VALUES (?, ?)", rows)
        for kind in KINDS:
            (self.sizes[kind],) = self._db.execute("SELECT count(*) FROM named WHERE kind = ?", (kind,)).fetchone()
            last = "SELECT mark FROM named WHERE kind = ? ORDER BY mark LIMIT 1 OFFSET ?"
            row = self._db.execute(last, (kind, most - 1)).fetchone()
            self._last[kind] = row[0] if row else None
        self._db.close()

    def has(self, kind: str, thing: Thing) -> bool:
        last = self._last[kind]
        return last is None or _digest(thing) <= last


def _digest(thing: Thing) -> str:
    return hashlib.blake2b(json.dumps(thing).encode(), digest_size=16).hexdigest()


def _things_of(event: Json) -> Iterator[tuple[str, Thing]]:
    """The things of an event, each with its kind."""
    documents = [*(event.get("inputs") or ()), *(event.get("outputs") or ())]
    for document in [*documents, *([event["dataset"]] if "dataset" in event else [])]:
        yield "datasets", thing_of(document)
    if "run" in event:
        yield "jobs", job_of(event)
        yield "runs", Thing("", event["run"]["runId"])


def thing_of(document: Json) -> Thing:
    """The dataset that an object of an event names."""
    return Thing(document["namespace"], document["name"])


def job_of(event: Json) -> Thing:
    """The job of a run's event, with its namespace as Marquez spells it."""
    return Thing(_NOT_OF_A_JOB.sub("_", event["job"]["namespace"]), event["job"]["name"])


class Expected:
    """What the events say of the things in a sample. ``runs``: their states, None where no event says one."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        self.datasets: dict[Thing, Dataset] = {}
        self.jobs: dict[Thing, Job] = {}
        self.runs: dict[str, str | None] = {}

    def add(self, event: Json) -> None:
        """The next event, as it was sent."""
        if "dataset" in event:
            self._write(event["dataset"])
        if "run" not in event:
            return
        self._add_run(event)
        inputs = event.get("inputs") or []
        for document in inputs:
            self._read(document)
        read = {thing_of(document): columns_of(document) for document in inputs}
        for document in event.get("outputs") or []:
            self._write(document, read)

    def _dataset(self, document: Json) -> Dataset | None:
        """None where it is not in the sample."""
        thing = thing_of(document)
        if not self._sample.has("datasets", thing):
            return None
        dataset = self.datasets.setdefault(thing, Dataset())
        state = ((document.get("facets") or {}).get("lifecycleStateChange") or {}).get("lifecycleStateChange")
        dataset.is_dropped = state == "DROP"
        return dataset

    def _read(self, document: Json) -> None:
        dataset = self._dataset(document)
        if dataset is not None:
            dataset.columns |= columns_of(document)
            dataset.earlier |= dataset.columns

    def _write(self, document: Json, read: dict[Thing, set[str]] | None = None) -> None:
        dataset = self._dataset(document)
        if dataset is None:
            return
        dataset.columns = columns_of(document)
        dataset.earlier |= dataset.columns
        for edge in edges_of(document):
            is_kept = edge.column in dataset.columns and edge.source_column in (read or {}).get(edge.source, ())
            (dataset.edges if is_kept else dataset.unkept).add(edge)
        dataset.unkept -= dataset.edges

    def _add_run(self, event: Json) -> None:
        run, thing, kind = event["run"]["runId"], job_of(event), event.get("eventType")
        if self._sample.has("runs", Thing("", run)):
            self.runs[run] = STATES.get(kind or "", self.runs.get(run))
        if not self._sample.has("jobs", thing):
            return
        job = self.jobs.setdefault(thing, Job())
        if kind not in _ENDS:
            job.is_open = job.run != run
            return
        if job.run != run:  # else a further part of an event that was too large
            job.run, job.inputs, job.outputs = run, set(), set()
        job.is_open = False
        job.inputs |= {thing_of(document) for document in event.get("inputs") or ()}
        job.outputs |= {thing_of(document) for document in event.get("outputs") or ()}


def columns_of(document: Json) -> set[str]:
    """The columns that a dataset of an event lists."""
    fields = ((document.get("facets") or {}).get("schema") or {}).get("fields") or ()
    return {str(column["name"]) for column in fields}


def edges_of(document: Json) -> Iterator[ColumnEdge]:
    """The column lineage of a dataset of an event."""
    fields = ((document.get("facets") or {}).get("columnLineage") or {}).get("fields") or {}
    for column, lineage in fields.items():
        for source in lineage.get("inputFields") or ():
            yield ColumnEdge(thing_of(source), source["field"], column)
