"""Things hear what mentions them, in the order of time: they answer the queries, and say their own nodes at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from exporter.graph import nodes
from exporter.graph.catalog_entries import entry
from exporter.graph.iri import Iris
from exporter.graph.nodes.accounts import Standing
from exporter.messages import (
    ACCOUNT,
    AGENT,
    NAMED_FOR_PARENT,
    NAMED_FOR_QUERY,
    OBJECT,
    ORGANIZATION,
    STATEMENT,
    THINGS,
    USER,
    WRITTEN,
    Message,
    by_key,
    decode,
    encode,
    order,
    parts,
    rank,
    time_and_query,
    within,
)
from exporter.openlineage.datasets import spellings
from exporter.queries.facts import Agent
from exporter.queries.tables import rows_of_object
from exporter.steps.cataloguing import of_object
from exporter.steps.homes import asked, written_at
from exporter.steps.saying import Saying
from exporter.steps.telling import ANSWER, DATASETS, KNOWN, MENTION, SAME_NAMES, Known, read_known
from exporter.steps.texts import facts_of
from exporter.things.stories import Answer, Asker, Ended, Started, Story

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.graph.terms import Node
    from exporter.openlineage.datasets import DatasetKey
    from exporter.steps.job import Job

_read_mention: Final = msgspec.msgpack.Decoder(tuple[Started | None, Ended | None]).decode
_read_agent: Final = msgspec.msgpack.Decoder(Agent).decode
_read_standing: Final = msgspec.msgpack.Decoder(Standing).decode


def answer(messages: Iterable[Message], job: Job) -> Iterator[Message]:
    """What things answer and say; what is not for things passes through."""
    saying = Saying(job)
    for to, key, group in by_key(messages):
        if to == OBJECT:
            yield from _object(key, group, job, saying)
        elif to in THINGS:
            said = list(_NODES[to](key, group, job))
            yield from saying.of_thing(to, key, said)
        else:
            yield from group
    yield saying.tally.message()


# --- objects ----------------------------------------------------------------------------------------------------------


def _object(key: str, group: Iterator[Message], job: Job, saying: Saying) -> Iterator[Message]:
    account, object_key = parts(key)
    story, heard = Story(object_key), _Heard()
    for message in group:
        if rank(message) == MENTION:
            yield from heard.replies(job)
            for (query_id, address), one in _told(story, message):
                yield Message(WRITTEN, written_at(address, account, query_id), order(ANSWER), encode(one))
        else:
            heard.hear(message)
    profile = heard.known.profile
    life = story.told(profile.names)
    life.same_names = heard.same_names
    yield from saying.of_thing(OBJECT, key, nodes.of_object(profile, life, Iris(account, job.account, job.base)))
    if job.catalog:
        yield from of_object(entry(profile, life))
    if job.facts:
        for table, row in rows_of_object(profile, life):
            yield Message(facts_of(table), "", b"", msgspec.json.encode(row))


def _told(story: Story, message: Message) -> Iterator[tuple[Asker, Answer]]:
    started, ended = _read_mention(message.body)
    at, query = time_and_query(message.order)
    asker = Asker(*asked(query))
    if started is not None:
        yield from story.starts(asker, at, started)
    if ended is not None:
        yield from story.ends(asker, at, ended)


class _Heard:
    """What an object hears before its story: who it is, its datasets, and who has its name."""

    known: Known

    def __init__(self) -> None:
        self.same_names: list[str] = []
        self._datasets: dict[DatasetKey, bytes] = {}
        self._replied = False

    def hear(self, message: Message) -> None:
        what = rank(message)
        if what == KNOWN:
            self.known = read_known(message.body)
        elif what == DATASETS:
            dataset, facets = decode(message.body)
            self._datasets[tuple(dataset)] = facets
        elif what == SAME_NAMES:
            self.same_names.extend(decode(message.body))

    def replies(self, job: Job) -> Iterator[Message]:
        """Tell each home where queries speak of the object, once, what it is called, however a row shows it."""
        if self._replied or not job.events:
            return
        self._replied = True
        profile = self.known.profile
        told = [
            (one.name, one.account, one.dataset[1], one.dataset[2], self._datasets[one.dataset])
            for one in spellings(profile, job.openlineage)
        ]
        body = encode((profile.key, told))
        account = profile.account
        for home in sorted(self.known.homes):
            yield Message(NAMED_FOR_QUERY, within(account, home), b"", body)
        for parent in sorted(self.known.parents):
            yield Message(NAMED_FOR_PARENT, parent, b"", body)


# --- who ran queries, and where ---------------------------------------------------------------------------------------


def _statement(key: str, _: Iterator[Message], job: Job) -> Iterator[Node]:
    account, query_id = parts(key)
    yield nodes.of_unrecorded_query(query_id, Iris(account, job.account, job.base))


def _user(key: str, _: Iterator[Message], job: Job) -> Iterator[Node]:
    account, name = parts(key)
    yield nodes.of_user(name, Iris(account, job.account, job.base))


def _agent(key: str, group: Iterator[Message], job: Job) -> Iterator[Node]:
    account, _ = parts(key)
    every = [_read_agent(message.body) for message in group]
    names = [agent.agent_name for agent in every if agent.agent_name is not None]
    yield nodes.of_agent(every[0], names, Iris(account, job.account, job.base))


def _account(key: str, group: Iterator[Message], _: Job) -> Iterator[Node]:
    node = nodes.of_account(key, [_read_standing(message.body) for message in group])
    if node is not None:
        yield node


def _organization(key: str, _: Iterator[Message], __: Job) -> Iterator[Node]:
    yield nodes.of_organization(key)


_NODES: Final[dict[str, Callable[[str, Iterator[Message], Job], Iterator[Node]]]] = {
    STATEMENT: _statement,
    USER: _user,
    AGENT: _agent,
    ACCOUNT: _account,
    ORGANIZATION: _organization,
}
