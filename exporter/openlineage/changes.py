"""DDL changes as the ``accessHistory_ddl`` facet has them, and tags as a dataset's facet has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec
from msgspec import Raw

from exporter.model.answers import Tag
from exporter.model.facts import Change, Content, Setting
from exporter.model.grants import json_grants
from exporter.model.identifiers import TRUNCATED, canonical_name, known_name, usable_id
from exporter.openlineage.facets import Json, none_first, sorted_objects, without_none
from exporter.openlineage.inputs_and_outputs import Datasets, changes_dataset, dataset_of, is_rename

_LISTED_APART: Final = frozenset(
    ("objectName", "policyBody", "comment", "swapTargetDomain", "swapTargetId", "swapTargetName")
)
"""Properties of an object that have fields of their own in a change, so they are not listed as settings."""
_SECURABLE: Final = {
    "DOMAIN": "objectDomain",
    "ID": "objectId",
    "NAME": "objectName",
    "SCOPE": "scope",
    "SCOPE_DOMAIN": "scopeDomain",
}
_SENTINEL: Final = f'"{TRUNCATED}"'.encode()
_elements: Final = msgspec.json.Decoder(list[Raw]).decode
_text: Final = msgspec.json.Decoder(str).decode


def verb(change: Change) -> str:
    """What a change does, as a verb for the job's name."""
    return "rename" if is_rename(change) else change.operation.lower()


def subject(change: Change, datasets: Datasets) -> str | None:
    """Kind and name of what is changed where that is no dataset (``masking policy DB.S.P``); else None."""
    if changes_dataset(change):
        return None
    name = dataset_of(change.thing, datasets).name
    return name if change.thing.domain is None else f"{change.thing.domain.lower()} {name}"


def change_details(content: Content, datasets: Datasets) -> list[Json]:
    """The changes, each with its settings one by one, and its grants."""
    changes = sorted(content.changes, key=lambda change: none_first(_order(change, datasets)))
    return [_change_facet(change) for change in changes]


def _order(change: Change, datasets: Datasets) -> tuple[Any, ...]:
    fields = {**_fields(change), "properties": change.normal}
    return verb(change), subject(change, datasets), tuple(fields.values()), change.change_key


def _change_facet(change: Change) -> Json:
    of_settings = sorted(
        (grants_of(setting) for setting in change.settings if _is_grant(setting)), key=_order_of_grants
    )
    grants = [without_none(grant) for of_setting in of_settings for grant in of_setting]
    settings = sorted_objects(_setting(setting) for setting in change.settings if not _is_listed_apart(setting))
    return without_none({**_fields(change), "settings": settings or None, "grants": grants or None})


def _fields(change: Change) -> Json:
    return {
        "operation": change.operation,
        "objectDomain": change.thing.domain,
        "objectId": change.thing.object_id,
        "objectName": change.thing.name,
        "argumentSignature": change.thing.signature,
        "newName": change.new_name,
        "swapDomain": change.swap_domain,
        "swapId": change.swap_id,
        "swapName": change.swap_name,
        "sourceDomain": change.source_domain,
        "sourceId": change.source_id,
        "sourceName": change.source_name,
        "policyBody": change.policy_body,
        "comment": change.comment,
        "properties": change.properties,
    }


# --- settings ---------------------------------------------------------------------------------------------------------


def _setting(setting: Setting) -> Json:
    return {
        "property": setting.property,
        "field": setting.column_name,
        "element": setting.element,
        "objectId": setting.element_id,
        "subOperation": setting.sub_operation,
        "value": setting.value,
    }


def _is_listed_apart(setting: Setting) -> bool:
    if setting.column_name is not None or setting.element is not None:
        return False
    return setting.property in _LISTED_APART or _is_grant(setting)


def _is_grant(setting: Setting) -> bool:
    """Whether it holds the privileges of a share (``grant`` and ``revoke``, whose values are JSON)."""
    is_own = setting.property in {"grant", "revoke"} and setting.element is None and setting.column_name is None
    return is_own and "{" in (setting.value or "")


def changes_tags(content: Content, keys: Collection[str]) -> bool:
    """Whether the statement sets or unsets a tag of the objects ``keys`` or of their columns. To set one whose name
    Snowflake cut says nothing of the tags that can be listed.
    """
    return any(
        setting.object_key in keys
        and setting.property == "tags"
        and (setting.name_of_element() is not None or setting.sub_operation == "DROP")
        for change in content.changes
        for setting in change.settings
    )


def tags(of_objects: Iterable[Tag]) -> list[Json]:
    """The tags of a dataset as its facet lists them; those on its columns have ``field``. One that is known by its id
    alone is left out.
    """
    by_tag = {(canonical_name(name), value, field) for name, value, field in of_objects if usable_id(name) is None}
    return [
        without_none({"key": key, "value": value, "source": "SNOWFLAKE", "field": field})
        for key, value, field in sorted(by_tag, key=none_first)
    ]


# --- grants -----------------------------------------------------------------------------------------------------------


def grants_of(setting: Setting) -> list[Json]:
    """The grants in a setting; a member is None where the setting does not give it. Empty where the value is not the
    JSON of a grant.
    """
    return [
        _grant(setting.property.upper(), {name: bytes(value) for name, value in json_grant.items()})
        for json_grant in json_grants(setting.value or "")
    ]


def _grant(operation: str, members: dict[str, bytes]) -> Json:
    return {
        "operation": operation,
        "privileges": _as_texts(members.get("PRIVILEGES", b"null")),
        "roles": _as_texts(members.get("ROLES", b"null")),
        **{new: _known(name, members.get(f"SECURABLE_OBJECT_{name}", b"null")) for name, new in _SECURABLE.items()},
    }


def _known(name: str, value: bytes) -> str | None:
    """A member that names what a grant is on; None where Snowflake cut it."""
    text = _as_text(value)
    return None if text == "-1" and name == "ID" else text


def _as_texts(value: bytes) -> list[str] | None:
    """An array of texts, or a single text, as an array; null, empty texts and what Snowflake cut are left out. None if
    nothing is left.
    """
    elements = _elements(value) if value.startswith(b"[") else [value]
    texts = [text for text in (_as_text(bytes(element)) for element in elements) if text is not None]
    return texts if texts or not elements else None


def _as_text(value: bytes) -> str | None:
    """A text; other JSON as its text without white space; None for null, an empty text, and one that Snowflake cut."""
    if value in {b"null", _SENTINEL}:
        return None
    return known_name(_text(value)) if value.startswith(b'"') else msgspec.json.format(value, indent=-1).decode()


def _order_of_grants(grants: list[Json]) -> Any:
    return none_first([tuple(grant.values()) for grant in grants])
