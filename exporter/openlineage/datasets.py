"""The datasets that objects are: their names, what every event tells of them, and an event for each.

Objects that had one name one after the other (a table that was made anew) are one dataset, with the columns of all: it
must not look thinner than it is. Routines, policies and the like have a dataset for their name's sake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from exporter.openlineage import facets
from exporter.openlineage.events import Event
from exporter.openlineage.naming import dataset_name, qualified
from exporter.openlineage.objects import DATASET_KINDS, described
from exporter.openlineage.times import iso
from exporter.openlineage.values import Json, greatest
from exporter.queries.facts import Thing
from exporter.queries.identifiers import canonical_name
from exporter.things.answers import Dataset

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings
    from exporter.things.lives import Profile

DATASET: Final = "DATASET"
"""The type of a dataset's event."""


DatasetKey = tuple[str, str, str, bool]
"""The account of the rows, namespace and name; False at the end for the name of a routine, policy, tag …, which may be
a table's too and is kept apart.
"""


class Spelling(Struct, frozen=True, gc=False):
    """A name and an account beside it under which rows may show an object, also none of either, and the dataset that
    it is under them. ``is_seen``: not where a name or an account is known, but left out.
    """

    name: str | None
    account: str | None
    dataset: DatasetKey
    is_seen: bool


def spellings(profile: Profile, settings: OpenLineageSettings) -> list[Spelling]:
    """Every spelling under which rows may show the object."""
    names, owners = _names(profile), sorted(profile.accounts)
    thing, is_dataset, found = as_thing(profile), profile.kind in DATASET_KINDS, []
    for name in (*sorted(names), None):
        canonical = _whole_name(name, profile)
        for owner in (*owners, None):
            named = dataset_name(replace(thing, account=owner), canonical, profile.account, settings)
            is_seen = (name is not None or not names) and (owner is not None or not owners)
            found.append(Spelling(name, owner, (profile.account, *named, is_dataset), is_seen))
    return found


def _names(profile: Profile) -> set[str]:
    """The names that rows may show. A name that only a SWAP tells of stays away from an object that has no other: no
    row shows it under that.
    """
    names = {*profile.names, *profile.old_names}
    return names | profile.given if len(names | profile.given) > 1 else names


def _whole_name(name: str | None, profile: Profile) -> str | None:
    """The canonical name; one that RENAME TO gave has the database and schema that the former name had."""
    if name is None:
        return None
    old, new = greatest(profile.old_names.get(name, ())), canonical_name(name)
    return new if old is None else qualified(new, canonical_name(old))


def as_thing(profile: Profile) -> Thing:
    """The object as its datasets tell of it. Of several domains the most telling is shown, which comes first in the
    alphabet (DYNAMIC TABLE before TABLE).
    """
    return Thing(
        profile.key,
        profile.kind,
        min(profile.domains, default=None),
        profile.object_id,
        None,
        min(profile.signatures, default=None),
        min(profile.data_types, default=None),
        min(profile.stage_kinds, default=None),
        min(profile.locations, default=None),
        min(profile.accounts, default=None),
    )


_NO_FATE: Final = (0, "", "", "", "")


class DatasetProfile(Struct, gc=False):
    """A dataset, as the objects tell that are it. ``is_seen``: whether rows show it under its name; ``columns``: of all
    its objects; ``things``: the objects by their keys; ``left``: object key -> whether it was renamed and has been seen
    under another name since; ``fate``: as :data:`exporter.things.lives.Fate`, the latest of all its objects, with the
    namespace and name of the dataset before. The others: see :data:`DatasetKey`.
    """

    account: str
    namespace: str
    name: str
    is_dataset: bool
    is_seen: bool = False
    columns: set[str] = field(default_factory=set)
    things: dict[str, Thing] = field(default_factory=dict)
    left: dict[str, bool] = field(default_factory=dict)
    fate: tuple[int, str, str, str, str] = _NO_FATE

    @property
    def key(self) -> DatasetKey:
        """What is the same for all objects that are this dataset."""
        return self.account, self.namespace, self.name, self.is_dataset

    def hear(self, other: DatasetProfile) -> None:
        """Add what other objects tell of the same dataset; the order does not matter."""
        self.is_seen |= other.is_seen
        self.columns |= other.columns
        self.things |= other.things
        self.left |= other.left
        self.fate = max(self.fate, other.fate)

    @property
    def is_sent(self) -> bool:
        """Whether it has an event of its own."""
        return self.is_dataset and self.is_seen

    @property
    def is_left(self) -> bool:
        """Whether every object that had the name has another one now."""
        return bool(self.left) and all(self.left.values())

    def lifecycle(self, producer: str) -> Json:
        """The facet of what happened to it last."""
        *_, state, namespace, name = self.fate
        return facets.lifecycle(state or None, (namespace, name) if namespace else None, producer)


def told_by(profile: Profile, settings: OpenLineageSettings) -> list[DatasetProfile]:
    """What an object tells of each dataset that it is under one of its spellings."""
    thing, found = as_thing(profile), dict[DatasetKey, DatasetProfile]()
    spelled = spellings(profile, settings)
    named = {one.name: one.dataset[1:3] for one in reversed(spelled)}
    for one in spelled:
        told = found.get(one.dataset)
        if told is None:
            found[one.dataset] = told = DatasetProfile(*one.dataset)
            told.columns, told.things = set(profile.columns), {profile.key: thing}
        told.is_seen |= one.is_seen
        told.left[profile.key] = told.left.get(profile.key, True) and _has_left(profile, one.name)
        if fate := profile.fates.get(one.name or ""):
            told.fate = max(told.fate, (*fate[:3], *named.get(fate[3], ("", ""))))
    return list(found.values())


def _has_left(profile: Profile, name: str | None) -> bool:
    """Whether the object was renamed from this name, and a later row shows it under another."""
    if name is None or name not in profile.names or not any(name in old for old in profile.old_names.values()):
        return False
    return profile.names[name][1] < max(last for _, last in profile.names.values())


# --- what is told of a dataset ----------------------------------------------------------------------------------------


_MOST_COLUMNS: Final = 10_000


def facets_of(dataset: DatasetProfile, settings: OpenLineageSettings) -> Json:
    """What every event tells of the dataset itself, whether it is read or written."""
    shown, producer = dataset.things[max(dataset.things)], settings.producer
    return {
        **facets.data_source(dataset.namespace, producer),
        **facets.schema(sorted(dataset.columns), settings.unknown_type, producer),
        **facets.dataset_type(shown.domain, shown.stage_kind, shown.location, producer),
        **facets.hierarchy(dataset.name, shown.domain, producer),
    }


def facets_for_runs(dataset: DatasetProfile, settings: OpenLineageSettings) -> bytes:
    """What the events of runs tell of it, as JSON. Of a dataset with more than :data:`_MOST_COLUMNS` columns its own
    event alone has the schema, which would make each event of each query that reads it some MB long.
    """
    told = facets_of(dataset, settings)
    if len(dataset.columns) > _MOST_COLUMNS:
        told.pop("schema", None)
    return orjson.dumps(told)


def answer(dataset: DatasetProfile, settings: OpenLineageSettings) -> Dataset:
    """What the dataset answers to a query that speaks of it."""
    return Dataset(dataset.namespace, dataset.name, facets_for_runs(dataset, settings))


def dataset_event(
    dataset: DatasetProfile, begun: int, settings: OpenLineageSettings, lifecycle: Json | None = None
) -> Event:
    """The event of the dataset, at the time of its account's first query (``begun``, microseconds since 1970), so that
    it comes before all others. ``lifecycle``: the facet of what became of it before that.
    """
    told = [described(thing) for _, thing in sorted(dataset.things.items())]
    told_apart = facets.objects([one for one in told if one], settings.producer)
    event: dict[str, Any] = {
        "eventTime": iso(begun),
        "producer": settings.producer,
        "schemaURL": f"{facets.EVENT_SCHEMA}/DatasetEvent",
        "dataset": {
            "namespace": dataset.namespace,
            "name": dataset.name,
            "facets": {
                **facets_of(dataset, settings),
                **told_apart,
                **(lifecycle or {}),
            },
        },
    }
    return Event(begun, DATASET, None, orjson.dumps(event))
