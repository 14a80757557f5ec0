"""What is known of a thing when everything that mentions it was heard: what its own nodes and events are made from."""

from __future__ import annotations

from msgspec import Struct, field

from exporter.things.answers import Ending  # noqa: TC001 - msgspec reads it

Fate = tuple[int, str, str, str]
"""What the latest query to write or change an object left of it: when that query ended (microseconds since 1970) and
its id; ``lifecycleStateChange`` in OpenLineage's words, empty for a plain write; the name before a RENAME, else empty.
"""
Drop = tuple[int, str, str]
"""When (microseconds), by which query, DROP or UNDROP."""


class Profile(Struct, gc=False):
    """An object, as all rows together tell of it, in no order (what :class:`Life` adds needs the order of time).

    Sets of all values that the rows show: ``domains``, ``signatures``, ``data_types``, ``stage_kinds``, ``locations``,
    ``accounts`` (the owner's name beside the object). ``names``: name -> first and last time it was seen on the object
    (microseconds). ``columns``: name -> ids. ``renamed_from``: a column's new name -> its former ones. ``old_names``: a
    name that RENAME TO gave -> the names before it (None: the row had none). ``given``: names that a RENAME or a SWAP
    gave to an object with an id. ``fates``: name -> the latest that happened to it under this name, where events are
    made.

    Of this run alone, where days are made one after the other: ``drops``: when it was dropped and brought back (when,
    by which query, DROP or UNDROP); ``elements``: keys of the tags and policies that were set on it, of what it was
    granted, and of those who were granted it.
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
    drops: set[Drop] = field(default_factory=set)
    elements: set[str] = field(default_factory=set)

    @property
    def kind(self) -> str:
        """The first segment of the key."""
        return self.key.split("/", 1)[0]


class Named(Struct, frozen=True, order=True, gc=False):
    """A name that an object had: from ``since`` on, until another was seen (None: it holds), last seen at ``seen``."""

    since: int
    name: str
    until: int | None
    seen: int


class Life(Struct, gc=False):
    """What the order of time adds. ``names``: the names and when. ``unrecorded``: states that no query on record made
    and that something refers to -> what became of them. ``unrecorded_columns``: (column, state) that were only known
    to have been there. ``same_names``: keys of the objects with an id that had this name, where the name is the key.
    """

    names: list[Named] = field(default_factory=list)
    unrecorded: dict[str, Ending | None] = field(default_factory=dict)
    unrecorded_columns: set[tuple[str, str]] = field(default_factory=set)
    same_names: list[str] = field(default_factory=list)
