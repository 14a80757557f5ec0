"""The main job: rows -> facts -> checked events and graph. Start reading here.

Rows are parsed once and stored; facts are made from them and stored; the graph's nodes are made from facts, held
against the shapes, and whatever query they refuse is taken out and everything made again without it; then the same
nodes are written as Turtle, and the same facts as events. The folder appears when all of this is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter import history, inputs, rows, session
from exporter.accounting import Report, Work, check, summarise
from exporter.facts.build import build
from exporter.openlineage.events import events
from exporter.publication import Publication
from exporter.rdf.nodes import nodes
from exporter.rdf.turtle import with_headers
from exporter.rdf.validation import Before, Verdict, judge
from exporter.schemas import FACTS
from exporter.together import together

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from exporter.facts import Facts
    from exporter.progress import Progress
    from exporter.settings import Settings


def export(settings: Settings, progress: Progress) -> Report:
    """Run the main job and return what it did; raises UsageError before anything is written, or leaves nothing."""
    found = inputs.find(settings.inputs)
    old_history = inputs.find([settings.query_history]) if settings.query_history else None
    with Publication(settings.out, replace=settings.replace) as place:
        with progress.stage("session"):
            spark = session.start(found.size)
            if settings.validate:
                session.warm_worker(spark, "pyshacl", "exporter.rdf.worker")
        with progress.stage("rows"):
            came = rows.stage(spark, found, settings.account, place)
            told = history.read(spark, old_history, place, texts=settings.query_text) if old_history else None
        verdict, sent = checked(came, told, settings, place, progress, found.size)
        with progress.stage("graph"):
            written = (
                _graph(verdict.nodes, settings, place, found.size) if "graph" in settings.outputs else verdict.checked
            )
        with progress.stage("quarantine"):
            if came.unreadable or verdict.held is not None:
                place.lines(rows.quarantine(spark, found, came, verdict.held, place), "quarantine", "ndjson")
        report = summarise(
            settings, Work(found, came, told, verdict, {"events": sent, "nodes": written}), place, progress
        )
        check(report)
        place.publish(report.manifest(settings))
    return report


def checked(
    came: rows.Rows,
    told: history.History | None,
    settings: Settings,
    place: Publication,
    progress: Progress,
    size: int | None,
) -> tuple[Verdict, int]:
    """Facts and nodes of all queries whose nodes the shapes take, and the number of events written of them.

    Events are made while the shapes look at the nodes; they count when the shapes refuse nothing. Each round holds back
    at least one query more.
    """
    held = rows.disagreeing(came) if came.disagreeing else None
    found: list[Verdict] = []
    while True:
        with progress.stage("facts"):
            facts = _facts(rows.without(came.good, held), told, place)
        before = Before(held, tuple(found))
        done = together(
            {
                "verdict": lambda facts=facts, before=before: _verdict(facts, before, settings, place, progress),
                "events": lambda facts=facts: _events(facts, settings, place, progress, size),
            }
        )
        verdict = done["verdict"]
        if not verdict.refuses:
            return verdict, done["events"]
        found.append(verdict)
        held = verdict.held


def _verdict(facts: Facts, before: Before, settings: Settings, place: Publication, progress: Progress) -> Verdict:
    with progress.stage("nodes"):
        every = nodes(facts, settings.account, settings.base, lambda name, table: place.keep(table, f".work/{name}"))
        if not settings.validate:
            return Verdict(facts, every, 0, before.held)
        stored = place.counted(every, ".work/nodes")
    with progress.stage("shapes"):
        return judge(facts, stored, before, settings, place)


def _facts(good: DataFrame, told: history.History | None, place: Publication) -> Facts:
    def keep(name: str, table: DataFrame) -> DataFrame:
        return place.keep(table, f"facts/{name}" if name in FACTS else f".work/{name}")

    return build(good, told.queries if told else None, keep)


def _events(facts: Facts, settings: Settings, place: Publication, progress: Progress, size: int | None) -> int:
    if "events" not in settings.outputs:
        return 0
    with progress.stage("events"):
        sent = events(facts, settings.openlineage)
        order = ("event_time", "query_id", "event_type", "event")
        start_first = [True, True, False, True]
        in_order = sent.coalesce(1).sortWithinPartitions(*order, ascending=start_first) if _is_small(size) else sent
        return place.lines(in_order.select("event"), "events", "ndjson")


def _graph(nodes: DataFrame, settings: Settings, place: Publication, size: int | None) -> int:
    in_order = nodes.coalesce(1).sortWithinPartitions("iri") if _is_small(size) else nodes
    return place.lines(with_headers(in_order, settings.base), "graph", "ttl")


def _is_small(size: int | None) -> bool:
    """Whether an output is one file, in an order for people; a large one is written as it comes."""
    return size is not None and size < 1 << 22
