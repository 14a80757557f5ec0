"""Make the lines of the quarantine: the original row, its file and number, the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from exporter.messages import ASIDE, PLACE, QUARANTINE, UNKNOWN, Message, by_key, decode
from exporter.steps.reading import file_of
from exporter.steps.tallies import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job


def number(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """For each file: first the number of records in its blocks, then its quarantined rows, and what is not
    understood. Gives lines in which rows are numbered over all blocks of the file, from 1.
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
            elif message.to == UNKNOWN:
                for what, count, (block, index, unit) in decode(message.body):
                    at = before.get((label, int(block)), 0) + index
                    tally.unknown.add(what, count, (file, at, unit))
            elif message.to == ASIDE:
                block, index, unit, reason, text, is_aggregate = decode(message.body)
                line = {"file": file, unit: before.get((label, block), 0) + index, "reason": reason, "as_it_came": text}
                tally.count("quarantined", run == job.run)
                tally.count("aggregate_quarantined", is_aggregate and run == job.run)
                yield Message(QUARANTINE, label, message.order, orjson.dumps(line))
    yield tally.message()
