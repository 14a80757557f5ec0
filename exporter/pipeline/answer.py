"""Things receive their mentions in order of time, answer the queries, and give their own nodes at the end."""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain, groupby
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from exporter.graph import nodes
from exporter.graph.catalog import entry
from exporter.graph.iri import Iris
from exporter.graph.nodes.agents import Standing
from exporter.graph.nodes.changes import ended
from exporter.graph.nodes.objects import copies
from exporter.graph.nodes.versions import unrecorded
from exporter.model.fact_tables import rows_of_object
from exporter.model.facts import Agent
from exporter.model.object_history import ObjectAnswer, SavedHistory, UseAtEnd, UseAtStart, VersionHistory
from exporter.model.object_state import Absence, Event, ObjectHistory, Profile, Requester
from exporter.openlineage import helpers
from exporter.openlineage.datasets import spellings
from exporter.pipeline.clones import read_copy
from exporter.pipeline.messages import (
    ABSENCES,
    ACCOUNT,
    AGENT,
    ANSWER,
    BEFORE,
    CLONES,
    COPIES,
    DATASETS,
    DROPS,
    KNOWN,
    MENTION,
    NAMED_FOR_PARENT,
    NAMED_FOR_QUERY,
    OBJECT,
    ORGANIZATION,
    SAME_NAMES,
    STATEMENT,
    TAKEN,
    THINGS,
    USER,
    WRITTEN,
    Known,
    Message,
    asked,
    by_receiver,
    decode,
    encode,
    is_later,
    order,
    parts,
    read_known,
    time_and_query,
    within,
    written_at,
)
from exporter.pipeline.neighbourhood import ToObjects
from exporter.pipeline.texts import NodeWriter, facts_of, of_object, refused_key
from exporter.pipeline.updates import later, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.graph.terms import Node
    from exporter.model.clones import Copy
    from exporter.model.object_state import Take
    from exporter.openlineage.datasets import DatasetKey
    from exporter.pipeline.job import ExportJob
    from exporter.pipeline.outcome import Tally

_read_mention: Final = msgspec.msgpack.Decoder(tuple[UseAtStart | None, UseAtEnd | None]).decode
_read_events: Final = msgspec.msgpack.Decoder(list[Event]).decode
_read_absences: Final = msgspec.msgpack.Decoder(list[Absence]).decode
_read_agent: Final = msgspec.msgpack.Decoder(Agent).decode
_read_standing: Final = msgspec.msgpack.Decoder(Standing).decode


def answer(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The answers and nodes of things. Messages for other receivers pass through."""
    node_writer, around = NodeWriter(job), ToObjects(job)
    for (to, key), group in groupby(messages, by_receiver):
        if to == OBJECT:
            yield from _object(key, group, job, node_writer, around)
        elif to in THINGS:
            every = dict.fromkeys(group)
            if job.day:
                yield from map(snapshot, every)
            said = list(_NODES[to](key, iter(every), job))
            yield from node_writer.of_thing(to, key, said)
        else:
            yield from group
    yield node_writer.tally.message()


# --- objects ----------------------------------------------------------------------------------------------------------


def _object(
    key: str, group: Iterator[Message], job: ExportJob, node_writer: NodeWriter, around: ToObjects
) -> Iterator[Message]:
    account, object_key = parts(key)
    version_history, received = VersionHistory(object_key), _Received()
    for told in _answers(account, _mentions(group, version_history, received)):
        yield later(told) if is_later(told.key, job.day) else told
    yield from received.replies(job, node_writer.tally)
    profile = received.known.profile
    life = version_history.result(profile.names)
    life.same_names = sorted(received.same_names)
    life.is_helper = helpers.is_helper(profile, job.openlineage)
    iris = Iris(account, job.account, job.base)
    over, taken = list(version_history.over()), version_history.taken_state()
    if not job.day:
        over = _without_restored(over, life)
    if taken is not None and not job.day:
        life.unrecorded[taken[0]] = taken[1]
    said = list(nodes.of_object(profile, life, iris)) if node_writer.is_asked else []
    copied = list(copies(profile, version_history.inferred(profile.columns), iris))
    if job.day:
        passing = list(
            chain.from_iterable(ended(requester.query_id, [object_answer], iris) for requester, object_answer in over)
        )
        if taken is not None:
            passing += unrecorded(object_key, ObjectHistory(unrecorded=dict([taken])), iris)
        passing += copied
        yield from _of_day(
            key,
            said,
            passing,
            received,
            _Before(version_history.saved_history(), profile, life.same_names),
            node_writer,
        )
    else:
        yield from _answers(account, over)
        said += copied
        yield from node_writer.of_thing(OBJECT, key, said)
    yield from around.of_object(key, said)
    if job.catalog:
        yield from of_object(entry(profile, life))
    if job.facts:
        for table, row in rows_of_object(profile, life):
            yield Message(facts_of(table), "", b"", msgspec.json.encode(row))


def _mentions(
    group: Iterable[Message], version_history: VersionHistory, received: _Received
) -> Iterator[tuple[Requester, ObjectAnswer]]:
    for message in group:
        if message.order[0] == MENTION:
            yield from received.pass_by(version_history, message)
            yield from _answers_to(version_history, message)
        else:
            received.add(message, version_history)
    yield from received.pass_by(version_history, None)


def _without_restored(
    over: Iterable[tuple[Requester, ObjectAnswer]], life: ObjectHistory
) -> list[tuple[Requester, ObjectAnswer]]:
    """The answers to queries. Versions that the UNDROP of a schema or database made keep their ending themselves."""
    asked, endings = [], {}
    for requester, object_answer in over:
        if requester.address:
            asked.append((requester, object_answer))
        else:
            endings[requester.query_id] = object_answer.ending
    life.restored = [replace(one, ending=endings.get(one.query_id, one.ending)) for one in life.restored]
    return asked


def _answers(account: str, told: Iterable[tuple[Requester, ObjectAnswer]]) -> Iterator[Message]:
    for (query_id, address), object_answer in told:
        yield Message(WRITTEN, written_at(address, account, query_id), order(ANSWER), encode(object_answer))


def _of_day(  # noqa: PLR0913, PLR0917 - the state and nodes of an object
    key: str, said: list[Node], over: list[Node], received: _Received, now: _Before, node_writer: NodeWriter
) -> Iterator[Message]:
    """The nodes of an object on a day. Lasting statements are written once. Statements that may change are kept in the
    snapshot and written on the last day. ``over``: ends of settings by a drop, which an UNDROP may revert.
    """
    refused, last, passing = node_writer.of_day(OBJECT, key, *nodes.lasting(said))
    passing += node_writer.more(over)
    yield from refused
    now.said = blake2b(b"".join(one.body for one in last), digest_size=16).digest()
    if now.said != received.said:
        yield from last
    for message in passing:
        yield snapshot(Message(message.to, refused_key(OBJECT, key), b"", message.body))
    yield snapshot(Message(OBJECT, key, order(BEFORE), encode(now)))


def _answers_to(version_history: VersionHistory, message: Message) -> Iterator[tuple[Requester, ObjectAnswer]]:
    started, ended = _read_mention(message.body)
    at, query = time_and_query(message.order)
    requester = Requester(*asked(query))
    version_history.passed = at, requester.query_id
    if started is not None:
        yield from version_history.starts(requester, at, started)
    if ended is not None:
        yield from version_history.ends(requester, at, ended)


def _take(decoded: list[int | str] | None) -> Take | None:
    """A time and a query id from a message; None if nobody took the name."""
    return None if decoded is None else (int(decoded[0]), str(decoded[1]))


class _Before(Struct, array_like=True, gc=False):
    """The state of an object at the end of the day before. ``said``: a digest of the nodes that were written."""

    saved_history: SavedHistory
    profile: Profile
    same_names: list[str]
    said: bytes = b""


_read_before: Final = msgspec.msgpack.Decoder(_Before).decode


class _Received:
    """What an object receives before its mentions: its attributes, its datasets, objects with the same name."""

    known: Known

    def __init__(self) -> None:
        self.said = b""
        self.same_names: set[str] = set()
        self._datasets: dict[DatasetKey, bytes] = {}
        self.clones: list[Event] | None = None
        self.copies: list[Copy] = []

    def add(self, message: Message, version_history: VersionHistory) -> None:
        what = message.order[0]
        if what == BEFORE:
            before = _read_before(message.body)
            version_history.continued(before.saved_history)
            self.known = Known(before.profile, set(), set())
            self.same_names.update(before.same_names)
            self.said = before.said
        elif what == KNOWN:
            self.known = read_known(message.body)
        elif what == DATASETS:
            dataset, facets = decode(message.body)
            self._datasets[tuple(dataset)] = facets
        elif what == SAME_NAMES:
            self.same_names.update(decode(message.body))
        elif what == DROPS:
            element, drops, taken = decode(message.body)
            version_history.hears_of(element, [tuple(drop) for drop in drops], _take(taken))
        elif what == TAKEN:
            version_history.is_taken(_take(decode(message.body)))
        elif what == ABSENCES:
            version_history.is_absent(_read_absences(message.body))
        elif what == CLONES:
            self.clones = [*(self.clones or ()), *_read_events(message.body)]
        elif what == COPIES:
            self.copies.append(read_copy(message.body))

    def pass_by(
        self, version_history: VersionHistory, before: Message | None
    ) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """Let the version history pass by what happened to schemas and databases before a mention; by all if None."""
        if self.clones is not None or self.copies:
            version_history.copies.add(self.known.profile, version_history.passed, self.clones, self.copies)
            self.clones, self.copies = None, []
        if version_history.is_passed_by:
            if before is None:
                yield from version_history.passes(None)
            else:
                at, query = time_and_query(before.order)
                yield from version_history.passes((at, asked(query)[0]))

    def replies(self, job: ExportJob, tally: Tally) -> Iterator[Message]:
        """Send the dataset for each spelling that rows have of the object to each bucket with queries that mention it,
        once.
        """
        if not job.events or not (self.known.buckets or self.known.parents):
            return
        profile = self.known.profile
        told = [
            (
                spelling.name,
                spelling.account,
                spelling.dataset[1],
                spelling.dataset[2],
                self._datasets[spelling.dataset],
            )
            for spelling in spellings(profile, job.openlineage)
            if spelling.is_seen
        ]
        signs = helpers.signs_of(profile) if job.openlineage.helpers else None
        names = {dataset for _, _, _, dataset, _ in told} if profile.kind in helpers.KINDS else ()
        if signs or any(helpers.is_named(name, job.openlineage.helpers) for name in names):
            tally.count("helpers")
        body = encode((profile.key, told, signs))
        account = profile.account
        for bucket in sorted(self.known.buckets):
            named = Message(NAMED_FOR_QUERY, within(account, bucket), order(0, job.until), body)
            yield later(named) if is_later(bucket, job.day) else named
        for parent in sorted(self.known.parents):
            yield Message(NAMED_FOR_PARENT, parent, b"", body)


# --- who ran queries, and where ---------------------------------------------------------------------------------------


def _statement(key: str, _: Iterator[Message], job: ExportJob) -> Iterator[Node]:
    account, query_id = parts(key)
    yield nodes.of_unrecorded_query(query_id, Iris(account, job.account, job.base))


def _user(key: str, _: Iterator[Message], job: ExportJob) -> Iterator[Node]:
    account, name = parts(key)
    yield nodes.of_user(name, Iris(account, job.account, job.base))


def _agent(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Node]:
    account, _ = parts(key)
    every = [_read_agent(message.body) for message in group]
    names = [agent.agent_name for agent in every if agent.agent_name is not None]
    yield nodes.of_agent(every[0], names, Iris(account, job.account, job.base))


def _account(key: str, group: Iterator[Message], _: ExportJob) -> Iterator[Node]:
    node = nodes.of_account(key, [_read_standing(message.body) for message in group])
    if node is not None:
        yield node


def _organization(key: str, _: Iterator[Message], __: ExportJob) -> Iterator[Node]:
    yield nodes.of_organization(key)


_NODES: Final[dict[str, Callable[[str, Iterator[Message], ExportJob], Iterator[Node]]]] = {
    STATEMENT: _statement,
    USER: _user,
    AGENT: _agent,
    ACCOUNT: _account,
    ORGANIZATION: _organization,
}
