"""What is known about a thing after all its mentions: its own nodes and events are derived from it."""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import Struct, field

from exporter.things.answers import Ending  # noqa: TC001 - msgspec reads it

Fate = tuple[int, str, str, str]
"""The latest query that wrote or changed an object: its end (microseconds since 1970), its id, OpenLineage's
``lifecycleStateChange`` (empty for a plain write), and the name before a RENAME (else empty).
"""
Comment = tuple[int, str, str]
"""The latest query that set an object's comment, or created it: its end (microseconds since 1970), its id, and the
comment (empty where there is none since).
"""
Drop = tuple[int, str, str]
"""Time (microseconds since 1970), query id, DROP or UNDROP."""
Sign = tuple[int, int, bool, str, str]
"""A CREATE or DROP: start and end (microseconds since 1970), whether it is a DROP, session and request (or empty)."""
Take = tuple[int, str]
"""Time (microseconds since 1970) and query id of the CREATE or REPLACE of another object that took a name."""
NEVER: Final = -(1 << 62)
"""A time before all others."""


class Event(NamedTuple):
    """A schema or database is made, dropped, restored or renamed (:class:`exporter.queries.clones.Remade`) by a query:
    its end, id and start (microseconds since 1970). Events sort by their end.
    """

    end: int
    query_id: str
    start: int
    change_key: str
    target: str
    source: str
    operation: str = ""


class Profile(Struct, gc=False):
    """The attributes of an object in all rows, independent of order (:class:`Life` has what depends on time).

    Sets of all values in the rows: ``domains``, ``signatures``, ``data_types``, ``stage_kinds``, ``locations``,
    ``accounts`` (the row's accountName). ``names``: name -> first and last time it was seen on the object (microseconds
    since 1970). ``columns``: name -> ids. ``renamed_from``: new name of a column -> former names. ``old_names``: a name
    given by RENAME TO -> the names before it (None: the row had none). ``given``: names that a RENAME or SWAP gave to
    an object with an id. ``fates``: name -> the latest write or change under this name; ``comment``: the one in force,
    None where no row sets one; both only if events are made.

    ``made``: the earliest start of a query that created it; ``temporary``: the same for CREATE TEMPORARY; ``unclear``:
    whether a query wrote it and its row does not say from what; only if events are made and helpers are bridged.
    ``shown``: the latest query that names the object: its start, or its end if it writes or changes the object; its id.
    ``called``: the latest name: when it was seen, whether a RENAME or SWAP gave it, the name. ``first``: the first
    query that names it: its start, its id, whether it creates the object. ``changed``: the earliest end of a query that
    makes a version of it or drops it; ``made_first``: of one that makes a version: its end, its id, whether the version
    has what the object had before.

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
    remade: set[Event] = field(default_factory=set)
    first: tuple[int, str, bool] = (-NEVER, "", False)
    changed: int | None = None
    made_first: tuple[int, str, bool] = (-NEVER, "", False)

    @property
    def kind(self) -> str:
        """The first segment of the key."""
        return self.key.split("/", 1)[0]


class Named(Struct, frozen=True, order=True, gc=False):
    """A name of an object. ``since``: its start. ``until``: when the next name was seen, another object took the
    name, or the object was dropped; None for the current name. ``seen``: when it was last seen. All in microseconds
    since 1970.
    """

    since: int
    name: str
    until: int | None
    seen: int


class Sight(Struct, array_like=True, gc=False):
    """When queries showed a pair. ``query_id``, ``first``: of the first one; ``last``: of the last one. Starts of
    queries in microseconds since 1970. ``name``: of the source in the row of the first one.
    """

    query_id: str
    first: int
    last: int
    name: str | None


class Source(Struct, array_like=True, frozen=True, gc=False):
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
    sight: Sight
    since: int | None
    until: int | None


class Life(Struct, gc=False):
    """What follows from the order of mentions. ``names``: the names with their periods. ``unrecorded``: states that are
    referred to but were made by no recorded query -> their end. ``unrecorded_columns``: (column, state) of columns
    whose writer is not recorded. ``same_names``: if the object is known only by name, keys of the objects with an id
    that had this name. ``sources``: what is behind a view or stream.
    """

    names: list[Named] = field(default_factory=list)
    unrecorded: dict[str, Ending | None] = field(default_factory=dict)
    unrecorded_columns: set[tuple[str, str]] = field(default_factory=set)
    same_names: list[str] = field(default_factory=list)
    is_helper: bool = False
    sources: list[Source] = field(default_factory=list)
