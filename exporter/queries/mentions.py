"""What the facts of a query say of each object that they name: read, written, changed, or only named beside others, as
policies, partners of joins and tags are.

Sources: view, "objectId", "objectName", "objectDomain"; guide, "Swap a table"; view, "ALTER … RENAME TO".
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from exporter.queries.effects import is_rename
from exporter.queries.facts import Thing
from exporter.queries.identifiers import named
from exporter.recent import Recent
from exporter.things.lives import Profile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.queries.facts import Change, Content, QueryFacts, Setting
Names = tuple[tuple[int, str], ...]
Value = TypeVar("Value", str, "str | None")
_ANY_TIME: Final = (0, 0)
_CONTENTS: Final = 6_000
_WIDE: Final = 1_000
"""Contents that are kept with what they say, for statements recur; one with more columns than this is not."""


def add(profiles: dict[tuple[str, str], Profile], facts: QueryFacts) -> tuple[str, ...]:
    """Add what the query says to the profiles, by account and object key; a new object gets one. Gives the keys of all
    objects that the query names, sorted.
    """
    said, _, taught = _mentions(facts.content)
    seen = facts.start, facts.start
    for key, more in said.items():
        profile = profiles.get((facts.account, key))
        if profile is None:
            profiles[facts.account, key] = profile = Profile(facts.account, key)
        if taught.get(key) is not profile:
            _learn(profile, more)
            taught[key] = profile
        for name in more.names:
            _see(profile.names, name, seen)
    return tuple(said)


def merge(one: Profile, other: Profile) -> None:
    """Add to the one what the other knows of the same object; in any order and grouping it comes to the same. The other
    stays as it is.
    """
    _learn(one, other)
    for name, seen in other.names.items():
        _see(one.names, name, seen)


def sightings(facts: QueryFacts) -> Mapping[str, Names]:
    """By object key, the names that the query saw on the object (0, name) and that it gave to it by RENAME or SWAP
    (1, name), sorted; what is both is given. A name that is given is seen after those that the change itself shows.

    Not to be changed: it is the same for all queries with the same content.
    """
    _, names, _ = _mentions(facts.content)
    return names


def _see(names: dict[str, tuple[int, int]], name: str, seen: tuple[int, int]) -> None:
    known = names.get(name)
    if known is None:
        names[name] = seen
    elif seen[0] < known[0] or seen[1] > known[1]:
        names[name] = min(known[0], seen[0]), max(known[1], seen[1])


def _learn(one: Profile, other: Profile) -> None:
    """All but the times of names."""
    one.object_id = one.object_id or other.object_id
    one.domains |= other.domains
    _join(one.columns, other.columns)
    if other.given or other.old_names or other.renamed_from:
        one.given |= other.given
        _join(one.renamed_from, other.renamed_from)
        _join(one.old_names, other.old_names)
    one.signatures |= other.signatures
    one.data_types |= other.data_types
    one.stage_kinds |= other.stage_kinds
    one.locations |= other.locations
    one.accounts |= other.accounts


def _join(one: dict[str, set[Value]], other: dict[str, set[Value]]) -> None:
    for name, values in other.items():
        known = one.get(name)
        if known is None:
            one[name] = set(values)
        elif values:
            known |= values


def _mentions(content: Content) -> _Mentions:
    known = _recent.get(content)
    if known is not None:
        return known
    made = _made(content)
    is_wide = sum(len(one.columns) for one in made[0].values()) > _WIDE
    return made if is_wide else _recent.keep(content, made)


def _made(content: Content) -> _Mentions:
    said = _Profiles()
    for thing in chain(_objects(content), _beside(content)):
        _describe(said[thing.key], thing)
    _columns(content, said)
    for change in content.changes:
        profile = said[change.thing.key]
        _new_names(change, profile)
        for setting in change.settings:
            _column_of(setting, profile)
    profiles = {key: said[key] for key in sorted(said)}
    names = {key: _names(one) for key, one in profiles.items() if one.names or one.given}
    return profiles, names, {}


def _names(said: Profile) -> Names:
    return tuple(sorted([(int(name in said.given), name) for name in said.names.keys() | said.given]))


class _Profiles(dict[str, Profile]):
    def __missing__(self, key: str) -> Profile:
        self[key] = profile = Profile("", key)
        return profile


def _objects(content: Content) -> Iterator[Thing]:
    """What the rows show as objects."""
    yield from (access.thing for access in content.accesses)
    yield from (write.thing for write in content.writes)
    yield from (derivation.source for derivation in content.derivations)
    yield from (policy.protected for policy in content.policies)
    yield from (join.right for join in content.joins)
    yield from (change.thing for change in content.changes)


def _beside(content: Content) -> Iterator[Thing]:
    """What they only name beside these: policies, what was swapped with or made from, tags."""
    for policy in content.policies:
        yield _thing(policy.policy_key, policy.policy_kind.replace("_", " "), policy.policy_id, policy.policy_name)
    for change in content.changes:
        if change.swap_key is not None:
            yield _thing(change.swap_key, change.swap_domain, change.swap_id, change.swap_name)
        if change.source_key is not None:
            yield _thing(change.source_key, change.source_domain, change.source_id, change.source_name)
        for setting in change.settings:
            if setting.element_key is not None:
                domain = setting.element_key.split("/", 1)[0].replace("-", " ").upper()
                yield _thing(setting.element_key, domain, setting.element_id, named(setting.element))


def _thing(key: str, domain: str | None, object_id: str | None, name: str | None) -> Thing:
    return Thing(key, key.split("/", 1)[0], domain, object_id, name)


def _describe(said: Profile, thing: Thing) -> None:
    said.object_id = thing.object_id or said.object_id
    if thing.name is not None:
        said.names[thing.name] = _ANY_TIME
    for values, value in (
        (said.domains, thing.domain),
        (said.signatures, thing.signature),
        (said.data_types, thing.data_type),
        (said.stage_kinds, thing.stage_kind),
        (said.locations, thing.location),
        (said.accounts, thing.account),
    ):
        if value is not None:
            values.add(value)


def _columns(content: Content, said: _Profiles) -> None:
    """Columns that are read, written, source or target, or protected."""
    for access in content.accesses:
        for column in access.columns:
            _column(said[access.thing.key], column.name, column.column_id)
    for write in content.writes:
        for column in write.columns:
            _column(said[write.thing.key], column.name, column.column_id)
    for derivation in content.derivations:
        _column(said[derivation.target_key], derivation.target_column, None)
        _column(said[derivation.source.key], derivation.source_column, None)
    for policy in content.policies:
        _column(said[policy.protected.key], policy.column_name, policy.column_id)


def _column(said: Profile, name: str | None, column_id: str | None) -> None:
    if name is not None:
        ids = said.columns.setdefault(name, set())
        if column_id is not None:
            ids.add(column_id)


def _column_of(setting: Setting, said: Profile) -> None:
    _column(said, setting.column_name, setting.element_id if setting.property == "columns" else None)
    if is_rename(setting) and setting.column_name is not None and setting.value is not None:
        said.renamed_from.setdefault(setting.value, set()).add(setting.column_name)


def _new_names(change: Change, said: Profile) -> None:
    """A name that RENAME or SWAP gives; it is told of objects with an id alone, for others are their names."""
    if change.new_name is not None:
        said.old_names.setdefault(change.new_name, set()).add(change.thing.name)
    if change.thing.object_id is not None:
        said.given |= {name for name in (change.new_name, change.swap_name) if name is not None}


_Mentions = tuple[dict[str, Profile], dict[str, Names], dict[str, Profile]]
"""By object key, sorted: what is said of it, but for the account and the times; the names of :func:`sightings`; the
profile that heard it last, which need not hear the same again: a profile forgets nothing.
"""
_recent: Final[Recent[_Mentions]] = Recent(_CONTENTS)
