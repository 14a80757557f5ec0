"""What is known of an object whatever the order of queries: its profile, its names, and the datasets that have them.

Objects send their profiles to their datasets and names, which reply. A dataset has the columns of every object that
ever had its name. An object known only by name may be the same as one with an id. The rows do not say so; the two are
linked and not merged. The datasets that the queries of a partition mention are received once for all of them. A query
that started on an earlier day of an update has what that day knew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from exporter.graph.nodes.agents import owners
from exporter.model.answers import Dataset, HelperSigns, ObjectSpelling
from exporter.model.clones import COPIED, RESTORES
from exporter.model.identifiers import UNKNOWN_KIND, canonical_name
from exporter.model.object_state import NEVER, Absence, Drop, Profile, Take, names_in_order
from exporter.model.other_accounts import account_in
from exporter.model.profiles import merge
from exporter.openlineage.datasets import DatasetProfile, dataset_event, facets_for_runs, facets_of, profiles_of
from exporter.openlineage.events import problems
from exporter.openlineage.facets import Json, lifecycle
from exporter.openlineage.inputs_and_outputs import DATASET_KINDS
from exporter.pipeline.clones import (
    Ended,
    read_absences,
    read_ended,
    to_databases,
    to_ends,
    to_holders,
)
from exporter.pipeline.job import ExportJob
from exporter.pipeline.messages import (
    AT_RANK,
    Known,
    Message,
    NameRank,
    ObjectRank,
    To,
    account_key,
    by_receiver,
    decode,
    encode,
    for_each,
    order,
    read_known,
    split_key,
)
from exporter.pipeline.outcome import Counts
from exporter.pipeline.updates import snapshot

Named = tuple[str | None, str | None, str, str, bytes]
"""Name and account as in rows; namespace, name and facets of the dataset."""
_read_named: Final = msgspec.msgpack.Decoder(tuple[str, list[Named], HelperSigns | None]).decode


class Spellings:
    """The datasets of a partition, by account and spelling, apart for each bucket of queries of earlier days."""

    def __init__(self) -> None:
        self._datasets: dict[tuple[str, str], dict[ObjectSpelling, Dataset]] = {}

    def add(self, key: str, body: bytes, bucket: str = "") -> None:
        """Add the datasets that an object sends. ``key``: a key of its account; ``bucket``: as in :meth:`of`."""
        account, _ = split_key(key)
        object_key, named, signs = _read_named(body)
        of_account = self.of(account, bucket)
        for name, owner, namespace, dataset, facets in named:
            of_account[object_key, name, owner] = Dataset(namespace, dataset, facets, signs)

    def of(self, account: str, bucket: str = "") -> dict[ObjectSpelling, Dataset]:
        """The datasets of an account by spelling; ``bucket``: of a query that started on an earlier day."""
        return self._datasets.setdefault((account, bucket), {})


_SET_ON, _DROPPED, _WAS_TAKEN, _TAKEN, _ABSENT = range(5)
_NOW: Final = 1
"""The phase of a message of this day to a name; the state of the day before comes first."""
_DAY_BEFORE: Final = ""
"""The sender of a dataset's state of the day before, in place of an object key."""
read_dataset: Final = msgspec.msgpack.Decoder(tuple[str, DatasetProfile]).decode
"""Reads a message to a dataset: the sender, and what it knows of the dataset."""


def merge_profiles(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Merge what all partitions know about an object; send it to the object, its datasets, its names and its owner."""
    return for_each(To.PROFILE, messages, partial(_merged, job=job))


def _merged(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Message]:
    known = _merged_messages(read_known(message.body) for message in group)
    profile = known.profile
    yield Message(To.OBJECT, key, AT_RANK[ObjectRank.KNOWN], encode(known))
    if job.day:
        lasting = replace(profile, drops=set(), elements=set(), signs=set(), takes=set(), remade=set())
        yield snapshot(Message(To.PROFILE, key, b"", encode(Known(lasting, set(), set()))))
    if job.events:
        yield from _to_datasets(profile, job)
    yield from _to_names(profile)
    if job.day or job.has_container_clones:
        yield from to_databases(profile, job)
    if job.day or job.has_container_ends:
        yield from to_ends(profile, _names_of_object(profile), job)
    yield from _to_elements(profile)
    yield from _to_owners(profile)


def _merged_messages(states: Iterator[Known]) -> Known:
    whole = next(states)
    for known in states:
        merge(whole.profile, known.profile)
        whole.buckets |= known.buckets
        whole.parents |= known.parents
    return whole


def _to_datasets(profile: Profile, job: ExportJob) -> list[Message]:
    account, at = profile.account, order(0, 0, profile.key)
    return [
        Message(To.DATASET, account_key(account, encode(key).hex()), at, encode((profile.key, dataset)))
        for key, dataset in profiles_of(profile, job.openlineage).items()
    ]


def _to_names(profile: Profile) -> list[Message]:
    """An object known only by name asks for objects with that name, of any kind that holds data if rows do not give its
    own. One with an id sends itself to each of its names.
    """
    kind, by = profile.key.split("/", 2)[:2]
    kinds = sorted(DATASET_KINDS) if (kind, by) == (UNKNOWN_KIND, "name") else [kind]
    if by == "name":
        names, known_by = [canonical_name(name) for name in sorted(profile.names)[:1]], NameRank.BY_NAME
    elif profile.object_id is not None:
        names, known_by = sorted({canonical_name(name) for name in _names_of_object(profile)}), NameRank.HAS_ID
    else:
        return []
    called, messages = names_in_order(profile.called[1]), list[Message]()
    last = canonical_name(called[-1]) if called else ""
    undrops = sorted((at, query_id) for at, query_id, operation in profile.drops if operation == RESTORES)
    for name in names:
        takes = sorted((at, query_id) for at, query_id, taken in profile.takes if canonical_name(taken) == name)
        holder = _Holder(profile.key, profile.shown, last == name, takes, undrops=undrops)
        at, body = order(known_by, 0, profile.key, _NOW), encode(holder)
        keys = (account_key(profile.account, f"{data_kind}/{name}{account_in(profile.key)}") for data_kind in kinds)
        messages += [Message(To.NAME, key, at, body) for key in keys]
    return messages


def _names_of_object(profile: Profile) -> set[str]:
    """The names of an object. A name that was given but never seen counts only if there are others."""
    names = profile.names.keys() | profile.given
    return names if len(names) > 1 else set(profile.names)


def _to_elements(profile: Profile) -> list[Message]:
    """Send the object to the tags, policies and grantees that are set on it; send its own drops to itself as
    element.
    """
    account, key = profile.account, profile.key
    messages = [
        Message(To.ELEMENT, account_key(account, element), order(_SET_ON, 0, key), encode(key))
        for element in sorted(profile.elements)
    ]
    if profile.drops:
        messages.append(
            Message(To.ELEMENT, account_key(account, key), AT_RANK[_DROPPED], encode(sorted(profile.drops)))
        )
    return messages


def _to_owners(profile: Profile) -> list[Message]:
    """The messages of an object to the accounts that own it, and to organizations that no row may belong to."""
    descriptions = owners(profile)
    organizations = [owner.organization for owner in descriptions if owner.organization is not None]
    return [
        *[Message(To.ACCOUNT, owner.account, b"", encode(owner)) for owner in descriptions],
        *[Message(To.ORGANIZATION, name, b"", b"") for name in organizations],
    ]


def resolve_names(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The replies of names: objects that may be the same, and the end of an object whose name another one took."""
    return for_each(To.NAME, messages, partial(_name, job=job))


def resolve_datasets(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The replies of datasets and elements to the objects. Messages for other receivers pass through."""
    counts = Counts()
    for (to, key), group in groupby(messages, by_receiver):
        if to == To.DATASET:
            yield from _dataset(key, group, job, counts)
        elif to == To.ELEMENT:
            yield from _element(key, group, job)
        else:
            yield from group
    yield counts.message()


def _dataset(key: str, group: Iterator[Message], job: ExportJob, counts: Counts) -> list[Message]:
    account, bodies, settings = split_key(key)[0], [message.body for message in group], job.openlineage
    pairs = [read_dataset(body) for body in bodies]
    before = None if pairs[0][0] else read_dataset(bodies[0])[1]
    dataset = pairs[0][1]
    for _, other in pairs[1:]:
        dataset.add(other)
    messages, bodies_of = list[Message](), dict[tuple[str | None, ...], bytes]()
    for object_key in sorted({object_key for object_key, _ in pairs if object_key}):
        thing = dataset.shown_for(object_key)
        kind = thing.domain, thing.stage_kind, thing.location
        if kind not in bodies_of:
            bodies_of[kind] = encode((dataset.key, facets_for_runs(facets_of(dataset, settings, thing))))
        to = account_key(account, object_key)
        messages.append(Message(To.OBJECT, to, AT_RANK[ObjectRank.DATASETS], bodies_of[kind]))
    if (
        account not in job.first_starts
    ):  # all queries of the day are quarantined; it only names the job of a parent of another
        return messages
    if job.day:
        messages.append(snapshot(Message(To.DATASET, key, AT_RANK[0], encode((_DAY_BEFORE, dataset)))))
    if settings.dataset_events and dataset.is_sent and _is_news(dataset, before):
        event = dataset_event(
            dataset, facets_of(dataset, settings), job.first_starts[account], settings, _lifecycle(dataset, before, job)
        )
        is_valid = not problems(event)
        counts.numbers["events" if is_valid else "faulty"] += 1
        if is_valid:
            messages.append(Message(To.EVENTS, "", order(0, event.time), event.body))
    return messages


def _lifecycle(dataset: DatasetProfile, before: DatasetProfile | None, job: ExportJob) -> Json:
    """The lifecycle facet for a dataset that earlier days changed. A backend assumes that a dataset in an event exists,
    so the event of a renamed dataset must say that it is gone.
    """
    if before is None:
        return {}
    producer = job.openlineage.producer
    return lifecycle("DROP", None, producer) if dataset.is_renamed_away else before.lifecycle(producer)


def _is_news(dataset: DatasetProfile, before: DatasetProfile | None) -> bool:
    """Whether its event differs from that of an earlier day. Renames do not count: they are in the events of runs."""
    if before is None or (dataset.comment, dataset.last_thing) != (before.comment, before.last_thing):
        return True
    alike = replace(dataset, renamed_away=before.renamed_away, last_change=before.last_change, holders=before.holders)
    return alike != before


class _Holder(Struct, array_like=True, gc=False):
    """An object that has or had a name. ``shown``: the latest query that names it. ``is_last``: whether this is its
    latest name. ``takes``: when it took the name. ``taken``: who took it from this object, as the object knows already.
    ``undrops``: its UNDROPs; in an update those of the day.
    """

    key: str
    shown: tuple[int, str]
    is_last: bool
    takes: list[Take]
    taken: Take | None = None
    undrops: list[Take] = []


_read_holder: Final = msgspec.msgpack.Decoder(_Holder).decode
_NOT_ENDED: Final = Ended("", [], [])


def _name(key: str, group: Iterator[Message], job: ExportJob) -> list[Message]:
    account, of_name = split_key(key)[0], _OfName(group)
    holders, by_name = of_name.holders, sorted(of_name.by_name)
    messages = [*_taken(account, holders, of_name.ends), *_absent(key, holders, of_name.ended_now)]
    if of_name.copies:
        copied = {object_key for object_key in by_name if object_key.startswith(f"{COPIED}/")}
        messages += to_holders(account, of_name.copies, sorted(copied | holders.keys()))
    if job.day:
        messages += [snapshot(Message(To.NAME, key, at, body)) for at, body in of_name.state()]
    if holders and by_name:
        at, same = AT_RANK[ObjectRank.SAME_NAMES], encode(sorted(holders))
        messages += [Message(To.OBJECT, account_key(account, object_key), at, same) for object_key in by_name]
    return messages


class _OfName:
    """The messages to a name. ``by_name``: keys of the objects that are known only by it. ``holders``: the others, by
    key. ``ends``: what ended their schemas and databases, by key; ``ended_now``: of that, what is not from the day
    before. ``copies``: messages about copies of what had the name.
    """

    def __init__(self, messages: Iterable[Message]) -> None:
        self.by_name: set[str] = set()
        self.holders: dict[str, _Holder] = {}
        self.ended_now: list[Ended] = []
        self.copies: list[Message] = []
        ended_before: list[Ended] = []
        for message in dict.fromkeys(messages):
            rank = message.order[0]
            if rank == NameRank.BY_NAME:
                self.by_name.add(_read_holder(message.body).key)
            elif rank == NameRank.HAS_ID:
                holder = _read_holder(message.body)
                before = self.holders.get(holder.key)
                self.holders[holder.key] = holder if before is None else _after(before, holder)
            elif rank == NameRank.COPY:
                self.copies.append(message)
            else:
                (self.ended_now if rank == NameRank.ENDED else ended_before).append(read_ended(message.body))
        self.ends = {ended.key: ended for ended in (*ended_before, *self.ended_now)}

    def state(self) -> Iterator[tuple[bytes, bytes]]:
        """What the next day needs of it: the order and body of each message."""
        for object_key in sorted(self.ends):
            yield order(NameRank.ENDED_BEFORE, 0, object_key), encode(self.ends[object_key])
        for object_key in sorted(self.by_name):
            unseen = _Holder(object_key, (NEVER, ""), is_last=False, takes=[])
            yield order(NameRank.BY_NAME, 0, object_key), encode(unseen)
        for object_key, holder in sorted(self.holders.items()):
            yield order(NameRank.HAS_ID, 0, object_key), encode(replace(holder, undrops=[]))


def _after(before: _Holder, now: _Holder) -> _Holder:
    """A holder after a day of an update that names it; only the day before knows its earlier takes."""
    return replace(now, takes=sorted({*before.takes, *now.takes}), taken=before.taken)


def _taken(account: str, holders: dict[str, _Holder], ends: dict[str, Ended]) -> list[Message]:
    """Send to objects that their name was taken after all that is known of them, where that is news. An object that is
    shown again later had its name all the time: a temporary table only hid it. ``ends``: of the schemas and databases
    of objects, which take the name as well.
    """
    takes = _takes(holders)
    messages: list[Message] = []
    for key, holder in sorted(holders.items()):
        taken = _taken_from(holder, takes, ends.get(key, _NOT_ENDED)) if holder.is_last else None
        if taken != holder.taken:
            holder.taken = taken
            # A former name may say on the same day that it was not taken after all. The last message counts.
            phase, of_object = int(taken is not None), account_key(account, key)
            messages.append(Message(To.OBJECT, of_object, order(ObjectRank.TAKEN, phase=phase), encode(taken)))
            messages.append(Message(To.ELEMENT, of_object, order(_TAKEN, phase=phase), encode(taken)))
    return messages


def _takes(holders: dict[str, _Holder]) -> list[tuple[Take, str]]:
    """When the name was taken, and by which object, in order of time."""
    return sorted((take, holder.key) for holder in holders.values() for take in holder.takes)


def _taken_from(holder: _Holder, takes: list[tuple[Take, str]], ended: Ended) -> Take | None:
    """When something else took the name first after all that is known of a holder; None if nothing did. While its
    schema or database was dropped, and restored later, the name was that of something in another one.
    """
    shown = holder.shown
    for absence in sorted(ended.absences):
        if absence.known <= shown <= absence.dropped and _last_take(holder, takes, absence.dropped) < shown:
            shown = absence.restored
    own_end = next((end for end in ended.ends if end >= shown), None)
    for take, taker in takes:
        if taker != holder.key and take >= shown:
            return take if own_end is None else min(take, own_end)
    return own_end


def _last_take(holder: _Holder, takes: list[tuple[Take, str]], until: Take) -> Take:
    """When another object took the name of a holder last before a time."""
    return max((take for take, taker in takes if taker != holder.key and take <= until), default=(NEVER, ""))


def _absent(key: str, holders: dict[str, _Holder], now: list[Ended]) -> list[Message]:
    """Send to objects when nothing of their name was there, and who took it before; and who took it before an UNDROP of
    their own: it proves that the first of these after they were shown ended them.
    """
    (account, named), takes, absences = split_key(key), _takes(holders), dict[str, list[Absence]]()
    name = named.split("/", 1)[1]
    for ended in now:
        if ended.absences and ended.key in holders:
            holder = holders[ended.key]
            absences[ended.key] = [
                replace(absence, taken=_last_take(holder, takes, absence.dropped)) for absence in ended.absences
            ]
    for holder in (holder for holder in holders.values() if holder.undrops):
        other_takes = [take for take, taker in takes if taker != holder.key]
        absences.setdefault(holder.key, []).extend(
            Absence(take, undrop, (NEVER, ""), name, of_one=True)
            for undrop in holder.undrops
            for take in other_takes
            if take < undrop
        )
    return [
        Message(to, account_key(account, object_key), AT_RANK[rank], encode(periods))
        for object_key, periods in sorted(absences.items())
        if periods
        for to, rank in ((To.OBJECT, ObjectRank.ABSENCES), (To.ELEMENT, _ABSENT))
    ]


def _element(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Message]:
    """A tag, policy or grantee sends its ends to the objects on which it is set: the settings end with them. Also when
    it was not there for a time with its schema or database, or since another one had its name.
    """
    account, element = split_key(key)
    objects: dict[str, Message] = {}
    drops: set[Drop] = set()
    take: list[int | str] | None = None
    absences: list[Absence] = []
    is_news = False
    for message in group:
        if message.order[0] == _SET_ON:
            objects[decode(message.body)] = message
        elif message.order[0] == _ABSENT:
            absences += read_absences(message.body)
        elif message.order[0] == _DROPPED:
            drops.update(tuple(drop) for drop in decode(message.body))
        else:  # first the state of the day before
            take, is_news = decode(message.body), message.order[0] == _TAKEN
    if job.day:
        yield from map(snapshot, objects.values())
        yield snapshot(Message(To.ELEMENT, key, AT_RANK[_DROPPED], encode(sorted(drops))))
        if take is not None:
            yield snapshot(Message(To.ELEMENT, key, AT_RANK[_WAS_TAKEN], encode(take)))
    if drops or take is not None or is_news or absences:
        data = encode((element, sorted(drops), take, absences))
        for object_key in objects:
            yield Message(To.OBJECT, account_key(account, object_key), AT_RANK[ObjectRank.DROPS], data)
