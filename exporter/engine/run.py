"""Which engine makes an export: Spark for everything, in one task where the input is small; or no Spark at all."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING

from exporter.earlier import CHANGES
from exporter.engine import changes as changes_here
from exporter.engine import local
from exporter.engine.outcome import Outcome, outcome
from exporter.messages import RESULT, STATE, TALLY, is_text
from exporter.publication import path_of
from exporter.queries.tables import FACTS
from exporter.rows.files import REQUIRED_OF_HISTORY, records
from exporter.steps.reading import Record
from exporter.steps.state import known as known_messages
from exporter.steps.texts import facts_of as to_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.earlier import Given
    from exporter.messages import Message
    from exporter.progress import Progress
    from exporter.publication import Publication
    from exporter.rows.forms import Came
    from exporter.settings import Settings
    from exporter.steps.job import Job

LOCAL, SPARK = "local", "spark"


def run(given: Given, job: Job, new: Publication, progress: Progress, engine: str) -> Outcome:
    """Make all outputs of the job below ``new``."""
    if engine == LOCAL:
        with progress.stage("export"):
            return _locally(given, job, new)
    from exporter.engine import on_spark  # noqa: PLC0415 - the local engine does not wait for Spark

    return on_spark.run(given, job, new, progress)


def changes(settings: Settings, new: Publication, *, is_local: bool) -> None:
    """Write what an update changed, for stores that follow; where no changes are there yet, all that there is."""
    number = new.numbered(CHANGES) + 1
    if is_local:
        changes_here.write(settings, new, number, is_first=number == 1)
        return
    from exporter.engine import changes_on_spark  # noqa: PLC0415 - as above

    changes_on_spark.write(settings, new, number, is_first=number == 1)


def _locally(given: Given, job: Job, new: Publication) -> Outcome:
    state: list[bytes] = []
    if not (job.run or job.facts):
        return _taken(local.run(_records(given.came), job), new, state)
    from exporter.engine import parquet  # noqa: PLC0415 - slow to import, and seldom asked for

    known = known_messages(parquet.read_state(map(new.before, given.left.state)))
    made = _taken(local.run(_records(given.came), job, known), new, state)
    if job.run:
        parquet.write_state(state, Path(new.work, STATE))
        new.take_state(f"{new.work}/{STATE}", job.run)
    for table in FACTS if job.facts else ():
        parquet.write(table, Path(new.work, f"{to_facts(table)}.ndjson"), Path(new.folder, "facts", table))
    return made


def _records(came: Came) -> Iterator[Record]:
    for source in came.rows.sources:
        for one in records(source):
            yield Record(one.file, 0, one.unit, one.text, is_record=one.is_record)
    for source in came.history.sources if came.history else ():
        for one in records(source, REQUIRED_OF_HISTORY):
            yield Record(one.file, 0, one.unit, one.text, is_history=True)


def _taken(messages: Iterable[Message], new: Publication, state: list[bytes]) -> Outcome:
    """Write the texts, and gather the rest; ``state`` takes what the next update has to know."""
    tally, results = b"", []
    with ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for message in messages:
            if is_text(message.to):
                if message.to not in files:
                    files[message.to] = stack.enter_context(_opened(message.to, new))
                files[message.to].write(message.body + b"\n")
            elif message.to == STATE:
                state.append(message.body)
            elif message.to == RESULT:
                results.append(message.body)
            elif message.to == TALLY:
                tally = message.body
    return outcome(tally, results)


def _opened(to: str, new: Publication) -> IO[bytes]:
    path = path_of(to, 0)
    file = Path(new.folder, path) if path else Path(new.work, f"{to}.ndjson")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file.open("wb")
