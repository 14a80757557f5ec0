"""Send the job names of parent queries to their children. They are made by the same rule as every job name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.messages import NAMED_FOR_PARENT, WRITTEN, Message, by_key, decode, encode, order, rank
from exporter.openlineage.jobs import home_of, job_of
from exporter.openlineage.naming import job_name
from exporter.steps.carried import FACTS_OF, JOB_NAME, PARENT_BRIDGE, read_bridge, read_told
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
        name = facts = bridge = None
        for message in group:
            if to == NAMED_FOR_PARENT:
                spellings.hear(key, message.body)
            elif rank(message) == FACTS_OF:
                facts = read_told(message.body).facts()
            elif rank(message) == PARENT_BRIDGE:
                bridge = read_bridge(message.body)
            elif facts is not None:
                if name is None:
                    datasets = spellings.of(facts.account)
                    named = job_of(facts.content, datasets, facts.history, job.openlineage, bridge)
                    name = job_name(named, home_of(facts.account, job.openlineage))
                role, child = decode(message.body)
                named_for = Message(WRITTEN, child, order(JOB_NAME), encode((role, name)))
                yield later(named_for) if is_later(child, job.day) else named_for
