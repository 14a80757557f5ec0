"""The state of an object at a time: its names, its settings, and what is known at its end.

Names have periods, derived from the object's uses in order of time. Settings (tags, policies, grants) end when the same
is set or unset again, when another policy is set in their place, when their column is dropped, or when the object or
the tag or policy is dropped. UNDROP restores them. An object that is created after a DROP does not inherit settings.
After all uses, the object's own nodes and events are derived from what is known.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field

from exporter.model.answers import Carried, Ending, SettingKey, SettingOfQuery
from exporter.model.grants import is_of_several, takes_back
from exporter.model.identifiers import match_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ONE_OF_COLUMN: Final = frozenset({"maskingPolicies", "projectionPolicies"})
ONE_OF_OBJECT: Final = frozenset(
    {"rowAccessPolicies", "aggregationPolicies", "joinPolicies", "storageLifecyclePolicies"}
)
"""Policies of which a column, and a table or view, can have one at a time: to set another with FORCE replaces it
(Snowflake, "ALTER TABLE"). A tag can have several masking policies, one for each data type.
"""
Rename = tuple[str, str, str]
"""Former and new name of a column, and the key of the change that renames it."""


class Requester(NamedTuple):
    """A query that uses an object. ``address``: where its answers are sent; the version history does not interpret
    it.
    """

    query_id: str
    address: str


class SettingInForce(NamedTuple):
    """A setting in force: the query that made it, the setting, its time (microseconds since 1970)."""

    requester: Requester
    setting: SettingOfQuery
    since: int


Over = tuple[Requester, SettingOfQuery, int]
"""A setting that has ended: the query that made it, the setting, its end (microseconds since 1970)."""


class SettingsInForce:
    """The settings of one object. ``drops``: its drops since its last version."""

    def __init__(
        self,
        settings: Iterable[SettingInForce],
        drops: list[Drop],
        of_elements: dict[str, list[Drop]],
        taken: dict[str, Take],
    ) -> None:
        self._held = {in_force.setting.key: in_force for in_force in settings}
        self._drops, self._of_elements, self._taken = drops, of_elements, taken

    def kept(self) -> tuple[list[SettingInForce], list[Drop], dict[str, list[Drop]], dict[str, Take]]:
        """The state for the next day: settings, drops of the object, drops of the tags and policies set on it, and who
        took their names.
        """
        return list(self._held.values()), self._drops, self._of_elements, self._taken

    def element_dropped(self, element: str, drops: list[Drop], taken: Take | None) -> None:
        """Record all known drops and UNDROPs of a tag or policy, in order of time, and who took its name."""
        self._of_elements[element] = drops
        self._taken.pop(element, None)
        if taken is not None:
            self._taken[element] = taken

    def set(self, requester: Requester, at: int, setting: SettingOfQuery) -> Iterator[Over]:
        """Apply a setting. Gives the settings that it ends."""
        for key in self._replaced(requester, setting):
            yield self._end(key, at)
        if setting.names:
            self._held[setting.key] = SettingInForce(requester, setting, at)

    def _replaced(self, requester: Requester, setting: SettingOfQuery) -> list[SettingKey]:
        """The settings that this one replaces; several if all privileges, or grants on all objects, are revoked. A
        policy replaces the one that another query set in its place.
        """
        revoked = setting.property_name
        if setting.names and revoked in (ONE_OF_OBJECT if setting.column is None else ONE_OF_COLUMN):
            place = setting.key[:2]
            return [
                key
                for key, in_force in self._held.items()
                if key == setting.key or (key[:2] == place and in_force.requester != requester)
            ]
        if setting.names or not is_of_several(revoked):
            return [setting.key] if setting.key in self._held else []
        held = [in_force.setting for in_force in self._held.values()]
        return [each.key for each in held if takes_back(revoked, each.property_name, each.names)]

    def lose(self, columns: Iterable[str], at: int) -> Iterator[Over]:
        """Apply the drop of columns. Gives the settings that it ends."""
        lost = set(columns)
        for key in [key for key in self._held if key[0] in lost]:
            yield self._end(key, at)

    def rename(self, requester: Requester, at: int, renames: Iterable[Rename]) -> tuple[list[Over], list[Carried]]:
        """Apply the rename of columns: their settings end, and hold from then on under the new names. Gives both. What
        does not hold because its tag or policy is dropped is not carried.
        """
        names = {former: (new, change) for former, new, change in renames}
        moved = [(in_force, *names[key[0]]) for key, in_force in self._held.items() if key[0] in names]
        holding = [move for move in moved if self._dropped(move[0].setting, move[0].since, at) is None]
        over = [self._end(in_force.setting.key, at) for in_force, _, _ in moved]
        carried: list[Carried] = []
        for in_force, new, change in holding:
            setting = in_force.setting._replace(change_key=change, column=new)
            if setting.key in self._held:
                over.append(self._end(setting.key, at))
            self._held[setting.key] = SettingInForce(requester, setting, at)
            carried.append((in_force.requester.query_id, in_force.setting, setting))
        return over, carried

    def drop(self, requester: Requester, at: int) -> None:
        """Record that the object is dropped."""
        self._drops.append((at, requester.query_id, "DROP"))

    @property
    def dropped(self) -> int | None:
        """When the object was dropped last, None if it was not dropped since its last version."""
        return self._drops[-1][0] if self._drops else None

    def make(self, requester: Requester, at: int, *, creates: bool, replaces: bool = False) -> Iterator[Over]:
        """Apply a new version. If it is created anew after a drop, or ``replaces`` another object that was known by the
        same name, gives the former settings, which end.
        """
        if creates and (self._drops or replaces):
            for key, in_force in list(self._held.items()):
                if in_force.requester != requester and (
                    replaces or _dropped(self._drops, in_force.since, at) is not None
                ):
                    yield self._end(key, at)
        self._drops = []

    def over(self, taken: Take | None = None) -> Iterator[Over]:
        """The settings that do not hold now because of a drop, but may hold again after an UNDROP; or because another
        object took the name of this one (``taken``), or of the tag or policy, but may hold if that one is shown again.
        """
        for requester, setting, since in self._held.values():
            takes = (taken, self._taken.get(setting.element or ""))
            ends = [
                self._dropped(setting, since),
                *(take[0] for take in takes if take is not None and take[0] >= since),
            ]
            until = min((end for end in ends if end is not None), default=None)
            if until is not None:
                yield requester, setting, until

    def _end(self, key: SettingKey, at: int) -> Over:
        requester, setting, since = self._held.pop(key)
        until = self._dropped(setting, since, at)
        return requester, setting, at if until is None else until

    def _dropped(self, setting: SettingOfQuery, since: int, until: int | None = None) -> int | None:
        """When the setting ended because the object or its tag or policy was dropped; None if it did not."""
        drops = self._drops, self._of_elements.get(setting.element or "", ())
        ends = [end for end in (_dropped(drop, since, until) for drop in drops) if end is not None]
        return min(ends, default=None)


def _dropped(drops: Iterable[Drop], since: int, until: int | None = None) -> int | None:
    """The time of a drop between ``since`` and ``until`` that no UNDROP reverted by then; None if there is none."""
    number: int | None = None
    for at, _, operation in drops:
        if since <= at and (until is None or at <= until):
            number = None if operation == "UNDROP" else at if number is None else number
    return number


NamePeriod = tuple[str, int, int, int | None]
"""A name, the times when it was first and last seen, and when another object took it, if this one has it again later
(microseconds since 1970).
"""


class NameHistory:
    """A name begins when it is first seen, or with the RENAME or SWAP that gives it. It ends when another is seen, when
    another object takes it, or when the object is dropped. Another spelling of the name is no other name: the first one
    stays.
    """

    def __init__(self, names: Iterable[NamePeriod] = ()) -> None:
        self._at = 0
        self._pending: dict[str, int] = {}
        self._held = list(names)

    def kept(self) -> list[NamePeriod]:
        """The state for the next day: the names in order."""
        self._append_pending()
        return self._held

    def present(self) -> tuple[str, int] | None:
        """The present name and when it was last seen; None if there is none."""
        if self._pending:
            return max((after, name) for name, after in self._pending.items())[1], self._at
        return (self._held[-1][0], self._held[-1][2]) if self._held else None

    def add(self, at: int, names: tuple[tuple[int, str], ...]) -> None:
        """Add the names that a query shows or gives at its start, in order of time: (0, name) if it only shows the
        name, (1, name) if it gives it.
        """
        if at != self._at:
            self._append_pending()
            self._at = at
        for after, name in names:
            # A given name is later than a name that is seen at the same time, so each name begins once at a time.
            self._pending[name] = max(after, self._pending.get(name, 0))

    def end(self, at: int) -> None:
        """Another object took the present name. If this one has it again later, the name begins anew."""
        self._append_pending()
        if self._held:
            name, since, last, _ = self._held[-1]
            self._held[-1] = name, since, last, max(at, last + 1)

    def _append_pending(self) -> None:
        for _, name in sorted((after, name) for name, after in self._pending.items()):
            if self._held and match_name(self._held[-1][0]) == match_name(name) and self._held[-1][3] is None:
                self._held[-1] = *self._held[-1][:2], self._at, None
            else:
                self._held.append((name, self._at, self._at, None))
        self._pending = {}

    def periods(
        self, seen: dict[str, tuple[int, int]], taken: int | None = None, dropped: int | None = None
    ) -> list[Named]:
        """The names with their periods. ``seen``: name -> when it was first and last seen. ``taken``: when another
        object took the last name; ``dropped``: when the object was dropped, which ends no name that is seen after that.
        The statement that takes it can read the object, so a name holds while it is seen.
        """
        self._append_pending()
        names = self._held
        if len({match_name(name) for name in chain((name for name, *_ in names), seen)}) < 2:
            has_gap = any(until is not None for *_, until in names)
            names = names if has_gap else [_whole(seen)] if seen else []
        if not names:
            return []
        last_seen = names[-1][2]
        over = [taken] if taken is not None else []
        if dropped is not None and dropped >= last_seen:
            over.append(dropped)
        end = max(min(over), last_seen + 1) if over else None
        ends = [*(since for _, since, *_ in names[1:]), end]
        return [
            Named(since, name, following if until is None else until, last)
            for (name, since, last, until), following in zip(names, ends, strict=True)
        ]


def _whole(seen: dict[str, tuple[int, int]]) -> NamePeriod:
    """The spellings of one name as one: the first of them, and when any was first and last seen."""
    since, name = min((first, name) for name, (first, _) in seen.items())
    return name, since, max(last for _, last in seen.values()), None


class Fate(NamedTuple):
    """The latest query that wrote or changed an object. ``end``: of the query (microseconds since 1970); ``state``:
    OpenLineage's ``lifecycleStateChange``, empty for a plain write; ``former_name``: the name before a RENAME, else
    empty.
    """

    end: int
    query_id: str
    state: str
    former_name: str


class Comment(NamedTuple):
    """The comment of an object, empty where there is none since the object was created; and the latest query that set
    the comment or created the object: its end (microseconds since 1970) and its id.
    """

    end: int
    query_id: str
    text: str


Drop = tuple[int, str, str]
"""Time (microseconds since 1970), query id, DROP or UNDROP."""


class Sign(NamedTuple):
    """A CREATE or DROP of an object: start and end of its query (microseconds since 1970), session and request; these
    two are empty where they are not known.
    """

    start: int
    end: int
    is_drop: bool
    session: str
    request: str


Take = tuple[int, str]
"""Time (microseconds since 1970) and query id of the CREATE or REPLACE of another object that took a name."""
NameAndAccount = tuple[str | None, str | None]
"""The name and the accountName that a row gives for an object; None for each that it does not give."""
NEVER: Final = -(1 << 62)
"""A time before all others."""


class ContainerEvent(NamedTuple):
    """A schema or database is made, dropped, restored or renamed (:class:`exporter.model.clones.Remade`) by a query:
    its end, id and start (microseconds since 1970). ``key``: of the schema or database, if the row gives its id, else
    empty. Events sort by their end.
    """

    end: int
    query_id: str
    start: int
    change_key: str
    target: str
    source: str
    operation: str = ""
    key: str = ""


class Absence(Struct, array_like=True, frozen=True, order=True, gc=False):
    """The time between a DROP and the UNDROP of a schema or database, in which nothing with ``name`` was there; or, if
    it is ``of_one``, between the CREATE or REPLACE that took the name of an object, and the UNDROP of that one: the end
    (microseconds since 1970) and the id of each query. ``known``: an object that was not shown after this time may have
    been elsewhere when the DROP was made, or gone before. ``taken``: when another object took the name last before the
    DROP: one that was not shown after that had ended.
    """

    dropped: Take
    restored: Take
    known: Take
    name: str
    taken: Take = NEVER, ""
    of_one: bool = False

    def is_over(self, before: tuple[int, str] | None) -> bool:
        """Whether it was over before a time and query; None: after all. An object that the UNDROP itself names is
        restored by its query.
        """
        is_own = self.of_one and before is not None and before[1] == self.restored[1]
        return before is None or is_own or self.restored <= before


class Restored(Struct, array_like=True, frozen=True, gc=False):
    """The version that an object has after the UNDROP of its schema or database: the end and the id of the query, the
    state before the DROP, and how the version ended (None: it has not).
    """

    at: int
    query_id: str
    prior: str
    ending: Ending | None = None


class Profile(Struct, gc=False):
    """The attributes of an object in all rows, independent of order (:class:`ObjectHistory` has what depends on time).

    Sets of all values in the rows: ``domains``, ``signatures``, ``data_types``, ``stage_kinds``, ``locations``,
    ``accounts`` (the row's accountName). ``names``: name -> first and last time it was seen on the object (microseconds
    since 1970). ``seen_as``: the names with their accounts, also names that a RENAME gave. ``columns``: name -> ids.
    ``renamed_from``: new name of a column -> former names. ``old_names``: a name given by RENAME TO -> the names before
    it (None: the row had none). ``given``: names that a RENAME or SWAP gave to an object with an id. ``fates``: name ->
    the latest write or change under this name; ``comment``: the one in force, None where no row sets one; both only if
    events are made.

    ``made``: the earliest start of a query that created it; ``temporary``: the same for CREATE TEMPORARY; ``unclear``:
    whether a query wrote it and its row does not say from what; only if events are made and helpers are bridged.
    ``shown``: the latest query that names the object: its start, or its end if it writes or changes the object; its id.
    ``called``: the latest name: when it was seen, whether a RENAME or SWAP gave it, the name. ``first``: the first
    query that names it: its start, its id, whether it creates the object.

    In an update these are of the current day only: ``signs``: its CREATEs and DROPs; ``drops`` and UNDROPs of the
    object; ``elements``: keys of tags and policies set on it, of what was granted to it, and of its grantees;
    ``takes``: each CREATE or REPLACE of the object: its end, query id, and the name that it took; ``remade``: of a
    schema or database.
    """

    account: str
    key: str
    object_id: str | None = None
    domains: set[str] = field(default_factory=set)
    signatures: set[str] = field(default_factory=set)
    data_types: set[str] = field(default_factory=set)
    stage_kinds: set[str] = field(default_factory=set)
    locations: set[str] = field(default_factory=set)
    accounts: set[str] = field(default_factory=set)
    seen_as: set[NameAndAccount] = field(default_factory=set)
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    columns: dict[str, set[str]] = field(default_factory=dict)
    renamed_from: dict[str, set[str]] = field(default_factory=dict)
    old_names: dict[str, set[str | None]] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    fates: dict[str, Fate] = field(default_factory=dict)
    comment: Comment | None = None
    drops: set[Drop] = field(default_factory=set)
    elements: set[str] = field(default_factory=set)
    made: int | None = None
    temporary: int | None = None
    unclear: bool = False
    signs: set[Sign] = field(default_factory=set)
    shown: tuple[int, str] = (NEVER, "")
    called: tuple[int, int, str] = (NEVER, 0, "")
    takes: set[tuple[int, str, str]] = field(default_factory=set)
    remade: set[ContainerEvent] = field(default_factory=set)
    first: tuple[int, str, bool] = (-NEVER, "", False)

    @property
    def kind(self) -> str:
        """The first segment of the key."""
        return self.key.split("/", 1)[0]


ATTRIBUTES: Final = {
    "domain": "domains",
    "signature": "signatures",
    "data_type": "data_types",
    "stage_kind": "stage_kinds",
    "location": "locations",
    "account": "accounts",
}
"""The fields of a thing that a profile has all values of -> the fields of the profile."""


class Named(Struct, frozen=True, order=True, gc=False):
    """A name of an object. ``since``: its start. ``until``: when the next name was seen, another object took the
    name, or the object was dropped; None for the current name. ``seen``: when it was last seen. All in microseconds
    since 1970.
    """

    since: int
    name: str
    until: int | None
    seen: int


class Sighting(Struct, array_like=True, gc=False):
    """When queries showed a pair. ``query_id``, ``first``: of the first one; ``last``: of the last one. Starts of
    queries in microseconds since 1970. ``name``: of the source in the row of the first one.
    """

    query_id: str
    first: int
    last: int
    name: str | None


class ViewSource(Struct, array_like=True, frozen=True, gc=False):
    """A source of a view. ``state``: the version of the view in which queries read its definition first. ``key``: of
    the source. ``view_column``, ``source_column``: both None for the objects as a whole. ``sight``: of the queries that
    show it with this certainty. ``since``: when the definition began, None if it may be older than the record;
    ``until``: when it ended, None while it holds (microseconds since 1970).
    """

    state: str
    key: str
    view_column: str | None
    source_column: str | None
    is_certain: bool
    sight: Sighting
    since: int | None
    until: int | None


class ObjectHistory(Struct, gc=False):
    """What follows from the order of uses. ``names``: the names with their periods. ``unrecorded``: states that are
    referred to but were made by no recorded query -> their end. ``unrecorded_columns``: (column, state) of columns
    whose writer is not recorded. ``same_names``: if the object is known only by name, keys of the objects with an id
    that had this name. ``sources``: what is behind a view or stream. ``restored``: its versions that an UNDROP of
    its schema or database made.
    """

    names: list[Named] = field(default_factory=list)
    unrecorded: dict[str, Ending | None] = field(default_factory=dict)
    unrecorded_columns: set[tuple[str, str]] = field(default_factory=set)
    same_names: list[str] = field(default_factory=list)
    is_helper: bool = False
    sources: list[ViewSource] = field(default_factory=list)
    restored: list[Restored] = field(default_factory=list)
