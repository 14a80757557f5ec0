"""The rounds without Spark: the same steps, with sorting and filtering between them in this process's memory.

Used for tests, for small inputs and updates with ``--engine local``, and inside the single task of a small input on
Spark. For larger inputs see :mod:`exporter.engines.processes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO

from exporter.input.reading import Record
from exporter.pipeline import rounds
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, To, is_text
from exporter.pipeline.outcome import Counts, total_message
from exporter.pipeline.read import read
from exporter.pipeline.rounds import Step
from exporter.pipeline.texts import pieces
from exporter.publish.publication import Publication, path_of
from exporter.system import files
from exporter.system.cache import collect_garbage_rarely
from exporter.system.progress import NoProgress


def write_texts(messages: Iterable[Message], new: Publication, job: ExportJob, day: str = "") -> None:
    """Write each output to its file. ``day``: in an update, the folder below that of the output; otherwise empty."""
    with ExitStack() as stack:
        opened: dict[str, IO[bytes]] = {}
        for message in messages:
            if message.to not in opened:
                path = path_of(message.to, 0, day, is_compressed=job.compress)
                file = Path(new.folder, path) if path else Path(new.work, f"{message.to}.ndjson")
                file.parent.mkdir(parents=True, exist_ok=True)
                opened[message.to] = stack.enter_context(files.created(file))
            opened[message.to].write(message.body + b"\n")


class LocalEngine:
    """Messages are lists."""

    def shuffle(self, messages: Sequence[list[Message]], step: Step, job: ExportJob) -> list[Message]:
        return list(step(sorted(chain.from_iterable(messages)), job))

    def together(self, messages: Sequence[list[Message]], step: Step, job: ExportJob) -> list[Message]:
        return self.shuffle(messages, step, job)

    def map(self, messages: list[Message], step: Step, job: ExportJob) -> list[Message]:
        return list(step(messages, job))

    def filter(self, messages: list[Message], to: Sequence[str]) -> list[Message]:
        wanted = frozenset(to)
        return [message for message in messages if message.to in wanted]

    def persist(self, messages: list[Message], name: str) -> list[Message]:  # noqa: ARG002 - they are in memory
        return messages

    def output(self, step: Step) -> Step:
        return step

    def write_texts(self, messages: Sequence[list[Message]], name: str) -> list[Message]:  # noqa: ARG002 - Spark needs the name
        return list(chain.from_iterable(messages))

    def counts(self, messages: list[Message]) -> Counts:
        return Counts.sum(message.body for message in messages if message.to == To.TALLY)


def export_records(records: Iterable[Record], job: ExportJob) -> Iterator[Message]:
    """The whole export of these records: the sorted texts of all outputs, the results of validation, and the counts as
    one message (:mod:`exporter.pipeline.outcome`).
    """
    collect_garbage_rarely()
    exported = rounds.export(LocalEngine(), [list(read(records, job))], replace(job, screen=None), NoProgress())
    yield from pieces(sorted(message for part in exported.outputs for message in part if is_text(message.to)), job)
    for results in exported.results:
        yield from results
    yield total_message(exported.counts, exported.refused)
