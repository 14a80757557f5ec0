"""The profile of an object: what all queries say of it, merged. The result does not depend on order or grouping.

A query gives attributes for each object that its facts name: objects that it read, wrote or changed, and objects that
are only named (policies, partners of joins, tags). Sources: view, "objectId", "objectName", "objectDomain"; guide,
"Swap a table"; view, "ALTER … RENAME TO".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from msgspec import Struct, field

from exporter.model.clones import Remade, remade
from exporter.model.effects import CREATES, DROP_OR_UNDROP, effects, is_rename, key_after_rename
from exporter.model.facts import Change, Content, ObjectReference, QueryFacts, Setting
from exporter.model.grants import setting_of_grant
from exporter.model.identifiers import ROUTINE_KINDS, known_name
from exporter.model.object_state import (
    ATTRIBUTES,
    CUT_NAME,
    ContainerEvent,
    NameAndAccount,
    NamesOfQuery,
    Profile,
    SeenNames,
    names_of_query,
)
from exporter.model.objects import containers, runs_in
from exporter.model.other_accounts import account_in
from exporter.model.query import objects
from exporter.system.cache import CONTENTS, Recent

AttributeValue = TypeVar("AttributeValue", str, "str | None", Remade, NameAndAccount)
_OF_COLUMN: Final = 128
"""Bytes of the attributes of a column, about."""
_recent: Final[Recent[ContentAttributes]] = Recent(CONTENTS)

Values = dict[AttributeValue, None] | tuple[()] | tuple[AttributeValue]
"""Values, each once. Most fields have no value or a single one: tuples, which need a fraction of the memory."""


class Attributes(Struct, gc=False):
    """The attributes that one query gives for an object: the fields of :class:`exporter.model.object_state.Profile`,
    without times. ``changes``: whether the query writes or changes the object; ``creates``: whether it makes it anew.
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
    creates: bool = False


class ContentAttributes(NamedTuple):
    """What a content says about objects. ``of_objects``: by object key, sorted. ``names``: by object key, sorted; only
    objects that have a name. ``containers``: the schemas and databases of the objects, each once.
    """

    of_objects: dict[str, Attributes]
    names: dict[str, SeenNames]
    containers: tuple[ObjectReference, ...]


def attributes_of(content: Content) -> ContentAttributes:
    """What the content says about objects. The result is cached, so callers must not change it."""
    known = _recent.get(content)
    if known is not None:
        return known
    made = _attributes_of(content)
    columns = sum(len(attributes.columns) for attributes in made.of_objects.values())
    return _recent.keep(content, made, columns * _OF_COLUMN)


def _attributes_of(content: Content) -> ContentAttributes:
    by_key: dict[str, Attributes] = defaultdict(Attributes)
    for thing in chain(objects(content), _only_named(content)):
        _describe(by_key[thing.key], thing)
    _add_columns(content, by_key)
    for write in content.writes:
        by_key[write.thing.key].changes = True
    for change in content.changes:
        _add_change(change, by_key[change.thing.key])
        if change.swap_key is not None and change.swap_id is not None:  # also if the row of its own side is missing
            partner = by_key[change.swap_key]
            partner.given = _with_value(partner.given, change.thing.name)
    for key, container in remade(content):
        by_key[key].remade = _with_value(by_key[key].remade, container)
    for key, effect in effects(content).items():
        if key in by_key:
            by_key[key].creates = effect.creates
    of_objects = {key: by_key[key] for key in sorted(by_key)}
    names = {key: _names(attributes) for key, attributes in of_objects.items() if attributes.names or attributes.given}
    for change in content.changes:
        if _has_unknown_name(change) and not of_objects[change.thing.key].given:
            names[change.thing.key] = (*names.get(change.thing.key, ()), CUT_NAME)
    return ContentAttributes(of_objects, names, _containers(names))


def _has_unknown_name(change: Change) -> bool:
    """Whether the change gives its object a name that Snowflake cut: that of the partner of a SWAP."""
    return change.swap_id is not None and change.swap_name is None and change.thing.object_id is not None


def _add_change(change: Change, attributes: Attributes) -> None:
    attributes.changes = True
    if change.operation in CREATES and change.thing.object_id and change.thing.kind not in ROUTINE_KINDS:
        attributes.takes = _with_value(attributes.takes, change.thing.name)
    if change.operation in DROP_OR_UNDROP or (change.operation == "REPLACE" and _is_element(change.thing.kind)):
        attributes.drops = _with_value(attributes.drops, change.operation)
    _add_new_names(change, attributes)
    for grant in change.grants:
        attributes.elements = _with_value(attributes.elements, setting_of_grant(grant, change.thing)[1] or None)
    for setting in change.settings:
        attributes.elements = _with_value(attributes.elements, setting.element_key)
        _add_column_of_setting(setting, attributes)


def _is_element(kind: str) -> bool:
    """Whether things of this kind are set on others, and end there when they are made anew: tags and policies."""
    return kind == "tag" or kind.endswith("policy")


def _containers(names: Mapping[str, SeenNames]) -> tuple[ObjectReference, ...]:
    named = ((key, name) for key, seen in names.items() for _, name in seen)
    references = (containers(key.split("/", 1)[0], name, account_in(key)) for key, name in named)
    return tuple(dict.fromkeys(chain.from_iterable(references)))


def _names(attributes: Attributes) -> SeenNames:
    return tuple(sorted([(int(name in attributes.given), name) for name in {*attributes.names, *attributes.given}]))


def _only_named(content: Content) -> Iterator[ObjectReference]:
    """The objects that are only named: policies, tags, partners of a SWAP, sources of a CLONE, objects of grants."""
    for policy in content.policies:
        yield _reference(policy.policy_key, policy.policy_kind.replace("_", " "), policy.policy_id, policy.policy_name)
    for change in content.changes:
        renamed = key_after_rename(change)
        if renamed is not None:
            yield _reference(renamed, change.thing.domain, None, change.new_name)
        if change.swap_key is not None:
            yield _reference(change.swap_key, change.swap_domain, change.swap_id, change.swap_name)
        if change.source_key is not None:
            yield _reference(change.source_key, change.source_domain, change.source_id, change.source_name)
        for grant in change.grants:
            yield from (thing for thing in (grant.thing, grant.grantee) if thing is not None and thing != change.thing)
        for setting in change.settings:
            if setting.element_key is not None:
                domain = setting.element_key.split("/", 1)[0].replace("-", " ").upper()
                yield _reference(setting.element_key, domain, setting.element_id, known_name(setting.name_of_element()))


def _reference(key: str, domain: str | None, object_id: str | None, name: str | None) -> ObjectReference:
    return ObjectReference(key, key.split("/", 1)[0], domain, object_id, name)


def _describe(attributes: Attributes, thing: ObjectReference) -> None:
    attributes.object_id = thing.object_id or attributes.object_id
    attributes.names = _with_value(attributes.names, thing.name)
    attributes.seen_as = _with_value(attributes.seen_as, (thing.name, thing.account))
    for name, values in ATTRIBUTES.items():
        value = getattr(thing, name)
        if value is not None:
            setattr(attributes, values, _with_value(getattr(attributes, values), value))


def _with_value(values: Values[AttributeValue], value: AttributeValue | None) -> Values[AttributeValue]:
    if value is None:
        return values
    if isinstance(values, dict):
        values[value] = None
        return values
    if not values:
        return (value,)
    return values if values[0] == value else {values[0]: None, value: None}


def _add_columns(content: Content, by_key: dict[str, Attributes]) -> None:
    """Add the columns that are read, written, protected, or a source or target of a derivation."""
    used = [(use.thing.key, use.columns) for use in content.accesses]
    for key, columns in chain(used, ((write.thing.key, write.columns) for write in content.writes)):
        for column in columns:
            _add_column(by_key[key], column.name, column.column_id)
    for derivation in content.derivations:
        _add_column(by_key[derivation.target_key], derivation.target_column, None)
        _add_column(by_key[derivation.source.key], derivation.source_column, None)
    for policy in content.policies:
        _add_column(by_key[policy.protected.key], policy.column_name, policy.column_id)


def _add_column(attributes: Attributes, name: str | None, column_id: str | None) -> None:
    if name is not None:
        attributes.columns[name] = _with_value(attributes.columns.get(name, ()), column_id)


def _add_column_of_setting(setting: Setting, attributes: Attributes) -> None:
    _add_column(attributes, setting.column_name, setting.element_id if setting.property == "columns" else None)
    if is_rename(setting) and setting.column_name is not None and setting.value is not None:
        attributes.renamed_from[setting.value] = _with_value(
            attributes.renamed_from.get(setting.value, ()), setting.column_name
        )


def _add_new_names(change: Change, attributes: Attributes) -> None:
    """Add a name given by RENAME or SWAP. ``given`` is only for objects with an id: others are identified by name."""
    if change.new_name is not None:
        former = attributes.old_names.get(change.new_name, ())
        attributes.old_names[change.new_name] = dict.fromkeys((*former, change.thing.name))
        attributes.seen_as = _with_value(attributes.seen_as, (change.new_name, change.thing.account))
    if change.thing.object_id is not None:
        attributes.given = _with_value(_with_value(attributes.given, change.new_name), change.swap_name)


def add(
    profiles: dict[tuple[str, str], Profile], facts: QueryFacts, learned: Recent[str] | None = None
) -> tuple[str, ...]:
    """Add what a query says to the profiles, by account and object key; new objects get a profile. Returns the sorted
    keys of all objects that the query's rows name. ``learned``: contents that were already added, with their account:
    for them only times are added.
    """
    account, content, seen = facts.account, attributes_of(facts.content), (facts.start, facts.start)
    is_known = learned is not None and learned.get(facts.content) == account
    for key, attributes in content.of_objects.items():
        profile = _profile(profiles, account, key)
        if not is_known:
            _learn(profile, attributes)
        for name in attributes.names:
            _see(profile.names, name, seen)
        _add_times(profile, attributes, facts)
        names = content.names.get(key)
        if names is not None:
            own = frozenset((names_of_query(facts.query_id, names),))
            profile.called = _latest(profile.called, (facts.start, own))
    for thing in chain(content.containers, runs_in(facts.history)):
        profile = _profile(profiles, account, thing.key)
        if thing.domain is not None:
            profile.domains.add(thing.domain)
        if thing.name is not None:
            _see(profile.names, thing.name, seen)
    if learned is not None and not is_known:
        learned.keep(facts.content, account)
    return tuple(content.of_objects)


def _add_times(profile: Profile, attributes: Attributes, facts: QueryFacts) -> None:
    """Add when the query names the object, drops it, takes its name, and makes a schema or database anew."""
    start, query_id = facts.start, facts.query_id
    profile.shown = max(profile.shown, (facts.end if attributes.changes else start, query_id))
    if attributes.names:
        profile.first = min(profile.first, (start, query_id, attributes.creates))
    for name in attributes.given:
        profile.given_at[name] = max(start, profile.given_at.get(name, start))
    for drop in attributes.drops:
        profile.drops.add((facts.end, query_id, drop))
    for name in attributes.takes:
        profile.takes.add((facts.end, query_id, name))
    for container in attributes.remade:
        own = "" if attributes.object_id is None else profile.key
        profile.remade.add(ContainerEvent(facts.end, query_id, start, *container, own))


def _profile(profiles: dict[tuple[str, str], Profile], account: str, key: str) -> Profile:
    profile = profiles.get((account, key))
    if profile is None:
        profiles[account, key] = profile = Profile(account, key)
    return profile


def keys(facts: QueryFacts) -> Iterator[str]:
    """The keys of all objects that a query names, including schemas, databases, role and warehouse; each once."""
    content = attributes_of(facts.content)
    beside = (thing.key for thing in chain(content.containers, runs_in(facts.history)))
    yield from dict.fromkeys(chain(content.of_objects, beside))


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
    profile.first = min(profile.first, other.first)
    profile.shown, profile.called = max(profile.shown, other.shown), _latest(profile.called, other.called)
    for name, seen in other.names.items():
        _see(profile.names, name, seen)
    for name, at in other.given_at.items():
        profile.given_at[name] = max(at, profile.given_at.get(name, at))
    for name, change in other.last_changes.items():
        profile.last_changes[name] = max(profile.last_changes.get(name, change), change)
    if other.comment is not None:
        profile.comment = max(profile.comment or other.comment, other.comment)


def _latest(
    called: tuple[int, frozenset[NamesOfQuery]], other: tuple[int, frozenset[NamesOfQuery]]
) -> tuple[int, frozenset[NamesOfQuery]]:
    """The later of two; of one time, both together."""
    if called[0] == other[0]:
        return called[0], called[1] | other[1]
    return called if called[0] > other[0] else other


def _earliest(number: int | None, other: int | None) -> int | None:
    return min([time for time in (number, other) if time is not None], default=None)


def _see(names: dict[str, tuple[int, int]], name: str, seen: tuple[int, int]) -> None:
    known = names.get(name)
    if known is None:
        names[name] = seen
    elif seen[0] < known[0] or seen[1] > known[1]:
        names[name] = min(known[0], seen[0]), max(known[1], seen[1])


_SETS: Final = (*ATTRIBUTES.values(), "seen_as", "elements")


def _learn(profile: Profile, other: Profile | Attributes) -> None:
    """Merge everything except values with a time."""
    profile.object_id = profile.object_id or other.object_id
    _join(profile.columns, other.columns)
    if other.given or other.old_names or other.renamed_from:
        profile.given.update(other.given)
        _join(profile.renamed_from, other.renamed_from)
        _join(profile.old_names, other.old_names)
    for name in _SETS:
        values = getattr(other, name)
        if values:
            getattr(profile, name).update(values)


def _join(kept: dict[str, set[AttributeValue]], other: Mapping[str, Collection[AttributeValue]]) -> None:
    for name, values in other.items():
        known = kept.get(name)
        if known is None:
            kept[name] = set(values)
        elif values:
            known.update(values)
