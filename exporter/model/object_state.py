"""The state of an object at a time: its names, and what is known at its end.

Names have periods, derived from the object's uses in order of time. After all uses, the object's own nodes and events
are derived from what is known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, product
from typing import Final, NamedTuple

from msgspec import Struct, field

from exporter.model.answers import Ending
from exporter.model.identifiers import match_name

SavedName = tuple[str, int, int, int | None]
"""A name, the times when it was first and last seen, and when another object took it, if this one has it again later
(microseconds since 1970).
"""


SeenNames = tuple[tuple[int, str], ...]
"""The names of an object in the rows of a query, sorted: (0, name) if the rows only show it, (1, name) if the query
gives it by RENAME or SWAP; or :data:`CUT_NAME`. A name that is both counts as given. A given name is later than the
others.
"""
CUT_NAME: Final = (2, "")
"""Among the names that a query shows or gives: a SWAP gives one that Snowflake cut, so the present name ends."""


NamesOfQuery = tuple[str, SeenNames]
"""The id of a query that gives an object a name, empty for one that only shows names; and these names."""


def names_of_query(query_id: str, names: SeenNames) -> NamesOfQuery:
    """The names with the id of the query, if it gives one: queries that show the same names are one."""
    return (query_id if names[-1][0] else ""), names


def names_in_order(queries: Collection[NamesOfQuery]) -> list[str]:
    """The names that queries of one time show or give an object, each once, the present one last. Names that are only
    seen come first. Those that are given follow on each other: the row of a RENAME or SWAP has the name before it and
    that after it. Where this gives no order, or several, they go by the alphabet.
    """
    if len(queries) == 1:
        return [name for _, names in queries for _, name in names]
    ranks, moves, is_clear = dict[str, int](), list[tuple[str, str]](), True
    for _, names in queries:
        for rank, name in names:
            # A given name is later than a name that is seen at the same time, so each name begins once at a time.
            ranks[name] = max(rank, ranks.get(name, 0))
        seen = {match_name(name) for rank, name in names if not rank}
        given = {match_name(name) for rank, name in names if rank}
        moves += product(seen or {""}, given)
        is_clear &= not given or (len(seen) < 2 and len(given) == 1)
    places = {name: place for place, name in enumerate(_in_turn(moves) if is_clear else ())}
    return sorted(ranks, key=lambda name: (ranks[name], places.get(match_name(name), 0), name))


def _in_turn(moves: Sequence[tuple[str, str]]) -> list[str]:
    """The names that moves give, each from a name to another one, in an order in which each begins where the one before
    it ended: all such orders end with the same name. Empty if there is none, or if it may begin with any of them.
    """
    following, surplus = defaultdict[str, list[str]](list), Counter[str]()
    for before, after in sorted(moves, reverse=True):
        following[before].append(after)
        surplus.update({before: 1})
        surplus.subtract({after: 1})
    begins, names = list((+surplus).elements()), list[str]()
    on_the_way = begins if len(begins) == 1 else []
    while on_the_way:  # what leads back to a name is put in there
        if following[on_the_way[-1]]:
            on_the_way.append(following[on_the_way[-1]].pop())
        else:
            names.append(on_the_way.pop())
    return names[-2::-1] if len(names) == len(moves) + 1 else []


class NameHistory:
    """A name begins when it is first seen, or with the RENAME or SWAP that gives it. It ends when another is seen, when
    another object takes it, when the object is dropped, or when a SWAP gives one that is unknown. Another spelling of
    the name is no other name: the first one stays.
    """

    def __init__(self, names: Iterable[SavedName] = ()) -> None:
        self._at = 0
        self._pending = set[NamesOfQuery]()
        self._held = list(names)

    def kept(self) -> list[SavedName]:
        """The state for the next day: the names in order."""
        self._append_pending()
        return self._held

    def present(self) -> tuple[str, int] | None:
        """The present name and when it was last seen; None if there is none."""
        if self._pending:
            return names_in_order(self._pending)[-1], self._at
        return (self._held[-1][0], self._held[-1][2]) if self._held else None

    def add(self, at: int, query_id: str, names: SeenNames) -> None:
        """Add the names that a query shows or gives at its start, in order of time."""
        if at != self._at:
            self._append_pending()
            self._at = at
        self._pending.add(names_of_query(query_id, names))

    def end(self, at: int) -> None:
        """Another object took the present name. If this one has it again later, the name begins anew."""
        self._append_pending()
        if self._held:
            name, since, last, _ = self._held[-1]
            self._held[-1] = name, since, last, max(at, last + 1)

    def _append_pending(self) -> None:
        for name in names_in_order(self._pending):
            if not name:
                self._held[-1:] = [(*last[:3], self._at if last[3] is None else last[3]) for last in self._held[-1:]]
            elif self._held and match_name(self._held[-1][0]) == match_name(name) and self._held[-1][3] is None:
                self._held[-1] = *self._held[-1][:2], self._at, None
            else:
                self._held.append((name, self._at, self._at, None))
        self._pending = set()

    def periods(
        self, seen: dict[str, tuple[int, int]], taken: int | None = None, dropped: int | None = None
    ) -> list[NamePeriod]:
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
            NamePeriod(since, name, following if until is None else until, last)
            for (name, since, last, until), following in zip(names, ends, strict=True)
        ]


def _whole(seen: dict[str, tuple[int, int]]) -> SavedName:
    """The spellings of one name as one: the first of them, and when any was first and last seen."""
    since, name = min((first, name) for name, (first, _) in seen.items())
    return name, since, max(last for _, last in seen.values()), None


class LastChange(NamedTuple):
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
"""Time (microseconds since 1970), query id, DROP or UNDROP; of a tag or policy also REPLACE."""
Take = tuple[int, str]
"""Time (microseconds since 1970) and query id of the CREATE or REPLACE of another object that took a name."""


class Sign(NamedTuple):
    """A CREATE or DROP of an object: start and end of its query (microseconds since 1970), session and request; these
    two are empty where they are not known.
    """

    start: int
    end: int
    is_drop: bool
    session: str
    request: str


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

    def covers(self, since: int, at: int) -> bool:
        """Whether what was known since a time was not there at another (microseconds since 1970). What was known only
        since the DROP, or since another one took the name, is something else, or was there again before the UNDROP.
        """
        return self.known[0] <= since <= self.dropped[0] <= at < self.restored[0]


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
    it (None: the row had none). ``given``: names that a RENAME or SWAP gave to an object with an id; ``given_at``: the
    latest start of a query that did, by name. ``last_changes``: name -> the latest write or change under this name;
    ``comment``: the one in force, None where no row sets one; both only if events are made.

    ``made``: the earliest start of a query that created it; ``temporary``: the same for CREATE TEMPORARY; ``unclear``:
    whether a query wrote it and its row does not say from what; only if events are made and helpers are bridged.
    ``shown``: the latest query that names the object: its start, or its end if it writes or changes the object; its id.
    ``called``: the start of the latest queries that name it, and the names that these show or give. ``first``: the
    first query that names it: its start, its id, whether it creates the object.

    In an update these are of the current day only: ``signs``: its CREATEs and DROPs; ``drops`` and UNDROPs of the
    object, and REPLACEs of a tag or policy; ``elements``: keys of tags and policies set on it, of what was granted to
    it, and of its grantees; ``takes``: each CREATE or REPLACE of the object: its end, query id, and the name that it
    took; ``remade``: of a schema or database.
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
    given_at: dict[str, int] = field(default_factory=dict)
    last_changes: dict[str, LastChange] = field(default_factory=dict)
    comment: Comment | None = None
    drops: set[Drop] = field(default_factory=set)
    elements: set[str] = field(default_factory=set)
    made: int | None = None
    temporary: int | None = None
    unclear: bool = False
    signs: set[Sign] = field(default_factory=set)
    shown: tuple[int, str] = (NEVER, "")
    called: tuple[int, frozenset[NamesOfQuery]] = (NEVER, frozenset())
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


class NamePeriod(Struct, frozen=True, order=True, gc=False):
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
    its schema or database made. ``is_gone``: whether it was dropped, also with its schema or database, or replaced, and
    no later row shows or restores it.
    """

    names: list[NamePeriod] = field(default_factory=list)
    unrecorded: dict[str, Ending | None] = field(default_factory=dict)
    unrecorded_columns: set[tuple[str, str]] = field(default_factory=set)
    same_names: list[str] = field(default_factory=list)
    is_helper: bool = False
    sources: list[ViewSource] = field(default_factory=list)
    restored: list[Restored] = field(default_factory=list)
    is_gone: bool = False
