"""Datasets of events: their names, the facets that every event gives for them, and an event for each.

Objects that had the same name one after the other (a table that was created again) are one dataset, with the columns of
all of them, so that no column of its history is missing. Routines, policies and the like are datasets here only to get
a name.

Each event repeats the last change and the comment of a dataset: a backend takes each event for the present state, and
would otherwise forget that a table was renamed or created, or what it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from msgspec import Struct, field
from msgspec.structs import replace

from exporter.input.times import iso_micros
from exporter.model.facts import Change, ObjectReference, QueryFacts
from exporter.model.identifiers import canonical_name
from exporter.model.object_state import ATTRIBUTES, NEVER, Comment, LastChange, Profile
from exporter.model.other_accounts import account_in
from exporter.openlineage import facets
from exporter.openlineage.events import DATASET, Event
from exporter.openlineage.facets import Json, greatest
from exporter.openlineage.helpers import hidden
from exporter.openlineage.inputs_and_outputs import described, is_dataset, is_rename, written
from exporter.openlineage.naming import DatasetName, dataset_name, qualified

if TYPE_CHECKING:
    from exporter.openlineage.settings import OpenLineageSettings


def note_changes(profiles: Mapping[tuple[str, str], Profile], facts: QueryFacts) -> None:
    """Records the change in the objects that the query writes or changes, under the names that they have as its
    outputs, and the comments that it sets. Of two comments of one query the greater is taken.

    ``profiles``: by account and object key; they are changed in place.
    """
    content = facts.content
    if not content.writes and not content.changes:
        return
    former = {(change.thing.key, change.new_name): change.thing.name for change in content.changes if is_rename(change)}
    at = max(facts.start, facts.end)
    for output in written(content):
        name = output.thing.name
        if name is not None:
            last_changes = profiles[facts.account, output.thing.key].last_changes
            before = former.get((output.thing.key, name)) if output.state == "RENAME" else None
            latest = LastChange(at, facts.query_id, output.state or "", before or "")
            last_changes[name] = max(last_changes.get(name, latest), latest)
    for change in content.changes:
        text = _comment_after(change)
        if text is not None:
            profile = profiles[facts.account, change.thing.key]
            comment = Comment(at, facts.query_id, text)
            profile.comment = max(profile.comment or comment, comment)


def _comment_after(change: Change) -> str | None:
    """The comment that the object has after a change, empty for none; None where the change leaves it as it was."""
    if change.comment is not None:
        return change.comment
    is_taken = any(
        setting.property == "comment" and setting.column_name is None and setting.element is None
        for setting in change.settings
    )
    return "" if is_taken or change.operation in {"CREATE", "REPLACE"} else None


DatasetKey = tuple[str, str, str, bool]
"""The account of the rows, namespace, name, and whether the object can hold data. False for a routine, policy, tag …:
its name may also be that of a table, and the two stay apart.
"""


class NameSpelling(Struct, frozen=True, gc=False):
    """A name and account under which rows may show an object (each may be None), and the dataset that it then is.
    ``is_seen``: whether a row does.
    """

    name: str | None
    account: str | None
    dataset: DatasetKey
    is_seen: bool


def spellings(profile: Profile, thing: ObjectReference, settings: OpenLineageSettings) -> list[NameSpelling]:
    """Every combination of name and account under which rows may show the object. ``thing``: of
    :func:`as_reference`. What gives no account for an object of another one is in that account, so that it is no
    dataset of the row's own.
    """
    spelled: list[NameSpelling] = []
    known = sorted(profile.accounts)
    of_another = known[0] if known and account_in(profile.key) else None
    owners = [*((owner, replace(thing, account=owner)) for owner in known), (None, replace(thing, account=of_another))]
    canonical_names = [(name, _whole_name(name, profile)) for name in (*sorted(_names(profile)), None)]
    for name, canonical in canonical_names:
        for owner, owned in owners:
            named = dataset_name(owned, canonical, profile.account, settings)
            dataset = profile.account, *named, is_dataset(thing, profile.columns)
            spelled.append(NameSpelling(name, owner, dataset, (name, owner) in profile.seen_as))
    return spelled


def _names(profile: Profile) -> set[str]:
    """The names that rows may show. A name that only a SWAP gives is left out for an object without another name: no
    row shows the object under it.
    """
    names = {*profile.names, *profile.old_names}
    return names | profile.given if len(names | profile.given) > 1 else names


def _whole_name(name: str | None, profile: Profile) -> str | None:
    """The canonical name. If RENAME TO gave it without database and schema, those of the former name are added."""
    if name is None or name not in profile.old_names:
        return None if name is None else canonical_name(name)
    old, new = greatest(profile.old_names[name]), canonical_name(name)
    return new if old is None else qualified(new, canonical_name(old))


def as_reference(profile: Profile) -> ObjectReference:
    """The object as its datasets describe it. Of several domains the most exact is taken, which is the first in
    alphabetical order (DYNAMIC TABLE before TABLE).
    """
    first = {name: min(getattr(profile, values), default=None) for name, values in ATTRIBUTES.items()}
    return ObjectReference(profile.key, profile.kind, object_id=profile.object_id, **first)


_NO_CHANGE: Final = LastChange(NEVER, "", "", "")
_NO_DATASET_CHANGE: Final = (0, "", "", "", "")
_NO_COMMENT: Final = Comment(NEVER, "", "")


class Holding(NamedTuple):
    """An object that has the name of a dataset. ``last``: when it was last seen under it or got it (microseconds since
    1970), whether it then got it by a RENAME or SWAP, and its key; ``since``: when it first had it; ``given``: when a
    RENAME or SWAP gave it last; ``ended``: when it was dropped or renamed, if what has an id was not seen under the
    name after that; ``comment``: of the object. A time is :data:`NEVER` where no row has one.
    """

    last: tuple[int, int, str]
    since: int
    given: int
    ended: int
    comment: Comment


class DatasetProfile(Struct, gc=False):
    """What objects give for the dataset that they are. ``is_seen``: whether rows show it under its name; ``is_shown``:
    whether one of its objects is no helper; ``columns``: of all its objects; ``things``: the objects by key;
    ``renamed_away``: object key -> whether the object was renamed and then seen under another name; ``last_change``:
    the latest :class:`exporter.model.object_state.LastChange` of all its objects, with namespace and name of the former
    dataset; ``holders``: by kind and whether it has an id, the object that had the name last. The others: see
    :data:`DatasetKey`.
    """

    account: str
    namespace: str
    name: str
    is_dataset: bool
    is_seen: bool = False
    columns: set[str] = field(default_factory=set)
    things: dict[str, ObjectReference] = field(default_factory=dict)
    renamed_away: dict[str, bool] = field(default_factory=dict)
    last_change: tuple[int, str, str, str, str] = _NO_DATASET_CHANGE
    is_shown: bool = False
    holders: dict[str, Holding] = field(default_factory=dict)

    @property
    def key(self) -> DatasetKey:
        """What all objects of this dataset have in common."""
        return self.account, self.namespace, self.name, self.is_dataset

    def add(self, other: DatasetProfile) -> None:
        """Adds what other objects give for the same dataset; the order does not matter."""
        self.is_seen |= other.is_seen
        self.is_shown |= other.is_shown
        self.columns |= other.columns
        self.things |= other.things
        self.renamed_away |= other.renamed_away
        self.last_change = max(self.last_change, other.last_change)
        for which, holding in other.holders.items():
            self.holders[which] = max(self.holders.get(which, holding), holding)

    @property
    def comment(self) -> str:
        """The comment of the object that had the name last, empty for none. Rows give an object also without its id: so
        it is what was set last, with the id or without, since the name was given to another object or ended.
        """
        if not self.holders:
            return ""
        kind = max(self.holders.values()).last[2].partition("/")[0]
        known, nameless = self.holders.get(kind), self.holders.get(f"{kind}/name")
        if known is None or nameless is None:
            return max(holder for holder in (known, nameless) if holder).comment.text
        return _of_both(known, nameless, is_only=sum(_has_id(key, kind) for key in self.things) == 1).text

    @property
    def last_thing(self) -> ObjectReference:
        """The object that had the name last, of those whose kind rows give."""
        in_order = [self.things[holder.last[2]] for holder in sorted(self.holders.values(), reverse=True)]
        return next((thing for thing in in_order if _has_kind(thing)), self.things[max(self.things)])

    def shown_for(self, key: str) -> ObjectReference:
        """What the dataset is where a row gives the object with this key: a view can take the name of a table, and what
        was done with the table was not done with a view. What has no id is what had the name last with one; what has
        no kind, what had it last.
        """
        thing = self.things[key]
        known = None if _has_id(key, thing.kind) else self.holders.get(thing.kind)
        meant = thing if known is None else self.things[known.last[2]]
        return meant if _has_kind(meant) else self.last_thing

    @property
    def is_sent(self) -> bool:
        """Whether it gets an event of its own."""
        return self.is_dataset and self.is_seen and self.is_shown

    @property
    def is_renamed_away(self) -> bool:
        """Whether every object that had the name has another name now."""
        return bool(self.renamed_away) and all(self.renamed_away.values())

    def lifecycle(self, producer: str) -> Json:
        """The facet of its last change: created, renamed, dropped …; ``{}`` where none is known."""
        *_, state, namespace, name = self.last_change
        return facets.lifecycle(state or None, (namespace, name) if namespace else None, producer)


def profiles_of(profile: Profile, settings: OpenLineageSettings) -> dict[DatasetKey, DatasetProfile]:
    """What an object gives for each dataset that it is under one of its spellings, by the dataset's key."""
    thing, spelled = as_reference(profile), dict[DatasetKey, list[NameSpelling]]()
    of_name: dict[str | None, DatasetName] = {}
    for spelling in spellings(profile, thing, settings):
        spelled.setdefault(spelling.dataset, []).append(spelling)
        of_name.setdefault(spelling.name, spelling.dataset[1:3])
    by_key: dict[DatasetKey, DatasetProfile] = {}
    hidden_names = hidden(profile, {name for _, _, name, _ in spelled}, settings)
    for key, of_dataset in spelled.items():
        names = dict.fromkeys(spelling.name for spelling in of_dataset if spelling.name is not None)
        last_changes = [
            (change.end, change.query_id, change.state, *of_name.get(change.former_name, ("", "")))
            for name in names
            if (change := profile.last_changes.get(name)) is not None
        ]
        by_key[key] = DatasetProfile(
            *key,
            is_seen=any(spelling.is_seen for spelling in of_dataset),
            columns={*profile.columns, *profile.renamed_from},
            things={profile.key: thing},
            renamed_away={profile.key: all(_is_renamed_away(profile, spelling.name) for spelling in of_dataset)},
            last_change=max([_NO_DATASET_CHANGE, *last_changes]),
            is_shown=key[2] not in hidden_names,
            holders=_holders(profile, names),
        )
    return by_key


def _holders(profile: Profile, names: Collection[str]) -> dict[str, Holding]:
    """How an object has the names of a dataset, as :class:`DatasetProfile` has it. The query that gives an object a
    name by RENAME or SWAP shows the former holder, too: so of one time, what is given is later than what is seen.
    """
    key, seen = profile.key, [profile.names[name] for name in names if name in profile.names]
    given = max((profile.given_at.get(name, NEVER) for name in names), default=NEVER)
    last = max((max((time for _, time in seen), default=NEVER), 0, key), (given, 1, key))
    change = max((profile.last_changes[name] for name in names if name in profile.last_changes), default=_NO_CHANGE)
    has_id, since = _has_id(key, profile.kind), min((time for time, _ in seen), default=given)
    is_over = change.state == "DROP" and not (has_id and change.end < last[0])
    ended, which = change.end if is_over else NEVER, profile.kind if has_id else f"{profile.kind}/name"
    return {which: Holding(last, since, given, ended, profile.comment or _NO_COMMENT)}


def _has_kind(thing: ObjectReference) -> bool:
    return thing.domain is not None or thing.location is not None


def _has_id(key: str, kind: str) -> bool:
    """Whether it is the key of an object of the kind that has an id."""
    return key.startswith(f"{kind}/") and not key.startswith(f"{kind}/name/")


def _of_both(known: Holding, nameless: Holding, *, is_only: bool) -> Comment:
    """The comment of an object that rows give with its id and without. ``is_only``: whether no other object with an id
    had the name.
    """
    seen, without = known.last[0], nameless.comment.end
    end = max(known.ended, NEVER if known.since <= nameless.ended < seen else nameless.ended)
    if end >= max(seen, nameless.last[0]):
        end = NEVER  # nothing had the name after that
    is_meant = without > end and without >= known.given and (is_only or without >= known.since)
    return max([_NO_COMMENT, *([known.comment] if seen > end else []), *([nameless.comment] if is_meant else [])])


def _is_renamed_away(profile: Profile, name: str | None) -> bool:
    """Whether the object was renamed from this name and a later row shows it under another name."""
    if name is None or name not in profile.names or not any(name in old for old in profile.old_names.values()):
        return False
    return profile.names[name][1] < max(last for _, last in profile.names.values())


# --- the facets of a dataset ------------------------------------------------------------------------------------------


_MOST_COLUMNS: Final = 10_000


def facets_of(dataset: DatasetProfile, settings: OpenLineageSettings, thing: ObjectReference | None = None) -> Json:
    """The facets that every event has for the dataset, whether it is read or written. ``thing``: what it is in the
    event (:meth:`DatasetProfile.shown_for`); without, what had the name last.
    """
    shown, producer = dataset.last_thing if thing is None else thing, settings.producer
    return {
        **facets.data_source(dataset.namespace, producer),
        **facets.schema(sorted(dataset.columns), settings.unknown_type, producer),
        **facets.dataset_type(shown.domain, shown.stage_kind, shown.location, producer),
        **facets.hierarchy(dataset.name, shown.domain, producer),
        **facets.catalog(dataset.name, shown.domain, dataset.namespace, producer),
        **facets.single_field("documentation", "description", dataset.comment, producer),
    }


def facets_for_runs(of_dataset: Json) -> bytes:
    """The facets of a dataset (:func:`facets_of`) in the events of runs, as JSON. For a dataset with more than
    :data:`_MOST_COLUMNS` columns only its own event has the schema; otherwise each event of a query that reads it would
    have some MB.
    """
    if len(of_dataset.get("schema", {"fields": ()})["fields"]) > _MOST_COLUMNS:
        of_dataset = {name: facet for name, facet in of_dataset.items() if name != "schema"}
    return orjson.dumps(of_dataset)


def dataset_event(
    dataset: DatasetProfile, of_dataset: Json, begun: int, settings: OpenLineageSettings, lifecycle: Json
) -> Event:
    """The event of the dataset, with its facets (:func:`facets_of`). Its time is the start of the account's first query
    (``begun``, microseconds since 1970, UTC), so that it comes before all other events. ``lifecycle``: the facet of
    what happened to it before that.
    """
    objects = [described(thing) for _, thing in sorted(dataset.things.items())]
    known = [description for description in objects if description]
    objects_facet = facets.single_field("accessHistory_objects", "objects", known, settings.producer)
    event: dict[str, Any] = {
        "eventTime": iso_micros(begun),
        "producer": settings.producer,
        "schemaURL": f"{facets.EVENT_SCHEMA}/DatasetEvent",
        "dataset": {
            "namespace": dataset.namespace,
            "name": dataset.name,
            "facets": {**of_dataset, **objects_facet, **lifecycle},
        },
    }
    return Event(begun, DATASET, None, orjson.dumps(event))
