"""Nodes of DDL changes, and of everything that they set and unset, with the period for which it held."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from exporter.graph.kinds import SETTING_CLASSES
from exporter.graph.nodes.grants import grants
from exporter.graph.terms import Node
from exporter.graph.vocabulary import CHANGE, SETTING
from exporter.queries.identifiers import segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exporter.graph.nodes.told import Told
    from exporter.graph.terms import Values
    from exporter.queries.facts import Change, Setting


def changes(told: Told) -> Iterator[tuple[Node, list[Node]]]:
    """One activity for each DDL change, as a part of its query; with it the nodes of its settings and grants."""
    for change in told.content.changes:
        iri = f"{told.query}/change/{change.change_key}"
        settings = [_setting(iri, setting, told) for setting in change.settings]
        granted = grants(change, iri, told)
        carried = list(_carried(change.change_key, told)) if told.answers.carried else []
        yield Node(CHANGE, iri, CHANGE.types, _change(change, settings, granted, told)), [*settings, *granted, *carried]


def _carried(change_key: str, told: Told) -> Iterator[Node]:
    """The tags and policies that follow the columns that a change renames. The change did not set them, so it does not
    refer to them; each refers to what it was under the former name.
    """
    iris = told.iris
    for object_key, query_id, before, now in sorted(
        (key, *one) for key, each in told.answers.carried.items() for one in each if one[2][0] == change_key
    ):
        _, column, property_, element_key, names, known = now
        assert column is not None, "only settings of columns are carried"
        assert element_key is not None, "only tags and policies are held"
        for name, value in zip(names, known or (None,) * len(names), strict=True):
            former = setting_iri(f"{iris.query(query_id)}/change/{before[0]}", before[1], property_, name)
            values: Values = {
                "ah:property": (property_,),
                "ah:settingOn": (iris.object(object_key),),
                "ah:onColumn": (iris.path(f"{object_key}/column/{segment(column)}"),),
                "ah:element": (name,),
                "ah:elementObject": (iris.path(element_key),),
                "ah:carriedFrom": (former,),
                "ah:validFrom": (told.end,),
            }
            if value is not None:
                values["ah:value"] = (value,)
            until = told.answers.settings.get(now[:4])
            if until is not None:
                values["ah:validUntil"] = (until,)
            iri = setting_iri(f"{told.query}/change/{change_key}", column, property_, name)
            yield Node(SETTING, iri, setting_types(property_, is_plain=False), values)


def _change(change: Change, settings: list[Node], granted: list[Node], told: Told) -> Values:
    iris = told.iris
    values: Values = {
        "dcterms:isPartOf": (told.query,),
        "prov:startedAtTime": (told.start,),
        "ah:operation": (change.operation,),
        "ah:changedObject": (iris.object(change.thing.key),),
    }
    said = {
        "ah:objectName": change.thing.name,
        "ah:newName": change.new_name,
        "ah:swappedWith": None if change.swap_key is None else iris.path(change.swap_key),
        "ah:swappedWithName": change.swap_name,
        "ah:madeFrom": None if change.source_key is None else iris.path(change.source_key),
        "ah:madeFromName": change.source_name,
        "ah:policyBody": change.policy_body,
        "ah:comment": change.comment,
        "ah:properties": change.properties,
    }
    values.update({term: (value,) for term, value in said.items() if value is not None})
    if settings:
        values["ah:hasSetting"] = tuple(sorted({setting.iri for setting in settings}))
    if granted:
        values["ah:hasGrant"] = tuple(sorted([grant.iri for grant in granted]))
    return values


def _setting(change_iri: str, setting: Setting, told: Told) -> Node:
    """``CHANGE/setting/[column/COLUMN/]PROPERTY[/ELEMENT]``."""
    column = None if setting.column_name is None else segment(setting.column_name)
    iri = setting_iri(change_iri, setting.column_name, setting.property, setting.element)
    values: Values = {
        "ah:property": (setting.property,),
        "ah:settingOn": (told.iris.object(setting.object_key),),
    }
    said = {
        "ah:onColumn": None if column is None else told.iris.path(f"{setting.object_key}/column/{column}"),
        "ah:element": setting.element,
        "ah:elementObject": None if setting.element_key is None else told.iris.path(setting.element_key),
        "ah:elementId": setting.element_id,
        "ah:subOperation": setting.sub_operation,
        "ah:value": setting.value,
    }
    values.update({term: (value,) for term, value in said.items() if value is not None})
    if is_set(setting):
        values["ah:validFrom"] = (told.start,)
        until = valid_until(setting, told)
        if until is not None:
            values["ah:validUntil"] = (until,)
    return Node(SETTING, iri, setting_types(setting.property, is_plain=setting.element is None), values)


def setting_iri(change_iri: str, column_name: str | None, property_: str, element: str | None) -> str:
    """The IRI of a setting of a change."""
    of_column = "" if column_name is None else f"column/{segment(column_name)}/"
    of_element = "" if element is None else f"/{segment(element)}"
    return f"{change_iri}/setting/{of_column}{segment(property_)}{of_element}"


def is_set(setting: Setting) -> bool:
    """Whether a tag or policy is set (and not unset); it then holds until the next setting of the same one."""
    return setting.element_key is not None and setting.sub_operation != "DROP"


def valid_until(setting: Setting, told: Told) -> int | None:
    """When the next setting of the same tag or policy on the same object or column came (microseconds since 1970, UTC);
    None while it holds.
    """
    key = setting.change_key, setting.column_name, setting.property, setting.element_key
    return told.answers.settings.get(key)


@lru_cache(maxsize=1_000)
def setting_types(property_: str, *, is_plain: bool) -> tuple[str, ...]:
    """The classes of a setting, by its property; a setting without an element is a plain property."""
    if is_plain:
        return "ah:PropertySetting", "ah:Setting"
    special = SETTING_CLASSES.get(property_) or ("ah:PolicySetting" if property_.endswith("Policies") else None)
    return ("ah:Setting",) if special is None else (special, "ah:Setting")
