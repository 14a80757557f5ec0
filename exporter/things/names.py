"""The names of an object and their periods, derived from its mentions in order of time."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from exporter.queries.identifiers import match_name
from exporter.things.lives import Named

if TYPE_CHECKING:
    from collections.abc import Iterable


class Names:
    """A name begins when it is first seen, or with the RENAME or SWAP that gives it. It ends when another is seen, when
    another object takes it, or when the object is dropped. Another spelling of the name is no other name: the first one
    stays.
    """

    def __init__(self, held: Iterable[tuple[str, int, int]] = ()) -> None:
        self._at = 0
        self._pending: dict[str, int] = {}
        self._held = list(held)

    def held(self) -> list[tuple[str, int, int]]:
        """The names in order, each with the times when it was first and last seen."""
        self._settle()
        return self._held

    def present(self) -> tuple[str, int] | None:
        """The present name and when it was last seen; None if there is none."""
        if self._pending:
            return max((after, name) for name, after in self._pending.items())[1], self._at
        return (self._held[-1][0], self._held[-1][2]) if self._held else None

    def hear(self, at: int, names: tuple[tuple[int, str], ...]) -> None:
        if at != self._at:
            self._settle()
            self._at = at
        for after, name in names:
            # A given name is later than a name that is seen at the same time, so each name begins once at a time.
            self._pending[name] = max(after, self._pending.get(name, 0))

    def _settle(self) -> None:
        for _, name in sorted((after, name) for name, after in self._pending.items()):
            if self._held and match_name(self._held[-1][0]) == match_name(name):
                self._held[-1] = *self._held[-1][:2], self._at
            else:
                self._held.append((name, self._at, self._at))
        self._pending = {}

    def told(
        self, seen: dict[str, tuple[int, int]], taken: int | None = None, dropped: int | None = None
    ) -> list[Named]:
        """The names with their periods. ``seen``: name -> when it was first and last seen. ``taken``: when another
        object took the last name; ``dropped``: when the object was dropped, which ends no name that is seen after that.
        The statement that takes it can read the object, so a name holds while it is seen.
        """
        self._settle()
        held = self._held
        if len({match_name(name) for name in chain((name for name, _, _ in held), seen)}) < 2:
            held = [_whole(seen)] if seen else []
        if not held:
            return []
        last_seen = held[-1][2]
        over = [taken] if taken is not None else []
        if dropped is not None and dropped >= last_seen:
            over.append(dropped)
        end = max(min(over), last_seen + 1) if over else None
        ends = [*(since for _, since, _ in held[1:]), end]
        return [Named(since, name, until, last) for (name, since, last), until in zip(held, ends, strict=True)]


def _whole(seen: dict[str, tuple[int, int]]) -> tuple[str, int, int]:
    """The spellings of one name as one: the first of them, and when any was first and last seen."""
    since, name = min((first, name) for name, (first, _) in seen.items())
    return name, since, max(last for _, last in seen.values())
