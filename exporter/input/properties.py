"""Read the properties of a DDL change. They come in four forms, which mean the same, also mixed in one row.

What a user named is a key, or since behaviour change 2178 the ``objectName`` of an element of an array. A value stands
in ``{"value": …}``, or since 2179 alone. :func:`read` converts all to one form, before anything else looks at them, and
notes what it does not know. Properties are read by their structure, because Snowflake keeps adding new ones: atomic
ones have one value, compound ones an element for each name. Every value is a text: the content of a JSON string, the
JSON of anything else.

Sources: view, "object_modified_by_ddl" and its usage notes; behaviour changes 2178 and 2179 (bundle 2026_01).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Raw, Struct, field

from exporter.input import json_reader
from exporter.input.documented_form import TRUNCATED

COLUMNS: Final = "columns"
_OPERATION: Final = "subOperationType"
_NAME: Final = "objectName"
_VALUE: Final = "value"
KNOWN_PROPERTIES: Final = frozenset(
    {
        *("objectName", "comment", "policyBody", "policySignature", "enabled", "start", "increment"),
        *("swapTargetDomain", "swapTargetId", "swapTargetName"),
        *("grant", "revoke", "secureObjectsOnly", "accountsToSet", "accountsToAdd", "accountsToRemove"),
        *("shareRestrictions", "manifest", "share", "addTargets", "removeTargets", "manifestStageLocation"),
        "versionAlias",
    }
)
"""The atomic properties of a change that were known when this version was made; also those of :data:`is_of_source`."""
KNOWN_COMPOUND: Final = frozenset({COLUMNS, "tags", "allowedValues"})
"""The known compound properties; also those of :data:`policies_in`."""
KNOWN_OF_ELEMENT: Final = frozenset({"objectId", _OPERATION, "tagValue", _VALUE})
"""The known members of an element of a compound property."""
KNOWN_OF_COLUMN: Final = KNOWN_OF_ELEMENT | {_NAME, "comment", "tags"}
"""The known members of a column; also those of :data:`policies_in`."""
KNOWN_SUB_OPERATIONS: Final = ("ADD", "DROP", "ALTER")
policies_in: Final = re.compile(r"([a-zA-Z]+)Policies").fullmatch
"""Matches the compound properties of policies: ``maskingPolicies``, ``rowAccessPolicies``, and those to come."""
is_of_source: Final = re.compile(
    r"(?:clone|like|creation)?source(?:object|target)?(domain|id|name)", re.ASCII | re.IGNORECASE
).fullmatch
"""Matches the properties that name the source of a CLONE or LIKE; the view's documents do not give their names."""
_NEW_NAMES: Final = ("newObjectName", "newName", "newColumnName")
"""Members of a column in an array that may hold its new name, because ``objectName`` is its own name there."""
_NAMES: Final = frozenset({_NAME, "swapTargetDomain", "swapTargetName"})
"""Atomic properties whose value is a name, as those of :data:`is_of_source` except ids. A number is none."""
_TEXTS: Final = _NAMES | {"comment", "policyBody", "swapTargetId"}
"""Atomic properties whose value is a name or a text, as those of :data:`is_of_source`; an object or array is neither.
The documents do not say how an UNSET COMMENT looks; ``{"subOperationType": "UNSET"}`` takes the comment away.
"""
_LISTS: Final = frozenset({"accountsToSet", "accountsToAdd", "accountsToRemove"})
"""Atomic properties whose value is an array of names, or one name."""
MEMBERS_OF_GRANT: Final = (
    *("PRIVILEGES", "ROLES", "SECURABLE_OBJECT_DOMAIN", "SECURABLE_OBJECT_ID", "SECURABLE_OBJECT_NAME"),
    *("SECURABLE_OBJECT_SCOPE", "SECURABLE_OBJECT_SCOPE_DOMAIN"),
)
"""The members of ``grant`` and ``revoke`` as the documents write them."""
_MEMBERS: Final = {text.replace("_", ""): text for text in MEMBERS_OF_GRANT}
NULL: Final = '{"value":null}'
"""The value of the setting of a property that is null, in the form in which rows gave it first."""
_NULL: Final = "null"
_EMPTY: Final = frozenset({"{}", "[]", _NULL})
_OF_USERS: Final = frozenset({"comment", "policyBody", "manifest"})
"""Texts of users: they stay what they are if they look like JSON."""
_DEEPEST: Final = 8
"""Deeper properties are not converted; the documents nest four levels."""

_is_id: Final = re.compile(r"\s*-?\d+(?:\.0+)?\s*").fullmatch
_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_elements: Final = msgspec.json.Decoder(list[Raw]).decode
_string: Final = msgspec.json.Decoder(str).decode
JsonText = str
"""The text of a JSON value in canonical form (:func:`exporter.input.json_reader.raw_json`)."""


class Properties(Struct, gc=False):
    """``atoms``: the value of each atomic property, None for null. ``compounds``: the elements of each compound
    property by name; one without elements is left out, as one that is null. ``normal``: the JSON in the one form, with
    names as keys and values in ``{"value": …}``; None if there are no properties. ``unknown``: paths of what is not
    understood, without names that users gave: ``columns[].dataType``. ``is_doubtful``: whether some of these are more
    than new names: a known property in a form that could not be read.
    """

    atoms: dict[str, str | None] = field(default_factory=dict)
    compounds: dict[str, dict[str, Element]] = field(default_factory=dict)
    normal: JsonText | None = None
    unknown: tuple[str, ...] = ()
    is_doubtful: bool = False


class Element(Struct, gc=False):
    """An element of a compound property. ``bare``: its text if it is not an object. ``inside``: its members."""

    bare: str | None = None
    inside: Properties | None = None

    def atom(self, name: str) -> str | None:
        """The value of an atomic member; None if there is none."""
        return None if self.inside is None else self.inside.atoms.get(name)


def read(properties: JsonText | None) -> Properties:
    """The properties in any of the four forms. The result is cached, so callers must not change it."""
    return _read(properties) if properties is None or len(properties) > _LONG else _cached(properties)


_LONG: Final = 16 * 1024


def _read(properties: JsonText | None) -> Properties:
    if properties is None or properties == TRUNCATED:
        return Properties(normal=properties)
    reader = _Reader()
    try:
        normal = reader.group(_as_object(properties, reader), properties_read := Properties(), "", 0)
    except (msgspec.DecodeError, RecursionError):
        return Properties(normal=properties, unknown=("properties",), is_doubtful=True)
    properties_read.normal, properties_read.is_doubtful = normal, bool(reader.unknown)
    properties_read.unknown = tuple(sorted(reader.unknown | reader.new))
    return properties_read


_cached: Final = lru_cache(maxsize=2_000)(_read)


def _as_object(properties: JsonText, reader: _Reader) -> JsonText:
    """The documents give properties the type ARRAY: then the members of its elements are the properties."""
    if not properties.startswith("["):
        return properties
    texts = _elements(properties)
    if any(not text.startswith("{") for text in texts):
        reader.unknown.add("properties")
    objects = [_given(_members(text)) for text in texts if text.startswith("{")]
    for members in objects:
        if members.keys() == {_NAME, _VALUE} and members[_NAME].startswith('"'):  # perhaps a property, as elements are
            reader.unknown.add(f"[].{_NAME}")
            members[_string(members.pop(_NAME))] = members.pop(_VALUE)
    if any(members.keys() == {_NAME} and not members[_NAME].startswith("{") for members in objects):
        reader.unknown.add(f"[].{_NAME}")  # a new name, or an element with nothing but a name
    return _object(member for members in objects for member in members.items())


def canonical_form(normal: JsonText | None) -> JsonText:
    """The JSON of :attr:`Properties.normal` with sorted names: equal for changes that say the same in any order."""
    if normal is None or not normal.startswith("{"):
        return normal or "{}"
    try:
        members = _members(normal)
    except (msgspec.DecodeError, RecursionError):
        return normal
    return _object((name, canonical_form(members[name])) for name in sorted(members))


def columns_without_operation(properties: Properties) -> list[str]:
    """The columns of which a change does not say what it did to them: it gives nothing but their id."""
    return [
        name
        for name, element in properties.compounds.get(COLUMNS, {}).items()
        if element.inside is not None and not element.inside.compounds and element.inside.atoms.keys() <= {"objectId"}
    ]


def member_of_grant(name: str) -> str:
    """The name of a member of ``grant`` as the documents write it; other names as they are.

    >>> member_of_grant("securableObjectId")
    'SECURABLE_OBJECT_ID'
    """
    return _MEMBERS.get(name.replace("_", "").upper(), name)


def _members(value: JsonText) -> dict[str, JsonText]:
    return {name: bytes(raw).decode() for name, raw in _decode_members(value).items()}


def _elements(value: JsonText) -> list[JsonText]:
    return [bytes(raw).decode() for raw in _decode_elements(value)]


def as_text(raw: Raw) -> str | None:
    """A JSON value as text; None for null."""
    return _text(bytes(raw).decode())


def _text(value: JsonText) -> str | None:
    if value.startswith('"'):
        return _string(value)
    return None if value == "null" else value


def _object(members: Iterable[tuple[str, JsonText]]) -> JsonText:
    return "{" + ",".join([f"{json_reader.quoted(name)}:{value}" for name, value in members]) + "}"


def _is_compound_name(name: str) -> bool:
    return name in KNOWN_COMPOUND or policies_in(name) is not None


def _is_atomic_name(name: str) -> bool:
    return name in KNOWN_PROPERTIES or is_of_source(name) is not None


class _Reader:
    """Converts properties to the one form. Each function gives the JSON in that form: the given text itself if it has
    the form already, so that nothing in it changes.
    """

    def __init__(self) -> None:
        self.unknown: set[str] = set()
        self.new: set[str] = set()  # new names, which are read by their structure

    def group(self, text: JsonText, into: Properties, path: str, depth: int) -> JsonText:
        """Read the properties of an object (``path`` is empty) or of a column (``path`` ends with a dot)."""
        members = _members(text)
        normal_members = {
            name: normal
            for name, value in _given(members).items()
            if (normal := self._property(name, _opened(name, value), into, path, depth)) is not None
        }
        return text if normal_members == members else _object(normal_members.items())

    def _property(self, name: str, value: JsonText, into: Properties, path: str, depth: int) -> JsonText | None:
        """Read a property. None for a compound one without elements, which says no more than a missing one."""
        if path and name == _OPERATION:
            return self._operation(value, into, path)
        property_path = f"{path}{name}"
        if depth == 0 or path == f"{COLUMNS}[].":
            is_known = name in KNOWN_OF_COLUMN if path else _is_atomic_name(name)
            if not is_known and not _is_compound_name(name):
                self.new.add(property_path)
        elif name not in KNOWN_OF_ELEMENT:
            self.new.add(property_path)
        elements = None if depth >= _DEEPEST else self._keyed(name, value, property_path)
        if elements is None:
            return self._atom(name, value, into, property_path)
        if not elements:
            return None
        normal_elements = self._compound(name, elements, into, property_path, depth)
        is_same = normal_elements == elements and value.startswith("{") and f":{_NULL}" not in value
        return value if is_same else _object(normal_elements.items())

    def _operation(self, value: JsonText, into: Properties, path: str) -> JsonText:
        bare = _unwrapped(value)
        into.atoms[_OPERATION] = text = _text(bare)
        if text is not None and text != TRUNCATED and text.strip(" ").upper() not in KNOWN_SUB_OPERATIONS:
            self.unknown.add(f"{path}{_OPERATION}")
        return bare

    # --- atomic properties --------------------------------------------------------------------------------------------

    def _atom(self, name: str, value: JsonText, into: Properties, property_path: str) -> JsonText:
        if _is_compound_name(name):
            return self._no_elements(name, value, into, property_path)
        members = _members(value) if value.startswith("{") else {}
        inside = _without_null(members) or members
        if inside != members:
            value = _object(inside.items())
        if _VALUE in inside:
            into.atoms[name] = self._text(name, inside[_VALUE], property_path)
            if len(inside) > 1:
                self.unknown.add(property_path)
            return value
        into.atoms[name] = self._text(name, value, property_path)
        return f'{{"value":{value}}}'

    def _text(self, name: str, value: JsonText, property_path: str) -> str | None:
        """The value of an atomic property; None for null, and for a value that is no name where a name is expected."""
        source_member, text = is_of_source(name), _text(value)
        is_name = name in _NAMES or (source_member is not None and source_member[1].lower() != "id")
        if is_name or name in _LISTS:
            is_unexpected = text is not None and not value.startswith('"' if is_name else ('"', "["))
        elif name in {"comment", "policyBody", "tagValue"}:
            is_unexpected = text is not None and not value.startswith('"')
        else:
            is_id = source_member is not None or name in {"swapTargetId", "objectId"}
            is_unexpected = is_id and text not in {None, TRUNCATED} and _is_id(text or "") is None
        if is_unexpected or (name == _NAME and not (text or "").strip()):
            self.unknown.add(property_path)
        is_json = value.startswith(("{", "[")) and (source_member is not None or name in _TEXTS)
        return None if is_unexpected and (is_name or name in _LISTS or is_json) else text

    def _no_elements(self, name: str, value: JsonText, into: Properties, property_path: str) -> JsonText:
        """A compound property that is truncated, or no object and no array."""
        bare = _unwrapped(value)
        text = _text(bare)
        if text is not None and text != TRUNCATED:
            into.atoms[name] = text
            self.unknown.add(property_path)
        return bare

    # --- compound properties ------------------------------------------------------------------------------------------

    def _keyed(self, name: str, value: JsonText, property_path: str) -> dict[str, JsonText] | None:
        """The elements of a compound property by name; None if the property is atomic, or has no elements."""
        bare = _unwrapped(value) if _is_compound_name(name) else value
        if bare.startswith("["):
            return self._of_array(name, bare, property_path)
        if not bare.startswith("{") or _is_atomic_name(name):
            return None
        members = _members(bare)
        inside = _without_null(members)
        if _is_compound_name(name):
            if inside.get(_NAME, "").startswith('"'):  # an element without the array around it
                self.unknown.add(property_path)
                return self._of_array(name, f"[{bare}]", property_path)
            return inside if members else None
        are_objects = all(text.startswith("{") for text in inside.values())
        has_elements = any(_is_element(text) for text in inside.values())
        is_wrapped = _VALUE in inside and not _is_element(inside[_VALUE])
        return inside if (has_elements or (inside and are_objects)) and not is_wrapped else None

    def _of_array(self, name: str, value: JsonText, property_path: str) -> dict[str, JsonText] | None:
        """The elements of an array by their names. Elements of the same name are merged."""
        texts = [_opened_element(text, having=_NAME) for text in _elements(value)]
        have_name = [text.startswith("{") and f'"{_NAME}"' in text and _NAME in _members(text) for text in texts]
        if not _is_compound_name(name) and (_is_atomic_name(name) or not texts or not all(have_name)):
            if any(have_name) and not _is_atomic_name(name):
                self.unknown.add(property_path)
            return None
        elements: dict[str, dict[str, JsonText]] = {}
        for text in texts:
            element = self._element_of_array(text, name, property_path)
            if element is not None:
                self._merge(elements.setdefault(element[0], {}), element[1], property_path)
        return {key: _object(members.items()) for key, members in elements.items()} or ({} if texts else None)

    def _element_of_array(
        self, value: JsonText, name: str, property_path: str
    ) -> tuple[str, dict[str, JsonText]] | None:
        """The name of an element and its other members; None if it has no name."""
        if not value.startswith("{"):
            text = _text(value)
            if text is not None and text != TRUNCATED:
                self.unknown.add(f"{property_path}[]")
            return (text, {}) if text is not None and text != TRUNCATED and value.startswith('"') else None
        pairs = [(key, member) for key, member in _pairs(value) if member != _NULL]
        at = next((number for number, (key, _) in enumerate(pairs) if key == _NAME), None)
        own_name = None if at is None else _text(_unwrapped(pairs.pop(at)[1]))
        if own_name is None or own_name.startswith(("{", "[")):
            self.unknown.add(f"{property_path}[].{_NAME}")
            return None
        if name == COLUMNS and all(key != _NAME for key, _ in pairs):
            pairs = [(_NAME if key in _NEW_NAMES else key, value) for key, value in pairs]
        return own_name, dict(pairs)

    def _merge(self, merged: dict[str, JsonText], members: Mapping[str, JsonText], property_path: str) -> None:
        for name, value in _given(members).items():
            before = merged.get(name)
            if before is not None and before != value:
                if before[0] == value[0] and value[0] in "[{":
                    joined = ",".join(text for text in (before[1:-1], value[1:-1]) if text)
                    merged[name] = f"{value[0]}{joined}{value[-1]}"
                    continue
                self.unknown.add(f"{property_path}[].{name}")
            merged[name] = value

    def _compound(
        self, name: str, elements: Mapping[str, JsonText], into: Properties, property_path: str, depth: int
    ) -> dict[str, JsonText]:
        elements_read = into.compounds[name] = {}
        normal_elements: dict[str, JsonText] = {}
        for key, text in elements.items():
            value = _opened_element(text, having=_OPERATION)
            if value.startswith("{"):
                inside = Properties()
                normal_elements[key] = self.group(value, inside, f"{property_path}[].", depth + 1)
                elements_read[key] = Element(None, inside)
                if _OPERATION not in inside.atoms and (name == "tags" or policies_in(name)):
                    self.unknown.add(f"{property_path}[].{_OPERATION}")  # set or unset
            else:
                normal_elements[key] = value
                elements_read[key] = Element(_text(value))
                if value not in {f'"{TRUNCATED}"', "null"}:
                    self.unknown.add(f"{property_path}[]")
        return normal_elements


def _opened(name: str, value: JsonText) -> JsonText:
    """The JSON object or array in a string, where one is expected: some tools encode twice."""
    if not value.startswith(('"{', '"[')) or name in _OF_USERS:
        return value
    text = _string(value)
    try:
        inside = _members(text) if text.startswith("{") else _elements(text)
    except (msgspec.DecodeError, RecursionError):
        return value
    is_wrapped = isinstance(inside, dict) and _VALUE in inside
    return text if is_wrapped or _is_compound_name(name) else value


def _opened_element(value: JsonText, having: str) -> JsonText:
    """The JSON object in a string that is an element: Parquet from COPY INTO has lists of such texts. ``having``: a
    member that it must have, since the string may also be a name, or a text that a user wrote.
    """
    if not value.startswith('"{'):
        return value
    text = _string(value)
    try:
        inside = _members(text)
    except (msgspec.DecodeError, RecursionError):
        return value
    return text if having in inside else value


def _unwrapped(value: JsonText) -> JsonText:
    """What is in ``{"value": …}``, unless it is an object, because then ``value`` may be the name of an element."""
    if not value.startswith('{"value":'):
        return value
    inside = _members(value)
    bare = inside[_VALUE]
    return value if len(inside) > 1 or bare.startswith("{") else bare


def _without_null(members: Mapping[str, JsonText]) -> dict[str, JsonText]:
    """The members without those that are null: tools with types give each row the names of all rows. A value that is
    said to be null is ``{"value":null}``.
    """
    return {name: value for name, value in members.items() if value != _NULL}


def _given(members: Mapping[str, JsonText]) -> dict[str, JsonText]:
    """The properties of a change or of an element, without those that are null, and compound ones that are empty: some
    tools with types write ``[]`` where there is nothing. The documents say it of a tag made without allowed values.
    """
    return {
        name: value
        for name, value in _without_null(members).items()
        if not (_is_compound_name(name) and _unwrapped(_opened(name, value)) in _EMPTY)
    }


def _is_element(value: JsonText) -> bool:
    return value.startswith("{") and f'"{_OPERATION}"' in value and _OPERATION in _members(value)


def _pairs(value: JsonText) -> list[tuple[str, JsonText]]:
    """The members of an object; also those whose name is repeated, if that is ``objectName``."""
    if value.count(f'"{_NAME}"') > 1:
        parsed = json_reader.parse(value)
        if isinstance(parsed, json_reader.Members) and sum(member.name == _NAME for member in parsed) > 1:
            return [(member.name, json_reader.canonical_json(member.value)) for member in parsed]
    return list(_members(value).items())
