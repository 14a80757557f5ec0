"""``exporter push --verify``: reads back from a backend what it was sent, and names what is missing.

A backend can accept an event and drop an edge of it. So what the events say is compared with what its public API shows.
Parts that it is known not to keep are counted apart. So are parts without an API: they are not checked, and not counted
as found. More than the events say is no finding: others may push to the same backend.

This is done for a sample of the datasets, jobs and runs, so memory does not grow with them. :class:`Verification` has
what is common to all backends; :mod:`.verify_marquez`, :mod:`.verify_openmetadata` and :mod:`.verify_datahub` say for
one each what it has to show after it got these events in this order, and read what it shows.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from exporter.backends.attempts import Pace, Retries, Stopped
from exporter.backends.event import ColumnEdge, DatasetOrJob, Json, columns_of, datasets, facet, thing_of
from exporter.backends.index import Index
from exporter.backends.ledger import TAKEN, Delivered
from exporter.backends.plan import say
from exporter.backends.secrecy import AnswerKind
from exporter.errors import UsageError
from exporter.system.progress import Progress

if TYPE_CHECKING:
    from exporter.backends.fit import Fit
    from exporter.backends.http import HttpSender

ALL_KINDS: Final = ("datasets", "columns", "column edges", "jobs", "job edges", "runs")
SAMPLE: Final = 1_000
"""How many datasets, jobs and runs are looked at, of each, by default."""
ALL: Final = 2**62
AGAIN: Final = 1.0
"""Seconds until something is looked at again that a backend may still be processing."""
LISTED: Final = 20
"""How many missing things a person is shown."""
_KINDS: Final = ("datasets", "jobs", "runs")
_NOT_OF_A_JOB: Final = re.compile(r"[^a-z:/A-Z0-9\-_.@+]")
"""What Marquez replaces by ``_`` in the namespace of a job."""


def sample_size(text: str | None) -> int:
    """From ``all`` or a number; raises UsageError for anything else."""
    if text is None or text == "all":
        return SAMPLE if text is None else ALL
    if not text.isascii() or not text.isdecimal() or int(text[:18]) < 1:
        raise UsageError(f"--sample must be all or a number from 1, and is {text!r}")
    return int(text[:18])


# --- what the events say ----------------------------------------------------------------------------------------------


@dataclass
class ExpectedDataset:
    """What events say of a dataset. ``columns``: those that the backend shows; ``earlier``: all that events ever named.
    ``is_dropped``: the last event about it is its DROP. ``run``: the last that names it.

    ``edges``: the column lineage that the backend keeps; ``unkept``: what it may drop. ``sources``: where it keeps the
    last event about two datasets alone: for each that this one is made from, the column edges of that event.
    """

    columns: set[str] = field(default_factory=set)
    earlier: set[str] = field(default_factory=set)
    is_dropped: bool = False
    run: str = ""
    edges: set[ColumnEdge] = field(default_factory=set)
    unkept: set[ColumnEdge] = field(default_factory=set)
    sources: dict[DatasetOrJob, set[ColumnEdge]] = field(default_factory=dict)

    def set_columns(self, columns: Iterable[str]) -> None:
        self.columns = set(columns)
        self.earlier |= self.columns


@dataclass
class ExpectedJob:
    """What the run of a job that the backend shows read and wrote; ``run``: None where it shows none. ``is_open``: a
    later one began.
    """

    run: str | None = None
    inputs: set[DatasetOrJob] = field(default_factory=set)
    outputs: set[DatasetOrJob] = field(default_factory=set)
    edges: set[ColumnEdge] = field(default_factory=set)
    is_open: bool = False


def job_of(event: Json) -> DatasetOrJob:
    """The job of a run's event, with its namespace as Marquez spells it."""
    return DatasetOrJob(_NOT_OF_A_JOB.sub("_", event["job"]["namespace"]), event["job"]["name"])


class Sample:
    """Of each kind the things with the smallest hashes: the same ones each time, in whatever order they come."""

    def __init__(self) -> None:
        # A temporary file, as the index: the number of things is not limited.
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.execute("CREATE TABLE named (kind TEXT, mark TEXT, PRIMARY KEY (kind, mark)) WITHOUT ROWID")
        self._last: dict[str, str | None] = {}
        self.sizes: dict[str, int] = dict.fromkeys(_KINDS, 0)

    def choose(self, events: Iterable[Json], most: int) -> None:
        """Chooses from what the events name; ``most``: so many of each kind."""
        for event in events:
            named = [("datasets", thing_of(document)) for document in datasets(event)]
            if "run" in event:
                named += [("jobs", job_of(event)), ("runs", DatasetOrJob("", event["run"]["runId"]))]
            rows = ((kind, _digest(thing)) for kind, thing in named)
            self._db.executemany("INSERT OR IGNORE INTO named VALUES (?, ?)", rows)
        for kind in _KINDS:
            (self.sizes[kind],) = self._db.execute("SELECT count(*) FROM named WHERE kind = ?", (kind,)).fetchone()
            last = "SELECT mark FROM named WHERE kind = ? ORDER BY mark LIMIT 1 OFFSET ?"
            row = self._db.execute(last, (kind, most - 1)).fetchone()
            self._last[kind] = row[0] if row else None
        self._db.close()

    def has(self, kind: str, thing: DatasetOrJob) -> bool:
        last = self._last[kind]
        return last is None or _digest(thing) <= last


def _digest(thing: DatasetOrJob) -> str:
    return hashlib.blake2b(json.dumps(thing).encode(), digest_size=16).hexdigest()


# --- what was found ---------------------------------------------------------------------------------------------------


class Expectation(NamedTuple):
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
    looked_at: dict[str, int]
    found: dict[str, int]
    missing: dict[str, int]
    known: dict[str, int] = field(default_factory=dict)
    not_checked: dict[str, int] = field(default_factory=dict)
    listed: list[dict[str, str]] = field(default_factory=list)
    seconds: float = 0.0
    stopped: str | None = None

    def add(self, finding: Expectation) -> None:
        for reason, counts in ((finding.known, self.known), (finding.unchecked, self.not_checked)):
            if reason:
                counts[reason] = counts.get(reason, 0) + 1
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
        for word, reasons in (("known", self.known), ("not checked", self.not_checked)):
            for reason, count in sorted(reasons.items()):
                yield f"  {count:,} {word}: {reason}"
        if self.stopped:
            yield f"Not everything was looked at: {self.stopped}"
        for missing in self.listed[:LISTED]:
            yield f"  missing, {missing['kind']}: {missing['what']} ({missing['why']})"
        if len(self.listed) > LISTED:
            yield f"  and {len(self.listed) - LISTED:,} more; --json lists all"


# --- reading back -----------------------------------------------------------------------------------------------------


class UnreadableError(Exception):
    """The answer about one thing is an error."""


class NoAnswerError(Exception):
    """The backend does not answer any more, or refuses this user."""


class Verification(ABC):
    """The comparison with one backend. ``most``: things of each kind that are looked at.

    ``beside``: what the address for events ends with in the place of the API's paths. ``kinds``: what is looked at.
    ``states``: the type of a run's last event -> the state that the backend shows. ``settles``: whether it processes an
    event after it answered, so that what is missing is looked at again while the user's patience lasts. ``earlier``:
    why it does not show columns that only earlier events name, and ``without_column``: what it is then said to lack.
    """

    beside: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ALL_KINDS
    states: ClassVar[dict[str, str]] = {}
    settles: ClassVar[bool] = False
    earlier: ClassVar[str]
    without_column: ClassVar[str] = "the dataset does not have it"

    def __init__(self, index: Index, fit: Fit, delivered: Delivered, most: int) -> None:
        self._index, self._fit, self._delivered, self._most = index, fit, delivered, most
        self._why: str | None = None
        self._has_read, self._unread = False, ""
        """Whether any answer could be read, and why one could not."""
        self._datasets: dict[DatasetOrJob, ExpectedDataset] = {}
        self._jobs: dict[DatasetOrJob, ExpectedJob] = {}
        self._runs: dict[str, str | None] = {}
        """Their states, None where no event says one."""

    def run(self, name: str, sender: HttpSender, pace: Pace, patience: float, at_once: int) -> Verified:
        """Reads the things in the sample, ``at_once`` of them together. ``name``: of the backend, for people."""
        start = time.monotonic()
        self._sample, self._sender, self._pace, self._patience = Sample(), sender, pace, patience
        self._index.mark_delivered(self._delivered, [TAKEN])
        progress = Progress()
        with progress.stage("reading what was sent"):
            self._sample.choose(self._sent_events(), self._most)
            for event in self._sent_events():
                self._expect(event)
        verified = self._nothing_of(name)
        expected = {"datasets": len(self._datasets), "jobs": len(self._jobs), "runs": len(self._runs)}
        counts = (f"{count:,} {kind}" for kind, count in expected.items() if kind in self.kinds)
        say(f"reading back from {name}: {', '.join(counts)}")
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
        if self._unread and not self._has_read:  # then nothing is known to be missing
            verified = self._nothing_of(name)
            self._why = self._why or f"nothing could be read back: it answers {self._unread}"
        verified.stopped = self._why
        verified.seconds = time.monotonic() - start
        return verified

    def _nothing_of(self, name: str) -> Verified:
        """The result before anything of a backend is looked at."""
        zeros = dict.fromkeys(self.kinds, 0)
        return Verified(name, self._sample.sizes, zeros, dict(zeros), dict(zeros))

    def _sent_events(self) -> Iterator[Json]:
        """The events that the backend has, as they were sent."""
        for item in self._index.items(delivered=True):
            line = self._index.line(item)
            yield from map(json.loads, self._fit.fit(json.loads(line), line, item).bodies)

    def _checks(self) -> Iterator[Callable[[], Iterator[Expectation]]]:
        for dataset in sorted(self._datasets):
            yield partial(self._dataset_findings, dataset, self._datasets[dataset])
        for job in sorted(self._jobs):
            yield partial(self._job_findings, job, self._jobs[job])
        for run in sorted(self._runs):
            yield partial(self._run_findings, run, self._runs[run])

    def _findings(self, check: Callable[[], Iterator[Expectation]]) -> list[Expectation]:
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

    # --- the API of the backend ---------------------------------------------------------------------------------------

    def _ask(
        self, *path: str, query: Mapping[str, str] | None = None, body: Any = None, may_be_forbidden: bool = False
    ) -> Any:
        """The JSON object at a path, or the list of objects that answers the question ``body``, with retries as for
        events. None where there is none; with ``may_be_forbidden``, also where this user may not see it. Thread-safe.

        Raises :class:`UnreadableError`, :class:`NoAnswerError` and Stopped.
        """
        try:
            document = self._answer(path, query or {}, body, may_be_forbidden=may_be_forbidden)
        except UnreadableError as error:
            self._unread = str(error)
            raise
        self._has_read = True
        return document

    def _answer(self, path: tuple[str, ...], query: Mapping[str, str], body: Any, *, may_be_forbidden: bool) -> Any:
        retries = Retries(self._patience)
        while True:
            with self._pace.request():
                answer, document = self._sender.read(path, query, self.beside, body)
            if answer.kind is AnswerKind.TAKEN:
                break
            if answer.kind is AnswerKind.MISPLACED or (may_be_forbidden and answer.kind is AnswerKind.FORBIDDEN):
                return None
            wait = retries.wait(answer)
            if wait is None:
                is_of_one = answer.kind in (AnswerKind.ERROR, AnswerKind.REFUSED)
                raise (UnreadableError if is_of_one else NoAnswerError)(answer.text)
            if self._pace.stopped.wait(wait):
                raise Stopped
        if body is None and not isinstance(document, dict):
            raise UnreadableError("no JSON object")
        if body is not None and not (isinstance(document, list) and all(isinstance(item, dict) for item in document)):
            raise UnreadableError("no list of JSON objects")
        return document

    def _read_named(self, *path: str, **query: str) -> tuple[Json, str | None]:
        """The object with a name at a path, and the reason why there is none."""
        answer, reason = self._read(*path, **query)
        return answer, reason or (None if text(answer, "name") else "the answer does not name it")

    def _read(self, *path: str, **query: str) -> tuple[Json, str | None]:
        """The object at a path, and the reason why there is none."""
        try:
            answer = self._ask(*path, query=query)
        except UnreadableError as error:
            return {}, f"it answers {error}"
        return (answer, None) if answer is not None else ({}, "it is not there")

    # --- what each backend has of its own -----------------------------------------------------------------------------

    @abstractmethod
    def _expect(self, event: Json) -> None:
        """Notes what the backend has to show after the next event, as it was sent."""

    def _prepare(self, verified: Verified) -> None:  # noqa: B027 - most read nothing first
        """What has to be read first. Raises :class:`NoAnswerError` and :class:`UnreadableError`."""

    @abstractmethod
    def _dataset_findings(self, thing: DatasetOrJob, expected: ExpectedDataset) -> Iterator[Expectation]: ...

    def _job_findings(self, thing: DatasetOrJob, expected: ExpectedJob) -> Iterator[Expectation]:
        raise NotImplementedError

    def _state_of(self, run: str) -> tuple[str | None, str | None]:
        """The state that the backend shows of a run, and the reason why it is not found."""
        raise NotImplementedError

    # --- what several have in common ----------------------------------------------------------------------------------

    def _expect_run(self, event: Json) -> None:
        run = event["run"]["runId"]
        if self._sample.has("runs", DatasetOrJob("", run)):
            self._runs[run] = self.states.get(event.get("eventType") or "", self._runs.get(run))

    def _dataset_of(self, document: Json) -> ExpectedDataset | None:
        """What is known of a dataset that an event names; None where it is not in the sample."""
        thing = thing_of(document)
        if not self._sample.has("datasets", thing):
            return None
        dataset = self._datasets.setdefault(thing, ExpectedDataset())
        dataset.is_dropped = facet(document, "lifecycleStateChange").get("lifecycleStateChange") == "DROP"
        return dataset

    def _expect_last_columns(self, document: Json) -> ExpectedDataset | None:
        """The same, for a backend that shows the columns of the last event that lists any."""
        dataset = self._dataset_of(document)
        if dataset is not None and facet(document, "schema").get("fields") is not None:
            dataset.set_columns(columns_of(document))
        return dataset

    def _column_findings(
        self, thing: DatasetOrJob, expected: ExpectedDataset, shown: set[str | None]
    ) -> Iterator[Expectation]:
        for column in sorted(expected.columns):
            yield Expectation("columns", f"{thing} {column}", None if column in shown else self.without_column)
        for column in sorted(expected.earlier - expected.columns - shown):
            yield Expectation("columns", f"{thing} {column}", known=self.earlier)

    def _run_findings(self, run: str, state: str | None) -> Iterator[Expectation]:
        shown, reason = self._state_of(run)
        if not reason and state is not None and shown != state:
            reason = f"its state is {self._sender.secrets.shown(str(shown))} and not {state}"
        yield Expectation("runs", run, reason)


def part(document: Any, *keys: str) -> Json:
    """The object at these keys of an answer; empty where there is none, or the answer has another form."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def objects(document: Any, *keys: str) -> list[Json]:
    """The objects in the list at these keys of an answer."""
    listed = part(document, *keys[:-1]).get(keys[-1])
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def text(document: Any, *keys: str) -> str | None:
    """The text at these keys of an answer."""
    value = part(document, *keys[:-1]).get(keys[-1])
    return value if isinstance(value, str) else None


def texts(document: Any, *keys: str) -> list[str]:
    """The texts in the list at these keys of an answer."""
    listed = part(document, *keys[:-1]).get(keys[-1])
    return [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []


def job_edges(job: DatasetOrJob, expected: ExpectedJob) -> Iterator[tuple[str, DatasetOrJob, str]]:
    """What a job reads and writes: ``inputs`` or ``outputs``, the dataset, and the edge's text for people."""
    for dataset in sorted(expected.inputs):
        yield "inputs", dataset, f"{dataset} -> {job}"
    for dataset in sorted(expected.outputs):
        yield "outputs", dataset, f"{job} -> {dataset}"
