"""What queries say of an object, in any order, merged to its profile.

The mentions of a query: the attributes that its facts give for each object that they name. Objects are read,
written or changed, or only named (policies, partners of joins, tags).

Sources: view, "objectId", "objectName", "objectDomain"; guide, "Swap a table"; view, "ALTER … RENAME TO".

Merge what all queries say about an object; the result does not depend on order or grouping.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import Struct, field

from exporter.model.clones import Remade, remade
from exporter.model.effects import CREATES, DROPS, NOTHING, Effect, effects, is_rename
from exporter.model.facts import Thing
from exporter.model.grants import setting_of_grant
from exporter.model.identifiers import ROUTINE_KINDS, named
from exporter.model.object_state import Event, Profile
from exporter.model.objects import containers, runs_in
from exporter.model.query import objects
from exporter.system.cache import Recent

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from exporter.model.facts import Access, Change, Content, QueryFacts, Setting, Write

AttributeValue = TypeVar("AttributeValue", str, "str | None", Remade)
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
    is_wide = sum(len(one.columns) for one in made.said.values()) > _WIDE
    return made if is_wide else _recent.keep(content, made)


def sightings(facts: QueryFacts) -> Mapping[str, Names]:
    """By object key, sorted: the names that the object has in the query's rows (0, name), and those that the query
    gives it by RENAME or SWAP (1, name). A name that is both counts as given. A given name is later than the others.

    The result is cached for the content, so callers must not change it.
    """
    return object_uses(facts.content).names


def _made(content: Content) -> ObjectUses:
    said = _UsesByKey()
    for thing in chain(objects(content), _beside(content)):
        _describe(said[thing.key], thing)
    _columns(content, said)
    for write in content.writes:
        said[write.thing.key].changes = True
    for change in content.changes:
        of_thing = said[change.thing.key]
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
    _done(content, said)
    each = {key: said[key] for key in sorted(said)}
    names = {key: _names(one) for key, one in each.items() if one.names or one.given}
    return ObjectUses(each, names, _around(names))


def _done(content: Content, said: _UsesByKey) -> None:
    for key, one in remade(content):
        said[key].remade = _with(said[key].remade, one)
    for key, effect in effects(content).items():
        if key in said:
            said[key].effect = effect


def _around(names: Mapping[str, Names]) -> tuple[Thing, ...]:
    found = (containers(key.split("/", 1)[0], name) for key, seen in names.items() for _, name in seen)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _names(said: ObjectUse) -> Names:
    return tuple(sorted([(int(name in said.given), name) for name in {*said.names, *said.given}]))


class _UsesByKey(dict[str, ObjectUse]):
    def __missing__(self, key: str) -> ObjectUse:
        self[key] = said = ObjectUse()
        return said


def _beside(content: Content) -> Iterator[Thing]:
    """The objects that are only named: policies, tags, partners of a SWAP, sources of a CLONE, objects of grants."""
    for policy in content.policies:
        yield _thing(policy.policy_key, policy.policy_kind.replace("_", " "), policy.policy_id, policy.policy_name)
    for change in content.changes:
        if change.swap_key is not None:
            yield _thing(change.swap_key, change.swap_domain, change.swap_id, change.swap_name)
        if change.source_key is not None:
            yield _thing(change.source_key, change.source_domain, change.source_id, change.source_name)
        for grant in change.grants:
            yield from (one for one in (grant.thing, grant.grantee) if one is not None and one != change.thing)
        for setting in change.settings:
            if setting.element_key is not None:
                domain = setting.element_key.split("/", 1)[0].replace("-", " ").upper()
                yield _thing(setting.element_key, domain, setting.element_id, named(setting.element))


def _thing(key: str, domain: str | None, object_id: str | None, name: str | None) -> Thing:
    return Thing(key, key.split("/", 1)[0], domain, object_id, name)


def _describe(said: ObjectUse, thing: Thing) -> None:
    said.object_id = thing.object_id or said.object_id
    said.domains = _with(said.domains, thing.domain)
    said.names = _with(said.names, thing.name)
    if thing.signature is not None:
        said.signatures = _with(said.signatures, thing.signature)
    if thing.data_type is not None:
        said.data_types = _with(said.data_types, thing.data_type)
    if thing.stage_kind is not None:
        said.stage_kinds = _with(said.stage_kinds, thing.stage_kind)
    if thing.location is not None:
        said.locations = _with(said.locations, thing.location)
    if thing.account is not None:
        said.accounts = _with(said.accounts, thing.account)


def _with(values: Values[AttributeValue], value: AttributeValue | None) -> Values[AttributeValue]:
    if value is None:
        return values
    if isinstance(values, dict):
        values[value] = None
        return values
    return {value: None}


def _columns(content: Content, said: _UsesByKey) -> None:
    """Add the columns that are read, written, protected, or a source or target of a derivation."""
    shown: Iterator[Access | Write] = chain(content.accesses, content.writes)
    for one in shown:
        columns = said[one.thing.key].columns
        for name, column_id in [(column.name, column.column_id) for column in one.columns]:
            if column_id is None:
                columns.setdefault(name, ())
            else:
                columns[name] = _with(columns.get(name, ()), column_id)
    for derivation in content.derivations:
        _column(said[derivation.target_key], derivation.target_column, None)
        _column(said[derivation.source.key], derivation.source_column, None)
    for policy in content.policies:
        _column(said[policy.protected.key], policy.column_name, policy.column_id)


def _column(said: ObjectUse, name: str | None, column_id: str | None) -> None:
    if name is not None:
        said.columns[name] = _with(said.columns.get(name, ()), column_id)


def _column_of(setting: Setting, said: ObjectUse) -> None:
    _column(said, setting.column_name, setting.element_id if setting.property == "columns" else None)
    if is_rename(setting) and setting.column_name is not None and setting.value is not None:
        said.renamed_from[setting.value] = _with(said.renamed_from.get(setting.value, ()), setting.column_name)


def _new_names(change: Change, said: ObjectUse) -> None:
    """Add a name given by RENAME or SWAP. ``given`` is only for objects with an id: others are identified by name."""
    if change.new_name is not None:
        former = said.old_names.get(change.new_name, ())
        said.old_names[change.new_name] = dict.fromkeys((*former, change.thing.name))
    if change.thing.object_id is not None:
        said.given = _with(_with(said.given, change.new_name), change.swap_name)


_recent: Final[Recent[ObjectUses]] = Recent(_CONTENTS)


Value = TypeVar("Value", str, "str | None")


def add(
    profiles: dict[tuple[str, str], Profile], facts: QueryFacts, learned: Recent[str] | None = None
) -> tuple[str, ...]:
    """Add what a query says to the profiles, by account and object key; new objects get a profile. Returns the sorted
    keys of all objects that the query's rows name. ``learned``: contents that were already added, with their account:
    for them only times are added.
    """
    told, account = object_uses(facts.content), facts.account
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


def _time(profile: Profile, one: ObjectUse, facts: QueryFacts) -> None:
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
    told = object_uses(facts.content)
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


def _learn(one: Profile, other: Profile | ObjectUse) -> None:
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
