"""The main job: rows -> facts -> validated events and graph. Start reading here.

The work itself is in ``steps/``: plain functions from messages to messages. An engine groups and sorts the messages and
runs the steps in the order of ``engine/rounds.py``. The folder DIR appears when everything is complete.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exporter import guard, private
from exporter.accounting import check, summarise
from exporter.earlier import Earlier, Given, earlier
from exporter.engine.run import run
from exporter.graph.ask import stores
from exporter.places import LocalPlace, place_of
from exporter.publication import Publication
from exporter.rows import inputs, views
from exporter.rows.apart import Apart
from exporter.steps.job import Job
from exporter.steps.saying import checks
from exporter.steps.surrounding import check_by_day

if TYPE_CHECKING:
    from collections.abc import Callable

    from exporter.accounting import Report
    from exporter.places import Place
    from exporter.progress import Progress
    from exporter.settings import Settings


def export(settings: Settings, progress: Progress, say: Callable[[str], None] = lambda _: None) -> Report:
    """Run the main job and return its report. An error leaves DIR unchanged; UsageError for wrong settings or input.
    ``say``: receives warnings about files of an earlier export that cannot be removed.
    """
    with private.made():
        return _exported(settings, progress, say)


def _exported(settings: Settings, progress: Progress, say: Callable[[str], None]) -> Report:
    job = Job.of(settings)
    if job.validate:
        checks(job.shapes)
    if settings.update:
        check_by_day(job)
    place = place_of(settings.out, int(settings.mode, 8))
    apart = Apart(settings.out, place.paths)
    is_inside = apart.holds(os.curdir)
    came = _came(settings, apart)
    for view, found in came.views.items():
        views.check_files(found.sources, view)
    with place.held():
        report = _published(settings, job, place, came, progress)
    for note in place.notes:
        say(note)
    if not settings.dry_run:
        _tidy(place, say)
        if is_inside:
            say(f'{settings.out} was replaced, and this shell is still in the former folder: run cd "$PWD"')
    return report


def _came(settings: Settings, apart: Apart) -> inputs.Came:
    """The input of all views that the settings name."""
    history, aggregates = (
        inputs.find([name], apart, view) if name else None
        for name, view in (
            (settings.query_history, views.QUERY_HISTORY),
            (settings.aggregate, views.AGGREGATE_ACCESS_HISTORY),
        )
    )
    return inputs.Came(inputs.find(settings.inputs, apart) if settings.inputs else inputs.NOTHING, history, aggregates)


def _published(settings: Settings, job: Job, place: Place, came: inputs.Came, progress: Progress) -> Report:
    new = Publication(place, replace=settings.replace, update=settings.update, force=settings.force)
    left = earlier(place, settings) if settings.update and not settings.replace else Earlier()
    job = replace(job, run=left.run if settings.update else 0)
    with new:
        outcome = run(Given(came, left, settings.changes), job, new, progress, settings.engine)
        report = summarise(settings, came.skipped, left, outcome, new, progress)
        check(report)
        guard.check(settings, report, new, came.named)
        if not settings.dry_run:
            new.publish(report.manifest(settings))
    return report


def _tidy(place: Place, say: Callable[[str], None]) -> None:
    """Remove the store that ``exporter serve`` made from the old DIR: it may contain rows that this run removed."""
    if not isinstance(place, LocalPlace):
        return
    out = Path(place.beside(place.name))
    if stores.beside(out).is_dir():
        from exporter.graph.ask import disk  # noqa: PLC0415 - needed only if exporter serve made a store

        with suppress(KeyboardInterrupt):  # DIR is published; what is not removed now is removed by the next run
            disk.tidy(out, say)
