"""Limits on the objects of one query. A query beyond them is quarantined with a reason, so that memory and time are
bounded: derivations grow with reads times writes. Real statements stay far below, since their text is at most 1 MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import Content

OBJECTS: Final = 20_000
"""Most objects that a query may name."""
PAIRS: Final = 1_000_000
"""Most pairs of an object read and an object written."""


def beyond(content: Content) -> str | None:
    """The reason why a query with this content is too large to be written; None if it is not."""
    reads, writes = len(content.accesses), len(content.writes)
    others = len(content.derivations) + len(content.policies) + len(content.joins)
    if reads + writes + others <= OBJECTS and reads * writes <= PAIRS:
        return None
    named = len(set(_named(content)))
    if named > OBJECTS:
        return f"the query names {named:,} objects, more than {OBJECTS:,}"
    reads = len({one.thing.key for one in content.accesses})  # an object can be both direct and base
    if reads * writes > PAIRS:
        return f"the query reads {reads:,} objects and writes {writes:,}, more than {PAIRS:,} pairs of them"
    return None


def _named(content: Content) -> Iterator[str]:
    """The keys of all objects that are read, written or otherwise named."""
    yield from (one.thing.key for one in content.accesses)
    yield from (one.thing.key for one in content.writes)
    yield from (one.source.key for one in content.derivations)
    for policy in content.policies:
        yield policy.protected.key
        yield policy.policy_key
    yield from (one.right.key for one in content.joins)
