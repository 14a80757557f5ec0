"""Objects as datasets: their names, the facets that every event gives for them, and an event for each dataset.

Objects that had the same name one after the other (a table that was created again) are one dataset, with the columns of
all of them, so that no column of its history is missing. Routines, policies and the like are datasets here only to get
a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from exporter.openlineage import facets
from exporter.openlineage.events import Event
from exporter.openlineage.helpers import is_hidden
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
"""The account of the rows, namespace, name, and whether the object can hold data. False for a routine, policy, tag …:
its name may also be that of a table, and the two stay apart.
"""


class Spelling(Struct, frozen=True, gc=False):
    """A name and account under which rows may show an object (each may be None), and the dataset that it then is.
    ``is_seen``: False where the object has a name or account that this spelling leaves out.
    """

    name: str | None
    account: str | None
    dataset: DatasetKey
    is_seen: bool


def spellings(profile: Profile, settings: OpenLineageSettings) -> list[Spelling]:
    """Every combination of name and account under which rows may show the object."""
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
    """The names that rows may show. A name that only a SWAP gives is left out for an object without another name: no
    row shows the object under it.
    """
    names = {*profile.names, *profile.old_names}
    return names | profile.given if len(names | profile.given) > 1 else names


def _whole_name(name: str | None, profile: Profile) -> str | None:
    """The canonical name. If RENAME TO gave it without database and schema, those of the former name are added."""
    if name is None:
        return None
    old, new = greatest(profile.old_names.get(name, ())), canonical_name(name)
    return new if old is None else qualified(new, canonical_name(old))


def as_thing(profile: Profile) -> Thing:
    """The object as its datasets describe it. Of several domains the most exact is taken, which is the first in
    alphabetical order (DYNAMIC TABLE before TABLE).
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
    """What objects give for the dataset that they are. ``is_seen``: whether rows show it under its name;
    ``is_shown``: whether one of its objects is no helper; ``columns``:
    of all its objects; ``things``: the objects by key; ``left``: object key -> whether the object was renamed and then
    seen under another name; ``fate``: the latest :data:`exporter.things.lives.Fate` of all its objects, with namespace
    and name of the former dataset; ``holder``: when its object was last seen under the name, and the object's key, of
    the object that had it last; ``comment``: this object's, empty for none. The others: see :data:`DatasetKey`.
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
    is_shown: bool = False
    holder: tuple[int, str] = (0, "")
    comment: str = ""

    @property
    def key(self) -> DatasetKey:
        """What all objects of this dataset have in common."""
        return self.account, self.namespace, self.name, self.is_dataset

    def hear(self, other: DatasetProfile) -> None:
        """Adds what other objects give for the same dataset; the order does not matter."""
        self.is_seen |= other.is_seen
        self.is_shown |= other.is_shown
        self.columns |= other.columns
        self.things |= other.things
        self.left |= other.left
        self.fate = max(self.fate, other.fate)
        self.holder, self.comment = max((self.holder, self.comment), (other.holder, other.comment))

    @property
    def is_sent(self) -> bool:
        """Whether it gets an event of its own."""
        return self.is_dataset and self.is_seen and self.is_shown

    @property
    def is_left(self) -> bool:
        """Whether every object that had the name has another name now."""
        return bool(self.left) and all(self.left.values())

    def lifecycle(self, producer: str) -> Json:
        """The facet of its last change: created, renamed, dropped …; ``{}`` where none is known."""
        *_, state, namespace, name = self.fate
        return facets.lifecycle(state or None, (namespace, name) if namespace else None, producer)


def told_by(profile: Profile, settings: OpenLineageSettings) -> list[DatasetProfile]:
    """What an object gives for each dataset that it is under one of its spellings."""
    thing, found = as_thing(profile), dict[DatasetKey, DatasetProfile]()
    spelled = spellings(profile, settings)
    named = {one.name: one.dataset[1:3] for one in reversed(spelled)}
    for one in spelled:
        told = found.get(one.dataset)
        if told is None:
            found[one.dataset] = told = DatasetProfile(*one.dataset)
            told.columns, told.things = set(profile.columns), {profile.key: thing}
            told.comment = profile.comment[2] if profile.comment else ""
        told.is_seen |= one.is_seen
        told.is_shown |= not is_hidden(profile, one.dataset[2], settings)
        told.left[profile.key] = told.left.get(profile.key, True) and _has_left(profile, one.name)
        told.holder = max(told.holder, (profile.names.get(one.name or "", (0, 0))[1], profile.key))
        if fate := profile.fates.get(one.name or ""):
            told.fate = max(told.fate, (*fate[:3], *named.get(fate[3], ("", ""))))
    return list(found.values())


def _has_left(profile: Profile, name: str | None) -> bool:
    """Whether the object was renamed from this name and a later row shows it under another name."""
    if name is None or name not in profile.names or not any(name in old for old in profile.old_names.values()):
        return False
    return profile.names[name][1] < max(last for _, last in profile.names.values())


# --- the facets of a dataset ------------------------------------------------------------------------------------------


_MOST_COLUMNS: Final = 10_000


def facets_of(dataset: DatasetProfile, settings: OpenLineageSettings) -> Json:
    """The facets that every event has for the dataset, whether it is read or written."""
    shown, producer = dataset.things[max(dataset.things)], settings.producer
    return {
        **facets.data_source(dataset.namespace, producer),
        **facets.schema(sorted(dataset.columns), settings.unknown_type, producer),
        **facets.dataset_type(shown.domain, shown.stage_kind, shown.location, producer),
        **facets.hierarchy(dataset.name, shown.domain, producer),
        **facets.catalog(dataset.name, shown.domain, dataset.namespace, producer),
        **facets.documentation(dataset.comment or None, producer),
    }


def facets_for_runs(dataset: DatasetProfile, settings: OpenLineageSettings) -> bytes:
    """The facets of a dataset in the events of runs, as JSON. For a dataset with more than :data:`_MOST_COLUMNS`
    columns only its own event has the schema; otherwise each event of a query that reads it would have some MB.
    """
    told = facets_of(dataset, settings)
    if len(dataset.columns) > _MOST_COLUMNS:
        told.pop("schema", None)
    return orjson.dumps(told)


def answer(dataset: DatasetProfile, settings: OpenLineageSettings) -> Dataset:
    """The answer of the dataset to a query that refers to it."""
    return Dataset(dataset.namespace, dataset.name, facets_for_runs(dataset, settings))


def dataset_event(
    dataset: DatasetProfile, begun: int, settings: OpenLineageSettings, lifecycle: Json | None = None
) -> Event:
    """The event of the dataset. Its time is the start of the account's first query (``begun``, microseconds since 1970,
    UTC), so that it comes before all other events. ``lifecycle``: the facet of what happened to it before that.
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
