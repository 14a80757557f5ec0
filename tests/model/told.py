"""Rows as plain JSON -> rows as the facts use them, and the facts of their queries, without Spark or files."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from exporter.input.row import STRUCTURED, Row
from exporter.model.fact_tables import rows_of
from exporter.model.query import account_of, query_facts, without_duplicates
from tests.facts import plain_reading as plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exporter.model.facts import QueryFacts

Json = dict[str, Any]
ACCOUNT: Final = "ACME-PROD"
GOOD: Final[Json] = {"query_id": "q", "query_start_time": "2026-03-01 08:00:00.000 +0000", "user_name": "JSMITH"}
KEYS: Final = {
    "queries": ("account", "query_id"),
    "accesses": ("account", "query_id", "access", "object_key"),
    "writes": ("account", "query_id", "object_key"),
    "derivations": (
        *("account", "query_id", "target_key", "target_column"),
        *("source_type", "object_key", "source_column"),
    ),
    "policy_references": ("account", "query_id", "object_key", "column_name", "policy_key", "provider"),
    "joins": ("account", "query_id", "left_key", "join_type", "object_key"),
    "ddl_changes": ("account", "query_id", "change_key"),
    "ddl_settings": ("account", "query_id", "change_key", "column_name", "property", "element"),
}
"""Columns that are a key of the tables of queries' facts."""
_TEXTS: Final = (
    *("parent_query_id", "root_query_id", "event_source", "organization_name", "account_name", "account_locator"),
    *("additional_properties", "invoker_identity"),
)
_MICROSECOND: Final = timedelta(microseconds=1)


def row(**columns: Any) -> Row:
    """A row with these columns."""
    return row_of({**GOOD, **columns})


def row_of(given: Json) -> Row:
    content = json.dumps([given.get(name) for name in STRUCTURED], ensure_ascii=False, separators=(",", ":"))
    texts = {name: _text(given.get(name)) for name in _TEXTS}
    start = micros(given["query_start_time"])
    return Row(given["query_id"], start, given["user_name"], content.encode(), **texts)


def micros(time: str) -> int:
    return (plain.time(time) - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND


def _text(value: Any) -> str | None:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict | list) else value


def queries_of(rows: Iterable[Json]) -> list[QueryFacts]:
    """The facts of all queries of the rows."""
    found: dict[tuple[str, str], list[Row]] = {}
    for one in map(row_of, rows):
        found.setdefault((account_of(one, ACCOUNT), one.query_id), []).append(one)
    return [query_facts(account, without_duplicates(of_query)) for (account, _), of_query in found.items()]


def facts_of(*rows: Row) -> QueryFacts:
    """The facts of one query."""
    return query_facts(ACCOUNT, without_duplicates(rows))


def tables(queries: Iterable[QueryFacts]) -> dict[str, list[Json]]:
    """The facts as tables, by name."""
    found: dict[str, list[Json]] = {}
    for query in queries:
        for name, fact in rows_of(query):
            found.setdefault(name, []).append(fact)
    return found
