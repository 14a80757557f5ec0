"""What is known of an object whatever the order of queries: its profile, its names, and the datasets that have them.

Objects send their profiles to their datasets and names, which reply. A dataset has the columns of every object that
ever had its name. An object known only by name may be the same as one with an id. The rows do not say so; the two are
linked and not merged. The datasets that the queries of a partition mention are received once for all of them. A query
that started on an earlier day of an update has what that day knew.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from exporter.model.answers import Dataset, Signs
from exporter.model.identifiers import canonical_name
from exporter.model.object_state import NEVER, Take
from exporter.model.profiles import merge
from exporter.openlineage import datasets as check
from exporter.openlineage.datasets import DatasetProfile, dataset_event, facets_for_runs, profiles_of
from exporter.openlineage.facets import lifecycle
from exporter.pipeline.clones import COPY_OF, ENDED, ENDED_BEFORE, read_ends, to_databases, to_ends, to_holders
from exporter.pipeline.extract import to_owners
from exporter.pipeline.messages import (
    DATASET,
    DATASETS,
    DROPS,
    ELEMENT,
    EVENTS,
    KNOWN,
    NAME,
    OBJECT,
    PROFILE,
    SAME_NAMES,
    TAKEN,
    Known,
    Message,
    by_receiver,
    decode,
    encode,
    order,
    parts,
    read_known,
    within,
)
from exporter.pipeline.outcome import Tally
from exporter.pipeline.updates import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.model.answers import Spelled
    from exporter.model.object_state import Drop, Profile
    from exporter.openlineage.events import Event
    from exporter.openlineage.facets import Json
    from exporter.pipeline.job import ExportJob

Named = tuple[str | None, str | None, str, str, bytes]
"""Name and account as in rows; namespace, name and facets of the dataset."""
_read: Final = msgspec.msgpack.Decoder(tuple[str, list[Named], Signs | None]).decode


class Spellings:
    """The datasets of a partition, by account and spelling, apart for each bucket of queries of earlier days."""

    def __init__(self) -> None:
        self._datasets: dict[tuple[str, str], dict[Spelled, Dataset]] = {}

    def add(self, key: str, body: bytes, bucket: str = "") -> None:
        """Add the datasets that an object sends. ``key``: a key of its account; ``bucket``: as in :meth:`of`."""
        account, _ = parts(key)
        object_key, told, signs = _read(body)
        of_account = self.of(account, bucket)
        for name, owner, namespace, dataset, facets in told:
            of_account[object_key, name, owner] = Dataset(namespace, dataset, facets, signs)

    def of(self, account: str, bucket: str = "") -> dict[Spelled, Dataset]:
        """The datasets of an account by spelling; ``bucket``: of a query that started on an earlier day."""
        return self._datasets.setdefault((account, bucket), {})


_NAMELESS, _HAS_ID = range(2)
_SET_ON, _DROPPED, _WAS_TAKEN, _TAKEN = range(4)
_NOW: Final = 1
"""The phase of a message of this day to a name; the state of the day before comes first."""
_NOBODY: Final = ""
"""The sender of a dataset's state of the day before, in place of an object key."""
_read_dataset: Final = msgspec.msgpack.Decoder(tuple[str, DatasetProfile]).decode


def merge_profiles(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """Merge what all partitions know about an object; send it to the object, its datasets, its names and its owner."""
    for (to, key), group in groupby(messages, by_receiver):
        if to != PROFILE:
            yield from group
            continue
        known = _together(read_known(message.body) for message in group)
        yield Message(OBJECT, key, order(KNOWN), encode(known))
        if job.day:
            lasting = replace(known.profile, drops=set(), elements=set(), signs=set(), takes=set(), remade=set())
            yield snapshot(Message(PROFILE, key, b"", encode(Known(lasting, set(), set()))))
        if job.events:
            yield from _to_datasets(known.profile, job)
        yield from _to_names(known.profile)
        yield from to_databases(known.profile, job)
        yield from to_ends(known.profile, _had(known.profile), job)
        yield from _to_elements(known.profile)
        yield from to_owners(known.profile)


def _together(each: Iterator[Known]) -> Known:
    whole = next(each)
    for known in each:
        merge(whole.profile, known.profile)
        whole.buckets |= known.buckets
        whole.parents |= known.parents
    return whole


def _to_datasets(profile: Profile, job: ExportJob) -> Iterator[Message]:
    for dataset in profiles_of(profile, job.openlineage):
        key = within(profile.account, encode(dataset.key).hex())
        yield Message(DATASET, key, order(0, 0, profile.key), encode((profile.key, dataset)))


def _to_names(profile: Profile) -> Iterator[Message]:
    """An object known only by name asks for objects with that name. One with an id sends itself to each of
    its names.
    """
    if profile.key.split("/", 2)[1] == "name":
        if profile.names:
            yield _to_name(profile, canonical_name(min(profile.names)), _NAMELESS)
    elif profile.object_id is not None:
        for name in sorted({canonical_name(name) for name in _had(profile)}):
            yield _to_name(profile, name, _HAS_ID)


def _had(profile: Profile) -> set[str]:
    """The names of an object. A name that was given but never seen counts only if there are others."""
    names = profile.names.keys() | profile.given
    return names if len(names) > 1 else set(profile.names)


def _to_name(profile: Profile, name: str, is_known_by: int) -> Message:
    key = within(profile.account, f"{profile.kind}/{name}")
    takes = sorted((at, query_id) for at, query_id, taken in profile.takes if canonical_name(taken) == name)
    is_last = canonical_name(profile.called[2]) == name
    holder = _Holder(profile.key, profile.shown, is_last, takes)
    return Message(NAME, key, order(is_known_by, 0, profile.key, _NOW), encode(holder))


def _to_elements(profile: Profile) -> Iterator[Message]:
    """Send the object to the tags, policies and grantees that are set on it; send its own drops to itself as
    element.
    """
    for element in sorted(profile.elements):
        of_object = order(_SET_ON, 0, profile.key)
        yield Message(ELEMENT, within(profile.account, element), of_object, encode(profile.key))
    if profile.drops:
        drops = encode(sorted(profile.drops))
        yield Message(ELEMENT, within(profile.account, profile.key), order(_DROPPED), drops)


def resolve_names(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The replies of names: objects that may be the same, and the end of an object whose name another one took.
    Messages for other receivers pass through.
    """
    for (to, key), group in groupby(messages, by_receiver):
        if to == NAME:
            yield from _name(key, group, job)
        else:
            yield from group


def resolve_datasets(messages: Iterable[Message], job: ExportJob) -> Iterator[Message]:
    """The replies of datasets and elements to the objects. Messages for other receivers pass through."""
    tally = Tally()
    for (to, key), group in groupby(messages, by_receiver):
        if to == DATASET:
            yield from _dataset(key, group, job, tally)
        elif to == ELEMENT:
            yield from _element(key, group, job)
        else:
            yield from group
    yield tally.message()


def _dataset(key: str, group: Iterator[Message], job: ExportJob, tally: Tally) -> Iterator[Message]:
    account, bodies = parts(key)[0], [message.body for message in group]
    each = [_read_dataset(body) for body in bodies]
    before = _read_dataset(bodies[0])[1] if not each[0][0] else None
    dataset = each[0][1]
    for _, dataset_profile in each[1:]:
        dataset.add(dataset_profile)
    if job.day:
        yield snapshot(Message(DATASET, key, order(0), encode((_NOBODY, dataset))))
    facets = facets_for_runs(dataset, job.openlineage)
    answer = encode((dataset.key, facets))
    for object_key in sorted({key for key, _ in each} - {_NOBODY}):
        yield Message(OBJECT, within(account, object_key), order(DATASETS), answer)
    if job.openlineage.dataset_events and dataset.is_sent and _is_news(dataset, before):
        told = _lifecycle(dataset, before, job)
        yield from _event(dataset_event(dataset, job.begun[account], job.openlineage, told), tally)


def _lifecycle(dataset: DatasetProfile, before: DatasetProfile | None, job: ExportJob) -> Json:
    """The lifecycle facet for a dataset that earlier days changed. A backend assumes that a dataset in an event exists,
    so the event of a renamed dataset must say that it is gone.
    """
    if before is None:
        return {}
    producer = job.openlineage.producer
    return lifecycle("DROP", None, producer) if dataset.is_left else before.lifecycle(producer)


def _is_news(dataset: DatasetProfile, before: DatasetProfile | None) -> bool:
    """Whether its event differs from that of an earlier day. Renames do not count: they are in the events of runs."""
    return before is None or replace(dataset, left=before.left, fate=before.fate, holder=before.holder) != before


def _event(event: Event, tally: Tally) -> Iterator[Message]:
    if check.problems(event):
        tally.count("faulty")
        return
    tally.count("events")
    yield Message(EVENTS, "", order(0, event.time), event.body)


class _Holder(Struct, array_like=True, gc=False):
    """An object that has or had a name. ``shown``: the latest query that names it. ``is_last``: whether this is its
    latest name. ``takes``: when it took the name. ``taken``: who took it from this object, as the object knows already.
    """

    key: str
    shown: tuple[int, str]
    is_last: bool
    takes: list[Take]
    taken: Take | None = None


_read_holder: Final = msgspec.msgpack.Decoder(_Holder).decode


def _name(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Message]:
    account = parts(key)[0]
    heard: dict[int, list[Message]] = {}
    for message in dict.fromkeys(group):
        heard.setdefault(message.order[0], []).append(message)
    copies = heard.get(COPY_OF, [])
    nameless = {_read_holder(message.body).key for message in heard.get(_NAMELESS, ())}
    known: dict[str, _Holder] = {}
    for message in heard.get(_HAS_ID, ()):
        one = _read_holder(message.body)
        known[one.key] = _after(known[one.key], one) if one.key in known else one
    ends = dict(read_ends(message.body) for message in (*heard.get(ENDED_BEFORE, ()), *heard.get(ENDED, ())))
    yield from _taken(account, known, ends)
    yield from to_holders(account, copies, sorted(nameless | known.keys()))
    if job.day:
        for ended in sorted(ends.items()):
            yield snapshot(Message(NAME, key, order(ENDED_BEFORE, 0, ended[0]), encode(ended)))
        for rank_, holders in ((_NAMELESS, nameless), (_HAS_ID, known)):
            for one_key in sorted(holders):
                holder = known[one_key] if rank_ == _HAS_ID else _Holder(one_key, (NEVER, ""), is_last=False, takes=[])
                yield snapshot(Message(NAME, key, order(rank_, 0, one_key), encode(holder)))
    if known:
        for object_key in sorted(nameless):
            yield Message(OBJECT, within(account, object_key), order(SAME_NAMES), encode(sorted(known)))


def _after(before: _Holder, now: _Holder) -> _Holder:
    """A holder after a day of an update that names it; only the day before knows its earlier takes."""
    return replace(now, takes=sorted({*before.takes, *now.takes}), taken=before.taken)


def _taken(account: str, holders: dict[str, _Holder], ends: dict[str, list[Take]]) -> Iterator[Message]:
    """Send to objects that their name was taken after all that is known of them, where that is news. An object that is
    shown again later had its name all the time: a temporary table only hid it. ``ends``: of the schemas and databases
    of objects, which take the name as well.
    """
    every = sorted((take, one.key) for one in holders.values() for take in one.takes)
    for key in sorted(holders):
        holder = holders[key]
        takes = sorted([*every, *((end, "") for end in ends[key])]) if key in ends else every
        later = (take for take, taker in takes if taker != key and take >= holder.shown) if holder.is_last else iter(())
        taken = next(later, None)
        if taken != holder.taken:
            holder.taken = taken
            # A former name may say on the same day that it was not taken after all. The last message counts.
            phase = int(taken is not None)
            yield Message(OBJECT, within(account, key), order(TAKEN, phase=phase), encode(taken))
            yield Message(ELEMENT, within(account, key), order(_TAKEN, phase=phase), encode(taken))


def _element(key: str, group: Iterator[Message], job: ExportJob) -> Iterator[Message]:
    """A tag, policy or grantee sends its ends to the objects on which it is set: the settings end with them."""
    account, element = parts(key)
    objects: dict[str, Message] = {}
    drops: set[Drop] = set()
    take: list[int | str] | None = None
    is_news = False
    for message in group:
        if message.order[0] == _SET_ON:
            objects[decode(message.body)] = message
        elif message.order[0] == _DROPPED:
            drops.update(tuple(one) for one in decode(message.body))
        else:  # first the state of the day before
            take, is_news = decode(message.body), message.order[0] == _TAKEN
    if job.day:
        yield from map(snapshot, objects.values())
        yield snapshot(Message(ELEMENT, key, order(_DROPPED), encode(sorted(drops))))
        if take is not None:
            yield snapshot(Message(ELEMENT, key, order(_WAS_TAKEN), encode(take)))
    if drops or take is not None or is_news:
        data = encode((element, sorted(drops), take))
        for object_key in objects:
            yield Message(OBJECT, within(account, object_key), order(DROPS), data)
