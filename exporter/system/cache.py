"""A cache of the most recently used values, by the identity of their key: statements recur, and so do their contents.
And when Python collects garbage: caches and messages have no cycles.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from typing import Final, Generic, TypeVar

Value = TypeVar("Value")
CONTENTS: Final = 12_000
"""Contents of rows for which a process caches what follows from them. All caches of what is extracted from rows have
this size: a content that leaves the first of them is another object when it comes back, and unknown to the others.
"""
LARGE: Final = 300
"""Large contents of which a process caches the same."""
_SMALL: Final = 8 * 1024
_LARGEST: Final = 256 * 1024
"""Bytes of a value. Few larger than the first are kept, and none larger than the second: they would fill the memory."""


class Recent(Generic[Value]):
    """A cache of at most ``most`` values, and :data:`LARGE` large ones. Keys are compared by identity, because hashing
    a content takes as long as reading it. Each key is kept with its value, so that its id is not reused.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._small: OrderedDict[int, tuple[object, Value]] = OrderedDict()
        self._large: OrderedDict[int, tuple[object, Value]] = OrderedDict()

    def get(self, thing: object) -> Value | None:
        """The cached value for this object; None if there is none (any more)."""
        key = id(thing)
        kept = self._small if key in self._small else self._large
        known = kept.get(key)
        if known is None or known[0] is not thing:
            return None
        kept.move_to_end(key)
        return known[1]

    def keep(self, thing: object, value: Value, size: int = 0) -> Value:
        """Cache a value of about ``size`` bytes and return it. If there are too many, the least recently used one is
        removed.
        """
        if size <= _SMALL:
            kept, most = self._small, self._most
        else:
            kept, most = self._large, min(LARGE, self._most)
        if size <= _LARGEST:
            kept[id(thing)] = thing, value
            kept.move_to_end(id(thing))
            if len(kept) > most:
                kept.popitem(last=False)
        return value


def collect_garbage_rarely() -> None:
    """Make Python's garbage collector run rarely: messages and nodes are many and have no cycles, and searching them
    again and again takes a third of the time.
    """
    gc.set_threshold(100_000, 50, 100)


def exclude_caches_from_collection() -> None:
    """Exclude the caches of this process from garbage collection: they have no cycles, and PySpark collects after every
    task.
    """
    gc.freeze()
