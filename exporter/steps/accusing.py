"""If the shapes refuse a node of a thing, quarantine all queries that mention the thing. Run only in that case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.messages import HELD, OBJECT, REFUSED, STATEMENT, WRITTEN, Message, by_key, decode, encode, order, within
from exporter.steps.carried import read_told
from exporter.steps.hearing import held
from exporter.steps.people import people
from exporter.steps.saying import thing
from exporter.steps.tallies import Tally
from exporter.things.profiles import keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.queries.facts import QueryFacts
    from exporter.steps.job import Job


def mention(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """Facts of queries -> a message to each thing that they mention, with the data for quarantining the query."""
    for message in messages:
        if message.to == WRITTEN:
            facts = read_told(message.body).facts()
            body = held(facts, "").body
            for to, key in _mentioned(facts):
                yield Message(REFUSED, thing(to, key), order(1, 0, facts.query_id), body)


def _mentioned(facts: QueryFacts) -> Iterator[tuple[str, str]]:
    for object_key in keys(facts):
        yield OBJECT, within(facts.account, object_key)
    for message in people(facts):
        yield message.to, message.key
    for relative in (facts.parent_query_id, facts.root_query_id):
        if relative is not None:
            yield STATEMENT, within(facts.account, relative)


def accuse(messages: Iterable[Message], _: Job) -> Iterator[Message]:
    """Refused things and the queries that mention them -> the queries to be quarantined."""
    tally = Tally()
    for _to, _key, group in by_key(messages):
        first = next(group)
        if first.order:
            continue
        reason = first.body.decode()
        for message in group:
            if message.order:
                account, query_id, relatives, _, day = decode(message.body)
                tally.count("held")
                yield Message(HELD, message.key, b"", encode((account, query_id, relatives, reason, day)))
    yield tally.message()
