"""Which renames and swaps of tags and policies without an id concern an answer.

What is renamed without an id is not followed under its new name (:mod:`exporter.ask.without_id`), so an answer may lack
what a tag or policy on the objects that are asked for does under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final, NamedTuple

from exporter.ask.lookups import Lookups
from exporter.ask.notes.asked import POLICY_COVERAGE, UNMASKED_READS, Asked
from exporter.ask.notes.settings_without_id import SET_BY, containers_of, older_masks_of
from exporter.ask.triples import LATE
from exporter.ask.without_id import Key, Renaming, linked_names, renamings
from exporter.system.reachable import reachable

_MASKING: Final = "maskingPolicies"


class _Setting(NamedTuple):
    """A tag or policy on an object or column, or a policy on a tag. ``element``: the tag or policy; ``keys``: the names
    of it and of the tag that it is on, if they have no id; ``since``, ``until``: when it holds by its rows.
    """

    element: str
    keys: AbstractSet[Key]
    is_tag: bool
    is_masking: bool
    since: datetime
    until: datetime

    def held_at(self, renaming: Renaming) -> bool:
        """Whether it held when one of them was renamed."""
        return not self.keys.isdisjoint(renaming.ends) and self.since <= renaming.time <= self.until


def renamings_of(asked: Asked) -> Iterator[Renaming]:
    """All renames and swaps without an id until the time that is asked for, in order."""
    return (renaming for renaming in renamings(asked.graph) if asked.until is None or renaming.time <= asked.until)


def renamings_of_settings(asked: Asked, renamings: Iterable[Renaming], things: Iterable[str]) -> list[Renaming]:
    """Those of ``renamings`` (in order of time) that can concern what is set on ``things``: of a tag or policy while it
    is set on them, their columns, schemas and databases; of such a tag while a policy is set on it, whatever its name
    is then; and later ones of the names that these lead to.
    """
    of_elements = [renaming for renaming in renamings if renaming.kind == "tag" or renaming.kind.endswith("policy")]
    settings = list(_settings(asked, things, of_elements)) if of_elements and asked.name in SET_BY else []
    concerning, names = list[Renaming](), set[Key]()
    for renaming in of_elements if settings else ():
        if not names.isdisjoint(renaming.ends) or any(setting.held_at(renaming) for setting in settings):
            concerning.append(renaming)
            names |= renaming.ends
    return concerning


def _settings(asked: Asked, things: Iterable[str], renamings: Sequence[Renaming]) -> Iterator[_Setting]:
    """The settings that the answer needs: on the objects and their columns, and on the tags of these. A question about
    what has a tag needs no policies of what has none; one about masks needs tags only if one of them has a mask.
    """
    graph, whole = asked.graph, set(things)
    own = [setting for thing in whole for setting in _on(graph, thing, _columns(asked, thing))]
    own += [setting for around in containers_of(graph, whole) for setting in _on(graph, around) if setting.is_tag]
    own += [setting for thing in whole for setting in _enforced_on(asked, thing)]
    of_objects = [setting for setting in own if setting.is_tag]
    names = linked_names({key for setting in of_objects for key in setting.keys}, renamings)
    tags = {setting.element for setting in of_objects} | {
        holder.iri for account, name in names for holder in graph.holders(name) if holder.key == (account, name)
    }
    on_tags = [setting for tag in tags if graph.text(tag, "ah:domain") == "Tag" for setting in _on(graph, tag)]
    if asked.name == UNMASKED_READS:
        on_tags = [setting for setting in on_tags if setting.is_masking]
        yield from (setting for setting in own if setting.is_masking or (setting.is_tag and on_tags))
    elif "ah:PolicySetting" not in SET_BY[asked.name] or (asked.name == POLICY_COVERAGE and not of_objects):
        yield from of_objects
        return
    else:
        yield from own
    yield from on_tags


def _on(graph: Lookups, thing: str, columns: AbstractSet[str] | None = None) -> Iterator[_Setting]:
    """What is set on an object, schema, database or tag. ``columns``: only on these columns, and on the whole."""
    for setting in graph.subjects("ah:settingOn", thing):
        element, since = graph.text(setting, "ah:elementObject"), graph.text(setting, "ah:validFrom")
        column = graph.text(setting, "ah:onColumn")
        if element is None or since is None or (columns is not None and column is not None and column not in columns):
            continue
        property_name, until = graph.text(setting, "ah:property"), graph.text(setting, "ah:validUntil")
        yield _Setting(
            element,
            {holder.key for node in (element, thing) for holder in graph.names_of(node) if not holder.ident},
            property_name == "tags",
            property_name == _MASKING,
            datetime.fromisoformat(since),
            datetime.fromisoformat(until) if until else LATE,
        )


def _enforced_on(asked: Asked, thing: str) -> Iterator[_Setting]:
    """The masks on an object and the columns that are asked for that were only enforced."""
    graph, columns = asked.graph, _columns(asked, thing)
    masks = (mask for mask in graph.subjects("ah:protectedObject", thing) if graph.is_mask(mask))
    for holding in older_masks_of(asked, {policy for mask in masks for policy in graph.objects(mask, "ah:policy")}):
        if holding.thing == thing and (not holding.column or columns is None or holding.column in columns):
            keys = {holder.key for holder in graph.names_of(holding.element) if not holder.ident}
            yield _Setting(
                holding.element, keys, is_tag=False, is_masking=True, since=holding.since, until=holding.until
            )


def _columns(asked: Asked, thing: str) -> set[str] | None:
    """The columns of an object that are asked for, under all their names; None for all columns."""
    graph, names = asked.graph, asked.match_names("column_name")
    return set(reachable(graph.columns_of(thing, names), graph.renamed_columns)) if names else None
