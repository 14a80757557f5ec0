"""What statements on schemas and databases do to what is in them.

An object ends with a DROP or REPLACE of its schema or database, as if its name was taken: if no later row shows it, and
no UNDROP takes the DROP back.

Tables that came by a CLONE of their schema or database are matched by name with those that were cloned. No row names
them. A table that the rows show first after the CLONE, under a name in the clone, and do not create, came by it. Its
database looks for the CLONE; the database that was cloned says since when the source had its name; that name informs
the objects that had it. They know what they were at the time of the CLONE.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from exporter.graph.iri import Iris
from exporter.graph.nodes.objects import version_of_copy, with_outcome
from exporter.graph.terms import UNRECORDED_VERSION_TYPES, Node, Values
from exporter.graph.vocabulary import VERSION
from exporter.model.clones import (
    BEGINS,
    COPIED,
    ENDS,
    KINDS,
    RESTORES,
    Copy,
    FirstStateOutcome,
    Inferred,
    database,
    in_source,
    schema_and_database,
    taken_back,
)
from exporter.model.identifiers import canonical_name
from exporter.model.object_state import NEVER, Absence, ContainerEvent, Profile, Take
from exporter.model.objects import containers
from exporter.model.other_accounts import account_in
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import (
    AT_RANK,
    Message,
    NameRank,
    ObjectRank,
    To,
    account_key,
    by_receiver,
    encode,
    for_each,
    order,
    split_key,
    time_and_query,
)
from exporter.pipeline.neighbourhood import ToObjects
from exporter.pipeline.texts import NodeWriter, needs_neighbourhoods, refused_key
from exporter.pipeline.updates import snapshot

_EVENT, _MEMBER, _COPY = range(3)
_MADE, _OUTCOME = range(2)
_NOW: Final = 1
"""The phase of a message of this day to a copy; the state of the day before comes first."""
_DAY: Final = 86_400_000_000


class _Member(Struct, array_like=True, frozen=True, gc=False):
    """A table, with the start of the first query that names it; ``within``: schemas and databases of its names."""

    start: int
    copy: Copy | None
    key: str
    within: list[str]


class _Content(Struct, array_like=True, frozen=True, gc=False):
    """An object with its canonical names, and the latest query that names it so far (as in :class:`Profile`)."""

    key: str
    names: list[str]
    shown: tuple[int, str]


_read_content: Final = msgspec.msgpack.Decoder(_Content).decode


class Ended(Struct, array_like=True, frozen=True, gc=False):
    """What a DROP, REPLACE or UNDROP of its schema or database did to an object (``key``) with a name. ``ends``: its
    end after it was shown last, or nothing. ``absences``: the times in which nothing of the name was there.
    """

    key: str
    ends: list[Take]
    absences: list[Absence]


read_ended: Final = msgspec.msgpack.Decoder(Ended).decode
read_absences: Final = msgspec.msgpack.Decoder(list[Absence]).decode
_read_event: Final = msgspec.msgpack.Decoder(ContainerEvent).decode
_read_member: Final = msgspec.msgpack.Decoder(_Member).decode
read_copy: Final = msgspec.msgpack.Decoder(Copy).decode


def to_databases(profile: Profile, job: ExportJob) -> Iterator[Message]:
    """Send what happens to schemas and databases, and the tables in them, to the databases. In an update each day keeps
    what happened on it, since a later CLONE needs it.
    """
    if profile.kind in KINDS:
        for event in sorted(profile.remade):
            for text in sorted({database(name) for name in (event.target, event.source) if name}):
                for receiver in (To.CLONED, To.CLONED_FROM):
                    message = Message(receiver, account_key(profile.account, text), AT_RANK[_EVENT], encode(event))
                    if job.has_container_clones:
                        yield message
                    if job.day:
                        yield snapshot(message)
    elif job.has_container_clones and profile.kind == COPIED and profile.names and not account_in(profile.key):
        yield from _member(profile)


def _member(profile: Profile) -> Iterator[Message]:
    account, (start, query_id, creates) = profile.account, profile.first
    (since, _), name = min((seen, name) for name, seen in profile.names.items())
    # A name that a RENAME or SWAP gave counts before any row shows it: it may be the one under which a CLONE copied it.
    names = {*profile.names, *profile.given}
    member = _Member(
        start, None, profile.key, sorted({place for table_name in names for place in schema_and_database(table_name)})
    )
    if not creates and since == start and schema_and_database(name):
        no_event = ContainerEvent(0, "", 0, "", "", "", "")
        copy = Copy(profile.key, name, query_id, sorted(profile.columns), no_event, "", NEVER)
        key = account_key(account, database(schema_and_database(name)[-1]))
        yield Message(To.CLONED, key, order(_MEMBER, 0, profile.key), encode(replace(member, copy=copy)))
    for text in sorted({database(place) for place in member.within}):
        yield Message(To.CLONED_FROM, account_key(account, text), order(_MEMBER, 0, profile.key), encode(member))


def clones_into(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """Tables that came by a CLONE are sent to the database that was cloned."""
    return for_each(To.CLONED, messages, _into)


def _into(key: str, group: Iterator[Message]) -> Iterator[Message]:
    account, events = split_key(key)[0], list[ContainerEvent]()
    for message in dict.fromkeys(group):
        if message.order[0] == _EVENT:
            events.append(_read_event(message.body))
        else:
            yield from _arrived(account, _read_member(message.body), events)


def _arrived(account: str, member: _Member, events: list[ContainerEvent]) -> Iterator[Message]:
    copy = member.copy
    assert copy is not None, "only a table that may be a copy is sent"
    inside = schema_and_database(copy.name)
    before = [
        event for event in events if event.target in inside and event.start < member.start and event.end <= member.start
    ]
    last = max(before, default=None)
    if last is not None and last.source:
        arrived = replace(copy, event=last, source=in_source(copy.name, last.target, last.source))
        key = account_key(account, database(last.source))
        yield Message(To.CLONED_FROM, key, order(_COPY, 0, copy.key), encode(arrived))


def clones_from(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Tables learn which CLONEs copied them, and those that came by a CLONE go to the name of their source."""
    return for_each(To.CLONED_FROM, messages, partial(_from, job=job))


def _from(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Message]:
    account, events = split_key(key)[0], list[ContainerEvent]()
    for message in dict.fromkeys(group):
        if message.order[0] == _EVENT:
            events.append(_read_event(message.body))
        elif message.order[0] == _MEMBER:
            yield from _clones_of(account, _read_member(message.body), events, job)
        else:
            yield _to_source(account, read_copy(message.body), events)


def _clones_of(account: str, member: _Member, events: list[ContainerEvent], job: ExportJob) -> Iterator[Message]:
    """The CLONEs of a table's schemas and databases. In an update a CLONE is over on the days after that on which its
    target was made anew: it brings nothing any more.
    """
    clones = [event for event in events if event.source in member.within]
    if clones:
        began = job.day_end - _DAY if job.day else NEVER
        over = {
            clone
            for clone in clones
            if any(later > clone and later.target == clone.target and later.end < began for later in events)
        }
        still = sorted(clone for clone in clones if clone not in over)
        yield Message(To.OBJECT, account_key(account, member.key), AT_RANK[ObjectRank.CLONES], encode(still))


def _to_source(account: str, copy: Copy, events: list[ContainerEvent]) -> Message:
    """The name of the source, with the time since when the schema and database have their names."""
    inside = schema_and_database(copy.source)
    since = max((event.end for event in events if event.target in inside and event < copy.event), default=NEVER)
    body = encode(replace(copy, since=since))
    return Message(To.NAME, account_key(account, f"{COPIED}/{copy.source}"), order(NameRank.COPY, 0, copy.key), body)


def to_holders(account: str, copies: Iterable[Message], holders: Iterable[str]) -> Iterator[Message]:
    """Send the copies of what had a name to the objects that had it."""
    for message in copies:
        copy = read_copy(message.body)
        for key in holders:
            if key != copy.key:
                yield Message(To.OBJECT, account_key(account, key), order(ObjectRank.COPIES, 0, copy.key), message.body)


class _Version(Struct, array_like=True, gc=False):
    """The version that a CLONE made of a table, and the state in which the first query found it: IRI and values."""

    made: tuple[str, Values]
    found: tuple[str, Values]


_read_versions: Final = msgspec.msgpack.Decoder(list[_Version]).decode
_read_outcome: Final = msgspec.msgpack.Decoder(FirstStateOutcome).decode


def to_copies(profile: Profile, keys: Iterable[str], inferred: Iterable[Inferred], iris: Iris) -> Iterator[Message]:
    """Send to the tables (``keys``) that CLONEs of this one may have brought the versions that these made of them; none
    where nothing is inferred.
    """
    versions: dict[str, list[_Version]] = {key: [] for key in keys}
    for inference in inferred:
        made, first = version_of_copy(profile.key, inference, iris)
        versions[inference.copy.key].append(_Version((made.iri, made.values), (first.iri, first.values)))
    for key, of_copy in sorted(versions.items()):
        yield Message(To.COPY, account_key(profile.account, key), order(_MADE, 0, profile.key, _NOW), encode(of_copy))


def own_outcome(
    profile: Profile, outcome: FirstStateOutcome, before: FirstStateOutcome, job: ExportJob
) -> Iterator[Message]:
    """Send what became of the state in which the first query found a table, if that is news, to where the versions are
    sent that CLONEs made of it. The table itself does not know whether one did.
    """
    if job.has_container_clones and profile.kind == COPIED and not profile.first[2] and outcome != before:
        key = account_key(profile.account, profile.key)
        yield Message(To.COPY, key, order(_OUTCOME, 0, "", _NOW), encode(outcome))


def end_copies(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The versions that CLONEs made of tables, with their ends. All messages are to :attr:`To.COPY`."""
    node_writer, to_objects = NodeWriter(job), ToObjects(job) if needs_neighbourhoods(job) else None
    for (to, key), group in groupby(messages, by_receiver):
        latest = {(message.order[0], time_and_query(message.order)[1]): message for message in group}
        outcome, versions = FirstStateOutcome(), list[_Version]()
        for (rank, source), message in latest.items():
            if job.day:
                yield snapshot(Message(to, key, order(rank, 0, source), message.body))
            if rank == _MADE:
                versions += _read_versions(message.body)
            else:
                outcome = _read_outcome(message.body)
        iris, nodes = node_writer.iris(split_key(key)[0]), list[Node]()
        for version in versions:
            made = VERSION.node(*version.made)
            first = VERSION.node(*version.found)._replace(types=UNRECORDED_VERSION_TYPES)
            nodes += with_outcome(made, first, outcome, iris)
        if not nodes:
            continue
        if job.day:
            validated, _, changing = node_writer.of_day(To.OBJECT, key, [], nodes)
            yield from validated
            for message in changing:
                yield snapshot(Message(message.to, refused_key(To.COPY, key), b"", message.body))
        else:
            yield from node_writer.of_thing(To.OBJECT, key, nodes)
            if to_objects is not None:
                yield from to_objects.of_copy(key, nodes)
    yield node_writer.counts.message()


# --- DROP, REPLACE and UNDROP -----------------------------------------------------------------------------------------


def to_ends(profile: Profile, names: Collection[str], job: ExportJob) -> Iterator[Message]:
    """Send what ends, restores or renames schemas and databases, and the objects in them, to the databases. ``names``:
    of the object. In an update each day keeps both, since a later DROP needs them.
    """
    account, messages = profile.account, list[Message]()
    for event in sorted(profile.remade):
        if event.operation != BEGINS:
            texts = {database(event.target)}
            if event.operation == RESTORES and event.key:  # its database may have had another name before
                texts.update(database(canonical_name(name)) for name in names)
            messages += [
                Message(To.CONTAINED, account_key(account, text), AT_RANK[_EVENT], encode(event))
                for text in sorted(texts)
            ]
    is_own = profile.object_id is not None and not account_in(profile.key)
    own = sorted({canonical_name(name) for name in names} if is_own else ())
    content = encode(_Content(profile.key, own, profile.shown))
    for text in sorted({database(place) for name in own for place in _places(profile.kind, name)}):
        messages.append(Message(To.CONTAINED, account_key(account, text), order(_MEMBER, 0, profile.key), content))
    if job.has_container_ends:
        yield from messages
    if job.day:
        yield from map(snapshot, messages)


def end_contents(messages: Iterable[Message], _: ExportJob) -> Iterator[Message]:
    """What ended schemas and databases is sent to the names in them."""
    return for_each(To.CONTAINED, messages, _ended)


def _ended(key: str, group: Iterator[Message]) -> Iterator[Message]:
    account, events = split_key(key)[0], set[ContainerEvent]()
    for event_or_key, of_object in groupby(group, _read_end):
        if isinstance(event_or_key, ContainerEvent):
            events.add(event_or_key)
        elif events:
            yield from _to_names(account, event_or_key, [_read_content(message.body) for message in of_object], events)


def _read_end(message: Message) -> ContainerEvent | str:
    """An event, or the key of an object: in an update each day that names the object sends it, one after the other."""
    return _read_event(message.body) if is_event(message) else _read_content(message.body).key


def is_event(message: Message) -> bool:
    """Whether a message to a database says what happened to it or its schemas; others are of objects in them."""
    return message.order[0] == _EVENT


def _to_names(
    account: str, object_key: str, contents: list[_Content], events: Iterable[ContainerEvent]
) -> Iterator[Message]:
    kind, shown = object_key.split("/", 1)[0], max(content.shown for content in contents)
    for name in sorted({name for content in contents for name in content.names}):
        places = _places(kind, name)
        named = {event for event in events if event.target in places}
        keys = {event.key for event in named if event.key}
        own = sorted(named.union(event for event in events if event.operation == RESTORES and event.key in keys))
        if named:
            undone = taken_back(own)
            key = account_key(account, f"{kind}/{name}")
            ended = Ended(object_key, _ends(own, undone, shown), list(_absences(own, undone, name)))
            yield Message(To.NAME, key, order(NameRank.ENDED, 0, object_key), encode(ended))


def _ends(
    events: Iterable[ContainerEvent], undone: Mapping[ContainerEvent, ContainerEvent], shown: tuple[int, str]
) -> list[Take]:
    """The end of an object after it was shown last, or nothing. ``events``: of its schema and database, in order of
    time. After a RENAME or SWAP, or an UNDROP under another name, it is not known what is in the schema or database of
    that name.
    """
    for event in events:
        if (event.end, event.query_id) < shown:
            continue
        if event in undone:  # what is done until then concerns another schema or database of this name
            shown = undone[event][:2]
            if undone[event].target != event.target:
                break
        elif event.operation in ENDS:
            return [event[:2]]
        elif event.operation != RESTORES:
            break
    return []


def _absences(
    events: Iterable[ContainerEvent], undone: Mapping[ContainerEvent, ContainerEvent], name: str
) -> Iterator[Absence]:
    """The times in which nothing of the name was there. ``events``: in order of time."""
    before: list[ContainerEvent] = []
    for event in events:
        if event in undone:
            # Of what had the name before, an UNDROP may have brought back that which is dropped now.
            gone = [earlier[:2] for earlier in before if earlier not in undone or undone[earlier] > event]
            yield Absence(event[:2], undone[event][:2], max(gone, default=(NEVER, "")), name)
        if event.operation != RESTORES:
            before.append(event)


def _places(kind: str, name: str) -> list[str]:
    """The canonical names of the schema and the database of an object."""
    return [canonical_name(container.name) for container in containers(kind, name) if container.name is not None]
