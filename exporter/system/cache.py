"""A cache of the most recently used values, by the identity of their key. Statements recur, and so do their
contents.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")
CONTENTS: Final = 16_000
"""Contents for which a process caches what follows from them, because statements recur. All caches of contents have
this size: a content that leaves one of them is another object when it comes back, and unknown to the others.
"""


class Recent(Generic[Value]):
    """A cache of at most ``most`` values. Keys are compared by identity, because hashing a content takes as long as
    reading it. Each key is kept with its value, so that its id is not reused.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[int, tuple[object, Value]] = OrderedDict()

    def get(self, thing: object) -> Value | None:
        """The cached value for this object; None if there is none (any more)."""
        key = id(thing)
        known = self._kept.get(key)
        if known is None or known[0] is not thing:
            return None
        self._kept.move_to_end(key)
        return known[1]

    def keep(self, thing: object, value: Value) -> Value:
        """Cache a value and return it. If there are too many, the least recently used one is removed."""
        self._kept[id(thing)] = thing, value
        self._kept.move_to_end(id(thing))
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return value
