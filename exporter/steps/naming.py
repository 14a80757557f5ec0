"""Send the job names of parent queries to their children. They are made by the same rule as every job name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.messages import NAMED_FOR_PARENT, WRITTEN, Message, by_key, decode, encode, order, rank
from exporter.openlineage.jobs import name_of
from exporter.steps.carried import FACTS_OF, JOB_NAME, PARENT_BRIDGE, PARENT_JOB, read_bridge, read_told
from exporter.steps.homes import is_later
from exporter.steps.spellings import Spellings
from exporter.steps.state import later

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job


def name_jobs(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """The job names of parents, sent to the addresses of their children. A parent without a row has no job name. A name
    that another day of an update made is sent as it is.
    """
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
            elif rank(message) == PARENT_JOB:
                name = decode(message.body)
            elif facts is not None or name is not None:
                if name is None and facts is not None:
                    name = name_of(facts, spellings.of(facts.account), job.openlineage, bridge)
                role, child = decode(message.body)
                named_for = Message(WRITTEN, child, order(JOB_NAME), encode((role, name)))
                yield later(named_for) if is_later(child, job.day) else named_for
