"""Nodes of DDL changes, of what they set and unset with the period for which it held, and of grants.

A grant is a privilege on an object, a role or a share: to whom it was given, and until when.

Ends of versions, settings and grants that an earlier day made are written with the day that ends them. The triples are
the same as :mod:`exporter.graph.nodes.versions` and this module give where all days are exported at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from exporter.graph.iri import Iris
from exporter.graph.nodes.versions import QueryContext, with_ending
from exporter.graph.terms import SETTING_CLASSES, Node, Values, single
from exporter.graph.vocabulary import CHANGE, GRANT, SETTING, VERSION
from exporter.model.answers import CarriedSetting
from exporter.model.facts import Change, Grant, ObjectReference, Setting
from exporter.model.grants import GRANTED, grant_path, setting_of_grant
from exporter.model.identifiers import segment

if TYPE_CHECKING:
    from exporter.model.object_history import ObjectAnswer


def grants(change: Change, change_iri: str, query: QueryContext) -> list[Node]:
    """``CHANGE/granted/PATH``, one entity for each grant that the change makes. A revoke makes no node: it is the end
    of an earlier grant.
    """
    return [
        GRANT.node(f"{change_iri}/{GRANTED}{grant_path(grant)}", _grant(change, grant, grant.grantee, query))
        for grant in change.grants
        if not grant.is_revoked and grant.grantee is not None
    ]


def _grant(change: Change, grant: Grant, grantee: ObjectReference, query: QueryContext) -> Values:
    setting_key = change.change_key, None, *setting_of_grant(grant, change.thing)
    return single(
        {
            "prov:wasGeneratedBy": query.iri,
            "ah:grantedObject": query.iris.object(grant.thing.key),
            "ah:objectName": grant.thing.name,
            "ah:onAll": grant.on_all,
            "ah:privilege": grant.privilege,
            "ah:grantee": query.iris.object(grantee.key),
            "ah:granteeName": grantee.name,
            "ah:grantedTo": grantee.domain or grantee.kind.upper(),
            "ah:validFrom": query.start,
            "ah:validUntil": query.answers.settings.get(setting_key),
        }
    )


def changes(query: QueryContext) -> Iterator[tuple[Node, list[Node]]]:
    """One activity for each DDL change, as a part of its query; with it the nodes of its settings and grants."""
    for change in query.content.changes:
        iri = f"{query.iri}/change/{change.change_key}"
        settings = [_setting(iri, setting, query) for setting in change.settings]
        granted = grants(change, iri, query)
        carried = list(_carried(change.change_key, query)) if query.answers.carried else []
        yield CHANGE.node(iri, _change(change, settings, granted, query)), [*settings, *granted, *carried]


def _carried(change_key: str, query: QueryContext) -> Iterator[Node]:
    """The tags and policies that follow the columns that a change renames. The change did not set them, so it does not
    refer to them.
    """
    for key, carried_settings in sorted(query.answers.carried.items()):
        for carried in sorted(carried_settings):
            if carried.now.change_key == change_key:
                until = query.answers.settings.get(carried.now.of_change)
                yield from _going_on(key, query.facts.query_id, carried._replace(since=query.end), query.iris, until)


def _going_on(
    object_key: str, query_id: str, carried: CarriedSetting, iris: Iris, until: int | None = None
) -> Iterator[Node]:
    """A tag or policy under the new name of its column, by the query that renamed it. It refers to what it was under
    the former name.
    """
    before, (change_key, column, property_, element_key, names, known) = carried.before, carried.now
    assert column is not None, "only settings of columns are carried"
    assert element_key is not None, "only tags and policies are held"
    change, former_change = (
        f"{iris.query(ident)}/change/{key}"
        for ident, key in ((query_id, change_key), (carried.query_id, before.change_key))
    )
    for name, value in zip(names, known or (None,) * len(names), strict=True):
        values = single(
            {
                "ah:property": property_,
                "ah:settingOn": iris.object(object_key),
                "ah:onColumn": iris.column(object_key, column),
                "ah:element": name,
                "ah:elementObject": iris.path(element_key),
                "ah:carriedFrom": setting_iri(former_change, before.column, property_, name),
                "ah:validFrom": carried.since,
                "ah:value": value,
                "ah:validUntil": until,
            }
        )
        iri = setting_iri(change, column, property_, name)
        yield Node(SETTING, iri, setting_types(property_, is_plain=False), values)


def _change(change: Change, settings: list[Node], granted: list[Node], query: QueryContext) -> Values:
    iris = query.iris
    values = single(
        {
            "dcterms:isPartOf": query.iri,
            "prov:startedAtTime": query.start,
            "ah:operation": change.operation,
            "ah:changedObject": iris.object(change.thing.key),
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
    )
    if settings:
        values["ah:hasSetting"] = tuple(sorted({setting.iri for setting in settings}))
    if granted:
        values["ah:hasGrant"] = tuple(sorted([grant.iri for grant in granted]))
    return values


def _setting(change_iri: str, setting: Setting, query: QueryContext) -> Node:
    """``CHANGE/setting/[column/COLUMN/]PROPERTY[/ELEMENT]``."""
    iris, column = query.iris, setting.column_name
    values = single(
        {
            "ah:property": setting.property,
            "ah:settingOn": iris.object(setting.object_key),
            "ah:onColumn": None if column is None else iris.column(setting.object_key, column),
            "ah:element": setting.element,
            "ah:elementObject": None if setting.element_key is None else iris.path(setting.element_key),
            "ah:elementId": setting.element_id,
            "ah:subOperation": setting.sub_operation,
            "ah:value": setting.value,
        }
    )
    if is_set(setting):
        setting_key = setting.change_key, column, setting.property, setting.element_key
        values |= single({"ah:validFrom": query.start, "ah:validUntil": query.answers.settings.get(setting_key)})
    iri = setting_iri(change_iri, column, setting.property, setting.element)
    return Node(SETTING, iri, setting_types(setting.property, is_plain=setting.element is None), values)


def setting_iri(change_iri: str, column_name: str | None, property_: str, element: str | None) -> str:
    """The IRI of a setting of a change."""
    of_column = "" if column_name is None else f"column/{segment(column_name)}/"
    of_element = "" if element is None else f"/{segment(element)}"
    return f"{change_iri}/setting/{of_column}{segment(property_)}{of_element}"


def is_set(setting: Setting) -> bool:
    """Whether a tag or policy is set (and not unset); it then holds until the next setting of the same one."""
    return setting.element_key is not None and setting.sub_operation != "DROP"


@lru_cache(maxsize=1_000)
def setting_types(property_: str, *, is_plain: bool) -> tuple[str, ...]:
    """The classes of a setting, by its property; a setting without an element is a plain property."""
    if is_plain:
        return "ah:PropertySetting", "ah:Setting"
    special = SETTING_CLASSES.get(property_) or ("ah:PolicySetting" if property_.endswith("Policies") else None)
    return ("ah:Setting",) if special is None else (special, "ah:Setting")


def ending_nodes(query_id: str, object_answers: Iterable[ObjectAnswer], iris: Iris) -> Iterator[Node]:
    """What answers of a later day add to the versions and settings of a query."""
    for answer in object_answers:
        if answer.ending is not None:
            version = VERSION.node(iris.version(answer.object_key, query_id), {})
            yield with_ending(version, answer.ending, iris)
        for carried in answer.carried or ():
            yield from _going_on(answer.object_key, query_id, carried, iris)
        for (change_key, column, property_, _, names, _), until in answer.settings or ():
            change = f"{iris.query(query_id)}/change/{change_key}"
            if property_.startswith(GRANTED):
                yield GRANT.node(f"{change}/{property_}", {"ah:validUntil": (until,)})
                continue
            for name in names:
                iri = setting_iri(change, column, property_, name)
                yield Node(SETTING, iri, setting_types(property_, is_plain=False), {"ah:validUntil": (until,)})
