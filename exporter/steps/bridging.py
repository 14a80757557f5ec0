"""Helpers in the rounds: queries send what they do to helpers to the account's helpers, which answer in order of time.

These two rounds run only if the rows have helpers. The helpers of an account are in one place, since a helper may be
filled from others in any number; their state has a limit (:data:`exporter.openlineage.bridging.MOST_HELPERS`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from exporter.messages import (
    HELPERS,
    NAMED_FOR_QUERY,
    PARENT,
    WRITTEN,
    Message,
    by_key,
    encode,
    order,
    rank,
    within,
)
from exporter.openlineage.bridging import Helpers, Kept, Mark, Step, step_of
from exporter.steps.carried import BEFORE, BRIDGE, FACTS_OF, MARK, MENTION, PARENT_BRIDGE, read_told
from exporter.steps.homes import open_home, written_of
from exporter.steps.spellings import Spellings
from exporter.steps.state import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.steps.job import Job

_read_step: Final = msgspec.msgpack.Decoder(tuple[str, Step]).decode
_read_marks: Final = msgspec.msgpack.Decoder(list[Mark]).decode
_read_kept: Final = msgspec.msgpack.Decoder(Kept).decode


def follow(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """What each query does to helpers, from its facts and its datasets."""
    spellings = Spellings()
    for to, key, group in by_key(messages):
        for message in group:
            if to == NAMED_FOR_QUERY:
                spellings.hear(key, message.body, open_home(key))
            elif to == WRITTEN and rank(message) == FACTS_OF:
                told = read_told(message.body)
                facts = told.facts()
                found = step_of(facts, spellings.of(told.account, open_home(key)), job.openlineage)
                if found is not None:
                    step, marks = found
                    account = within(told.account, HELPERS)
                    if marks:
                        yield Message(HELPERS, account, order(MARK, 0, facts.query_id), encode(marks))
                    yield Message(HELPERS, account, order(MENTION, step.end, facts.query_id), encode((key, step)))


def bridge(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """What the events of queries say in place of helpers, sent to the queries, and to them as parents of others."""
    for to, key, group in by_key(messages):
        if to == HELPERS:
            yield from _of_account(key, group, job)


def _of_account(key: str, group: Iterator[Message], job: Job) -> Iterator[Message]:
    before, marks, helpers = Kept(), list[Mark](), None
    for message in group:
        what = rank(message)
        if what == BEFORE:
            before = _read_kept(message.body)
        elif what == MARK:
            marks += _read_marks(message.body)
        else:
            helpers = helpers or Helpers(before, marks)
            address, step = _read_step(message.body)
            body = encode(helpers.bridge(step))
            account, query_id = written_of(address)
            yield Message(WRITTEN, address, order(BRIDGE), body)
            yield Message(PARENT, within(account, query_id), order(PARENT_BRIDGE), body)
    if job.day:
        yield snapshot(Message(HELPERS, key, order(BEFORE), encode(helpers.kept() if helpers else before)))
