"""``exporter push --verify``: reads back from a backend what it was sent, and names what is missing.

A backend can accept an event and drop an edge of it. So what the events say is compared with what its public API shows.
Parts that it is known not to keep are counted apart. So are parts without an API: they are not checked, and not counted
as found. More than the events say is no finding: others may push to the same backend.

:class:`Verification` is the comparison with a Marquez: of each dataset in the sample its columns and column lineage; of
each job what its latest run read and wrote, at the job and in the lineage graph; and the state of each run.
:mod:`.verify_openmetadata` and :mod:`.verify_datahub` compare with the others.
"""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter.errors import UsageError
from exporter.openlineage.push.delivery import Retries
from exporter.openlineage.push.expected import KINDS, Expected, Sample, Thing
from exporter.openlineage.push.http import Kind
from exporter.openlineage.push.order import Pace, Stopped
from exporter.openlineage.push.plan import say
from exporter.system.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exporter.openlineage.push.expected import Dataset, Job
    from exporter.openlineage.push.fit import Fit
    from exporter.openlineage.push.http import HttpSender
    from exporter.openlineage.push.index import Index
    from exporter.openlineage.push.ledger import Delivered

Json = dict[str, Any]
ALL_KINDS: Final = ("datasets", "columns", "column edges", "jobs", "job edges", "runs")
SAMPLE: Final = 1_000
"""How many datasets, jobs and runs are looked at, of each, by default."""
ALL: Final = 2**62
AGAIN: Final = 1.0
"""Seconds until something is looked at again that a backend may still be processing."""
LISTED: Final = 20
"""How many missing things a person is shown."""
EARLIER: Final = "columns that only earlier events name: a dataset has the columns of its last write"
UNKEPT: Final = "column edges whose source is no column of an input of the run: Marquez does not keep them"
OPEN: Final = "jobs whose latest run has begun and not ended: Marquez shows no inputs and outputs of it"
UNASKED: Final = "jobs whose graph cannot be requested, since Marquez takes a digit in the name for a port"
_UNASKED: Final = re.compile(r"(^|:)(\d|//)")


def sample_size(text: str | None) -> int:
    """From ``all`` or a number; raises UsageError for anything else."""
    if text is None or text == "all":
        return SAMPLE if text is None else ALL
    if not text.isascii() or not text.isdecimal() or int(text[:18]) < 1:
        raise UsageError(f"--sample must be all or a number from 1, and is {text!r}")
    return int(text[:18])


class Finding(NamedTuple):
    """Something that was looked for. ``why``: the reason why it counts as missing; ``known``: it is missing, since the
    backend is known not to keep it, for this reason; ``unchecked``: why the backend cannot be asked for it.
    """

    kind: str
    what: str
    why: str | None = None
    known: str | None = None
    unchecked: str | None = None


@dataclass
class Verified:
    """``sent``: how many datasets, jobs and runs the events name; ``looked_at``, ``found``, ``missing``: by kind.
    ``known``: what the backend is known not to keep, and ``not_checked``: what it cannot be asked for, by the reason.
    ``listed``: what is missing. ``stopped``: why not everything in the sample was looked at, None if it was.
    """

    backend: str
    sent: dict[str, int]
    looked_at: dict[str, int] = field(default_factory=dict)
    found: dict[str, int] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    not_checked: dict[str, int] = field(default_factory=dict)
    listed: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    stopped: str | None = None

    @classmethod
    def of(cls, backend: str, sent: dict[str, int], kinds: tuple[str, ...]) -> Verified:
        """Nothing looked at so far; ``kinds``: of things that will be."""
        zeros = dict.fromkeys(kinds, 0)
        return cls(backend, sent, dict(zeros), dict(zeros), dict(zeros))

    def add(self, finding: Finding) -> None:
        for why, counts in ((finding.known, self.known), (finding.unchecked, self.not_checked)):
            if why:
                counts[why] = counts.get(why, 0) + 1
                return
        self.looked_at[finding.kind] += 1
        (self.missing if finding.why else self.found)[finding.kind] += 1
        if finding.why:
            self.listed.append({"kind": finding.kind, "what": finding.what, "why": finding.why})

    def as_json(self) -> Json:
        return {**asdict(self), "seconds": round(self.seconds, 1)}

    def lines(self) -> Iterator[str]:
        """For people: what was looked at, found and missing; what is known, what is not checked; what is missing."""
        yield f"Read back from {self.backend}"
        yield f"  {'':<14}{'looked at':>12}{'found':>12}{'missing':>12}"
        for kind in self.looked_at:
            counts = (self.looked_at[kind], self.found[kind], self.missing[kind])
            of_all = f"   of {self.sent[kind]:,}" if self.sent.get(kind, 0) > self.looked_at[kind] else ""
            yield f"  {kind:<14}" + "".join(f"{count:>12,}" for count in counts) + of_all
        for why, count in sorted(self.known.items()):
            yield f"  {count:,} known: {why}"
        for why, count in sorted(self.not_checked.items()):
            yield f"  {count:,} not checked: {why}"
        if self.stopped:
            yield f"Not everything was looked at: {self.stopped}"
        for missing in self.listed[:LISTED]:
            yield f"  missing, {missing['kind']}: {missing['what']} ({missing['why']})"
        if len(self.listed) > LISTED:
            yield f"  and {len(self.listed) - LISTED:,} more; --json lists all"


class UnreadableError(Exception):
    """The answer about one thing is an error."""


class NoAnswerError(Exception):
    """The backend does not answer any more, or refuses this user."""


class Api:
    """The API of a backend, with retries as for events. ``beside``: what the address for events ends with in the place
    of the API's paths. Thread-safe.
    """

    def __init__(self, sender: HttpSender, pace: Pace, patience: float, beside: str) -> None:
        self._sender, self._pace, self._patience, self._beside = sender, pace, patience, beside

    def get(self, *path: str, **query: str) -> Json | None:
        """The object at a path; None where there is none. Raises :class:`UnreadableError`, :class:`NoAnswerError` and
        Stopped.
        """
        return self._object(self._read(path, query))

    def get_if_allowed(self, *path: str) -> Json | None:
        """The same; None also where this user may not see it."""
        return self._object(self._read(path, {}, may_be_forbidden=True))

    def post(self, *path: str, body: Any) -> list[Json] | None:
        """The list that answers a question; else as :meth:`get`."""
        answer = self._read(path, {}, body)
        if answer is not None and not (isinstance(answer, list) and all(isinstance(item, dict) for item in answer)):
            raise UnreadableError("no list of JSON objects")
        return answer

    @staticmethod
    def _object(answer: Any) -> Json | None:
        if answer is not None and not isinstance(answer, dict):
            raise UnreadableError("no JSON object")
        return answer

    def _read(self, path: tuple[str, ...], query: Json, body: Any = None, *, may_be_forbidden: bool = False) -> Any:
        retries = Retries(self._patience)
        while True:
            with self._pace.request():
                answer, document = self._sender.read(path, query, self._beside, body)
            if answer.kind is Kind.TAKEN:
                return document
            if answer.kind is Kind.MISPLACED or (may_be_forbidden and answer.kind is Kind.FORBIDDEN):
                return None
            wait = retries.wait(answer)
            if wait is None:
                raise (UnreadableError if answer.kind in (Kind.SICK, Kind.REFUSED) else NoAnswerError)(answer.text)
            if self._pace.stopped.wait(wait):
                raise Stopped


class Verification:
    """The comparison with one Marquez. ``most``: things of each kind that are looked at.

    ``beside``: as in :class:`Api`. ``kinds``: what is looked at. ``settles``: whether the backend processes an event
    after it answered, so that what is missing is looked at again while the user's patience lasts.
    """

    beside = "/lineage"
    kinds: tuple[str, ...] = ALL_KINDS
    settles = False
    _expected: Any

    def __init__(self, index: Index, fit: Fit, delivered: Delivered, most: int) -> None:
        self._index, self._fit, self._delivered, self._most = index, fit, delivered, most
        self._why: str | None = None

    def run(self, name: str, sender: HttpSender, pace: Pace, patience: float, at_once: int) -> Verified:
        """Reads the things in the sample, ``at_once`` of them together. ``name``: of the backend, for people."""
        start = time.monotonic()
        sample, self._api, self._pace = Sample(), Api(sender, pace, patience, self.beside), pace
        self._index.mark_delivered(self._delivered.taken())
        progress = Progress()
        with progress.stage("reading what was sent"):
            sample.choose(self._sent_events(), self._most)
            self._expected = self._expect(sample)
            for event in self._sent_events():
                self._expected.add(event)
        verified = Verified.of(name, sample.sizes, self.kinds)
        counts = ", ".join(_count_text(kind, getattr(self._expected, kind)) for kind in KINDS if kind in self.kinds)
        say(f"reading back from {name}: {counts}")
        self._until = time.monotonic() + patience
        with progress.stage("reading back"), ThreadPoolExecutor(at_once) as pool:
            try:
                self._prepare(verified)
                for number, findings in enumerate(pool.map(self._findings, self._checks()), 1):
                    progress.counted("things", number)
                    for finding in findings:
                        verified.add(finding)
            except (NoAnswerError, UnreadableError) as error:  # the findings so far count
                self._why = self._why or str(error)
            finally:
                pace.stop()
        verified.listed.sort(key=lambda item: (self.kinds.index(item["kind"]), item["what"]))
        verified.stopped = self._why
        verified.seconds = time.monotonic() - start
        return verified

    def _expect(self, sample: Sample) -> Any:
        """What the events say, with ``add(event)`` and a dict for each of KINDS."""
        return Expected(sample)

    def _prepare(self, verified: Verified) -> None:
        """What has to be read first. Raises :class:`NoAnswerError` and :class:`UnreadableError`."""

    def _sent_events(self) -> Iterator[Json]:
        """The events that the backend has, as they were sent."""
        for item in self._index.delivered():
            line = self._index.line(item)
            yield from map(json.loads, self._fit.fit(json.loads(line), line, item).bodies)

    def _checks(self) -> Iterator[Callable[[], Iterator[Finding]]]:
        for dataset, expected in sorted(self._expected.datasets.items()):
            yield partial(self._dataset_findings, dataset, expected)
        for job, of_job in sorted(self._expected.jobs.items()):
            yield partial(self._job_findings, job, of_job)
        for run, state in sorted(self._expected.runs.items()):
            yield partial(self._run_findings, run, state)

    def _findings(self, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
        try:
            findings = list(check())
            while self.settles and any(finding.why for finding in findings) and time.monotonic() < self._until:
                if self._pace.stopped.wait(AGAIN):
                    raise Stopped  # noqa: TRY301 - as from a request
                findings = list(check())
        except NoAnswerError as error:
            self._why = self._why or str(error)
            self._pace.stop()
            raise
        except Stopped:
            raise NoAnswerError from None
        return findings

    def _read_object(self, *path: str, **query: str) -> tuple[Json, str | None]:
        """The object at a path, and the reason why there is none."""
        try:
            answer = self._api.get(*path, **query)
        except UnreadableError as error:
            return {}, f"it answers {error}"
        return (answer, None) if answer is not None else ({}, "it is not there")

    # --- the three kinds ----------------------------------------------------------------------------------------------

    def _dataset_findings(self, thing: Thing, expected: Dataset) -> Iterator[Finding]:
        name, (answer, why) = (
            display_name(thing),
            self._read_object("namespaces", thing.namespace, "datasets", thing.name),
        )
        if not why and bool(answer.get("deleted")) != expected.is_dropped:
            why = "it is not shown as deleted" if expected.is_dropped else "it is shown as deleted"
        yield Finding("datasets", name, why)
        columns = {column_field.get("name") for column_field in answer.get("fields") or ()}
        for column in sorted(expected.columns):
            yield Finding("columns", f"{name} {column}", None if column in columns else "the dataset does not have it")
        for column in sorted(expected.earlier - expected.columns - columns):
            yield Finding("columns", f"{name} {column}", known=EARLIER)
        edges = {
            (input_field.get("namespace"), input_field.get("dataset"), input_field.get("field"), column.get("name"))
            for column in answer.get("columnLineage") or ()
            for input_field in column.get("inputFields") or ()
        }
        for edge in sorted(expected.edges | expected.unkept):
            is_there = (*edge.source, edge.source_column, edge.column) in edges
            what = f"{display_name(edge.source)} {edge.source_column} -> {name} {edge.column}"
            is_known = not is_there and edge in expected.unkept
            why = None if is_there else "the dataset's column lineage does not have it"
            yield Finding("column edges", what, None if is_known else why, UNKEPT if is_known else None)

    def _job_findings(self, thing: Thing, expected: Job) -> Iterator[Finding]:
        name, (answer, why) = display_name(thing), self._read_object("namespaces", thing.namespace, "jobs", thing.name)
        yield Finding("jobs", name, why)
        if expected.is_open:
            yield Finding("jobs", name, known=OPEN)
            return
        node = f"job:{thing.namespace}:{thing.name}"
        graph, graph_error = self._read_object("lineage", nodeId=node, depth="0")
        is_unasked = bool(graph_error and _UNASKED.search(thing.name))
        if is_unasked:
            yield Finding("jobs", name, known=UNASKED)
        edges = {
            (edge.get("origin"), edge.get("destination"))
            for graph_node in graph.get("graph") or ()
            for side in ("inEdges", "outEdges")
            for edge in graph_node.get(side) or ()
        }
        for side, datasets in (("inputs", expected.inputs), ("outputs", expected.outputs)):
            listed = {(dataset.get("namespace"), dataset.get("name")) for dataset in answer.get(side) or ()}
            for dataset_thing in sorted(datasets):
                ends = (f"dataset:{dataset_thing.namespace}:{dataset_thing.name}", node)
                is_drawn = is_unasked or (ends if side == "inputs" else ends[::-1]) in edges
                missing_in = [
                    text for text, is_in in (("the job", dataset_thing in listed), ("its graph", is_drawn)) if not is_in
                ]
                what = (
                    f"{display_name(dataset_thing)} -> {name}"
                    if side == "inputs"
                    else f"{name} -> {display_name(dataset_thing)}"
                )
                yield Finding("job edges", what, f"not in {' and '.join(missing_in)}" if missing_in else None)

    def _run_findings(self, run: str, state: str | None) -> Iterator[Finding]:
        answer, why = self._read_object("jobs", "runs", run)
        if not why and state is not None and answer.get("state") != state:
            why = f"its state is {answer.get('state')} and not {state}"
        yield Finding("runs", run, why)


def display_name(thing: Thing) -> str:
    """The name of a dataset or job, for people."""
    return f"{thing.namespace} {thing.name}"


def _count_text(kind: str, things: dict[Any, Any]) -> str:
    return f"{len(things):,} {kind}"
