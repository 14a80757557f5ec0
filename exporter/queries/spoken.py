"""Under which spellings a statement speaks of things: whoever tells what they are called answers for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.queries.facts import Change, Content, Thing

Spelled = tuple[str, str | None, str | None]
"""An object key, and the name and account beside it, as a row has them."""


def spoken(content: Content) -> tuple[Spelled, ...]:
    """The spellings of what the statement read, wrote, changed, joined and took data from, and of what policies
    protect, each once, in the order of the content. A new name is a spelling of what is renamed.
    """
    return tuple(dict.fromkeys(_each(content)))


def _each(content: Content) -> Iterator[Spelled]:
    for access in content.accesses:
        yield _spelling(access.thing)
    for write in content.writes:
        yield _spelling(write.thing)
    for derivation in content.derivations:
        # A routine that made a column is told by its own fields, and not as a dataset.
        if derivation.source_column is not None:
            yield _spelling(derivation.source)
    for policy in content.policies:
        yield _spelling(policy.protected)
    for join in content.joins:
        yield join.left_key, join.left_name, None
        yield _spelling(join.right)
    for change in content.changes:
        yield from _of_change(change)


def _of_change(change: Change) -> Iterator[Spelled]:
    yield _spelling(change.thing)
    if change.new_name is not None:
        yield change.thing.key, change.new_name, change.thing.account


def _spelling(thing: Thing) -> Spelled:
    return thing.key, thing.name, thing.account
