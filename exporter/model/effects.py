"""The effects of a query on objects: reads, new versions, drops; columns written, added, renamed.

A query makes a new version of an object if it writes it, creates, replaces or restores it, gives it a policy body, or
adds, drops or renames its columns by DDL (view, "object_modified_by_ddl"). A RENAME whose row gives no id of the object
ends it, and begins the one with the new name: nothing says what that one has of it.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from exporter.input.properties import NULL
from exporter.model.grants import setting_of_grant
from exporter.model.identifiers import TRUNCATED, object_key
from exporter.system.cache import Recent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exporter.model.answers import SettingOfChange
    from exporter.model.facts import Change, Content, Setting

CREATES: Final = ("CREATE", "REPLACE")
"""Operations after which nothing of a former object remains."""
DROPS: Final = ("DROP", "UNDROP")
"""Operations that remove an object and restore it."""
HOLDERS: Final = ("stage", "stream", "table", "view")
"""Kinds of objects that hold data or show it."""


class Effect(Struct, frozen=True, gc=False):
    """The effect of one query on one object.

    At the start of the query:
    ``is_read``         the object is read, is a source of data, or is a policy that is enforced
    ``is_data``         the object is read or is a source of data
    ``is_base``         the object is among base_objects_accessed
    ``source_columns``  its columns from which data is taken, sorted
    ``settings``        tags and policies that are set or unset on it, grants and revokes (for these, property and
                        element are those of :func:`exporter.model.grants.setting_of_grant`); sorted by change key,
                        each once

    At the end of the query:
    ``drops``           the object is dropped
    ``makes``           a new version of it is made
    ``creates``         the object is made anew: that version has no former version
    ``empties``         the object is truncated: that version has no former version and no sources, the object stays
    ``policy_body``     the body in that version, if the object is a policy
    ``written``         its columns that were written, sorted, each with whether it is new: added or renamed
    ``renamed``         former and new name of its columns, sorted
    ``renamed_by``      the keys of the changes that rename them, in the same order
    ``lost``            its columns that are dropped, sorted
    """

    is_read: bool = False
    is_data: bool = False
    is_base: bool = False
    source_columns: tuple[str, ...] = ()
    settings: tuple[SettingOfChange, ...] = ()
    drops: bool = False
    makes: bool = False
    creates: bool = False
    policy_body: str | None = None
    written: tuple[tuple[str, bool], ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    lost: tuple[str, ...] = ()
    empties: bool = False
    renamed_by: tuple[str, ...] = ()


NOTHING: Final = Effect()
"""The effect on an object that the query does not name, or only names (as the partner of a join)."""


_recent: Final[Recent[Mapping[str, Effect]]] = Recent(256)


def effects(content: Content) -> Mapping[str, Effect]:
    """Object key -> effect, sorted by key. The mapping is cached for the content, so callers must not change it."""
    known = _recent.get(content)
    return _recent.keep(content, _effects(content)) if known is None else known


def known_as(change: Change) -> str | None:
    """The key of what a RENAME makes of an object that its row gives without an id: such an object is known by its name
    alone, so it ends, and another one begins. None for all other changes, and for objects that hold no data.
    """
    thing = change.thing
    if change.new_name is None or thing.object_id is not None or thing.kind not in HOLDERS:
        return None
    key = object_key(thing.kind, None, change.new_name)
    return None if key == thing.key else key


def is_rename(setting: Setting) -> bool:
    """Whether the setting renames its column; the new name is its value."""
    if setting.property != "objectName" or setting.column_name is None or setting.value is None:
        return False
    return setting.value not in {setting.column_name, TRUNCATED, NULL} and setting.value.strip(" ") != ""


class _Draft(Struct, gc=False):
    """An :class:`Effect` under construction."""

    is_read: bool = False
    is_data: bool = False
    is_base: bool = False
    drops: bool = False
    makes: bool = False
    creates: bool = False
    empties: bool = False
    policy_body: str | None = None
    source_columns: set[str] = field(default_factory=set)
    settings: set[SettingOfChange] = field(default_factory=set)
    written: dict[str, bool] = field(default_factory=dict)
    renamed: dict[tuple[str, str], str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def effect(self) -> Effect:
        return Effect(
            self.is_read,
            self.is_data,
            self.is_base,
            tuple(sorted(self.source_columns)),
            tuple(sorted(self.settings, key=_in_order)),
            self.drops,
            self.makes,
            self.creates,
            self.policy_body,
            tuple(sorted(self.written.items())),
            tuple(sorted(self.renamed)),
            tuple(sorted(self.lost)),
            self.empties,
            tuple([change for _, change in sorted(self.renamed.items())]),
        )


def _in_order(setting: SettingOfChange) -> list[str]:
    return [part or "" for part in setting]


def _effects(content: Content) -> Mapping[str, Effect]:
    drafts: dict[str, _Draft] = defaultdict(_Draft)
    _reads(content, drafts)
    for write in content.writes:
        draft = drafts[write.thing.key]
        draft.makes, draft.empties = True, content.truncates
        for column in write.columns:
            draft.written[column.name] = False
    for change in content.changes:
        _change(change, drafts)
    return {key: drafts[key].effect() for key in sorted(drafts)}


def _reads(content: Content, drafts: dict[str, _Draft]) -> None:
    for access in content.accesses:
        draft = drafts[access.thing.key]
        draft.is_read = draft.is_data = True
        if access.access == "BASE":
            draft.is_base = True
    for derivation in content.derivations:
        draft = drafts[derivation.source.key]
        draft.is_read = draft.is_data = True
        if derivation.source_column is not None:
            draft.source_columns.add(derivation.source_column)
    for reference in content.policies:
        drafts[reference.policy_key].is_read = True


def _change(change: Change, drafts: dict[str, _Draft]) -> None:
    """Apply a change. Changes are applied after writes: a column that is written and added is new."""
    creates = change.operation in CREATES
    if creates or change.operation == "UNDROP" or change.policy_body is not None:
        draft = drafts[change.thing.key]
        draft.makes = True
        draft.creates = draft.creates or creates
        draft.policy_body = max(draft.policy_body or "", change.policy_body or "") or None
    if change.operation == "DROP":
        drafts[change.thing.key].drops = True
    renamed = known_as(change)
    if renamed is not None:
        drafts[change.thing.key].drops = True
        drafts[renamed].makes = drafts[renamed].creates = True
    for setting in change.settings:
        _setting(setting, drafts)
    for grant in change.grants:
        drafts[change.thing.key].settings.add((change.change_key, None, *setting_of_grant(grant, change.thing)))


def _setting(setting: Setting, drafts: dict[str, _Draft]) -> None:
    if setting.element_key is not None:
        key = setting.change_key, setting.column_name, setting.property, setting.element_key
        drafts[setting.object_key].settings.add(key)
    elif setting.property == "columns" and setting.sub_operation in {"ADD", "DROP"}:
        draft = drafts[setting.object_key]
        draft.makes = True
        if setting.sub_operation == "ADD" and setting.element is not None:
            draft.written[setting.element] = True
        elif setting.element is not None:
            draft.lost.add(setting.element)
    elif is_rename(setting):
        assert setting.column_name is not None
        assert setting.value is not None
        draft = drafts[setting.object_key]
        draft.makes = True
        names = setting.column_name, setting.value
        draft.renamed[names] = min(setting.change_key, draft.renamed.get(names, setting.change_key))
        draft.written[setting.value] = True
