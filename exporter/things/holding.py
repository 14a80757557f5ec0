"""What holds on an object: the tags and policies that are set on it, the grants that its changes made; until when.

A setting holds until the next one of the same, until its column is dropped, and while neither the object nor the tag or
policy is dropped: one that is brought back (UNDROP) has again what it had. An object that is created where another was
dropped has nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from exporter.queries.grants import is_of_several, takes_back

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exporter.things.lives import Drop

SettingKey = tuple[str | None, str, str | None]
"""Column, property, element: what a later setting takes the place of."""
Said = tuple[str, str | None, str, str | None, tuple[str, ...]]
"""A setting: its change, column, property, element, and the names of the element where it is set: none where it is
unset. Grants are settings, too (:func:`exporter.queries.grants.held_as`): of one the key of what is granted,
and where all is revoked that takes it back (:func:`exporter.queries.grants.places`)."""


class Asker(NamedTuple):
    """A query that speaks to an object; ``address``: where its answers go, which means nothing to the story."""

    query_id: str
    address: str


class Held(NamedTuple):
    """A setting that holds: who said it, what, and when (microseconds)."""

    asker: Asker
    said: Said
    since: int


Over = tuple[Asker, Said, int]
"""A setting that holds no longer: who said it, what, and until when (microseconds)."""


class Holding:
    """The settings of one object. ``drops``: of the object since it was there last."""

    def __init__(self, held: Iterable[Held] = (), drops: Iterable[Drop] = ()) -> None:
        self._held = {one.said[1:4]: one for one in held}
        self._drops = list(drops)
        self._of_elements: dict[str, list[Drop]] = {}

    def kept(self) -> tuple[list[Held], list[Drop], dict[str, list[Drop]]]:
        """What goes on the next day: settings, drops of the object, and of what is set on it."""
        return list(self._held.values()), self._drops, self._of_elements

    def hear(self, element: str, drops: Iterable[Drop]) -> None:
        """When a tag or policy was dropped and brought back; all that is known of it, in order."""
        self._of_elements[element] = list(drops)

    def set(self, asker: Asker, at: int, setting: Said) -> Iterator[Over]:
        """A setting takes the place of the same that was said before."""
        for key in self._replaced(setting):
            yield self._end(key, at)
        if setting[4]:
            self._held[setting[1:4]] = Held(asker, setting, at)

    def _replaced(self, setting: Said) -> list[SettingKey]:
        """The same settings; more than one where privileges are revoked all at once, or on all objects of a schema."""
        key, names = setting[1:4], setting[4]
        if names or not is_of_several(key[1]):
            return [key] if key in self._held else []
        return [one for one, held in self._held.items() if takes_back(key[1], one[1], held.said[4])]

    def lose(self, columns: Iterable[str], at: int) -> Iterator[Over]:
        """Columns are dropped."""
        lost = set(columns)
        for key in [key for key in self._held if key[0] in lost]:
            yield self._end(key, at)

    def drop(self, asker: Asker, at: int) -> None:
        """The object is dropped."""
        self._drops.append((at, asker.query_id, "DROP"))

    def make(self, asker: Asker, at: int, *, creates: bool) -> Iterator[Over]:
        """The object is there again, with what it had, or without where it is created."""
        if creates and self._drops:
            for key, held in list(self._held.items()):
                if held.asker != asker and _dropped(self._drops, held.since, at) is not None:
                    yield self._end(key, at)
        self._drops = []

    def over(self) -> Iterator[Over]:
        """What does not hold as things stand, though nothing took its place: it may come to hold again."""
        for asker, said, since in self._held.values():
            until = self._dropped(said, since)
            if until is not None:
                yield asker, said, until

    def _end(self, key: SettingKey, at: int) -> Over:
        asker, said, since = self._held.pop(key)
        until = self._dropped(said, since, at)
        return asker, said, at if until is None else until

    def _dropped(self, said: Said, since: int, until: int | None = None) -> int | None:
        """From when on it does not hold, since the object or what is set on it is dropped."""
        drops = self._drops, self._of_elements.get(said[3] or "", ())
        ends = [end for end in (_dropped(one, since, until) for one in drops) if end is not None]
        return min(ends, default=None)


def _dropped(drops: Iterable[Drop], since: int, until: int | None = None) -> int | None:
    """When it was dropped after a time and not brought back until another; None where it was not."""
    found: int | None = None
    for at, _, operation in drops:
        if since <= at and (until is None or at <= until):
            found = None if operation == "UNDROP" else at if found is None else found
    return found
