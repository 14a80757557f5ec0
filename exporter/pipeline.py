"""The main job: rows -> facts -> checked events and graph. Start reading here.

Rows are parsed once and stored; facts are made from them and stored; the graph's nodes are made from facts, held
against the shapes, and whatever query they refuse is taken out and everything made again without it; then the same
nodes are written as Turtle, and the same facts as events. The folder appears when all of this is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from exporter import history, inputs, rows, session, warming
from exporter.accounting import Report, Work, check, summarise
from exporter.facts.build import build
from exporter.openlineage.check import with_problems
from exporter.openlineage.events import events
from exporter.publication import Publication
from exporter.rdf import publish
from exporter.rdf.validation import TIMELINE, Before, Verdict, checked_nodes, judge
from exporter.rdf.versions import timeline
from exporter.schemas import FACTS
from exporter.sql import union
from exporter.together import both

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.progress import Progress
    from exporter.settings import Settings


def export(settings: Settings, progress: Progress) -> Report:
    """Run the main job and return what it did; raises UsageError before anything is written, or leaves nothing."""
    found = inputs.find(settings.inputs)
    old_history = inputs.find([settings.query_history]) if settings.query_history else None
    size = inputs.size(found, old_history)
    with Publication(settings.out, replace=settings.replace) as place:
        job = Job(settings, place, progress, found.size)
        with progress.stage("session"):
            spark = session.start(size)
            progress.watch(spark)
            if session.is_small(size):
                warming.engine(spark)
            if settings.validate:
                warming.worker(spark, "pyshacl", "exporter.rdf.worker")
        with progress.stage("rows"):
            came = rows.stage(spark, found, settings.account, place)
            progress.counted("rows", came.rows_in)
            told = history.read(spark, old_history, place, texts=settings.query_text) if old_history else None
        tally, verdict, sent = checked(came, told, job)
        written = _graph(verdict, job)
        if "catalog" in settings.outputs:
            with progress.stage("catalog"):
                publish.catalogs(verdict, settings, place)
        with progress.stage("quarantine"):
            if tally.unreadable or verdict.held is not None:
                place.lines(rows.quarantine(spark, found, came, verdict.held, place), "quarantine", "ndjson")
        work = Work(found, came, tally, told, verdict, {"events": sent.count, "nodes": written, "faulty": sent.faulty})
        report = summarise(settings, work, place, progress)
        check(report)
        place.publish(report.manifest(settings))
    return report


@dataclass(frozen=True)
class Job:
    """What one run works with."""

    settings: Settings
    place: Publication
    progress: Progress
    size: int | None


def checked(came: rows.Rows, told: history.History | None, job: Job) -> tuple[rows.Tally, Verdict, Sent]:
    """Facts and nodes of all queries whose nodes the shapes take, and what was written of them as events.

    Events are made while the shapes look at the nodes; they count when the shapes refuse nothing. Each round holds back
    at least one query more.
    """

    def taken(held: DataFrame | None) -> Facts:
        return _facts(rows.without(came.good, held), told, job.place)

    with job.progress.stage("facts"):
        facts, tally = both(partial(taken, None), partial(rows.tally, came))
    before = Before(rows.disagreeing(came) if tally.disagreeing else None)
    while True:
        if before.held is not None:
            with job.progress.stage("facts"):
                facts = taken(before.held)
        verdict, sent = both(partial(_verdict, facts, before, job), partial(_events, facts, job))
        if not verdict.refuses and sent.held is None:
            return tally, verdict, sent
        found = [one for one in (verdict.held, sent.held) if one is not None]
        held = union(found).groupBy("account", "query_id")
        before = Before(held.agg(F.min("reason").alias("reason")), (*before.verdicts, verdict))


def _verdict(facts: Facts, before: Before, job: Job) -> Verdict:
    settings, place = job.settings, job.place
    nodes = checked_nodes(facts, settings, place, job.progress)
    if not settings.validate:
        return Verdict(facts, nodes.table, nodes.count, before.held)
    with job.progress.stage("shapes"):
        return judge(facts, nodes, before, place)


def _facts(good: DataFrame, told: history.History | None, place: Publication) -> Facts:
    return build(good, told.queries if told else None, partial(_keep, place), {TIMELINE: timeline})


def _keep(place: Publication, name: str, table: DataFrame) -> DataFrame:
    """Facts are published; what else is stored is for the work."""
    return place.keep(table, f"facts/{name}" if name in FACTS else f".work/{name}")


@dataclass(frozen=True)
class Sent:
    """``count`` events written; ``held``: queries with an event that must not go out, None for none; ``faulty``
    events were not written: where no query is held for them they tell of datasets, and the report says so.
    """

    count: int
    held: DataFrame | None = None
    faulty: int = 0


def _events(facts: Facts, job: Job) -> Sent:
    if "events" not in job.settings.outputs:
        return Sent(0)

    with job.progress.stage("events"):
        seen, is_sound = Observation(), F.size("problems") == 0
        every = with_problems(events(facts, job.settings.openlineage, partial(_keep, job.place)))
        sound = every.observe(seen, F.count_if(~is_sound).alias("faulty")).filter(is_sound)
        order = ("event_time", "query_id", "event_type", "event")
        start_first = [True, True, False, True]
        in_order = (
            sound.coalesce(1).sortWithinPartitions(*order, ascending=start_first) if _is_small(job.size) else sound
        )
        count = job.place.lines(in_order.select("event"), "events", "ndjson")
        job.progress.counted("events", count)
        if not seen.get["faulty"]:
            return Sent(count)
        held = job.place.keep(_faulty(every), ".work/faulty")
        return Sent(count, None if held.isEmpty() else held, seen.get["faulty"])


def _faulty(every: DataFrame) -> DataFrame:
    told = F.concat(F.lit("its event cannot go out: "), F.array_join("problems", "; ")).alias("reason")
    faulty = every.filter((F.size("problems") > 0) & F.col("query_id").isNotNull())
    return faulty.select("account", "query_id", told).distinct()


def _graph(verdict: Verdict, job: Job) -> int:
    if "graph" not in job.settings.outputs:
        return verdict.checked
    with job.progress.stage("graph"):
        return publish.graph(verdict, job.settings, job.place, is_small=_is_small(job.size))


def _is_small(size: int | None) -> bool:
    """Whether an output is one file, in an order for people; a large one is written as it comes."""
    return size is not None and size < 1 << 22
