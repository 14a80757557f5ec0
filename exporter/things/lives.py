"""What is known about a thing after all its mentions: its own nodes and events are derived from it."""

from __future__ import annotations

from msgspec import Struct, field

from exporter.things.answers import Ending  # noqa: TC001 - msgspec reads it

Fate = tuple[int, str, str, str]
"""The latest query that wrote or changed an object: its end (microseconds since 1970), its id, OpenLineage's
``lifecycleStateChange`` (empty for a plain write), and the name before a RENAME (else empty).
"""
Drop = tuple[int, str, str]
"""Time (microseconds since 1970), query id, DROP or UNDROP."""


class Profile(Struct, gc=False):
    """The attributes of an object in all rows, independent of order (:class:`Life` has what depends on time).

    Sets of all values in the rows: ``domains``, ``signatures``, ``data_types``, ``stage_kinds``, ``locations``,
    ``accounts`` (the row's accountName). ``names``: name -> first and last time it was seen on the object (microseconds
    since 1970). ``columns``: name -> ids. ``renamed_from``: new name of a column -> former names. ``old_names``: a name
    given by RENAME TO -> the names before it (None: the row had none). ``given``: names that a RENAME or SWAP gave to
    an object with an id. ``fates``: name -> the latest write or change under this name; only if events are made.

    In an update these are of the current day only: ``drops`` and UNDROPs of the object; ``elements``: keys of tags and
    policies set on it, of what was granted to it, and of its grantees.
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
    """A name of an object. ``since``: its start. ``until``: when the next name was seen, None for the current name.
    ``seen``: when it was last seen. All in microseconds since 1970.
    """

    since: int
    name: str
    until: int | None
    seen: int


class Life(Struct, gc=False):
    """What follows from the order of mentions. ``names``: the names with their periods. ``unrecorded``: states that are
    referred to but were made by no recorded query -> their end. ``unrecorded_columns``: (column, state) of columns
    whose writer is not recorded. ``same_names``: if the object is known only by name, keys of the objects with an id
    that had this name.
    """

    names: list[Named] = field(default_factory=list)
    unrecorded: dict[str, Ending | None] = field(default_factory=dict)
    unrecorded_columns: set[tuple[str, str]] = field(default_factory=set)
    same_names: list[str] = field(default_factory=list)
