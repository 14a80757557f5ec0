"""``exporter push --verify``: reads back from a backend what it was sent, and names what is missing.

A backend can accept an event and drop an edge of it. So what the events say is compared with what its public API shows.
What it is known not to keep is counted apart, and so is what it has no API for: that is not checked, and never counted
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
"""How many datasets, jobs and runs are looked at, of each, where nothing is said."""
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


class Looked(NamedTuple):
    """Something that was looked for. ``why``: it is missing; ``known``: it is, and the backend is known not to keep it;
    ``unchecked``: why the backend cannot be asked for it.
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
        none = dict.fromkeys(kinds, 0)
        return cls(backend, sent, dict(none), dict(none), dict(none))

    def add(self, looked: Looked) -> None:
        for why, counts in ((looked.known, self.known), (looked.unchecked, self.not_checked)):
            if why:
                counts[why] = counts.get(why, 0) + 1
                return
        self.looked_at[looked.kind] += 1
        (self.missing if looked.why else self.found)[looked.kind] += 1
        if looked.why:
            self.listed.append({"kind": looked.kind, "what": looked.what, "why": looked.why})

    def as_json(self) -> Json:
        return {**asdict(self), "seconds": round(self.seconds, 1)}

    def lines(self) -> Iterator[str]:
        """For people: what was looked at, found and missing; what is known, what is not checked; what is missing."""
        yield f"Read back from {self.backend}"
        yield f"  {'':<14}{'looked at':>12}{'found':>12}{'missing':>12}"
        for kind in self.looked_at:
            counts = (self.looked_at[kind], self.found[kind], self.missing[kind])
            of = f"   of {self.sent[kind]:,}" if self.sent.get(kind, 0) > self.looked_at[kind] else ""
            yield f"  {kind:<14}" + "".join(f"{count:>12,}" for count in counts) + of
        for why, count in sorted(self.known.items()):
            yield f"  {count:,} known: {why}"
        for why, count in sorted(self.not_checked.items()):
            yield f"  {count:,} not checked: {why}"
        if self.stopped:
            yield f"Not everything was looked at: {self.stopped}"
        for one in self.listed[:LISTED]:
            yield f"  missing, {one['kind']}: {one['what']} ({one['why']})"
        if len(self.listed) > LISTED:
            yield f"  and {len(self.listed) - LISTED:,} more; --json lists all"


class Unread(Exception):  # noqa: N818 - what it means, not that it is a fault
    """The answer about one thing is an error."""


class Ended(Exception):  # noqa: N818 - as above
    """The backend does not answer any more, or does not accept who asks."""


class Api:
    """The API of a backend, with retries as for events. ``beside``: what the address for events ends with in the place
    of the API's paths. Thread-safe.
    """

    def __init__(self, sender: HttpSender, pace: Pace, patience: float, beside: str) -> None:
        self._sender, self._pace, self._patience, self._beside = sender, pace, patience, beside

    def get(self, *path: str, **asked: str) -> Json | None:
        """The object that it shows; None where it shows nothing. Raises :class:`Unread`, :class:`Ended` and Stopped."""
        return self._object(self._read(path, asked))

    def get_if_allowed(self, *path: str) -> Json | None:
        """The same; None also where who asks may not see it."""
        return self._object(self._read(path, {}, may_be_forbidden=True))

    def post(self, *path: str, body: Any) -> list[Json] | None:
        """The list that it answers a question with; else as :meth:`get`."""
        shown = self._read(path, {}, body)
        if shown is not None and not (isinstance(shown, list) and all(isinstance(one, dict) for one in shown)):
            raise Unread("no list of JSON objects")
        return shown

    @staticmethod
    def _object(shown: Any) -> Json | None:
        if shown is not None and not isinstance(shown, dict):
            raise Unread("no JSON object")
        return shown

    def _read(self, path: tuple[str, ...], asked: Json, body: Any = None, *, may_be_forbidden: bool = False) -> Any:
        retries = Retries(self._patience)
        while True:
            with self._pace.request():
                answer, shown = self._sender.read(path, asked, self._beside, body)
            if answer.kind is Kind.TAKEN:
                return shown
            if answer.kind is Kind.MISPLACED or (may_be_forbidden and answer.kind is Kind.FORBIDDEN):
                return None
            wait = retries.wait(answer)
            if wait is None:
                raise (Unread if answer.kind in (Kind.SICK, Kind.REFUSED) else Ended)(answer.text)
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
        begun = time.monotonic()
        sample, self._api, self._pace = Sample(), Api(sender, pace, patience, self.beside), pace
        self._index.settle(self._delivered.taken())
        progress = Progress()
        with progress.stage("reading what was sent"):
            sample.choose(self._sent(), self._most)
            self._expected = self._expect(sample)
            for event in self._sent():
                self._expected.take(event)
        verified = Verified.of(name, sample.sizes, self.kinds)
        many = ", ".join(_counted(kind, getattr(self._expected, kind)) for kind in KINDS if kind in self.kinds)
        say(f"reading back from {name}: {many}")
        self._until = time.monotonic() + patience
        with progress.stage("reading back"), ThreadPoolExecutor(at_once) as pool:
            try:
                self._prepare(verified)
                for number, looked in enumerate(pool.map(self._looked, self._checks()), 1):
                    progress.counted("things", number)
                    for one in looked:
                        verified.add(one)
            except (Ended, Unread) as end:  # what was looked at before counts
                self._why = self._why or str(end)
            finally:
                pace.stop()
        verified.listed.sort(key=lambda one: (self.kinds.index(one["kind"]), one["what"]))
        verified.stopped = self._why
        verified.seconds = time.monotonic() - begun
        return verified

    def _expect(self, sample: Sample) -> Any:
        """What the events say, with ``take(event)`` and a dict for each of KINDS."""
        return Expected(sample)

    def _prepare(self, verified: Verified) -> None:
        """What has to be read first. Raises :class:`Ended` and :class:`Unread`."""

    def _sent(self) -> Iterator[Json]:
        """The events that the backend has, as they were sent."""
        for item in self._index.delivered():
            line = self._index.line(item)
            yield from map(json.loads, self._fit.fit(json.loads(line), line, item).bodies)

    def _checks(self) -> Iterator[Callable[[], Iterator[Looked]]]:
        for dataset, expected in sorted(self._expected.datasets.items()):
            yield lambda one=dataset, expected=expected: self._dataset(one, expected)  # type: ignore[misc]
        for job, of_job in sorted(self._expected.jobs.items()):
            yield lambda one=job, expected=of_job: self._job(one, expected)  # type: ignore[misc]
        for run, state in sorted(self._expected.runs.items()):
            yield lambda one=run, expected=state: self._run(one, expected)  # type: ignore[misc]

    def _looked(self, check: Callable[[], Iterator[Looked]]) -> list[Looked]:
        try:
            looked = list(check())
            while self.settles and any(one.why for one in looked) and time.monotonic() < self._until:
                if self._pace.stopped.wait(AGAIN):
                    raise Stopped  # noqa: TRY301 - as from a request
                looked = list(check())
        except Ended as end:
            self._why = self._why or str(end)
            self._pace.stop()
            raise
        except Stopped:
            raise Ended from None
        return looked

    def _shown(self, *path: str, **asked: str) -> tuple[Json, str | None]:
        """What it shows, and why it shows nothing."""
        try:
            shown = self._api.get(*path, **asked)
        except Unread as fault:
            return {}, f"it answers {fault}"
        return (shown, None) if shown is not None else ({}, "it is not there")

    # --- the three kinds ----------------------------------------------------------------------------------------------

    def _dataset(self, thing: Thing, expected: Dataset) -> Iterator[Looked]:
        name, (shown, why) = named(thing), self._shown("namespaces", thing.namespace, "datasets", thing.name)
        if not why and bool(shown.get("deleted")) != expected.is_dropped:
            why = "it is not shown as deleted" if expected.is_dropped else "it is shown as deleted"
        yield Looked("datasets", name, why)
        columns = {one.get("name") for one in shown.get("fields") or ()}
        for column in sorted(expected.columns):
            yield Looked("columns", f"{name} {column}", None if column in columns else "the dataset does not have it")
        for column in sorted(expected.earlier - expected.columns - columns):
            yield Looked("columns", f"{name} {column}", known=EARLIER)
        edges = {
            (one.get("namespace"), one.get("dataset"), one.get("field"), column.get("name"))
            for column in shown.get("columnLineage") or ()
            for one in column.get("inputFields") or ()
        }
        for edge in sorted(expected.edges | expected.unkept):
            is_there = (*edge.source, edge.source_column, edge.column) in edges
            what = f"{named(edge.source)} {edge.source_column} -> {name} {edge.column}"
            is_known = not is_there and edge in expected.unkept
            why = None if is_there else "the dataset's column lineage does not have it"
            yield Looked("column edges", what, None if is_known else why, UNKEPT if is_known else None)

    def _job(self, thing: Thing, expected: Job) -> Iterator[Looked]:
        name, (shown, why) = named(thing), self._shown("namespaces", thing.namespace, "jobs", thing.name)
        yield Looked("jobs", name, why)
        if expected.is_open:
            yield Looked("jobs", name, known=OPEN)
            return
        node = f"job:{thing.namespace}:{thing.name}"
        drawn, unasked = self._shown("lineage", nodeId=node, depth="0")
        is_unasked = bool(unasked and _UNASKED.search(thing.name))
        if is_unasked:
            yield Looked("jobs", name, known=UNASKED)
        edges = {
            (edge.get("origin"), edge.get("destination"))
            for one in drawn.get("graph") or ()
            for side in ("inEdges", "outEdges")
            for edge in one.get(side) or ()
        }
        for side, datasets in (("inputs", expected.inputs), ("outputs", expected.outputs)):
            listed = {(one.get("namespace"), one.get("name")) for one in shown.get(side) or ()}
            for one in sorted(datasets):
                ends = (f"dataset:{one.namespace}:{one.name}", node)
                is_drawn = is_unasked or (ends if side == "inputs" else ends[::-1]) in edges
                where = [text for text, has in (("the job", one in listed), ("its graph", is_drawn)) if not has]
                what = f"{named(one)} -> {name}" if side == "inputs" else f"{name} -> {named(one)}"
                yield Looked("job edges", what, f"not in {' and '.join(where)}" if where else None)

    def _run(self, run: str, state: str | None) -> Iterator[Looked]:
        shown, why = self._shown("jobs", "runs", run)
        if not why and state is not None and shown.get("state") != state:
            why = f"its state is {shown.get('state')} and not {state}"
        yield Looked("runs", run, why)


def named(thing: Thing) -> str:
    """For people."""
    return f"{thing.namespace} {thing.name}"


def _counted(kind: str, things: dict[Any, Any]) -> str:
    return f"{len(things):,} {kind}"
