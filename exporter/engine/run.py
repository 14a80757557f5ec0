"""Choose the engine of an export: Spark (with one task for a small input), or the local engine without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from exporter.engine import days, local, users
from exporter.engine.carrying import Nobody
from exporter.engine.outcome import Outcome, outcome, results_of
from exporter.engine.texts import write_texts
from exporter.errors import UsageError
from exporter.messages import RESULT, TALLY, is_text
from exporter.queries.tables import FACTS
from exporter.rows.files import records
from exporter.rows.views import AGGREGATE_ACCESS_HISTORY, QUERY_HISTORY, REQUIRED
from exporter.steps.reading import Record, read
from exporter.steps.texts import facts_of as to_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.earlier import Given
    from exporter.messages import Message
    from exporter.progress import Progress
    from exporter.publication import Publication
    from exporter.rows.inputs import Came
    from exporter.steps.job import Job

LOCAL: Final = "local"
_LITTLE: Final = 64 << 20
"""Approximate bytes of rows, and of one day in DIR, up to which an update is made in this process's memory."""
_PACKED: Final = 10


def run(given: Given, job: Job, new: Publication, progress: Progress, engine: str) -> Outcome:
    """Make all outputs of the job in the folder of ``new``. ``engine``: ``local`` or ``spark``. Raises UsageError if
    PySpark is not installed.
    """
    if _is_here(given, job, new, engine):
        with progress.stage("export"):
            return _locally(given, job, new)
    try:
        from exporter.engine import on_spark  # noqa: PLC0415 - the local engine does not wait for Spark
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise UsageError(
            "PySpark is not in this Python's environment. Install it (pip install 'pyspark>=4.0,<5'), or start the "
            "program with the spark-submit of a platform that has its own, or give --engine local"
        ) from None
    return on_spark.run(given, job, new, progress)


def _is_here(given: Given, job: Job, new: Publication, engine: str) -> bool:
    """Whether the local engine is used: if it was chosen, or for a small update of small days, for which starting Spark
    would take longer than the work.
    """
    if engine == LOCAL:
        return True
    came = given.came.size
    of_day = _PACKED * given.left.bytes // max(1, len(given.left.days))
    return bool(job.run) and came is not None and not new.is_uri and max(came, of_day) < _LITTLE


def _locally(given: Given, job: Job, new: Publication) -> Outcome:
    if users.are_hidden(job):
        job = users.knowing(job, users.told(_records(given.came), job), new)
    if job.run:
        return _updated(given, job, new)
    made = _taken(local.run(_records(given.came), job), job, new)
    for table in FACTS if job.facts else ():
        from exporter.engine import parquet  # noqa: PLC0415 - slow to import, and seldom asked for

        parquet.write(table, Path(new.work, f"{to_facts(table)}.ndjson"), Path(new.folder, "facts", table))
    return made


def _updated(given: Given, job: Job, new: Publication) -> Outcome:
    from exporter.engine.kept import LocalStore  # noqa: PLC0415 - as above

    local.seldom_collected()
    rows = list(read(_records(given.came), job))
    made = days.update(local.LocalEngine(), LocalStore(new, job), rows, job, given, Nobody())
    results = results_of(message.body for part in made.results for message in part)
    return Outcome(made.counts, made.refused, results, made.days, made.new, made.made)


def _records(came: Came) -> Iterator[Record]:
    for view, found in came.views.items():
        is_history, is_aggregate = view == QUERY_HISTORY, view == AGGREGATE_ACCESS_HISTORY
        for source in found.sources:
            for one in records(source, REQUIRED[view]):
                is_record = one.is_record or is_history
                yield Record(one.file, 0, one.unit, one.text, is_history, is_record, is_aggregate)


def _taken(messages: Iterable[Message], job: Job, new: Publication) -> Outcome:
    """Write the texts to files and collect the other messages."""
    others: dict[str, list[bytes]] = {}
    write_texts(_texts(messages, others), new, job)
    return outcome(others[TALLY][0], others.get(RESULT, []))


def _texts(messages: Iterable[Message], others: dict[str, list[bytes]]) -> Iterator[Message]:
    for message in messages:
        if is_text(message.to):
            yield message
        else:
            others.setdefault(message.to, []).append(message.body)
