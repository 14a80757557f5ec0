"""The quarantine: its lines, each with the original row, its file and number and the reason; and queries that are in it
because of an object.

If the shapes refuse a node of an object, all queries that mention the object are quarantined. This runs only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

import orjson

from exporter.model.facts import QueryFacts
from exporter.model.profiles import keys
from exporter.pipeline.extract import people, quarantine_query
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import Message, To, account_key, by_receiver, decode, encode, order, read_query_record
from exporter.pipeline.outcome import Counts
from exporter.pipeline.read import file_of
from exporter.pipeline.texts import refused_key


def name_users_of_objects(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Facts of queries -> a message to each thing that they mention, with the data for quarantining the query."""
    for message in messages:
        if message.to == To.WRITTEN:
            facts = read_query_record(message.body).facts()
            body = quarantine_query(facts, "").body
            for to, key in _mentioned(facts):
                yield Message(To.REFUSED, refused_key(to, key), order(1, 0, facts.query_id), body)


def _mentioned(facts: QueryFacts) -> Iterator[tuple[str, str]]:
    for object_key in keys(facts):
        yield To.OBJECT, account_key(facts.account, object_key)
    for message in people(facts):
        yield message.to, message.key
    for relative in (facts.parent_query_id, facts.root_query_id):
        if relative is not None:
            yield To.UNRECORDED_QUERY, account_key(facts.account, relative)


def quarantine_users(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Refused things and the queries that mention them -> the queries to be quarantined."""
    counts = Counts()
    for _, group in groupby(messages, by_receiver):
        reason: str | None = None
        for message in group:
            if not message.order:  # why the thing is refused; it comes before the queries
                reason = reason or message.body.decode()
            elif reason is not None:
                account, query_id, relatives, _, day = decode(message.body)
                counts.numbers["quarantined_queries"] += 1
                yield Message(To.QUARANTINED, message.key, b"", encode((account, query_id, relatives, reason, day)))
    yield counts.message()


def number_lines(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """For each file: first the number of records in its blocks, then its quarantined rows, and what is not
    understood. Gives lines in which rows are numbered over all blocks of the file, from 1.
    """
    counts = Counts()
    before: dict[tuple[str, int], int] = {}
    so_far: dict[str, int] = {}
    for (_to, label), group in groupby(messages, by_receiver):
        file, run = file_of(label)
        for message in group:
            if message.to == To.PLACE:
                block, count = decode(message.body)
                before[label, block] = so_far.get(label, 0)
                so_far[label] = before[label, block] + count
            elif message.to == To.UNKNOWN:
                for name, count, (block, index, unit) in decode(message.body):
                    at = before.get((label, int(block)), 0) + index
                    counts.unknown.add(name, count, (file, at, unit))
            elif message.to == To.QUARANTINED_ROWS:
                block, index, unit, reason, text, is_aggregate = decode(message.body)
                line = {"file": file, unit: before.get((label, block), 0) + index, "reason": reason, "as_it_came": text}
                counts.numbers["quarantined"] += run == job.run
                counts.numbers["aggregate_quarantined"] += is_aggregate and run == job.run
                yield Message(To.QUARANTINE, label, message.order, orjson.dumps(line))
    yield counts.message()
