"""The names of an object and their periods, derived from its mentions in order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exporter.things.lives import Named

if TYPE_CHECKING:
    from collections.abc import Iterable


class Names:
    """A name begins when it is first seen, or with the RENAME or SWAP that gives it. It ends when another is seen."""

    def __init__(self, held: Iterable[tuple[str, int, int]] = ()) -> None:
        self._at = 0
        self._pending: dict[str, int] = {}
        self._held = list(held)

    def held(self) -> list[tuple[str, int, int]]:
        """The names in order, each with the times when it was first and last seen."""
        self._settle()
        return self._held

    def hear(self, at: int, names: tuple[tuple[int, str], ...]) -> None:
        if at != self._at:
            self._settle()
            self._at = at
        for after, name in names:
            # A given name is later than a name that is seen at the same time, so each name begins once at a time.
            self._pending[name] = max(after, self._pending.get(name, 0))

    def _settle(self) -> None:
        for _, name in sorted((after, name) for name, after in self._pending.items()):
            if self._held and self._held[-1][0] == name:
                self._held[-1] = name, self._held[-1][1], self._at
            else:
                self._held.append((name, self._at, self._at))
        self._pending = {}

    def told(self, seen: dict[str, tuple[int, int]]) -> list[Named]:
        self._settle()
        if len({name for name, _, _ in self._held} | seen.keys()) < 2:
            return [Named(first, name, None, last) for name, (first, last) in seen.items()]
        following = [since for _, since, _ in self._held[1:]]
        return [
            Named(since, name, until, last)
            for (name, since, last), until in zip(self._held, [*following, None], strict=True)
        ]
