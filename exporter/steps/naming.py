"""Send the job names of parent queries to their children. They are made by the same rule as every job name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.messages import NAMED_FOR_PARENT, WRITTEN, Message, by_key, decode, encode, order, rank
from exporter.openlineage.jobs import job_of
from exporter.openlineage.naming import job_name
from exporter.steps.carried import FACTS_OF, JOB_NAME, read_told
from exporter.steps.homes import is_later
from exporter.steps.spellings import Spellings
from exporter.steps.state import later

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job


def name_jobs(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The job names of parents, sent to the addresses of their children. A parent without a row has no job name."""
    spellings = Spellings()
    for to, key, group in by_key(messages):
        name = None
        for message in group:
            if to == NAMED_FOR_PARENT:
                spellings.hear(key, message.body)
            elif rank(message) == FACTS_OF:
                told = read_told(message.body)
                facts = told.facts()
                named = job_of(facts.content, spellings.of(told.account), facts.history, job.openlineage)
                name = job_name(named)
            elif name is not None:
                role, child = decode(message.body)
                named_for = Message(WRITTEN, child, order(JOB_NAME), encode((role, name)))
                yield later(named_for) if is_later(child, job.day) else named_for
