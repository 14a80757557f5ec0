"""Remove the objects that a filter leaves out from the rows that name them, in all places.

An element without a name stays in a column from which an object was removed. So the query is recorded as incomplete
there (``direct_objects_accessed UNNAMED``), as if Snowflake had left out the name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from msgspec import structs
from msgspec.structs import astuple

from exporter.input import row as documents
from exporter.input.json_reader import quoted
from exporter.input.properties import read
from exporter.input.row import STRUCTURED, ChangeDocument, Document, Row, Text, columns_of, decode, is_path, text
from exporter.input.times import iso_micros
from exporter.model.ddl import change_of, properties_of
from exporter.model.identifiers import normal_domain, usable_id
from exporter.privacy.filters import DATABASES, SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exporter.model.facts import Change
    from exporter.privacy.filters import Filters

_WITHHELD: Final = "withheld"
_ARRAYS: Final = ("direct", "base", "modified", "policies", "provider_base", "provider_policies")
_SOURCES: Final = ("direct_sources", "base_sources", "direct_source_columns", "base_source_columns")
_IDENTIFIER: Final = r'(?:"(?:[^"]|"")+"|[A-Za-z_][A-Za-z0-9_$]*)'
_may_be_name: Final = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER})+").fullmatch
_is_in_schema: Final = re.compile(rf"{_IDENTIFIER}(?:\.{_IDENTIFIER}){{2,}}").fullmatch
_says_user_stage: Final = re.compile(rb'"stageKind"\s*:\s*"user"', re.IGNORECASE).search


class Taken(NamedTuple):
    """``text``: the row as a line without the removed objects; None if no object of a database remains. ``objects``:
    the number of removed mentions. ``reason``: the filter that removed them; of several, the one of databases.
    """

    text: str | None
    objects: int
    reason: str


def taken(row: Row, filters: Filters) -> Taken | None:
    """The row without the objects that the filters leave out; None if they leave out none."""
    document, taker = decode(row.content), _Taker(filters)
    taker.document(document)
    if taker.is_any_out(_names(row.unknown_columns)):  # then nothing tells which part of the columns may stay
        row = structs.replace(row, unknown_columns=None)
    if not taker.reasons:
        return None
    row = structs.replace(row, unknown_columns=_columns_alone(row.unknown_columns))
    kept = own_form(row, document) if taker.stays else None
    return Taken(kept, len(taker.reasons), DATABASES if DATABASES in taker.reasons else SCHEMAS)


def _columns_alone(unknown: str | None) -> str | None:
    """The unknown columns without members of objects: nothing tells which of them are of objects that were removed."""
    there = {} if unknown is None else columns_of(unknown)
    kept = {name: raw for name, raw in there.items() if not is_path(name)}
    return "{" + ",".join(f"{quoted(name)}:{bytes(raw).decode()}" for name, raw in kept.items()) + "}" if kept else None


def named_stages(row: Row) -> str | None:
    """The row as a line in which no user stage has a number as its id; None if no stage has one. The id of a user stage
    is the user's name, which can be a number. It is moved to the stage's name, where it is treated as a user's name.
    """
    if not _says_user_stage(row.content):
        return None
    document, found = decode(row.content), False
    for name in _ARRAYS:
        for one in getattr(document, name) or ():
            is_stage = one is not None and (text(one.stage_kind) or "").strip(" ").lower() == "user"
            if is_stage and usable_id(text(one.object_id)):
                one.object_name = one.object_name or text(one.object_id)
                one.object_id, found = None, True
    return own_form(row, document) if found else None


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
        there = columns_of(row.unknown_columns)  # null: SQL text, of which only the name is kept
        columns = {**{name: raw if bytes(raw) != b"null" else _WITHHELD for name, raw in there.items()}, **columns}
    structured = dict(zip(STRUCTURED, astuple(document), strict=True))
    return msgspec.json.encode({**columns, **times, **structured}).decode()


_NOT_COLUMNS: Final = frozenset({"start", "content", "unknown_columns", "interval_end"})
_OF_CALLS: Final = frozenset({"calls", "query_parameterized_hash"})
"""Columns of AGGREGATE_ACCESS_HISTORY, which a row of ACCESS_HISTORY can have as unknown ones."""


class _Taker:
    """Removes objects from a document. ``reasons``: one for each removed mention. ``stays``: whether an object of a
    database remains.
    """

    def __init__(self, filters: Filters) -> None:
        self.reasons: list[str] = []
        self.stays = False
        self._filters = filters

    def document(self, document: Document) -> None:
        for name in _ARRAYS:
            setattr(document, name, self._objects(getattr(document, name)))
        change = document.change
        if change is not None:
            if self._is_change_out(change):
                document.change = ChangeDocument()
            else:
                self._keeps(change.object_domain, change.object_name)

    def _objects(self, given: list[Any] | None) -> list[Any] | None:
        before = len(self.reasons)
        kept = self._not_excluded(given, self._is_object_out)
        for one in kept or ():
            if one is not None:
                self._keeps(one.object_domain, one.object_name, one.stage_kind)
                self._inside(one)
        return given if len(self.reasons) == before else [*(kept or ()), None]

    def _inside(self, one: Any) -> None:
        """Remove objects that a remaining object refers to: its joins, policies and sources of columns."""
        if isinstance(one, documents.DirectDocument):
            one.join_objects = self._not_excluded(one.join_objects, self._is_join_out)
        elif isinstance(one, documents.GuardedDocument):
            one.policies = self._not_excluded(one.policies, self._is_policy_out)
            for column in one.columns or ():
                if column is not None:
                    column.policies = self._not_excluded(column.policies, self._is_policy_out)
        elif isinstance(one, documents.WrittenDocument):
            for written in one.columns or ():
                for name in _SOURCES if written is not None else ():
                    setattr(written, name, self._not_excluded(getattr(written, name), self._is_source_out))

    @staticmethod
    def _not_excluded(given: list[Any] | None, is_out: Callable[[Any], bool]) -> list[Any] | None:
        return None if given is None else [one for one in given if one is None or not is_out(one)]

    def _keeps(self, domain: Text, name: Text, stage_kind: Text = None) -> None:
        self.stays = self.stays or self._filters.in_database(normal_domain(text(domain)), text(name), text(stage_kind))

    # --- whether a thing is left out ---------------------------------------------------------------------------------

    def _is_object_out(self, object_document: documents.ObjectDocument) -> bool:
        return self._is_out(object_document.object_domain, object_document.object_name, object_document.stage_kind)

    def _is_source_out(self, source_document: documents.SourceDocument) -> bool:
        return self._is_out(source_document.object_domain, source_document.object_name)

    def _is_join_out(self, join_document: documents.JoinDocument) -> bool:
        sides = [side for side in (join_document.node, join_document.join_object) if side is not None]
        return any(self._is_out(side.object_domain, side.object_name) for side in sides)

    def _is_policy_out(self, policy_document: documents.PolicyDocument) -> bool:
        return self._is_out(policy_document.policy_kind, policy_document.policy_name)

    def _is_change_out(self, document: ChangeDocument) -> bool:
        """Whether a change affects or names an object that is left out. Half of a SWAP would be a false statement."""
        if self._is_out(document.object_domain, document.object_name):
            return True
        properties = properties_of(document)
        change = change_of(document, properties)
        others = () if change is None else _others(change)
        return self.is_any_out((*others, *_names(read(properties).normal)))

    def is_any_out(self, named: Iterable[tuple[str | None, str | None]]) -> bool:
        """Whether any of these objects, given by domain and name, is left out."""
        return any(self._is_out(domain, name) for domain, name in named)

    def _is_out(self, domain: Text, name: Text, stage_kind: Text = None) -> bool:
        reason = self._filters.object(normal_domain(text(domain)), text(name), text(stage_kind))
        if reason is not None:
            self.reasons.append(reason)
        return reason is not None


def _others(change: Change) -> Iterator[tuple[str | None, str | None]]:
    """Domain and name of the other objects of a change: its new name, the target of a SWAP, the source of a CLONE."""
    yield change.thing.domain, change.new_name
    yield change.swap_domain, change.swap_name
    yield change.source_domain, change.source_name


def _names(properties: str | None) -> Iterator[tuple[str | None, str]]:
    """Domain and name of objects named in the properties of a change, in their normal form: tags, policies, objects of
    grants. A text with two parts counts as a name only if the name of its member ends in ``name``.
    """
    left: list[tuple[str, Any]] = [("", _opened(properties))]
    while left:
        member, value = left.pop()
        if isinstance(value, dict):
            yield from _with_domains(value)
            of_value = member if value.keys() <= {"value"} else ""
            left += [(of_value if name == "value" else name, one) for name, one in value.items()]
            left += [("", name) for name in value]
        elif isinstance(value, list):
            left += [(member, one) for one in value]
        elif isinstance(value, str):
            opened = _opened(value)
            if not isinstance(opened, str):
                left.append((member, opened))
            elif (_may_be_name if member.lower().endswith("name") else _is_in_schema)(value):
                yield None, value


def _with_domains(members: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Names with their domain from a second member: ``SECURABLE_OBJECT_DOMAIN`` and ``SECURABLE_OBJECT_NAME``."""
    domains = {name.lower(): _value(said) for name, said in members.items() if name.lower().endswith("domain")}
    for name, member in members.items():
        domain = domains.get(f"{name.lower().removesuffix('name')}domain") if name.lower().endswith("name") else None
        if isinstance(domain, str) and isinstance(value := _value(member), str):
            yield normal_domain(domain), value


def _value(said: Any) -> Any:
    return said.get("value") if isinstance(said, dict) else said


def _opened(value: str | None) -> Any:
    """The JSON array or object of a text; the text itself if it is not one."""
    if value is None or not value.startswith(("{", "[")):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
