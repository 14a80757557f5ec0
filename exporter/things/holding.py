"""The settings of an object that are in force (tags, policies, grants), and when they end.

A setting ends when the same is set or unset again, when its column is dropped, or when the object or the tag or policy
is dropped. UNDROP restores the settings. An object that is created after a DROP does not inherit settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from exporter.queries.grants import is_of_several, takes_back
from exporter.things.answers import Carried, Said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.things.lives import Drop, Take

Rename = tuple[str, str, str]
"""Former and new name of a column, and the key of the change that renames it."""
SettingKey = tuple[str | None, str, str | None]
"""Column, property, element: a later setting with the same key replaces the earlier one."""


class Asker(NamedTuple):
    """A query that mentions an object. ``address``: where its answers are sent; the story does not interpret it."""

    query_id: str
    address: str


class Held(NamedTuple):
    """A setting in force: the query that made it, the setting, its time (microseconds since 1970)."""

    asker: Asker
    said: Said
    since: int


Over = tuple[Asker, Said, int]
"""A setting that has ended: the query that made it, the setting, its end (microseconds since 1970)."""


class Holding:
    """The settings of one object. ``drops``: its drops since its last version."""

    def __init__(self, held: Iterable[Held] = (), drops: Iterable[Drop] = ()) -> None:
        self._held = {one.said[1:4]: one for one in held}
        self._drops = list(drops)
        self._of_elements: dict[str, list[Drop]] = {}
        self._taken: dict[str, Take] = {}

    def kept(self) -> tuple[list[Held], list[Drop], dict[str, list[Drop]], dict[str, Take]]:
        """The state for the next day: settings, drops of the object, drops of the tags and policies set on it, and who
        took their names.
        """
        return list(self._held.values()), self._drops, self._of_elements, self._taken

    def hear(self, element: str, drops: Iterable[Drop], taken: Take | None = None) -> None:
        """Record all known drops and UNDROPs of a tag or policy, in order of time, and who took its name."""
        self._of_elements[element] = list(drops)
        self._taken.pop(element, None)
        if taken is not None:
            self._taken[element] = taken

    def set(self, asker: Asker, at: int, setting: Said) -> Iterator[Over]:
        """Apply a setting. Gives the settings that it ends."""
        for key in self._replaced(setting):
            yield self._end(key, at)
        if setting[4]:
            self._held[setting[1:4]] = Held(asker, setting, at)

    def _replaced(self, setting: Said) -> list[SettingKey]:
        """The settings that this one replaces; several if all privileges, or grants on all objects, are revoked."""
        key, names = setting[1:4], setting[4]
        if names or not is_of_several(key[1]):
            return [key] if key in self._held else []
        return [one for one, held in self._held.items() if takes_back(key[1], one[1], held.said[4])]

    def lose(self, columns: Iterable[str], at: int) -> Iterator[Over]:
        """Apply the drop of columns. Gives the settings that it ends."""
        lost = set(columns)
        for key in [key for key in self._held if key[0] in lost]:
            yield self._end(key, at)

    def rename(self, asker: Asker, at: int, renames: Iterable[Rename]) -> tuple[list[Over], list[Carried]]:
        """Apply the rename of columns: their settings end, and hold from then on under the new names. Gives both. What
        does not hold because its tag or policy is dropped is not carried.
        """
        names = {former: (new, change) for former, new, change in renames}
        moved = [(key, *names[key[0]]) for key in self._held if key[0] in names]
        kept = [one for one in moved if self._dropped(self._held[one[0]].said, self._held[one[0]].since, at) is None]
        before = [self._held[key] for key, _, _ in kept]
        over = [self._end(key, at) for key, _, _ in moved]
        carried: list[Carried] = []
        for held, (_, new, change) in zip(before, kept, strict=True):
            said: Said = (change, new, *held.said[2:])
            over += [self._end(key, at) for key in [said[1:4]] if key in self._held]
            self._held[said[1:4]] = Held(asker, said, at)
            carried.append((held.asker.query_id, held.said, said))
        return over, carried

    def drop(self, asker: Asker, at: int) -> None:
        """Record that the object is dropped."""
        self._drops.append((at, asker.query_id, "DROP"))

    @property
    def dropped(self) -> int | None:
        """When the object was dropped last, None if it was not dropped since its last version."""
        return self._drops[-1][0] if self._drops else None

    def make(self, asker: Asker, at: int, *, creates: bool) -> Iterator[Over]:
        """Apply a new version after a drop. If it is created anew, gives the former settings, which end."""
        if creates and self._drops:
            for key, held in list(self._held.items()):
                if held.asker != asker and _dropped(self._drops, held.since, at) is not None:
                    yield self._end(key, at)
        self._drops = []

    def over(self, taken: Take | None = None) -> Iterator[Over]:
        """The settings that do not hold now because of a drop, but may hold again after an UNDROP; or because another
        object took the name of this one (``taken``), or of the tag or policy, but may hold if that one is shown again.
        """
        for asker, said, since in self._held.values():
            takes = (taken, self._taken.get(said[3] or ""))
            ends = [self._dropped(said, since), *(take[0] for take in takes if take is not None and take[0] >= since)]
            until = min((end for end in ends if end is not None), default=None)
            if until is not None:
                yield asker, said, until

    def _end(self, key: SettingKey, at: int) -> Over:
        asker, said, since = self._held.pop(key)
        until = self._dropped(said, since, at)
        return asker, said, at if until is None else until

    def _dropped(self, said: Said, since: int, until: int | None = None) -> int | None:
        """When the setting ended because the object or its tag or policy was dropped; None if it did not."""
        drops = self._drops, self._of_elements.get(said[3] or "", ())
        ends = [end for end in (_dropped(one, since, until) for one in drops) if end is not None]
        return min(ends, default=None)


def _dropped(drops: Iterable[Drop], since: int, until: int | None = None) -> int | None:
    """The time of a drop between ``since`` and ``until`` that no UNDROP reverted by then; None if there is none."""
    found: int | None = None
    for at, _, operation in drops:
        if since <= at and (until is None or at <= until):
            found = None if operation == "UNDROP" else at if found is None else found
    return found
