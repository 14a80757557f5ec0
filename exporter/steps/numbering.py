"""Make the lines of the quarantine: the original row, its file and number, the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from exporter.messages import ASIDE, PLACE, QUARANTINE, Message, by_key, decode
from exporter.steps.reading import file_of
from exporter.steps.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job


def number(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """For each file: first the number of records in its blocks, then its quarantined rows. Gives lines in which rows
    are numbered over all blocks of the file, from 1.
    """
    tally = Tally()
    before: dict[tuple[str, int], int] = {}
    so_far: dict[str, int] = {}
    for _to, label, group in by_key(messages):
        file, run = file_of(label)
        for message in group:
            if message.to == PLACE:
                block, count = decode(message.body)
                before[label, block] = so_far.get(label, 0)
                so_far[label] = before[label, block] + count
            elif message.to == ASIDE:
                block, index, unit, reason, text = decode(message.body)
                line = {"file": file, unit: before.get((label, block), 0) + index, "reason": reason, "as_it_came": text}
                tally.count("quarantined", run == job.run)
                yield Message(QUARANTINE, label, message.order, orjson.dumps(line))
    yield tally.message()
