"""What was made for things that came lately, by what they are: statements recur, and so do their contents."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A value for each of the things that were asked for last, ``most`` at most. By identity: to hash a content takes
    as long as to read it. Each thing is kept beside its value, so that its id stays its own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[int, tuple[object, Value]] = OrderedDict()

    def get(self, thing: object) -> Value | None:
        """The value that was kept for this very thing; None where there is none (any more)."""
        key = id(thing)
        known = self._kept.get(key)
        if known is None or known[0] is not thing:
            return None
        self._kept.move_to_end(key)
        return known[1]

    def keep(self, thing: object, value: Value) -> Value:
        """Keep a value; the one that was asked for longest ago goes where there are too many."""
        self._kept[id(thing)] = thing, value
        self._kept.move_to_end(id(thing))
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value
