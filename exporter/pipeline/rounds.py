"""The rounds of an export: which steps receive which messages, in which order. They are the same for all engines.

::

    records ─ read ─▶ extract ─▶ merge_profiles ─▶ resolve_names ─▶ resolve_datasets ─▶ answer ─▶ write ─▶ texts
                         ├──── uses in the order of time ─────────────────────────────────▲         ▲
                         ├──── parents ─▶ name_jobs for their children ─────────────────────────────┤
                         └──── facts ───────────────────────────────────────────────────────────────┘

If a user's shapes need the surroundings of objects, nodes are sent once more to the objects that they belong to.
Queries with nodes that the shapes refuse are quarantined: the rounds are repeated without them until none is refused.

An engine passes messages between steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar
from uuid import uuid4

from exporter.errors import ExporterError, UsageError
from exporter.pipeline.answer import answer
from exporter.pipeline.clones import clones_from, clones_into, end_contents, end_copies
from exporter.pipeline.daily import REFUSED as REFUSED_DAYS
from exporter.pipeline.daily import daily_reads, to_days
from exporter.pipeline.extract import STARTED, exclude_quarantined, extract
from exporter.pipeline.helpers import bridge_helpers, name_jobs, trace_helpers
from exporter.pipeline.job import ExportJob
from exporter.pipeline.merge_profiles import merge_profiles, resolve_datasets, resolve_names
from exporter.pipeline.messages import THINGS, Message, To
from exporter.pipeline.neighbourhood import (
    deliver_nodes,
    looks_at_others,
    share_nodes,
    validate_neighbourhoods,
)
from exporter.pipeline.outcome import Counts
from exporter.pipeline.quarantine import name_users_of_objects, number_lines, quarantine_users
from exporter.pipeline.texts import catalog_texts, needs_neighbourhoods, text_outputs
from exporter.pipeline.write import write
from exporter.system.progress import Progress

Step = Callable[[Iterable[Message], ExportJob], Iterator[Message]]

Messages = TypeVar("Messages")


class Engine(Protocol[Messages]):
    """Passes messages between steps without interpreting them."""

    def shuffle(self, messages: Sequence[Messages], step: Step, job: ExportJob) -> Messages:
        """Run the step on these messages, in parts that are sorted by receiver, key and order. A bucket is in one part,
        the same one in all rounds (:data:`exporter.pipeline.messages.BUCKET_END`).
        """

    def together(self, messages: Sequence[Messages], step: Step, job: ExportJob) -> Messages:
        """Run the step once on all of these messages, sorted. They must fit in one partition."""

    def map(self, messages: Messages, step: Step, job: ExportJob) -> Messages:
        """Run the step on these messages in any order."""

    def filter(self, messages: Messages, to: Sequence[str]) -> Messages:
        """The messages to these receivers."""

    def persist(self, messages: Messages, name: str) -> Messages:
        """The messages, computed and stored under a name, because several steps read them."""

    def output(self, step: Step) -> Step:
        """The step with its texts joined into pieces as this engine needs them for files."""

    def write_texts(self, messages: Sequence[Messages], name: str) -> Messages:
        """The messages, computed, with texts written to files under a name. The other messages stay."""

    def counts(self, messages: Messages) -> Counts:
        """The sums of the partitions' counts, from messages that are stored."""


OUTPUTS: Final = "outputs"
"""Prefix of the names under which the outputs of queries and things are stored."""
TURNS: Final = 100
"""Most turns. Each turn quarantines further queries; more turns mean a fault of the program or of a user's shapes."""


@dataclass(frozen=True)
class Exported(Generic[Messages]):
    """The result of an export. ``outputs``: the texts of all outputs. ``names``: the names under which they are stored.
    ``results``: of validation, of all turns. ``counts``: of the last turn. ``refused``: number of results that refuse a
    node, by shape, of all turns. ``messages``: all of the last turn, from which the next day's state is taken.
    ``quarantined``: the messages that quarantine queries for their nodes or events, not for their rows alone.
    ``started``: the first earlier day of an update on which one of them started, which then has to be made again
    without it; in that case there are no outputs. None if there is none.
    """

    outputs: list[Messages]
    names: list[str]
    results: list[Messages]
    counts: Counts
    refused: dict[str, int]
    messages: list[Messages]
    quarantined: list[Messages]
    started: str | None = None


@dataclass(frozen=True)
class EarlierDays(Generic[Messages]):
    """The state from which a day of an update continues. ``states``: messages -> the state of their receivers at the
    end of the day before. ``container_events``: messages, and receivers -> what happened to schemas and databases on
    all earlier days, for those of the receivers that get messages. ``record_counts``: how many records the files of
    all runs have, for the quarantine; they are read only if something is quarantined. ``open``: messages of queries
    that had not ended then; ``has_open``: whether there are any. ``has_clones``: whether a schema or database was
    cloned.
    """

    states: Callable[[Sequence[Messages]], Messages]
    container_events: Callable[[Sequence[Messages], Sequence[str]], Messages]
    record_counts: Callable[[], Messages]
    open: Messages
    has_open: bool = False
    has_clones: bool = False


class NotByDay(Exception):  # noqa: N818 - not an error: the caller reports it
    """The shapes refuse a node of a thing. All queries that mention it, also on other days, must be quarantined, so the
    days cannot be made one by one.
    """


def export(
    engine: Engine[Messages],
    read: Sequence[Messages],
    job: ExportJob,
    progress: Progress,
    earlier: EarlierDays[Messages] | None = None,
) -> Exported[Messages]:
    """Run all rounds, repeatedly until the shapes refuse nothing. ``read``: the messages of the first step.
    ``earlier``: the state from which a day of an update continues; with it :class:`NotByDay` may be raised.
    """
    excluded: list[Messages] = []
    quarantined: list[Messages] = []
    results: list[Messages] = []
    refused = Counter[str]()
    for number in range(TURNS):
        with progress.stage("read"):
            extracted = engine.persist(engine.shuffle([*read, *excluded], extract, job), f"{job.day}extracted-{number}")
            counts = engine.counts(extracted)
        progress.counted("rows", counts.numbers["rows"])
        if counts.numbers["quarantined_queries"]:
            excluded.append(engine.map(engine.filter(extracted, [To.QUARANTINED]), exclude_quarantined, job))
            continue
        turn = _Turn(engine, _known(job, counts, earlier), number, extracted, counts, progress, earlier)
        result = turn.make()
        results += [engine.filter(messages, [To.RESULT]) for messages in result.judged]
        refused.update(result.verdict.violations())
        if not result.is_refused:
            texts = turn.texts(result, results)
            kept = [*result.inputs, *result.ended, result.stored]
            return Exported(list(texts.values()), list(texts), results, counts, refused, kept, quarantined)
        of_nodes = [engine.filter(messages, [To.QUARANTINED]) for messages in result.with_nodes[1:]]
        quarantined += of_nodes
        excluded += [engine.map(messages, exclude_quarantined, job) for messages in of_nodes]
        if earlier is not None and (started := _started(result.verdict)) is not None:
            return Exported([], [], results, counts, refused, [], quarantined, started)
        if result.verdict.numbers["refused"]:
            excluded.append(turn.users_of_refused(result.with_nodes))
    raise endless(counts.violations(), job)


def _known(job: ExportJob, counts: Counts, earlier: EarlierDays[Messages] | None) -> ExportJob:
    """The job, with what is known once all rows are read."""
    return replace(
        job,
        first_starts=counts.first_starts,
        query_digest=counts.query_digest,
        turn=uuid4().hex,
        has_container_clones=bool(counts.numbers["clones"]) or (earlier is not None and earlier.has_clones),
        has_container_ends=bool(counts.numbers["ends"]),
    )


def _started(counts: Counts) -> str | None:
    """The first earlier day on which a query started that this day of an update refuses; None if there is none. Raises
    :class:`NotByDay` if the day refuses a thing.
    """
    if counts.numbers["refused"]:
        raise NotByDay
    days = [name for name in counts.numbers if name.startswith(STARTED)]
    return min(days).removeprefix(STARTED) if days else None


def endless(refusing: Iterable[str], job: ExportJob) -> ExporterError:
    """The error if each turn refuses further queries. A user's shapes can cause this; the shipped ones cannot."""
    if not job.shapes:
        return ExporterError(f"after {TURNS} turns the shapes still refuse further queries; please report this")
    return UsageError(
        f"after {TURNS} turns these shapes still refuse queries: {', '.join(sorted(refusing))}. Whenever a query is "
        "quarantined, another one becomes invalid without it. Give such a shape sh:severity sh:Warning"
    )


@dataclass(frozen=True)
class _TurnResult(Generic[Messages]):
    """What a turn made. ``inputs``: the messages from which queries are written: extracted, answered, and those in
    place of helpers. ``ended``: versions that CLONEs brought. ``stored``: the outputs of queries and things.
    ``with_nodes``: the messages that can have results and refused nodes, the answered ones first; ``judged``: those of
    them that count in this turn, with their counts (``verdict``).
    """

    inputs: list[Messages]
    ended: list[Messages]
    stored: Messages
    with_nodes: list[Messages]
    judged: list[Messages]
    verdict: Counts

    @property
    def is_refused(self) -> bool:
        """Whether a query or a thing is refused, so that another turn is needed."""
        return bool(self.verdict.numbers["quarantined_queries"] or self.verdict.numbers["refused"])


@dataclass(frozen=True)
class _Turn(Generic[Messages]):
    """The rounds of one turn, after the queries with rows that are quarantined are known. ``number``: of the turn.
    ``extracted``: the messages of the first round. ``counts``: its counts, to which each round adds its own.
    """

    engine: Engine[Messages]
    job: ExportJob
    number: int
    extracted: Messages
    counts: Counts
    progress: Progress
    earlier: EarlierDays[Messages] | None

    def make(self) -> _TurnResult[Messages]:
        """Run the rounds of the turn."""
        engine, progress, numbers = self.engine, self.progress, self.counts.numbers
        with progress.stage("answer"):
            answered = self.answered()
            ended = self.ended(answered)
        inputs = self.with_bridges([self.extracted, answered])
        with progress.stage("write"):
            stored = engine.write_texts(self.outputs(inputs, ended), self.name(OUTPUTS))
            of_queries = engine.counts(stored)
            self.counts.join(of_queries)
        for name in ("nodes", "events"):
            progress.counted(name, numbers[name])
        with_nodes = [answered, *ended, stored]
        if needs_neighbourhoods(self.job) and not (numbers["quarantined_queries"] or numbers["refused"]):
            with progress.stage("surround"):
                around = _neighbourhoods(engine, with_nodes, self.job)
                with_nodes.append(self.counted(around, "neighbourhoods"))
        # A thing can be refused because of what a refused query says of it. So it is judged in a turn without that.
        if of_queries.numbers["quarantined_queries"]:
            return _TurnResult(inputs, ended, stored, with_nodes, [stored], of_queries)
        return _TurnResult(inputs, ended, stored, with_nodes, with_nodes, self.counts)

    def texts(self, result: _TurnResult[Messages], results: list[Messages]) -> dict[str, Messages]:
        """The texts of all outputs, by the names under which they are stored. Results of the nodes of daily reads are
        added to ``results``.
        """
        texts = {self.name(OUTPUTS): result.stored, **self.catalog(result.inputs[1], result.stored)}
        if self.job.daily:
            with self.progress.stage("days"):
                texts |= self.by_day(result.stored, results)
        return texts

    def name(self, label: str) -> str:
        """The name under which messages of this turn are stored."""
        return f"{self.job.day}{label}-{self.number}"

    def counted(self, messages: Messages, label: str) -> Messages:
        """The messages, stored, with their counts added to those of the turn."""
        stored = self.engine.persist(messages, self.name(label))
        self.counts.join(self.engine.counts(stored))
        return stored

    def answered(self) -> Messages:
        """The answers of things: attributes of objects are merged; names reply to them, then datasets and elements
        (what an object is that loses its name); then things receive their uses in order of time.
        """
        return self.counted(self._answered(), "answered")

    def _answered(self) -> Messages:
        engine, job, earlier = self.engine, self.job, self.earlier
        profiles, things = engine.filter(self.extracted, [To.PROFILE]), engine.filter(self.extracted, THINGS)
        merged = self._after([profiles, *self._states([profiles])], merge_profiles, "merged")
        ending = [(To.CONTAINED, end_contents)] if job.has_container_ends else []
        cloning = [(To.CLONED, clones_into), (To.CLONED_FROM, clones_from)] if job.has_container_clones else []
        for receiver, step in (*ending, *cloning):
            happened = [] if earlier is None else [earlier.container_events([merged], [receiver])]
            merged = self._after([merged, *happened], step, receiver)
        named = self._after([merged, *self._states([merged], To.NAME)], resolve_names, "named")
        states = self._states([named], To.DATASET, To.ELEMENT)
        resolved = self._after([named, *states], resolve_datasets, "resolved")
        still_open = [] if earlier is None else [engine.filter(earlier.open, THINGS)]
        unanswered = [things, resolved, *still_open]
        return engine.shuffle([*unanswered, *self._states(unanswered)], answer, job)

    def _states(self, messages: Sequence[Messages], *to: str) -> list[Messages]:
        """The state of the receivers of these messages at the end of the day before, only of those in ``to`` if it
        names any; nothing if there are no earlier days.
        """
        if self.earlier is None:
            return []
        state = self.earlier.states(messages)
        return [self.engine.filter(state, to) if to else state]

    def _after(self, messages: Sequence[Messages], step: Step, label: str) -> Messages:
        """The messages of a step; in an update stored, because they are read twice: also to find the state of their
        receivers.
        """
        shuffled = self.engine.shuffle(messages, step, self.job)
        return shuffled if self.earlier is None else self.engine.persist(shuffled, f"{self.job.day}{label}")

    def ended(self, answered: Messages) -> list[Messages]:
        """The versions of tables that CLONEs brought: the source says that there is one, the table itself how it ended.
        No messages if nothing was cloned.
        """
        if not self.job.has_container_clones:
            return []
        messages = self.engine.filter(answered, [To.COPY])
        state = self._states([messages], To.COPY)
        return [self.counted(self.engine.shuffle([messages, *state], end_copies, self.job), "copies")]

    def with_bridges(self, inputs: list[Messages]) -> list[Messages]:
        """The messages, and what events say in place of helpers, if there may be any: queries send what they did to
        helpers to the helpers of their account.
        """
        engine, job, earlier = self.engine, self.job, self.earlier
        if not job.events or not (self.counts.numbers["helpers"] or (earlier is not None and earlier.has_open)):
            return inputs
        with self.progress.stage("bridge"):
            written = [engine.filter(messages, [To.WRITTEN, To.NAMED_FOR_QUERY]) for messages in self._and_open(inputs)]
            steps = self._after(written, trace_helpers, "steps")
            bridged = engine.shuffle([steps, *self._states([steps])], bridge_helpers, job)
            return [*inputs, engine.persist(bridged, self.name("bridged"))]

    def _and_open(self, inputs: list[Messages]) -> list[Messages]:
        """The messages, with those of queries that had not ended before."""
        return inputs if self.earlier is None else [*inputs, self.earlier.open]

    def outputs(self, inputs: list[Messages], ended: list[Messages]) -> list[Messages]:
        """The texts of queries and things, and the quarantine. ``inputs``, ``ended``: the messages of the rounds
        before.
        """
        engine, job, numbers = self.engine, self.job, self.counts.numbers
        of_things = [engine.filter(messages, text_outputs(job)) for messages in (inputs[1], *ended)]
        outputs = [
            self._written(inputs),
            *[engine.map(messages, engine.output(unchanged), job) for messages in of_things],
        ]
        if numbers["rows_of_quarantined"] or numbers["unreadable"] or numbers["not_understood"]:
            places = [self.earlier.record_counts()] if self.earlier else []
            quarantined = engine.filter(self.extracted, [To.PLACE, To.QUARANTINED_ROWS, To.UNKNOWN])
            outputs.append(engine.shuffle([quarantined, *places], engine.output(number_lines), job))
        return outputs

    def _written(self, inputs: list[Messages]) -> Messages:
        """The written queries: parents send their job names to their children, then each query is complete."""
        engine, job, with_open = self.engine, self.job, self._and_open(inputs)
        written = [engine.filter(messages, [To.WRITTEN, To.NAMED_FOR_QUERY]) for messages in with_open]
        if self.counts.numbers["parents"]:
            of_parents = [engine.filter(messages, [To.PARENT, To.NAMED_FOR_PARENT]) for messages in with_open]
            written.append(engine.shuffle(of_parents, name_jobs, job))
        return engine.shuffle(written, engine.output(write), job)

    def catalog(self, answered: Messages, stored: Messages) -> dict[str, Messages]:
        """The catalog, if it is wanted, by the name under which it is stored."""
        engine, job = self.engine, self.job
        if not job.catalog:
            return {}
        entries = [engine.filter(messages, [To.ENTRY]) for messages in (answered, stored)]
        return {"catalog": engine.write_texts([engine.together(entries, engine.output(catalog_texts), job)], "catalog")}

    def by_day(self, stored: Messages, results: list[Messages]) -> dict[str, Messages]:
        """The nodes of reads by day and the nodes that they share, by the name under which they are stored. Their
        results are added to ``results``.

        The queries behind a node of a day are not known any more. So if a shape refuses one, no query can be
        quarantined, and UsageError is raised.
        """
        engine, job, name = self.engine, self.job, self.name("days")
        of_days = engine.map(engine.filter(stored, [To.READ, To.SHARED]), to_days, job)
        stored_days = engine.write_texts([engine.shuffle([of_days], engine.output(daily_reads), job)], name)
        counted = engine.counts(stored_days)
        if counted.numbers[REFUSED_DAYS]:
            raise UsageError(
                f"these shapes refuse reads by day: {', '.join(sorted(counted.violations()))}. With --reads daily the "
                "queries behind them are not known. Give such a shape sh:severity sh:Warning, or export with --reads "
                "full"
            )
        self.counts.join(counted)
        results.append(engine.filter(stored_days, [To.RESULT]))
        return {name: stored_days}

    def users_of_refused(self, with_nodes: Sequence[Messages]) -> Messages:
        """The messages that quarantine the queries that mention things with a refused node."""
        engine, job = self.engine, self.job
        mentions = engine.map(engine.filter(self.extracted, [To.WRITTEN]), name_users_of_objects, job)
        refused = [engine.filter(messages, [To.REFUSED]) for messages in with_nodes]
        quarantined = engine.persist(engine.shuffle([*refused, mentions], quarantine_users, job), self.name("refused"))
        if not engine.counts(quarantined).numbers["quarantined_queries"]:
            raise ExporterError("the shapes refuse nodes that belong to no query; please report this")
        return engine.map(engine.filter(quarantined, [To.QUARANTINED]), exclude_quarantined, job)


def unchanged(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """The step that only passes messages on, to be written."""
    yield from messages


def _neighbourhoods(engine: Engine[Messages], with_nodes: Sequence[Messages], job: ExportJob) -> Messages:
    """The results of shapes that need the surroundings of objects: nodes are sent to these objects and validated."""
    delivered = [engine.map(engine.filter(messages, [To.AROUND]), deliver_nodes, job) for messages in with_nodes]
    if looks_at_others(job):
        delivered = [engine.shuffle(delivered, share_nodes, job)]
    return engine.shuffle(delivered, validate_neighbourhoods, job)
