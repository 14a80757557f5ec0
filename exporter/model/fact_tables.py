"""The facts as tables for ``--outputs facts``, one table per kind of fact, with natural keys.

A table is a dict of column names and Spark SQL types. Rows are plain values; times are texts in UTC, cast later. For
the keys see :mod:`exporter.model.facts`; ``None`` always means "the row does not say".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import asdict, astuple, fields

from exporter.input.query_history import HISTORY_COLUMNS, History
from exporter.input.times import iso_micros
from exporter.model.facts import (
    TEXTS,
    Change,
    Column,
    Derivation,
    ObjectReference,
    PolicyReference,
    QueryFacts,
    Setting,
)
from exporter.model.identifiers import canonical_name
from exporter.model.object_state import ATTRIBUTES, ObjectHistory, Profile

Table = Mapping[str, str]
Fact = dict[str, Any]


def _fields(text: str) -> dict[str, str]:
    """Parse ``name type, name type`` into a table; types must not be nested."""
    pairs = (part.split(maxsplit=1) for part in text.replace("\n", " ").split(",") if part.strip())
    return {name: " ".join(kind.split()) for name, kind in pairs}


_KINDS: Final = {str: "string not null", str | None: "string", bool: "boolean not null"}


def _fields_of(fact: type[Any], *without: str) -> dict[str, str]:
    """The plain values of a fact as columns of their names."""
    return {
        field.name: _KINDS[field.type] for field in fields(fact) if field.type in _KINDS and field.name not in without
    }


_QUERY = "account string not null, query_id string not null"
_TIMED = f"{_QUERY}, query_start_time timestamp not null"
_OBJECT = """object_key string not null, kind string not null, domain string, object_id string, object_name string,
    argument_signature string, data_type string, stage_kind string, location string, object_account string"""
_COLUMNS = {"columns": "array<struct<column_name: string, column_id: string>>"}

_NAMES: Final = {"signatures": "argument_signatures", "accounts": "object_accounts"}
_NUMBERS: Final = frozenset(field.name for field in fields(History) if field.type == (int | None))
QUERY_HISTORY: Final[Table] = {
    name: "timestamp" if name == "end_time" else "bigint" if name in _NUMBERS else "string" for name in HISTORY_COLUMNS
}
"""The columns read from QUERY_HISTORY by query_id; ``total_elapsed_time`` is in milliseconds."""


_ATTRIBUTES: Final = {_NAMES.get(values, values): values for values in ATTRIBUTES.values()}
FACTS: Final[Mapping[str, Table]] = {
    # One row per query, and per interval of AGGREGATE_ACCESS_HISTORY. ``agents``: nearest first. ``incomplete``: sorted
    # ``PLACE REASON`` for what Snowflake truncated or left without a name, and streams that it does not name.
    # ``row_count``: its rows in the view. ``calls``: the number of queries in an interval, which starts at
    # ``query_start_time`` and ends at ``end_time``; its ``query_id`` is made from its key. NULL for a query.
    "queries": {
        **_fields(f"{_TIMED}, user_name string not null"),
        **dict.fromkeys(TEXTS, "string"),
        "agents": "array<struct<agent_type: string, agent_id: string, agent_name: string>>",
        "incomplete": "array<string>",
        "unknown_columns": "array<string>",
        "row_count": "int not null",
        **QUERY_HISTORY,
        "calls": "bigint",
    },
    # One row per query, ``access`` (DIRECT, BASE, PROVIDER_BASE) and object read; columns sorted by name.
    "accesses": {**_fields(f"{_TIMED}, access string not null, {_OBJECT}"), **_COLUMNS},
    # One row per query and object written.
    "writes": {**_fields(f"{_TIMED}, {_OBJECT}"), **_COLUMNS},
    # One row per target column, ``source_type`` (DIRECT, BASE) and source; the object columns are the source's.
    # ``source_column`` is None where the source is a function or procedure.
    "derivations": {
        **_fields(_TIMED),
        **_fields_of(Derivation, "source_column"),
        **_fields(f"{_OBJECT}, source_column string"),
    },
    # One row per query, protected object or column (None: the whole object), and policy enforced. ``policy_kind``:
    # MASKING_POLICY, ROW_ACCESS_POLICY, or another that Snowflake adds.
    "policy_references": {**_fields(f"{_TIMED}, {_OBJECT}"), **_fields_of(PolicyReference)},
    # One row per join in a query; ``left_*`` are of the object that lists the other, the object columns of the other.
    "joins": _fields(
        f"{_TIMED}, left_key string not null, left_name string, left_location string, left_account string, "
        f"join_type string, {_OBJECT}"
    ),
    # One row per DDL change. ``operation``: the view's word in upper case. ``properties``: the JSON of the row.
    # ``swap_*``: the other object of a SWAP; ``source_*``: the source of a CLONE or LIKE.
    "ddl_changes": {
        **_fields(f"{_TIMED}, change_key string not null, {_OBJECT}"),
        **_fields_of(Change, "change_key", "normal"),
    },
    # One row per atomic property of a change (``element`` is None), or per element of a compound property (tags,
    # maskingPolicies, rowAccessPolicies, allowedValues, columns …; ``element``: its name; ``sub_operation``: ADD, DROP,
    # ALTER). ``column_name``: the column it is set on, None for the object itself. ``element_key``: the object key of a
    # tag or policy.
    "ddl_settings": {**_fields(_TIMED), **_fields_of(Setting)},
    # One row per object. Each array has all values of an attribute that occur in rows, sorted. ``canonical_name``: only
    # if the name is the key.
    "objects": {
        **_fields(
            """account string not null, object_key string not null, kind string not null, object_id string,
        canonical_name string"""
        ),
        **dict.fromkeys(_ATTRIBUTES, "array<string>"),
    },
    # One row per name of an object. ``valid_from``: the first row with the name, or the rename; ``valid_until``: the
    # first row with the next name, or when another object took the name or the object was dropped; None for the current
    # name.
    "names": _fields(
        """account string not null, object_key string not null, name string not null, valid_from timestamp not null,
    valid_until timestamp, last_seen timestamp not null"""
    ),
    # One row per column of an object, identified by name, because sources have no column id.
    "columns": {
        **_fields("account string not null, object_key string not null, column_name string not null"),
        "column_ids": "array<string>",
    },
}
"""The tables below ``facts/``, by name."""


def rows_of(facts: QueryFacts) -> Iterator[tuple[str, Fact]]:
    """The facts of a query as rows, each with the name of its table."""
    content, query = facts.content, _query(facts)
    yield "queries", _query_row(facts, query)
    for access in content.accesses:
        yield "accesses", query | {"access": access.access} | _object(access.thing) | _columns(access.columns)
    for write in content.writes:
        yield "writes", query | _object(write.thing) | _columns(write.columns)
    for derivation in content.derivations:
        row = query | asdict(derivation) | _object(derivation.source)
        yield "derivations", {name: row[name] for name in FACTS["derivations"]}
    for policy in content.policies:
        yield "policy_references", query | _object(policy.protected) | _without(asdict(policy), "protected")
    for join in content.joins:
        left = {
            name: getattr(join.left, name.removeprefix("left_")) for name in FACTS["joins"] if name.startswith("left_")
        }
        yield "joins", query | left | {"join_type": join.join_type} | _object(join.right)
    for change in content.changes:
        yield from _changed(change, query)


def _query(facts: QueryFacts) -> Fact:
    return {"account": facts.account, "query_id": facts.query_id, "query_start_time": iso_micros(facts.start)}


def _query_row(facts: QueryFacts, query: Fact) -> Fact:
    of_query = {name: getattr(facts, name) for name in FACTS["queries"] if hasattr(facts, name)}
    history = asdict(facts.history)
    if history["end_time"] is not None:
        history["end_time"] = iso_micros(history["end_time"])
    lists = {
        "agents": [asdict(agent) for agent in facts.content.agents],
        "incomplete": list(facts.content.incomplete),
        "unknown_columns": list(facts.unknown_columns),
    }
    row = query | of_query | lists | history
    return {name: row[name] for name in FACTS["queries"]}


def _changed(change: Change, query: Fact) -> Iterator[tuple[str, Fact]]:
    key = {"change_key": change.change_key}
    yield "ddl_changes", query | key | _object(change.thing) | _without(asdict(change), *_NOT_OF_CHANGE)
    for setting in change.settings:
        yield "ddl_settings", query | asdict(setting)


_NOT_OF_CHANGE: Final = ("change_key", "thing", "normal", "settings", "grants")


def _without(fields: Fact, *names: str) -> Fact:
    return {name: value for name, value in fields.items() if name not in names}


_OF_OBJECT: Final = tuple(_fields(_OBJECT))
"""The columns of an object: the fields of a thing, in the same order."""


def _object(thing: ObjectReference) -> Fact:
    return dict(zip(_OF_OBJECT, astuple(thing), strict=True))


def _columns(columns: tuple[Column, ...]) -> Fact:
    return {"columns": [{"column_name": column.name, "column_id": column.column_id} for column in columns]}


def rows_of_object(profile: Profile, history: ObjectHistory) -> Iterator[tuple[str, Fact]]:
    """The facts of an object, its names and its columns as rows, each with the name of its table."""
    key = {"account": profile.account, "object_key": profile.key}
    by_name = profile.names and profile.key.startswith(f"{profile.kind}/name/")
    yield (
        "objects",
        {
            **key,
            "kind": profile.kind,
            "object_id": profile.object_id,
            "canonical_name": canonical_name(min(profile.names)) if by_name else None,
            **{name: sorted(getattr(profile, values)) for name, values in _ATTRIBUTES.items()},
        },
    )
    for named in history.names:
        until = None if named.until is None else iso_micros(named.until)
        when = {"valid_from": iso_micros(named.since), "valid_until": until, "last_seen": iso_micros(named.seen)}
        yield "names", {**key, "name": named.name, **when}
    for name in sorted(profile.columns):
        yield "columns", {**key, "column_name": name, "column_ids": sorted(profile.columns[name])}
