"""The rounds without Spark: the same steps, with sorting and filtering between them in this process's memory.

Used for tests, for inputs of some MB with ``--engine local``, and inside the single task of a small input on Spark.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from exporter.engine import rounds
from exporter.engine.counts import Counts
from exporter.engine.outcome import numbers
from exporter.messages import TALLY, Message, decode, is_text
from exporter.steps.reading import read
from exporter.steps.texts import pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exporter.engine.carrying import Step
    from exporter.steps.job import Job
    from exporter.steps.reading import Record


class LocalEngine:
    """Messages are lists."""

    def met(self, messages: Sequence[list[Message]], step: Step, job: Job) -> list[Message]:
        return list(step(sorted(chain.from_iterable(messages)), job))

    def together(self, messages: Sequence[list[Message]], step: Step, job: Job) -> list[Message]:
        return self.met(messages, step, job)

    def each(self, messages: list[Message], step: Step, job: Job) -> list[Message]:
        return list(step(messages, job))

    def only(self, messages: list[Message], to: Sequence[str]) -> list[Message]:
        wanted = frozenset(to)
        return [message for message in messages if message.to in wanted]

    def kept(self, messages: list[Message], name: str) -> list[Message]:  # noqa: ARG002 - they are in memory
        return messages

    def output(self, step: Step) -> Step:
        return step

    def stored(self, messages: Sequence[list[Message]], name: str) -> list[Message]:  # noqa: ARG002 - as above
        return list(chain.from_iterable(messages))

    def counts(self, messages: list[Message]) -> Counts:
        return Counts.of(decode(message.body) for message in messages if message.to == TALLY)


def seldom_collected() -> None:
    """Make Python's garbage collector run rarely: messages and nodes are many and have no cycles, and searching them
    again and again takes a third of the time.
    """
    gc.set_threshold(100_000, 50, 100)


def run(records: Iterable[Record], job: Job) -> Iterator[Message]:
    """The whole export of these records: the sorted texts of all outputs, the results of validation, and the counts as
    one message (:mod:`exporter.engine.outcome`).
    """
    seldom_collected()
    made = rounds.export(LocalEngine(), [list(read(records, job))], replace(job, screen=None))
    yield from pieces(sorted(one for part in made.outputs for one in part if is_text(one.to)), job)
    for results in made.results:
        yield from results
    yield numbers(made.counts, made.refused)
