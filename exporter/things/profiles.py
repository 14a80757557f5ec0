"""Merge what all queries say about an object; the result does not depend on order or grouping."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from exporter.queries.around import runs_in
from exporter.queries.mentions import mentions
from exporter.things.lives import Event, Profile

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from exporter.queries.facts import QueryFacts, Thing
    from exporter.queries.mentions import Said
    from exporter.recent import Recent

Value = TypeVar("Value", str, "str | None")


def add(
    profiles: dict[tuple[str, str], Profile], facts: QueryFacts, learned: Recent[str] | None = None
) -> tuple[str, ...]:
    """Add what a query says to the profiles, by account and object key; new objects get a profile. Returns the sorted
    keys of all objects that the query's rows name. ``learned``: contents that were already added, with their account:
    for them only times are added.
    """
    told, account = mentions(facts.content), facts.account
    said = told.said
    is_known = learned is not None and learned.get(facts.content) == account
    seen = facts.start, facts.start
    for key, one in said.items():
        profile = profiles.get((account, key))
        if profile is None:
            profiles[account, key] = profile = Profile(account, key)
        if not is_known:
            _learn(profile, one)
        for name in one.names:
            _see(profile.names, name, seen)
        for drop in one.drops:
            profile.drops.add((facts.end, facts.query_id, drop))
        for name in one.takes:
            profile.takes.add((facts.end, facts.query_id, name))
        shown = (facts.end if one.changes else facts.start), facts.query_id
        profile.shown = max(profile.shown, shown)
        _time(profile, one, facts)
        for after, name in told.names.get(key, ()):
            profile.called = max(profile.called, (facts.start, after, name))
    for thing in chain(told.around, runs_in(facts.history)):
        _stand_by(profiles, account, thing, seen)
    if learned is not None and not is_known:
        learned.keep(facts.content, account)
    return tuple(said)


def _time(profile: Profile, one: Said, facts: QueryFacts) -> None:
    """Add when the query names, changes and makes the object."""
    for told in one.remade:
        profile.remade.add(Event(facts.end, facts.query_id, facts.start, *told))
    effect = one.effect
    if one.names:
        profile.first = min(profile.first, (facts.start, facts.query_id, effect.creates))
    if effect.makes or effect.drops:
        profile.changed = _earliest(profile.changed, facts.end)
    if effect.makes:
        made = facts.end, facts.query_id, not (effect.creates or effect.empties)
        profile.made_first = min(profile.made_first, made)


def _stand_by(profiles: dict[tuple[str, str], Profile], account: str, thing: Thing, seen: tuple[int, int]) -> None:
    """Add a schema, database, role or warehouse: it existed with this name at these times."""
    profile = profiles.get((account, thing.key))
    if profile is None:
        profiles[account, thing.key] = profile = Profile(account, thing.key)
    if thing.domain is not None:
        profile.domains.add(thing.domain)
    if thing.name is not None:
        _see(profile.names, thing.name, seen)


def keys(facts: QueryFacts) -> Iterator[str]:
    """The keys of all objects that a query mentions, including schemas, databases, role and warehouse; each once."""
    told = mentions(facts.content)
    yield from dict.fromkeys(chain(told.said, (thing.key for thing in chain(told.around, runs_in(facts.history)))))


def merge(one: Profile, other: Profile) -> None:
    """Merge ``other`` into ``one``, two profiles of the same object. The result does not depend on order or grouping.
    ``other`` is not changed.
    """
    _learn(one, other)
    one.drops.update(other.drops)
    one.signs.update(other.signs)
    one.made, one.temporary = _earliest(one.made, other.made), _earliest(one.temporary, other.temporary)
    one.unclear |= other.unclear
    one.takes.update(other.takes)
    one.remade.update(other.remade)
    one.first, one.made_first = min(one.first, other.first), min(one.made_first, other.made_first)
    one.changed = _earliest(one.changed, other.changed)
    one.shown, one.called = max(one.shown, other.shown), max(one.called, other.called)
    for name, seen in other.names.items():
        _see(one.names, name, seen)
    for name, fate in other.fates.items():
        one.fates[name] = max(one.fates.get(name, fate), fate)
    if other.comment is not None:
        one.comment = max(one.comment or other.comment, other.comment)


def _earliest(one: int | None, other: int | None) -> int | None:
    return min([time for time in (one, other) if time is not None], default=None)


def _see(names: dict[str, tuple[int, int]], name: str, seen: tuple[int, int]) -> None:
    known = names.get(name)
    if known is None:
        names[name] = seen
    elif seen[0] < known[0] or seen[1] > known[1]:
        names[name] = min(known[0], seen[0]), max(known[1], seen[1])


def _learn(one: Profile, other: Profile | Said) -> None:
    """Merge everything except values with a time."""
    one.object_id = one.object_id or other.object_id
    one.domains.update(other.domains)
    _join(one.columns, other.columns)
    if other.given or other.old_names or other.renamed_from:
        one.given.update(other.given)
        _join(one.renamed_from, other.renamed_from)
        _join(one.old_names, other.old_names)
    one.elements.update(other.elements)
    one.signatures.update(other.signatures)
    one.data_types.update(other.data_types)
    one.stage_kinds.update(other.stage_kinds)
    one.locations.update(other.locations)
    one.accounts.update(other.accounts)


def _join(one: dict[str, set[Value]], other: Mapping[str, Collection[Value]]) -> None:
    for name, values in other.items():
        known = one.get(name)
        if known is None:
            one[name] = set(values)
        elif values:
            known.update(values)
