"""The profile of an object: what all queries say of it, merged. The result does not depend on order or grouping.

A query gives attributes for each object that its facts name: objects that it read, wrote or changed, and objects that
are only named (policies, partners of joins, tags). Sources: view, "objectId", "objectName", "objectDomain"; guide,
"Swap a table"; view, "ALTER … RENAME TO".
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import Struct, field

from exporter.model.clones import Remade, remade
from exporter.model.effects import CREATES, DROPS, NOTHING, Effect, effects, is_rename, known_as
from exporter.model.facts import Thing
from exporter.model.grants import setting_of_grant
from exporter.model.identifiers import ROUTINE_KINDS, named
from exporter.model.object_state import Event, NameAndAccount, Profile
from exporter.model.objects import containers, runs_in
from exporter.model.query import objects
from exporter.system.cache import Recent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from exporter.model.facts import Access, Change, Content, QueryFacts, Setting, Write

AttributeValue = TypeVar("AttributeValue", str, "str | None", Remade, NameAndAccount)
_CONTENTS: Final = 6_000
_WIDE: Final = 1_000
"""Mentions are cached for this many contents, because statements recur; not those of more columns than this."""


Names = tuple[tuple[int, str], ...]
Values = dict[AttributeValue, None] | tuple[()]
"""Values, each once. The empty tuple stands for no values: it needs no memory, and most fields are empty."""


class ObjectUse(Struct, gc=False):
    """What one query says about an object: the fields of :class:`exporter.model.object_state.Profile`, without times.
    ``changes``: whether the query writes or changes the object; ``effect``: what it does to it.
    """

    object_id: str | None = None
    domains: Values[str] = ()
    signatures: Values[str] = ()
    data_types: Values[str] = ()
    stage_kinds: Values[str] = ()
    locations: Values[str] = ()
    accounts: Values[str] = ()
    names: Values[str] = ()
    seen_as: Values[NameAndAccount] = ()
    columns: dict[str, Values[str]] = field(default_factory=dict)
    renamed_from: dict[str, Values[str]] = field(default_factory=dict)
    old_names: dict[str, Values[str | None]] = field(default_factory=dict)
    given: Values[str] = ()
    drops: Values[str] = ()
    elements: Values[str] = ()
    takes: Values[str] = ()
    remade: Values[Remade] = ()
    changes: bool = False
    effect: Effect = NOTHING


class ObjectUses(NamedTuple):
    """``said``: by object key, sorted. ``names``: the result of :func:`sightings`. ``around``: the schemas and
    databases of the objects, each once.
    """

    said: dict[str, ObjectUse]
    names: dict[str, Names]
    around: tuple[Thing, ...]


def object_uses(content: Content) -> ObjectUses:
    """What the content says about objects. The result is cached, so callers must not change it."""
    known = _recent.get(content)
    if known is not None:
        return known
    made = _made(content)
    is_wide = sum(len(object_use.columns) for object_use in made.said.values()) > _WIDE
    return made if is_wide else _recent.keep(content, made)


def sightings(facts: QueryFacts) -> Mapping[str, Names]:
    """By object key, sorted: the names that the object has in the query's rows (0, name), and those that the query
    gives it by RENAME or SWAP (1, name). A name that is both counts as given. A given name is later than the others.

    The result is cached for the content, so callers must not change it.
    """
    return object_uses(facts.content).names


def _made(content: Content) -> ObjectUses:
    uses_by_key = _UsesByKey()
    for thing in chain(objects(content), _beside(content)):
        _describe(uses_by_key[thing.key], thing)
    _columns(content, uses_by_key)
    for write in content.writes:
        uses_by_key[write.thing.key].changes = True
    for change in content.changes:
        of_thing = uses_by_key[change.thing.key]
        of_thing.changes = True
        if change.operation in CREATES and change.thing.object_id and change.thing.kind not in ROUTINE_KINDS:
            of_thing.takes = _with(of_thing.takes, change.thing.name)
        _new_names(change, of_thing)
        if change.operation in DROPS:
            of_thing.drops = _with(of_thing.drops, change.operation)
        for grant in change.grants:
            of_thing.elements = _with(of_thing.elements, setting_of_grant(grant, change.thing)[1] or None)
        for setting in change.settings:
            _column_of(setting, of_thing)
            of_thing.elements = _with(of_thing.elements, setting.element_key)
    _done(content, uses_by_key)
    each = {key: uses_by_key[key] for key in sorted(uses_by_key)}
    names = {key: _names(object_use) for key, object_use in each.items() if object_use.names or object_use.given}
    return ObjectUses(each, names, _around(names))


def _done(content: Content, uses_by_key: _UsesByKey) -> None:
    for key, one in remade(content):
        uses_by_key[key].remade = _with(uses_by_key[key].remade, one)
    for key, effect in effects(content).items():
        if key in uses_by_key:
            uses_by_key[key].effect = effect


def _around(names: Mapping[str, Names]) -> tuple[Thing, ...]:
    found = (containers(key.split("/", 1)[0], name) for key, seen in names.items() for _, name in seen)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _names(object_use: ObjectUse) -> Names:
    return tuple(sorted([(int(name in object_use.given), name) for name in {*object_use.names, *object_use.given}]))


class _UsesByKey(dict[str, ObjectUse]):
    def __missing__(self, key: str) -> ObjectUse:
        self[key] = object_use = ObjectUse()
        return object_use


def _beside(content: Content) -> Iterator[Thing]:
    """The objects that are only named: policies, tags, partners of a SWAP, sources of a CLONE, objects of grants."""
    for policy in content.policies:
        yield _thing(policy.policy_key, policy.policy_kind.replace("_", " "), policy.policy_id, policy.policy_name)
    for change in content.changes:
        renamed = known_as(change)
        if renamed is not None:
            yield _thing(renamed, change.thing.domain, None, change.new_name)
        if change.swap_key is not None:
            yield _thing(change.swap_key, change.swap_domain, change.swap_id, change.swap_name)
        if change.source_key is not None:
            yield _thing(change.source_key, change.source_domain, change.source_id, change.source_name)
        for grant in change.grants:
            yield from (thing for thing in (grant.thing, grant.grantee) if thing is not None and thing != change.thing)
        for setting in change.settings:
            if setting.element_key is not None:
                domain = setting.element_key.split("/", 1)[0].replace("-", " ").upper()
                yield _thing(setting.element_key, domain, setting.element_id, named(setting.element))


def _thing(key: str, domain: str | None, object_id: str | None, name: str | None) -> Thing:
    return Thing(key, key.split("/", 1)[0], domain, object_id, name)


def _describe(object_use: ObjectUse, thing: Thing) -> None:
    object_use.object_id = thing.object_id or object_use.object_id
    object_use.domains = _with(object_use.domains, thing.domain)
    object_use.names = _with(object_use.names, thing.name)
    object_use.seen_as = _with(object_use.seen_as, (thing.name, thing.account))
    if thing.signature is not None:
        object_use.signatures = _with(object_use.signatures, thing.signature)
    if thing.data_type is not None:
        object_use.data_types = _with(object_use.data_types, thing.data_type)
    if thing.stage_kind is not None:
        object_use.stage_kinds = _with(object_use.stage_kinds, thing.stage_kind)
    if thing.location is not None:
        object_use.locations = _with(object_use.locations, thing.location)
    if thing.account is not None:
        object_use.accounts = _with(object_use.accounts, thing.account)


def _with(values: Values[AttributeValue], value: AttributeValue | None) -> Values[AttributeValue]:
    if value is None:
        return values
    if isinstance(values, dict):
        values[value] = None
        return values
    return {value: None}


def _columns(content: Content, uses_by_key: _UsesByKey) -> None:
    """Add the columns that are read, written, protected, or a source or target of a derivation."""
    shown: Iterator[Access | Write] = chain(content.accesses, content.writes)
    for one in shown:
        columns = uses_by_key[one.thing.key].columns
        for name, column_id in [(column.name, column.column_id) for column in one.columns]:
            if column_id is None:
                columns.setdefault(name, ())
            else:
                columns[name] = _with(columns.get(name, ()), column_id)
    for derivation in content.derivations:
        _column(uses_by_key[derivation.target_key], derivation.target_column, None)
        _column(uses_by_key[derivation.source.key], derivation.source_column, None)
    for policy in content.policies:
        _column(uses_by_key[policy.protected.key], policy.column_name, policy.column_id)


def _column(object_use: ObjectUse, name: str | None, column_id: str | None) -> None:
    if name is not None:
        object_use.columns[name] = _with(object_use.columns.get(name, ()), column_id)


def _column_of(setting: Setting, object_use: ObjectUse) -> None:
    _column(object_use, setting.column_name, setting.element_id if setting.property == "columns" else None)
    if is_rename(setting) and setting.column_name is not None and setting.value is not None:
        object_use.renamed_from[setting.value] = _with(
            object_use.renamed_from.get(setting.value, ()), setting.column_name
        )


def _new_names(change: Change, object_use: ObjectUse) -> None:
    """Add a name given by RENAME or SWAP. ``given`` is only for objects with an id: others are identified by name."""
    if change.new_name is not None:
        former = object_use.old_names.get(change.new_name, ())
        object_use.old_names[change.new_name] = dict.fromkeys((*former, change.thing.name))
        object_use.seen_as = _with(object_use.seen_as, (change.new_name, change.thing.account))
    if change.thing.object_id is not None:
        object_use.given = _with(_with(object_use.given, change.new_name), change.swap_name)


_recent: Final[Recent[ObjectUses]] = Recent(_CONTENTS)


Value = TypeVar("Value", str, "str | None")


def add(
    profiles: dict[tuple[str, str], Profile], facts: QueryFacts, learned: Recent[str] | None = None
) -> tuple[str, ...]:
    """Add what a query says to the profiles, by account and object key; new objects get a profile. Returns the sorted
    keys of all objects that the query's rows name. ``learned``: contents that were already added, with their account:
    for them only times are added.
    """
    account, end, uses = facts.account, facts.end, object_uses(facts.content)
    is_known = learned is not None and learned.get(facts.content) == account
    seen = facts.start, facts.start
    for key, object_use in uses.said.items():
        profile = profiles.get((account, key))
        if profile is None:
            profiles[account, key] = profile = Profile(account, key)
        if not is_known:
            _learn(profile, object_use)
        for name in object_use.names:
            _see(profile.names, name, seen)
        for drop in object_use.drops:
            profile.drops.add((end, facts.query_id, drop))
        for name in object_use.takes:
            profile.takes.add((end, facts.query_id, name))
        shown = (end if object_use.changes else facts.start), facts.query_id
        profile.shown = max(profile.shown, shown)
        _time(profile, object_use, facts, end)
        for after, name in uses.names.get(key, ()):
            profile.called = max(profile.called, (facts.start, after, name))
    for thing in chain(uses.around, runs_in(facts.history)):
        _stand_by(profiles, account, thing, seen)
    if learned is not None and not is_known:
        learned.keep(facts.content, account)
    return tuple(uses.said)


def _time(profile: Profile, object_use: ObjectUse, facts: QueryFacts, end: int) -> None:
    """Add when the query names, changes and makes the object. ``end``: of the query."""
    for made_again in object_use.remade:
        profile.remade.add(Event(end, facts.query_id, facts.start, *made_again))
    effect = object_use.effect
    if object_use.names:
        profile.first = min(profile.first, (facts.start, facts.query_id, effect.creates))
    if effect.makes or effect.drops:
        profile.changed = _earliest(profile.changed, end)
    if effect.makes:
        made = end, facts.query_id, not (effect.creates or effect.empties)
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
    uses = object_uses(facts.content)
    yield from dict.fromkeys(chain(uses.said, (thing.key for thing in chain(uses.around, runs_in(facts.history)))))


def merge(profile: Profile, other: Profile) -> None:
    """Merge ``other`` into ``profile``, two profiles of the same object. The result does not depend on order or
    grouping. ``other`` is not changed.
    """
    _learn(profile, other)
    profile.drops.update(other.drops)
    profile.signs.update(other.signs)
    profile.made, profile.temporary = _earliest(profile.made, other.made), _earliest(profile.temporary, other.temporary)
    profile.unclear |= other.unclear
    profile.takes.update(other.takes)
    profile.remade.update(other.remade)
    profile.first, profile.made_first = min(profile.first, other.first), min(profile.made_first, other.made_first)
    profile.changed = _earliest(profile.changed, other.changed)
    profile.shown, profile.called = max(profile.shown, other.shown), max(profile.called, other.called)
    for name, seen in other.names.items():
        _see(profile.names, name, seen)
    for name, fate in other.fates.items():
        profile.fates[name] = max(profile.fates.get(name, fate), fate)
    if other.comment is not None:
        profile.comment = max(profile.comment or other.comment, other.comment)


def _earliest(number: int | None, other: int | None) -> int | None:
    return min([time for time in (number, other) if time is not None], default=None)


def _see(names: dict[str, tuple[int, int]], name: str, seen: tuple[int, int]) -> None:
    known = names.get(name)
    if known is None:
        names[name] = seen
    elif seen[0] < known[0] or seen[1] > known[1]:
        names[name] = min(known[0], seen[0]), max(known[1], seen[1])


def _learn(profile: Profile, other: Profile | ObjectUse) -> None:
    """Merge everything except values with a time."""
    profile.object_id = profile.object_id or other.object_id
    profile.domains.update(other.domains)
    _join(profile.columns, other.columns)
    if other.given or other.old_names or other.renamed_from:
        profile.given.update(other.given)
        _join(profile.renamed_from, other.renamed_from)
        _join(profile.old_names, other.old_names)
    profile.elements.update(other.elements)
    profile.signatures.update(other.signatures)
    profile.data_types.update(other.data_types)
    profile.stage_kinds.update(other.stage_kinds)
    profile.locations.update(other.locations)
    profile.accounts.update(other.accounts)
    profile.seen_as.update(other.seen_as)


def _join(one: dict[str, set[Value]], other: Mapping[str, Collection[Value]]) -> None:
    for name, values in other.items():
        known = one.get(name)
        if known is None:
            one[name] = set(values)
        elif values:
            known.update(values)
