"""Who meets whom, and in which order: the rounds of an export, the same for whatever engine carries them.

::

    records ─ read ─▶ tell ─ profiles ─▶ gather ─▶ settle ─▶ answer ─ answers ─▶ write ─▶ texts
                       ├──── mentions in the order of time ────▲                    ▲
                       ├──── parents ─▶ name their jobs for their children ─────────┤
                       └──── facts ─────────────────────────────────────────────────┘

Where a user's shapes look around objects, nodes meet once more at the objects that they belong to.
What the shapes refuse is held back: everything is told again without those queries, until nothing is refused.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar
from uuid import uuid4

from exporter.errors import ExporterError, UsageError
from exporter.messages import (
    AROUND,
    ASIDE,
    ENTRY,
    HELD,
    NAMED_FOR_PARENT,
    NAMED_FOR_QUERY,
    PARENT,
    PLACE,
    PROFILE,
    READ,
    REFUSED,
    RESULT,
    SHARED,
    THINGS,
    WRITTEN,
)
from exporter.steps.accusing import accuse, mention
from exporter.steps.answering import answer
from exporter.steps.cataloguing import catalogue
from exporter.steps.daily import REFUSED as REFUSED_DAYS
from exporter.steps.daily import by_day, to_days
from exporter.steps.gathering import gather, settle
from exporter.steps.naming import name_jobs
from exporter.steps.numbering import number
from exporter.steps.surrounding import deliver, looks_around, looks_at_others, share, surround
from exporter.steps.telling import hold, tell
from exporter.steps.texts import texts_of
from exporter.steps.writing import write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from exporter.engine.counts import Counts
    from exporter.messages import Message
    from exporter.steps.job import Job

    Step = Callable[[Iterable[Message], Job], Iterator[Message]]

Messages = TypeVar("Messages")
OUTPUTS: Final = "outputs"
"""What the names begin with under which the outputs of queries and things are stored."""
_TURNS = 100
"""Each turn holds back a query more; so many are a fault of the program, and not of the rows."""


class Engine(Protocol[Messages]):
    """Carries messages between steps, and knows nothing of what is in them."""

    def met(self, messages: Sequence[Messages], step: Step, job: Job) -> Messages:
        """The step on these messages: those of one key together and in order, one key after the other."""

    def together(self, messages: Sequence[Messages], step: Step, job: Job) -> Messages:
        """The step on all of these messages, in order, once: they have to fit one partition."""

    def each(self, messages: Messages, step: Step, job: Job) -> Messages:
        """The step on these messages, in no order."""

    def only(self, messages: Messages, to: Sequence[str]) -> Messages:
        """The messages that one of these hears."""

    def kept(self, messages: Messages, name: str) -> Messages:
        """The messages, computed and kept under a name, since several read them."""

    def output(self, step: Step) -> Step:
        """A step whose texts go to files, in the pieces that this engine carries."""

    def stored(self, messages: Sequence[Messages], name: str) -> Messages:
        """The messages, computed, their texts written to files under a name; the others are kept."""

    def counts(self, messages: Messages) -> Counts:
        """The sums of what the partitions counted, of messages that are kept."""


@dataclass(frozen=True)
class Exported(Generic[Messages]):
    """What an export comes to. ``outputs``: the texts of all outputs, and the ``names`` that they were stored under;
    ``results`` of the checks, of all turns; ``counts``: of the last turn; ``refused``: results that refuse, by shape,
    of all turns; ``made``: all messages of the last turn, for what the next day has to know.
    """

    outputs: list[Messages]
    names: list[str]
    results: list[Messages]
    counts: Counts
    refused: dict[str, int]
    made: list[Messages]


@dataclass(frozen=True)
class Before(Generic[Messages]):
    """What a day goes on from: what things ``knew`` at the end of the day before, of those whom messages go to; and
    what is ``due`` of queries that had not ended then.
    """

    knew: Callable[[Sequence[Messages]], Messages]
    due: Messages


class NotByDay(Exception):  # noqa: N818 - no error: it is made otherwise
    """A thing is refused, so who mentions it is held back, on whatever day: the days cannot be made one by one."""


class Watch(Protocol):
    """Who watches the rounds."""

    def stage(self, name: str) -> AbstractContextManager[None]:
        """A stage runs."""

    def counted(self, what: str, number: int) -> None:
        """There are so many."""


class Nobody:
    """Nobody watches."""

    def stage(self, _: str) -> AbstractContextManager[None]:
        return nullcontext()

    def counted(self, what: str, number: int) -> None:
        """Nothing comes of it."""


def export(
    engine: Engine[Messages],
    read: Sequence[Messages],
    job: Job,
    watch: Watch = Nobody(),  # noqa: B008 - it holds nothing
    before: Before[Messages] | None = None,
) -> Exported[Messages]:
    """All rounds, as often as it takes until the shapes refuse nothing. ``read``: what was read; ``before``: what a day
    goes on from, which may raise :class:`NotByDay`.
    """
    holds: list[Messages] = []
    results: list[Messages] = []
    refused: dict[str, int] = {}
    for turn in range(_TURNS):
        with watch.stage("read"):
            told = engine.kept(engine.met([*read, *holds], tell, job), f"{job.day}told-{turn}")
            counts = engine.counts(told)
        watch.counted("rows", counts["rows"])
        if counts["held"]:
            holds.append(engine.each(engine.only(told, [HELD]), hold, job))
            continue
        known = replace(job, begun=counts.begun, load=counts.load, turn=uuid4().hex)
        with watch.stage("answer"):
            answered = engine.kept(_answered(engine, told, known, before), f"{job.day}answered-{turn}")
            counts.join(engine.counts(answered))
        with watch.stage("write"):
            stored = engine.stored(
                _outputs(engine, [told, answered], known, counts, before), f"{job.day}{OUTPUTS}-{turn}"
            )
            counts.join(engine.counts(stored))
        for what in ("nodes", "events"):
            watch.counted(what, counts[what])
        made = [answered, stored]
        if looks_around(job) and not (counts["held"] or counts["refused"]):
            with watch.stage("surround"):
                made.append(engine.kept(_surrounded(engine, made, known), f"surrounded-{turn}"))
                counts.join(engine.counts(made[-1]))
        results += [engine.only(one, [RESULT]) for one in made]
        for shape, times in counts.violations().items():
            refused[shape] = refused.get(shape, 0) + times
        if not (counts["held"] or counts["refused"]):
            texts = {f"{job.day}{OUTPUTS}-{turn}": stored, **_catalogue(engine, answered, stored, known)}
            if job.daily:
                with watch.stage("days"):
                    texts |= _by_day(engine, stored, known, turn, counts, results)
            return Exported(list(texts.values()), list(texts), results, counts, refused, [told, answered, stored])
        holds += [engine.each(engine.only(one, [HELD]), hold, job) for one in made[1:]]
        if counts["refused"] and before:
            raise NotByDay
        if counts["refused"]:
            holds.append(_of_things(engine, told, made, job, turn))
    raise _endless(counts.violations(), job)


def _endless(refusing: Iterable[str], job: Job) -> ExporterError:
    """What to say where each turn refuses more: of a user's shapes some can do that, of ours none."""
    if not job.shapes:
        return ExporterError(f"after {_TURNS} turns the shapes still refuse more queries; please report this")
    return UsageError(
        f"after {_TURNS} turns these shapes still refuse queries: {', '.join(sorted(refusing))}. Where a query is held "
        "back, another one fails without it. Give such a shape sh:severity sh:Warning"
    )


def _outputs(
    engine: Engine[Messages], heard: list[Messages], job: Job, counts: Counts, before: Before[Messages] | None
) -> list[Messages]:
    """Texts of queries and of things, and what was quarantined; ``heard``: what was told and answered."""
    told, answered = heard
    due = [before.due] if before else []
    written = _written(engine, [*heard, *due], job, has_parents=bool(counts["parents"]))
    outputs = [written, engine.each(engine.only(answered, texts_of(job)), engine.output(_as_it_is), job)]
    if counts["aside"] or counts["unreadable"]:
        outputs.append(engine.met([engine.only(told, [PLACE, ASIDE])], engine.output(number), job))
    return outputs


def _catalogue(engine: Engine[Messages], answered: Messages, stored: Messages, job: Job) -> dict[str, Messages]:
    """The catalog, where it is asked for, under the name that it is stored under."""
    if not job.catalog:
        return {}
    told = [engine.only(one, [ENTRY]) for one in (answered, stored)]
    return {"catalog": engine.stored([engine.together(told, engine.output(catalogue), job)], "catalog")}


def _by_day(  # noqa: PLR0913, PLR0917 - what the round is made from, and what it adds to
    engine: Engine[Messages], stored: Messages, job: Job, turn: int, counts: Counts, results: list[Messages]
) -> dict[str, Messages]:
    """What queries have read and what they share, as nodes, under the name that they are stored under.

    Which queries a node of a day is of is not known any more: where a shape refuses one, nothing can be held back.
    """
    name = f"{job.day}days-{turn}"
    heard = engine.each(engine.only(stored, [READ, SHARED]), to_days, job)
    made = engine.stored([engine.met([heard], engine.output(by_day), job)], name)
    told = engine.counts(made)
    if told[REFUSED_DAYS]:
        raise UsageError(
            f"these shapes refuse what is told by day: {', '.join(sorted(told.violations()))}. Which queries it is of "
            "cannot be said there: give such a shape sh:severity sh:Warning, or export with --reads full"
        )
    counts.join(told)
    results.append(engine.only(made, [RESULT]))
    return {name: made}


def _as_it_is(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    yield from messages


def _answered(engine: Engine[Messages], told: Messages, job: Job, before: Before[Messages] | None) -> Messages:
    """Objects are gathered, datasets and names hear of them and settle what they are; then things hear everything in
    the order of time, and answer.
    """
    profiles, things = [engine.only(told, [PROFILE])], [engine.only(told, THINGS)]
    if before is None:
        settled = engine.met([engine.met(profiles, gather, job)], settle, job)
        return engine.met([*things, settled], answer, job)
    known = [before.knew(profiles)]
    gathered = engine.kept(engine.met([*profiles, *known], gather, job), f"{job.day}gathered")
    known = [before.knew([gathered])]
    settled = engine.kept(engine.met([gathered, *known], settle, job), f"{job.day}settled")
    things += [settled, engine.only(before.due, THINGS)]
    return engine.met([*things, before.knew(things)], answer, job)


def _written(engine: Engine[Messages], each: Sequence[Messages], job: Job, *, has_parents: bool) -> Messages:
    """Parents name their jobs for their children; then each query has all that it needs, and is written."""
    heard = [engine.only(one, [WRITTEN, NAMED_FOR_QUERY]) for one in each]
    if has_parents:
        of_parents = [engine.only(one, [PARENT, NAMED_FOR_PARENT]) for one in each]
        heard.append(engine.met(of_parents, name_jobs, job))
    return engine.met(heard, engine.output(write), job)


def _surrounded(engine: Engine[Messages], made: Sequence[Messages], job: Job) -> Messages:
    """What the shapes find that look around objects: nodes meet at the objects in whose surroundings they are."""
    delivered = [engine.each(engine.only(one, [AROUND]), deliver, job) for one in made]
    if looks_at_others(job):
        delivered = [engine.met(delivered, share, job)]
    return engine.met(delivered, surround, job)


def _of_things(engine: Engine[Messages], told: Messages, made: Sequence[Messages], job: Job, turn: int) -> Messages:
    """What holds back the queries that mention things with a refused node."""
    mentions = engine.each(engine.only(told, [WRITTEN]), mention, job)
    refused = [engine.only(one, [REFUSED]) for one in made]
    accused = engine.kept(engine.met([*refused, mentions], accuse, job), f"accused-{turn}")
    if not engine.counts(accused)["held"]:
        raise ExporterError("the shapes refuse nodes that belong to no query; please report this")
    return engine.each(engine.only(accused, [HELD]), hold, job)
