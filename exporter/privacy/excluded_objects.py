"""Remove the objects that a filter leaves out from the rows that name them, in all places.

An element without a name stays in a column from which an object was removed. So the query is recorded as incomplete
there (``direct_objects_accessed UNNAMED``), as if Snowflake had left out the name. In place of a change there is one of
which nothing is said (``object_modified_by_ddl UNNAMED``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct, structs
from msgspec.structs import astuple

from exporter.input import row as documents
from exporter.input.properties import is_of_source, policies_in, read
from exporter.input.row import (
    JSON_TEXTS,
    REMOVED_CHANGE,
    STRUCTURED,
    ChangeDocument,
    Document,
    ObjectDocument,
    Row,
    SourceDocument,
    Text,
    columns_of,
    decode,
    is_path,
    text,
)
from exporter.input.times import iso_micros
from exporter.model.ddl import change_of, properties_of
from exporter.model.facts import Change
from exporter.model.identifiers import is_name_of_user_stage, is_qualified, normal_domain, usable_id
from exporter.model.objects import sources
from exporter.privacy.filters import DATABASES, SCHEMAS, Filters, database_and_schema, stored_parts

HIDDEN_SQL: Final = "withheld"
"""In place of SQL text and of values of bind variables."""
_FREE: Final = ("unknown_columns", *JSON_TEXTS)
"""Columns of JSON whose members no document gives."""
_ARRAYS: Final = ("direct", "base", "modified", "policies", "provider_base", "provider_policies")
_IDENTIFIER: Final = r'(?:"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_$]*)'
_may_be_name: Final = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+").fullmatch
_SCHEMA: Final = rf"{_IDENTIFIER}\.(?:{_IDENTIFIER})?"
_ITEM: Final = rf"\s*'?(?:@|snow://\w+/)?({_SCHEMA})(?:\.%?{_IDENTIFIER})+"
_REST: Final = r"(?:/.*|\([^)]*\))?'?\s*"
_is_stage: Final = re.compile(rf"'?(?:@|snow://\w+/)({_IDENTIFIER})\.%?{_IDENTIFIER}{_REST}", re.DOTALL).fullmatch
"""A stage, or an object with files, whose database is not named. The group is the schema."""
_are_in_schemas: Final = re.compile(rf"{_ITEM}{_REST}(?:,{_ITEM}{_REST})*", re.DOTALL).fullmatch
_schemas_in: Final = re.compile(rf"(?:\A|,){_ITEM}").finditer
"""Names of objects: one, or several with commas between them; also of stages with a path (``@DB.SCHEMA.STAGE/path``,
of a table ``@DB.SCHEMA.%TABLE``, in single quotes if there are spaces) and of procedures with the types of their
arguments. The group is the schema.
"""
is_no_text: Final = re.compile(r"[\[{]|(?:true|false|-?\d[\d.eE+-]*|NaN|-?Infinity)\Z").match
"""Matches the text of a name that may have been another value of JSON in its row."""
_may_have_user_stage: Final = re.compile(
    rb'"stageKind"\s*:\s*"user"|"objectName"\s*:\s*"?\d+"?\s*[,}]', re.IGNORECASE
).search


class ReducedRow(NamedTuple):
    """``text``: the row as a line without the removed objects; None if no object of a database remains. ``objects``:
    the number of removed mentions. ``reason``: the filter that removed them; of several, the one of databases.
    """

    text: str | None
    objects: int
    reason: str


def without_excluded(row: Row, filters: Filters) -> ReducedRow | None:
    """The row without the objects that the filters leave out; None if they leave out none."""
    document, object_filter = decode(row.content), _ObjectFilter(filters)
    object_filter.document(document)
    # If one of them is left out, nothing shows which part of the column may stay.
    without = {name: None for name in _FREE if object_filter.is_any_out(_named_objects(getattr(row, name)))}
    row = structs.replace(row, **without) if without else row
    if not object_filter.reasons:
        return None
    row = structs.replace(row, unknown_columns=_own_columns(row.unknown_columns))
    line = own_form(row, document) if object_filter.stays else None
    return ReducedRow(line, len(object_filter.reasons), DATABASES if DATABASES in object_filter.reasons else SCHEMAS)


def _own_columns(unknown: str | None) -> str | None:
    """The unknown columns without members of objects: nothing shows which of them are of objects that were removed."""
    columns = {name: raw for name, raw in columns_of(unknown or "{}").items() if not is_path(name)}
    return msgspec.json.encode(columns).decode() if columns else None


def with_names_as_texts(row: Row, hidden: Collection[str]) -> str | None:
    """The row as a line in which each hidden name is a text; None if none of them may be something else.

    The id of a user stage is the user's name, which can be a number: it is moved to the stage's name, where it is
    treated as a user's name. A ``user_name`` that is a number, an array or the like becomes its JSON as text.
    """
    is_changed = row.user_name in hidden and is_no_text(row.user_name) is not None
    may_have_stage = _may_have_user_stage(row.content) is not None
    if not (is_changed or may_have_stage):
        return None
    document = decode(row.content)
    for element in _elements_and_sources(document) if may_have_stage else ():
        ident = text(element.object_id)
        if usable_id(ident) and _is_user_stage(element):
            element.object_name = element.object_name or ident
            element.object_id, element.stage_kind, is_changed = None, "User", True
    return own_form(row, document) if is_changed else None


def _elements_and_sources(document: Document) -> Iterator[ObjectDocument | SourceDocument]:
    """The objects of the arrays, and the sources of written columns."""
    for name in _ARRAYS:
        yield from (element for element in getattr(document, name) or () if element is not None)
    for written in document.modified or ():
        for column in (written.columns if written is not None else None) or ():
            if column is not None:
                yield from (source for source in sources(column) if source is not None)


def _is_user_stage(element: ObjectDocument | SourceDocument) -> bool:
    kind = text(element.stage_kind)
    if kind is not None:
        return kind.strip(" ").lower() == "user"
    is_stage = normal_domain(text(element.object_domain)) == "STAGE"
    return is_stage and is_name_of_user_stage(text(element.object_name), text(element.object_id))


def own_form(row: Row, document: Document) -> str:
    """A line that reads as this row with ``document`` as its content."""
    columns = {name: getattr(row, name) for name in row.__struct_fields__ if name not in _NOT_COLUMNS}
    if row.calls is None or row.interval_end is None:
        times = {"query_start_time": iso_micros(row.start)}
        columns = {name: value for name, value in columns.items() if name not in _OF_CALLS}
    else:
        times = {"interval_start_time": iso_micros(row.start), "interval_end_time": iso_micros(row.interval_end)}
        del columns["query_id"]  # it is made from the others
    if row.unknown_columns is not None:
        unknown = columns_of(row.unknown_columns)  # null: SQL text, of which only the name is kept
        columns = {**{name: raw if bytes(raw) != b"null" else HIDDEN_SQL for name, raw in unknown.items()}, **columns}
    structured = dict(zip(STRUCTURED, astuple(document), strict=True))
    return msgspec.json.encode({**columns, **times, **structured}).decode()


_NOT_COLUMNS: Final = frozenset({"start", "content", "unknown_columns", "interval_end"})
_IN_SCHEMA: Final = 2
"""Parts of a name that give its schema."""
_OF_CALLS: Final = frozenset({"calls", "query_parameterized_hash"})
"""Columns of AGGREGATE_ACCESS_HISTORY, which a row of ACCESS_HISTORY can have as unknown ones."""


class _ObjectFilter:
    """Removes objects from a document. ``reasons``: one for each removed mention. ``stays``: whether an object of a
    database remains.
    """

    def __init__(self, filters: Filters) -> None:
        self.reasons: list[str] = []
        self.stays = False
        self._filters = filters

    def document(self, document: Document) -> None:
        for name in _ARRAYS:
            setattr(document, name, self._reduce(getattr(document, name)))
        document.agents = document.agents and [
            None if self._is_agent_out(agent) else agent for agent in document.agents
        ]
        change = document.change
        if change is not None:
            document.change = self._reduce_change(change)

    def _reduce(self, elements: list[Any] | None) -> list[Any] | None:
        before = len(self.reasons)
        remaining = self._remaining(elements or [])
        for element in remaining:
            if element is not None:
                self._note_remaining(element.object_domain, element.object_name, element.stage_kind)
        return elements if len(self.reasons) == before else [*remaining, None]

    def _reduce_change(self, document: ChangeDocument) -> ChangeDocument:
        """The change; if it names an object that is left out, none of it: half of a SWAP would be a false statement.
        The others that it names stay: what happened to them is not known, and the query says so.
        """
        properties = properties_of(document)
        change = change_of(document, properties)
        objects = [(document.object_domain, document.object_name), *(() if change is None else _other_objects(change))]
        remaining = [(domain, name) for domain, name in objects if not self._is_out(domain, name)]
        is_out = self.is_any_out(_named_objects(read(properties).normal, is_change=True, is_known=change is not None))
        for domain, name in remaining:
            self._note_remaining(domain, name)
        return REMOVED_CHANGE if is_out or len(remaining) < len(objects) else document

    def _remaining(self, elements: list[Any]) -> list[Any]:
        """The elements without those that are left out, and without what is left out in them: joins, policies, sources
        of columns. What no policy is left of keeps an empty place, so that it does not look as if the row gave none.
        """
        remaining = [element for element in elements if not self._is_element_out(element)]
        for element in remaining:
            for name in element.__struct_fields__ if isinstance(element, Struct) else ():
                value = getattr(element, name)
                if isinstance(value, list):
                    inside = self._remaining(value)
                    is_emptied = name == "policies" and value and not inside
                    setattr(element, name, [None] if is_emptied else inside)
        return remaining

    def _note_remaining(self, domain: Text, name: Text, stage_kind: Text = None) -> None:
        place = database_and_schema(normal_domain(text(domain)), text(name), text(stage_kind))
        self.stays = self.stays or place != (None, None)

    # --- whether a thing is left out ---------------------------------------------------------------------------------

    def _is_element_out(self, element: Any) -> bool:
        """Whether an element of an array names an object that is left out; columns are in their object."""
        if isinstance(element, documents.ObjectDocument):
            places = [_named_objects(text(place)) for place in (element.location, *(element.locations or ()))]
            is_out = self._is_out(element.object_domain, element.object_name, element.stage_kind)
            return is_out or self.is_any_out(chain.from_iterable(places))
        if isinstance(element, documents.PolicyDocument):
            return self._is_out(element.policy_kind, element.policy_name)
        if isinstance(element, documents.JoinDocument):
            sides = [side for side in (element.node, element.join_object) if side is not None]
            return any(self._is_out(side.object_domain, side.object_name) for side in sides)
        is_source = isinstance(element, documents.SourceDocument)
        return is_source and self._is_out(element.object_domain, element.object_name)

    def _is_agent_out(self, agent: documents.AgentDocument | None) -> bool:
        """Whether an agent is in a schema that is left out. A text of two parts may be no name (``v1.0 helper``)."""
        name = None if agent is None else text(agent.agent_name)
        if name is None or not (len(stored_parts(name)) > _IN_SCHEMA or _may_be_name(name)):
            return False
        return self._is_out("AGENT", name)

    def is_any_out(self, objects: Iterable[tuple[str | None, str | None]]) -> bool:
        """Whether any of these objects, given by domain and name, is left out."""
        return any(self._is_out(domain, name) for domain, name in objects)

    def _is_out(self, domain: Text, name: Text, stage_kind: Text = None) -> bool:
        reason = self._filters.object(normal_domain(text(domain)), text(name), text(stage_kind))
        if reason is not None:
            self.reasons.append(reason)
        return reason is not None


def _other_objects(change: Change) -> Iterator[tuple[str | None, str | None]]:
    """Domain and name of the other objects of a change: its new name, the target of a SWAP, the source of a CLONE."""
    yield change.thing.domain, change.new_name
    yield change.swap_domain, change.swap_name
    yield change.source_domain, change.source_name


def _named_objects(
    properties: str | None, *, is_change: bool = False, is_known: bool = False
) -> Iterator[tuple[str | None, str]]:
    """Domain and name of objects named in the properties of a change, in their normal form: tags, policies, objects of
    grants. In other places a text with two parts counts as a name only if the name of its member ends in ``name``.
    ``is_change``: whether it is such properties, so that it is known which texts people wrote; these are not searched.
    ``is_known``: whether the names beside the changed object's are looked at elsewhere, with their domains.
    """
    root = _parsed(properties)
    waiting: list[tuple[str, Any]] = [("", root)]
    while waiting:
        member, value = waiting.pop()
        if isinstance(value, dict):
            seen = {name for name in value if _is_of_change(name)} if is_known and value is root else set()
            value = _without_texts(member, value) if is_change else value
            yield from _with_domains(value)
            if is_change and (member == "tags" or policies_in(member)):
                yield from (("TAG" if member == "tags" else "POLICY", name) for name in value)
            of_value = member if value.keys() <= {"value"} else ""
            members = {**dict.fromkeys(seen | _names_with_domains(value), ""), "value": of_value}
            waiting += [(members.get(name, name), inner) for name, inner in value.items()]
            waiting += [("", name) for name in value]
        elif isinstance(value, list):
            waiting += [(member, inner) for inner in value]
        elif isinstance(value, str):
            opened = _parsed(value)
            if not isinstance(opened, str):
                waiting.append((member, opened))
            else:
                yield from _in_text(member, value)


def _in_text(member: str, value: str) -> Iterator[tuple[str | None, str]]:
    """Domain and name of objects that a text names, which is no JSON."""
    if member.lower().endswith("name") and _may_be_name(value):
        yield None, value
    elif stage := _is_stage(value):
        yield "SCHEMA", stage[1]
    elif _are_in_schemas(value):
        for match in _schemas_in(value):  # DB..NAME is short for DB.PUBLIC.NAME
            yield "SCHEMA", f"{match[1]}PUBLIC" if match[1].endswith(".") else match[1]


def _is_of_change(member: str) -> bool:
    """Whether a property has one of the names of :func:`_other_objects`."""
    return member in ("objectName", "swapTargetName") or is_of_source(member) is not None


def _plain(member: str) -> str:
    return member.lower().replace("_", "")


def _domain_of(member: str) -> str:
    """The name of the member that gives the domain of what a member names."""
    return f"{_plain(member).removesuffix('name')}domain"


_OF_PEOPLE: Final = ("comment", "policyBody", "tagValue")


def _without_texts(member: str, value: dict[str, Any]) -> dict[str, Any]:
    """The members of an object in the properties of a change without comments, tag values and policy bodies. A column
    can be called ``comment``, too: it has more than a text.
    """
    if member == "tags":
        return {name: None if isinstance(tag, str) else _without_value(tag) for name, tag in value.items()}
    if member == "allowedValues":
        value = {"": [element for element in value.values() if not isinstance(element, str)]}
    return {
        name: member_value
        for name, member_value in value.items()
        if name not in _OF_PEOPLE or not isinstance(_value(member_value), str)
    }


def _without_value(element: Any) -> Any:
    return {name: value for name, value in element.items() if name != "value"} if isinstance(element, dict) else element


def _names_with_domains(members: dict[str, Any]) -> set[str]:
    """The members that :func:`_with_domains` looks at."""
    domains = {_plain(name) for name, value in members.items() if isinstance(_value(value), str)}
    return {name for name in members if _domain_of(name) in domains}


def _with_domains(members: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Names with their domain from a second member: ``SECURABLE_OBJECT_DOMAIN`` and ``SECURABLE_OBJECT_NAME``,
    ``SECURABLE_OBJECT_SCOPE_DOMAIN`` and ``SECURABLE_OBJECT_SCOPE``. A qualified name of a role is one of a database.
    """
    lower = {_plain(name): _value(value) for name, value in members.items()}
    for name, value in lower.items():
        # The place of a grant on all objects may stand in the name, too.
        scope = lower.get("securableobjectscopedomain") if name == "securableobjectname" else None
        for domain in (lower.get(_domain_of(name)), scope):
            if isinstance(domain, str) and isinstance(value, str):
                yield normal_domain(domain), value
    for roles in (lower.get("roles"), lower.get("databaseroles")):
        for role in roles if isinstance(roles, list) else [roles]:
            if isinstance(role, str) and is_qualified(role):
                yield "DATABASE ROLE", role


def _value(value: Any) -> Any:
    return value.get("value") if isinstance(value, dict) else value


def _parsed(value: str | None) -> Any:
    """The JSON array or object of a text; the text itself if it is not one."""
    if value is None or not value.startswith(("{", "[")):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
