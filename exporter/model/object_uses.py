"""The uses of objects by a query, at its start and at its end. They are equal for all runs of a statement."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from exporter.model.answers import SettingOfQuery
from exporter.model.effects import effects
from exporter.model.grants import places, setting_of_grant
from exporter.model.object_history import UseAtEnd, UseAtStart
from exporter.model.profiles import attributes_of
from exporter.model.views import shown

if TYPE_CHECKING:
    from exporter.model.answers import SettingOfChange
    from exporter.model.effects import Effect
    from exporter.model.facts import Content, QueryFacts
    from exporter.model.profiles import SeenNames
    from exporter.model.views import Shown

ElementNames = tuple[tuple[str, ...], tuple[str | None, ...]]
"""The names and the values of an element (:class:`exporter.model.answers.SettingOfQuery`)."""


def uses_in_time(facts: QueryFacts) -> list[tuple[str, UseAtStart, UseAtEnd | None]]:
    """Object key, use at the start, use at the end (None: the query changes nothing of it), sorted by key."""
    by_key, names, sources = effects(facts.content), attributes_of(facts.content).names, shown(facts.content)
    elements = _elements(facts.content)
    return [
        (key, _at_start(by_key.get(key), names.get(key, ()), elements, sources.get(key)), _at_end(by_key.get(key)))
        for key in sorted(by_key.keys() | names.keys())
    ]


def _elements(content: Content) -> dict[SettingOfChange, ElementNames]:
    """By setting, the names of the tag or policy that is set, and the value by each name; for a grant the key of the
    granted object, and the places of the revokes that also end it, and no values.
    """
    found: dict[SettingOfChange, set[str]] = {}
    values: dict[tuple[SettingOfChange, str], str] = {}
    for setting in chain.from_iterable(change.settings for change in content.changes):
        if setting.element_key is not None:
            key = setting.change_key, setting.column_name, setting.property, setting.element_key
            names = found.setdefault(key, set())
            if setting.sub_operation != "DROP" and setting.element is not None:
                names.add(setting.element)
                if setting.value is not None:
                    values[key, setting.element] = setting.value
    for change in content.changes:
        for grant in change.grants:
            names = found.setdefault((change.change_key, None, *setting_of_grant(grant, change.thing)), set())
            if not grant.is_revoked:
                names.update((grant.thing.key, *places(grant)))
    of_settings = {key for key, _ in values}
    return {
        key: (
            tuple(sorted(names)),
            tuple([values.get((key, name)) for name in sorted(names)] if key in of_settings else ()),
        )
        for key, names in found.items()
    }


def _at_start(
    effect: Effect | None,
    names: SeenNames,
    elements: dict[SettingOfChange, ElementNames],
    shows: Shown | None,
) -> UseAtStart:
    if effect is None:
        return UseAtStart(names=names, shows=shows)
    settings = tuple([SettingOfQuery(*key, *elements[key]) for key in effect.settings])
    return UseAtStart(effect.is_read, effect.source_columns, names, settings, shows)


def _at_end(effect: Effect | None) -> UseAtEnd | None:
    if effect is None or not (effect.drops or effect.makes or effect.renamed or effect.written or effect.lost):
        return None
    carries = tuple([(old, new, by) for (old, new), by in zip(effect.renamed, effect.renamed_by, strict=True)])
    renamed = tuple(dict.fromkeys(former for former, _ in effect.renamed))
    return UseAtEnd(
        effect.drops, effect.makes, effect.creates, renamed, effect.written, effect.lost, effect.empties, carries
    )
