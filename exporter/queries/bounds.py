"""How much one query may do: what is more is held back with a reason, so that memory and time have a bound.

What is derived from what grows with reads times writes. No statement of a person comes near to these numbers: the
longest of Snowflake's own are 1 MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import Content

OBJECTS: Final = 20_000
"""Objects that a query reads or writes, at most."""
PAIRS: Final = 1_000_000
"""Objects read times objects written, at most."""


def beyond(content: Content) -> str | None:
    """Why a query with this content is not written; None where it is."""
    reads, writes = len(content.accesses), len(content.writes)
    others = len(content.derivations) + len(content.policies) + len(content.joins)
    if reads + writes + others <= OBJECTS and reads * writes <= PAIRS:
        return None
    named = len(set(_named(content)))
    if named > OBJECTS:
        return f"the query names {named:,} objects, more than {OBJECTS:,}"
    reads = len({one.thing.key for one in content.accesses})  # an object is read directly and as a base, too
    if reads * writes > PAIRS:
        return f"the query reads {reads:,} objects and writes {writes:,}, more than {PAIRS:,} pairs of them"
    return None


def _named(content: Content) -> Iterator[str]:
    """The keys of all objects that are read, written, or named beside those."""
    yield from (one.thing.key for one in content.accesses)
    yield from (one.thing.key for one in content.writes)
    yield from (one.source.key for one in content.derivations)
    for policy in content.policies:
        yield policy.protected.key
        yield policy.policy_key
    yield from (one.right.key for one in content.joins)
