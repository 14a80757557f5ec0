"""Objects receive their uses in order of time and answer the queries. All things give their own nodes at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from exporter.graph.catalog import catalog_entry
from exporter.graph.nodes import agents
from exporter.graph.nodes.agents import AccountDescription
from exporter.graph.nodes.changes import ending_nodes
from exporter.graph.nodes.objects import copy_nodes, of_object, split_lasting
from exporter.graph.nodes.queries import of_unrecorded_query
from exporter.graph.nodes.versions import unrecorded_versions
from exporter.graph.terms import Node
from exporter.model.clones import Copy, FirstStateOutcome
from exporter.model.effects import UseAtEnd, UseAtStart
from exporter.model.fact_tables import rows_of_object
from exporter.model.facts import Agent
from exporter.model.object_history import ObjectAnswer, SavedHistory, VersionHistory
from exporter.model.object_state import Absence, ContainerEvent, Drop, ObjectHistory, Profile, Take
from exporter.model.settings_in_force import Requester
from exporter.openlineage import helpers
from exporter.openlineage.datasets import DatasetKey, as_reference, spellings
from exporter.pipeline.clones import own_outcome, read_absences, read_copy, to_copies
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import (
    AT_RANK,
    THINGS,
    Known,
    Message,
    ObjectRank,
    To,
    WrittenRank,
    account_key,
    by_receiver,
    decode,
    encode,
    order,
    query_key,
    read_known,
    split_key,
    split_requester,
    time_and_query,
)
from exporter.pipeline.neighbourhood import ToObjects
from exporter.pipeline.outcome import Counts
from exporter.pipeline.texts import NodeWriter, facts_output, needs_neighbourhoods, refused_key
from exporter.pipeline.updates import now_or_later, snapshot

_read_use: Final = msgspec.msgpack.Decoder(tuple[UseAtStart | None, UseAtEnd | None]).decode
_read_events: Final = msgspec.msgpack.Decoder(list[ContainerEvent]).decode
_read_ends: Final = msgspec.msgpack.Decoder(tuple[str, list[Drop], Take | None, list[Absence]]).decode
_read_take: Final = msgspec.msgpack.Decoder(Take | None).decode
_read_agent: Final = msgspec.msgpack.Decoder(Agent).decode
_read_account: Final = msgspec.msgpack.Decoder(AccountDescription).decode


def answer(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The answers and nodes of things. Messages for other receivers pass through."""
    node_writer, to_objects = NodeWriter(job), ToObjects(job) if needs_neighbourhoods(job) else None
    for (to, key), group in groupby(messages, by_receiver):
        if to == To.OBJECT:
            yield from _object(key, group, job, node_writer, to_objects)
        elif to in THINGS:
            distinct = dict.fromkeys(group)
            if job.day:
                yield from map(snapshot, distinct)
            yield from node_writer.of_thing(
                to, key, _nodes(to, key, [message.body for message in distinct], node_writer)
            )
        else:
            yield from group
    yield node_writer.counts.message()


def _nodes(to: str, key: str, bodies: Sequence[bytes], node_writer: NodeWriter) -> list[Node]:
    """The nodes of a user, a software agent, an account, an organization, or a query that has no row."""
    if to == To.ORGANIZATION:
        return [agents.of_organization(key)]
    if to == To.ACCOUNT:
        of_account = agents.of_account(key, map(_read_account, bodies))
        return [] if of_account is None else [of_account]
    account, name = split_key(key)
    iris = node_writer.iris(account)
    if to == To.USER:
        return [agents.of_user(name, iris)]
    if to == To.UNRECORDED_QUERY:
        return [of_unrecorded_query(name, iris)]
    agent_rows = list(map(_read_agent, bodies))
    return [
        agents.of_agent(agent_rows[0], [agent.agent_name for agent in agent_rows if agent.agent_name is not None], iris)
    ]


# --- objects ----------------------------------------------------------------------------------------------------------


def _object(
    key: str, group: Iterator[Message], job: ExportJob, node_writer: NodeWriter, to_objects: ToObjects | None
) -> Iterator[Message]:
    account, object_key = split_key(key)
    version_history, received = VersionHistory(object_key), _Received()
    for message in _to_queries(account, _answers(group, version_history, received)):
        yield now_or_later(message, message.key, job.day)
    yield from received.datasets_for_queries(job, node_writer.counts)
    profile, iris = received.known.profile, node_writer.iris(account)
    object_history = version_history.result(profile.names)
    object_history.same_names = sorted(received.same_names)
    object_history.is_helper = helpers.is_helper(profile, job.openlineage)
    endings, taken = list(version_history.final_answers()), version_history.taken_state()
    inferred, outcome = version_history.inferred(profile.columns), version_history.first_state_outcome()
    if not job.day:
        endings = _without_restored(endings, object_history)
        if taken is not None:
            object_history.unrecorded[taken[0]] = taken[1]
        yield from _to_queries(account, endings)
    own = list(of_object(profile, object_history, iris)) if node_writer.is_asked else []
    copied = list(copy_nodes(profile, inferred, iris)) if inferred else []
    yield from to_copies(profile, version_history.copies.keys, inferred, iris)
    yield from own_outcome(profile, outcome, received.outcome, job)
    if job.day:
        may_change = [
            node for requester, ending in endings for node in ending_nodes(requester.query_id, [ending], iris)
        ]
        if taken is not None:
            may_change += unrecorded_versions(object_key, ObjectHistory(unrecorded=dict([taken])), iris)
        now = _Before(version_history.saved_history(), profile, object_history.same_names, outcome)
        yield from _of_day(key, own, may_change + copied, received.digest, now, node_writer)
    else:
        own += copied
        yield from node_writer.of_thing(To.OBJECT, key, own)
    if to_objects is not None:
        yield from to_objects.of_object(key, own)
    yield from _catalog_and_facts(account, profile, object_history, job)


def _catalog_and_facts(
    account: str, profile: Profile, object_history: ObjectHistory, job: ExportJob
) -> Iterator[Message]:
    """What an object gives to the outputs beside graph and events, if they are wanted."""
    if job.catalog and (entry := catalog_entry(profile, object_history)) is not None:
        yield Message(To.ENTRY, "", b"", encode((account, entry, None)))
    if job.facts:
        for table, row in rows_of_object(profile, object_history):
            yield Message(facts_output(table), "", b"", msgspec.json.encode(row))


def _answers(
    group: Iterable[Message], version_history: VersionHistory, received: _Received
) -> Iterator[tuple[Requester, ObjectAnswer]]:
    """The answers to the uses of an object, in the order of time. Before them it receives all other messages."""
    for message in group:
        if message.order[0] != ObjectRank.USE:
            received.add(message, version_history)
            continue
        at, query = time_and_query(message.order)
        requester = Requester(*split_requester(query))
        yield from received.container_events(version_history, (at, requester.query_id))
        at_start, at_end = _read_use(message.body)
        version_history.passed = at, requester.query_id
        if at_start is not None:
            yield from version_history.starts(requester, at, at_start)
        if at_end is not None:
            yield from version_history.ends(requester, at, at_end)
    yield from received.container_events(version_history, None)


def _without_restored(
    endings: Iterable[tuple[Requester, ObjectAnswer]], object_history: ObjectHistory
) -> list[tuple[Requester, ObjectAnswer]]:
    """The answers to queries. Versions that the UNDROP of a schema or database made keep their ending themselves."""
    of_queries, of_restored = [], {}
    for requester, object_answer in endings:
        if requester.address:
            of_queries.append((requester, object_answer))
        else:
            of_restored[requester.query_id] = object_answer.ending
    object_history.restored = [
        replace(version, ending=of_restored.get(version.query_id, version.ending))
        for version in object_history.restored
    ]
    return of_queries


def _to_queries(account: str, answers: Iterable[tuple[Requester, ObjectAnswer]]) -> Iterator[Message]:
    for (query_id, address), object_answer in answers:
        query = query_key(address, account, query_id)
        yield Message(To.WRITTEN, query, AT_RANK[WrittenRank.ANSWER], encode(object_answer))


def _of_day(  # noqa: PLR0913, PLR0917 - the nodes of an object, and its state
    key: str, own: list[Node], may_change: list[Node], digest: bytes, now: _Before, node_writer: NodeWriter
) -> Iterator[Message]:
    """The nodes of an object on a day. Lasting statements are written once, if their ``digest`` has changed since the
    day before. Statements that may change are kept in the snapshot and written on the last day. ``may_change``: more of
    these, such as ends of settings by a drop, which an UNDROP may revert.
    """
    validated, lasting, changing = node_writer.of_day(To.OBJECT, key, *split_lasting(own))
    yield from validated
    now.digest = blake2b(b"".join(message.body for message in lasting), digest_size=16).digest()
    if now.digest != digest:
        yield from lasting
    for message in changing + node_writer.more(may_change):
        yield snapshot(Message(message.to, refused_key(To.OBJECT, key), b"", message.body))
    yield snapshot(Message(To.OBJECT, key, AT_RANK[ObjectRank.BEFORE], encode(now)))


class _Before(Struct, array_like=True, gc=False):
    """The state of an object at the end of the day before. ``outcome``: as it was sent; ``digest``: of the nodes that
    were written.
    """

    saved_history: SavedHistory
    profile: Profile
    same_names: list[str]
    outcome: FirstStateOutcome
    digest: bytes = b""


read_before: Final = msgspec.msgpack.Decoder(_Before).decode
"""Reads the state of an object at the end of the day before."""


class _Received:
    """What an object receives before its uses: its attributes, its datasets, objects with the same name. ``outcome``,
    ``digest``: as in :class:`_Before`.
    """

    known: Known

    def __init__(self) -> None:
        self.digest = b""
        self.outcome = FirstStateOutcome()
        self.same_names: set[str] = set()
        self._datasets: dict[DatasetKey, bytes] = {}
        self.clones: list[ContainerEvent] | None = None
        self.copies: list[Copy] = []

    def add(self, message: Message, version_history: VersionHistory) -> None:
        rank = message.order[0]
        if rank == ObjectRank.BEFORE:
            before = read_before(message.body)
            version_history.continued(before.saved_history)
            self.known = Known(before.profile, set(), set())
            self.same_names.update(before.same_names)
            self.digest, self.outcome = before.digest, before.outcome
        elif rank == ObjectRank.KNOWN:
            self.known = read_known(message.body)
        elif rank == ObjectRank.DATASETS:
            dataset, facets = decode(message.body)
            self._datasets[tuple(dataset)] = facets
        elif rank == ObjectRank.SAME_NAMES:
            self.same_names.update(decode(message.body))
        elif rank == ObjectRank.DROPS:
            element, drops, taken, absences = _read_ends(message.body)
            version_history.element_dropped(element, drops, taken, absences)
        elif rank == ObjectRank.TAKEN:
            version_history.name_taken(_read_take(message.body))
        elif rank == ObjectRank.ABSENCES:
            version_history.absent(read_absences(message.body))
        elif rank == ObjectRank.CLONES:
            self.clones = [*(self.clones or ()), *_read_events(message.body)]
        elif rank == ObjectRank.COPIES:
            self.copies.append(read_copy(message.body))

    def container_events(
        self, version_history: VersionHistory, use: tuple[int, str] | None
    ) -> Iterator[tuple[Requester, ObjectAnswer]]:
        """Apply to the version history what happened to schemas and databases before a use (its time and query id), all
        if None.
        """
        if self.clones is not None or self.copies:
            version_history.copies.add(self.known.profile, version_history.passed, self.clones, self.copies)
            self.clones, self.copies = None, []
        if version_history.has_container_events:
            yield from version_history.apply_container_events(use)

    def datasets_for_queries(self, job: ExportJob, counts: Counts) -> list[Message]:
        """Send the dataset for each spelling that rows have of the object to each bucket with queries that mention it,
        once.
        """
        profile, buckets, parents = self.known.profile, self.known.buckets, self.known.parents
        if not job.events or not (buckets or parents):
            return []
        thing = as_reference(profile)
        datasets = [
            (spelling.name, spelling.account, *spelling.dataset[1:3], self._datasets[spelling.dataset])
            for spelling in spellings(profile, thing, job.openlineage)
            if spelling.is_seen
        ]
        signs = helpers.signs_of(profile) if job.openlineage.helpers else None
        names = {name for _, _, _, name, _ in datasets} if thing.kind in helpers.KINDS else ()
        if signs or any(helpers.is_named(name, job.openlineage.helpers) for name in names):
            counts.numbers["helpers"] += 1
        body = encode((profile.key, datasets, signs))
        named = [
            Message(To.NAMED_FOR_QUERY, account_key(profile.account, bucket), order(0, job.day_end), body)
            for bucket in sorted(buckets)
        ]
        return [
            *(now_or_later(message, message.key, job.day) for message in named),
            *(Message(To.NAMED_FOR_PARENT, parent, b"", body) for parent in sorted(parents)),
        ]
