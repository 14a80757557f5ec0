"""What a CLONE of a schema or database copied: the state of a table at that time, and the tables that came from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from exporter.queries.identifiers import canonical_name
from exporter.things.lives import Event  # noqa: TC001 - msgspec reads it

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from exporter.things.lives import Profile, Take


class Copy(Struct, array_like=True, frozen=True, gc=False):
    """A table that a CLONE brought, as is inferred. ``key``, ``name``: its key, and its name when a query named it
    first; ``first``: that query. ``changed``: when a query made a version of it or dropped it first (microseconds since
    1970), None if none did; ``is_kept``: whether the first such version has what the table had before. ``columns``: its
    columns in all rows, sorted. ``event``: the CLONE; ``source``: the canonical name of the table that it copied;
    ``since``: when something else had the name of the schema or database before.
    """

    key: str
    name: str
    first: str
    changed: int | None
    is_kept: bool
    columns: list[str]
    event: Event
    source: str
    since: int


class Moment(Struct, array_like=True, frozen=True, gc=False):
    """A table when its schema or database was cloned. ``state``: the version in force, empty if it was dropped.
    ``columns``: the state that wrote each column; ``chain``: that of all others; ``lost``: columns that it had before.
    ``name``: its name, last seen at ``seen``.
    """

    state: str
    columns: dict[str, str]
    chain: str
    lost: list[str]
    name: str
    seen: int


class Inferred(Struct, frozen=True, gc=False):
    """A copy with the version and the columns that it came from. ``columns``: column -> the state that wrote it, and
    whether a recorded query did.
    """

    copy: Copy
    state: str
    columns: dict[str, tuple[str, bool]]


class Copies:
    """The copies of one table. Its state is bounded by the clones that are in force or have a table in the rows."""

    def __init__(self, moments: Mapping[str, Moment] | None = None, copies: Iterable[Copy] = ()) -> None:
        self._moments = dict(moments or {})
        self._copies = {(_key(one.event), one.key): one for one in copies}
        self.due: list[Event] = []

    def kept(self) -> tuple[dict[str, Moment], list[Copy]]:
        """The state for the next day."""
        return self._moments, [one for _, one in sorted(self._copies.items())]

    def hear(
        self, profile: Profile, passed: tuple[int, str], events: Iterable[Event] | None, copies: Iterable[Copy]
    ) -> None:
        """Record the clones that may still bring tables (None if that is no news), and the tables that they brought.
        ``passed``: time and query of the last mention of the table so far; its state before is not known any more.
        """
        for one in copies:
            self._copies[_key(one.event), one.key] = one
        due = {*(events or ()), *(one.event for one in self._copies.values())}
        if events is not None:
            keys = set(map(_key, due))
            self._moments = {key: one for key, one in self._moments.items() if key in keys}
        begun = max(profile.first[:2], passed)
        known = [one for one in due if _key(one) not in self._moments and begun < (one.start, one.query_id)]
        self.due = sorted(known, key=lambda one: (one.start, one.query_id, one.change_key))

    def pass_by(self, before: tuple[int, str] | None) -> Iterator[Event]:
        """The clones that began before a time and query; all if None."""
        while self.due and (before is None or (self.due[0].start, self.due[0].query_id) <= before):
            yield self.due.pop(0)

    def at(self, event: Event, moment: Moment) -> None:
        """Record the state of the table at a clone."""
        self._moments[_key(event)] = moment

    @property
    def any(self) -> bool:
        """Whether there is any copy."""
        return bool(self._copies)

    def inferred(self, taken: Take | None, unrecorded: Collection[tuple[str, str]]) -> Iterator[Inferred]:
        """The copies, sorted. ``taken``: who took the name of the table; ``unrecorded``: columns, with the states that
        they had and no recorded query wrote.
        """
        for (key, _), copy in sorted(self._copies.items()):
            moment = self._moments.get(key)
            if moment is None or not moment.state or moment.seen < copy.since:
                continue
            if canonical_name(moment.name) != copy.source or (taken is not None and taken[0] <= copy.event.start):
                continue
            columns = {}
            for column in copy.columns:
                if column in moment.lost:
                    continue
                if column in moment.columns:
                    columns[column] = moment.columns[column], True
                elif (column, moment.chain) in unrecorded:
                    columns[column] = moment.chain, False
            yield Inferred(copy, moment.state, columns)


def _key(event: Event) -> str:
    return f"{event.query_id}\0{event.change_key}"
