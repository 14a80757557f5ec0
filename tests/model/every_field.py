"""Rows in which every documented field has a unique value, so that it can be found in the output."""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import Any, Final

import msgspec.inspect as types

from exporter.input import row as documents
from exporter.input.row import JSON_TEXTS, STRUCTURED, TEXTS
from exporter.model.fact_tables import QUERY_HISTORY

Json = dict[str, Any]
START: Final = "2026-01-02 03:04:05.678901 +0000"
END: Final = "2026-01-02 03:05:06.789012 +0000"
OPERATIONS: Final = (
    *("ALTER", "CREATE", "DROP", "REPLACE", "UNDROP", "REFRESH"),
    *("DESCRIBE", "SHOW", "SUSPEND", "RESUME", "GRANT", "REVOKE"),
)

_ONE_SPELLING: Final = frozenset(("locations", "joinObject", "type"))
_OTHER_SPELLING: Final = frozenset(("location", "node", "joinType"))
"""What an element leaves out: fields that say one thing in two ways stand in two elements."""
_OF_COLUMNS: Final = frozenset(("columnName", "columnId"))
_FIXED: Final = {"objectDomain": "Table", "policyKind": "MASKING_POLICY"}
_NUMBERS: Final = {
    *("objectId", "columnId", "policyId", "swapTargetId", "sourceId"),
    *(name for name, kind in QUERY_HISTORY.items() if kind == "bigint"),
}


def _fields(struct: type) -> tuple[types.Field, ...]:
    told = types.type_info(struct)
    assert isinstance(told, types.StructType)
    return told.fields


OBJECT_ARRAYS: Final[dict[str, types.Type]] = {
    name: field.type
    for name, field in zip(STRUCTURED, _fields(documents.Document), strict=True)
    if name not in ("object_modified_by_ddl", "agents_info")
}
"""The arrays of objects of a row, each with its type."""


def below(kind: types.Type) -> dict[str, types.Type] | None:
    """The fields of a type of documents with the names that JSON gives them; None where it has none."""
    kinds = kind.types if isinstance(kind, types.UnionType) else (kind,)
    struct = next((one for one in kinds if isinstance(one, types.StructType)), None)
    return {field.encode_name: field.type for field in struct.fields} if struct else None


def element(kind: types.Type) -> types.Type | None:
    """The type of an array's elements; None where it is no array."""
    kinds = kind.types if isinstance(kind, types.UnionType) else (kind,)
    return next((one.item_type for one in kinds if isinstance(one, types.ListType)), None)


class Said:
    """``words``: those that were given out, by the field that says them."""

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = defaultdict(list)
        self._numbers = count(870_000_001)

    def word(self, field: str) -> str:
        """A new word for the field; a number where it holds numbers."""
        number = str(next(self._numbers))
        is_number = field.rpartition(".")[2].split()[-1] in _NUMBERS
        self.words[field].append(number if is_number else f"W{number}W")
        return self.words[field][-1]

    def value(self, field: str) -> Json:
        """A property of DDL that says a new word."""
        return {"value": self.word(field)}

    def filled(self, kind: types.Type, path: str = "", without: frozenset[str] = frozenset()) -> Any:
        """A value of the type in which every leaf says a new word; beside each source a function."""
        each, fields = element(kind), below(kind)
        if each is not None:
            is_source = path.endswith(("Sources", "SourceColumns"))
            also = [self.function(each, f"{path}[]", without | _OF_COLUMNS)] if is_source else []
            return [self.filled(each, f"{path}[]", without), *also]
        if fields is not None:
            wanted = {name: one for name, one in fields.items() if name not in without}
            return {name: self.filled(one, f"{path}.{name}".lstrip("."), without) for name, one in wanted.items()}
        return _FIXED.get(path.rpartition(".")[2]) or self.word(path)

    def function(self, kind: types.Type, path: str, without: frozenset[str]) -> Json:
        return {**self.filled(kind, path, without), "objectDomain": "FUNCTION"}


def _query(query_id: str, **columns: Any) -> Json:
    return {"query_id": query_id, "query_start_time": START, "user_name": "SOMEBODY", **columns}


def full_row(said: Said) -> Json:
    """A row with every column but that of DDL."""
    row: Json = {name: said.word(name) for name in ("query_id", "user_name", *TEXTS)}
    row |= {name: {"irc_event_type": said.word(name)} for name in JSON_TEXTS}
    row["agents_info"] = [{key: said.word(f"agents_info[].{key}") for key in ("agentType", "agentId", "agentName")}]
    for name, kind in OBJECT_ARRAYS.items():
        each = element(kind)
        objects = [said.filled(each, without=one) for one in (_ONE_SPELLING, _OTHER_SPELLING)]
        no_columns = _ONE_SPELLING | {"columns", "policies", "joinObjects", "location", "stageKind", "accountName"}
        row[name] = [*objects, said.function(each, "", no_columns)]
    return {**row, "query_start_time": START}


def history_row(said: Said, query_id: str) -> Json:
    """The full row's row of QUERY_HISTORY."""
    return {
        "query_id": query_id,
        **{name: said.word(name) for name in QUERY_HISTORY if name != "end_time"},
        "end_time": END,
    }


def calls_row(said: Said) -> Json:
    """A row of AGGREGATE_ACCESS_HISTORY; its interval is fixed."""
    texts = ("user_name", "query_parameterized_hash", "event_source", "organization_name", "account_name")
    number = str(next(said._numbers))
    said.words["calls"].append(number)
    own = {name: said.word(name) for name in (*texts, "account_locator")}
    return {"interval_start_time": START, "interval_end_time": END, "calls": int(number), **own}


def changes(said: Said) -> list[Json]:
    """DDL changes: every property of the documents, then every operation."""
    number = count(1)

    def change(operation: str, domain: str, properties: Json, **also: Any) -> Json:
        own = {name: said.word(f"ddl {name}") for name in ("objectId", "objectName")}
        told = {"objectDomain": domain, "operationType": operation, "properties": properties, **own, **also}
        return _query(f"DDL-{next(number)}", object_modified_by_ddl=told)

    def set_on(*fields: str) -> Json:
        known = {"tagValue": said.value, "objectId": lambda _: {"value": int(said.word("….objectId"))}}
        return {"subOperationType": "ADD", **{field: known[field](f"….{field}") for field in fields}}

    def named(field: str, *fields: str) -> Json:
        return {said.word(field): set_on(*fields)}

    column = {
        **set_on("objectId"),
        "objectName": said.value("columns.NAME.objectName"),
        "tags": named("columns.NAME.tags.NAME", "objectId", "tagValue"),
        "maskingPolicies": named("maskingPolicies.NAME", "objectId"),
    }
    table = {
        "columns": {said.word("columns.NAME"): column},
        "tags": named("tags.NAME", "objectId", "tagValue"),
        "rowAccessPolicies": named("rowAccessPolicies.NAME", "objectId"),
        "comment": said.value("comment"),
        "enabled": said.word("enabled"),
    }
    sequence = {name: said.value(name) for name in ("start", "increment")}
    of_share = ("secureObjectsOnly", "accountsToSet", "accountsToAdd", "accountsToRemove", "shareRestrictions")
    share = {name: said.value(name) for name in of_share}
    on_table = {"SECURABLE_OBJECT_DOMAIN": "Table", "SECURABLE_OBJECT_NAME": "D.S.T"}
    grants = {name: {"value": {"PRIVILEGES": [said.word(name)], **on_table}} for name in ("grant", "revoke")}
    of_listing = ("manifest", "share", "addTargets", "removeTargets", "manifestStageLocation", "versionAlias")
    target = {"swapTargetDomain": {"value": "Table"}, "swapTargetName": said.value("swapTargetName")}
    source = {"cloneSourceDomain": {"value": "Table"}, "cloneSourceName": said.value("sourceName")}
    return [
        change("CREATE", "Table", table),
        change("ALTER", "Table", {"objectName": said.value("objectName")}),
        change("ALTER", "Table", {**target, "swapTargetId": said.value("swapTargetId")}),
        change("CREATE", "Table", {**source, "cloneSourceId": said.value("sourceId")}),
        change("CREATE", "TAG", {"allowedValues": named("allowedValues")}),
        change("CREATE", "MASKING_POLICY", {"policyBody": said.value("policyBody")}),
        change("CREATE", "Sequence", sequence),
        change("ALTER", "Share", {**share, **grants}),
        change("ALTER", "Listing", {name: said.value(name) for name in of_listing}),
        change("CREATE", "Function", {}, argumentSignature=said.word("ddl argumentSignature")),
        *[change(operation, "Table", {}) for operation in OPERATIONS],
    ]
