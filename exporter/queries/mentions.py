"""The mentions of a query: the attributes that its facts give for each object that they name. Objects are read,
written or changed, or only named (policies, partners of joins, tags).

Sources: view, "objectId", "objectName", "objectDomain"; guide, "Swap a table"; view, "ALTER … RENAME TO".
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import Struct, field

from exporter.queries.around import containers
from exporter.queries.clones import Remade, remade
from exporter.queries.content import objects
from exporter.queries.effects import CREATES, DROPS, NOTHING, Effect, effects, is_rename
from exporter.queries.facts import Thing
from exporter.queries.grants import held_as
from exporter.queries.identifiers import ROUTINE_KINDS, named
from exporter.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exporter.queries.facts import Access, Change, Content, QueryFacts, Setting, Write

Value = TypeVar("Value", str, "str | None", Remade)
_CONTENTS: Final = 6_000
_WIDE: Final = 1_000
"""Mentions are cached for this many contents, because statements recur; not those of more columns than this."""


Names = tuple[tuple[int, str], ...]
Values = dict[Value, None] | tuple[()]
"""Values, each once. The empty tuple stands for no values: it needs no memory, and most fields are empty."""


class Said(Struct, gc=False):
    """What one query says about an object: the fields of :class:`exporter.things.lives.Profile`, without times.
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


class Mentions(NamedTuple):
    """``said``: by object key, sorted. ``names``: the result of :func:`sightings`. ``around``: the schemas and
    databases of the objects, each once.
    """

    said: dict[str, Said]
    names: dict[str, Names]
    around: tuple[Thing, ...]


def mentions(content: Content) -> Mentions:
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
    return mentions(facts.content).names


def _made(content: Content) -> Mentions:
    said = _Each()
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
            of_thing.elements = _with(of_thing.elements, held_as(grant, change.thing)[1] or None)
        for setting in change.settings:
            _column_of(setting, of_thing)
            of_thing.elements = _with(of_thing.elements, setting.element_key)
    _done(content, said)
    each = {key: said[key] for key in sorted(said)}
    names = {key: _names(one) for key, one in each.items() if one.names or one.given}
    return Mentions(each, names, _around(names))


def _done(content: Content, said: _Each) -> None:
    for key, one in remade(content):
        said[key].remade = _with(said[key].remade, one)
    for key, effect in effects(content).items():
        if key in said:
            said[key].effect = effect


def _around(names: Mapping[str, Names]) -> tuple[Thing, ...]:
    found = (containers(key.split("/", 1)[0], name) for key, seen in names.items() for _, name in seen)
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _names(said: Said) -> Names:
    return tuple(sorted([(int(name in said.given), name) for name in {*said.names, *said.given}]))


class _Each(dict[str, Said]):
    def __missing__(self, key: str) -> Said:
        self[key] = said = Said()
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


def _describe(said: Said, thing: Thing) -> None:
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


def _with(values: Values[Value], value: Value | None) -> Values[Value]:
    if value is None:
        return values
    if isinstance(values, dict):
        values[value] = None
        return values
    return {value: None}


def _columns(content: Content, said: _Each) -> None:
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


def _column(said: Said, name: str | None, column_id: str | None) -> None:
    if name is not None:
        said.columns[name] = _with(said.columns.get(name, ()), column_id)


def _column_of(setting: Setting, said: Said) -> None:
    _column(said, setting.column_name, setting.element_id if setting.property == "columns" else None)
    if is_rename(setting) and setting.column_name is not None and setting.value is not None:
        said.renamed_from[setting.value] = _with(said.renamed_from.get(setting.value, ()), setting.column_name)


def _new_names(change: Change, said: Said) -> None:
    """Add a name given by RENAME or SWAP. ``given`` is only for objects with an id: others are identified by name."""
    if change.new_name is not None:
        former = said.old_names.get(change.new_name, ())
        said.old_names[change.new_name] = dict.fromkeys((*former, change.thing.name))
    if change.thing.object_id is not None:
        said.given = _with(_with(said.given, change.new_name), change.swap_name)


_recent: Final[Recent[Mentions]] = Recent(_CONTENTS)
