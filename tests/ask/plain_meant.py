"""Which objects a name means at a time, and their names at that time, computed in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.ask.plain_asking import meant, same_name

if TYPE_CHECKING:
    from datetime import datetime

    from tests.ask.plain_asking import Given
    from tests.ask.plain_history import History


def same_column(name: str | None, wanted: str | None) -> bool:
    return wanted is None or same_name(name, wanted)


def name_at(history: History, key: str, time: datetime | None) -> str | None:
    """What the object was called then; None: at the end."""
    for name, since, until in history.names.held.get(key, []):
        if time is not None and since <= time and (until is None or time < until):
            return name
    return history.names.label(key)


class Asked:
    """The objects that parameters mean, by their keys."""

    def __init__(self, history: History, given: Given) -> None:
        self.turns = meant(history, given)

    def at(self, key: str, time: datetime | None) -> bool:
        """None: at the end."""
        return any(one.key == key and (one.until is None if time is None else one.at(time)) for one in self.turns)

    def ever(self, key: str) -> bool:
        return any(one.key == key for one in self.turns)
