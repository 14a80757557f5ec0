"""What queries need of other queries: the job names of their parents, and what helpers held.

Job names of parents are made by the same rule as every job name, and sent to their children. What queries do to helpers
is sent to the account's helpers, which answer in order of time. The rounds for helpers run only if the rows have some.
The helpers of an account are in one place, since a helper may be filled from others in any number; their state has a
limit (:data:`exporter.openlineage.bridging.MOST_HELPERS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from exporter.openlineage.bridging import Helpers, SavedHelpers
from exporter.openlineage.events import name_of
from exporter.openlineage.helper_steps import HelperStep, Mark, step_of
from exporter.pipeline.job import ExportJob
from exporter.pipeline.merge_profiles import Spellings
from exporter.pipeline.messages import (
    AT_RANK,
    HelpersRank,
    Message,
    ParentRank,
    To,
    WrittenRank,
    account_key,
    by_receiver,
    decode,
    encode,
    open_bucket,
    order,
    read_bridge,
    read_query_record,
    split_query_key,
)
from exporter.pipeline.updates import now_or_later, snapshot


def name_jobs(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The job names of parents, sent to the addresses of their children. A parent without a row has no job name. A name
    that another day of an update made is sent as it is.
    """
    spellings = Spellings()
    for (to, key), group in groupby(messages, by_receiver):
        name = facts = bridge = None
        for message in group:
            if to == To.NAMED_FOR_PARENT:
                spellings.add(key, message.body)
            elif message.order[0] == WrittenRank.FACTS:
                facts = read_query_record(message.body).facts()
            elif message.order[0] == ParentRank.BRIDGE:
                bridge = read_bridge(message.body)
            elif message.order[0] == ParentRank.JOB:
                name = decode(message.body)
            elif facts is not None or name is not None:
                if name is None and facts is not None:
                    name = name_of(facts, spellings.of(facts.account), job.openlineage, bridge)
                role, child = decode(message.body)
                named_for = Message(To.WRITTEN, child, AT_RANK[WrittenRank.JOB_NAME], encode((role, name)))
                yield now_or_later(named_for, child, job.day)


_read_step: Final = msgspec.msgpack.Decoder(tuple[str, HelperStep]).decode
_read_marks: Final = msgspec.msgpack.Decoder(list[Mark]).decode
_read_state: Final = msgspec.msgpack.Decoder(SavedHelpers).decode


def trace_helpers(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """What each query does to helpers, from its facts and its datasets."""
    spellings = Spellings()
    for (to, key), group in groupby(messages, by_receiver):
        for message in group:
            if to == To.NAMED_FOR_QUERY:
                spellings.add(key, message.body, open_bucket(key))
            elif to == To.WRITTEN and message.order[0] == WrittenRank.FACTS:
                facts = read_query_record(message.body).facts()
                step_and_marks = step_of(facts, spellings.of(facts.account, open_bucket(key)), job.openlineage)
                if step_and_marks is not None:
                    step, marks = step_and_marks
                    account, query_id = account_key(facts.account, To.HELPERS), facts.query_id
                    if marks:
                        yield Message(To.HELPERS, account, order(HelpersRank.MARK, 0, query_id), encode(marks))
                    at = order(HelpersRank.STEP, step.end, query_id)
                    yield Message(To.HELPERS, account, at, encode((key, step)))


def bridge_helpers(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """What the events of queries say in place of helpers, sent to the queries, and to them as parents of others."""
    for (to, key), group in groupby(messages, by_receiver):
        if to == To.HELPERS:
            yield from _of_account(key, group, job)


def _of_account(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Message]:
    before, marks, helpers = SavedHelpers(), list[Mark](), None
    for message in group:
        rank = message.order[0]
        if rank == HelpersRank.BEFORE:
            before = _read_state(message.body)
        elif rank == HelpersRank.MARK:
            marks += _read_marks(message.body)
        else:
            helpers = helpers or Helpers(before, marks)
            address, step = _read_step(message.body)
            body = encode(helpers.bridge(step))
            account, query_id = split_query_key(address)
            yield Message(To.WRITTEN, address, AT_RANK[WrittenRank.BRIDGE], body)
            yield Message(To.PARENT, account_key(account, query_id), AT_RANK[ParentRank.BRIDGE], body)
    if job.day:
        now = helpers.kept() if helpers else before
        yield snapshot(Message(To.HELPERS, key, AT_RANK[HelpersRank.BEFORE], encode(now)))
