"""The main job: rows -> facts -> validated events and graph, published. Start reading here.

The engine is Spark (with one task for a small input), or the local engine without Spark (in this process for a small
input, else in several). It groups and sorts messages and runs the steps in ``pipeline/``, plain functions from messages
to messages, in the order of ``pipeline/rounds.py``.
The folder DIR appears when everything is complete.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from exporter.ask import stores
from exporter.engines import local, user_names
from exporter.engines.updates import Update
from exporter.errors import UsageError
from exporter.input import find
from exporter.input.files import records
from exporter.input.find import InputOfViews, OutputFolder
from exporter.input.formats import is_remote
from exporter.input.reading import Record
from exporter.model.account_identifier import ambiguity_warning
from exporter.model.fact_tables import FACTS
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, To, is_text
from exporter.pipeline.neighbourhood import check_by_day
from exporter.pipeline.outcome import Outcome, read_outcome, results_of
from exporter.pipeline.read import read
from exporter.pipeline.texts import checks, facts_output
from exporter.publish.earlier import EarlierRuns, ExportInput, account_of, earlier_runs
from exporter.publish.places import LocalPlace, Place
from exporter.publish.publication import Publication
from exporter.publish.report import Report, check_row_counts, refuse_too_few_rows, summarise
from exporter.settings import DEFAULT_ACCOUNT, Settings
from exporter.system import private
from exporter.system.cache import collect_garbage_rarely
from exporter.system.progress import NoProgress, Progress

LOCAL: Final = "local"
_LOCAL_UPDATE_BYTES: Final = 64 << 20
"""Approximate bytes of rows, and of one day in DIR, up to which an update is made in this process's memory."""
_STATE_TEXT_RATIO: Final = 10
"""Estimated bytes of text for each byte of the state in DIR, which is Parquet."""
_HINT_BYTES: Final = 2 << 20
"""Approximate bytes of rows that the local engine exports in a second; Spark needs longer to start."""


def export(
    settings: Settings, progress: Progress, say: Callable[[str], None] = lambda _: None, *, hints: bool = False
) -> Report:
    """Run the main job and return its report. An error leaves DIR unchanged; UsageError for wrong settings or input.
    ``say``: receives warnings: before the work those about settings that are allowed but seldom intended, after it such
    as about files of an earlier export that cannot be removed. ``hints``: whether it receives a hint if Spark is not
    needed.
    """
    with private.made():
        settings = _continued(settings)
        for line in (*settings.privacy.advice, ambiguity_warning(settings.account)):
            if line:
                say(line)
        return _prepare(settings, progress, say, hints=hints)


def _continued(settings: Settings) -> Settings:
    """The settings of an update, with the account of DIR if none is given; others are unchanged."""
    if not settings.update or settings.replace or settings.account != DEFAULT_ACCOUNT:
        return settings
    account = account_of(_place(settings))
    return settings.of_account(account) if account else settings


def _place(settings: Settings) -> Place:
    """The place of DIR. Raises UsageError if it cannot be used."""
    if is_remote(settings.out):
        from exporter.engines.hadoop import HadoopPlace  # noqa: PLC0415 - needs Spark, and few places do

        return HadoopPlace(settings.out, int(settings.mode, 8))
    return LocalPlace(settings.out, int(settings.mode, 8))


def _prepare(settings: Settings, progress: Progress, say: Callable[[str], None], *, hints: bool) -> Report:
    """Check settings and input before the work, then do it while no other run writes DIR, and say what is left beside
    DIR.
    """
    job = ExportJob.of(settings)
    if job.validate:
        checks(job.shapes)
    if settings.update:
        check_by_day(job)
    place = _place(settings)
    output = OutputFolder(settings.out, place.paths)
    is_inside = output.contains(os.curdir)
    input_of_views = _input_of_views(settings, output)
    for view, inputs in input_of_views.views.items():
        find.check_files(inputs.sources, view)
    with place.held():
        report = _make_and_publish(settings, job, place, input_of_views, progress, say if hints else lambda _: None)
    for note in place.notes:
        say(note)
    if not settings.dry_run:
        _remove_old_store(place, say)
        if settings.forget_user or settings.forget_before:
            _name_kept_files(place, say)
        if is_inside:
            say(f'{settings.out} was replaced, and this shell is still in the former folder: run cd "$PWD"')
    return report


def _input_of_views(settings: Settings, output: OutputFolder) -> InputOfViews:
    """The input of all views that the settings name."""
    history, aggregates = (
        find.find(names, output, view) if names else None
        for names, view in (
            (settings.query_history, find.QUERY_HISTORY),
            (settings.aggregate, find.AGGREGATE_ACCESS_HISTORY),
        )
    )
    return InputOfViews(find.find(settings.inputs, output) if settings.inputs else find.NOTHING, history, aggregates)


def _make_and_publish(  # noqa: PLR0913, PLR0917 - a run, where it is published, and who hears of it
    settings: Settings,
    job: ExportJob,
    place: Place,
    input_of_views: InputOfViews,
    progress: Progress,
    hint: Callable[[str], None],
) -> Report:
    """Make the new DIR beside the old one, check its numbers, and put it in the place of the old one."""
    new = Publication(place, replace=settings.replace, update=settings.update, force=settings.force)
    earlier = earlier_runs(place, settings) if settings.update and not settings.replace else EarlierRuns()
    job = replace(job, run=earlier.run if settings.update else 0)
    with new:
        outcome = _make_outputs(
            ExportInput(input_of_views, earlier, settings.changes), job, new, progress, settings.engine, hint
        )
        report = summarise(settings, input_of_views.skipped, earlier, outcome, new, progress)
        check_row_counts(report)
        refuse_too_few_rows(settings, report, new, input_of_views.first_paths)
        if not settings.dry_run:
            new.publish(report.manifest(settings))
    return report


def _make_outputs(  # noqa: PLR0913, PLR0917 - a run, its engine, and who hears of it
    export_input: ExportInput,
    job: ExportJob,
    new: Publication,
    progress: Progress,
    engine: str,
    hint: Callable[[str], None],
) -> Outcome:
    """Make all outputs of the job in the folder of ``new``. ``engine``: ``local`` or ``spark``. ``hint``: receives what
    to know before Spark is started for a few rows. Raises UsageError if PySpark is not installed.
    """
    if _is_local(export_input, job, new, engine):
        return _run_locally(export_input, job, new, progress)
    try:
        from exporter.engines import on_spark  # noqa: PLC0415 - the local engine does not wait for Spark
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise UsageError(
            "PySpark is not in this Python's environment. Install it (pip install 'pyspark>=4.0,<5'), or start the "
            "program with the spark-submit of a platform that has its own, or give --engine local"
        ) from None
    number = export_input.inputs.size
    if number is not None and number <= _HINT_BYTES and not new.is_uri:
        hint(
            f"the input is small ({max(number, 1 << 10) >> 10:,} kB): --engine local exports it in about a second, and "
            "does not wait until Spark has started"
        )
    return on_spark.run(export_input, job, new, progress)


def _is_local(export_input: ExportInput, job: ExportJob, new: Publication, engine: str) -> bool:
    """Whether the local engine is used: if it was chosen, or for a small update of small days, for which starting Spark
    would take longer than the work.
    """
    if engine == LOCAL:
        return True
    number = export_input.inputs.size
    of_day = _STATE_TEXT_RATIO * export_input.earlier.bytes // max(1, len(export_input.earlier.days))
    return bool(job.run) and number is not None and not new.is_uri and max(number, of_day) < _LOCAL_UPDATE_BYTES


def _run_locally(export_input: ExportInput, job: ExportJob, new: Publication, progress: Progress) -> Outcome:
    """Run the local engine: an update and a small input in this process's memory, a larger one in processes."""
    inputs = export_input.inputs
    if not (job.run or find.is_small(inputs.size)):
        from exporter.engines import processes  # noqa: PLC0415 - not needed for small inputs

        return processes.export(partial(_records, inputs), inputs.size or 0, job, new, progress)
    if user_names.uses_pseudonyms(job):
        with progress.stage("names"):
            job = user_names.with_user_names(job, user_names.user_names(_records(inputs), job), new)
    with progress.stage("export"):
        if job.run:
            return _update_locally(export_input, job, new)
        outcome = _written(local.export_records(_records(inputs), job), job, new)
        for table in FACTS if job.facts else ():
            from exporter.engines import state_local  # noqa: PLC0415 - slow to import, and seldom asked for

            state_local.write(table, Path(new.work).glob(f"{facts_output(table)}.ndjson"), new)
    return outcome


def _records(input_of_views: InputOfViews) -> Iterator[Record]:
    for view, inputs in input_of_views.views.items():
        for source in inputs.sources:
            yield from records(source, view)


def _written(messages: Iterable[Message], job: ExportJob, new: Publication) -> Outcome:
    """Write the texts to files and collect the other messages."""
    bodies: dict[str, list[bytes]] = {}
    local.write_texts(_texts(messages, bodies), new, job)
    return read_outcome(bodies[To.TOTAL][0], bodies.get(To.RESULT, []))


def _texts(messages: Iterable[Message], bodies: dict[str, list[bytes]]) -> Iterator[Message]:
    for message in messages:
        if is_text(message.to):
            yield message
        else:
            bodies.setdefault(message.to, []).append(message.body)


def _update_locally(export_input: ExportInput, job: ExportJob, new: Publication) -> Outcome:
    from exporter.engines.state_local import LocalStore  # noqa: PLC0415 - slow to import

    collect_garbage_rarely()
    rows = list(read(_records(export_input.inputs), job))
    updated = Update(local.LocalEngine(), LocalStore(new, job), job, export_input, NoProgress()).add(rows)
    results = results_of(message.body for part in updated.results for message in part)
    return Outcome(updated.counts, updated.refused, results, updated.days, updated.new, updated.rebuilt_days)


def _remove_old_store(place: Place, say: Callable[[str], None]) -> None:
    """Remove the store that ``exporter serve`` made from the old DIR: it may contain rows that this run removed."""
    if not isinstance(place, LocalPlace):
        return
    out = Path(place.beside(place.name))
    if stores.beside(out).is_dir():
        with suppress(KeyboardInterrupt):  # DIR is published; what is not removed now is removed by the next run
            stores.tidy(out, say)


def _name_kept_files(place: Place, say: Callable[[str], None]) -> None:
    """Name the folders beside DIR with files that were changed in a DIR before it was replaced (docs/safety.md)."""
    if not isinstance(place, LocalPlace):
        return
    out = Path(place.beside(place.name))
    is_kept = re.compile(rf"{re.escape(out.name)}\.kept-[0-9a-f]{{12}}").fullmatch
    for path in sorted(out.parent.iterdir()):
        if is_kept(path.name):
            say(
                f"{path} has files that somebody changed in DIR, and may have what was forgotten: look there, remove it"
            )
