"""What a query does to objects: its effects on each, and with them its uses of objects, at its start and at its end.

Both are equal for all runs of a statement. A query makes a new version of an object if it writes it, creates, replaces
or restores it, gives it a policy body, or adds, drops or renames its columns by DDL (view, "object_modified_by_ddl"). A
RENAME whose row gives no id of the object ends it, and begins the one with the new name: nothing says what that one has
of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field

from exporter.input.properties import NULL
from exporter.model.answers import SettingOfChange, SettingOfQuery
from exporter.model.facts import Change, Content, Setting
from exporter.model.grants import covering_revokes, setting_of_grant
from exporter.model.identifiers import TRUNCATED, holds_data, is_known_to_hold_data, object_key
from exporter.model.object_state import SeenNames
from exporter.model.settings_in_force import Rename
from exporter.model.views import Shown, shown
from exporter.system.cache import Recent

CREATES: Final = ("CREATE", "REPLACE")
"""Operations after which nothing of a former object remains."""
DROP_OR_UNDROP: Final = ("DROP", "UNDROP")
"""Operations that remove an object and restore it."""
HOLDERS: Final = ("stage", "stream", "table", "view")
"""Kinds of objects that hold data or show it, and of which each CREATE on record makes another object."""
MASKING: Final = "MASKING_POLICY"


class Effect(Struct, gc=False):
    """The effect of one query on one object.

    At the start of the query:
    ``is_read``         the object is read, is a source of data, or is a policy that is enforced
    ``is_data``         the object is read or is a source of data
    ``is_base``         the object is among base_objects_accessed
    ``source_columns``  its columns from which data is taken
    ``settings``        tags and policies that are set or unset on it -> the names under which they are set, each with
                        the value of a tag; grants and revokes, for which property and element are those of
                        :func:`exporter.model.grants.setting_of_grant`, -> the key of the granted object, and the places
                        of the revokes that also end it, without values

    At the end of the query:
    ``drops``           the object is dropped
    ``makes``           a new version of it is made
    ``creates``         the object is made anew: that version has no former version
    ``replaces``        the same, by a REPLACE: whatever had its name or id is another object
    ``empties``         the object is truncated: that version has no former version and no sources, the object stays
    ``policy_body``     the body in that version, if the object is a policy and the row gives it
    ``written``         its columns that were written -> whether it is new: added or renamed; sorted
    ``renamed``         former and new name of its columns -> the key of the change that renames it; sorted
    ``lost``            its columns that are dropped
    """

    is_read: bool = False
    is_data: bool = False
    is_base: bool = False
    drops: bool = False
    makes: bool = False
    creates: bool = False
    replaces: bool = False
    empties: bool = False
    policy_body: str | None = None
    source_columns: set[str] = field(default_factory=set)
    settings: dict[SettingOfChange, dict[str, str | None]] = field(default_factory=dict)
    written: dict[str, bool] = field(default_factory=dict)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)


NOTHING: Final = Effect()
"""The effect on an object that the query does not name, or only names (as the partner of a join)."""
_recent: Final[Recent[Mapping[str, Effect]]] = Recent(256)


def effects(content: Content) -> Mapping[str, Effect]:
    """Object key -> effect, sorted by key. The mapping is cached for the content, so callers must not change it."""
    known = _recent.get(content)
    return _recent.keep(content, _effects(content)) if known is None else known


def key_after_rename(change: Change) -> str | None:
    """The key of what a RENAME makes of an object that its row gives without an id: such an object is known by its name
    alone, so it ends, and another one begins. None for all other changes, and for objects that hold no data, or of
    which nothing says what they are.
    """
    thing = change.thing
    if change.new_name is None or thing.object_id is not None or not is_known_to_hold_data(thing.kind):
        return None
    key = object_key(thing.kind, None, change.new_name)
    return None if key == thing.key else key


def is_rename(setting: Setting) -> bool:
    """Whether the setting renames its column; the new name is its value."""
    if setting.property != "objectName" or setting.column_name is None or setting.value is None:
        return False
    return setting.value not in {setting.column_name, TRUNCATED, NULL} and setting.value.strip(" ") != ""


def _effects(content: Content) -> Mapping[str, Effect]:
    by_key: dict[str, Effect] = defaultdict(Effect)
    _reads(content, by_key)
    for write in content.writes:
        effect = by_key[write.thing.key]
        effect.makes, effect.empties = True, content.truncates
        for column in write.columns:
            effect.written[column.name] = False
    for change in content.changes:
        _change(change, by_key)
    for effect in by_key.values():
        effect.written = dict(sorted(effect.written.items()))
        effect.renamed = dict(sorted(effect.renamed.items()))
    return {key: by_key[key] for key in sorted(by_key)}


def _reads(content: Content, by_key: dict[str, Effect]) -> None:
    for access in content.accesses:
        effect = by_key[access.thing.key]
        effect.is_read = effect.is_data = True
        if access.access == "BASE":
            effect.is_base = True
    for derivation in content.derivations:
        effect = by_key[derivation.source.key]
        effect.is_read = effect.is_data = True
        if derivation.source_column is not None:
            effect.source_columns.add(derivation.source_column)
    for reference in content.policies:
        by_key[reference.policy_key].is_read = True


def _change(change: Change, by_key: dict[str, Effect]) -> None:
    """Apply a change. Changes are applied after writes: a column that is written and added is new."""
    creates = change.operation in CREATES
    if creates or change.operation == "UNDROP" or _gives_body(change):
        effect = by_key[change.thing.key]
        effect.makes = True
        effect.creates = effect.creates or creates
        effect.replaces = effect.replaces or change.operation == "REPLACE"
        effect.policy_body = max(effect.policy_body or "", change.policy_body or "") or None
    if change.operation == "DROP":
        by_key[change.thing.key].drops = True
    renamed = key_after_rename(change)
    if renamed is not None:
        by_key[change.thing.key].drops = True
        by_key[renamed].makes = by_key[renamed].creates = True
    for setting in change.settings:
        _setting(setting, by_key)
    for grant in change.grants:
        key = change.change_key, None, *setting_of_grant(grant, change.thing)
        names = by_key[change.thing.key].settings.setdefault(key, {})
        if not grant.is_revoked:
            names.update(dict.fromkeys((grant.thing.key, *covering_revokes(grant))))


def _gives_body(change: Change) -> bool:
    """Whether the policy has another body after the change. It is not known if the row has no text of it, as where
    Snowflake cut it.
    """
    named = (setting.property == "policyBody" and setting.column_name is None for setting in change.settings)
    return change.policy_body is not None or any(named)


def _setting(setting: Setting, by_key: dict[str, Effect]) -> None:
    if setting.element_key is not None:
        key = setting.change_key, setting.column_name, setting.property, setting.element_key
        names = by_key[setting.object_key].settings.setdefault(key, {})
        if setting.sub_operation != "DROP" and setting.element is not None:
            names[setting.element] = names.get(setting.element) if setting.value is None else setting.value
    elif setting.property == "columns" and setting.sub_operation in {"ADD", "DROP"}:
        effect = by_key[setting.object_key]
        effect.makes = True
        if setting.sub_operation == "ADD" and setting.element is not None:
            effect.written[setting.element] = True
        elif setting.element is not None:
            effect.lost.add(setting.element)
    elif is_rename(setting) and setting.column_name is not None and setting.value is not None:
        effect = by_key[setting.object_key]
        effect.makes = True
        rename = setting.column_name, setting.value
        effect.renamed[rename] = min(setting.change_key, effect.renamed.get(rename, setting.change_key))
        effect.written[setting.value] = True


# --- uses of objects --------------------------------------------------------------------------------------------------


class UseAtStart(Struct, array_like=True, frozen=True, gc=False):
    """The use of an object at the start of a query. ``reads``: whether the query needs the version in force.
    ``columns``: its source columns. ``settings``: change key, column, property, element, and the names of the element.
    ``shows``: what the query shows of the sources of a view or stream. ``masks``: columns on which a masking policy was
    enforced, each with the policy's key.
    """

    reads: bool = False
    columns: tuple[str, ...] = ()
    names: SeenNames = ()
    settings: tuple[SettingOfQuery, ...] = ()
    shows: Shown | None = None
    masks: tuple[tuple[str, str], ...] = ()


class UseAtEnd(Struct, array_like=True, frozen=True, gc=False):
    """The use of an object at the end of a query. ``drops``, ``makes``, ``creates``, ``empties``, ``replaces``: as
    in :class:`Effect`. ``is_changed``: whether it is an object that holds data or shows it, and is written or changed
    by DDL. ``renamed``: former names of columns; ``carries``: their renames.
    ``written``: columns, and whether they are new. ``lost``: columns that are dropped.
    """

    drops: bool = False
    makes: bool = False
    creates: bool = False
    renamed: tuple[str, ...] = ()
    written: tuple[tuple[str, bool], ...] = ()
    lost: tuple[str, ...] = ()
    empties: bool = False
    carries: tuple[Rename, ...] = ()
    is_changed: bool = False
    replaces: bool = False


def uses_in_time(content: Content, names: Mapping[str, SeenNames]) -> list[tuple[str, UseAtStart, UseAtEnd | None]]:
    """Object key, use at the start, use at the end (None: the query changes nothing of it), sorted by key. ``names``:
    of objects, by key.
    """
    by_key, sources, changed, masked = effects(content), shown(content), _changed(content), _masked(content)
    pairs = [(key, by_key.get(key, NOTHING)) for key in sorted(by_key.keys() | names.keys() | changed | masked.keys())]
    return [
        (
            key,
            _at_start(effect, names.get(key, ()), sources.get(key), masked.get(key, ())),
            _at_end(effect, is_changed=key in changed),
        )
        for key, effect in pairs
    ]


def _masked(content: Content) -> dict[str, tuple[tuple[str, str], ...]]:
    """By object, its columns on which a masking policy was enforced, each with the policy's key; sorted."""
    by_object: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for reference in content.policies:
        if reference.policy_kind == MASKING and reference.column_name is not None:
            by_object[reference.protected.key].add((reference.column_name, reference.policy_key))
    return {key: tuple(sorted(masks)) for key, masks in by_object.items()}


def _changed(content: Content) -> set[str]:
    """The objects that hold data or show it, and are written or changed by DDL; both that change places in a SWAP."""
    keys = {write.thing.key for write in content.writes if holds_data(write.thing.kind)}
    for change in content.changes:
        if holds_data(change.thing.kind):
            keys |= {key for key in (change.thing.key, change.swap_key) if key is not None}
    return keys


def _at_start(effect: Effect, names: SeenNames, shows: Shown | None, masks: tuple[tuple[str, str], ...]) -> UseAtStart:
    settings = sorted(effect.settings.items(), key=lambda setting: [part or "" for part in setting[0]])
    of_query = tuple([_setting_of_query(key, of_element) for key, of_element in settings])
    return UseAtStart(effect.is_read, tuple(sorted(effect.source_columns)), names, of_query, shows, masks)


def _setting_of_query(key: SettingOfChange, of_element: Mapping[str, str | None]) -> SettingOfQuery:
    names = tuple(sorted(of_element))
    values = tuple([of_element[name] for name in names])
    return SettingOfQuery(*key, names, () if values.count(None) == len(values) else values)


def _at_end(effect: Effect, *, is_changed: bool) -> UseAtEnd | None:
    if not (is_changed or effect.drops or effect.makes or effect.renamed or effect.written or effect.lost):
        return None
    return UseAtEnd(
        effect.drops,
        effect.makes,
        effect.creates,
        tuple(dict.fromkeys(former for former, _ in effect.renamed)),
        tuple(effect.written.items()),
        tuple(sorted(effect.lost)),
        effect.empties,
        tuple([(former, new, change) for (former, new), change in effect.renamed.items()]),
        is_changed,
        effect.replaces,
    )
